//! The life of a partition with a member: one enum, changed by [`PartitionLife::step`] alone.
//!
//! Pure: a life and an input go in, a life and effects come out, and time is an argument. The member's state
//! ([`super::member_state`]) keeps a map of lives and does what the effects say.

use std::{sync::Arc, time::Duration};

use rdkafka::consumer::ConsumerGroupMetadata;

use super::partition_slot::{PartitionSlot, ReadAhead};

/// Where a partition stands with a member. What always holds:
///
/// 1. **One assignment, one claim.** Each time that the group says a partition is ours it does so under a claim never
///    used before. A slot carries the claim for which it was taken over, and comes into hand only while that is the
///    group's last word.
/// 2. **What is in hand is not given away before its turn ends.** A revocation in good time leaves the slot where it
///    is: the turn in flight may still be committed. It is let go of when the member, having been told, asks for the
///    next happening, for then the turn has ended. Turns need no state of their own, since those that write
///    nothing end without a commit. Until then [`PartitionLife::is_held`], and the group is not answered.
/// 3. **What is lost never commits.** A commit needs the slot of its generation ([`PartitionLife::slot_of`]). A slot
///    that was dropped (lost, taken away too late, let go of) never comes back, nor does its generation.
/// 4. **What is revoked while it is taken over is let go of when that ends.** The call cannot be broken off, so the
///    partition is held until it ends; what it brings is refused and closed. Should the group have given the
///    partition anew by then, it is taken over anew, after the first call and never beside it: two producers of one
///    name would fence each other.
/// 5. **What was lost is left alone for a while, then taken over anew**, unless the group has said otherwise: to be
///    replaced and to hear of it are two things, and the second comes a heartbeat later.
/// 6. **The member hears `Revoked` before `Assigned`.** What was taken from its hands by the group is told, even when it
///    was too late for the turn; only then is it taken over anew. What a commit lost it knows already.
/// 7. **Each slot is dropped once**, and by an effect, so that its producer is closed and what was read of it
///    is no longer counted.
#[derive(Default)]
pub enum PartitionLife {
    /// It is nothing to us.
    #[default]
    Elsewhere,
    /// The group says that it is ours, and it is still to be taken over. Not before the member was told that it was
    /// without it for a time, where it is `untold`.
    Given { claim: u64, untold: bool },
    /// It is being taken over for a claim. `given` is the group's last word: the same claim, a later one, or none.
    TakingOver { claim: u64, given: Option<u64> },
    /// That has ended well, and the slot is on its way into the member's hands. Not held: until it gets there
    /// nobody works on it, and it is refused there if the group says otherwise meanwhile.
    TakenOver { claim: u64 },
    /// Read, handed out and committed.
    InHand { slot: PartitionSlot },
    /// The group wants it back. Still in hand for the turn in flight, until the member was told and asks for more.
    LettingGo { slot: PartitionSlot, told: bool },
    /// Taken from the member's hands before it was told. All that is left to do is to tell it.
    TakenAway,
    /// A commit said that it is lost, though the group still says that it is ours.
    Lost { claim: u64, since: Duration },
}

/// What happens to a partition.
pub enum LifeInput {
    /// The group says that it is ours.
    Assigned { claim: u64 },
    /// The group says that it is not ours any more. `too_late`: somebody else may have it already.
    Revoked { too_late: bool },
    /// The member hears what it has to let go of.
    RevocationTold,
    /// The member asks for the next happening, so it has ended its turn.
    NextAsked,
    /// The member is ready to take over what it was given.
    TakeoverBegun,
    /// The call that takes over has ended, well or not.
    TakeoverEnded { well: bool },
    /// What was taken over reaches the member, to be read under this number.
    Installed { slot: PartitionSlot, reading: u64 },
    /// A commit says that it is lost.
    Lost { generation: u64, now: Duration },
    /// Time passes; what was lost is left alone for so long.
    Waited { now: Duration, wait: Duration },
    /// Nothing more of it is handed out until it is rewound.
    Held { reading: u64 },
    /// Reading goes back to these offsets.
    Rewound { generation: u64, reading: u64, starts: Vec<u64>, metadata: Option<Arc<ConsumerGroupMetadata>> },
    /// The member leaves.
    Closed,
}

