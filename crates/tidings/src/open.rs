//! What is open for a person: each window, why it waits and until when; and what one does to it by hand.
//!
//! An act names a window by its plan, its key and its opening, and openings strictly increase: so it means the window
//! that somebody looked at, and none that opened since. It only says so on the `inbox`; the owner of the person closes
//! the window. [`crate::release`] releases many at once.

use model::{
    Day, Millis, Person, PlanName, Tenant,
    hold::Held,
    partition::Partitions,
    person::{Act, PersonRecord, Window},
    plan::Plans,
};
use sender::report::person_record;
use serde::{Deserialize, Serialize};
use topic::Topics;
use wire::{Inbox, topics};

use crate::{http::windows, say};

/// Keys that are named where somebody has to choose between them.
const KEYS_NAMED_MAX: usize = 16;

/// The open windows of one person, the soonest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Windows {
    pub person: String,
    pub windows: Vec<OneWindow>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OneWindow {
    pub plan: String,
    /// Empty where the plan has one window a person.
    pub key: String,
    pub opened: String,
    pub due: String,
    /// Why it is open, in words.
    pub why: String,
    /// What held it when it was due: until `due`, if nothing else does by then.
    pub held: Option<HeldBy>,
    /// What somebody did to it by hand.
    pub act: Option<Deed>,
    /// How many entries were announced to it; a hint, for announcements may come twice.
    pub heard: u32,
    /// The days in which they are.
    pub days: Vec<String>,
    /// The plan that its plan follows.
    pub follows: Option<String>,
    /// The Ready of that plan which it waits for.
    pub after: Option<String>,
}

/// What holds a window, as the catalogue calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeldBy {
    Online,
    Quiet,
    Cap,
}

/// What somebody does to a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deed {
    Release,
    Cancel,
}

impl Deed {
    /// What became of the window.
    pub fn done(self) -> &'static str {
        match self {
            Self::Release => "released",
            Self::Cancel => "cancelled",
        }
    }

    fn of(act: Act) -> Self {
        match act {
            Act::Release => Self::Release,
            Act::Cancel => Self::Cancel,
        }
    }

    fn act(self) -> Act {
        match self {
            Self::Release => Act::Release,
            Self::Cancel => Act::Cancel,
        }
    }
}

/// Reads what is open for a person. Without the plans nobody knows which ones follow others.
pub async fn read(
    log: &dyn Topics,
    (tenant, person): (&Tenant, &Person),
    now: Millis,
    plans: Option<&Plans>,
) -> anyhow::Result<Windows> {
    let record = windows::of(log, tenant, person).await?.unwrap_or_default();
    Ok(Windows { person: person.to_string(), windows: of(&record, now, plans) })
}

/// Plans in a row.
fn named(plans: &[PlanName]) -> String {
    plans.iter().map(PlanName::as_str).collect::<Vec<_>>().join(", ")
}

/// The windows of a record.
pub fn of(record: &PersonRecord, now: Millis, plans: Option<&Plans>) -> Vec<OneWindow> {
    let mut open: Vec<&Window> = record.windows.iter().collect();
    open.sort_by_key(|window| (window.due, &window.plan, &window.key));
    let one = |window: &&Window| {
        let follows = plans.and_then(|plans| plans.by_name.get(&window.plan)?.follows.as_ref());
        OneWindow {
            plan: window.plan.to_string(),
            key: window.key.to_string(),
            opened: window.opening.to_string(),
            due: window.due.to_string(),
            why: why(window, now).to_owned(),
            held: window.held.map(held),
            act: window.act.map(Deed::of),
            heard: window.heard,
            days: window.days.iter().map(Day::to_string).collect(),
            follows: follows.map(|follows| named(&follows.plans)),
            after: window.after.map(|ready| ready.to_string()),
        }
    };
    open.iter().map(one).collect()
}

fn held(held: Held) -> HeldBy {
    match held {
        Held::Online => HeldBy::Online,
        Held::Quiet => HeldBy::Quiet,
        Held::Cap => HeldBy::Cap,
    }
}

/// Why a window is open.
pub fn why(window: &Window, now: Millis) -> &'static str {
    match (window.act, window.held) {
        (Some(Act::Release), _) => "released by hand, closes now",
        (Some(Act::Cancel), _) => "cancelled by hand, closes now and tells nothing",
        (None, _) if window.due <= now => "due, closes now",
        (None, Some(Held::Online)) => "held, they are online",
        (None, Some(Held::Quiet)) => "held, these are quiet hours",
        (None, Some(Held::Cap)) => "held, a cap has no room",
        (None, None) if window.after.is_some() => "waits whether they come for what was told before",
        (None, None) => "not due yet",
    }
}

/// Which window is meant.
#[derive(Clone, Debug)]
pub struct Which {
    pub plan: PlanName,
    /// Needed only where the person has several of the plan.
    pub key: Option<String>,
    /// When it opened, by whoever looked at it.
    pub opened: Option<Millis>,
}

/// What was done, and to which window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    pub act: Deed,
    pub plan: String,
    pub key: String,
    pub opened: String,
}

/// Why nothing was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no such window.
    Absent(String),
    /// It could be several, or something was done to it already.
    Unclear(String),
}

