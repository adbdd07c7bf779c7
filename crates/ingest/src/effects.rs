//! What admitted things come to: what is written, and what is announced.

use std::collections::{BTreeMap, BTreeSet};

use house_facts::erasure::{Erasure, ErasureDecision, decide_erasure};
use model::{
    Channel, Crowd, CrowdEnrolment, EntryKey, Event, Fact, Kind, Person, Tenant, UtcMillis, Value, ValueCell,
    VersionedState,
    partition::PartitionCount,
    person::{
        notes,
        profile::{self, PlaceOrigin},
    },
};
use room::{
    feedback::{feedback_records, mark_rows, up_to_note, up_to_record},
    records::{erasure_record, event_record, inbox_record},
};
use store::{DayRows, StateKey};
use topic::{NewRecord, RecordHeaders};
use wire::{FeedbackAction, InboxItem, WireError};

use crate::{
    admission::AdmittedItem,
    admission_error::AdmissionError,
    change::AdmittedChange,
    facts::{IntakeFacts, person_of},
    feedback::FeedbackTarget,
    moves::{self, PlaceMove},
};

/// Why somebody is not welcome yet.
pub const STILL_RUNNING: &str = "the erasure of this person is not done yet, and would remove what is \
    stated now: welcome them when `tidings erase PERSON --receipt` says that it is done";

/// What is written, then announced.
#[derive(Debug, Default, PartialEq)]
pub struct IntakeEffects {
    /// Written before the states, and what is left after them: see [`moves`].
    pub enrolments: Vec<CrowdEnrolment>,
    pub left: Vec<CrowdEnrolment>,
    /// One for each subject and person, however many changes there are.
    pub states: BTreeMap<StateKey, VersionedState>,
    pub marks: Vec<DayRows>,
    pub records: Vec<NewRecord>,
    /// What became of each, in the order in which they came.
    pub verdicts: Vec<IntakeVerdict>,
}

/// What became of an admitted thing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum IntakeVerdict {
    Taken,
    /// It is about somebody who was erased, or a later word on that stands; whoever said it is not told so.
    Ignored,
    Refused(AdmissionError),
}

/// What of a profile goes on a topic: what windows depend on. Names, addresses and places stay in the store,
/// where they can be erased.
fn without_addresses(mut state: VersionedState) -> VersionedState {
    const OPEN: [&str; 5] =
        [profile::ZONE, profile::LANGUAGE, profile::QUIET, profile::QUIET_UNTIL, profile::HOUR];
    let wished =
        |field: &str| Channel::ALL.iter().any(|channel| channel.off() == field || channel.plan() == field);
    state.cells.retain(|field, _| OPEN.contains(&&**field) || wished(field));
    state
}

impl IntakeEffects {
    pub fn from_admitted(admitted: Vec<AdmittedItem>, known: &IntakeFacts, now: UtcMillis) -> Self {
        let mut effects = Self::default();
        for one in admitted {
            let verdict = if effects.is_erased(&one, known) {
                IntakeVerdict::Ignored
            } else {
                effects.add_item(one, known, now).unwrap_or_else(IntakeVerdict::Refused)
            };
            effects.verdicts.push(verdict);
        }
        effects
    }

    /// An item that is refused here is written nowhere: what cannot be announced must not be stored.
    fn add_item(
        &mut self,
        admitted: AdmittedItem,
        known: &IntakeFacts,
        now: UtcMillis,
    ) -> Result<IntakeVerdict, AdmissionError> {
        match admitted {
            AdmittedItem::Change(change) => self.add_change(&change, known.partitions)?,
            AdmittedItem::Revocation(revocation) => {
                let states = revocation.states().map_err(|bad| AdmissionError::new("", bad.to_string()))?;
                states.into_iter().for_each(|(key, state)| self.merge(key, &state));
                for event in revocation.events() {
                    self.records.push(event_record(&event, RecordHeaders::new(), known.partitions)?);
                }
            }
            AdmittedItem::Follow(follow) => {
                self.records
                    .push(inbox_record(&InboxItem::Fact(Fact::Follow(follow.clone())), known.partitions)?);
                self.enrolments.push(follow.into());
            }
            AdmittedItem::Profile { tenant, person, state } => {
                self.add_profile(tenant, person, state, known)?;
            }
            // Nothing waits for it: whoever closes a window or sends a mail asks the store.
            AdmittedItem::Preference(fact) => {
                let key = StateKey::Preferences(fact.tenant.clone(), fact.person.clone());
                fact.check_room(known.states.get(&key), self.states.get(&key))?;
                self.merge(key, &fact.state());
                self.enrolments.extend(fact.enrolment());
            }
            AdmittedItem::Erase { tenant, person, version, welcomes } => {
                return self.add_erasure((tenant, person), (welcomes, version), known, now);
            }
            AdmittedItem::Seen { tenant, person, surface, at } => {
                let seen = InboxItem::Seen { tenant, person, surface, at };
                self.records.push(inbox_record(&seen, known.partitions)?);
            }
            AdmittedItem::Feedback { tenant, person, what, about, at } => {
                let covered: BTreeSet<EntryKey> = match about {
                    FeedbackTarget::UpTo { kind, until } => {
                        self.add_read_up_to((tenant, person), what, kind.as_ref(), (until, at), known)?;
                        return Ok(IntakeVerdict::Taken);
                    }
                    FeedbackTarget::Entries(keys) => keys.into_iter().collect(),
                    FeedbackTarget::Subject { subject, until } => {
                        known.entries_about((&tenant, &person), &subject, until, now)
                    }
                };
                let covered: Vec<EntryKey> = covered.into_iter().collect();
                let marked = known.marked_entries((&tenant, &person), &covered, what, now);
                let (who, said) = ((&tenant, &person), (what, at));
                let copies = StateKey::Saved(tenant.clone(), person.clone());
                let change = known
                    .change_saved(who, &covered, said, (self.states.get(&copies), &self.marks))
                    .map_err(|full| AdmissionError::new("/data", full.to_string()))?;
                self.merge(copies, &change);
                self.records.extend(feedback_records(who, said, &covered, known.partitions)?);
                let unmarked: Vec<EntryKey> =
                    covered.into_iter().filter(|key| !marked.contains(key)).collect();
                self.marks.extend(mark_rows(who, said, &unmarked, (known.day_life, now)));
            }
        }
        Ok(IntakeVerdict::Taken)
    }

