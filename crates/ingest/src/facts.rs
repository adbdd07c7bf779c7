//! What has to be known of what was admitted before anything is written: what the store is asked, and what it said.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    Day, DayLife, DayRow, EntryKey, FollowFact, Person, SubjectRef, Tenant, UtcMillis, VersionedState,
    entry::DayKey, fold::fold_rows, partition::PartitionCount, person::profile::PlaceOrigin,
};
use room::{
    feedback::{list_settled_entries, takes_notes_back},
    saved::{self, SavedFullError},
};
use store::{DayRows, StateKey};
use wire::FeedbackAction;

use crate::{admission::AdmittedItem, feedback::FeedbackTarget, preference::PreferenceFact};

/// What the store is asked before anything is written.
#[derive(Debug, Default, PartialEq)]
pub struct IntakeQuestions {
    /// Whether persons were erased, where they are who now move, and what they muted who now mute.
    pub states: BTreeSet<StateKey>,
    /// What there is about a subject, in the days that still live.
    pub days: BTreeSet<DayKey>,
}

/// What the store said.
#[derive(Debug, Default)]
pub struct IntakeFacts {
    pub states: BTreeMap<StateKey, VersionedState>,
    pub days: BTreeMap<DayKey, Vec<DayRow>>,
    /// Where what is announced belongs.
    pub partitions: PartitionCount,
    pub day_life: DayLife,
}

impl IntakeQuestions {
    pub fn from_admitted(admitted: &[AdmittedItem], life: DayLife, now: UtcMillis) -> Self {
        let mut questions = Self::default();
        for one in admitted {
            if let Some((tenant, person)) = person_of(one) {
                questions.states.insert(StateKey::Notes(tenant.clone(), person.clone()));
            }
            match one {
                AdmittedItem::Profile { tenant, person, state }
                    if PlaceOrigin::ALL.iter().any(|origin| state.cells.contains_key(origin.field())) =>
                {
                    questions.states.insert(StateKey::Person(tenant.clone(), person.clone()));
                }
                AdmittedItem::Preference(PreferenceFact { tenant, person, .. }) => {
                    questions.states.insert(StateKey::Preferences(tenant.clone(), person.clone()));
                }
                _ => {}
            }
            if let AdmittedItem::Feedback { tenant, person, about, what, .. } = one {
                if saved::concerns_saved(*what) {
                    questions.states.insert(StateKey::Saved(tenant.clone(), person.clone()));
                }
                let key = |day| DayKey { tenant: tenant.clone(), person: person.clone(), day };
                match about {
                    FeedbackTarget::Subject { until, .. } => {
                        questions.days.extend(living_days_until(*until, life, now).map(key));
                    }
                    // One cell says it, whatever lies in the days.
                    FeedbackTarget::UpTo { .. } => {}
                    FeedbackTarget::Entries(keys) => {
                        questions.days.extend(keys.iter().map(|of| key(of.day())));
                    }
                }
            }
        }
        questions
    }
}

impl IntakeFacts {
    /// A person's entries about a subject up to an instant.
    pub(crate) fn entries_about(
        &self,
        (tenant, person): (&Tenant, &Person),
        subject: &SubjectRef,
        until: UtcMillis,
        now: UtcMillis,
    ) -> BTreeSet<EntryKey> {
        let key = |day| DayKey { tenant: tenant.clone(), person: person.clone(), day };
        let rows =
            living_days_until(until, self.day_life, now).filter_map(|day| self.days.get(&key(day))).flatten();
        let about = |row: &DayRow| match row {
            DayRow::Entry(entry) if entry.subject == *subject && entry.key.occurred <= until => {
                Some(entry.key)
            }
            DayRow::Entry(_) | DayRow::Mark(_) | DayRow::List(_) => None,
        };
        rows.filter_map(about).collect()
    }

    /// Of which of these entries it holds already.
    pub(crate) fn marked_entries(
        &self,
        (tenant, person): (&Tenant, &Person),
        keys: &[EntryKey],
        did: FeedbackAction,
        now: UtcMillis,
    ) -> BTreeSet<EntryKey> {
        let rows = self.rows_of((tenant, person), keys);
        let notes = StateKey::Notes(tenant.clone(), person.clone());
        let notes = self.states.get(&notes).filter(|_| takes_notes_back(did));
        let view = fold_rows(rows).settle(notes.unwrap_or(&VersionedState::default()), now);
        list_settled_entries(&view, keys, did)
    }
}

impl IntakeFacts {
    fn rows_of<'a>(
        &'a self,
        (tenant, person): (&Tenant, &Person),
        keys: &[EntryKey],
    ) -> impl Iterator<Item = &'a DayRow> {
        let key = |day| DayKey { tenant: tenant.clone(), person: person.clone(), day };
        let days: BTreeSet<Day> = keys.iter().map(|of| of.day()).collect();
        days.into_iter().filter_map(move |day| self.days.get(&key(day))).flatten()
    }

    /// What becomes of the copies of what the person saved; `coming` and `marks` are of what was said just before.
    pub(crate) fn change_saved(
        &self,
        who: (&Tenant, &Person),
        keys: &[EntryKey],
        said: (FeedbackAction, UtcMillis),
        (coming, marks): (Option<&VersionedState>, &[DayRows]),
    ) -> Result<VersionedState, SavedFullError> {
        if !saved::concerns_saved(said.0) {
            return Ok(VersionedState::default());
        }
        let of = StateKey::Saved(who.0.clone(), who.1.clone());
        let mut held = self.states.get(&of).cloned().unwrap_or_default();
        held.merge(coming.unwrap_or(&VersionedState::default()));
        let is_theirs = |of: &&DayRows| (&of.key.tenant, &of.key.person) == who;
        let said_before = marks.iter().filter(is_theirs).flat_map(|of| &of.rows);
        let view = fold_rows(self.rows_of(who, keys).chain(said_before));
        let notes = StateKey::Notes(who.0.clone(), who.1.clone());
        let notes = self.states.get(&notes).cloned().unwrap_or_default();
        saved::change_saved((&held, &notes), |key| view.get(key), keys, said)
    }
}

/// The days up to an instant that have not expired.
fn living_days_until(until: UtcMillis, life: DayLife, now: UtcMillis) -> impl Iterator<Item = Day> {
    std::iter::successors(Some(Day::from_instant(until)), |day| Some(day.plus(-1)))
        .take_while(move |day| !life.is_over(*day, now))
}

/// Whom an admitted thing is about, if it is a person.
pub(crate) fn person_of(admitted: &AdmittedItem) -> Option<(&Tenant, &Person)> {
    match admitted {
        AdmittedItem::Change(_) | AdmittedItem::Revocation(_) => None,
        AdmittedItem::Follow(FollowFact { tenant, person, .. })
        | AdmittedItem::Profile { tenant, person, .. }
        | AdmittedItem::Preference(PreferenceFact { tenant, person, .. })
        | AdmittedItem::Erase { tenant, person, .. }
        | AdmittedItem::Seen { tenant, person, .. }
        | AdmittedItem::Feedback { tenant, person, .. } => Some((tenant, person)),
    }
}
