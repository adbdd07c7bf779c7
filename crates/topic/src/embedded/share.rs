//! The assignment of partitions to members of a group. It is pure: it is given what happened and returns what follows.
//!
//! A partition passes through three hands: its *owner* works on it; an *heir* is who should have it; when
//! the owner has let go, the heir becomes the owner, and works on it once that was *announced*.

use std::{collections::BTreeMap, time::Duration};

use runtime::clock::SteadyStopwatch;

pub(super) type MemberId = u64;

struct MemberLiveness {
    /// Since it last called or was called back.
    since: SteadyStopwatch,
    /// Whether it waits inside a call right now.
    inside: bool,
    /// Whether it did not call for so long that it counts as gone.
    out: bool,
}

impl std::fmt::Debug for PartitionShare {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PartitionShare")
            .field("members", &self.members.len())
            .field("parts", &self.parts)
            .finish()
    }
}

#[derive(Clone, Debug, Default)]
struct PartitionOwnership {
    owner: Option<MemberId>,
    heir: Option<MemberId>,
    /// Whether the owner was told that it owns.
    announced: bool,
    /// Whether the owner was told to let go.
    told: bool,
    /// Counts the owners, so that one who lost it and got it back can tell.
    claim: u64,
}

impl PartitionOwnership {
    fn pass_to(&mut self, heir: Option<MemberId>) {
        self.owner = heir;
        self.heir = heir;
        self.announced = false;
        self.told = false;
        self.claim += 1;
    }
}

/// The members of a group and the partitions of its lead.
pub(super) struct PartitionShare {
    members: BTreeMap<MemberId, MemberLiveness>,
    parts: Vec<PartitionOwnership>,
    last: MemberId,
}

impl PartitionShare {
    pub fn new(partitions: usize) -> Self {
        Self { members: BTreeMap::new(), parts: vec![PartitionOwnership::default(); partitions], last: 0 }
    }

    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    pub fn is_alone(&self) -> bool {
        self.members.len() < 2
    }

    pub fn join(&mut self) -> MemberId {
        self.last += 1;
        let seen = MemberLiveness { since: SteadyStopwatch::start(), inside: false, out: false };
        self.members.insert(self.last, seen);
        self.divide_parts();
        self.last
    }

    pub fn leave(&mut self, me: MemberId) {
        self.members.remove(&me);
        self.divide_parts();
    }

    /// A member calls: it has let go of what it was told to, and it is here. Whether anything moved.
    pub fn enter(&mut self, me: MemberId) -> bool {
        let Some(seen) = self.members.get_mut(&me) else { return false };
        seen.since = SteadyStopwatch::start();
        seen.inside = true;
        let was_out = std::mem::replace(&mut seen.out, false);
        let mut moved = was_out;
        for part in self.parts.iter_mut().filter(|p| p.owner == Some(me) && p.told) {
            part.pass_to(part.heir);
            moved = true;
        }
        if was_out {
            self.divide_parts();
        }
        moved
    }

    pub fn touch(&mut self, me: MemberId) {
        if let Some(seen) = self.members.get_mut(&me) {
            seen.since = SteadyStopwatch::start();
        }
    }

    /// A member's call returns, or was dropped.
    pub fn exit(&mut self, me: MemberId) {
        if let Some(seen) = self.members.get_mut(&me) {
            seen.since = SteadyStopwatch::start();
            seen.inside = false;
        }
    }

    /// Whoever has not called for a session is out. Whether anybody was.
    pub fn expire(&mut self, session: Duration) -> bool {
        let mut any = false;
        for seen in self.members.values_mut() {
            if !seen.inside && !seen.out && seen.since.elapsed() >= session {
                seen.out = true;
                any = true;
            }
        }
        if any {
            self.divide_parts();
        }
        any
    }

    /// Partitions that became ours and of which we were not told.
    pub fn newly_owned(&self, me: MemberId) -> Vec<(u32, u64)> {
        self.parts_of(me).filter(|(_, part)| !part.announced).map(|(at, part)| (at, part.claim)).collect()
    }

    /// We are told that a partition is ours, unless it went elsewhere meanwhile.
    pub fn announce(&mut self, me: MemberId, partition: u32, claim: u64) -> bool {
        let Some(part) = self.part(partition) else { return false };
        let ours = part.owner == Some(me) && part.claim == claim;
        part.announced |= ours;
        ours
    }

    /// Partitions that we should let go of, and are told so now.
    pub fn revoke(&mut self, me: MemberId) -> Vec<u32> {
        let mut told = Vec::new();
        for (at, part) in (0..).zip(&mut self.parts) {
            if part.owner == Some(me) && part.announced && part.heir != Some(me) && !part.told {
                part.told = true;
                told.push(at);
            }
        }
        told
    }

    pub fn is_ours(&self, me: MemberId, partition: u32, claim: u64) -> bool {
        let part = usize::try_from(partition).ok().and_then(|at| self.parts.get(at));
        part.is_some_and(|part| part.owner == Some(me) && part.claim == claim)
    }

    /// The owner gives a partition back unasked; it is given out anew, to the same member most likely.
    pub fn release(&mut self, me: MemberId, partition: u32, claim: u64) {
        if let Some(part) = self.part(partition)
            && part.owner == Some(me)
            && part.claim == claim
        {
            part.pass_to(part.heir);
        }
    }

    fn part(&mut self, partition: u32) -> Option<&mut PartitionOwnership> {
        usize::try_from(partition).ok().and_then(|at| self.parts.get_mut(at))
    }

    fn parts_of(&self, me: MemberId) -> impl Iterator<Item = (u32, &PartitionOwnership)> {
        (0..).zip(&self.parts).filter(move |(_, part)| part.owner == Some(me))
    }

    /// Names the heirs: evenly, and whoever has a partition keeps it if the evenness allows.
    fn divide_parts(&mut self) {
        let present: Vec<MemberId> =
            self.members.iter().filter(|(_, seen)| !seen.out).map(|(id, _)| *id).collect();
        let mut room = self.quotas(&present);
        let mut homeless = Vec::new();
        for (at, part) in self.parts.iter_mut().enumerate() {
            let keeper = part.owner.and_then(|owner| room.get_mut(&owner)).filter(|room| **room > 0);
            if let Some(room) = keeper {
                *room -= 1;
                part.heir = part.owner;
            } else {
                homeless.push(at);
            }
        }
        for at in homeless {
            let heir = room.iter_mut().find(|(_, room)| **room > 0);
            let heir = heir.map(|(id, room)| {
                *room -= 1;
                *id
            });
            self.parts[at].heir = heir;
        }
        for part in &mut self.parts {
            // Who is gone, or does not know yet that it owns, has nothing to let go of.
            let works = part.announced && part.owner.is_some_and(|owner| present.contains(&owner));
            if part.owner != part.heir && !works {
                part.pass_to(part.heir);
            }
        }
    }

    /// How many partitions each may have; what does not divide evenly goes to those who have most.
    fn quotas(&self, present: &[MemberId]) -> BTreeMap<MemberId, usize> {
        let mut quotas = BTreeMap::new();
        if present.is_empty() {
            return quotas;
        }
        let (even, over) = (self.parts.len() / present.len(), self.parts.len() % present.len());
        let mut by_owned: Vec<(usize, MemberId)> =
            present.iter().map(|id| (self.parts_of(*id).count(), *id)).collect();
        by_owned.sort_unstable_by_key(|(owned, id)| (std::cmp::Reverse(*owned), *id));
        for (at, (_, id)) in by_owned.into_iter().enumerate() {
            quotas.insert(id, even + usize::from(at < over));
        }
        quotas
    }
}