    /// The closing of a window and the sending of a mail read the store; a badge and a feed wait for this record.
    fn add_read_up_to(
        &mut self,
        (tenant, person): (Tenant, Person),
        did: FeedbackAction,
        kind: Option<&Kind>,
        (until, at): (UtcMillis, UtcMillis),
        known: &IntakeFacts,
    ) -> Result<(), AdmissionError> {
        self.records.push(up_to_record((&tenant, &person), (did, at), known.partitions)?);
        self.merge(StateKey::Notes(tenant, person), &up_to_note(did, kind, until));
        Ok(())
    }

    fn add_change(
        &mut self,
        change: &AdmittedChange,
        partitions: PartitionCount,
    ) -> Result<(), AdmissionError> {
        let events: Vec<Event> = change.events().collect();
        let records: Vec<NewRecord> = events
            .iter()
            .map(|event| event_record(event, change.headers.clone(), partitions))
            .collect::<Result<_, _>>()?;
        self.records.extend(records);
        for event in events {
            self.merge(StateKey::Subject(event.tenant, event.subject), &event.state);
        }
        Ok(())
    }

    fn add_profile(
        &mut self,
        tenant: Tenant,
        person: Person,
        state: VersionedState,
        known: &IntakeFacts,
    ) -> Result<(), AdmissionError> {
        let fact = Fact::Profile {
            tenant: tenant.clone(),
            person: person.clone(),
            state: without_addresses(state.clone()),
        };
        self.records.push(inbox_record(&InboxItem::Fact(fact), known.partitions)?);
        let key = StateKey::Person(tenant.clone(), person.clone());
        for origin in PlaceOrigin::ALL {
            let Some(stated) = state.cells.get(origin.field()) else { continue };
            let held = self.current_cell(&key, origin.field(), known);
            let PlaceMove { entered, left } = moves::plan_move((&tenant, &person), origin, held, stated);
            self.enrolments.extend(entered);
            self.left.extend(left);
        }
        let version = state.cells.values().map(|cell| cell.version).max().unwrap_or_default();
        self.merge(key, &state);
        self.enrolments.push(CrowdEnrolment { tenant, person, crowd: Crowd::Everyone, version, on: true });
        Ok(())
    }

    /// The mark is all that is done here: from now on nothing is heard of the person, and nobody tells them. The rest
    /// is the keeper's, and takes its time.
    fn add_erasure(
        &mut self,
        (tenant, person): (Tenant, Person),
        said: (bool, i64),
        known: &IntakeFacts,
        now: UtcMillis,
    ) -> Result<IntakeVerdict, AdmissionError> {
        let key = StateKey::Notes(tenant.clone(), person.clone());
        let mut noted = known.states.get(&key).cloned().unwrap_or_default();
        noted.merge(self.states.get(&key).unwrap_or(&VersionedState::default()));
        let (notes, told) = match decide_erasure(&noted, said, now) {
            ErasureDecision::Taken { notes, told } => (notes, told),
            ErasureDecision::Late => return Ok(IntakeVerdict::Ignored),
            ErasureDecision::Running => return Err(AdmissionError::new("/type", STILL_RUNNING)),
        };
        if let Some((asked, progress)) = told {
            self.records.push(erasure_record(&Erasure { tenant, person, asked, at: now, progress })?);
        }
        self.merge(key, &notes);
        Ok(IntakeVerdict::Taken)
    }

    /// Whether nothing is heard of whom it is about, by what is stored or what came just before it.
    fn is_erased(&self, admitted: &AdmittedItem, known: &IntakeFacts) -> bool {
        let Some((tenant, person)) = person_of(admitted) else { return false };
        let key = StateKey::Notes(tenant.clone(), person.clone());
        let marked = self.current_cell(&key, notes::ERASED, known).and_then(|cell| cell.value.as_ref());
        // Asked for again it is done again, and who is welcome is so whatever was.
        !matches!(admitted, AdmittedItem::Erase { .. }) && marked == Some(&Value::Flag(true))
    }

    /// The cell that holds, of what is stored and what is about to be.
    fn current_cell<'a>(
        &'a self,
        key: &StateKey,
        field: &str,
        known: &'a IntakeFacts,
    ) -> Option<&'a ValueCell> {
        let cell = |states: &'a BTreeMap<StateKey, VersionedState>| states.get(key)?.cells.get(field);
        match (cell(&known.states), cell(&self.states)) {
            (Some(stored), Some(coming)) if stored.wins_over(coming) => Some(stored),
            (stored, coming) => coming.or(stored),
        }
    }

    fn merge(&mut self, key: StateKey, state: &VersionedState) {
        if !state.is_empty() {
            self.states.entry(key).or_default().merge(state);
        }
    }
}

impl From<WireError> for AdmissionError {
    fn from(error: WireError) -> Self {
        Self::new("", error.to_string())
    }
}
