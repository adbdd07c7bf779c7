//! Names and rows to make worlds of; everything about an event is a function of its number.

use model::{
    AudienceMatch, Channel, Day, DayLife, DayRow, EndReason, Entry, EntryKey, EntryReason, EventKey, Kind,
    Mark, MarkAction, Person, PlanName, ReadyId, SubjectRef, Tenant, entry::DayKey, limits::DAY_MS,
};
use proptest::{collection::vec, prelude::*};

/// How long days live in the laws: as short as may be, so that lives see them end.
pub const LIFE: DayLife = DayLife::LEAST;

pub const HOUR_MS: i64 = 3_600_000;

pub fn tenant(text: &str) -> Tenant {
    Tenant::new(text).unwrap()
}

pub fn person(text: &str) -> Person {
    Person::new(text).unwrap()
}

pub fn subject(text: &str) -> SubjectRef {
    SubjectRef::new(text).unwrap()
}

pub fn kind(text: &str) -> Kind {
    Kind::new(text).unwrap()
}

pub fn plan(text: &str) -> PlanName {
    PlanName::new(text).unwrap()
}

/// A day in the middle of everything.
pub fn a_day() -> Day {
    Day::parse("2026-11-21").unwrap()
}

pub fn day_key(of: &str, who: &str, day: Day) -> DayKey {
    DayKey { tenant: tenant(of), person: person(who), day }
}

/// The key of an event by its number: its time within the day is a function of the number too.
pub fn entry_key(day: Day, number: usize) -> EntryKey {
    let number = i64::try_from(number).unwrap();
    let event = EventKey::from_source_id(&tenant("main"), "source", &number.to_string());
    EntryKey { occurred: day.start().plus((number * 977_777) % DAY_MS), event }
}

pub fn reason(kind_: &str, target: usize) -> EntryReason {
    EntryReason { kind: kind(kind_), because: AudienceMatch::Follows(subject(&format!("author:{target}"))) }
}

pub fn entry_row(day: Day, number: usize, reason: EntryReason) -> DayRow {
    let subject = subject(&format!("work:{number}"));
    DayRow::Entry(Entry {
        key: entry_key(day, number),
        reason,
        subject,
        actor: None,
        kept: model::KeptFields::new(),
    })
}

pub fn ready_id(number: u8) -> ReadyId {
    ReadyId([number; 16])
}

/// A row of a person's day, from few enough numbers that rows meet.
pub fn any_row(day: Day) -> impl Strategy<Value = DayRow> {
    let reason = (0..2_usize, 0..3_usize).prop_map(|(k, target)| reason(["made", "shown"][k], target));
    let entry = (0..6_usize, reason).prop_map(move |(number, reason)| entry_row(day, number, reason));
    prop_oneof![3 => entry, 2 => any_mark(day)]
}

/// A mark of a day.
pub fn any_mark(day: Day) -> impl Strategy<Value = DayRow> {
    let why = prop::sample::select(EndReason::ALL.to_vec());
    let what = prop_oneof![
        3 => (0..3_u8).prop_map(|id| MarkAction::Taken(ready_id(id))),
        1 => (0..3_u8, any::<bool>()).prop_map(|(id, maybe)| MarkAction::Returned { ready: ready_id(id), maybe }),
        1 => (0..3_u8, why.clone()).prop_map(|(id, why)| MarkAction::Left { ready: ready_id(id), why }),
        1 => why.prop_map(MarkAction::Ended),
        1 => (0..3_u8).prop_map(|id| MarkAction::Carried(ready_id(id))),
        1 => Just(MarkAction::Read),
        1 => Just(MarkAction::Cleared),
    ];
    (what, vec(0..6_usize, 1..4), 0..1_000_i64).prop_map(move |(what, covers, at)| {
        let channel = (!matches!(what, MarkAction::Read | MarkAction::Cleared)).then_some(Channel::Email);
        let covers = covers.into_iter().map(|number| entry_key(day, number)).collect();
        DayRow::Mark(Mark::new(channel, what, covers, day.start().plus(at)))
    })
}
