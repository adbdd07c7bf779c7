//! Law 6: a turn is one commit. Whatever happens between two effects (busy engines, aborted and unknown turns,
//! owners replaced, crashes), every entry is told in exactly one mail or has a fate, nothing is stuck, and
//! what is said again tells nothing again.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use house::HouseEngines;
use model::{Fate, UtcMillis};
use topic::rough_topics::RoughTopicsOdds;

use crate::{
    catalogue_text::{CatalogueKnobs, knob_catalogue},
    gates::HouseGates,
    law_6_owner::replace_owner,
    names::HOUR_MS,
    seeds::{LawDice, run_waiting_schedules},
    world::LawHouse,
};

#[test]
fn law_6_a_turn_is_one_commit() {
    let happened = AtomicU64::new(0);
    run_waiting_schedules(5, |dice| async {
        happened.fetch_add(TurnSchedule::new(dice).await.run().await, Ordering::Relaxed);
    });
    assert!(happened.into_inner() > 0, "the engines were as smooth as silk, which proves nothing");
    run_waiting_schedules(4, replace_owner);
    run_waiting_schedules(2, some_break);
}

const PERSONS: [&str; 3] = ["ann", "bob", "cat"];
const DAYS: i64 = 3;
/// Where it is worst to die: a mail has left, and nobody has written that down.
const SENT: &str = "after the hand-over";

struct TurnSchedule {
    dice: LawDice,
    world: LawHouse,
    made: usize,
    /// Works that may have been withdrawn before they were told.
    withdrawn: BTreeSet<usize>,
    rough: Vec<topic::rough_topics::RoughTopics>,
    /// Of this life.
    gates: HouseGates,
    lives: u64,
}

impl TurnSchedule {
    async fn new(mut dice: LawDice) -> Self {
        let once_per = dice.pick(&["event", "mail", "subject"]);
        let knobs = CatalogueKnobs { most: 2 + dice.below(4), once_per, ..CatalogueKnobs::default() };
        let mut world = LawHouse::new(knob_catalogue(&knobs)).await;
        for who in PERSONS {
            world.add_person(who, &["author:1"]).await;
        }
        world.start(world.engines()).await;
        world.settle().await;
        world.crash().await;
        let (made, withdrawn, rough, lives) = (0, BTreeSet::new(), Vec::new(), 0);
        let mut schedule = Self { dice, world, made, withdrawn, rough, gates: HouseGates::default(), lives };
        schedule.open().await;
        schedule
    }

    /// The next life, on engines that are as unpleasant as they may be.
    async fn open(&mut self) {
        self.lives += 1;
        let seed = self.dice.next();
        let HouseEngines { topics, store, courier, live, schemas } = self.world.engines();
        let topics = topic::rough_topics::RoughTopics::new(topics, RoughTopicsOdds::ROUGH, seed);
        self.rough.push(topics.clone());
        let roughness = store::rough_store::StoreRoughness {
            busy_before_percent: 4,
            busy_after_percent: 4,
            ..store::rough_store::StoreRoughness::from_seed(seed)
        };
        let store = Arc::new(store::rough_store::RoughStore::new(store, roughness));
        let engines = HouseEngines { topics: Arc::new(topics), store, courier, live, schemas };
        self.gates = HouseGates::default();
        self.world.start(self.gates.around(engines)).await;
    }

    /// Runs, and says how often something happened to it.
    async fn run(mut self) -> u64 {
        let end = self.world.now().plus(DAYS * 24 * HOUR_MS);
        while self.world.now() < end {
            let dies = self.dice.once_in_a_hundred(35);
            let after_a_mail = dies && self.dice.once_in_a_hundred(60);
            if after_a_mail {
                self.gates.close(SENT);
            }
            for _ in 0..self.dice.below(4) {
                self.draw_happening().await;
            }
            if dies {
                // In the middle of whatever is done by then.
                let patience = if after_a_mail { 4_000 } else { self.dice.below(400) };
                for _ in 0..patience {
                    if self.gates.is_reached(SENT) {
                        break;
                    }
                    tokio::task::yield_now().await;
                }
                self.world.crash().await;
                self.open().await;
            } else if self.dice.once_in_a_hundred(70) {
                self.world.settle().await;
            }
            let next = self.world.clock.next_wake().unwrap_or(i64::MAX);
            let ms = self.dice.ms(HOUR_MS / 2, 8 * HOUR_MS);
            // Often to the very instant at which something is due.
            let ms = if self.dice.once_in_a_hundred(50) {
                ms.min(next.saturating_sub(self.world.clock.now()))
            } else {
                ms
            };
            self.world.clock.advance(ms.max(1));
        }
        self.world.crash().await;
        let engines = self.world.engines();
        self.world.start(engines).await;
        self.world.pass_time(14 * 24 * HOUR_MS).await;
        self.check_books().await;
        self.repeat_everything().await;
        self.rough.iter().map(|rough| rough.happened_counts().values().sum::<u64>()).sum()
    }

