//! What the person did with an entry: whether they have seen, read, cleared, saved or put it off. Each is a set of marks, and
//! of two that contradict each other the later one counts; of one instant the one that tells less.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    entry::EntryKey,
    fault::{self, PlantedFault},
    fold::EntryView,
    mark::{Channel, MarkAction},
    time::UtcMillis,
};

/// Until when something is put off that is not: so it is taken back.
pub const NOT_PUT_OFF: UtcMillis = UtcMillis(0);

/// What the person did with an entry, as it was settled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EntryAttention {
    /// When a visit showed it first, or they read or cleared it; while there is none, it is news.
    pub seen: Option<UtcMillis>,
    pub is_read: bool,
    pub is_cleared: bool,
    pub is_saved: bool,
    /// Until when it is put off, if that is still to come.
    pub put_off: Option<UtcMillis>,
    /// What it told of was revoked.
    pub is_withdrawn: bool,
    /// Since when it is news: when it occurred, or when it came back after it was put off.
    pub since: UtcMillis,
}

impl EntryAttention {
    /// Whether a feed lists it.
    pub fn is_listed(&self) -> bool {
        !self.is_cleared && !self.is_withdrawn && self.put_off.is_none()
    }
}

impl EntryView {
    pub fn attention(&self, key: EntryKey) -> EntryAttention {
        let (is_read, is_cleared) = (self.is_read(), self.is_cleared());
        // Notes say until when all was read, not when this was: the day of the entry is the same whenever one asks.
        let noted = self.was_read_or_cleared().then(|| key.day().start());
        let back = self.snooze().map(|(_, until)| until).filter(|_| self.put_off.is_none());
        EntryAttention {
            seen: self.looked.first().copied().or(noted),
            is_read,
            is_cleared,
            is_saved: self.is_saved(),
            put_off: self.put_off,
            is_withdrawn: self.is_withdrawn(),
            since: key.occurred.max(back.unwrap_or(key.occurred)),
        }
    }

    pub fn is_read(&self) -> bool {
        self.stands(MarkAction::Read, MarkAction::Unread)
    }

    pub fn is_cleared(&self) -> bool {
        self.stands(MarkAction::Cleared, MarkAction::Restored)
    }

    /// Until when the person put it off, if that is still to come.
    pub fn put_off(&self) -> Option<UtcMillis> {
        self.put_off
    }

    /// Whether what it told of was revoked.
    pub fn is_withdrawn(&self) -> bool {
        self.said.contains_key(&(None, MarkAction::Withdrawn))
    }

    /// Whether the person read or cleared it.
    pub fn is_read_or_cleared(&self) -> bool {
        self.is_read() || self.is_cleared()
    }

    /// Whether the person ever read or cleared it, whatever they said later.
    fn was_read_or_cleared(&self) -> bool {
        [MarkAction::Read, MarkAction::Cleared].into_iter().any(|what| self.said.contains_key(&(None, what)))
    }

    /// Whether a visit showed it to the person, or they read or cleared it.
    pub fn is_seen(&self) -> bool {
        !self.looked.is_empty() || self.was_read_or_cleared()
    }

    pub fn is_saved(&self) -> bool {
        self.stands(MarkAction::Saved, MarkAction::Unsaved)
    }

    /// Whether the person said after an instant that they read it.
    pub fn was_read_after(&self, at: UtcMillis) -> bool {
        self.said.get(&(None, MarkAction::Read)).is_some_and(|said| *said > at)
    }

    /// Whether the person's last word was to put it off until then.
    pub fn is_snoozed_until(&self, until: UtcMillis) -> bool {
        self.snooze().map_or(NOT_PUT_OFF, |(_, last)| last) == until
    }

    /// Whether one thing was said, and its contrary not after it.
    fn stands(&self, what: MarkAction, contrary: MarkAction) -> bool {
        let at = |what| self.said.get(&(None, what));
        at(what).is_some() && at(what) >= at(contrary)
    }

    /// When it was put off last, and until when; nothing if that was taken back.
    pub(crate) fn snooze(&self) -> Option<(UtcMillis, UtcMillis)> {
        let snoozes = self.said.iter().filter_map(|((_, what), at)| match what {
            MarkAction::Snoozed(until) => Some((*at, *until)),
            _ => None,
        });
        snoozes.max().filter(|(_, until)| *until != NOT_PUT_OFF)
    }

    /// Takes in until when all was read or cleared, and whether it is put off now. What was put off comes back as news:
    /// what was said before counts no more.
    pub(crate) fn settle(&mut self, until: &[(MarkAction, UtcMillis)], now: UtcMillis) {
        let snooze = self.snooze();
        if let Some((at, back)) = snooze {
            let is_back = back <= now;
            self.put_off = (!is_back).then_some(back);
            if is_back && !fault::is_planted(PlantedFault::NeverBack) {
                forget_before(&mut self.said, &mut self.looked, at, back);
            }
        }
        // It was not there to be read while it was put off.
        let counts = |said: &UtcMillis| snooze.is_none_or(|(_, back)| *said >= back);
        for (what, said) in until.iter().filter(|(_, said)| counts(said)) {
            let at = self.said.entry((None, *what)).or_insert(*said);
            *at = (*said).max(*at);
        }
    }
}

/// Forgets what the person did before they put it off, and what became of it on channels before it came back.
fn forget_before(
    said: &mut BTreeMap<(Option<Channel>, MarkAction), UtcMillis>,
    looked: &mut BTreeSet<UtcMillis>,
    put_off: UtcMillis,
    back: UtcMillis,
) {
    said.retain(|(channel, what), at| match what {
        MarkAction::Snoozed(_) | MarkAction::Saved | MarkAction::Unsaved | MarkAction::Withdrawn => true,
        _ if channel.is_some() => *at >= back,
        _ => *at > put_off,
    });
    looked.retain(|at| *at > put_off);
}
