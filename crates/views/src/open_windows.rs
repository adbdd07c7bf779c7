//! The open windows of a person: why each waits and until when; and the manual acts on them.
//!
//! An act names a window by its plan, its key and its opening, and openings strictly increase: so it means the window
//! that somebody looked at, and none that opened since. It only says so on the `inbox`; the owner of the person closes
//! the window. [`crate::release`] releases many at once.

use house::{book::HouseBook, person_windows as windows};
use house_facts::pause::PausedPlans;
use model::{
    Day, Person, PlanName, Tenant, UtcMillis,
    partition::PartitionCount,
    person::{Act, HoldCause, PersonRecord, Window},
    plan::{Plan, PlanSet},
};
use room::records::inbox_record;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shell::terminal;
use topic::Topics;
use wire::{InboxItem, topics};

/// Keys that are named where somebody has to choose between them.
const KEYS_NAMED_MAX: usize = 16;

/// The open windows of one person, the soonest first.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct PersonWindows {
    pub person: String,
    pub windows: Vec<OpenWindow>,
}

#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct OpenWindow {
    pub plan: String,
    /// Empty where the plan has one window a person.
    pub key: String,
    pub opened: String,
    pub due: String,
    /// Why it is open, in words.
    pub why: String,
    /// What held it when it was due: until `due`, if nothing else does by then.
    pub held: Option<WindowHold>,
    /// What somebody did to it by hand.
    pub act: Option<WindowAction>,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WindowHold {
    Online,
    Quiet,
    Cap,
}

/// What somebody does to a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WindowAction {
    Release,
    Cancel,
}

impl WindowAction {
    /// What became of the window.
    pub fn outcome_word(self) -> &'static str {
        match self {
            Self::Release => "released",
            Self::Cancel => "cancelled",
        }
    }

    fn from_act(act: Act) -> Self {
        match act {
            Act::Release => Self::Release,
            Act::Cancel => Self::Cancel,
        }
    }

    fn to_act(self) -> Act {
        match self {
            Self::Release => Act::Release,
            Self::Cancel => Act::Cancel,
        }
    }
}

/// Reads what is open for a person. Without the plans nobody knows which ones follow others.
pub async fn read_windows(
    log: &dyn Topics,
    (tenant, person): (&Tenant, &Person),
    now: UtcMillis,
    plans: Option<&PlanSet>,
) -> anyhow::Result<PersonWindows> {
    let record = windows::load_person(log, tenant, person).await?.unwrap_or_default();
    let paused = read_paused(log, plans).await?;
    let is_paused = |plan: &PlanName| paused.has(tenant, plan);
    let windows = list_open_windows(&record, is_paused, now, plans);
    Ok(PersonWindows { person: person.to_string(), windows })
}

/// What operators have paused.
pub async fn read_paused(log: &dyn Topics, plans: Option<&PlanSet>) -> anyhow::Result<PausedPlans> {
    let plans = plans.into_iter().flat_map(|plans| plans.by_name.values());
    Ok(PausedPlans::new(HouseBook::read(log).await?.pauses(), plans))
}

/// Plans in a row.
fn join_plan_names(plans: &[PlanName]) -> String {
    plans.iter().map(PlanName::as_str).collect::<Vec<_>>().join(", ")
}

/// The windows of a record.
pub fn list_open_windows(
    record: &PersonRecord,
    is_paused: impl Fn(&PlanName) -> bool,
    now: UtcMillis,
    plans: Option<&PlanSet>,
) -> Vec<OpenWindow> {
    let mut open: Vec<&Window> = record.windows.iter().collect();
    open.sort_by_key(|window| (window.due, &window.plan, &window.key));
    let one = |window: &&Window| {
        let plan = plans.and_then(|plans| plans.by_name.get(&window.plan));
        let follows = plan.and_then(|plan| plan.follows.as_ref());
        OpenWindow {
            plan: window.plan.to_string(),
            key: window.key.to_string(),
            opened: window.opening.to_string(),
            due: window.due.to_string(),
            why: explain_window(window, plan, is_paused(&window.plan), now),
            held: window.held.map(window_hold),
            act: window.act.map(WindowAction::from_act),
            heard: window.heard,
            days: window.days.iter().map(Day::to_string).collect(),
            follows: follows.map(|follows| join_plan_names(&follows.plans)),
            after: window.after.map(|ready| ready.to_string()),
        }
    };
    open.iter().map(one).collect()
}

fn window_hold(held: HoldCause) -> WindowHold {
    match held {
        HoldCause::Online => WindowHold::Online,
        HoldCause::Quiet => WindowHold::Quiet,
        HoldCause::Cap => WindowHold::Cap,
    }
}

