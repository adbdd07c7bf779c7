//! `fold_rows`: the one reader of a day. A pure union of sets: the order of rows never matters, a row read
//! twice counts once, and a mark may cover a key whose entry has not arrived yet.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use crate::{
    actor::Actor,
    day_row::DayRow,
    entry::{EntryKey, EntryReason},
    fault::{self, PlantedFault},
    id::{ReadyId, SubjectRef},
    kept_fields::KeptFields,
    key_list::KeyListId,
    mark::{Channel, EndReason, Mark, MarkAction},
    notes::UP_TO,
    time::UtcMillis,
    value::VersionedState,
};

/// A person's day (or several days) as their rows say.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DayView {
    /// Shared: a day is copied whenever somebody marks a few of them.
    entries: BTreeMap<EntryKey, Arc<EntryView>>,
    lists: BTreeMap<KeyListId, Vec<EntryKey>>,
    /// Marks whose lists have not arrived yet.
    unlisted: Vec<Mark>,
}

/// One entry: all reasons, and all that marks say of it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct EntryView {
    /// `None` while only marks of it have arrived.
    subject: Option<SubjectRef>,
    actor: Option<Actor>,
    kept: KeptFields,
    pub reasons: BTreeSet<EntryReason>,
    /// With when it was said, the latest if more than once.
    pub(crate) said: BTreeMap<(Option<Channel>, MarkAction), UtcMillis>,
    /// Each time that a visit showed it, or the person read or cleared it.
    pub(crate) looked: BTreeSet<UtcMillis>,
    /// Until when the person put it off, where that was still to come.
    pub(crate) put_off: Option<UtcMillis>,
}

/// Why an entry was or was not told on a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// Nothing became of it yet; `carried` if a digest left it for the next.
    Waiting {
        carried: bool,
    },
    Told {
        ready: ReadyId,
    },
    Read,
    Cleared,
    /// The person put it off; then it waits again.
    PutOff,
    Ended(EndReason),
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Waiting { carried: false } => f.write_str("waiting"),
            Self::Waiting { carried: true } => f.write_str("carried over"),
            Self::Told { .. } => f.write_str("told"),
            Self::Read => f.write_str("read before"),
            Self::Cleared => f.write_str("cleared"),
            Self::PutOff => f.write_str("put off"),
            Self::Ended(why) => f.write_str(why.text()),
        }
    }
}

/// Folds rows of one or several days of one person.
pub fn fold_rows<'a>(rows: impl IntoIterator<Item = &'a DayRow>) -> DayView {
    let mut view = DayView::default();
    for row in rows {
        view.add(row);
    }
    view
}

/// A list that a mark names and that is not among the rows of its day: what the mark covers is not known then.
pub fn find_missing_list(rows: &[DayRow]) -> Option<KeyListId> {
    let (mut named, mut there) = (BTreeSet::new(), BTreeSet::new());
    for row in rows {
        match row {
            DayRow::Mark(mark) => named.extend(mark.list),
            DayRow::List(list) => {
                there.insert(list.id());
            }
            DayRow::Entry(_) => {}
        }
    }
    named.difference(&there).next().copied()
}

/// That all until then, or all of one kind, was read or cleared.
struct UpToNote<'a> {
    what: MarkAction,
    kind: Option<&'a str>,
    until: UtcMillis,
}

fn read_up_to<'a>(
    notes: &'a VersionedState,
    word: &'a str,
    what: MarkAction,
) -> impl Iterator<Item = UpToNote<'a>> {
    notes.cells.iter().filter_map(move |(name, cell)| {
        let of = name.strip_prefix(word)?;
        let kind = if of.is_empty() { None } else { Some(of.strip_prefix(' ')?) };
        Some(UpToNote { what, kind, until: UtcMillis(cell.version) })
    })
}

