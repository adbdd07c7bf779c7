//! The places that are neither the store's nor rooms': whose messages are to go, which records of the log are about a
//! person, and what a receipt says of each place.

use std::collections::BTreeMap;

use anyhow::Context as _;
use courier::CourierEraseRequest;
use house_facts::{
    erasure::{Holding, HoldingCounts, HoldingKeeper, Receipt, ReceiptLine},
    erasure_counts::readys_in_rows,
};
use model::{Day, DayLife, Person, Tenant, UtcMillis, Value, entry::DayKey, partition::PartitionCount};
use store::{StateKey, Store};
use topic::{TopicName, TopicRecord, Topics};
use wire::{SchemaSource, upstream::UpstreamRecord};

use crate::STAGES;

/// Records read at once.
const PAGE: usize = 1_000;

/// Fields of a profile that are looked for elsewhere: what reaches somebody is nobody else's.
fn is_contact_field(field: &str, text: &str) -> bool {
    text.contains('@') || text.contains("://") || field.starts_with("device ")
}

/// What the messages of a person are of, and where they went. Read while the profile and the days are there.
pub async fn load_message_keys(
    store: &dyn Store,
    (tenant, person): (&Tenant, &Person),
    now: UtcMillis,
) -> anyhow::Result<CourierEraseRequest> {
    let key = |day: Day| DayKey { tenant: tenant.clone(), person: person.clone(), day };
    let keys: Vec<DayKey> = store.day_life().living_days(now).map(key).collect();
    let days = store.read(&keys, now).await.context("days")?;
    let profile =
        store.states(&[StateKey::Person(tenant.clone(), person.clone())]).await.context("profile")?;
    let cells = profile.iter().flat_map(|state| &state.cells);
    let text = |(field, cell): (&std::sync::Arc<str>, &model::ValueCell)| match &cell.value {
        Some(Value::Text(text)) if is_contact_field(field, text) => {
            // Of a device the token alone: its platform stands before it.
            Some(text.rsplit(' ').next().unwrap_or_default().to_owned())
        }
        _ => None,
    };
    let addresses = cells.filter_map(text).collect();
    Ok(CourierEraseRequest { readys: readys_in_rows(days.iter().flatten()), addresses })
}

pub fn of_courier(kept: Option<u64>) -> HoldingCounts {
    kept.map(|count| (Holding::Outbox, count)).into_iter().collect()
}

/// Whose records are looked for.
pub struct ErasureSearch<'a> {
    pub tenant: &'a Tenant,
    pub person: &'a Person,
    pub addresses: &'a [String],
    pub partitions: PartitionCount,
}

/// A record's place.
pub type RecordAddress = (TopicName, u32, u64);

/// The topics on which records about a person are looked for one by one.
const READ_HOLDINGS: [Holding; 6] = [
    Holding::Changes,
    Holding::Inbox,
    Holding::ReadyUrgent,
    Holding::Ready,
    Holding::Returns,
    Holding::Quarantine,
];

/// The records about a person that have been read by whoever reads them, by topic. What is not read yet is about
/// somebody whom nobody hears of any more, and goes with the next erasure or with the retention.
pub async fn find_records(
    log: &dyn Topics,
    schemas: &dyn SchemaSource,
    sought: &ErasureSearch<'_>,
) -> anyhow::Result<BTreeMap<Holding, Vec<RecordAddress>>> {
    let own = sought.partitions.of_person(sought.tenant, sought.person);
    let mut found: BTreeMap<Holding, Vec<RecordAddress>> = BTreeMap::new();
    for holding in READ_HOLDINGS {
        let topic = holding.name();
        let read = read_by_all(log, topic).await?;
        for (partition, (first, end)) in (0..).zip(log.bounds(topic).await?) {
            if [Holding::Inbox, Holding::ReadyUrgent, Holding::Ready].contains(&holding) && partition != own {
                continue;
            }
            let (mut from, end) = (first, read.get(&partition).map_or(end, |read| end.min(*read)));
            while from < end {
                let records = log.read(topic, partition, from, PAGE).await?;
                from = records.last().map_or(end, |last| last.offset + 1);
                for record in records.into_iter().filter(|record| record.offset < end) {
                    if is_about(holding, &record, schemas, sought).await {
                        found.entry(holding).or_default().push((topic.into(), partition, record.offset));
                    }
                }
            }
        }
    }
    Ok(found)
}

