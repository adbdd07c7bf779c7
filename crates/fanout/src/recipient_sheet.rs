//! A sheet: persons who are told together, and the rows and announcements that follow.
//!
//! It is pure: the facts from the store are arguments. Conditions of kinds and mutes are not evaluated here, but at the
//! closing, where it matters whether they hold and a fate can say so.

use std::{borrow::Cow, collections::BTreeSet};

use model::{
    Actor, Day, DayRow, Entry, Kind, Person, Tenant, VersionedState,
    entry::DayKey,
    limits::TRACES_MAX,
    partition::PartitionCount,
    person::notes,
    trace::{EntryTraces, TraceContext},
    window::WindowTarget,
};
use store::{DayRows, StateKey};
use wire::{AnnouncementBatch, DayAnnouncement, replay::ReplayStamp};

use crate::config::{ANNOUNCED_BYTES_MAX, ANNOUNCED_MAX, WINDOWS_NAMED_MAX};

/// How somebody was found, and the row that they get.
#[derive(Clone, Debug, PartialEq)]
pub struct FanoutEntry {
    pub tenant: Tenant,
    pub entry: Entry,
    /// The windows that it belongs to, where a plan tells several apart.
    pub windows: Vec<WindowTarget>,
    /// An urgent plan tells it.
    pub urgent: bool,
    /// Else nobody is told of their own doing.
    pub actor_told: bool,
    /// Whether the event is there once more.
    pub again: Option<ReplayStamp>,
    /// Something was revoked: there is no row, and an announcement of nothing has the number on icons counted anew, and feeds read.
    pub is_recall: bool,
    /// The trace that it is of.
    pub trace: Option<TraceContext>,
}

/// Persons with the ways in which they were found.
#[derive(Debug, Default)]
pub struct RecipientSheet {
    ways: Vec<FanoutEntry>,
    /// A person, and the place of the way.
    found: Vec<(Person, usize)>,
}

/// What comes of a sheet.
#[derive(Debug, Default, PartialEq)]
pub struct ResolvedSheet {
    pub rows: Vec<DayRows>,
    pub announced: Vec<PartitionAnnouncement>,
    pub counts: SheetCounts,
}

/// An announcement, for this partition.
#[derive(Debug, PartialEq)]
pub struct PartitionAnnouncement {
    pub partition: u32,
    pub tenant: Tenant,
    pub announcement: DayAnnouncement,
    /// Of which traces its entries are; mostly of none.
    pub traces: EntryTraces,
}

/// What a sheet came to, for the metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SheetCounts {
    pub rows: u64,
    /// Rows that were only counted, since their day is full.
    pub full: u64,
    /// Of both those that are urgent, of days that are full.
    pub urgent: u64,
    pub urgent_full: u64,
    /// Persons that were passed over, since they are erased, or were after all that there is for them.
    pub erased: u64,
}

impl RecipientSheet {
    /// Puts persons on it who were found in one way.
    pub fn add(&mut self, way: FanoutEntry, persons: impl IntoIterator<Item = Person>) {
        let place = self.ways.len();
        let actor = way.entry.actor.as_ref().and_then(Actor::person).filter(|_| !way.actor_told);
        let told = persons.into_iter().filter(|person| actor != Some(person));
        self.found.extend(told.map(|person| (person, place)));
        self.ways.push(way);
    }

    /// Puts everybody on it who is on the other one.
    pub fn append(&mut self, other: Self) {
        let first = self.ways.len();
        self.ways.extend(other.ways);
        self.found.extend(other.found.into_iter().map(|(person, place)| (person, first + place)));
    }

    /// All of it is of this trace.
    pub fn set_trace(&mut self, context: Option<TraceContext>) {
        if context.is_some() {
            self.ways.iter_mut().for_each(|way| way.trace = context);
        }
    }

    /// The kinds under which somebody was found, each once.
    pub fn list_kinds(&self) -> BTreeSet<&Kind> {
        self.ways.iter().map(|way| &way.entry.reason.kind).collect()
    }

