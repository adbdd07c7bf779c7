//! What the checks write: names, rows and instants, the same on every run.

use std::collections::BTreeSet;

use model::{
    Actor, ActorId, AudienceMatch, Channel, Day, DayRow, EndReason, Entry, EntryKey, EntryReason, EventKey,
    KeptFields, KeyList, Kind, Mark, MarkAction, Person, PersonScore, ReadyId, SubjectRef, Tenant, UtcMillis,
    Value, actor::AnonymousHash, entry::DayKey,
};

use super::BrokenStorePromise;
use crate::port::{DayRows, DayStore, Store};

/// 2026-11-21T12:26:40Z. Not the machine's time: it is an argument everywhere.
pub(crate) const NOW: UtcMillis = UtcMillis(1_795_264_000_000);

fn name_error(error: &model::id::BadName) -> BrokenStorePromise {
    BrokenStorePromise(format!("a sample is no name: {error}"))
}

pub(crate) fn tenant(name: &str) -> Result<Tenant, BrokenStorePromise> {
    Tenant::new(name).map_err(|error| name_error(&error))
}

pub(crate) fn person(name: &str) -> Result<Person, BrokenStorePromise> {
    Person::new(name).map_err(|error| name_error(&error))
}

pub(crate) fn subject(name: &str) -> Result<SubjectRef, BrokenStorePromise> {
    SubjectRef::new(name).map_err(|error| name_error(&error))
}

pub(crate) fn day_key(of: &str, who: &str, day: Day) -> Result<DayKey, BrokenStorePromise> {
    Ok(DayKey { tenant: tenant(of)?, person: person(who)?, day })
}

pub(crate) fn today() -> Day {
    Day::from_instant(NOW)
}

pub(crate) fn entry_key(n: u16, day: Day) -> EntryKey {
    let mut event = [0xff; 16];
    event[..2].copy_from_slice(&n.to_be_bytes());
    EntryKey { occurred: day.start().plus(i64::from(n % 7) * 1_000), event: EventKey(event) }
}

pub(crate) fn entry_row(n: u16, day: Day) -> Result<DayRow, BrokenStorePromise> {
    entry_because(n, day, AudienceMatch::Follows(subject("author:7")?), None)
}

fn entry_because(
    n: u16,
    day: Day,
    because: AudienceMatch,
    actor: Option<Actor>,
) -> Result<DayRow, BrokenStorePromise> {
    let kind = Kind::new("published").map_err(|error| name_error(&error))?;
    Ok(DayRow::Entry(Entry {
        key: entry_key(n, day),
        reason: EntryReason { kind, because },
        subject: subject(&format!("work:{n}"))?,
        actor,
        kept: KeptFields::new(),
    }))
}

/// Every sort of actor, and what an entry keeps of each sort of field.
fn every_word(day: Day) -> Result<Vec<DayRow>, BrokenStorePromise> {
    let ids = [ActorId::Person(person("bob")?), ActorId::Anonymous(AnonymousHash([7; 16])), ActorId::System];
    let kept = [
        ("summary", Value::from_text("two words")),
        ("revision", Value::Number(7.5)),
        ("minor", Value::Flag(true)),
        ("at", Value::Time(NOW)),
    ];
    let kept: KeptFields = kept.into_iter().map(|(name, value)| (name.into(), value)).collect();
    let row = |(n, id): (u16, ActorId)| {
        let actor = Actor { id, name: Some("Bob".into()) };
        let mut row = entry_because(10 + n, day, AudienceMatch::Named, Some(actor))?;
        if let DayRow::Entry(entry) = &mut row {
            entry.kept.clone_from(&kept);
        }
        Ok(row)
    };
    (0..).zip(ids).map(row).collect()
}

/// Every way in which somebody may have been found, some that begin alike among them.
fn every_because() -> Result<Vec<AudienceMatch>, BrokenStorePromise> {
    let mut all = vec![AudienceMatch::Near, AudienceMatch::Named, AudienceMatch::Everyone];
    for name in ["a:b", "a:bc", "author:7"] {
        all.push(AudienceMatch::Follows(subject(name)?));
        all.push(AudienceMatch::Mutual(person(name)?));
    }
    all.extend(
        [i64::MIN, -1, 0, 1, 930_000, i64::MAX].map(|score| AudienceMatch::Listed(PersonScore(score))),
    );
    Ok(all)
}

pub(crate) fn entry_rows(from: u16, to: u16, day: Day) -> Result<Vec<DayRow>, BrokenStorePromise> {
    (from..to).map(|n| entry_row(n, day)).collect()
}

pub(crate) fn ready_id(n: u8) -> ReadyId {
    ReadyId([n; 16])
}