/// Why a window is open, and for which of its days its time is the last one, where that is so.
fn explain_window(window: &Window, plan: Option<&Plan>, is_paused: bool, now: UtcMillis) -> String {
    let why = describe_window(window, is_paused, now);
    let is_last_call = |plan: &Plan, day: &Day| plan.last_call(*day) == window.due;
    let last = plan.and_then(|plan| window.days.iter().find(|day| is_last_call(plan, day)));
    match last {
        Some(day) if why == NOT_DUE => {
            format!("{NOT_DUE}; the last call for {day}, of which it tells nothing after that")
        }
        _ => why.to_owned(),
    }
}

const NOT_DUE: &str = "not due yet";

/// Why a window is open.
pub fn describe_window(window: &Window, is_paused: bool, now: UtcMillis) -> &'static str {
    match (window.act, window.held) {
        (act, _) if is_paused && (act.is_some() || window.due <= now) => {
            "paused by an operator, closes when the pause ends"
        }
        (Some(Act::Release), _) => "released by hand, closes now",
        (Some(Act::Cancel), _) => "cancelled by hand, closes now and tells nothing",
        (None, _) if window.due <= now => "due, closes now",
        (None, Some(HoldCause::Online)) => "held, they are online",
        (None, Some(HoldCause::Quiet)) => "held, by quiet hours or a pause",
        (None, Some(HoldCause::Cap)) => "held, a cap has no room",
        (None, None) if window.after.is_some() => "waits to see whether they come for what was told before",
        (None, None) => NOT_DUE,
    }
}

/// Which window is meant.
#[derive(Clone, Debug)]
pub struct WindowSelector {
    pub plan: PlanName,
    /// Needed only where the person has several of the plan.
    pub key: Option<String>,
    /// When it opened, by whoever looked at it.
    pub opened: Option<UtcMillis>,
}

/// What was done, and to which window.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct WindowActReport {
    pub act: WindowAction,
    pub plan: String,
    pub key: String,
    pub opened: String,
}

/// Why nothing was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WindowActRefusal {
    /// There is no such window.
    Absent(String),
    /// It could be several, or something was done to it already.
    Unclear(String),
}

/// Releases or cancels one window of a person.
pub async fn act_on_window(
    log: &dyn Topics,
    (tenant, person): (&Tenant, &Person),
    which: &WindowSelector,
    deed: WindowAction,
) -> anyhow::Result<Result<WindowActReport, WindowActRefusal>> {
    let record = windows::load_person(log, tenant, person).await?.unwrap_or_default();
    let window = match which.find_window(person, &record, deed) {
        Ok(window) => window,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let inbox = InboxItem::ByHand {
        tenant: tenant.clone(),
        person: person.clone(),
        act: deed.to_act(),
        plan: window.plan.clone(),
        key: Some(window.key.clone()),
        at: window.opening,
    };
    let partitions = PartitionCount::from_topic_count(log.bounds(topics::INBOX).await?.len());
    log.append(vec![inbox_record(&inbox, partitions)?]).await?;
    let (plan, key) = (window.plan.to_string(), window.key.to_string());
    Ok(Ok(WindowActReport { act: deed, plan, key, opened: window.opening.to_string() }))
}

impl WindowSelector {
    /// The one window of a record that is meant.
    fn find_window<'a>(
        &self,
        person: &Person,
        record: &'a PersonRecord,
        deed: WindowAction,
    ) -> Result<&'a Window, WindowActRefusal> {
        let Self { plan, key, opened } = self;
        let of_plan = record.windows.iter().filter(|window| window.plan == *plan);
        let meant = of_plan.filter(|window| key.as_ref().is_none_or(|key| *window.key == **key));
        let mut meant: Vec<&Window> = meant.collect();
        let found = meant.len();
        meant.retain(|window| opened.is_none_or(|opened| window.opening == opened));
        let window = match meant.as_slice() {
            [] if found > 0 => {
                return Err(WindowActRefusal::Absent(format!("the window of `{plan}` has closed meanwhile")));
            }
            [] => {
                let what = key
                    .as_ref()
                    .map(|key| format!(" with the key `{}`", terminal::clean_text(key)))
                    .unwrap_or_default();
                return Err(WindowActRefusal::Absent(format!(
                    "{person} has no open window of `{plan}`{what}"
                )));
            }
            [window] => *window,
            several => {
                let keys = several
                    .iter()
                    .take(KEYS_NAMED_MAX)
                    .map(|window| format!("`{}`", terminal::clean_text(&window.key)));
                let keys = keys.collect::<Vec<_>>().join(", ");
                let many = several.len();
                let what =
                    format!("{person} has {many} open windows of `{plan}`: name one by its key, {keys}");
                return Err(WindowActRefusal::Unclear(what));
            }
        };
        match window.act {
            Some(act) if act >= deed.to_act() => {
                let done = WindowAction::from_act(act).outcome_word();
                Err(WindowActRefusal::Unclear(format!(
                    "the window of `{plan}` was {done} already, and closes now"
                )))
            }
            _ => Ok(window),
        }
    }
}

