//! Hashes of rules. A window names the hash of its plan, so the text that is hashed is fixed here and does
//! not hang on how Rust prints a struct.

use std::fmt::Write as _;

use model::plan::{Close, OncePer, Order, Plan, Weekdays, ZoneRule};
use xxhash_rust::xxh3::xxh3_64;

/// The hash of a plan's rules: of all that decides what a window does, not of how its mail looks.
pub(crate) fn of_plan(plan: &Plan) -> u64 {
    let mut text = Canonical::default();
    text.line("plan", plan.name.as_str());
    text.line("channel", plan.channel.name());
    match &plan.close {
        Close::Calendar { at, on, zone, spread_ms } => {
            let time = format!("{:02}:{:02}", at.hour, at.minute);
            if *on == Weekdays::ALL {
                text.line("daily", &time);
            } else {
                text.line("weekly", &time);
                for (day, name) in Weekdays::NAMES.iter().enumerate().filter(|(day, _)| on.has(*day)) {
                    text.line(name, &day.to_string());
                }
            }
            match zone {
                ZoneRule::Person => text.line("zone", "person"),
                ZoneRule::Fixed(name) => text.line("fixed zone", name),
            }
            text.line("spread", &spread_ms.to_string());
        }
        Close::After { ms } => text.line("after", &ms.to_string()),
    }
    text.line("look_back", &plan.look_back_days.to_string());
    text.line("at_least", &plan.at_least.to_string());
    text.line(
        "once_per",
        match plan.once_per {
            OncePer::Event => "event",
            OncePer::Mail => "mail",
            OncePer::Subject => "subject",
        },
    );
    for section in &plan.sections {
        text.line("section", &section.title);
        for kind in &section.kinds {
            text.line("kind", kind.as_str());
        }
        text.line("most", &section.most.to_string());
        match &section.order {
            Order::Newest => text.line("order", "newest"),
            Order::Oldest => text.line("order", "oldest"),
            Order::Soonest(field) => text.line("soonest", field),
            Order::Best(field) => text.line("best", field),
            Order::Score => text.line("order", "score"),
            Order::Nearest(field) => text.line("nearest", field),
        }
    }
    text.hash()
}

/// Lines of `name length:value`, so that no value can look like the next line.
#[derive(Default)]
pub(crate) struct Canonical(String);

impl Canonical {
    pub fn line(&mut self, name: &str, value: &str) {
        // Writing to a string cannot fail.
        let _never = writeln!(self.0, "{name} {}:{value}", value.len());
    }

    pub fn hash(&self) -> u64 {
        xxh3_64(self.0.as_bytes())
    }
}
