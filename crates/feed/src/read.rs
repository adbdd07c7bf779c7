//! What records say of feeds: whose entries are not what they were, and on which days.

use std::collections::{BTreeMap, BTreeSet};

use model::{Day, Fact};
use topic::TopicRecord;
use wire::{AnnouncementBatch, Feedback, InboxItem, topics};

use crate::facts::TenantPerson;

/// Days of a person that changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ChangedDays {
    /// None of them, but something that counts for all, such as that all was read.
    None,
    Some(BTreeSet<Day>),
    All,
}

/// Whose feeds changed.
pub type ChangedFeeds = BTreeMap<TenantPerson, ChangedDays>;

/// What records say of feeds.
#[derive(Default, Debug)]
pub struct LogNews {
    pub changed: ChangedFeeds,
    /// What people did with entries: this process may have written it.
    pub marks: Vec<Feedback>,
    /// Of whom something else is known than before.
    pub facts: BTreeSet<TenantPerson>,
}

impl ChangedDays {
    pub fn merge(&mut self, other: Self) {
        match (&mut *self, other) {
            (Self::All, _) | (_, Self::None) => {}
            (Self::Some(days), Self::Some(others)) => days.extend(others),
            (_, other) => *self = other,
        }
    }
}

/// Reads records of `pending` and `inbox`. What cannot be read is put aside by the room that has to; here it changes nothing.
pub fn read_news(records: &[TopicRecord]) -> LogNews {
    let mut news = LogNews::default();
    for record in records {
        let Some(value) = &record.value else { continue };
        match &*record.topic {
            topics::PENDING => {
                if let Ok(batch) = wire::pending::decode(value) {
                    add_announcements(&mut news.changed, batch);
                }
            }
            topics::INBOX => {
                if let Ok(item) = wire::inbox::decode(value) {
                    add_item(&mut news, item);
                }
            }
            _ => {}
        }
    }
    news
}

fn add_announcements(changed: &mut ChangedFeeds, batch: AnnouncementBatch) {
    let AnnouncementBatch { tenant, announcements } = batch;
    for announcement in announcements {
        // What was revoked of a subject may be on any day.
        let days = if announcement.is_of_nothing() {
            ChangedDays::All
        } else {
            ChangedDays::Some([announcement.day].into())
        };
        add_change(changed, (tenant.clone(), announcement.person), days);
    }
}

/// Of what a person's owner is told, what a feed shows: that a message left is nothing to it.
fn add_item(news: &mut LogNews, item: InboxItem) {
    let (tenant, person) = item.owner();
    let whose = (tenant.clone(), person.clone());
    // What is said of all entries at once is a note.
    let is_note = matches!(&item, InboxItem::Feedback(feedback) if feedback.keys.is_empty());
    if is_note || matches!(item, InboxItem::Fact(Fact::Profile { .. }) | InboxItem::Erased { .. }) {
        news.facts.insert(whose.clone());
    }
    let days = match &item {
        // A note counts for all days.
        InboxItem::Feedback(_) => ChangedDays::None,
        InboxItem::Erased { .. } => ChangedDays::All,
        InboxItem::Fact(_) | InboxItem::Delivery(_) | InboxItem::ByHand { .. } | InboxItem::Seen { .. } => {
            return;
        }
    };
    add_change(&mut news.changed, whose, days);
    if let InboxItem::Feedback(feedback) = item {
        news.marks.push(feedback);
    }
}

fn add_change(changed: &mut ChangedFeeds, whose: TenantPerson, days: ChangedDays) {
    changed.entry(whose).and_modify(|known| known.merge(days.clone())).or_insert(days);
}