impl DayView {
    /// Adds one row; marks owed but not yet in the store are folded in the same way.
    pub fn add(&mut self, row: &DayRow) {
        match row {
            DayRow::Entry(entry) => {
                let seen = Arc::make_mut(self.entries.entry(entry.key).or_default());
                if fault::is_planted(PlantedFault::FirstReasonOnly) && !seen.reasons.is_empty() {
                    return;
                }
                seen.subject = Some(entry.subject.clone());
                // Every row of an entry names the same one; were it not so, order would still not matter.
                seen.actor = seen.actor.take().max(entry.actor.clone());
                // Each kind keeps what it names.
                for (name, value) in &entry.kept {
                    let kept = seen.kept.entry(name.clone()).or_insert_with(|| value.clone());
                    if value > kept {
                        *kept = value.clone();
                    }
                }
                seen.reasons.insert(entry.reason.clone());
            }
            DayRow::Mark(mark) => match mark.list {
                None => self.cover(mark, &mark.covers),
                Some(list) => match self.lists.get(&list).cloned() {
                    Some(keys) => self.cover(mark, &keys),
                    None => self.unlisted.push(mark.clone()),
                },
            },
            DayRow::List(list) => {
                let id = list.id();
                self.lists.insert(id, list.keys().to_vec());
                let (named, others) =
                    std::mem::take(&mut self.unlisted).into_iter().partition(|mark| mark.list == Some(id));
                self.unlisted = others;
                Vec::into_iter(named).for_each(|mark: Mark| self.cover(&mark, list.keys()));
            }
        }
    }

    fn cover(&mut self, mark: &Mark, keys: &[EntryKey]) {
        let all: Vec<EntryKey>;
        // The best-known fault of the first such design: a marker for "everything up to now".
        let upto =
            fault::is_planted(PlantedFault::MarkCoversAll) && matches!(mark.what, MarkAction::Taken(_));
        let keys = if upto {
            all = self.entries.keys().copied().collect();
            &all
        } else {
            keys
        };
        for key in keys {
            let entry = Arc::make_mut(self.entries.entry(*key).or_default());
            let at = entry.said.entry((mark.channel, mark.what)).or_insert(mark.at);
            *at = mark.at.max(*at);
            if matches!(mark.what, MarkAction::Seen | MarkAction::Read | MarkAction::Cleared) {
                entry.looked.insert(mark.at);
            }
        }
    }

    /// The keys of a list.
    pub fn list(&self, id: KeyListId) -> Option<&[EntryKey]> {
        self.lists.get(&id).map(Vec::as_slice)
    }

    /// Takes in what the house's notes say was read or cleared all at once, and what is put off now. Comes after the last row.
    #[must_use]
    pub fn settle(mut self, notes: &VersionedState, now: UtcMillis) -> Self {
        let noted: Vec<UpToNote<'_>> =
            UP_TO.iter().flat_map(|(word, what)| read_up_to(notes, word, *what)).collect();
        for (key, entry) in &mut self.entries {
            let is_meant = |note: &&UpToNote<'_>| {
                let of = |kind: &str| entry.reasons.iter().any(|reason| reason.kind.as_str() == kind);
                key.occurred <= note.until && note.kind.is_none_or(of)
            };
            let until = noted.iter().filter(is_meant).map(|note| (note.what, note.until)).collect::<Vec<_>>();
            if !until.is_empty() || entry.snooze().is_some() {
                Arc::make_mut(entry).settle(&until, now);
            }
        }
        self
    }

    /// Takes in what was revoked, as of now.
    #[must_use]
    pub fn withdraw(mut self, is_withdrawn: impl Fn(EntryKey, &SubjectRef) -> bool, now: UtcMillis) -> Self {
        for (key, entry) in &mut self.entries {
            if entry.subject.as_ref().is_some_and(|subject| is_withdrawn(*key, subject)) {
                Arc::make_mut(entry).said.entry((None, MarkAction::Withdrawn)).or_insert(now);
            }
        }
        self
    }

    /// Every entry that has a row, oldest first.
    pub fn entries(&self) -> impl Iterator<Item = (EntryKey, &EntryView)> {
        let all = self.entries.iter().map(|(key, entry)| (*key, &**entry));
        all.filter(|(_, entry)| entry.subject.is_some())
    }

    pub fn get(&self, key: EntryKey) -> Option<&EntryView> {
        self.get_marked(key).filter(|entry| entry.subject.is_some())
    }

    /// These entries alone.
    #[must_use]
    pub fn pick(&self, keys: &[EntryKey]) -> Self {
        let picked = |key: &EntryKey| Some((*key, self.entries.get(key)?.clone()));
        Self { entries: keys.iter().filter_map(picked).collect(), ..Self::default() }
    }

    /// What is known of an entry, also of one whose row has not arrived and of which only marks have.
    pub fn get_marked(&self, key: EntryKey) -> Option<&EntryView> {
        self.entries.get(&key).map(Arc::as_ref)
    }

    pub fn len(&self) -> usize {
        self.entries().count()
    }

    pub fn is_empty(&self) -> bool {
        self.entries().next().is_none()
    }
}

