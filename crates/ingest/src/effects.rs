//! What admitted things come to: what must be asked first, what is written, and what is announced.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    Day, EntryKey, Event, Fact, Follow, Mark, Millis, Person, Row, State, SubjectRef, Tenant, What,
    entry::DayKey, partition, person::profile,
};
use store::{DayRows, StateKey};
use topic::NewRecord;
use wire::{Did, Feedback, Inbox, WireError, topics};

use crate::{
    admit::{About, Admitted, Refused},
    config::MARK_KEYS_MAX,
};

/// What the store is asked before anything is written.
#[derive(Debug, Default, PartialEq)]
pub struct Questions {
    /// Whether these persons were erased.
    pub persons: BTreeSet<StateKey>,
    /// What there is about a subject, in the days that still live.
    pub days: BTreeSet<DayKey>,
}

/// What the store said.
#[derive(Debug, Default)]
pub struct Known {
    pub persons: BTreeMap<StateKey, State>,
    pub days: BTreeMap<DayKey, Vec<Row>>,
}

/// What is written, then announced.
#[derive(Debug, Default, PartialEq)]
pub struct Effects {
    /// One for each subject and person, however many changes there are.
    pub states: BTreeMap<StateKey, State>,
    pub follows: Vec<Follow>,
    pub marks: Vec<DayRows>,
    pub records: Vec<NewRecord>,
    /// What became of each, in the order in which they came.
    pub verdicts: Vec<Verdict>,
}

/// What became of an admitted thing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    Taken,
    /// It is about somebody who was erased; whoever said it is not told so.
    Ignored,
    Refused(Refused),
}

impl Questions {
    pub fn of(admitted: &[Admitted], now: Millis) -> Self {
        let mut questions = Self::default();
        for one in admitted {
            if let Some((tenant, person)) = whose(one) {
                questions.persons.insert(StateKey::Person(tenant.clone(), person.clone()));
            }
            if let Admitted::Feedback { tenant, person, about: About::Subject { until, .. }, .. } = one {
                let key = |day| DayKey { tenant: tenant.clone(), person: person.clone(), day };
                questions.days.extend(living(*until, now).map(key));
            }
        }
        questions
    }
}

/// What of a profile goes on a topic: what windows depend on. Names and addresses stay in the store, where
/// they can be erased.
fn without_addresses(mut state: State) -> State {
    const OPEN: [&str; 3] = [profile::ZONE, profile::LANGUAGE, profile::EMAIL_OFF];
    state.cells.retain(|field, _| OPEN.contains(&&**field));
    state
}

/// The days up to an instant that have not expired.
fn living(until: Millis, now: Millis) -> impl Iterator<Item = Day> {
    std::iter::successors(Some(Day::of(until)), |day| Some(day.plus(-1)))
        .take_while(move |day| day.expires() > now)
}

fn whose(admitted: &Admitted) -> Option<(&Tenant, &Person)> {
    match admitted {
        Admitted::Change(_) => None,
        Admitted::Follow(Follow { tenant, person, .. })
        | Admitted::Profile { tenant, person, .. }
        | Admitted::Feedback { tenant, person, .. } => Some((tenant, person)),
    }
}

impl Effects {
    pub fn of(admitted: Vec<Admitted>, known: &Known, now: Millis) -> Self {
        let mut effects = Self::default();
        for one in admitted {
            let verdict = if known.is_erased(&one) {
                Verdict::Ignored
            } else {
                match effects.add(one, known, now) {
                    Ok(()) => Verdict::Taken,
                    // Written nowhere yet: what cannot be announced is not stored either.
                    Err(error) => Verdict::Refused(Refused::new("/", error.to_string())),
                }
            };
            effects.verdicts.push(verdict);
        }
        effects
    }

