//! Hashes of rules. A window names the hash of its plan, so the text that is hashed is fixed here and does
//! not hang on how Rust prints a struct.

use std::fmt::Write as _;

use model::plan::{
    AloneRule, CapPeriod, CloseRule, EscalationRule, FirstRule, GENERAL, KeyPart, LocalHours, LocalTime,
    MessageCap, OncePer, OnlineRule, Plan, QuietAction, QuietRule, RestRule, SectionOrder, TooFewRule,
    WeekdaySet, ZoneRule,
};
use model::{
    PlanName,
    closing_dates::{ClosingDates, DateUnit, MonthDay},
};
use xxhash_rust::xxh3::xxh3_64;

/// The hash of a plan's rules: of all that decides what a window does, not of how its mail looks.
pub(crate) fn hash_plan(plan: &Plan) -> u64 {
    let mut text = CanonicalText::default();
    text.line("plan", plan.name.as_str());
    text.line("channel", plan.channel.name());
    if *plan.stream != *GENERAL {
        text.line("stream", &plan.stream);
    }
    match &plan.close {
        CloseRule::Calendar { dates, times, zone, spread_ms, best } => {
            write_dates(&mut text, dates, times);
            self::write_zone(&mut text, zone);
            text.line("spread", &spread_ms.to_string());
            if let Some(within) = best {
                text.line("best", &hours_text(*within));
            }
        }
        CloseRule::After { ms } => text.line("after", &ms.to_string()),
        CloseRule::Silence { ms, most_ms } => {
            text.line("silence", &ms.to_string());
            text.line("most", &most_ms.to_string());
        }
        CloseRule::Away { ms } => text.line("away", &ms.to_string()),
        CloseRule::Before { field, ms } => text.line("before", &format!("{ms} {field}")),
    }
    write_pace(&mut text, plan);
    write_holds(&mut text, plan);
    text.line("look_back", &plan.look_back_days.to_string());
    text.line("at_least", &plan.at_least.to_string());
    if plan.below == TooFewRule::Ended {
        text.line("below", "ended");
    }
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
            SectionOrder::Newest => text.line("order", "newest"),
            SectionOrder::Oldest => text.line("order", "oldest"),
            SectionOrder::Priority => text.line("order", "priority"),
            SectionOrder::Diverse => text.line("order", "diverse"),
            SectionOrder::Soonest(field) => text.line("soonest", field),
            SectionOrder::Best(field) => text.line("best", field),
            SectionOrder::Score => text.line("order", "score"),
            SectionOrder::Nearest(field) => text.line("nearest", field),
        }
    }
    text.hash()
}

/// On which dates a calendar closes, and when.
fn write_dates(text: &mut CanonicalText, dates: &ClosingDates, times: &[LocalTime]) {
    let times: Vec<String> = times.iter().map(|at| format!("{:02}:{:02}", at.hour, at.minute)).collect();
    let times = times.join(" ");
    match dates {
        ClosingDates::Weekdays(WeekdaySet::ALL) => text.line("daily", &times),
        ClosingDates::Weekdays(on) => {
            text.line("weekly", &times);
            for (day, name) in WeekdaySet::NAMES.iter().enumerate().filter(|(day, _)| on.has(*day)) {
                text.line(name, &day.to_string());
            }
        }
        ClosingDates::Monthly(days) => {
            text.line("monthly", &times);
            for day in days {
                match day {
                    MonthDay::Number(day) => text.line("day", &day.to_string()),
                    MonthDay::Last => text.line("day", "last"),
                    MonthDay::Nth { nth, weekday } => text.line("day of week", &format!("{nth} {weekday}")),
                    MonthDay::LastWeekday(weekday) => text.line("day of week", &format!("last {weekday}")),
                }
            }
        }
        ClosingDates::Every { count, unit, from } => {
            let unit = match unit {
                DateUnit::Days => "days",
                DateUnit::Weeks => "weeks",
                DateUnit::Months => "months",
            };
            text.line("every", &format!("{count} {unit} {from} {times}"));
        }
        ClosingDates::Cron(cron) => text.line("cron", &cron.line),
    }
}

