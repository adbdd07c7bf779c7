//! Random lives, beside a plain account of what each invariant of [`PartitionLife`] promises.

use std::{collections::BTreeSet, time::Duration};

use proptest::{collection::vec, prelude::*};
use topic::port::TopicRecord;

use super::{LifeEffects, LifeInput, PartitionLife};
use crate::member::partition_slot::PartitionSlot;

/// How long what was lost is left alone.
const WAIT: Duration = Duration::from_secs(3);

/// What the group, the member and the calls on threads may do next, in any order.
#[derive(Clone, Copy, Debug)]
enum LifeAction {
    Assign,
    Revoke {
        too_late: bool,
    },
    Tell,
    AskNext,
    BeginTakeover,
    EndTakeover {
        well: bool,
    },
    Install,
    /// A commit of what is in hand now, or of what was before, says that it is lost.
    Lose {
        stale: bool,
    },
    Wait {
        secs: u64,
    },
    Hold,
    Rewind {
        stale: bool,
    },
    Read,
    HandOut,
}

/// A life, and what must be true of it.
#[derive(Default)]
struct PartitionStory {
    life: PartitionLife,
    now: Duration,
    claims: u64,
    /// Generations so far; the last is the newest.
    generations: u64,
    reads: u64,
    /// The last word of the group.
    claim: Option<u64>,
    /// The call that takes over, then what it brought.
    call: Option<u64>,
    brought: Option<u64>,
    /// The generation that may commit.
    holder: Option<u64>,
    /// The holder is to let go; and whether the member was told.
    is_leaving: bool,
    was_told: bool,
    /// There is something to be told as revoked.
    owes_word: bool,
    lost_at: Option<Duration>,
    is_held_back: bool,
    /// Slots that were made and not dropped.
    open: BTreeSet<u64>,
    /// Records read and neither handed out nor forgotten.
    ahead: usize,
}

impl PartitionStory {
    fn step(&mut self, input: LifeInput) -> LifeEffects {
        let (life, effects) = std::mem::take(&mut self.life).step(input);
        self.life = life;
        self.reads += u64::from(effects.is_reread);
        self.ahead -= effects.forgotten.records;
        if let Some(slot) = &effects.dropped {
            assert!(self.open.remove(&slot.generation), "a slot is dropped once");
        }
        effects
    }

    fn let_go(&mut self) {
        (self.holder, self.is_leaving, self.was_told, self.is_held_back) = (None, false, false, false);
    }

    /// A generation that holds the partition, or one from before.
    fn generation(&self, stale: bool) -> u64 {
        let current = self.holder.unwrap_or(self.generations);
        if stale { current.saturating_sub(1) } else { current }
    }

    fn act(&mut self, action: LifeAction) {
        match action {
            LifeAction::Assign => {
                self.claims += 1;
                self.step(LifeInput::Assigned { claim: self.claims });
                self.owes_word |= self.holder.is_some();
                self.let_go();
                (self.claim, self.lost_at) = (Some(self.claims), None);
            }
            LifeAction::Revoke { too_late } => self.revoke(too_late),
            LifeAction::Tell => {
                let effects = self.step(LifeInput::RevocationTold);
                assert_eq!(effects.is_revoked, self.owes_word, "what was taken away is told");
                self.owes_word = false;
                self.was_told = self.is_leaving;
            }
            LifeAction::AskNext => {
                self.step(LifeInput::NextAsked);
                if self.was_told {
                    self.let_go();
                }
            }
            LifeAction::BeginTakeover => self.begin_takeover(),
            LifeAction::EndTakeover { well } => {
                let Some(claim) = self.call.take() else { return };
                self.step(LifeInput::TakeoverEnded { well });
                self.brought = well.then_some(claim);
            }
            LifeAction::Install => self.install(),
            LifeAction::Lose { stale } => {
                let generation = self.generation(stale);
                self.step(LifeInput::Lost { generation, now: self.now });
                if self.holder == Some(generation) {
                    self.lost_at = (!self.is_leaving).then_some(self.now);
                    self.let_go();
                }
            }
            LifeAction::Wait { secs } => {
                self.now += Duration::from_secs(secs);
                self.step(LifeInput::Waited { now: self.now, wait: WAIT });
                self.lost_at = self.lost_at.filter(|lost| self.now - *lost < WAIT);
            }
            LifeAction::Hold => {
                self.step(LifeInput::Held { reading: self.reads + 1 });
                self.is_held_back = self.holder.is_some();
            }
            LifeAction::Rewind { stale } => {
                let (generation, reading) = (self.generation(stale), self.reads + 1);
                let (starts, metadata) = (vec![0], None);
                let effects = self.step(LifeInput::Rewound { generation, reading, starts, metadata });
                assert_eq!(effects.is_reread, self.holder == Some(generation));
                self.is_held_back &= !effects.is_reread;
            }
            LifeAction::Read => {
                let Some(slot) = self.life.slot_mut() else { return };
                self.ahead += usize::from(slot.push(0, any_record()));
            }
            LifeAction::HandOut => {
                let Some(slot) = self.life.slot_mut() else { return };
                self.ahead -= slot.take_records(2).len();
            }
        }
    }

