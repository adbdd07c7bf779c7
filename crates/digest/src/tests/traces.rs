//! Traces are carried to what is told, and decide nothing.

use std::collections::BTreeMap;

use house_facts::pause::PausedPlans;
use model::{
    DayRow, EntryKey, EventKey, Kind, UtcMillis, Value, VersionedState,
    civil_time::ZoneRules,
    entry::DayKey,
    person::{PersonRecord, profile},
    trace::{EntryTraces, TraceContext},
};
use room::testing::{parse_catalogue, subject, tenant};

use super::{CATALOGUE, EIGHT, ann};
use crate::{
    decide::{DigestDecider, DigestDecision},
    facts::{DigestFacts, DigestPersonStates},
    read::PersonNews,
};

fn key(number: u8) -> EntryKey {
    EntryKey { occurred: UtcMillis(EIGHT - 1_000 + i64::from(number)), event: EventKey([number; 16]) }
}

fn context(number: u8) -> TraceContext {
    TraceContext { trace: [number; 16], span: [number; 8] }
}

fn traces(numbers: impl IntoIterator<Item = u8>) -> EntryTraces {
    numbers.into_iter().map(|number| (key(number), context(number))).collect()
}

/// Decides what becomes of a person: of an announcement of these traces, or of what is due.
fn decide(record: Option<PersonRecord>, news: Option<EntryTraces>, now: i64) -> DigestDecision {
    let (catalogue, zones) = (parse_catalogue(CATALOGUE), ZoneRules::load_bundled());
    let person = (tenant(), ann());
    let kind = Kind::new("work_shown").unwrap();
    let row = |number: u8| {
        let reason = model::EntryReason { kind: kind.clone(), because: model::AudienceMatch::Everyone };
        DayRow::Entry(model::Entry {
            key: key(number),
            reason,
            subject: subject(&format!("work:{number}")),
            actor: None,
            kept: model::KeptFields::new(),
        })
    };
    let day = key(0).day();
    let mut facts = DigestFacts::default();
    facts.days.insert(DayKey { tenant: tenant(), person: ann(), day }, vec![row(1), row(2)]);
    let states = DigestPersonStates {
        profile: VersionedState::from_values(1, [(profile::EMAIL, Some(Value::from_text("a@example.com")))]),
        ..DigestPersonStates::default()
    };
    facts.known.insert(person.clone(), states);
    facts.records.extend(record.map(|record| (person.clone(), record)));
    let shown = VersionedState::from_values(1, [("public", Some(Value::Flag(true)))]);
    for number in [1, 2] {
        let known = facts.world.get_or_insert(&tenant());
        known.subjects.insert(subject(&format!("work:{number}")), shown.clone());
    }
    let is_due = news.is_none();
    let news =
        news.map(|traces| PersonNews::Announced { day, rows: 2, kinds: vec![kind], windows: vec![], traces });
    let news: BTreeMap<_, _> = news.map(|one| (person.clone(), vec![one])).into_iter().collect();
    let (paused, now) = (PausedPlans::default(), UtcMillis(now));
    let deciding = DigestDecider {
        facts: &facts,
        acknowledged: &[],
        catalogue: &catalogue,
        zones: &zones,
        paused: &paused,
        now,
        closing: now,
    };
    deciding.decide(&news, &if is_due { vec![person] } else { vec![] })
}

fn record_of(decided: &DigestDecision) -> PersonRecord {
    decided.records[&(tenant(), ann())].clone()
}

/// The record without its traces.
fn untraced(record: PersonRecord) -> PersonRecord {
    PersonRecord { traces: EntryTraces::new(), ..record }
}

#[test]
fn what_is_told_is_linked_and_then_forgotten() {
    let opened = record_of(&decide(None, Some(traces([1, 9])), EIGHT));
    assert_eq!(opened.traces, traces([1, 9]));
    let grown = record_of(&decide(Some(opened), Some(traces([2])), EIGHT + 1));
    assert_eq!(grown.traces, traces([1, 2, 9]), "a window that is open remembers more");
    let told = decide(Some(grown), None, EIGHT + 3_600_000);
    let [ready] = &told.ready[..] else { panic!("{told:?}") };
    assert_eq!((told.traces[0].ready, &told.traces[0].links), (ready.id, &vec![context(1), context(2)]));
    assert_eq!(record_of(&told).traces, EntryTraces::new(), "nothing is left that could tell it");
}

#[test]
fn nothing_is_decided_by_a_trace() {
    let check = |with: &DigestDecision, without: &DigestDecision| {
        let records = |decided: &DigestDecision| untraced(record_of(decided));
        assert_eq!(records(with), records(without));
        assert_eq!((&with.ready, &with.marks, with.closed), (&without.ready, &without.marks, without.closed));
        assert_eq!((&with.full, &with.shut, &with.idle), (&without.full, &without.shut, &without.idle));
        assert!(without.traces.is_empty());
    };
    let many = traces(0..=255);
    let (with, without) = (decide(None, Some(many), EIGHT), decide(None, Some(EntryTraces::new()), EIGHT));
    check(&with, &without);
    let opened = record_of(&with);
    assert_eq!(opened.traces, traces(224..=255), "the latest stay");
    check(
        &decide(Some(opened.clone()), None, EIGHT + 3_600_000),
        &decide(Some(untraced(opened)), None, EIGHT + 3_600_000),
    );
}
