//! `tidings windows`: what is open for a person; releases or cancels one window.

use model::{Person, PlanName, UtcMillis};
use serde_json::json;
use settings::config::Config;
use shell::{failure::CommandError, terminal};
use views::open_windows::{
    self, OpenWindow, PersonWindows, WindowActRefusal, WindowActReport, WindowAction, WindowSelector,
};

use super::{
    OutputStyle,
    access::{DirectEngines, HouseAccess, reach_house},
};
use crate::arguments as cli;

pub fn run(config: &Config, asked: &cli::WindowsArgs, out: OutputStyle) -> Result<(), CommandError> {
    let person = Person::new(&asked.person).map_err(CommandError::from_refusal)?;
    let reach = reach_house(config)?;
    match asked.deed() {
        Some((plan, WindowAction::Cancel)) if !asked.yes && !confirm_cancel(plan, &person)? => {
            terminal::print_talk("nothing was changed");
            Ok(())
        }
        Some((plan, deed)) => act_on_window(&reach, config, &person, (plan, asked.key.as_deref()), deed, out),
        None => list_windows(&reach, config, &person, out),
    }
}

/// What is cancelled never comes back.
fn confirm_cancel(plan: &str, person: &Person) -> Result<bool, CommandError> {
    let what =
        format!("nothing that waits for {person} under `{plan}` will be sent, now or later. Cancel it?");
    terminal::confirm(&terminal::clean_text(&what))
}

fn list_windows(
    reach: &HouseAccess,
    config: &Config,
    person: &Person,
    out: OutputStyle,
) -> Result<(), CommandError> {
    let windows: PersonWindows = match reach {
        HouseAccess::Running(client) => {
            client.get("/admin/windows", &[("person", person.as_str())])?.into_value()?
        }
        HouseAccess::Files(files) => {
            let DirectEngines { runtime, topics, clock, catalogue, .. } = &**files;
            let (now, plans) =
                (UtcMillis(clock.now()), catalogue.as_ref().map(|of| &of.for_person(person).plans));
            runtime.block_on(open_windows::read_windows(&**topics, (&config.tenant, person), now, plans))?
        }
    };
    if out.json {
        return Ok(terminal::print_json(&windows)?);
    }
    if windows.windows.is_empty() {
        terminal::print_talk(format!("no window is open for {}", terminal::clean_text(&windows.person)));
        return Ok(());
    }
    Ok(terminal::print_headed_table(window_table(&windows.windows))?)
}

const HEAD: [&str; 8] = ["plan", "key", "opened", "due", "announced", "why", "days", ""];

fn window_table(windows: &[OpenWindow]) -> Vec<String> {
    terminal::format_headed_table(HEAD, windows.iter().map(window_row))
}

fn window_row(window: &OpenWindow) -> [String; 8] {
    let OpenWindow { plan, key, opened, due, why, heard, days, follows, after, .. } = window;
    let follows = follows.as_ref().map(|plan| match after {
        Some(ready) => format!("follows {plan}, {ready}"),
        None => format!("follows {plan}"),
    });
    let key = if key.is_empty() { "-".to_owned() } else { terminal::clean_text(key) };
    let (days, follows) = (days.join(", "), follows.unwrap_or_default());
    [plan.clone(), key, opened.clone(), due.clone(), heard.to_string(), why.clone(), days, follows]
}

fn act_on_window(
    reach: &HouseAccess,
    config: &Config,
    person: &Person,
    (plan, key): (&str, Option<&str>),
    deed: WindowAction,
    out: OutputStyle,
) -> Result<(), CommandError> {
    let plan = PlanName::new(plan).map_err(CommandError::from_refusal)?;
    let done: WindowActReport = match reach {
        HouseAccess::Running(client) => {
            let asked = json!({"person": person.as_str(), "plan": plan.as_str(), "key": key, "act": deed});
            client.post("/admin/windows", &asked.to_string(), None)?.into_value()?
        }
        HouseAccess::Files(files) => {
            let which = WindowSelector { plan, key: key.map(str::to_owned), opened: None };
            let acted = open_windows::act_on_window(&*files.topics, (&config.tenant, person), &which, deed);
            match files.runtime.block_on(acted)? {
                Ok(done) => done,
                Err(WindowActRefusal::Absent(why) | WindowActRefusal::Unclear(why)) => {
                    return Err(CommandError::from_refusal(terminal::clean_text(&why)));
                }
            }
        }
    };
    if out.json {
        return Ok(terminal::print_json(&done)?);
    }
    terminal::print_talk(describe_act(&done, matches!(reach, HouseAccess::Running(_))));
    Ok(())
}

/// The result in words. Without a running house, the order to close the window is only in the log.
fn describe_act(done: &WindowActReport, by_house: bool) -> String {
    let WindowActReport { act, plan, key, .. } = done;
    let key =
        if key.is_empty() { String::new() } else { format!(" with the key `{}`", terminal::clean_text(key)) };
    let when = if by_house { "is" } else { "will be" };
    let runs = if by_house { "" } else { " when the house runs" };
    format!("the window of `{plan}`{key} {when} {}{runs}", act.outcome_word())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open_window(plan: &str, key: &str) -> OpenWindow {
        OpenWindow {
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
        let follows = OpenWindow {
            days: vec!["2026-11-21".to_owned()],
            follows: Some("daily".to_owned()),
            ..open_window("nudge", "a\u{1b}[2J")
        };
        let found = window_table(&[open_window("daily", ""), follows]);
        let expected = [
            "plan   key    opened                    due                       announced  why          days",
            "daily  -      2026-11-21T08:00:00.000Z  2026-11-21T09:00:00.000Z  2          not due yet  2026-11-20, 2026-11-21",
            "nudge  a\u{fffd}[2J  2026-11-21T08:00:00.000Z  2026-11-21T09:00:00.000Z  2          not due yet  2026-11-21              follows daily",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_waits_for_the_house_is_not_said_to_be_done() {
        let check = |act: WindowAction, key: &str, by_house: bool, expect: &str| {
            let (plan, opened) = ("daily".to_owned(), String::new());
            assert_eq!(
                describe_act(&WindowActReport { act, plan, key: key.to_owned(), opened }, by_house),
                expect
            );
        };
        check(WindowAction::Release, "", true, "the window of `daily` is released");
        check(WindowAction::Cancel, "a", true, "the window of `daily` with the key `a` is cancelled");
        check(WindowAction::Cancel, "", false, "the window of `daily` will be cancelled when the house runs");
    }
}