impl EntryView {
    /// The subject; an entry that is handed out always has one.
    pub fn subject(&self) -> Option<&SubjectRef> {
        self.subject.as_ref()
    }

    /// Who did it.
    pub fn actor(&self) -> Option<&Actor> {
        self.actor.as_ref()
    }

    /// What its kinds keep of the event's own words.
    pub fn kept_fields(&self) -> &KeptFields {
        &self.kept
    }

    /// What became of it on a channel.
    pub fn fate(&self, channel: Channel) -> Fate {
        self.fate_without(channel, None)
    }

    /// The same, ignoring the marks of one Ready: the check before a send must not see its own mark.
    pub fn fate_without(&self, channel: Channel, but: Option<ReadyId>) -> Fate {
        let mut ended = None;
        for (ready, _, left) in self.readys_that_took(channel).filter(|(ready, ..)| Some(*ready) != but) {
            match left {
                Some(why) => ended = Some(why),
                None => return Fate::Told { ready },
            }
        }
        if self.is_withdrawn() {
            return Fate::Ended(EndReason::Withdrawn);
        }
        if self.is_read() {
            return Fate::Read;
        }
        if self.is_cleared() {
            return Fate::Cleared;
        }
        let said = || self.actions_on(channel).map(|(what, _)| what);
        let plain = said().find_map(|what| if let MarkAction::Ended(why) = what { Some(why) } else { None });
        match plain.or(ended) {
            Some(why) => Fate::Ended(why),
            None if self.put_off.is_some() => Fate::PutOff,
            None => Fate::Waiting { carried: said().any(|what| matches!(what, MarkAction::Carried(_))) },
        }
    }

    /// The Readys that tell it on a channel, each with when it took it.
    pub fn tellers(&self, channel: Channel) -> impl Iterator<Item = (ReadyId, UtcMillis)> {
        self.readys_that_took(channel).filter(|(.., left)| left.is_none()).map(|(ready, at, _)| (ready, at))
    }

    /// The Readys that took it on a channel and did not return it, each with when, and why it went out without
    /// it if it did. What became of a Ready is said on its own channel, and holds wherever it counts as told: there
    /// the entry waits again, for what ended on the one may be told on the other.
    fn readys_that_took(
        &self,
        channel: Channel,
    ) -> impl Iterator<Item = (ReadyId, UtcMillis, Option<EndReason>)> {
        self.actions_on(channel).filter_map(move |(what, at)| {
            let MarkAction::Taken(id) = what else { return None };
            let mut left = None;
            for (on, what) in self.said.keys() {
                match *what {
                    MarkAction::Returned { ready, .. } if ready == id => return None,
                    MarkAction::Left { ready, why } if ready == id && *on == Some(channel) => {
                        left = left.or(Some(why));
                    }
                    MarkAction::Left { ready, .. } if ready == id => return None,
                    _ => {}
                }
            }
            Some((id, at, left))
        })
    }

    /// What marks say that count on a channel.
    fn actions_on(&self, channel: Channel) -> impl Iterator<Item = (MarkAction, UtcMillis)> {
        let said = self.said.iter().filter(move |((on, _), _)| on.is_none_or(|on| on == channel));
        said.map(|((_, what), at)| (*what, *at))
    }

    /// Whether it still waits to be told on a channel.
    pub fn waits(&self, channel: Channel) -> bool {
        matches!(self.fate(channel), Fate::Waiting { .. })
    }

    /// Whether marks of no channel say this of it, at an instant or later; each look is one of its own.
    pub fn was_marked(&self, what: MarkAction, at: UtcMillis) -> bool {
        let is_look = matches!(what, MarkAction::Seen | MarkAction::Read | MarkAction::Cleared);
        let is_meant = |said: &UtcMillis| *said >= at && (!is_look || self.looked.contains(&at));
        self.said.get(&(None, what)).is_some_and(is_meant)
    }

    /// Whether something was said of it on this very channel.
    pub fn is_marked_on(&self, channel: Channel) -> bool {
        self.said.keys().any(|(on, _)| *on == Some(channel))
    }

    /// Whether a Ready that took it came back with nobody knowing if it was sent.
    pub fn maybe_sent(&self) -> bool {
        self.said.keys().any(|(_, what)| matches!(what, MarkAction::Returned { maybe: true, .. }))
    }
}
