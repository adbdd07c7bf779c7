//! Law 7: the journal decides a send. Whoever finds a Ready again (after a crash at any place, from somebody who
//! was thought dead, or because it lies in the log twice) sends it only if nobody did; and where nobody can
//! tell, its entries come back once, or it is sent once more under the same id, as its kind has it.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use model::{EndReason, Fate};
use runtime::Clock;
use sender::config::RETRY_MS_FIRST;
use store::{JournalOutcome, JournalStore as _, rough_store::StoreRoughness};
use topic::Topics as _;
use wire::topics;

use crate::{
    catalogue_text::{CatalogueKnobs, knob_catalogue},
    gates::HouseGates,
    names::{HOUR_MS, tenant},
    seeds::{LawDice, run_waiting_schedules},
    world::{CLAIM_MS, LawHouse},
};

#[test]
fn law_7_the_journal_decides() {
    run_waiting_schedules(14, |dice| find_readys_again(dice, None));
    run_waiting_schedules(3, |dice| find_readys_again(dice, Some("before the hand-over")));
}

#[test]
fn law_7_clocks_may_be_minutes_apart() {
    run_waiting_schedules(4, minutes_apart);
}

/// Every place between two effects of a send.
const PLACES: [&str; 6] = [
    "before the hand-over",
    "before the claim",
    "after the claim",
    "after the hand-over",
    "before the record",
    "after the record",
];
const PERSONS: [&str; 3] = ["ann", "bob", "cat"];
/// A member that does not call for so long counts as gone.
const SESSION: Duration = Duration::from_millis(20);

struct SendSchedule {
    dice: LawDice,
    world: LawHouse,
    gates: HouseGates,
    many: usize,
    /// Whether what may have been sent is sent once more.
    again: bool,
}

/// A sender stands still at some place in a send. `older`: where it is to be overtaken by one that reaches
/// nobody at first, so that this one goes on with a later attempt while the older one is still in hand.
async fn find_readys_again(mut dice: LawDice, older: Option<&'static str>) {
    let again = dice.once_in_a_hundred(50);
    let knobs = CatalogueKnobs {
        most: 20,
        unsure: if again { "again" } else { "later" },
        ..CatalogueKnobs::default()
    };
    let mut world = LawHouse::with_session(knob_catalogue(&knobs), SESSION).await;
    let gates = HouseGates::with_courier(older.is_none() && dice.once_in_a_hundred(30));
    gates.defer_times(if older.is_none() && dice.once_in_a_hundred(30) { 1 + dice.below(3) } else { 0 });
    world.start(gates.around(world.engines())).await;
    for who in PERSONS {
        world.add_person(who, &["author:1"]).await;
    }
    // Whoever is told must follow first, and changes come in by several ways.
    world.settle().await;
    let many = 1 + dice.below(3);
    let at = world.now();
    for number in 0..many {
        world.publish_work("work.made", number, "author:1", at).await;
    }
    world.settle().await;
    let mut schedule = SendSchedule { dice, world, gates, many, again };
    let place = older.unwrap_or_else(|| schedule.dice.pick(&PLACES));
    schedule.gates.close(place);
    schedule.world.clock.advance_to(schedule.world.next_morning().0);
    schedule.gates.wait_reached(place).await;
    if older.is_none() && schedule.dice.once_in_a_hundred(50) {
        schedule.kill_sender(place).await;
    } else {
        schedule.overtake_sender(place, if older.is_some() { PERSONS.len() } else { 0 }).await;
    }
    schedule.check_books(place).await;
}

/// A sender has claimed and stands still; another, whose clock is minutes ahead, finds the claim and leaves it alone for as
/// long as a claim holds. The courier could tell neither of them what became of it.
async fn minutes_apart(mut dice: LawDice) {
    let place = dice.pick(&["after the claim", "after the hand-over", "before the record"]);
    let mut world = LawHouse::with_session(
        knob_catalogue(&CatalogueKnobs { most: 20, ..CatalogueKnobs::default() }),
        SESSION,
    )
    .await;
    let gates = HouseGates::with_courier(true);
    world.start(gates.around(world.engines())).await;
    world.add_followed_work(&PERSONS).await;
    gates.close(place);
    world.clock.advance_to(world.next_morning().0);
    gates.wait_reached(place).await;
    let sleeper = world.leave();
    world.clock = Clock::still(world.clock.now() + dice.ms(CLAIM_MS + 1, 30 * CLAIM_MS));
    let engines = world.engines();
    world.start(HouseGates::with_courier(true).around(engines)).await;
    world.wait_caught_up(&[]).await;
    gates.open(place);
    gates.wait_idle().await;
    for _ in 0..3_000 {
        tokio::task::yield_now().await;
    }
    world.wait_caught_up(&[]).await;
    sleeper.abandon().await;
    world.pass_time(3 * 24 * HOUR_MS).await;
    for who in PERSONS {
        assert_eq!(
            count_recorded(&world, who, JournalOutcome::Unknown).await,
            0,
            "{place}: a claim of {who} was taken as over"
        );
        assert_eq!(world.told_titles(who).await.get("T0"), Some(&1), "{place}: {who}");
    }
}

impl SendSchedule {
    /// The sender dies where it stands; the next finds the Readys again, at once or after the claim's deadline.
    async fn kill_sender(&mut self, place: &'static str) {
        self.world.crash().await;
        self.gates.open(place);
        self.advance_clock();
        let engines = self.world.engines();
        self.world.start(self.gates.around(engines)).await;
    }