#[cfg(test)]
mod tests {
    use model::{Channel, plan::CloseRule};

    use super::*;

    fn window(plan: &str, key: &str, opening: i64) -> Window {
        Window::new(PlanName::new(plan).unwrap(), 0, key.into(), UtcMillis(opening))
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
        let check =
            |plan: &str, key: Option<&str>, opened: Option<i64>, deed: WindowAction, expected: &str| {
                let plan = PlanName::new(plan).unwrap();
                let which =
                    WindowSelector { plan, key: key.map(str::to_owned), opened: opened.map(UtcMillis) };
                let record = record();
                let found = match which.find_window(&Person::new("ann").unwrap(), &record, deed) {
                    Ok(window) => window.opening.0.to_string(),
                    Err(WindowActRefusal::Absent(why)) => format!("absent: {why}"),
                    Err(WindowActRefusal::Unclear(why)) => format!("unclear: {why}"),
                };
                assert_eq!(found, expected, "{which:?}");
            };
        let cancel = WindowAction::Cancel;
        check("daily", None, None, cancel, "1");
        check("daily", Some(""), Some(1), cancel, "1");
        check("daily", Some("x"), None, cancel, "absent: ann has no open window of `daily` with the key `x`");
        check("daily", None, Some(2), cancel, "absent: the window of `daily` has closed meanwhile");
        check("weekly", None, None, cancel, "absent: ann has no open window of `weekly`");
        check("chat", Some("b<i>\u{7}"), None, cancel, "3");
        check("chat", Some(""), None, cancel, "4");
        // Its opening tells it as well.
        check("chat", None, Some(2), cancel, "2");
        let several =
            "unclear: ann has 3 open windows of `chat`: name one by its key, `a`, `b<i>\u{fffd}`, ``";
        check("chat", None, None, cancel, several);
        let already = |done| format!("unclear: the window of `{done}` was {done} already, and closes now");
        check("released", None, None, WindowAction::Release, &already("released"));
        check("released", None, None, cancel, "5");
        check("cancelled", None, None, WindowAction::Release, &already("cancelled"));
        check("cancelled", None, None, cancel, &already("cancelled"));
    }

    #[test]
    fn a_last_call_says_for_which_day() {
        let plan = Plan::new(PlanName::new("daily").unwrap(), Channel::Email, CloseRule::After { ms: 1 });
        let (day, other) = (Day(20_000), Day(20_003));
        let check = |due: UtcMillis, now: i64, expected: &str| {
            let window = Window { due, days: [day, other].into(), ..window("daily", "", 1) };
            assert_eq!(explain_window(&window, Some(&plan), false, UtcMillis(now)), expected);
        };
        let last = plan.last_call(day);
        let says = format!("not due yet; the last call for {day}, of which it tells nothing after that");
        check(last, 0, &says);
        check(last.plus(-1), 0, "not due yet");
        check(last, last.0, "due, closes now");
    }

    #[test]
    fn a_window_says_why_it_is_open() {
        let check = |change: fn(&mut Window), expected: &str| {
            let mut window = Window { due: UtcMillis(100), ..window("daily", "", 1) };
            change(&mut window);
            assert_eq!(describe_window(&window, false, UtcMillis(50)), expected, "{window:?}");
        };
        let check_paused = |due: i64, act: Option<Act>, expected: &str| {
            let window = Window { due: UtcMillis(due), act, ..window("daily", "", 1) };
            assert_eq!(describe_window(&window, true, UtcMillis(50)), expected, "{window:?}");
        };
        check_paused(51, None, "not due yet");
        check_paused(50, None, "paused by an operator, closes when the pause ends");
        check_paused(51, Some(Act::Cancel), "paused by an operator, closes when the pause ends");
        check(|_| {}, "not due yet");
        check(|window| window.due = UtcMillis(50), "due, closes now");
        check(|window| window.held = Some(HoldCause::Online), "held, they are online");
        check(|window| window.held = Some(HoldCause::Quiet), "held, by quiet hours or a pause");
        check(|window| window.held = Some(HoldCause::Cap), "held, a cap has no room");
        check(
            |window| (window.held, window.act) = (Some(HoldCause::Cap), Some(Act::Release)),
            "released by hand, closes now",
        );
        check(|window| window.act = Some(Act::Cancel), "cancelled by hand, closes now and tells nothing");
        check(
            |window| window.after = Some(model::ReadyId([1; 16])),
            "waits to see whether they come for what was told before",
        );
    }
}