    fn revoke(&mut self, too_late: bool) {
        self.step(LifeInput::Revoked { too_late });
        if self.holder.is_some() {
            self.owes_word |= too_late || !self.is_leaving;
            self.is_leaving = true;
            if too_late {
                self.let_go();
            }
        }
        (self.claim, self.lost_at) = (None, None);
    }

    /// The member begins none while it has one under way, or has not yet taken what the last one brought.
    fn begin_takeover(&mut self) {
        if self.brought.is_some() {
            return;
        }
        let effects = self.step(LifeInput::TakeoverBegun);
        let may = self.holder.is_none() && self.call.is_none() && !self.owes_word && self.lost_at.is_none();
        assert_eq!(effects.takeover, self.claim.filter(|_| may), "what is given is taken over, in its time");
        self.call = self.call.or(effects.takeover);
    }

    fn install(&mut self) {
        let Some(claim) = self.brought.take() else { return };
        self.generations += 1;
        let (generation, reading) = (self.generations, self.reads + 1);
        self.open.insert(generation);
        let slot = PartitionSlot::new(claim, generation, &[0]);
        self.step(LifeInput::Installed { slot, reading });
        if self.claim == Some(claim) {
            self.holder = Some(generation);
        }
    }

    fn check(&self) {
        for generation in 0..=self.generations {
            let may_commit = self.life.slot_of(generation).is_some();
            assert_eq!(may_commit, self.holder == Some(generation), "generation {generation} commits");
        }
        assert_eq!(self.open, self.holder.into_iter().collect(), "what is not in hand is closed");
        let is_held = self.holder.is_some() || self.call.is_some();
        assert_eq!(self.life.is_held(), is_held, "the group is answered when all of it has ended");
        let slot = self.life.slot();
        assert_eq!(slot.is_some_and(|slot| slot.starts().is_none()), self.is_held_back, "is it held back");
        assert_eq!(slot.map_or(0, |slot| slot.read_ahead().records), self.ahead, "records are counted");
        let left = self.lost_at.map(|lost| WAIT - (self.now - lost));
        assert_eq!(self.life.wait_left(self.now, WAIT), left, "what was lost is left alone");
    }
}

fn any_record() -> TopicRecord {
    TopicRecord {
        topic: "lead".into(),
        partition: 0,
        offset: 0,
        appended: 0,
        key: vec![],
        value: None,
        headers: vec![],
    }
}

fn any_action() -> impl Strategy<Value = LifeAction> {
    // What brings a partition into hand comes often, so that most of what follows finds it there.
    prop_oneof![
        4 => Just(LifeAction::Assign),
        3 => any::<bool>().prop_map(|too_late| LifeAction::Revoke { too_late }),
        3 => Just(LifeAction::Tell),
        3 => Just(LifeAction::AskNext),
        8 => Just(LifeAction::BeginTakeover),
        8 => prop::bool::weighted(0.8).prop_map(|well| LifeAction::EndTakeover { well }),
        8 => Just(LifeAction::Install),
        2 => any::<bool>().prop_map(|stale| LifeAction::Lose { stale }),
        3 => (0_u64..4).prop_map(|secs| LifeAction::Wait { secs }),
        1 => Just(LifeAction::Hold),
        2 => any::<bool>().prop_map(|stale| LifeAction::Rewind { stale }),
        3 => Just(LifeAction::Read),
        2 => Just(LifeAction::HandOut),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn what_is_promised_of_a_life_holds_whatever_happens(actions in vec(any_action(), 1..80)) {
        let mut story = PartitionStory::default();
        for action in actions {
            story.act(action);
            story.check();
        }
        story.step(LifeInput::Closed);
        story.let_go();
        (story.call, story.lost_at, story.claim) = (None, None, None);
        story.check();
        // What a call brings after the end is refused.
        story.install();
        story.check();
    }
}
