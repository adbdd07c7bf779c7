//! What a turn read: announcements and the inbox, sorted by person in the order they came.

use std::{collections::BTreeMap, sync::Arc};

use catalogue::Catalogue;
use model::{
    Day, Fact, Kind, PlanName, UtcMillis, delivery::Delivery, person::Act, trace::EntryTraces,
    window::WindowTarget,
};
use room::quarantine::quarantine_record;
use topic::{NewRecord, TopicRecord};
use wire::{DayAnnouncement, Feedback, FeedbackAction, QuarantineCause, inbox::InboxItem, topics, trace};

use crate::{config::GROUP, memory::PersonKey};

/// One thing that concerns a person.
#[derive(Clone, Debug, PartialEq)]
pub enum PersonNews {
    /// Rows of these kinds were written into a day. Which plans care is the person's choice too, so it is
    /// seen when the profile has been loaded.
    Announced {
        day: Day,
        rows: u32,
        kinds: Vec<Kind>,
        /// Windows of plans that tell several apart.
        windows: Vec<WindowTarget>,
        /// Of which traces the rows are; mostly of none.
        traces: EntryTraces,
    },
    /// The profile changed.
    Profile,
    /// Somebody released or cancelled windows of a plan by hand, the one with this key or all, at this instant.
    ByHand {
        act: Act,
        plan: PlanName,
        key: Option<Arc<str>>,
        at: UtcMillis,
    },
    Delivered(Box<Delivery>),
    /// The person was erased.
    Erased,
    /// The number on the person's devices may be another one: they did something with an entry.
    NumberChanged,
    /// Something was revoked that they may have been told.
    Revoked,
    /// The person put off something of these days, which comes back then.
    PutOff {
        back: Vec<(Day, UtcMillis)>,
    },
    /// The person was seen on a surface.
    Seen {
        surface: Arc<str>,
        at: UtcMillis,
    },
}

/// What the pushes of a catalogue wait to hear of.
#[derive(Clone, Copy, Debug)]
pub struct PushNeeds {
    /// What was read or cleared: some have a number.
    have_badges: bool,
    /// What was revoked: it goes from the screen.
    have_pushes: bool,
}

impl PushNeeds {
    pub fn find(catalogue: &Catalogue) -> Self {
        Self { have_badges: catalogue.have_badges(), have_pushes: catalogue.have_pushes() }
    }
}

/// All that a turn read.
#[derive(Default, Debug)]
pub struct TurnNews {
    pub of: BTreeMap<PersonKey, Vec<PersonNews>>,
    /// Records that could not be read, on their way to quarantine.
    pub rejects: Vec<NewRecord>,
}

/// Reads a batch. Bytes that are no record of ours are values too: they go to quarantine and the partition
/// goes on. What was read or cleared is in the day's marks: only where there are badges somebody waits to hear of it.
pub fn read_batch(records: &[TopicRecord], needs: PushNeeds, now: UtcMillis) -> anyhow::Result<TurnNews> {
    let mut read = TurnNews::default();
    for record in records {
        let value = record.value.as_deref().unwrap_or_default();
        let result = match &*record.topic {
            topics::PENDING => wire::pending::decode(value).map(|pending| {
                let traces = trace::read_entries(&record.headers);
                add_announcements(&mut read, pending, &traces, needs);
            }),
            _ => wire::inbox::decode(value).map(|inbox| add_inbox_item(&mut read, inbox, needs)),
        };
        if let Err(undecodable) = result {
            read.rejects.push(quarantine_record(
                record,
                (QuarantineCause::Unreadable, undecodable.to_string()),
                GROUP,
                now,
            )?);
        }
    }
    Ok(read)
}

fn add_announcements(
    read: &mut TurnNews,
    pending: wire::pending::AnnouncementBatch,
    traces: &EntryTraces,
    needs: PushNeeds,
) {
    let (recalls, others): (Vec<_>, Vec<_>) =
        pending.announcements.into_iter().partition(DayAnnouncement::is_of_nothing);
    // What was revoked is seen by whoever closes or sends; only what a push has told waits for it.
    for DayAnnouncement { person, .. } in recalls.into_iter().filter(|_| needs.have_pushes) {
        let key = (pending.tenant.clone(), person);
        read.of.entry(key).or_default().push(PersonNews::Revoked);
    }
    for announcement in others {
        let DayAnnouncement { person, day, rows, kinds, windows, full } = announcement;
        // What was not written takes no room: else it would take that of what is urgent.
        let rows = if full { 0 } else { rows };
        let key = (pending.tenant.clone(), person);
        let traces = traces.clone();
        read.of.entry(key).or_default().push(PersonNews::Announced { day, rows, kinds, windows, traces });
    }
}

/// What is put off has to come back; all else only the number on an icon waits for.
fn add_feedback(read: &mut TurnNews, feedback: Feedback, needs: PushNeeds) {
    let Feedback { tenant, person, what, keys, at: _ } = feedback;
    let mut news = Vec::new();
    if let FeedbackAction::Snoozed(until) = what {
        let back = keys.iter().map(|key| (key.day(), until)).collect();
        news.push(PersonNews::PutOff { back });
    }
    if needs.have_badges && !matches!(what, FeedbackAction::Saved | FeedbackAction::Unsaved) {
        news.push(PersonNews::NumberChanged);
    }
    if !news.is_empty() {
        read.of.entry((tenant, person)).or_default().extend(news);
    }
}

fn add_inbox_item(read: &mut TurnNews, inbox: InboxItem, needs: PushNeeds) {
    let (key, news) = match inbox {
        InboxItem::Feedback(feedback) => return add_feedback(read, feedback, needs),
        InboxItem::Fact(Fact::Profile { tenant, person, .. }) => ((tenant, person), PersonNews::Profile),
        // Follows are asked of the store at closing.
        InboxItem::Fact(Fact::Follow(_)) => return,
        InboxItem::Delivery(delivery) => {
            ((delivery.tenant.clone(), delivery.person.clone()), PersonNews::Delivered(delivery))
        }
        InboxItem::Seen { tenant, person, surface, at } => {
            ((tenant, person), PersonNews::Seen { surface, at })
        }
        InboxItem::Erased { tenant, person, at: _ } => ((tenant, person), PersonNews::Erased),
        InboxItem::ByHand { tenant, person, act, plan, key, at } => {
            ((tenant, person), PersonNews::ByHand { act, plan, key, at })
        }
    };
    read.of.entry(key).or_default().push(news);
}
