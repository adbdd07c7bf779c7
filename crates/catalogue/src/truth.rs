//! Whether an entry still holds: asked when a window closes and again right before a send, by the same
//! rules in both places.
//!
//! Each reason is asked four things in this order: whether the audience still finds the person, whether the person
//! muted it, whether the kind's condition is true, and whether it is past. The audience is that of the kind of today, asked of the subject
//! of today: what is another author's by now is not told to followers of the first.
//!
//! One reason that passes is enough. If none does, the answer is that of the reason which came furthest; of
//! those that the audience does not find any more it is the first of [`EndReason::Unfollowed`], [`EndReason::MovedAway`],
//! [`EndReason::NoLongerTrue`] and [`EndReason::KindGone`]. What was revoked holds for no reason.

use std::{collections::BTreeSet, slice};

use expression::ConditionFacts;
use model::{
    AudienceMatch, Channel, EndReason, EntryKey, EntryReason, Person, SubjectRef, Tenant, UtcMillis, Value,
    VersionedState, WorldSnapshot, device,
    person::{notes, profile},
    returns::{self, AddressHash},
    time::AskedMoment,
};
use preferences::{PreferenceChoice, ReadingPlace};

use crate::{Audience, Catalogue, KindDef, audience::SUBJECT};

/// Who would be told, and what is known of them.
#[derive(Clone, Copy, Debug)]
pub struct ReaderFacts<'a> {
    pub tenant: &'a Tenant,
    pub person: &'a Person,
    pub profile: &'a VersionedState,
    pub preferences: &'a VersionedState,
    pub notes: &'a VersionedState,
}

/// What would be told.
#[derive(Clone, Copy, Debug)]
pub struct TellableEntry<'a> {
    pub subject: &'a SubjectRef,
    /// Which one, and when it happened.
    pub key: EntryKey,
    /// Who did it.
    pub actor: Option<&'a Person>,
    pub reasons: &'a BTreeSet<EntryReason>,
    /// Where it would be read.
    pub place: ReadingPlace,
    pub moment: AskedMoment,
}

/// How far a reason came that does not hold; the furthest one is the answer.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum TruthFailure {
    NotFound(usize),
    Muted,
    Untrue,
    Past,
}

/// Why the audience does not find a person any more, the one to be said last first.
const NOT_FOUND: [EndReason; 4] =
    [EndReason::KindGone, EndReason::NoLongerTrue, EndReason::MovedAway, EndReason::Unfollowed];

impl TruthFailure {
    fn not_found(why: EndReason) -> Self {
        Self::NotFound(NOT_FOUND.iter().position(|known| *known == why).unwrap_or(0))
    }

    fn end_reason(&self) -> EndReason {
        match self {
            Self::NotFound(rank) => NOT_FOUND.get(*rank).copied().unwrap_or(EndReason::NoLongerTrue),
            Self::Muted => EndReason::Muted,
            Self::Untrue => EndReason::NoLongerTrue,
            Self::Past => EndReason::Expired,
        }
    }
}

/// The reasons that still hold, or why none does.
pub fn reasons_that_hold(
    world: &WorldSnapshot,
    reader: &ReaderFacts<'_>,
    told: &TellableEntry<'_>,
    catalogue: &Catalogue,
) -> Result<Vec<EntryReason>, EndReason> {
    if world.is_withdrawn(reader.tenant, told.subject, told.key) {
        return Err(EndReason::Withdrawn);
    }
    let mut holding = Vec::new();
    let mut furthest = None;
    for reason in told.reasons {
        match check_reason(world, reader, told, reason, catalogue) {
            Ok(()) => holding.push(reason.clone()),
            Err(fell) => furthest = furthest.max(Some(fell)),
        }
    }
    if holding.is_empty() {
        // Without any reason there is nothing that could be true.
        return Err(furthest.map_or(EndReason::NoLongerTrue, |fell| fell.end_reason()));
    }
    Ok(holding)
}

