//! What persons say of themselves in the bench of feedback: where they are, and what they have read; as services
//! send it, and whether the house has all of it afterwards.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    fmt::Write as _,
    path::Path,
};

use model::{
    AudienceMatch, DayRow, Entry, EntryKey, EntryReason, EventKey, Kind, MarkAction, Person, SubjectRef,
    Tenant, UtcMillis,
    entry::DayKey,
    person::notes::{UP_TO, up_to_field},
};
use runtime::Clock;
use store::{DayRows, DayStore as _, StateKey, StateStore as _};
use store_embedded::EmbeddedStore;
use topic::Topics as _;
use wire::{FeedbackAction, InboxItem, topics};

use crate::fanout_room;

/// All three are prime, so that everybody says a bit of everything.
const PERSONS: usize = 19_997;
const PERSONS_FEW: usize = 997;
const STEP: usize = 7_919;
/// With fewer records there are fewer persons too.
const MANY: usize = 250_000;
/// Entries of each person, half of them of the day before.
const ENTRIES: usize = 20;
const HALF: usize = ENTRIES / 2;
const HOUR_MS: i64 = 3_600_000;
const BACK_MS: [i64; 2] = [2 * HOUR_MS, 26 * HOUR_MS];
/// Persons, or records, written and read at once.
const AT_ONCE: usize = 500;
const KIND: &str = "news";
const SURFACE: &str = "site";

/// The catalogue of the bench, with somewhere to be seen.
pub fn feedback_catalogue() -> String {
    format!("{}surfaces: {{{SURFACE}: 15m}}\n", fanout_room::CATALOGUE)
}

/// All that is said: a function of the number. What is even is a fact, what is odd is feedback.
#[derive(Clone)]
pub struct FeedbackLoad {
    tenant: Tenant,
    persons: usize,
    base: UtcMillis,
    per_second: usize,
}

/// One thing that is said.
enum FeedbackItem {
    Seen,
    Read(Option<Kind>),
    Entries(FeedbackAction, [EntryKey; 2]),
}

impl FeedbackLoad {
    pub fn new(size: usize, per_second: usize) -> anyhow::Result<Self> {
        let persons = if size >= MANY { PERSONS } else { PERSONS_FEW };
        // Told late, so that however fast it is told, nothing is ahead.
        let base = UtcMillis(Clock::real(0).now() - HOUR_MS);
        Ok(Self { tenant: fanout_room::bench_tenant()?, persons, base, per_second })
    }

    fn item_at(&self, number: usize) -> anyhow::Result<FeedbackItem> {
        let entries = |did| {
            let (person, named) = (self.person_at(number), number / self.persons % ENTRIES);
            FeedbackItem::Entries(
                did,
                [self.entry_key(person, named), self.entry_key(person, (named + HALF) % ENTRIES)],
            )
        };
        Ok(match (number % 2, number / 2 % 10) {
            (0, _) => FeedbackItem::Seen,
            (_, 0..4) => FeedbackItem::Read(None),
            (_, 4..6) => FeedbackItem::Read(Some(Kind::new(KIND)?)),
            (_, 6..8) => entries(FeedbackAction::Read),
            _ => entries(FeedbackAction::Cleared),
        })
    }

    fn person_at(&self, number: usize) -> usize {
        number.wrapping_mul(STEP) % self.persons
    }

    /// When it was said; nobody says two things at one instant.
    fn time_at(&self, number: usize) -> anyhow::Result<UtcMillis> {
        Ok(self.base.plus(i64::try_from(number * 1_000 / self.per_second)?))
    }

    fn entry_key(&self, person: usize, number: usize) -> EntryKey {
        let event = EventKey::from_source_id(&self.tenant, "bench", &format!("{person} {number}"));
        EntryKey { occurred: self.base.plus(-BACK_MS[number / HALF]), event }
    }

    fn day_key(&self, person: usize, half: usize) -> anyhow::Result<DayKey> {
        let day = self.entry_key(person, half * HALF).day();
        Ok(DayKey { tenant: self.tenant.clone(), person: numbered_person(person)?, day })
    }

