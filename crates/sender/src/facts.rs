//! What a batch of Readys needs to know, so that each thing is read once.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use catalogue::truth::{self, ReaderFacts};
use courier::CallPayload;
use model::{
    Channel, DayLife, DayRow, DayView, EntryReason, Person, ReadyId, SubjectRef, UtcMillis, Value, ValueCell,
    VersionedState, WorldSnapshot,
    device::{self, PushDevice},
    entry::DayKey,
    fold::fold_rows,
    ready::Ready,
};
use room::{day_index::DayIndex, world::WorldQuery};
use store::{JournalRows, StateKey};

/// What was loaded for one Ready.
#[derive(Default, Debug)]
pub struct SenderFacts {
    pub profile: VersionedState,
    pub preferences: VersionedState,
    pub notes: VersionedState,
    pub view: DayView,
    /// Who did what its entries tell and was erased since: they are not named.
    pub erased: BTreeSet<Person>,
}

impl SenderFacts {
    /// The person that a Ready is for.
    pub(crate) fn reader<'a>(&'a self, ready: &'a Ready) -> ReaderFacts<'a> {
        let Self { profile, preferences, notes, .. } = self;
        ReaderFacts { tenant: &ready.tenant, person: &ready.person, profile, preferences, notes }
    }
}

/// Facts by Ready, in the order of a batch.
pub type FactsByReady = BTreeMap<ReadyId, SenderFacts>;

/// What was loaded for a batch.
pub struct LoadedBatch {
    /// When that began, by a clock that nobody sets.
    pub at: i64,
    pub journal: BTreeMap<ReadyId, JournalRows>,
    pub facts: FactsByReady,
    pub world: WorldSnapshot,
}

impl LoadedBatch {
    /// What is known of a Ready's person.
    pub(crate) fn facts_of(&self, ready: &Ready) -> &SenderFacts {
        static UNKNOWN: LazyLock<SenderFacts> = LazyLock::new(SenderFacts::default);
        self.facts.get(&ready.id).unwrap_or(&UNKNOWN)
    }
}

/// What the entries of a Ready speak of, those that stand for others and the others.
pub fn collect_wanted(ready: &Ready, view: &DayView, wanted: &mut WorldQuery) {
    wanted.entries.extend(ready.keys().map(|key| (ready.tenant.clone(), key)));
    for entry in &ready.entries {
        want_entry(ready, &entry.subject, &entry.reasons, wanted);
        for other in entry.others.iter().filter_map(|key| view.get(*key)) {
            if let Some(subject) = other.subject() {
                want_entry(ready, subject, &other.reasons, wanted);
            }
        }
    }
    // The number on the icon depends on what of the news was revoked, and on what bundles ask of their subjects; what a push
    // told may have to go from the screen.
    for (key, entry) in view.entries().filter(|_| needs_all_days(ready)) {
        let attention = entry.attention(key);
        let is_news = attention.is_listed() && attention.seen.is_none();
        let is_wanted = is_news || entry.tellers(Channel::Push).next().is_some();
        if let Some(subject) = entry.subject().filter(|_| is_wanted) {
            wanted.subjects.insert((ready.tenant.clone(), subject.clone()));
            wanted.entries.insert((ready.tenant.clone(), key));
        }
    }
}

/// Takes into the days of each Ready what was revoked.
pub fn withdraw_revoked(readys: &[Ready], facts: &mut FactsByReady, world: &WorldSnapshot, now: UtcMillis) {
    for ready in readys {
        let Some(of) = facts.get_mut(&ready.id) else { continue };
        let view = std::mem::take(&mut of.view);
        of.view = view.withdraw(|key, subject| world.is_withdrawn(&ready.tenant, subject, key), now);
    }
}

fn want_entry<'a>(
    ready: &Ready,
    subject: &SubjectRef,
    reasons: impl IntoIterator<Item = &'a EntryReason>,
    wanted: &mut WorldQuery,
) {
    wanted.subjects.insert((ready.tenant.clone(), subject.clone()));
    let (follows, persons) = truth::list_needs(reasons);
    for target in follows {
        wanted.follows.insert((ready.tenant.clone(), ready.person.clone(), target.clone()));
        // Named in "why you get this".
        wanted.subjects.insert((ready.tenant.clone(), target));
    }
    wanted.persons.extend(persons.into_iter().map(|person| (ready.tenant.clone(), person)));
}

/// What is asked of each Ready's person: the profile, what they mute, and what the house notes of them.
pub(crate) fn state_keys(readys: &[Ready]) -> Vec<StateKey> {
    let keys = |Ready { tenant, person, .. }: &Ready| {
        [StateKey::Person, StateKey::Preferences, StateKey::Notes]
            .map(|key| key(tenant.clone(), person.clone()))
    };
    readys.iter().flat_map(keys).collect()
}

/// Of each Ready the answers to that, and the days that it needs.
pub(crate) fn facts_by_ready(
    readys: &[Ready],
    states: Vec<[VersionedState; 3]>,
    rows: &BTreeMap<DayKey, Vec<DayRow>>,
    (life, now): (DayLife, UtcMillis),
) -> FactsByReady {
    let facts = readys.iter().zip(states).map(|(ready, [profile, preferences, notes])| {
        let own: BTreeSet<DayKey> = days_of(ready, &notes, (life, now)).into_iter().collect();
        let view = fold_rows(own.iter().filter_map(|day| rows.get(day)).flatten()).settle(&notes, now);
        (ready.id, SenderFacts { profile, preferences, notes, view, erased: BTreeSet::new() })
    });
    facts.collect()
}

/// Whether a Ready asks what there is in any of the person's days: what the number on the icon counts, or what was revoked.
pub(crate) fn needs_all_days(ready: &Ready) -> bool {
    ready.badge || ready.is_wordless()
}

/// The days of its entries, and all others where it needs them.
pub(crate) fn days_of(
    ready: &Ready,
    notes: &VersionedState,
    (life, now): (DayLife, UtcMillis),
) -> Vec<DayKey> {
    let own = ready.days().into_iter();
    let counted = needs_all_days(ready).then(|| DayIndex::from_notes(notes).days_to_read(life, now));
    let counted = counted.into_iter().flatten();
    let key = |day| DayKey { tenant: ready.tenant.clone(), person: ready.person.clone(), day };
    own.chain(counted).map(key).collect()
}

/// The removal of a device from a profile as it was read: newer than that registration, and older than any later one.
/// `None` if the device is gone, or has another token by now.
pub(crate) fn device_removal(profile: &VersionedState, device: &PushDevice) -> Option<VersionedState> {
    field_removal(
        profile,
        &device::device_field(&device.id),
        &device::device_value(device.platform, &device.token),
    )
}

/// The same for the address of a hook.
pub(crate) fn hook_removal(profile: &VersionedState, call: &CallPayload) -> Option<VersionedState> {
    field_removal(profile, call.hook.name(), &Value::from_text(&call.address))
}

fn field_removal(profile: &VersionedState, field: &str, value: &Value) -> Option<VersionedState> {
    let cell = profile.cells.get(field).filter(|cell| cell.value.as_ref() == Some(value))?;
    let mut state = VersionedState::default();
    state.set(field, ValueCell { version: cell.version + 1, value: None });
    Some(state)
}
