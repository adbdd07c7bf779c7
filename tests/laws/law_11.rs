//! Law 11: limits everywhere. What is remembered of a person fits its record whatever happens; a Ready, a
//! turn and a day have an end; a full day takes no more rows, and its reader stops.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    sync::Arc,
};

use catalogue::Catalogue;
use digest::{decide::DigestDecision, memory::PersonKey, read::PersonNews};
use fanout::{
    decide::find_reach,
    reach::{build_entry, reason_in_crowd},
    read::FanoutItem,
    recipient_sheet::{RecipientSheet, ResolvedSheet},
};
use model::{
    AudienceMatch, Day, DayRow, Entry, EntryReason, Event, EventKey, Person, SubjectRef, Tenant, UtcMillis,
    VersionedState,
    limits::{
        DAY_ROWS_FULL, DAY_ROWS_READ_MAX, ID_BYTES_MAX, READY_ENTRIES_MAX, RECORD_BYTES_MAX, REFS_MAX,
        TURN_CLOSINGS_MAX, WAITING_BYTES_MAX,
    },
    partition::PartitionCount,
    person::{PersonRecord, notes},
};
use store::{DayRows, DayStore as _, StateKey};
use store_embedded::EmbeddedStore;

use crate::{
    catalogue_text::{CatalogueKnobs, knob_catalogue, parse_catalogue},
    digest_simulation::DigestSimulation,
    names::{HOUR_MS, a_day, day_key, entry_row, kind, person, reason, subject, tenant},
    outcomes::draw_outcome,
    seeds::{LawDice, run_schedules, run_waiting_schedules},
};

#[test]
fn law_11_limits_everywhere() {
    run_schedules(4, hostile_life);
    run_schedules(1, |_| a_ready_fits_its_record());
    run_schedules(2, a_full_day);
    run_schedules(1, many_at_nine);
    run_schedules(1, |_| names_have_an_end());
    run_waiting_schedules(1, |_| the_reader_stops());
}

/// As many plans as there may be, under names as long as they may be.
fn long_catalogue(plans: usize, most: usize) -> Arc<Catalogue> {
    let mut text =
        String::from("catalogue: long\nsubjects:\n  work: {title: text, public: flag, of: refs work}\n");
    let (mut kinds, mut sections) = (String::from("kinds:\n"), String::from("plans:\n"));
    for number in 0..plans {
        let (k, p) =
            (longest_catalogue_name(&format!("k{number}_")), longest_catalogue_name(&format!("p{number}_")));
        writeln!(
            kinds,
            "  {k}: {{on: work.made, to: {{followers_of: of}}, while: subject.public, says: x, plans: [{p}]}}"
        )
        .unwrap();
        writeln!(
            sections,
            "  {p}: {{channel: email, close: {{daily: \"09:00\", zone: person}}, look_back: 19d, from: a@example.com, \
             headline: x, template: mail.mjml, text: mail.txt, sections: [{{title: x, kinds: [{k}], most: {most}}}]}}"
        )
        .unwrap();
    }
    text.push_str(&kinds);
    text.push_str(&sections);
    parse_catalogue(&text)
}

/// A name that cannot be longer.
fn longest_name(start: &str) -> String {
    format!("{start}{}", "x".repeat(ID_BYTES_MAX - start.len()))
}

/// Names in a catalogue are half as long.
fn longest_catalogue_name(start: &str) -> String {
    format!("{start}{}", "x".repeat(ID_BYTES_MAX / 2 - start.len()))
}