/// Releases or cancels one window of a person.
pub async fn act(
    log: &dyn Topics,
    (tenant, person): (&Tenant, &Person),
    which: &Which,
    deed: Deed,
) -> anyhow::Result<Result<Done, Refusal>> {
    let record = windows::of(log, tenant, person).await?.unwrap_or_default();
    let window = match which.of(person, &record, deed) {
        Ok(window) => window,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let inbox = Inbox::ByHand {
        tenant: tenant.clone(),
        person: person.clone(),
        act: deed.act(),
        plan: window.plan.clone(),
        key: Some(window.key.clone()),
        at: window.opening,
    };
    let partitions = Partitions::found(log.bounds(topics::INBOX).await?.len());
    log.append(vec![person_record(&inbox, partitions)?]).await?;
    let (plan, key) = (window.plan.to_string(), window.key.to_string());
    Ok(Ok(Done { act: deed, plan, key, opened: window.opening.to_string() }))
}

impl Which {
    /// The one window of a record that is meant.
    fn of<'a>(&self, person: &Person, record: &'a PersonRecord, deed: Deed) -> Result<&'a Window, Refusal> {
        let Self { plan, key, opened } = self;
        let of_plan = record.windows.iter().filter(|window| window.plan == *plan);
        let meant = of_plan.filter(|window| key.as_ref().is_none_or(|key| *window.key == **key));
        let mut meant: Vec<&Window> = meant.collect();
        let found = meant.len();
        meant.retain(|window| opened.is_none_or(|opened| window.opening == opened));
        let window = match meant.as_slice() {
            [] if found > 0 => {
                return Err(Refusal::Absent(format!("the window of `{plan}` has closed meanwhile")));
            }
            [] => {
                let what = key
                    .as_ref()
                    .map(|key| format!(" with the key `{}`", say::clean(key)))
                    .unwrap_or_default();
                return Err(Refusal::Absent(format!("{person} has no window of `{plan}`{what} open")));
            }
            [window] => *window,
            several => {
                let keys = several
                    .iter()
                    .take(KEYS_NAMED_MAX)
                    .map(|window| format!("`{}`", say::clean(&window.key)));
                let keys = keys.collect::<Vec<_>>().join(", ");
                let many = several.len();
                let what =
                    format!("{person} has {many} windows of `{plan}` open: name one by its key, {keys}");
                return Err(Refusal::Unclear(what));
            }
        };
        match window.act {
            Some(act) if act >= deed.act() => {
                let done = Deed::of(act).done();
                Err(Refusal::Unclear(format!("the window of `{plan}` was {done} already, and closes now")))
            }
            _ => Ok(window),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(plan: &str, key: &str, opening: i64) -> Window {
        Window::new(PlanName::new(plan).unwrap(), 0, key.into(), Millis(opening))
    }

    fn record() -> PersonRecord {
        let released = Window { act: Some(Act::Release), ..window("released", "", 5) };
        let cancelled = Window { act: Some(Act::Cancel), ..window("cancelled", "", 6) };
        let windows = vec![
            window("daily", "", 1),
            window("chat", "a", 2),
            window("chat", "b<i>\u{7}", 3),
            window("chat", "", 4),
            released,
            cancelled,
        ];
        PersonRecord { windows, ..PersonRecord::default() }
    }

    #[test]
    fn an_act_means_one_window() {
        let check = |plan: &str, key: Option<&str>, opened: Option<i64>, deed: Deed, expected: &str| {
            let plan = PlanName::new(plan).unwrap();
            let which = Which { plan, key: key.map(str::to_owned), opened: opened.map(Millis) };
            let record = record();
            let found = match which.of(&Person::new("ann").unwrap(), &record, deed) {
                Ok(window) => window.opening.0.to_string(),
                Err(Refusal::Absent(why)) => format!("absent: {why}"),
                Err(Refusal::Unclear(why)) => format!("unclear: {why}"),
            };
            assert_eq!(found, expected, "{which:?}");
        };
        let cancel = Deed::Cancel;
        check("daily", None, None, cancel, "1");
        check("daily", Some(""), Some(1), cancel, "1");
        check("daily", Some("x"), None, cancel, "absent: ann has no window of `daily` with the key `x` open");
        check("daily", None, Some(2), cancel, "absent: the window of `daily` has closed meanwhile");
        check("weekly", None, None, cancel, "absent: ann has no window of `weekly` open");
        check("chat", Some("b<i>\u{7}"), None, cancel, "3");
        check("chat", Some(""), None, cancel, "4");
        // Its opening tells it as well.
        check("chat", None, Some(2), cancel, "2");
        let several =
            "unclear: ann has 3 windows of `chat` open: name one by its key, `a`, `b<i>\u{fffd}`, ``";
        check("chat", None, None, cancel, several);
        let already = |done| format!("unclear: the window of `{done}` was {done} already, and closes now");
        check("released", None, None, Deed::Release, &already("released"));
        check("released", None, None, cancel, "5");
        check("cancelled", None, None, Deed::Release, &already("cancelled"));
        check("cancelled", None, None, cancel, &already("cancelled"));
    }

    #[test]
    fn a_window_says_why_it_is_open() {
        let check = |change: fn(&mut Window), expected: &str| {
            let mut window = Window { due: Millis(100), ..window("daily", "", 1) };
            change(&mut window);
            assert_eq!(why(&window, Millis(50)), expected, "{window:?}");
        };
        check(|_| {}, "not due yet");
        check(|window| window.due = Millis(50), "due, closes now");
        check(|window| window.held = Some(Held::Online), "held, they are online");
        check(|window| window.held = Some(Held::Quiet), "held, these are quiet hours");
        check(|window| window.held = Some(Held::Cap), "held, a cap has no room");
        check(
            |window| (window.held, window.act) = (Some(Held::Cap), Some(Act::Release)),
            "released by hand, closes now",
        );
        check(|window| window.act = Some(Act::Cancel), "cancelled by hand, closes now and tells nothing");
        check(
            |window| window.after = Some(model::ReadyId([1; 16])),
            "waits whether they come for what was told before",
        );
    }
}
