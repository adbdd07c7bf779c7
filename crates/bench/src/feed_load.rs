//! The feeds of the bench: a few persons with many entries each, on every third day of those that live, told as one for each
//! page; and what a page of them has to say.

use std::collections::BTreeMap;

use model::{
    Actor, ActorId, AudienceMatch, Day, DayRow, Entry, EntryKey, EntryReason, EventKey, KeptFields, Kind,
    Person, SubjectRef, Tenant, UtcMillis, Value, VersionedState, entry::DayKey, limits::DAY_MS,
    person::profile,
};
use runtime::Clock;
use store::{DayRows, StateKey, Store};

use crate::fanout_room;

/// What a process keeps of so many persons with ten thousand entries each.
pub const PERSONS: usize = 8;
/// Days with entries, and how far apart.
pub const DAYS: usize = 30;
const APART: i64 = 3;
/// Pages that are edited, and who edits them; both are prime.
const PAGES: usize = 997;
const EDITORS: usize = 89;
const KIND: &str = "news";

/// The catalogue of the bench, with bundles.
pub fn feed_catalogue() -> String {
    let says = "    bundle_by: subject\n    says: '{{ actor }} edited {{ subject.title }}'\n    \
                says_many: '{{ actor }} and {{ others | capped }} others edited {{ subject.title }} {{ count | capped }} times'\n";
    fanout_room::CATALOGUE.replace("    says: '{{ subject.title }}'\n", says)
}

/// Everything that was told to them.
pub struct FeedLoad {
    tenant: Tenant,
    /// Entries of a person.
    entries: usize,
    now: UtcMillis,
}

/// A bundle as it has to be: which page, and how many edits.
pub type ExpectedBundle = (String, usize);

impl FeedLoad {
    pub fn new(entries: usize) -> anyhow::Result<Self> {
        Ok(Self { tenant: fanout_room::bench_tenant()?, entries, now: UtcMillis(Clock::real(0).now()) })
    }

    pub fn person_name(person: usize) -> String {
        format!("person-{person}")
    }

    /// When an entry occurred: the first ones of a person are the newest of their days.
    pub fn occurred(&self, number: usize) -> anyhow::Result<UtcMillis> {
        let (day, place) = (i64::try_from(number % DAYS)?, i64::try_from(number / DAYS)?);
        // A few minutes after midnight, those of one day would lie in two.
        let newest = match day {
            0 => self.now,
            back => Day::from_instant(self.now.plus(-back * APART * DAY_MS)).start().plus(DAY_MS / 2),
        };
        Ok(newest.plus(-(place + 1) * 1_000))
    }

    pub fn page(&self, person: usize, number: usize) -> usize {
        (number + person) % PAGES
    }

    pub fn editor(&self, number: usize) -> usize {
        number % EDITORS
    }

    pub fn entries(&self) -> usize {
        self.entries
    }

    /// The first page of a person's feed.
    pub fn first_page(&self, person: usize, bundles: usize) -> anyhow::Result<Vec<ExpectedBundle>> {
        let mut newest = BTreeMap::<usize, (UtcMillis, usize)>::new();
        for number in 0..self.entries {
            let at = self.occurred(number)?;
            let bundle = newest.entry(self.page(person, number)).or_insert((at, 0));
            *bundle = (bundle.0.max(at), bundle.1 + 1);
        }
        let mut all: Vec<_> = newest.into_iter().map(|(page, (at, count))| (at, page, count)).collect();
        all.sort_unstable_by(|a, b| b.cmp(a));
        Ok(all.into_iter().take(bundles).map(|(_, page, count)| (format!("work:{page}"), count)).collect())
    }

    /// Writes all of it.
    pub async fn fill(&self, store: &dyn Store) -> anyhow::Result<()> {
        let mut states = Vec::new();
        for page in 0..PAGES {
            let title = Some(Value::from_text(&format!("Page {page}")));
            let subject = SubjectRef::new(&format!("work:{page}"))?;
            states.push((
                StateKey::Subject(self.tenant.clone(), subject),
                VersionedState::from_values(1, [("title", title)]),
            ));
        }
        for person in 0..PERSONS {
            let zone = Some(Value::from_text("UTC"));
            let key = StateKey::Person(self.tenant.clone(), Person::new(&Self::person_name(person))?);
            states.push((key, VersionedState::from_values(1, [(profile::ZONE, zone)])));
        }
        store.merge(states).await?;
        for person in 0..PERSONS {
            let mut days = BTreeMap::<DayKey, Vec<DayRow>>::new();
            for number in 0..self.entries {
                let entry = self.entry(person, number)?;
                let day = DayKey {
                    tenant: self.tenant.clone(),
                    person: Person::new(&Self::person_name(person))?,
                    day: entry.key.day(),
                };
                days.entry(day).or_default().push(DayRow::Entry(entry));
            }
            store
                .write(days.into_iter().map(|(key, rows)| DayRows { key, rows }).collect(), self.now)
                .await?;
        }
        Ok(())
    }

    fn entry(&self, person: usize, number: usize) -> anyhow::Result<Entry> {
        let event = EventKey::from_source_id(&self.tenant, "bench", &format!("{person} {number}"));
        Ok(Entry {
            key: EntryKey { occurred: self.occurred(number)?, event },
            reason: EntryReason { kind: Kind::new(KIND)?, because: AudienceMatch::Named },
            subject: SubjectRef::new(&format!("work:{}", self.page(person, number)))?,
            actor: Some(Actor {
                id: ActorId::Person(Person::new(&format!("editor-{}", self.editor(number)))?),
                name: Some(format!("Editor {}", self.editor(number)).into()),
            }),
            kept: KeptFields::new(),
        })
    }
}