    /// The sender stands still and another takes over; then it wakes up and goes on with what it had in hand.
    async fn overtake_sender(&mut self, place: &'static str, turned_away: usize) {
        self.advance_clock();
        let sleeper = self.world.leave();
        // The other one has no closed gates and a courier of the same sort, and perhaps a store that is busy.
        let mut engines = self.world.engines();
        if turned_away == 0 && self.dice.once_in_a_hundred(50) {
            let seed = self.dice.next();
            let roughness = StoreRoughness {
                busy_before_percent: 8,
                busy_after_percent: 4,
                ..StoreRoughness::from_seed(seed)
            };
            engines.store = Arc::new(store::rough_store::RoughStore::new(engines.store, roughness));
        }
        let open = HouseGates::with_courier(self.gates.blind);
        open.turn_away(turned_away);
        self.world.start(open.around(engines)).await;
        if turned_away == 0 {
            for _ in 0..3 {
                self.world.wait_caught_up(&[]).await;
                self.advance_clock();
            }
            self.gates.open(place);
        } else {
            self.await_all_sent().await;
            self.gates.open(place);
            self.gates.wait_idle().await;
        }
        for _ in 0..self.dice.below(3_000) {
            tokio::task::yield_now().await;
        }
        self.world.wait_caught_up(&[]).await;
        sleeper.abandon().await;
    }

    /// The one that has taken over reaches everybody in the end.
    async fn await_all_sent(&self) {
        for _ in 0..1_000 {
            self.world.wait_caught_up(&[]).await;
            if self.world.outbox.read_acceptances().await.unwrap().len() >= PERSONS.len() {
                return;
            }
            // Later than anything that could not be sent waits at first.
            self.world.clock.advance(CLAIM_MS.max(2 * RETRY_MS_FIRST));
            // What falls due now is done by two houses, so neither can say when there is no more of it.
            runtime::retry::pause_before_retry(1, 0).await;
        }
        panic!("whoever was turned away is never reached");
    }

    fn advance_clock(&mut self) {
        let ms = self.dice.pick(&[0, CLAIM_MS / 2, CLAIM_MS, CLAIM_MS + 1, HOUR_MS]);
        self.world.clock.advance(ms);
    }

    /// Everything comes to its end, the log repeats every Ready there was, and the books must be right.
    async fn check_books(mut self, place: &'static str) {
        let world = &mut self.world;
        world.pass_time(3 * 24 * HOUR_MS).await;
        let before = world.mails().await;
        let readys = world.records(topics::READY).await;
        let again = readys.iter().map(|record| topic::NewRecord {
            topic: topics::READY.into(),
            partition: record.partition,
            key: record.key.clone(),
            value: record.value.clone(),
            headers: Vec::new(),
        });
        world.topics.append(again.collect()).await.unwrap();
        world.pass_time(2 * 24 * HOUR_MS).await;
        assert_eq!(world.mails().await, before, "{place}: a Ready that was read again was sent again");
        let accepted = world.outbox.read_acceptances().await.unwrap();
        let ids: BTreeSet<&str> = accepted.iter().map(|one| one.message_id.as_str()).collect();
        let mut unsure = 0;
        for who in PERSONS {
            unsure += count_recorded(world, who, JournalOutcome::Unsure).await;
        }
        assert!(unsure == 0 || self.again && self.gates.blind, "{place}: {unsure} were sent once more");
        assert!(accepted.len() - ids.len() <= unsure, "{place}: handed over twice: {accepted:?}");
        for who in PERSONS {
            let unknown = count_recorded(world, who, JournalOutcome::Unknown).await;
            let unsure = count_recorded(world, who, JournalOutcome::Unsure).await;
            // What came back once does not come back again.
            let most = if self.gates.blind { 2 } else { 0 };
            assert!(unknown <= most, "{place}: {unknown} unknown outcomes for {who}");
            let (told, fates) = (world.told_titles(who).await, world.fates(who).await);
            for number in 0..self.many {
                let title = format!("T{number}");
                let times = told.get(&title).copied().unwrap_or(0);
                let fate = fates[&title];
                // Where nobody could tell it may have been told twice, and then it ends as such.
                let ended = unknown > 0 && fate == Fate::Ended(EndReason::MaybeSent);
                let least = usize::from(!ended);
                assert!(
                    (least..=1 + unknown + unsure).contains(&times),
                    "{place}: {title} was told to {who} {times} times"
                );
                assert!(ended || matches!(fate, Fate::Told { .. }), "{place}: {title} of {who} is {fate}");
            }
        }
    }
}

/// Readys of a person of which the journal says this.
async fn count_recorded(world: &LawHouse, who: &str, what: JournalOutcome) -> usize {
    let mut ids = BTreeSet::new();
    for record in world.records(topics::READY).await {
        let ready = wire::ready::decode(record.value.as_deref().unwrap()).unwrap();
        if ready.person.as_str() == who {
            ids.insert(ready.id);
        }
    }
    let ids: Vec<_> = ids.into_iter().collect();
    let journal = world.store.read_journal(&tenant("main"), &ids).await.unwrap();
    let has = |found: &&store::JournalRows| found.records.iter().any(|record| record.what == what);
    journal.iter().filter(has).count()
}
