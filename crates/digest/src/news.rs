//! What a turn read: announcements and the inbox, sorted by person in the order they came.

use std::collections::BTreeMap;

use std::sync::Arc;

use model::{Day, Fact, Kind, Millis, PlanName, delivery::Delivery, person::Act, window::Wanted};
use topic::{NewRecord, Record};
use wire::{
    Announcement,
    inbox::Inbox,
    quarantined::{self, Quarantined, Unusable},
    topics,
};

use crate::{config::GROUP, memory::PersonKey};

/// One thing that concerns a person.
#[derive(Clone, Debug, PartialEq)]
pub enum News {
    /// Rows of these kinds were written into a day. Which plans care is the person's choice too, so it is
    /// seen when the profile has been loaded.
    Announced {
        day: Day,
        rows: u32,
        kinds: Vec<Kind>,
        /// Windows of plans that tell several apart.
        windows: Vec<Wanted>,
    },
    /// The profile changed.
    Profile,
    /// Somebody released or cancelled windows of a plan by hand, the one with this key or all, at this instant.
    ByHand {
        act: Act,
        plan: PlanName,
        key: Option<Arc<str>>,
        at: Millis,
    },
    Delivered(Box<Delivery>),
    /// The person was erased.
    Erased,
    /// The person read or cleared something.
    Read {
        at: Millis,
    },
    /// The person was seen on a surface.
    Seen {
        surface: Arc<str>,
        at: Millis,
    },
}

/// All that a turn read.
#[derive(Default, Debug)]
pub struct Read {
    pub of: BTreeMap<PersonKey, Vec<News>>,
    /// Records that could not be read, on their way to quarantine.
    pub rejects: Vec<NewRecord>,
}

/// Reads a batch. Bytes that are no record of ours are values too: they go to quarantine and the partition
/// goes on. What was read or cleared is in the day's marks: only where there are badges somebody waits to hear of it.
pub fn read(records: &[Record], have_badges: bool, now: Millis) -> anyhow::Result<Read> {
    let mut read = Read::default();
    for record in records {
        let value = record.value.as_deref().unwrap_or_default();
        let result = match &*record.topic {
            topics::PENDING => wire::pending::decode(value).map(|pending| announced(&mut read, pending)),
            _ => wire::inbox::decode(value).map(|inbox| match inbox {
                Inbox::Feedback(_) if !have_badges => {}
                inbox => heard(&mut read, inbox),
            }),
        };
        if let Err(undecodable) = result {
            read.rejects.push(quarantined(record, &undecodable.to_string(), now)?);
        }
    }
    Ok(read)
}

fn announced(read: &mut Read, pending: wire::pending::Pending) {
    for announcement in pending.announcements {
        let Announcement { person, day, rows, kinds, windows, full } = announcement;
        // What was not written takes no room: else it would take that of what is urgent.
        let rows = if full { 0 } else { rows };
        let key = (pending.tenant.clone(), person);
        read.of.entry(key).or_default().push(News::Announced { day, rows, kinds, windows });
    }
}

fn heard(read: &mut Read, inbox: Inbox) {
    let (key, news) = match inbox {
        Inbox::Fact(Fact::Profile { tenant, person, .. }) => ((tenant, person), News::Profile),
        // Follows are asked of the store at closing.
        Inbox::Fact(Fact::Follow(_)) => return,
        Inbox::Feedback(feedback) => ((feedback.tenant, feedback.person), News::Read { at: feedback.at }),
        Inbox::Delivery(delivery) => {
            ((delivery.tenant.clone(), delivery.person.clone()), News::Delivered(delivery))
        }
        Inbox::Seen { tenant, person, surface, at } => ((tenant, person), News::Seen { surface, at }),
        Inbox::Erased { tenant, person, at: _ } => ((tenant, person), News::Erased),
        Inbox::ByHand { tenant, person, act, plan, key, at } => {
            ((tenant, person), News::ByHand { act, plan, key, at })
        }
    };
    read.of.entry(key).or_default().push(news);
}

fn quarantined(record: &Record, reason: &str, now: Millis) -> anyhow::Result<NewRecord> {
    let unusable = Unusable {
        topic: &record.topic,
        partition: record.partition,
        offset: record.offset,
        appended: Millis(record.appended),
        key: &record.key,
        value: record.value.as_deref(),
    };
    aside(&quarantined::of_record(unusable, reason, GROUP, now).with_headers(&record.headers))
}

/// What is put aside of a Ready that could not be written: it lies nowhere, so it cannot be put back.
pub fn unwritten(partition: u32, key: &[u8], reason: &str, now: Millis) -> anyhow::Result<NewRecord> {
    let (topic, offset, value) = (topics::READY, u64::MAX, None);
    let nowhere = Unusable { topic, partition, offset, appended: now, key, value };
    aside(&Quarantined { cut: true, ..quarantined::of_record(nowhere, reason, GROUP, now) })
}

fn aside(aside: &Quarantined) -> anyhow::Result<NewRecord> {
    let (key, value) = quarantined::keyed(aside)?;
    Ok(NewRecord {
        topic: topics::QUARANTINE.into(),
        partition: 0,
        key,
        value: Some(value),
        headers: Vec::new(),
    })
}
