//! Whether an entry still holds: asked when a window closes and again right before a send, by the same
//! rules in both places.
//!
//! Each reason is asked three things in this order: whether the audience still finds the person, whether
//! the person muted it, and whether the kind's condition is true. The audience is that of the kind of today,
//! asked of the subject of today: what is another author's by now is not told to who follows the first.
//!
//! One reason that passes is enough. If none does, the answer is that of the reason which came furthest; of
//! those that the audience does not find any more it is the first of [`Why::Unfollowed`], [`Why::MovedAway`],
//! [`Why::NoLongerTrue`] and [`Why::KindGone`].

use std::{collections::BTreeSet, slice};

use model::{
    Because, Channel, Millis, Person, Reason, State, SubjectRef, Tenant, Value, Why, World, device,
    person::{mutes, notes, profile},
    returns::{self, AddressHash},
};

use crate::{Audience, Catalogue, Facts, KindDef, audience::SUBJECT};

/// Who would be told, and what is known of them.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    pub tenant: &'a Tenant,
    pub person: &'a Person,
    pub profile: &'a State,
    pub mutes: &'a State,
    pub notes: &'a State,
}

/// What would be told.
#[derive(Clone, Copy, Debug)]
pub struct Told<'a> {
    pub subject: &'a SubjectRef,
    /// Who did it.
    pub actor: Option<&'a Person>,
    pub reasons: &'a BTreeSet<Reason>,
}

/// How far a reason came that does not hold; the furthest one is the answer.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Fell {
    NotFound(usize),
    Muted,
    Untrue,
}

/// Why the audience does not find a person any more, the one to be said last first.
const NOT_FOUND: [Why; 4] = [Why::KindGone, Why::NoLongerTrue, Why::MovedAway, Why::Unfollowed];

impl Fell {
    fn not_found(why: Why) -> Self {
        Self::NotFound(NOT_FOUND.iter().position(|known| *known == why).unwrap_or(0))
    }

    fn why(&self) -> Why {
        match self {
            Self::NotFound(rank) => NOT_FOUND.get(*rank).copied().unwrap_or(Why::NoLongerTrue),
            Self::Muted => Why::Muted,
            Self::Untrue => Why::NoLongerTrue,
        }
    }
}

/// The reasons that still hold, or why none does.
pub fn still(
    world: &World,
    reader: &Reader<'_>,
    told: &Told<'_>,
    catalogue: &Catalogue,
) -> Result<Vec<Reason>, Why> {
    let mut holding = Vec::new();
    let mut furthest = None;
    for reason in told.reasons {
        match holds(world, reader, told, reason, catalogue) {
            Ok(()) => holding.push(reason.clone()),
            Err(fell) => furthest = furthest.max(Some(fell)),
        }
    }
    if holding.is_empty() {
        // Without any reason there is nothing that could be true.
        return Err(furthest.map_or(Why::NoLongerTrue, |fell| fell.why()));
    }
    Ok(holding)
}

fn holds(
    world: &World,
    reader: &Reader<'_>,
    told: &Told<'_>,
    reason: &Reason,
    catalogue: &Catalogue,
) -> Result<(), Fell> {
    let kind = catalogue.kinds.get(&reason.kind).ok_or_else(|| Fell::not_found(Why::KindGone))?;
    found(world, reader, told, &reason.because, kind).map_err(Fell::not_found)?;
    if !muting(world, reader, told, reason, Some(kind)).is_empty() {
        return Err(Fell::Muted);
    }
    if condition_holds(world, reader.tenant, told.subject, kind) { Ok(()) } else { Err(Fell::Untrue) }
}

/// Whether the audience finds the person still.
fn found(
    world: &World,
    reader: &Reader<'_>,
    told: &Told<'_>,
    because: &Because,
    kind: &KindDef,
) -> Result<(), Why> {
    let state = world.state(reader.tenant, told.subject);
    let names = |field: &str, person: &Person| {
        state.and_then(|state| state.text(field)).is_some_and(|named| named == person.as_str())
    };
    let (holds, why) = match (because, &kind.to) {
        // Who unfollowed finds that said, whatever became of the subject.
        (Because::Follows(target), _) if !world.follows(reader.tenant, reader.person, target) => {
            (false, Why::Unfollowed)
        }
        (Because::Follows(target), Audience::FollowersOf(fields)) => {
            (refers(told.subject, state, fields, target), Why::NoLongerTrue)
        }
        (Because::Near, Audience::Near { field, within_km }) => {
            let there = state.and_then(|state| state.place(field));
            let places = reader.profile.place(profile::PLACE).zip(there);
            (places.is_some_and(|(one, other)| one.distance_km(other) <= *within_km), Why::MovedAway)
        }
        (Because::Named, Audience::Person(field)) => (names(field, reader.person), Why::NoLongerTrue),
        (Because::Mutual(with), Audience::Mutual(one, other)) => {
            let are = |one: &str, other: &str| names(one, reader.person) && names(other, with);
            (with != reader.person && (are(one, other) || are(other, one)), Why::NoLongerTrue)
        }
        // The kind has another audience by now, and cannot be asked.
        (Because::Follows(_) | Because::Near | Because::Named | Because::Mutual(_), _) => {
            (false, Why::NoLongerTrue)
        }
        // Who was listed stays so, and a message to everyone is for whoever was there.
        (Because::Listed(_) | Because::Everyone, _) => return Ok(()),
    };
    if holds { Ok(()) } else { Err(why) }
}