    fn add(&mut self, admitted: Admitted, known: &Known, now: Millis) -> Result<(), WireError> {
        match admitted {
            Admitted::Change(event) => {
                self.records.push(announced(&event)?);
                self.merge(StateKey::Subject(event.tenant, event.subject), &event.state);
            }
            Admitted::Follow(follow) => {
                self.records.push(heard(&Inbox::Fact(Fact::Follow(follow.clone())))?);
                self.follows.push(follow);
            }
            Admitted::Profile { tenant, person, state } => {
                self.merge(StateKey::Person(tenant.clone(), person.clone()), &state);
                let state = without_addresses(state);
                self.records.push(heard(&Inbox::Fact(Fact::Profile { tenant, person, state }))?);
            }
            Admitted::Feedback { tenant, person, what, about, at } => {
                let (covered, marked) = match about {
                    About::Entries(keys) => (keys.into_iter().collect(), BTreeSet::new()),
                    About::Subject { subject, until } => {
                        known.about((&tenant, &person), &subject, until, what, now)
                    }
                };
                let covered: Vec<EntryKey> = covered.into_iter().collect();
                for keys in covered.chunks(MARK_KEYS_MAX) {
                    let (tenant, person, keys) = (tenant.clone(), person.clone(), keys.to_vec());
                    self.records.push(heard(&Inbox::Feedback(Feedback { tenant, person, what, keys, at }))?);
                }
                let unmarked: Vec<EntryKey> =
                    covered.into_iter().filter(|key| !marked.contains(key)).collect();
                self.mark(&tenant, &person, what, &unmarked, at, now);
            }
        }
        Ok(())
    }

    fn merge(&mut self, key: StateKey, state: &State) {
        if !state.is_empty() {
            self.states.entry(key).or_default().merge(state);
        }
    }

    /// One mark for each day that still lives; the keys are sorted.
    fn mark(
        &mut self,
        tenant: &Tenant,
        person: &Person,
        did: Did,
        keys: &[EntryKey],
        at: Millis,
        now: Millis,
    ) {
        for of_day in keys.chunk_by(|a, b| a.day() == b.day()) {
            let day = of_day[0].day();
            if day.expires() <= now {
                continue;
            }
            let mark = |keys: &[EntryKey]| Row::Mark(Mark::new(None, what(did), keys.to_vec(), at));
            let rows = of_day.chunks(MARK_KEYS_MAX).map(mark).collect();
            let key = DayKey { tenant: tenant.clone(), person: person.clone(), day };
            self.marks.push(DayRows { key, rows });
        }
    }
}

impl Known {
    fn is_erased(&self, admitted: &Admitted) -> bool {
        let flag = |(tenant, person): (&Tenant, &Person)| {
            let state = self.persons.get(&StateKey::Person(tenant.clone(), person.clone()))?;
            state.get(profile::ERASED)?.as_flag()
        };
        whose(admitted).and_then(flag).unwrap_or(false)
    }

    /// A person's entries about a subject up to an instant, and which of them are marked so already. Those
    /// are not marked again, or each look at a page would add a row; but they are announced again, since
    /// the first time may have ended between the mark and its announcement.
    fn about(
        &self,
        (tenant, person): (&Tenant, &Person),
        subject: &SubjectRef,
        until: Millis,
        did: Did,
        now: Millis,
    ) -> (BTreeSet<EntryKey>, BTreeSet<EntryKey>) {
        let (mut covered, mut marked) = (BTreeSet::new(), BTreeSet::new());
        let key = |day| DayKey { tenant: tenant.clone(), person: person.clone(), day };
        for row in living(until, now).filter_map(|day| self.days.get(&key(day))).flatten() {
            match row {
                Row::Entry(entry) if entry.subject == *subject && entry.key.occurred <= until => {
                    covered.insert(entry.key);
                }
                Row::Mark(mark) if mark.channel.is_none() && mark.what == what(did) => {
                    marked.extend(mark.covers.iter().copied());
                }
                Row::Entry(_) | Row::Mark(_) => {}
            }
        }
        (covered, marked)
    }
}

fn what(did: Did) -> What {
    match did {
        Did::Read => What::Read,
        Did::Cleared => What::Cleared,
    }
}

fn announced(event: &Event) -> Result<NewRecord, WireError> {
    Ok(NewRecord {
        topic: topics::EVENTS.into(),
        partition: partition::of_subject(&event.tenant, &event.subject),
        key: wire::key::subject(&event.tenant, &event.subject),
        value: Some(wire::event::encode(event)?),
    })
}

fn heard(inbox: &Inbox) -> Result<NewRecord, WireError> {
    let (tenant, person) = inbox.whose();
    Ok(NewRecord {
        topic: topics::INBOX.into(),
        partition: partition::of_person(tenant, person),
        key: wire::key::person(tenant, person),
        value: Some(wire::inbox::encode(inbox)?),
    })
}