/// Up to where every group has read a topic, by partition; nothing where nobody reads.
async fn read_by_all(log: &dyn Topics, topic: &str) -> anyhow::Result<BTreeMap<u32, u64>> {
    let mut read: BTreeMap<u32, u64> = BTreeMap::new();
    for stage in STAGES.iter().filter(|stage| stage.topics.contains(&topic)) {
        for standing in log.standing(stage.group, topic).await? {
            let at = read.entry(standing.partition).or_insert(standing.committed);
            *at = (*at).min(standing.committed);
        }
    }
    Ok(read)
}

async fn is_about(
    holding: Holding,
    record: &TopicRecord,
    schemas: &dyn SchemaSource,
    sought: &ErasureSearch<'_>,
) -> bool {
    let key = wire::key::person_key(sought.tenant, sought.person);
    match holding {
        Holding::Changes => is_change_of_person(record_as_raw(record), schemas, sought).await,
        Holding::Quarantine => {
            let Some(Ok(aside)) = record.value.as_deref().map(wire::quarantine::decode) else {
                return false;
            };
            let value = aside.value.as_deref().unwrap_or_default();
            let raw =
                UpstreamRecord { headers: &aside.headers, key: &aside.key, value: aside.value.as_deref() };
            aside.key == key
                || names_address(value, sought)
                || is_change_of_person(raw, schemas, sought).await
        }
        _ => record.key == key,
    }
}

fn record_as_raw(record: &TopicRecord) -> UpstreamRecord<'_> {
    UpstreamRecord { headers: &record.headers, key: &record.key, value: record.value.as_deref() }
}

/// Whether it is a fact or feedback of this person.
async fn is_change_of_person(
    raw: UpstreamRecord<'_>,
    schemas: &dyn SchemaSource,
    sought: &ErasureSearch<'_>,
) -> bool {
    let Ok(cloud) = wire::upstream::read_change(raw, schemas).await else { return false };
    cloud.what.starts_with("tidings.")
        && cloud.data.get("person").and_then(|person| person.as_str()) == Some(sought.person.as_str())
}

/// Whether bytes that nobody could read have an address of the person in them.
fn names_address(bytes: &[u8], sought: &ErasureSearch<'_>) -> bool {
    let text = String::from_utf8_lossy(bytes).to_lowercase();
    sought.addresses.iter().any(|address| text.contains(&address.to_lowercase()))
}

/// What the log and the store have to say of what they cannot remove at once.
#[derive(Default)]
pub struct RetentionFacts {
    /// The log emptied single records.
    pub log_blanks: bool,
    pub store_files: Option<&'static str>,
    pub day_life: DayLife,
    /// How old records of topics may become, as the log says it.
    pub lives: BTreeMap<Holding, i64>,
}

impl RetentionFacts {
    pub async fn load(
        log: &dyn Topics,
        log_blanks: bool,
        store_files: Option<&'static str>,
        day_life: DayLife,
    ) -> anyhow::Result<Self> {
        let mut lives = BTreeMap::new();
        for holding in Holding::kept_by(HoldingKeeper::Log) {
            let life = log.life(holding.name()).await.with_context(|| format!("topic {}", holding.name()))?;
            lives.extend(life.map(|life| (holding, life)));
        }
        Ok(Self { log_blanks, store_files, day_life, lives })
    }
}

const BY_ID: &str = "the person's id and the name that an event gave it, in records that also concern others or that the \
        log needs; nothing of the profile";
const WHOLE: &str =
    "this log cannot remove single records; those about the person end with the topic's retention";
const TOMBSTONE: &str = "a record without a value stands for the person; compaction removes the older ones \
    when the cluster next rolls a segment";

/// One line for each place there is.
pub fn build_receipt(removed: &HoldingCounts, means: &RetentionFacts, now: UtcMillis) -> Receipt {
    let line = |holding: &Holding| {
        let (stays, until) = describe_remainder(*holding, means, now);
        let stays = stays.map(str::to_owned);
        ReceiptLine { holding: *holding, removed: removed.get(holding).copied().unwrap_or(0), stays, until }
    };
    Receipt { lines: Holding::ALL.iter().map(line).collect() }
}