/// Whether a subject refers to this one by any of the fields still. A field that is removed refers to nothing;
/// but where none of them was ever stated, nothing is known against it.
fn refers(subject: &SubjectRef, state: Option<&State>, fields: &[String], target: &SubjectRef) -> bool {
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

/// The person's mutes that stand against a reason, by their names: of the kind, of who did it, of what it is
/// about, or of what that hangs on. Who mutes a person does not hear of being one of two with them either.
pub fn muting(
    world: &World,
    reader: &Reader<'_>,
    told: &Told<'_>,
    reason: &Reason,
    kind: Option<&KindDef>,
) -> Vec<String> {
    // Nearly nobody mutes anything.
    if reader.mutes.is_empty() {
        return Vec::new();
    }
    let party = match &reason.because {
        Because::Mutual(other) => Some(other),
        _ => None,
    };
    let state = world.state(reader.tenant, told.subject);
    let mut names = vec![mutes::kind(&reason.kind), mutes::subject(told.subject)];
    names.extend(told.actor.into_iter().chain(party).map(mutes::actor));
    names.extend(kind.map_or(&[][..], |kind| kind.threads(told.subject, state)).iter().map(mutes::thread));
    names.retain(|name| reader.mutes.flag(name));
    names
}

fn condition_holds(world: &World, tenant: &Tenant, subject: &SubjectRef, kind: &KindDef) -> bool {
    let Some(condition) = &kind.holds else { return true };
    let unknown = State::default();
    let state = world.state(tenant, subject).unwrap_or(&unknown);
    let related = |of: &SubjectRef| world.state(tenant, of);
    // What cannot be evaluated is not told: a mail that should not have gone cannot be taken back.
    condition.holds(&Facts { subject, state, related: &related }).unwrap_or(false)
}

/// What the world must hold to ask these reasons: the subjects whose follows decide about them, and the
/// persons whom they speak of beside the reader.
pub fn wants<'a>(reasons: impl IntoIterator<Item = &'a Reason>) -> (BTreeSet<SubjectRef>, BTreeSet<Person>) {
    let (mut follows, mut others) = (BTreeSet::new(), BTreeSet::new());
    for reason in reasons {
        match &reason.because {
            Because::Follows(target) => {
                follows.insert(target.clone());
            }
            Because::Mutual(other) => {
                others.insert(other.clone());
            }
            Because::Near | Because::Named | Because::Listed(_) | Because::Everyone => {}
        }
    }
    (follows, others)
}

/// Whether a person may be told anything on a channel, of a stream of mails where it is one.
pub fn reachable(reader: &Reader<'_>, channel: Channel, stream: &str, now: Millis) -> Result<(), Why> {
    if reader.notes.flag(notes::ERASED) {
        return Err(Why::Erased);
    }
    if reader.profile.flag(channel.off()) {
        return Err(Why::Unsubscribed);
    }
    let has_address = match channel {
        Channel::Email => reader.profile.text(profile::EMAIL).is_some(),
        Channel::Push => !device::of(reader.profile).is_empty(),
        Channel::Hook(hook) => reader.profile.text(hook.name()).is_some(),
    };
    match channel {
        _ if !has_address => Err(Why::NoAddress),
        Channel::Email => welcome(reader, stream, now),
        Channel::Push | Channel::Hook(_) => Ok(()),
    }
}

/// Whether mails of a stream to the person's address may go, by what came back of those before.
fn welcome(reader: &Reader<'_>, stream: &str, now: Millis) -> Result<(), Why> {
    let address = reader.profile.text(profile::EMAIL).unwrap_or_default();
    let address = AddressHash::of(reader.tenant, reader.person, address);
    match returns::suppressed(reader.notes, address, stream, now) {
        Some(sort) => Err(sort.why()),
        None => Ok(()),
    }
}