/// What a step wants done, beside the new life.
#[derive(Default)]
pub struct LifeEffects {
    /// To be taken over for this claim.
    pub takeover: Option<u64>,
    /// To be told to the member as revoked.
    pub is_revoked: bool,
    /// Not in hand any more, or refused: to be closed.
    pub dropped: Option<PartitionSlot>,
    /// Records read ahead that are useless now.
    pub forgotten: ReadAhead,
    /// Something else is to be read than before: the number that came with the input is used up.
    pub is_reread: bool,
}

impl LifeEffects {
    /// A slot leaves the member's hands.
    fn drop_slot(slot: PartitionSlot) -> Self {
        Self { forgotten: slot.read_ahead(), dropped: Some(slot), is_reread: true, ..Self::default() }
    }

    fn tell_revoked() -> Self {
        Self { is_revoked: true, ..Self::default() }
    }
}

impl PartitionLife {
    /// One step.
    pub fn step(self, input: LifeInput) -> (Self, LifeEffects) {
        match input {
            LifeInput::Assigned { claim } => self.give(claim),
            LifeInput::Revoked { too_late } => self.revoke(too_late),
            LifeInput::RevocationTold => self.tell(),
            LifeInput::NextAsked => match self {
                Self::LettingGo { slot, told: true } => (Self::Elsewhere, LifeEffects::drop_slot(slot)),
                other => (other, LifeEffects::default()),
            },
            LifeInput::TakeoverBegun => match self {
                Self::Given { claim, untold: false } => {
                    let effects = LifeEffects { takeover: Some(claim), ..LifeEffects::default() };
                    (Self::TakingOver { claim, given: Some(claim) }, effects)
                }
                other => (other, LifeEffects::default()),
            },
            LifeInput::TakeoverEnded { well } => (self.end_takeover(well), LifeEffects::default()),
            LifeInput::Installed { slot, reading } => self.install(slot, reading),
            LifeInput::Lost { generation, now } => self.lose(generation, now),
            LifeInput::Waited { now, wait } => match self {
                Self::Lost { claim, since } if now.saturating_sub(since) >= wait => {
                    (Self::Given { claim, untold: false }, LifeEffects::default())
                }
                other => (other, LifeEffects::default()),
            },
            LifeInput::Held { reading } => self.read_anew(|slot| slot.hold(reading)),
            LifeInput::Rewound { generation, reading, starts, metadata } => {
                if self.slot_of(generation).is_none() {
                    return (self, LifeEffects::default());
                }
                self.read_anew(|slot| slot.restart(reading, &starts, metadata))
            }
            LifeInput::Closed => match self {
                Self::InHand { slot } | Self::LettingGo { slot, .. } => {
                    (Self::Elsewhere, LifeEffects::drop_slot(slot))
                }
                _ => (Self::Elsewhere, LifeEffects::default()),
            },
        }
    }

    fn give(self, claim: u64) -> (Self, LifeEffects) {
        let life = match self {
            // As if it had been taken away too late before: what is in hand belongs to an assignment that is over.
            Self::InHand { slot } | Self::LettingGo { slot, .. } => {
                return (Self::Given { claim, untold: true }, LifeEffects::drop_slot(slot));
            }
            Self::TakingOver { claim: old, .. } => Self::TakingOver { claim: old, given: Some(claim) },
            Self::Given { untold, .. } => Self::Given { claim, untold },
            Self::TakenAway => Self::Given { claim, untold: true },
            Self::Elsewhere | Self::TakenOver { .. } | Self::Lost { .. } => {
                Self::Given { claim, untold: false }
            }
        };
        (life, LifeEffects::default())
    }

    fn revoke(self, too_late: bool) -> (Self, LifeEffects) {
        let life = match self {
            Self::InHand { slot } | Self::LettingGo { slot, .. } if too_late => {
                // Where it was told already it is told once more, which harms nobody.
                return (Self::TakenAway, LifeEffects::drop_slot(slot));
            }
            Self::InHand { slot } => Self::LettingGo { slot, told: false },
            Self::TakingOver { claim, .. } => Self::TakingOver { claim, given: None },
            Self::Given { untold: true, .. } => Self::TakenAway,
            Self::Elsewhere | Self::Given { .. } | Self::TakenOver { .. } | Self::Lost { .. } => {
                Self::Elsewhere
            }
            same @ (Self::LettingGo { .. } | Self::TakenAway) => same,
        };
        (life, LifeEffects::default())
    }