fn check_reason(
    world: &WorldSnapshot,
    reader: &ReaderFacts<'_>,
    told: &TellableEntry<'_>,
    reason: &EntryReason,
    catalogue: &Catalogue,
) -> Result<(), TruthFailure> {
    let kind =
        catalogue.kinds.get(&reason.kind).ok_or_else(|| TruthFailure::not_found(EndReason::KindGone))?;
    check_audience(world, reader, told, (&reason.because, kind), catalogue)
        .map_err(TruthFailure::not_found)?;
    if catalogue.find_choice(world, reader, told, (reason, kind)).choice == PreferenceChoice::Off {
        return Err(TruthFailure::Muted);
    }
    if !condition_holds(world, reader.tenant, told, kind) {
        return Err(TruthFailure::Untrue);
    }
    let state = world.state(reader.tenant, told.subject);
    let is_past = kind.expires.as_ref().is_some_and(|at| at.is_past(told.key.occurred, state, told.moment));
    if is_past { Err(TruthFailure::Past) } else { Ok(()) }
}

/// Whether the audience finds the person still.
fn check_audience(
    world: &WorldSnapshot,
    reader: &ReaderFacts<'_>,
    told: &TellableEntry<'_>,
    (because, kind): (&AudienceMatch, &KindDef),
    catalogue: &Catalogue,
) -> Result<(), EndReason> {
    let state = world.state(reader.tenant, told.subject);
    let names = |field: &str, person: &Person| {
        state.and_then(|state| state.text(field)).is_some_and(|named| named == person.as_str())
    };
    let (holds, why) = match (because, &kind.to) {
        (AudienceMatch::Follows(target), Audience::SubscribersOf(_)) => {
            (catalogue.is_subscribed(world, reader, told, kind, target), EndReason::Unfollowed)
        }
        // Who unfollowed finds that said, whatever became of the subject.
        (AudienceMatch::Follows(target), _) if !world.follows(reader.tenant, reader.person, target) => {
            (false, EndReason::Unfollowed)
        }
        (AudienceMatch::Follows(target), Audience::FollowersOf(fields)) => {
            (refers_to(told.subject, state, fields, target), EndReason::NoLongerTrue)
        }
        (AudienceMatch::Near, Audience::Near { field, within_km }) => {
            let there = state.and_then(|state| state.place(field));
            let places = profile::find_place(reader.profile).zip(there);
            (places.is_some_and(|(one, other)| one.at.distance_km(other) <= *within_km), EndReason::MovedAway)
        }
        (AudienceMatch::Named, Audience::Person(field)) => {
            (names(field, reader.person), EndReason::NoLongerTrue)
        }
        (AudienceMatch::Mutual(with), Audience::Mutual(one, other)) => {
            let are = |one: &str, other: &str| names(one, reader.person) && names(other, with);
            (with != reader.person && (are(one, other) || are(other, one)), EndReason::NoLongerTrue)
        }
        // The kind has another audience by now, and cannot be asked.
        (
            AudienceMatch::Follows(_) | AudienceMatch::Near | AudienceMatch::Named | AudienceMatch::Mutual(_),
            _,
        ) => (false, EndReason::NoLongerTrue),
        // Who was listed stays so, and a message to everyone is for whoever was there.
        (AudienceMatch::Listed(_) | AudienceMatch::Everyone, _) => return Ok(()),
    };
    if holds { Ok(()) } else { Err(why) }
}

/// Whether a subject refers to this one by any of the fields still. A field that is removed refers to nothing;
/// but where none of them was ever stated, nothing is known against it.
fn refers_to(
    subject: &SubjectRef,
    state: Option<&VersionedState>,
    fields: &[String],
    target: &SubjectRef,
) -> bool {
    let mut is_stated = false;
    for field in fields {
        let refs = if field == SUBJECT {
            slice::from_ref(subject)
        } else if let Some(cell) = state.and_then(|state| state.cells.get(field.as_str())) {
            cell.value.as_ref().map_or(&[][..], Value::refs)
        } else {
            continue;
        };
        if refs.contains(target) {
            return true;
        }
        is_stated = true;
    }
    !is_stated
}

/// The subjects that some fields refer to; where nothing is known of them, the subject itself alone.
pub(crate) fn referred_subjects<'a>(
    subject: &'a SubjectRef,
    state: Option<&'a VersionedState>,
    fields: &[String],
) -> Vec<&'a SubjectRef> {
    let of_field = |field: &String| match field.as_str() {
        SUBJECT => slice::from_ref(subject),
        field => state.and_then(|state| state.get(field)).map_or(&[][..], Value::refs),
    };
    fields.iter().flat_map(of_field).collect()
}

