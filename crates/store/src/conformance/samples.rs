//! What the checks write: names, rows and instants, the same on every run.

use std::collections::BTreeSet;

use model::{
    Because, Channel, Day, Entry, EntryKey, EventKey, Kind, Mark, Millis, Person, ReadyId, Reason, Row,
    Score, SubjectRef, Tenant, What, Why, entry::DayKey,
};

use super::Broken;
use crate::port::{DayRows, Days, Store};

/// 2026-11-21T12:26:40Z. Not the machine's time: it is an argument everywhere.
pub(super) const NOW: Millis = Millis(1_795_264_000_000);

fn bad(error: &model::id::BadName) -> Broken {
    Broken(format!("a sample is no name: {error}"))
}

pub(super) fn tenant(name: &str) -> Result<Tenant, Broken> {
    Tenant::new(name).map_err(|error| bad(&error))
}

pub(super) fn person(name: &str) -> Result<Person, Broken> {
    Person::new(name).map_err(|error| bad(&error))
}

pub(super) fn subject(name: &str) -> Result<SubjectRef, Broken> {
    SubjectRef::new(name).map_err(|error| bad(&error))
}

pub(super) fn day_key(of: &str, who: &str, day: Day) -> Result<DayKey, Broken> {
    Ok(DayKey { tenant: tenant(of)?, person: person(who)?, day })
}

pub(super) fn today() -> Day {
    Day::of(NOW)
}

pub(super) fn entry_key(n: u16, day: Day) -> EntryKey {
    let mut event = [0xff; 16];
    event[..2].copy_from_slice(&n.to_be_bytes());
    EntryKey { occurred: day.start().plus(i64::from(n % 7) * 1_000), event: EventKey(event) }
}

pub(super) fn entry(n: u16, day: Day) -> Result<Row, Broken> {
    entry_because(n, day, Because::Follows(subject("author:7")?), None)
}

fn entry_because(n: u16, day: Day, because: Because, actor: Option<Person>) -> Result<Row, Broken> {
    let kind = Kind::new("published").map_err(|error| bad(&error))?;
    Ok(Row::Entry(Entry {
        key: entry_key(n, day),
        reason: Reason { kind, because },
        subject: subject(&format!("work:{n}"))?,
        actor,
    }))
}

/// Every way in which somebody may have been found, some that begin alike among them.
fn every_because() -> Result<Vec<Because>, Broken> {
    let mut all = vec![Because::Near, Because::Named, Because::Everyone];
    for name in ["a:b", "a:bc", "author:7"] {
        all.push(Because::Follows(subject(name)?));
        all.push(Because::Mutual(person(name)?));
    }
    all.extend([i64::MIN, -1, 0, 1, 930_000, i64::MAX].map(|score| Because::Listed(Score(score))));
    Ok(all)
}

pub(super) fn entries(from: u16, to: u16, day: Day) -> Result<Vec<Row>, Broken> {
    (from..to).map(|n| entry(n, day)).collect()
}

pub(super) fn ready(n: u8) -> ReadyId {
    ReadyId([n; 16])
}

/// A row of every sort that there is.
pub(super) fn every_row(day: Day) -> Result<Vec<Row>, Broken> {
    let mut rows = entries(0, 3, day)?;
    // All of one event, so that only the reason tells them apart.
    for because in every_because()? {
        rows.push(entry_because(5, day, because, Some(person("bob")?))?);
    }
    let mut whats = vec![
        What::Taken(ready(1)),
        What::Returned { ready: ready(1), maybe: true },
        What::Returned { ready: ready(1), maybe: false },
        What::Carried(ready(2)),
        What::Read,
        What::Cleared,
    ];
    whats.extend(Why::ALL.map(What::Ended));
    whats.extend(Why::ALL.map(|why| What::Left { ready: ready(3), why }));
    for what in whats {
        for channel in Channel::ALL.map(Some).into_iter().chain([None]) {
            let covers = vec![entry_key(0, day), entry_key(1, day)];
            rows.push(Row::Mark(Mark::new(channel, what, covers, NOW)));
        }
    }
    rows.push(Row::Mark(Mark::new(None, What::Read, Vec::new(), NOW)));
    rows.push(Row::Mark(Mark::new(None, What::Read, Vec::new(), NOW.plus(1))));
    rows.sort();
    Ok(rows)
}

/// Writes rows to one day.
pub(super) async fn write(store: &dyn Store, key: &DayKey, rows: &[Row]) -> Result<(), Broken> {
    Ok(Days::write(store, vec![DayRows { key: key.clone(), rows: rows.to_vec() }], NOW).await?)
}

/// Reads one day, sorted; the order of rows is the engine's.
pub(super) async fn read(store: &dyn Store, key: &DayKey) -> Result<Vec<Row>, Broken> {
    let mut days = Days::read(store, std::slice::from_ref(key), NOW).await?;
    let mut rows =
        days.pop().ok_or_else(|| Broken("a day that was asked for is missing from the answer".into()))?;
    rows.sort();
    Ok(rows)
}

/// Names that an engine may trip over: long ones, beginnings of each other, separators, the edges of
/// UTF-8, what looks like the engine's own.
pub(super) fn hostile_names() -> Vec<String> {
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