    /// A body that says these numbers.
    pub fn body(&self, numbers: impl Iterator<Item = usize>) -> anyhow::Result<String> {
        let mut body = String::with_capacity(32 << 10);
        for number in numbers {
            let (person, time) = (self.person_at(number), self.time_at(number)?);
            body.push(if body.is_empty() { '[' } else { ',' });
            write!(
                body,
                r#"{{"id":"r{number}","source":"bench","person":"person-{person}","time":"{time}","type":"#
            )?;
            match self.item_at(number)? {
                FeedbackItem::Seen => write!(body, r#""tidings.seen","surface":"{SURFACE}"}}"#)?,
                FeedbackItem::Read(None) => body.push_str(r#""tidings.read","all":true}"#),
                FeedbackItem::Read(Some(kind)) => write!(body, r#""tidings.read","kind":"{kind}"}}"#)?,
                FeedbackItem::Entries(did, [one, other]) => {
                    let did = if did == FeedbackAction::Read { "read" } else { "cleared" };
                    write!(body, r#""tidings.{did}","entries":["{one}","{other}"]}}"#)?;
                }
            }
        }
        body.push(']');
        Ok(body)
    }

    /// Writes the days of everybody.
    pub async fn fill(&self, dir: &Path) -> anyhow::Result<()> {
        let store = EmbeddedStore::open(&dir.join("store"))?;
        let reason = EntryReason {
            kind: Kind::new(KIND)?,
            because: AudienceMatch::Follows(SubjectRef::new("author:1")?),
        };
        let row = |person, number| {
            let (key, reason) = (self.entry_key(person, number), reason.clone());
            let subject = SubjectRef::new(&format!("work:{number}"))?;
            anyhow::Ok(DayRow::Entry(Entry {
                key,
                reason,
                subject,
                actor: None,
                kept: model::KeptFields::new(),
            }))
        };
        for first in (0..self.persons).step_by(AT_ONCE) {
            let mut days = Vec::new();
            for person in first..self.persons.min(first + AT_ONCE) {
                for half in 0..BACK_MS.len() {
                    let rows = (half * HALF..(half + 1) * HALF).map(|number| row(person, number));
                    let (key, rows) = (self.day_key(person, half)?, rows.collect::<Result<_, _>>()?);
                    days.push(DayRows { key, rows });
                }
            }
            store.write(days, self.base).await?;
        }
        Ok(())
    }

    /// Whether a directory has all of the numbers below this one: each that was announced is in the log as it
    /// was said, each entry that was named is marked, and each cell stands at the last instant said.
    pub async fn has_everything(&self, dir: &Path, size: usize) -> anyhow::Result<bool> {
        let (mut seen, mut named) = (HashSet::new(), BTreeMap::<_, usize>::new());
        let (mut cells, mut marks) = (BTreeMap::new(), BTreeSet::new());
        for number in 0..size {
            let person = self.person_at(number);
            match self.item_at(number)? {
                FeedbackItem::Seen => drop(seen.insert((numbered_person(person)?, self.time_at(number)?))),
                FeedbackItem::Read(kind) => {
                    // Numbers rise, and so do their instants.
                    cells.insert((person, kind), self.time_at(number)?);
                }
                FeedbackItem::Entries(did, keys) => {
                    *named
                        .entry((numbered_person(person)?, did == FeedbackAction::Read, sort_keys(keys)))
                        .or_default() += 1;
                    marks.extend(keys.map(|key| (person, did == FeedbackAction::Read, key)));
                }
            }
        }
        let store = EmbeddedStore::open(&dir.join("store"))?;
        Ok(are_all_logged(dir, seen, named).await?
            && self.are_notes_stored(&store, cells).await?
            && self.are_marks_stored(&store, marks).await?)
    }

    async fn are_notes_stored(
        &self,
        store: &EmbeddedStore,
        cells: BTreeMap<(usize, Option<Kind>), UtcMillis>,
    ) -> anyhow::Result<bool> {
        for ((person, kind), at) in cells {
            let states =
                store.states(&[StateKey::Notes(self.tenant.clone(), numbered_person(person)?)]).await?;
            let words = UP_TO.into_iter().filter(|(_, what)| *what == MarkAction::Read);
            let mut found =
                words.filter_map(|(word, _)| states[0].cells.get(&*up_to_field(word, kind.as_ref())));
            if !found.any(|cell| cell.version == at.0) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    async fn are_marks_stored(
        &self,
        store: &EmbeddedStore,
        mut wanted: BTreeSet<(usize, bool, EntryKey)>,
    ) -> anyhow::Result<bool> {
        let persons: BTreeSet<usize> = wanted.iter().map(|(person, ..)| *person).collect();
        for person in persons {
            let keys = [self.day_key(person, 0)?, self.day_key(person, 1)?];
            for row in store.read(&keys, self.base).await?.into_iter().flatten() {
                let DayRow::Mark(mark) = row else { continue };
                for key in mark.covers {
                    wanted.remove(&(person, mark.what == MarkAction::Read, key));
                }
            }
        }
        Ok(wanted.is_empty())
    }
}

fn numbered_person(person: usize) -> anyhow::Result<Person> {
    Ok(Person::new(&format!("person-{person}"))?)
}

fn sort_keys(mut keys: [EntryKey; 2]) -> Vec<EntryKey> {
    keys.sort();
    keys.to_vec()
}

/// Whether the log has each of these, and each at least as often.
async fn are_all_logged(
    dir: &Path,
    mut seen: HashSet<(Person, UtcMillis)>,
    mut named: BTreeMap<(Person, bool, Vec<EntryKey>), usize>,
) -> anyhow::Result<bool> {
    let log = topic::embedded::EmbeddedTopics::open(&dir.join("topics"), Clock::real(0))?;
    for (partition, (mut from, end)) in (0..).zip(log.bounds(topics::INBOX).await?) {
        while from < end {
            let records = log.read(topics::INBOX, partition, from, AT_ONCE).await?;
            let Some(last) = records.last() else { break };
            from = last.offset + 1;
            for record in &records {
                match wire::inbox::decode(record.value.as_deref().unwrap_or_default())? {
                    InboxItem::Seen { person, at, .. } => drop(seen.remove(&(person, at))),
                    InboxItem::Feedback(feedback) => {
                        let of = (feedback.person, feedback.what == FeedbackAction::Read, feedback.keys);
                        if let Some(left) = named.get_mut(&of) {
                            *left = left.saturating_sub(1);
                        }
                    }
                    _ => {}
                }
            }
        }
    }
    log.close();
    Ok(seen.is_empty() && named.values().all(|left| *left == 0))
}