fn condition_holds(world: &WorldSnapshot, tenant: &Tenant, told: &TellableEntry<'_>, kind: &KindDef) -> bool {
    let Some(condition) = &kind.holds else { return true };
    let unknown = VersionedState::default();
    let (subject, moment) = (told.subject, told.moment);
    let state = world.state(tenant, subject).unwrap_or(&unknown);
    let related = |of: &SubjectRef| world.state(tenant, of);
    // What cannot be evaluated is not told: a mail that should not have gone cannot be taken back.
    condition.holds(&ConditionFacts { subject, state, related: &related, moment }).unwrap_or(false)
}

/// What the world must hold to ask these reasons: the subjects whose follows decide about them, and the
/// persons whom they speak of beside the reader.
pub fn list_needs<'a>(
    reasons: impl IntoIterator<Item = &'a EntryReason>,
) -> (BTreeSet<SubjectRef>, BTreeSet<Person>) {
    let (mut follows, mut others) = (BTreeSet::new(), BTreeSet::new());
    for reason in reasons {
        match &reason.because {
            AudienceMatch::Follows(target) => {
                follows.insert(target.clone());
            }
            AudienceMatch::Mutual(other) => {
                others.insert(other.clone());
            }
            AudienceMatch::Near
            | AudienceMatch::Named
            | AudienceMatch::Listed(_)
            | AudienceMatch::Everyone => {}
        }
    }
    (follows, others)
}

/// Whether a person may be told anything on a channel, of a stream of mails where it is one; or anything critical, which
/// unsubscribing does not end.
pub fn check_reachable(
    reader: &ReaderFacts<'_>,
    (channel, stream): (Channel, &str),
    is_critical: bool,
    now: UtcMillis,
) -> Result<(), EndReason> {
    if reader.notes.flag(notes::ERASED) {
        return Err(EndReason::Erased);
    }
    if reader.profile.flag(channel.off()) && !is_critical {
        return Err(EndReason::Unsubscribed);
    }
    let has_address = match channel {
        Channel::Email => reader.profile.text(profile::EMAIL).is_some(),
        Channel::Push => !device::read_devices(reader.profile).is_empty(),
        Channel::Hook(hook) => reader.profile.text(hook.name()).is_some(),
    };
    match channel {
        _ if !has_address => Err(EndReason::NoAddress),
        Channel::Email => check_welcome(reader, stream, now),
        Channel::Push | Channel::Hook(_) => Ok(()),
    }
}

/// Whether a person is reached on a channel, and whether at least by what is critical.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PersonReach {
    pub by_all: Result<(), EndReason>,
    pub by_critical: Result<(), EndReason>,
}

impl PersonReach {
    pub fn find(reader: &ReaderFacts<'_>, channel: (Channel, &str), now: UtcMillis) -> Self {
        let [by_all, by_critical] =
            [false, true].map(|is_critical| check_reachable(reader, channel, is_critical, now));
        Self { by_all, by_critical }
    }

    /// Nothing reaches them any more.
    pub fn ended(why: EndReason) -> Self {
        Self { by_all: Err(why), by_critical: Err(why) }
    }

    /// Leaves of an entry's reasons those that reach the person: all, or those of critical kinds.
    pub fn keep_reaching<C>(self, catalogue: &Catalogue, reasons: C) -> Result<C, EndReason>
    where
        C: IntoIterator<Item = EntryReason> + FromIterator<EntryReason>,
    {
        let Err(why) = self.by_all else { return Ok(reasons) };
        self.by_critical?;
        let is_critical =
            |reason: &EntryReason| catalogue.kinds.get(&reason.kind).is_some_and(|kind| kind.critical);
        let mut critical = reasons.into_iter().filter(is_critical).peekable();
        if critical.peek().is_none() { Err(why) } else { Ok(critical.collect()) }
    }
}

/// Whether mails of a stream to the person's address may go, by what came back of those before.
fn check_welcome(reader: &ReaderFacts<'_>, stream: &str, now: UtcMillis) -> Result<(), EndReason> {
    let address = reader.profile.text(profile::EMAIL).unwrap_or_default();
    let address = AddressHash::from_address(reader.tenant, reader.person, address);
    match returns::find_suppression(reader.notes, address, stream, now) {
        Some(sort) => Err(sort.end_reason()),
        None => Ok(()),
    }
}