/// What holds a plan, and what it hangs on.
fn write_holds(text: &mut CanonicalText, plan: &Plan) {
    for part in &plan.key {
        match part {
            KeyPart::Kind => text.line("key", "kind"),
            KeyPart::Subject => text.line("key", "subject"),
            KeyPart::Actor => text.line("key", "actor"),
            KeyPart::Field(field) => text.line("key field", field),
        }
    }
    if plan.urgent {
        text.line("urgent", "");
    }
    match plan.online {
        None => {}
        Some(OnlineRule::Hold) => text.line("online", "hold"),
        Some(OnlineRule::End) => text.line("online", "ended"),
        Some(OnlineRule::Postpone { ms }) => text.line("postpone", &ms.to_string()),
    }
    if plan.badge {
        text.line("badge", "");
    }
    if let Some(QuietRule { hours: of_day, zone: of, then }) = &plan.quiet {
        text.line("quiet", &hours_text(*of_day));
        write_zone(text, of);
        let then = match then {
            QuietAction::Hold => "hold",
            QuietAction::Silent => "silent",
            QuietAction::End => "ended",
        };
        text.line("then", then);
    }
    if let Some(EscalationRule { plans, wait_ms }) = &plan.follows {
        let names: Vec<&str> = plans.iter().map(PlanName::as_str).collect();
        text.line("follows", &format!("{wait_ms} {}", names.join(" ")));
    }
    for channel in &plan.counts_on {
        text.line("counts on", channel.name());
    }
}

/// What a cap counts.
pub(crate) fn write_cap(text: &mut CanonicalText, cap: &MessageCap) {
    text.line("cap", &cap.name);
    text.line("most", &cap.most.to_string());
    match &cap.per {
        CapPeriod::Day(of) => write_zone(text, of),
        CapPeriod::Rolling { ms } => text.line("per", &ms.to_string()),
    }
    if let Some(channel) = cap.channel {
        text.line("channel", channel.name());
    }
    cap.kinds.iter().for_each(|kind| text.line("kind", kind.as_str()));
    cap.tenants.iter().for_each(|tenant| text.line("tenant", tenant.as_str()));
}

fn hours_text(LocalHours { from, to }: LocalHours) -> String {
    format!("{}:{} {}:{}", from.hour, from.minute, to.hour, to.minute)
}

fn write_zone(text: &mut CanonicalText, zone: &ZoneRule) {
    match zone {
        ZoneRule::Person => text.line("zone", "person"),
        ZoneRule::Fixed(name) => text.line("fixed zone", name),
    }
}

/// A knob that is not set adds no line, so that plans without it keep their hash.
fn write_pace(text: &mut CanonicalText, plan: &Plan) {
    if let Some(entries) = plan.entries {
        text.line("entries", &entries.to_string());
    }
    match plan.first {
        FirstRule::Gathered => {}
        FirstRule::Alone => text.line("first", "alone"),
        FirstRule::Both => text.line("first", "both"),
    }
    if let Some(AloneRule { most, within_ms }) = plan.alone {
        text.line("alone", &format!("{most} {within_ms}"));
    }
    if plan.together {
        text.line("told", "together");
    }
    if let Some(RestRule { start_ms, factor, most_ms, each_ms, reset_ms }) = plan.rest {
        text.line("rest", &format!("{start_ms} {factor} {most_ms} {each_ms} {reset_ms}"));
    }
}

/// Lines of `name length:value`, so that no value can look like the next line.
#[derive(Default)]
pub(crate) struct CanonicalText(String);

impl CanonicalText {
    pub fn line(&mut self, name: &str, value: &str) {
        // Writing to a string cannot fail.
        let _never = writeln!(self.0, "{name} {}:{value}", value.len());
    }

    pub fn hash(&self) -> u64 {
        xxh3_64(self.0.as_bytes())
    }
}