/// A life of storms: many events of many days and kinds, all withdrawn or none, every Ready deferred or
/// returned, reports in heaps; at every turn each record fits.
fn hostile_life(mut dice: LawDice) {
    let plans = dice.pick(&[1, 3, 16]);
    let most = dice.pick(&[1, 8, READY_ENTRIES_MAX]);
    let mut desk = DigestSimulation::new(long_catalogue(plans, most), a_day().start());
    let key = desk.add_person(&tenant(&longest_name("t")), &person(&longest_name("p")), "Pacific/Kiritimati");
    let mut sending = Vec::new();
    let mut number = 0;
    for _ in 0..30 {
        let calls = match dice.below(6) {
            0..3 => {
                let (many, public) = (dice.pick(&[1, 20, 200]), dice.once_in_a_hundred(60));
                let mut news = Vec::new();
                for _ in 0..many {
                    news.push(store_entry(&mut desk, &key, number, plans, public, &mut dice));
                    number += 1;
                }
                vec![desk.hear(&key, news)]
            }
            3 => {
                // Everything that is on its way is reported in one turn, some of it several times.
                let mut news = Vec::new();
                for ready in sending.drain(..) {
                    let delivery = draw_outcome(&mut dice, &ready, desk.now);
                    news.extend(
                        (0..1 + dice.below(2)).map(|_| PersonNews::Delivered(Box::new(delivery.clone()))),
                    );
                }
                dice.shuffle(&mut news);
                vec![desk.hear(&key, news)]
            }
            _ => {
                let until = desk.now.plus(dice.ms(HOUR_MS, 60 * HOUR_MS));
                pass_to(&mut desk, until)
            }
        };
        for decided in calls {
            check_decided(&decided);
            sending.extend(decided.ready);
        }
    }
}

/// Like `DigestSimulation::pass_to`, turn by turn.
fn pass_to(desk: &mut DigestSimulation, until: UtcMillis) -> Vec<DigestDecision> {
    let mut all = Vec::new();
    while let Some(due) = desk.memory.next_due().filter(|due| *due <= until) {
        desk.now = desk.now.max(due);
        all.push(desk.turn(&BTreeMap::new(), true));
        assert!(all.len() < 2_000, "turns without end at {}", desk.now);
    }
    desk.now = desk.now.max(until);
    all
}

fn store_entry(
    desk: &mut DigestSimulation,
    key: &PersonKey,
    number: usize,
    plans: usize,
    public: bool,
    dice: &mut LawDice,
) -> PersonNews {
    let name = kind(&longest_catalogue_name(&format!("k{}_", dice.below(plans))));
    let about = subject(&longest_name(&format!("work:{number}_")));
    desk.set_public(&key.0, &about, public);
    desk.follow(key, &about, true);
    let day = Day::from_instant(desk.now).plus(-i32::try_from(dice.below(8)).unwrap());
    let occurred = day.start().plus(dice.ms(0, 24 * HOUR_MS));
    let event = EventKey::from_source_id(&key.0, "source", &number.to_string());
    let reason = EntryReason { kind: name, because: AudienceMatch::Follows(about.clone()) };
    desk.store_entry(
        key,
        Entry {
            key: model::EntryKey { occurred, event },
            reason,
            subject: about,
            actor: None,
            kept: model::KeptFields::new(),
        },
    )
}

/// Entries that each have as many reasons as an event may give them, all names as long as they may be.
fn a_ready_fits_its_record() {
    let mut desk = DigestSimulation::new(long_catalogue(1, READY_ENTRIES_MAX), a_day().start());
    let key = desk.add_person(&tenant(&longest_name("t")), &person(&longest_name("p")), "Pacific/Kiritimati");
    let mut news = Vec::new();
    for number in 0..READY_ENTRIES_MAX {
        let about = subject(&longest_name(&format!("work:{number}_")));
        desk.set_public(&key.0, &about, true);
        let event = EventKey::from_source_id(&key.0, "source", &number.to_string());
        let at = model::EntryKey { occurred: a_day().start(), event };
        for reason in 0..REFS_MAX {
            let target = subject(&longest_name(&format!("work:{reason}_of_{number}_")));
            desk.follow(&key, &target, true);
            let reason = EntryReason {
                kind: kind(&longest_catalogue_name("k0_")),
                because: AudienceMatch::Follows(target),
            };
            news.push(desk.store_entry(
                &key,
                Entry {
                    key: at,
                    reason,
                    subject: about.clone(),
                    actor: None,
                    kept: model::KeptFields::new(),
                },
            ));
        }
    }
    let mut told = desk.hear(&key, news).ready;
    let until = desk.now.plus(20 * 24 * HOUR_MS);
    for decided in pass_to(&mut desk, until) {
        check_decided(&decided);
        told.extend(decided.ready);
    }
    let told: BTreeSet<_> = told.iter().flat_map(|ready| &ready.entries).map(|entry| entry.key).collect();
    assert_eq!(told.len(), READY_ENTRIES_MAX, "each is told");
}