    /// The most rows that can come of it.
    pub fn rows(&self) -> usize {
        self.found.len()
    }

    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// The same in several, each of about so many rows and with all that there is of its persons.
    pub fn parts(mut self, rows: usize) -> Vec<Self> {
        self.sort();
        let mut parts = Vec::new();
        while !self.found.is_empty() {
            let mut end = rows.max(1).min(self.found.len());
            while end < self.found.len() && self.found[end].0 == self.found[end - 1].0 {
                end += 1;
            }
            let rest = self.found.split_off(end);
            parts.push(Self { ways: self.ways.clone(), found: std::mem::replace(&mut self.found, rest) });
        }
        parts
    }

    fn sort(&mut self) {
        let ways = &self.ways;
        self.found.sort_unstable_by(|a, b| sort_key(ways, a).cmp(&sort_key(ways, b)));
    }

    /// Everybody on it, once and in order: what the house notes of them is asked before it is resolved.
    pub fn notes(&mut self) -> Vec<StateKey> {
        self.sort();
        let ways = &self.ways;
        self.of_persons().map(|of| StateKey::Notes(ways[of[0].1].tenant.clone(), of[0].0.clone())).collect()
    }

    /// Resolves it. The notes are those of its persons, in the order in which they were asked.
    pub fn resolve(&self, notes: &[VersionedState], partitions: PartitionCount) -> ResolvedSheet {
        let mut resolved = ResolvedSheet::default();
        for (of, notes) in self.of_persons().zip(notes) {
            let of = self.without_erased(of, notes);
            if of.is_empty() {
                resolved.counts.erased += 1;
                continue;
            }
            let (tenant, person) = (&self.ways[of[0].1].tenant, &of[0].0);
            let partition = partitions.of_person(tenant, person);
            let (recalls, of): (Vec<_>, Vec<_>) =
                of.iter().cloned().partition(|(_, way)| self.ways[*way].is_recall);
            self.announce_recalls(&recalls, partition, &mut resolved);
            for of_day in of.chunk_by(|a, b| self.ways[a.1].day() == self.ways[b.1].day()) {
                let day = self.ways[of_day[0].1].day();
                if !notes::is_full(notes, day) {
                    self.add_day(of_day, false, partition, &mut resolved);
                    continue;
                }
                // What is urgent has some room of its own, and says so if that is used up.
                let (urgent, others): (Vec<_>, Vec<_>) =
                    of_day.iter().cloned().partition(|(_, way)| self.ways[*way].urgent);
                let is_shut = notes::is_shut(notes, day);
                let before = resolved.counts;
                self.add_day(&urgent, is_shut, partition, &mut resolved);
                resolved.counts.urgent += resolved.counts.rows - before.rows;
                resolved.counts.urgent_full += resolved.counts.full - before.full;
                self.add_day(&others, true, partition, &mut resolved);
            }
        }
        resolved
    }

