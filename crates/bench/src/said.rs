//! What persons say of themselves in the bench of feedback: where they are, and what they have read; as services
//! send it, and whether the house has all of it afterwards.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    fmt::Write as _,
    path::Path,
};

use model::{
    Because, Entry, EntryKey, EventKey, Kind, Millis, Person, Reason, Row, SubjectRef, Tenant, What,
    entry::DayKey,
    person::notes::{UP_TO, up_to},
};
use runtime::Clock;
use store::{DayRows, Days as _, StateKey, States as _, embedded::Embedded};
use topic::Topics as _;
use wire::{Did, Inbox, topics};

use crate::room;

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
pub fn catalogue() -> String {
    format!("{}surfaces: {{{SURFACE}: 15m}}\n", room::CATALOGUE)
}

/// All that is said: a function of the number. What is even is a fact, what is odd is feedback.
#[derive(Clone)]
pub struct Said {
    tenant: Tenant,
    persons: usize,
    base: Millis,
    per_second: usize,
}

/// One thing that is said.
enum Thing {
    Seen,
    Read(Option<Kind>),
    Entries(Did, [EntryKey; 2]),
}

impl Said {
    pub fn new(size: usize, per_second: usize) -> anyhow::Result<Self> {
        let persons = if size >= MANY { PERSONS } else { PERSONS_FEW };
        // Told late, so that however fast it is told, nothing is ahead.
        let base = Millis(Clock::real(0).now() - HOUR_MS);
        Ok(Self { tenant: room::tenant()?, persons, base, per_second })
    }

    fn of(&self, number: usize) -> anyhow::Result<Thing> {
        let entries = |did| {
            let (person, named) = (self.who(number), number / self.persons % ENTRIES);
            Thing::Entries(did, [self.entry(person, named), self.entry(person, (named + HALF) % ENTRIES)])
        };
        Ok(match (number % 2, number / 2 % 10) {
            (0, _) => Thing::Seen,
            (_, 0..4) => Thing::Read(None),
            (_, 4..6) => Thing::Read(Some(Kind::new(KIND)?)),
            (_, 6..8) => entries(Did::Read),
            _ => entries(Did::Cleared),
        })
    }

    fn who(&self, number: usize) -> usize {
        number.wrapping_mul(STEP) % self.persons
    }

    /// When it was said; nobody says two things at one instant.
    fn at(&self, number: usize) -> anyhow::Result<Millis> {
        Ok(self.base.plus(i64::try_from(number * 1_000 / self.per_second)?))
    }

    fn entry(&self, person: usize, number: usize) -> EntryKey {
        let event = EventKey::of(&self.tenant, "bench", &format!("{person} {number}"));
        EntryKey { occurred: self.base.plus(-BACK_MS[number / HALF]), event }
    }

    fn day_key(&self, person: usize, half: usize) -> anyhow::Result<DayKey> {
        let day = self.entry(person, half * HALF).day();
        Ok(DayKey { tenant: self.tenant.clone(), person: name(person)?, day })
    }

