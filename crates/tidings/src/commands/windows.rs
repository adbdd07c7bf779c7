//! `tidings windows`: what is open for a person; releases or cancels one window.

use model::{Millis, Person, PlanName};
use serde_json::json;

use super::{
    Out,
    reach::{Files, Reach, reach},
};
use crate::{
    cli,
    config::Config,
    failure::Failure,
    open::{self, Deed, Done, OneWindow, Refusal, Which, Windows},
    say::{self, Paint},
};

pub fn run(config: &Config, asked: &cli::Windows, out: Out) -> Result<(), Failure> {
    let person = Person::new(&asked.person).map_err(Failure::refused)?;
    let reach = reach(config)?;
    match asked.deed() {
        Some((plan, Deed::Cancel)) if !asked.yes && !is_sure(plan, &person)? => {
            say::talk("left as it is");
            Ok(())
        }
        Some((plan, deed)) => act(&reach, config, &person, (plan, asked.key.as_deref()), deed, out),
        None => list(&reach, config, &person, out),
    }
}

/// What is cancelled never comes back.
fn is_sure(plan: &str, person: &Person) -> Result<bool, Failure> {
    let what =
        format!("nothing that waits for {person} under `{plan}` will be sent, now or later. Cancel it?");
    say::ask(&say::clean(&what))
}

fn list(reach: &Reach, config: &Config, person: &Person, out: Out) -> Result<(), Failure> {
    let windows: Windows = match reach {
        Reach::Running(client) => client.get("/admin/windows", &[("person", person.as_str())])?.good()?,
        Reach::Files(files) => {
            let Files { runtime, topics, clock, catalogue, .. } = &**files;
            let (now, plans) = (Millis(clock.now()), catalogue.as_ref().map(|catalogue| &catalogue.plans));
            runtime.block_on(open::read(&**topics, (&config.tenant, person), now, plans))?
        }
    };
    if out.json {
        return Ok(say::json(&windows)?);
    }
    if windows.windows.is_empty() {
        say::talk(format!("nothing is open for {}", say::clean(&windows.person)));
        return Ok(());
    }
    let paint = Paint::data();
    let mut lines = table(&windows.windows).into_iter();
    if let Some(head) = lines.next() {
        say::data(paint.with(say::FAINT, head))?;
    }
    Ok(lines.try_for_each(say::data)?)
}

const HEAD: [&str; 7] = ["plan", "key", "opened", "due", "entries", "why", ""];

fn table(windows: &[OneWindow]) -> Vec<String> {
    let rows = std::iter::once(HEAD.map(str::to_owned)).chain(windows.iter().map(row));
    say::table(&rows.collect::<Vec<_>>())
}

fn row(window: &OneWindow) -> [String; 7] {
    let OneWindow { plan, key, opened, due, why, heard, days, follows, after, .. } = window;
    let follows = follows.as_ref().map(|plan| match after {
        Some(ready) => format!("; follows {plan}, {ready}"),
        None => format!("; follows {plan}"),
    });
    let key = if key.is_empty() { "-".to_owned() } else { say::clean(key) };
    let of = format!("of {}{}", days.join(", "), follows.unwrap_or_default());
    [plan.clone(), key, opened.clone(), due.clone(), heard.to_string(), why.clone(), of]
}

fn act(
    reach: &Reach,
    config: &Config,
    person: &Person,
    (plan, key): (&str, Option<&str>),
    deed: Deed,
    out: Out,
) -> Result<(), Failure> {
    let plan = PlanName::new(plan).map_err(Failure::refused)?;
    let done: Done = match reach {
        Reach::Running(client) => {
            let asked = json!({"person": person.as_str(), "plan": plan.as_str(), "key": key, "act": deed});
            client.post("/admin/windows", &asked.to_string(), None)?.good()?
        }
        Reach::Files(files) => {
            let which = Which { plan, key: key.map(str::to_owned), opened: None };
            let acted = open::act(&*files.topics, (&config.tenant, person), &which, deed);
            match files.runtime.block_on(acted)? {
                Ok(done) => done,
                Err(Refusal::Absent(why) | Refusal::Unclear(why)) => {
                    return Err(Failure::refused(say::clean(&why)));
                }
            }
        }
    };
    if out.json {
        return Ok(say::json(&done)?);
    }
    say::talk(said(&done, matches!(reach, Reach::Running(_))));
    Ok(())
}

/// What became of a window. Without a house it only stands on the log that it is to be closed.
fn said(done: &Done, by_house: bool) -> String {
    let Done { act, plan, key, .. } = done;
    let key = if key.is_empty() { String::new() } else { format!(" with the key `{}`", say::clean(key)) };
    let when = if by_house { "is" } else { "will be" };
    let runs = if by_house { "" } else { " when the house runs" };
    format!("the window of `{plan}`{key} {when} {}{runs}", act.done())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(plan: &str, key: &str) -> OneWindow {
        OneWindow {
            plan: plan.to_owned(),
            key: key.to_owned(),
            opened: "2026-11-21T08:00:00.000Z".to_owned(),
            due: "2026-11-21T09:00:00.000Z".to_owned(),
            why: "not due yet".to_owned(),
            held: None,
            act: None,
            heard: 2,
            days: vec!["2026-11-20".to_owned(), "2026-11-21".to_owned()],
            follows: None,
            after: None,
        }
    }

    #[test]
    fn windows_stand_in_columns() {
        let follows = OneWindow {
            days: vec!["2026-11-21".to_owned()],
            follows: Some("daily".to_owned()),
            ..window("nudge", "a\u{1b}[2J")
        };
        let found = table(&[window("daily", ""), follows]);
        let expected = [
            "plan   key    opened                    due                       entries  why",
            "daily  -      2026-11-21T08:00:00.000Z  2026-11-21T09:00:00.000Z  2        not due yet  of 2026-11-20, 2026-11-21",
            "nudge  a\u{fffd}[2J  2026-11-21T08:00:00.000Z  2026-11-21T09:00:00.000Z  2        not due yet  of 2026-11-21; follows daily",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_waits_for_the_house_is_not_said_to_be_done() {
        let check = |act: Deed, key: &str, by_house: bool, expect: &str| {
            let (plan, opened) = ("daily".to_owned(), String::new());
            assert_eq!(said(&Done { act, plan, key: key.to_owned(), opened }, by_house), expect);
        };
        check(Deed::Release, "", true, "the window of `daily` is released");
        check(Deed::Cancel, "a", true, "the window of `daily` with the key `a` is cancelled");
        check(Deed::Cancel, "", false, "the window of `daily` will be cancelled when the house runs");
    }
}