fn check_decided(decided: &DigestDecision) {
    for ((of, who), record) in &decided.records {
        let bytes = wire::window::encode(of, who, record).unwrap().len();
        assert!(bytes <= RECORD_BYTES_MAX, "{bytes} bytes for {}", describe_record(record));
        assert!(
            record.weight() >= bytes,
            "{bytes} bytes weigh {}: {}",
            record.weight(),
            describe_record(record)
        );
        assert!(
            record.waiting_weight() <= WAITING_BYTES_MAX,
            "what waits weighs {}",
            record.waiting_weight()
        );
    }
    for ready in &decided.ready {
        assert!(ready.entries.len() <= READY_ENTRIES_MAX, "a Ready of {} entries", ready.entries.len());
        assert!(wire::ready::encode(ready).unwrap().len() <= topic::embedded::VALUE_MOST);
    }
}

fn describe_record(record: &PersonRecord) -> String {
    let (windows, owed, waiting) = (record.windows.len(), record.owed.len(), record.waiting.len());
    let keys = record.owed_keys().count();
    format!("{windows} windows, {owed} marks of {keys} keys, {waiting} Readys that wait: {record:?}")
}

/// The owner notices when a day is full, once; from then on the fan-out announces a count and writes nothing.
fn a_full_day(mut dice: LawDice) {
    let mut desk = DigestSimulation::new(knob_catalogue(&CatalogueKnobs::default()), a_day().start());
    let key = desk.add_person(&tenant("main"), &person("ann"), "Europe/Berlin");
    let kinds = vec![kind("made")];
    let (mut rows, mut full) = (0_u32, Vec::new());
    while rows < 2 * DAY_ROWS_FULL {
        let some = u32::try_from(1 + dice.below(300)).unwrap();
        let decided = desk.hear(
            &key,
            vec![PersonNews::Announced {
                day: a_day(),
                rows: some,
                kinds: kinds.clone(),
                windows: vec![],
                traces: Default::default(),
            }],
        );
        let before = rows;
        rows += some;
        let now_full = before < DAY_ROWS_FULL && rows >= DAY_ROWS_FULL;
        assert_eq!(decided.full.len(), usize::from(now_full), "at {rows} rows of a day");
        full.extend(decided.full);
    }
    assert_eq!(full, [(key.clone(), a_day())]);
    let told = |full: Option<Day>| {
        let mut state = VersionedState::default();
        if let Some(day) = full {
            state = notes::note_full_day(day);
        }
        fan_out_event(&desk.catalogue, &key, state)
    };
    let (before, after) = (told(None), told(full.first().map(|(_, day)| *day)));
    assert_eq!((before.counts.rows, before.counts.full), (1, 0));
    assert_eq!((after.counts.rows, after.counts.full), (0, 1), "a row is written into a full day");
    assert!(after.rows.is_empty());
    let announced = |resolved: &ResolvedSheet| {
        let all = resolved.announced.iter().map(|one| &one.announcement);
        all.map(|one| (one.person.clone(), one.day, one.rows, one.full)).collect::<Vec<_>>()
    };
    assert_eq!(announced(&before), [(key.1.clone(), a_day(), 1, false)]);
    assert_eq!(announced(&after), [(key.1.clone(), a_day(), 1, true)]);
}