/// A row of every sort that there is.
pub(crate) fn every_row(day: Day) -> Result<Vec<DayRow>, BrokenStorePromise> {
    let mut rows = [plain_rows(day)?, later_rows(day)?].concat();
    rows.sort();
    Ok(rows)
}

/// Those that came with the second format: words of events, and lists.
pub(crate) fn later_rows(day: Day) -> Result<Vec<DayRow>, BrokenStorePromise> {
    let list = KeyList::new((0..40).map(|n| entry_key(n, day)).collect());
    let mut listed = Mark::new(None, MarkAction::Taken(ready_id(4)), Vec::new(), NOW);
    listed.list = Some(list.id());
    let mut rows = every_word(day)?;
    rows.extend([DayRow::Mark(listed), DayRow::List(list)]);
    let whats = [
        MarkAction::Seen,
        MarkAction::Unread,
        MarkAction::Restored,
        MarkAction::Saved,
        MarkAction::Unsaved,
        MarkAction::Snoozed(NOW.plus(60_000)),
        MarkAction::Withdrawn,
        MarkAction::Ended(EndReason::Withdrawn),
        MarkAction::Ended(EndReason::PutOff),
    ];
    let covers = vec![entry_key(0, day), entry_key(1, day)];
    rows.extend(whats.map(|what| DayRow::Mark(Mark::new(None, what, covers.clone(), NOW))));
    Ok(rows)
}

/// Reasons that were not there from the beginning.
const LATER_REASONS: [EndReason; 2] = [EndReason::Withdrawn, EndReason::PutOff];

/// Those that were there from the beginning.
pub(crate) fn plain_rows(day: Day) -> Result<Vec<DayRow>, BrokenStorePromise> {
    let mut rows = entry_rows(0, 3, day)?;
    // All of one event, so that only the reason tells them apart.
    for because in every_because()? {
        rows.push(entry_because(5, day, because, Some(person("bob")?.into()))?);
    }
    let mut whats = vec![
        MarkAction::Taken(ready_id(1)),
        MarkAction::Returned { ready: ready_id(1), maybe: true },
        MarkAction::Returned { ready: ready_id(1), maybe: false },
        MarkAction::Carried(ready_id(2)),
        MarkAction::Read,
        MarkAction::Cleared,
    ];
    let reasons = EndReason::ALL.into_iter().filter(|why| !LATER_REASONS.contains(why));
    whats.extend(reasons.clone().map(MarkAction::Ended));
    whats.extend(reasons.map(|why| MarkAction::Left { ready: ready_id(3), why }));
    for what in whats {
        for channel in Channel::ALL.map(Some).into_iter().chain([None]) {
            let covers = vec![entry_key(0, day), entry_key(1, day)];
            rows.push(DayRow::Mark(Mark::new(channel, what, covers, NOW)));
        }
    }
    rows.push(DayRow::Mark(Mark::new(None, MarkAction::Read, Vec::new(), NOW)));
    rows.push(DayRow::Mark(Mark::new(None, MarkAction::Read, Vec::new(), NOW.plus(1))));
    rows.sort();
    Ok(rows)
}

/// Writes rows to one day.
pub(crate) async fn write_rows(
    store: &dyn Store,
    key: &DayKey,
    rows: &[DayRow],
) -> Result<(), BrokenStorePromise> {
    Ok(DayStore::write(store, vec![DayRows { key: key.clone(), rows: rows.to_vec() }], NOW).await?)
}

/// Reads one day, sorted; the order of rows is the engine's.
pub(crate) async fn read_rows(store: &dyn Store, key: &DayKey) -> Result<Vec<DayRow>, BrokenStorePromise> {
    let mut days = DayStore::read(store, std::slice::from_ref(key), NOW).await?;
    let mut rows = days
        .pop()
        .ok_or_else(|| BrokenStorePromise("a day that was asked for is missing from the answer".into()))?;
    rows.sort();
    Ok(rows)
}

/// Names that an engine may trip over: long ones, beginnings of each other, separators, the edges of
/// UTF-8, what looks like the engine's own.
pub(crate) fn hostile_names() -> Vec<String> {
    let mut names: BTreeSet<String> = [
        "a",
        "b",
        "ab",
        "ba",
        "aa",
        "a:b",
        "a:",
        ":",
        "::",
        "a/b",
        "a b",
        "A",
        "é",
        "e\u{301}",
        "\u{ff}",
        "\u{80}\u{7ff}x",
        "\u{ffff}",
        "\u{10ffff}",
        "\u{200b}",
        "😀",
        "'; drop table days",
        "%00",
        "\\",
        "\"",
        "null",
        "day/1",
    ]
    .map(String::from)
    .into();
    names.retain(|name| Person::new(name).is_ok());
    names.extend(["a".repeat(128), "a".repeat(127), "😀".repeat(32), "\u{10ffff}".repeat(31)]);
    names.into_iter().collect()
}
