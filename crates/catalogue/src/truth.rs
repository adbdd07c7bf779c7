//! Whether an entry still holds: asked when a window closes and again right before a send, by the same
//! rules in both places.

use std::collections::BTreeSet;

use model::{
    Because, Channel, Person, Reason, State, SubjectRef, Tenant, Value, Why, World, person::profile,
};

use crate::{Catalogue, Facts};

/// The reasons that still hold: the person still follows, and the kind's condition is true.
pub fn still(
    world: &World,
    (tenant, person): (&Tenant, &Person),
    subject: &SubjectRef,
    reasons: &BTreeSet<Reason>,
    catalogue: &Catalogue,
) -> Result<Vec<Reason>, Why> {
    let follows = |reason: &&Reason| match &reason.because {
        Because::Follows(target) => world.follows(tenant, person, target),
    };
    let followed: Vec<&Reason> = reasons.iter().filter(follows).collect();
    if followed.is_empty() {
        return Err(Why::Unfollowed);
    }
    let holding =
        followed.into_iter().filter(|reason| condition_holds(world, tenant, subject, reason, catalogue));
    let holding: Vec<Reason> = holding.cloned().collect();
    if holding.is_empty() { Err(Why::NoLongerTrue) } else { Ok(holding) }
}

fn condition_holds(
    world: &World,
    tenant: &Tenant,
    subject: &SubjectRef,
    reason: &Reason,
    catalogue: &Catalogue,
) -> bool {
    let Some(kind) = catalogue.kinds.get(&reason.kind) else { return false };
    let Some(condition) = &kind.holds else { return true };
    let unknown = State::default();
    let state = world.state(tenant, subject).unwrap_or(&unknown);
    let related = |of: &SubjectRef| world.state(tenant, of);
    // What cannot be evaluated is not told: a mail that should not have gone cannot be taken back.
    condition.holds(&Facts { subject, state, related: &related }).unwrap_or(false)
}

/// The subjects whose follows decide about these reasons.
pub fn targets<'a>(reasons: impl IntoIterator<Item = &'a Reason>) -> BTreeSet<SubjectRef> {
    let target = |reason: &'a Reason| match &reason.because {
        Because::Follows(target) => target.clone(),
    };
    reasons.into_iter().map(target).collect()
}

/// Whether a person may be told anything on a channel.
pub fn reachable(profile: &State, channel: Channel) -> Result<(), Why> {
    let flag = |name| profile.get(name).and_then(Value::as_flag).unwrap_or(false);
    if flag(profile::ERASED) {
        return Err(Why::Erased);
    }
    match channel {
        Channel::Email if flag(profile::EMAIL_OFF) => Err(Why::Unsubscribed),
        Channel::Email if profile.text(profile::EMAIL).is_none() => Err(Why::NoAddress),
        Channel::Email => Ok(()),
    }
}
