//! Law 16: what is urgent waits for nothing that is not. The sender stands still with digests that no server takes; an alarm
//! leaves all the same, and the digests leave when the server is back.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use courier::{Courier, CourierError, HandoverGate, HandoverOutcome, Message, decorator::CourierDecorator};
use house::HouseEngines;
use tokio::{sync::watch, time::timeout};
use wire::topics;

use crate::{
    catalogue_text::parse_catalogue,
    seeds::{LawDice, run_waiting_schedules},
    world::LawHouse,
};

const CATALOGUE: &str = "\
catalogue: laws
subjects:
  work: {title: text, author: ref author, public: flag}
  author: {name: text}
kinds:
  made: {on: work.made, to: {followers_of: author}, says: 'made {{ subject.title }}.', plans: [morning]}
  cried: {on: work.cried, to: {followers_of: author}, says: 'cried {{ subject.title }}.', plans: [alarm]}
plans:
  morning:
    channel: email
    close: {daily: '09:00', zone: person}
    look_back: 2d
    from: Laws <laws@example.com>
    headline: Works
    template: mail.mjml
    text: mail.txt
    sections: [{title: Works, kinds: [made], most: 9, order: oldest}]
  alarm:
    channel: email
    close: at_once
    urgent: true
    look_back: 2d
    from: Laws <laws@example.com>
    headline: Alarm
    template: mail.mjml
    text: mail.txt
    sections: [{title: Alarms, kinds: [cried], most: 9, order: oldest}]
";
const URGENT: &str = "Alarm";
const PERSONS: [&str; 5] = ["ann", "bob", "cat", "dan", "eve"];
/// Much longer than an alarm takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn law_16_urgent_waits_for_nothing_else() {
    run_waiting_schedules(6, hold_digests);
}

/// A courier that has every message wait that is not urgent, until it is opened.
#[derive(Debug)]
struct HoldingCourier {
    inner: Arc<dyn Courier>,
    open: watch::Receiver<bool>,
    waiting: Arc<AtomicUsize>,
}

#[async_trait]
impl CourierDecorator for HoldingCourier {
    fn inner(&self) -> &dyn Courier {
        &*self.inner
    }

    async fn hand(
        &self,
        message: &Message,
        gate: &dyn HandoverGate,
    ) -> Result<HandoverOutcome, CourierError> {
        if message.headline != URGENT {
            self.waiting.fetch_add(1, Ordering::SeqCst);
            drop(self.open.clone().wait_for(|open| *open).await);
        }
        self.inner.hand(message, gate).await
    }
}

async fn hold_digests(mut dice: LawDice) {
    let mut world = LawHouse::new(parse_catalogue(CATALOGUE)).await;
    world.config.sender.at_once_max = 1 + dice.below(PERSONS.len());
    let ((door, open), waiting) = (watch::channel(false), Arc::<AtomicUsize>::default());
    let engines = world.engines();
    let courier = Arc::new(HoldingCourier { inner: engines.courier.clone(), open, waiting: waiting.clone() });
    world.start(HouseEngines { courier, ..engines }).await;
    for who in PERSONS {
        world.add_person(who, &["author:1"]).await;
    }
    world.settle().await;
    let (made, cried) = (1 + dice.below(3), 1 + dice.below(3));
    for number in 0..made {
        world.publish_work("work.made", number, "author:1", world.now()).await;
    }
    world.settle().await;
    world.clock.advance_to(world.next_morning().0);
    await_count("a digest stands", 1, async || waiting.load(Ordering::SeqCst)).await;
    for number in made..made + cried {
        // Two windows of one plan do not open at the same instant.
        world.clock.advance(1_000);
        world.publish_work("work.cried", number, "author:1", world.now()).await;
        let alarms = PERSONS.len() * (number + 1 - made);
        await_count("the alarms leave", alarms, async || {
            world.mails().await.iter().map(|mail| mail.titles.len()).sum()
        })
        .await;
    }
    let told: usize = world.mails().await.iter().map(|mail| mail.titles.len()).sum();
    assert_eq!(told, PERSONS.len() * cried, "a digest left");
    door.send_replace(true);
    world.settle().await;
    for who in PERSONS {
        let told = world.told_titles(who).await;
        let times: Vec<_> = (0..made + cried).map(|number| told.get(&format!("T{number}"))).collect();
        assert!(times.iter().all(|times| *times == Some(&1)), "{who}: {told:?}");
    }
    let lanes = [(topics::READY_URGENT, cried), (topics::READY, 1)];
    for (lane, least) in lanes {
        assert!(world.records(lane).await.len() >= least, "hardly anything went by `{lane}`");
    }
}

/// Waits until so many are counted.
async fn await_count(what: &str, many: usize, count: impl AsyncFn() -> usize) {
    let counted = async {
        while count().await < many {
            tokio::task::yield_now().await;
        }
    };
    assert!(timeout(PATIENCE, counted).await.is_ok(), "not in {PATIENCE:?}: {what}");
}