    /// Whether a person may be told, given the mark of an erasure: a welcomed person is told nothing from before the
    /// erasure.
    fn without_erased<'a>(
        &self,
        of: &'a [(Person, usize)],
        notes: &VersionedState,
    ) -> Cow<'a, [(Person, usize)]> {
        if notes.flag(notes::ERASED) {
            return Cow::Borrowed(&[]);
        }
        let Some(at) = notes::last_erased(notes) else { return Cow::Borrowed(of) };
        let is_after = |(_, way): &&(Person, usize)| self.ways[*way].entry.key.occurred > at;
        Cow::Owned(of.iter().filter(is_after).cloned().collect())
    }

    /// The result for one day of a person: rows and an announcement, or the announcement alone if the day is full.
    fn add_day(&self, of_day: &[(Person, usize)], full: bool, partition: u32, resolved: &mut ResolvedSheet) {
        let Some((person, way)) = of_day.first() else { return };
        let (tenant, day) = (&self.ways[*way].tenant, self.ways[*way].day());
        let rows = self.rows_of(of_day, |_| true);
        let announcement = self.announcement(of_day, person, full);
        if full {
            resolved.counts.full += rows.len() as u64;
        } else {
            resolved.counts.rows += rows.len() as u64;
            let key = DayKey { tenant: tenant.clone(), person: person.clone(), day };
            resolved.rows.push(DayRows { key, rows });
        }
        let traces = self.traces_of(of_day);
        let announced =
            |announcement| PartitionAnnouncement { partition, tenant: tenant.clone(), announcement, traces };
        resolved.announced.extend(announcement.map(announced));
    }

    /// One announcement of nothing for a person, however much was revoked.
    fn announce_recalls(&self, recalls: &[(Person, usize)], partition: u32, resolved: &mut ResolvedSheet) {
        let Some((person, way)) = recalls.first() else { return };
        let (tenant, day) = (self.ways[*way].tenant.clone(), self.ways[*way].day());
        let announcement = DayAnnouncement::of_nothing(person.clone(), day);
        let traces = EntryTraces::default();
        resolved.announced.push(PartitionAnnouncement { partition, tenant, announcement, traces });
    }

    /// What there is of each person, once it is in order.
    fn of_persons(&self) -> impl Iterator<Item = &[(Person, usize)]> {
        let same = |a: &(Person, usize), b: &(Person, usize)| {
            a.0 == b.0 && (a.1 == b.1 || self.ways[a.1].tenant == self.ways[b.1].tenant)
        };
        self.found.chunk_by(same)
    }

    /// The announcement of a person's day, if there is one. A replay counts no rows, because they were counted the
    /// first time; for a full day it announces nothing, because nothing was written.
    fn announcement(
        &self,
        found: &[(Person, usize)],
        person: &Person,
        full: bool,
    ) -> Option<DayAnnouncement> {
        let is_told = |again: Option<&ReplayStamp>| again.is_none_or(|again| !again.is_quiet && !full);
        let (kinds, windows) = (self.kinds_of(found, is_told), self.windows_of(found, is_told));
        let rows = self.rows_of(found, |again| again.is_none()).len();
        let rows = u32::try_from(rows).unwrap_or(u32::MAX);
        let day = self.ways[found.first()?.1].day();
        (!kinds.is_empty()).then(|| DayAnnouncement {
            person: person.clone(),
            day,
            rows,
            kinds,
            windows,
            full,
        })
    }

    /// Those that were found in such a way.
    fn entries_of<'a>(
        &'a self,
        found: &'a [(Person, usize)],
        such: impl Fn(Option<&ReplayStamp>) -> bool + 'a,
    ) -> impl Iterator<Item = &'a FanoutEntry> {
        let ways = found.iter().map(|(_, way)| &self.ways[*way]);
        ways.filter(move |way| such(way.again.as_ref()))
    }

    fn windows_of(
        &self,
        found: &[(Person, usize)],
        such: impl Fn(Option<&ReplayStamp>) -> bool,
    ) -> Vec<WindowTarget> {
        let mut windows: Vec<WindowTarget> =
            self.entries_of(found, such).flat_map(|way| way.windows.clone()).collect();
        windows.sort_unstable();
        windows.dedup();
        // A person has fewer open. Whoever has none is handed what is theirs when one of the others closes.
        windows.truncate(WINDOWS_NAMED_MAX);
        windows
    }

    fn traces_of(&self, found: &[(Person, usize)]) -> EntryTraces {
        let traced = self.entries_of(found, |_| true).filter_map(|way| Some((way.entry.key, way.trace?)));
        traced.take(TRACES_MAX).collect()
    }

    fn rows_of(&self, found: &[(Person, usize)], such: impl Fn(Option<&ReplayStamp>) -> bool) -> Vec<DayRow> {
        let mut rows: Vec<DayRow> =
            self.entries_of(found, such).map(|way| DayRow::Entry(way.entry.clone())).collect();
        if rows.len() > 1 {
            // Found twice for one reason is one row.
            rows.sort_unstable();
            rows.dedup();
        }
        rows
    }

    fn kinds_of(&self, found: &[(Person, usize)], such: impl Fn(Option<&ReplayStamp>) -> bool) -> Vec<Kind> {
        let mut kinds: Vec<Kind> =
            self.entries_of(found, such).map(|way| way.entry.reason.kind.clone()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }
}