fn describe_remainder(
    holding: Holding,
    means: &RetentionFacts,
    now: UtcMillis,
) -> (Option<&'static str>, Option<UtcMillis>) {
    let retention = means.lives.get(&holding).map(|life| now.plus(*life));
    match holding {
        Holding::Notes => {
            let stays = "the mark that this id was erased, for good, so that it is told nothing; only a \
                welcome removes it";
            (Some(stays), None)
        }
        Holding::Days
        | Holding::Profile
        | Holding::Mutes
        | Holding::Saved
        | Holding::Streams
        | Holding::Crowds
        | Holding::Follows
        | Holding::Slips => (means.store_files, None),
        Holding::Journal => {
            let stays =
                "the contents of messages as hashes that name nobody, where nothing else named the message";
            (Some(stays), Some(now.plus(means.day_life.ms())))
        }
        Holding::Answers => {
            let stays = "answers to requests, under a hash of the client's key; they may quote an id";
            (Some(stays), Some(now.plus(model::limits::DAY_MS)))
        }
        Holding::FirstWords => {
            let stays = "when each event was first heard of, under a hash of its source and id; no person";
            (Some(stays), Some(now.plus(means.day_life.first_word_ms())))
        }
        Holding::Events | Holding::Slices | Holding::Pending => (Some(BY_ID), retention),
        Holding::Changes
        | Holding::Inbox
        | Holding::ReadyUrgent
        | Holding::Ready
        | Holding::Returns
        | Holding::Quarantine => match means.log_blanks {
            true => (None, None),
            false => (Some(WHOLE), retention),
        },
        Holding::Windows => ((!means.log_blanks).then_some(TOMBSTONE), None),
        Holding::Erasures => (Some("this receipt, with the id"), retention),
        Holding::OthersDays => {
            let stays = "rows of others that name this id as the actor or as the other party, with the name \
                and the words that the event stated, until their days expire, or for as long as somebody has the entry \
                saved; and mutes of others that name it";
            (Some(stays), None)
        }
        Holding::Subjects => {
            let stays = "the state of subjects, such as the name of an author: it belongs to the subject \
                until services state it without the name";
            (Some(stays), None)
        }
        Holding::Archives => {
            (Some("files: `tidings erase PERSON --archive FILE` writes one without the person"), None)
        }
        Holding::Sources => {
            (Some("topics of other services that the house reads: they have to remove it"), None)
        }
        Holding::Messages => {
            (Some("sent messages are with their recipients and with the servers on the way"), None)
        }
        Holding::Outbox | Holding::Replays | Holding::House => (None, None),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use wire::topics;

    use super::*;

    #[test]
    fn every_topic_of_a_house_is_a_place() {
        let topics =
            topics::all_topics(PartitionCount::USUAL).map(|(name, ..)| Holding::parse(name)).into_iter();
        let topics: Option<BTreeSet<Holding>> = topics.collect();
        assert_eq!(topics, Some(Holding::kept_by(HoldingKeeper::Log).collect()));
    }

    #[test]
    fn what_stays_of_a_topic_is_told_with_its_end_unless_the_log_empties_records() {
        let now = UtcMillis::parse("2026-11-23T09:00:00Z").unwrap();
        let told = |means: &RetentionFacts| {
            let lines = build_receipt(&HoldingCounts::new(), means, now).lines;
            let changes = lines.into_iter().find(|line| line.holding == Holding::Changes).unwrap();
            (changes.stays.is_some(), changes.until)
        };
        let lives = BTreeMap::from([(Holding::Changes, 5)]);
        assert_eq!(
            told(&RetentionFacts { lives: lives.clone(), ..RetentionFacts::default() }),
            (true, Some(now.plus(5)))
        );
        // Nobody knows when.
        assert_eq!(told(&RetentionFacts::default()), (true, None));
        assert_eq!(
            told(&RetentionFacts { lives, log_blanks: true, ..RetentionFacts::default() }),
            (false, None)
        );
    }
}