    /// A body that says these numbers.
    pub fn body(&self, numbers: impl Iterator<Item = usize>) -> anyhow::Result<String> {
        let mut body = String::with_capacity(32 << 10);
        for number in numbers {
            let (person, time) = (self.who(number), self.at(number)?);
            body.push(if body.is_empty() { '[' } else { ',' });
            write!(
                body,
                r#"{{"id":"r{number}","source":"bench","person":"person-{person}","time":"{time}","type":"#
            )?;
            match self.of(number)? {
                Thing::Seen => write!(body, r#""tidings.seen","surface":"{SURFACE}"}}"#)?,
                Thing::Read(None) => body.push_str(r#""tidings.read","all":true}"#),
                Thing::Read(Some(kind)) => write!(body, r#""tidings.read","kind":"{kind}"}}"#)?,
                Thing::Entries(did, [one, other]) => {
                    let did = if did == Did::Read { "read" } else { "cleared" };
                    write!(body, r#""tidings.{did}","entries":["{one}","{other}"]}}"#)?;
                }
            }
        }
        body.push(']');
        Ok(body)
    }

    /// Writes the days of everybody.
    pub async fn fill(&self, dir: &Path) -> anyhow::Result<()> {
        let store = Embedded::open(&dir.join("store"))?;
        let reason =
            Reason { kind: Kind::new(KIND)?, because: Because::Follows(SubjectRef::new("author:1")?) };
        let row = |person, number| {
            let (key, reason) = (self.entry(person, number), reason.clone());
            let subject = SubjectRef::new(&format!("work:{number}"))?;
            anyhow::Ok(Row::Entry(Entry { key, reason, subject, actor: None }))
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
    pub async fn all_there(&self, dir: &Path, size: usize) -> anyhow::Result<bool> {
        let (mut seen, mut named) = (HashSet::new(), BTreeMap::<_, usize>::new());
        let (mut cells, mut marks) = (BTreeMap::new(), BTreeSet::new());
        for number in 0..size {
            let person = self.who(number);
            match self.of(number)? {
                Thing::Seen => drop(seen.insert((name(person)?, self.at(number)?))),
                Thing::Read(kind) => {
                    // Numbers rise, and so do their instants.
                    cells.insert((person, kind), self.at(number)?);
                }
                Thing::Entries(did, keys) => {
                    *named.entry((name(person)?, did == Did::Read, sorted(keys))).or_default() += 1;
                    marks.extend(keys.map(|key| (person, did == Did::Read, key)));
                }
            }
        }
        let store = Embedded::open(&dir.join("store"))?;
        Ok(announced(dir, seen, named).await?
            && self.noted(&store, cells).await?
            && self.marked(&store, marks).await?)
    }

    async fn noted(
        &self,
        store: &Embedded,
        cells: BTreeMap<(usize, Option<Kind>), Millis>,
    ) -> anyhow::Result<bool> {
        for ((person, kind), at) in cells {
            let states = store.states(&[StateKey::Notes(self.tenant.clone(), name(person)?)]).await?;
            let words = UP_TO.into_iter().filter(|(_, what)| *what == What::Read);
            let mut found = words.filter_map(|(word, _)| states[0].cells.get(&*up_to(word, kind.as_ref())));
            if !found.any(|cell| cell.version == at.0) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    async fn marked(
        &self,
        store: &Embedded,
        mut wanted: BTreeSet<(usize, bool, EntryKey)>,
    ) -> anyhow::Result<bool> {
        let persons: BTreeSet<usize> = wanted.iter().map(|(person, ..)| *person).collect();
        for person in persons {
            let keys = [self.day_key(person, 0)?, self.day_key(person, 1)?];
            for row in store.read(&keys, self.base).await?.into_iter().flatten() {
                let Row::Mark(mark) = row else { continue };
                for key in mark.covers {
                    wanted.remove(&(person, mark.what == What::Read, key));
                }
            }
        }
        Ok(wanted.is_empty())
    }
}

fn name(person: usize) -> anyhow::Result<Person> {
    Ok(Person::new(&format!("person-{person}"))?)
}

fn sorted(mut keys: [EntryKey; 2]) -> Vec<EntryKey> {
    keys.sort();
    keys.to_vec()
}

/// Whether the log has each of these, and each at least as often.
async fn announced(
    dir: &Path,
    mut seen: HashSet<(Person, Millis)>,
    mut named: BTreeMap<(Person, bool, Vec<EntryKey>), usize>,
) -> anyhow::Result<bool> {
    let log = topic::embedded::Embedded::open(&dir.join("topics"), Clock::real(0))?;
    for (partition, (mut from, end)) in (0..).zip(log.bounds(topics::INBOX).await?) {
        while from < end {
            let records = log.read(topics::INBOX, partition, from, AT_ONCE).await?;
            let Some(last) = records.last() else { break };
            from = last.offset + 1;
            for record in &records {
                match wire::inbox::decode(record.value.as_deref().unwrap_or_default())? {
                    Inbox::Seen { person, at, .. } => drop(seen.remove(&(person, at))),
                    Inbox::Feedback(feedback) => {
                        let of = (feedback.person, feedback.what == Did::Read, feedback.keys);
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
