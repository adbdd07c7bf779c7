//! The open windows, as the log's compacted topic has them. For looking at: the owner's memory decides.

use std::collections::BTreeMap;

use anyhow::bail;
use model::{
    Person, Tenant, UtcMillis,
    partition::PartitionCount,
    person::{DeferredReady, PersonRecord, Window},
};
use topic::{TopicRecord, Topics};
use wire::topics;

/// Records that one look reads at most; a house with more has better tools than a page.
pub const RECORDS_MAX: usize = 20_000;
const PAGE: usize = 2_000;

/// What the log remembers of persons.
#[derive(Debug, Default)]
pub struct RememberedPersons {
    pub persons: BTreeMap<(Tenant, Person), PersonRecord>,
    /// Records that cannot be read, by key; `tidings state` is about these.
    unreadable: BTreeMap<Vec<u8>, String>,
    /// There was more than a look reads.
    pub is_cut: bool,
}

impl RememberedPersons {
    /// One record that cannot be read keeps nobody from looking at the others.
    fn apply_record(&mut self, record: &TopicRecord) {
        self.unreadable.remove(&record.key);
        let Some(value) = &record.value else {
            if let Ok(whose) = wire::key::read_person_key(&record.key) {
                self.persons.remove(&whose);
            }
            return;
        };
        match wire::window::decode(value) {
            Ok((tenant, person, record)) => {
                self.persons.insert((tenant, person), record);
            }
            Err(undecodable) => {
                self.unreadable.insert(record.key.clone(), undecodable.to_string());
            }
        }
    }

    /// The next instant at which somebody is due to be told something.
    pub fn next_due(&self) -> Option<UtcMillis> {
        let windows = self.persons.values().flat_map(|record| record.windows.iter().map(|window| window.due));
        let deferred =
            self.persons.values().flat_map(|record| record.waiting.iter().map(|waiting| waiting.at));
        windows.chain(deferred).min()
    }

    /// Messages of one tenant that no server has taken yet and that are sent again: how many, and when the next one is.
    pub fn deferred_messages(&self, of: &Tenant) -> (usize, Option<UtcMillis>) {
        let records = self.persons.iter().filter(|((tenant, _), _)| tenant == of);
        let deferred: Vec<&DeferredReady> = records.flat_map(|(_, record)| &record.waiting).collect();
        (deferred.len(), deferred.iter().filter_map(|deferred| deferred.next_try()).min())
    }

    /// Whose windows are open, of one tenant, the soonest first.
    pub fn open_windows(&self, of: &Tenant) -> Vec<(&Person, &Window)> {
        let all = self.persons.iter().filter(|((tenant, _), _)| tenant == of);
        let mut open: Vec<_> = all
            .flat_map(|((_, person), record)| record.windows.iter().map(move |window| (person, window)))
            .collect();
        open.sort_by_key(|(person, window)| (window.due, *person));
        open
    }
}

/// All persons of whom anything is remembered, as far as one look reaches.
pub async fn load_persons(log: &dyn Topics) -> anyhow::Result<RememberedPersons> {
    let mut remembered = RememberedPersons::default();
    let mut left = RECORDS_MAX;
    for (number, bounds) in (0..).zip(log.bounds(topics::WINDOWS).await?) {
        read_partition(log, number, bounds, &mut left, &mut remembered).await?;
    }
    Ok(remembered)
}

/// What is remembered of one person.
pub async fn load_person(
    log: &dyn Topics,
    tenant: &Tenant,
    person: &Person,
) -> anyhow::Result<Option<PersonRecord>> {
    let bounds = log.bounds(topics::WINDOWS).await?;
    let number = PartitionCount::from_topic_count(bounds.len()).of_person(tenant, person);
    let mut remembered = RememberedPersons::default();
    if let Some(bounds) = bounds.get(number as usize) {
        read_partition(log, number, *bounds, &mut RECORDS_MAX.clone(), &mut remembered).await?;
    }
    if let Some(why) = remembered.unreadable.get(&wire::key::person_key(tenant, person)) {
        bail!("the record of {person} cannot be read: {why}; see `tidings state`");
    }
    Ok(remembered.persons.remove(&(tenant.clone(), person.clone())))
}

async fn read_partition(
    log: &dyn Topics,
    number: u32,
    (mut from, end): (u64, u64),
    left: &mut usize,
    remembered: &mut RememberedPersons,
) -> anyhow::Result<()> {
    while from < end {
        if *left == 0 {
            remembered.is_cut = true;
            return Ok(());
        }
        let records = log.read(topics::WINDOWS, number, from, PAGE.min(*left)).await?;
        let Some(last) = records.last() else { break };
        from = last.offset + 1;
        *left -= records.len();
        records.iter().for_each(|record| remembered.apply_record(record));
    }
    Ok(())
}