    async fn draw_happening(&mut self) {
        let number = self.made;
        match self.dice.below(9) {
            8 => {
                let (who, plan) = (self.dice.pick(&PERSONS), self.dice.pick(&["morning", "evening"]));
                self.world.release(who, plan).await;
            }
            0..6 => {
                let late = self.dice.ms(0, 30 * HOUR_MS);
                let late = if self.dice.once_in_a_hundred(25) { late } else { 0 };
                let at = self.world.now().plus(-late);
                let what = self.dice.pick(&["work.made", "work.made", "work.shown"]);
                self.world.publish_work(what, number, "author:1", at).await;
                self.made += 1;
            }
            6 if number > 0 => {
                let number = self.dice.below(number);
                self.withdrawn.insert(number);
                self.world.withdraw(number).await;
            }
            _ => {
                // Read on some other screen.
                let who = self.dice.pick(&PERSONS);
                let view = self.world.view(who).await;
                let Some((key, _)) = view.entries().last() else { return };
                let data = serde_json::json!({"person": who, "entries": [key.to_string()]});
                self.world.send_fact("tidings.read", data).await;
            }
        }
    }

    /// The oracle: mails in the outbox against fates in the days.
    async fn check_books(&self) {
        let world = &self.world;
        let accepted = world.outbox.read_acceptances().await.unwrap();
        let ids: BTreeSet<&str> = accepted.iter().map(|accepted| accepted.message_id.as_str()).collect();
        assert_eq!(ids.len(), accepted.len(), "a mail was handed over twice: {accepted:?}");
        for who in PERSONS {
            let (fates, told) = (world.fates(who).await, world.told_titles(who).await);
            for number in 0..self.made {
                let title = format!("T{number}");
                let (fate, times) = (fates.get(&title), told.get(&title).copied().unwrap_or(0));
                match fate {
                    Some(Fate::Told { .. }) => assert_eq!(times, 1, "{title} counts as told to {who}"),
                    Some(Fate::Read | Fate::Cleared) => {
                        assert_eq!(times, 0, "{title} was read by {who} before");
                    }
                    Some(Fate::Ended(why)) => {
                        assert_eq!(times, 0, "{title} ended for {who}: {}", why.text());
                        assert!(self.withdrawn.contains(&number), "{title} ended for {who}: {}", why.text());
                    }
                    Some(Fate::Waiting { .. } | Fate::PutOff) => panic!("{title} still waits for {who}"),
                    None => panic!("{title} never came to {who}"),
                }
            }
        }
        for stage in world.house().stages().await.unwrap() {
            assert_eq!(stage.lag, 0, "{stage:?}");
        }
    }

    /// Everything is said again, and nobody hears of it.
    async fn repeat_everything(&self) {
        let before = self.world.mails().await;
        self.world.replay().await;
        self.world.pass_time(2 * 24 * HOUR_MS).await;
        assert_eq!(self.world.mails().await, before, "what was said again was told again");
        let now: UtcMillis = self.world.now();
        assert!(self.world.clock.next_wake().is_none_or(|next| next > now.0), "somebody sleeps beyond {now}");
    }
}

/// Deliveries that break hold up nobody else, and are told when they are tried again.
async fn some_break(mut dice: LawDice) {
    let mut world = LawHouse::new(knob_catalogue(&CatalogueKnobs::default())).await;
    let gates = HouseGates::default();
    world.start(gates.around(world.engines())).await;
    world.add_followed_work(&PERSONS).await;
    gates.break_deliveries(1 + dice.below(2 * PERSONS.len()));
    world.pass_time(49 * HOUR_MS).await;
    for who in PERSONS {
        assert_eq!(
            world.told_titles(who).await.into_iter().collect::<Vec<_>>(),
            [("T0".to_owned(), 1)],
            "{who}"
        );
    }
}
