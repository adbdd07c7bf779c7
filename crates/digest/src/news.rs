//! What a turn read: announcements and the inbox, sorted by person in the order they came.

use std::collections::BTreeMap;

use catalogue::Catalogue;
use model::{Day, Fact, Millis, PlanName, delivery::Delivery};
use topic::{NewRecord, Record};
use wire::{inbox::Inbox, topics};

use crate::{config::GROUP, memory::PersonKey};

/// One thing that concerns a person.
#[derive(Clone, Debug, PartialEq)]
pub enum News {
    /// Rows were written into a day, and these plans care.
    Announced {
        day: Day,
        rows: u32,
        plans: Vec<PlanName>,
    },
    /// The profile changed.
    Profile,
    Delivered(Box<Delivery>),
}

/// All that a turn read.
#[derive(Default, Debug)]
pub struct Read {
    pub of: BTreeMap<PersonKey, Vec<News>>,
    /// Records that could not be read, on their way to quarantine.
    pub rejects: Vec<NewRecord>,
}

/// Reads a batch. Bytes that are no record of ours are values too: they go to quarantine and the partition
/// goes on.
pub fn read(records: &[Record], catalogue: &Catalogue, now: Millis) -> anyhow::Result<Read> {
    let mut read = Read::default();
    for record in records {
        let value = record.value.as_deref().unwrap_or_default();
        let result = match &*record.topic {
            topics::PENDING => {
                wire::pending::decode(value).map(|pending| announced(&mut read, pending, catalogue))
            }
            _ => wire::inbox::decode(value).map(|inbox| heard(&mut read, inbox)),
        };
        if let Err(undecodable) = result {
            read.rejects.push(quarantined(record, &undecodable.to_string(), now)?);
        }
    }
    Ok(read)
}

fn announced(read: &mut Read, pending: wire::pending::Pending, catalogue: &Catalogue) {
    for announcement in pending.announcements {
        let mut plans: Vec<PlanName> = Vec::new();
        for kind in announcement.kinds.iter().filter_map(|kind| catalogue.kinds.get(kind)) {
            plans.extend(kind.plans.iter().filter(|plan| !plans.contains(plan)).cloned().collect::<Vec<_>>());
        }
        // A kind that is gone still has rows in the day: every plan's closing ends them, so any window does.
        if plans.is_empty() {
            plans.extend(catalogue.plans.by_name.keys().take(1).cloned());
        }
        let news = News::Announced { day: announcement.day, rows: announcement.rows, plans };
        read.of.entry((pending.tenant.clone(), announcement.person)).or_default().push(news);
    }
}

fn heard(read: &mut Read, inbox: Inbox) {
    let (key, news) = match inbox {
        Inbox::Fact(Fact::Profile { tenant, person, .. }) => ((tenant, person), News::Profile),
        // Follows are asked of the store at closing, what was read or cleared is in the day's marks.
        Inbox::Fact(Fact::Follow(_)) | Inbox::Feedback(_) => return,
        Inbox::Delivery(delivery) => {
            ((delivery.tenant.clone(), delivery.person.clone()), News::Delivered(Box::new(delivery)))
        }
    };
    read.of.entry(key).or_default().push(news);
}

fn quarantined(record: &Record, reason: &str, now: Millis) -> anyhow::Result<NewRecord> {
    let quarantined = wire::quarantined::Quarantined {
        topic: record.topic.to_string(),
        partition: record.partition,
        offset: record.offset,
        appended: Millis(record.appended),
        key: record.key.clone(),
        value: record.value.clone(),
        cut: false,
        reason: reason.to_owned(),
        at: now,
        room: GROUP.to_owned(),
    };
    Ok(NewRecord {
        topic: topics::QUARANTINE.into(),
        partition: 0,
        key: record.key.clone(),
        value: Some(wire::quarantined::encode(&quarantined)?),
    })
}