    fn tell(self) -> (Self, LifeEffects) {
        let life = match self {
            Self::LettingGo { slot, told: false } => Self::LettingGo { slot, told: true },
            Self::TakenAway => Self::Elsewhere,
            Self::Given { claim, untold: true } => Self::Given { claim, untold: false },
            other => return (other, LifeEffects::default()),
        };
        (life, LifeEffects::tell_revoked())
    }

    fn end_takeover(self, well: bool) -> Self {
        match self {
            Self::TakingOver { given: None, .. } => Self::Elsewhere,
            Self::TakingOver { claim, given: Some(given) } if well && given == claim => {
                Self::TakenOver { claim }
            }
            Self::TakingOver { given: Some(claim), .. } => Self::Given { claim, untold: false },
            other => other,
        }
    }

    fn install(self, mut slot: PartitionSlot, reading: u64) -> (Self, LifeEffects) {
        match self {
            Self::TakenOver { claim } if claim == slot.claim => {
                slot.reading = reading;
                (Self::InHand { slot }, LifeEffects { is_reread: true, ..LifeEffects::default() })
            }
            // Of an assignment that is over. Nothing was read of it.
            other => (other, LifeEffects { dropped: Some(slot), ..LifeEffects::default() }),
        }
    }

    fn lose(self, generation: u64, now: Duration) -> (Self, LifeEffects) {
        match self {
            Self::InHand { slot } if slot.generation == generation => {
                (Self::Lost { claim: slot.claim, since: now }, LifeEffects::drop_slot(slot))
            }
            Self::LettingGo { slot, told } if slot.generation == generation => {
                let life = if told { Self::Elsewhere } else { Self::TakenAway };
                (life, LifeEffects::drop_slot(slot))
            }
            other => (other, LifeEffects::default()),
        }
    }

    /// The partition in hand is read from another offset, or not at all; records read ahead are dropped.
    fn read_anew(mut self, change: impl FnOnce(&mut PartitionSlot)) -> (Self, LifeEffects) {
        let mut effects = LifeEffects::default();
        if let Some(slot) = self.slot_mut() {
            (effects.forgotten, effects.is_reread) = (slot.read_ahead(), true);
            change(slot);
        }
        (self, effects)
    }

    /// What of it is in hand.
    pub fn slot(&self) -> Option<&PartitionSlot> {
        match self {
            Self::InHand { slot } | Self::LettingGo { slot, .. } => Some(slot),
            _ => None,
        }
    }

    /// The same, to be read into and handed out of: what changes who has it goes through [`Self::step`].
    pub fn slot_mut(&mut self) -> Option<&mut PartitionSlot> {
        match self {
            Self::InHand { slot } | Self::LettingGo { slot, .. } => Some(slot),
            _ => None,
        }
    }

    /// What is in hand under this generation, which alone may commit.
    pub fn slot_of(&self, generation: u64) -> Option<&PartitionSlot> {
        self.slot().filter(|slot| slot.generation == generation)
    }

    /// Whether the member has it, or is about to: until then the group is not told that it was let go of.
    pub fn is_held(&self) -> bool {
        matches!(self, Self::TakingOver { .. } | Self::InHand { .. } | Self::LettingGo { .. })
    }

    /// Whether it is nothing to us, so that nothing need be kept of it.
    pub fn is_elsewhere(&self) -> bool {
        matches!(self, Self::Elsewhere)
    }

    /// Where it stands, in words.
    pub fn describe(&self) -> String {
        match self {
            Self::Elsewhere => "elsewhere".to_owned(),
            Self::Given { .. } => "given".to_owned(),
            Self::TakingOver { given: Some(_), .. } => "being taken over".to_owned(),
            Self::TakingOver { given: None, .. } => "being taken over though revoked".to_owned(),
            Self::TakenOver { .. } => "taken over".to_owned(),
            Self::InHand { slot } => format!("in hand ({})", slot.describe()),
            Self::LettingGo { slot, .. } => format!("being let go of ({})", slot.describe()),
            Self::TakenAway => "taken away".to_owned(),
            Self::Lost { .. } => "lost".to_owned(),
        }
    }

    /// How long it is still to be left alone, if it was lost.
    pub fn wait_left(&self, now: Duration, wait: Duration) -> Option<Duration> {
        match self {
            Self::Lost { since, .. } => Some(wait.saturating_sub(now.saturating_sub(*since))),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