/// Persons in order, and what there is of each by days.
fn sort_key<'a>(
    ways: &'a [FanoutEntry],
    (person, place): &'a (Person, usize),
) -> (&'a Tenant, &'a Person, Day, usize) {
    (&ways[*place].tenant, person, ways[*place].day(), *place)
}

impl FanoutEntry {
    fn day(&self) -> Day {
        self.entry.key.day()
    }
}

/// Announcements of one record: its partition, what it says, and the traces that it is of.
pub type PackedAnnouncements = (u32, AnnouncementBatch, EntryTraces);

/// Records of many announcements each, for one partition and tenant. What is traced has records of its own, so that
/// nobody is taken for traced who only stands beside it.
pub fn pack_announcements(mut announced: Vec<PartitionAnnouncement>) -> Vec<PackedAnnouncements> {
    announced.sort_by(|a, b| (a.partition, &a.tenant, &a.traces).cmp(&(b.partition, &b.tenant, &b.traces)));
    let (mut records, mut bytes): (Vec<PackedAnnouncements>, usize) = (Vec::new(), 0);
    for PartitionAnnouncement { partition, tenant, announcement, traces } in announced {
        let own = announcement_bytes(&announcement);
        bytes += own;
        match records.last_mut() {
            Some((of, pending, same))
                if *of == partition
                    && pending.tenant == tenant
                    && *same == traces
                    && pending.announcements.len() < ANNOUNCED_MAX
                    && bytes <= ANNOUNCED_BYTES_MAX =>
            {
                pending.announcements.push(announcement);
            }
            _ => {
                let pending = AnnouncementBatch { tenant, announcements: vec![announcement] };
                records.push((partition, pending, traces));
                bytes = own;
            }
        }
    }
    records
}

/// Bytes that an announcement takes at most; those of names that others of its record have too are counted again.
fn announcement_bytes(announcement: &DayAnnouncement) -> usize {
    let kinds: usize = announcement.kinds.iter().map(|kind| kind.as_str().len() + 8).sum();
    let window = |window: &WindowTarget| window.plan.as_str().len() + window.key.len() + 24;
    let windows: usize = announcement.windows.iter().map(window).sum();
    announcement.person.as_str().len() + kinds + windows + 32
}

#[cfg(test)]
mod tests {
    use model::{AudienceMatch, EntryKey, EntryReason, EventKey, PlanName, SubjectRef, UtcMillis};

    use super::*;

    fn sample_entry(event: u8, urgent: bool) -> FanoutEntry {
        let key = EntryKey { occurred: UtcMillis(1_000), event: EventKey([event; 16]) };
        let reason = EntryReason { kind: Kind::new("alarm").unwrap(), because: AudienceMatch::Everyone };
        let entry = Entry {
            key,
            reason,
            subject: SubjectRef::new("work:1").unwrap(),
            actor: None,
            kept: model::KeptFields::new(),
        };
        let tenant = Tenant::new("main").unwrap();
        FanoutEntry {
            tenant,
            entry,
            windows: Vec::new(),
            urgent,
            actor_told: false,
            again: None,
            is_recall: false,
            trace: None,
        }
    }

    #[test]
    fn a_full_day_has_room_for_what_is_urgent_and_only_that_day_is_full() {
        let mut older = notes::note_full_day(Day(0));
        older.merge(&notes::note_full_day(Day(1)));
        let mut shut = notes::note_full_day(Day(0));
        shut.merge(&notes::note_shut_day(Day(0)));
        let other = notes::note_full_day(Day(1));
        // Notes, rows that are written, and what is announced: how many, and whether they were only counted.
        let cases = [
            (VersionedState::default(), 3, vec![(3, false)]),
            (other, 3, vec![(3, false)]),
            (notes::note_full_day(Day(0)), 1, vec![(1, false), (2, true)]),
            (older, 1, vec![(1, false), (2, true)]),
            (shut, 0, vec![(1, true), (2, true)]),
        ];
        for (notes, written, announced) in cases {
            let mut sheet = RecipientSheet::default();
            for (event, urgent) in [(1, false), (2, true), (3, false)] {
                sheet.add(sample_entry(event, urgent), [Person::new("ann").unwrap()]);
            }
            let resolved = sheet.resolve(std::slice::from_ref(&notes), PartitionCount::USUAL);
            let rows: usize = resolved.rows.iter().map(|day| day.rows.len()).sum();
            let said = resolved.announced.iter().map(|one| &one.announcement);
            let said: Vec<_> = said.map(|announcement| (announcement.rows, announcement.full)).collect();
            assert_eq!((rows, said), (written, announced), "{notes:?}");
        }
    }