/// What the fan-out makes of one event for one follower, of whom the house notes this.
fn fan_out_event(catalogue: &Catalogue, key: &PersonKey, notes: VersionedState) -> ResolvedSheet {
    let event = Event {
        tenant: key.0.clone(),
        key: EventKey([7; 16]),
        what: "work.made".to_owned(),
        subject: subject("work:1"),
        actor: None,
        occurred: a_day().start().plus(HOUR_MS),
        persons: Vec::new(),
        state: VersionedState::default(),
    };
    let mut sheet = RecipientSheet::default();
    let event = FanoutItem { what: event, again: None, trace: None };
    for slice in
        find_reach(&event, &VersionedState::default(), catalogue, fanout::config::INLINE_PERSONS_MAX).slices
    {
        for kind in slice.kinds.iter().map(|kind| &catalogue.kinds[kind]) {
            for (because, _) in
                slice.crowds.iter().filter_map(|crowd| reason_in_crowd(kind, crowd, &slice.event))
            {
                sheet.add(
                    build_entry((&slice.event, &slice.kept), None, kind, because, catalogue),
                    [key.1.clone()],
                );
            }
        }
    }
    assert_eq!(sheet.notes(), [StateKey::Notes(key.0.clone(), key.1.clone())]);
    sheet.resolve(&[notes], PartitionCount::USUAL)
}

/// Everybody is due at nine: no turn closes more than it may, and in the end everybody was told.
fn many_at_nine(mut dice: LawDice) {
    let mut desk = DigestSimulation::new(knob_catalogue(&CatalogueKnobs::default()), a_day().start());
    let many = 2 * TURN_CLOSINGS_MAX + 37;
    for number in 0..many {
        let key = desk.add_person(&tenant("main"), &person(&format!("p{number}")), "Europe/Berlin");
        desk.follow(&key, &subject("author:1"), true);
        let work = dice.below(50);
        desk.set_public(&key.0, &subject(&format!("work:{work}")), true);
        let news = desk.add_event(&key, a_day(), work, reason("made", 1));
        desk.hear(&key, vec![news]);
    }
    let turns = pass_to(&mut desk, a_day().start().plus(12 * HOUR_MS));
    let closed: Vec<usize> = turns.iter().map(|decided| decided.closed).collect();
    assert!(closed.iter().all(|closed| *closed <= TURN_CLOSINGS_MAX), "{closed:?}");
    let told: BTreeSet<Person> = desk.readys.iter().map(|ready| ready.person.clone()).collect();
    assert_eq!((told.len(), desk.readys.len()), (many, many));
}

fn names_have_an_end() {
    let (good, bad) = ("ä".repeat(ID_BYTES_MAX / 2), "ä".repeat(ID_BYTES_MAX / 2 + 1));
    assert!(Tenant::new(&good).is_ok() && Tenant::new(&bad).is_err());
    assert!(Person::new(&good).is_ok() && Person::new(&bad).is_err());
    assert!(SubjectRef::new(&longest_name("a:")).is_ok() && SubjectRef::new(&format!("a:{good}")).is_err());
    assert!(PartitionCount::USUAL.of_person(&tenant(&good), &person(&good)) < PartitionCount::USUAL.count());
}

/// A day that was filled far beyond its limit is read up to a bound, and no further.
async fn the_reader_stops() {
    let dir = crate::engine_folder::temp_engine_dir();
    let store = EmbeddedStore::open(dir.path()).unwrap();
    let key = day_key("main", "ann", a_day());
    let rows: Vec<DayRow> =
        (0..DAY_ROWS_READ_MAX + 500).map(|number| entry_row(a_day(), number, reason("made", 1))).collect();
    for some in rows.chunks(2_000) {
        store.write(vec![DayRows { key: key.clone(), rows: some.to_vec() }], a_day().start()).await.unwrap();
    }
    let found = store.read(&[key], a_day().start()).await.unwrap().remove(0);
    assert_eq!(found.len(), DAY_ROWS_READ_MAX);
}