    /// Of two persons and two events, one of them traced: who is told of that one has a record of their own.
    #[test]
    fn what_is_traced_is_announced_by_itself() {
        let (ann, bob) = (Person::new("ann").unwrap(), Person::new("bob").unwrap());
        let context = TraceContext { trace: [1; 16], span: [2; 8] };
        let mut sheet = RecipientSheet::default();
        sheet.add(sample_entry(1, false), [ann.clone(), bob]);
        let mut traced = RecipientSheet::default();
        traced.add(sample_entry(2, false), [ann]);
        traced.set_trace(Some(context));
        sheet.append(traced);
        let notes = vec![VersionedState::default(); 2];
        let one = PartitionCount::new(1).unwrap();
        sheet.sort();
        let packed = pack_announcements(sheet.resolve(&notes, one).announced);
        let found: Vec<_> = packed
            .iter()
            .map(|(_, pending, traces)| {
                let persons = pending.announcements.iter().map(|one| one.person.as_str());
                (persons.collect::<Vec<_>>(), traces.values().copied().collect::<Vec<_>>())
            })
            .collect();
        assert_eq!(found, [(vec!["bob"], vec![]), (vec!["ann"], vec![context])]);
        assert!(packed[1].2.contains_key(&sample_entry(2, false).entry.key));
    }

    #[test]
    fn announcements_with_many_long_windows_are_several_records_that_each_fit() {
        let long = |text: &str, number: usize| format!("{text}{number}{}", "x".repeat(110));
        let wanted = |number: usize| WindowTarget {
            plan: PlanName::new(&long("p", number)).unwrap(),
            key: long("k", number).as_str().into(),
            aim: Some(UtcMillis(0)),
        };
        let announced = (0..ANNOUNCED_MAX).map(|person| PartitionAnnouncement {
            partition: 1,
            tenant: Tenant::new("main").unwrap(),
            announcement: DayAnnouncement {
                person: Person::new(&long("person", person)).unwrap(),
                day: Day(0),
                rows: 1,
                kinds: vec![Kind::new(&long("kind", person)).unwrap()],
                windows: (0..WINDOWS_NAMED_MAX).map(|window| wanted(person * 100 + window)).collect(),
                full: false,
            },
            traces: EntryTraces::new(),
        });
        let records = pack_announcements(announced.collect());
        let told: usize = records.iter().map(|(_, pending, _)| pending.announcements.len()).sum();
        assert_eq!(told, ANNOUNCED_MAX);
        for (_, pending, _) in &records {
            assert!(wire::pending::encode(pending).is_ok(), "{} announcements", pending.announcements.len());
        }
    }

    /// Who may have been told is told that something was revoked: once, and without a row.
    #[test]
    fn a_recall_is_announced_without_a_row() {
        let (ann, ben) = (Person::new("ann").unwrap(), Person::new("ben").unwrap());
        let mut sheet = RecipientSheet::default();
        for event in [1, 2] {
            sheet.add(FanoutEntry { is_recall: true, ..sample_entry(event, true) }, [ann.clone()]);
        }
        sheet.add(sample_entry(3, false), [ann.clone(), ben.clone()]);
        let notes = vec![VersionedState::default(); sheet.notes().len()];
        let ResolvedSheet { rows, announced, counts } =
            sheet.resolve(&notes, PartitionCount::new(8).unwrap());
        assert_eq!((rows.len(), counts.rows), (2, 2), "a row each, of the event");
        let told = |one: &PartitionAnnouncement| {
            (one.announcement.person.clone(), one.announcement.is_of_nothing(), one.announcement.rows)
        };
        let told: Vec<_> = announced.iter().map(told).collect();
        assert_eq!(told, [(ann.clone(), true, 0), (ann, false, 1), (ben, false, 1)]);
    }
}
