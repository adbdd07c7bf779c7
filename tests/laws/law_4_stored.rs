//! Law 4: stored, then announced, then acknowledged. Whoever hears of something finds it in the store.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use futures::{FutureExt as _, future::BoxFuture};
use model::{Because, Crowd, Fact, Mark, Millis, Row, What, entry::DayKey, fold::fold};
use store::{Crowds as _, Days as _, StateKey, States as _};
use topic::NewRecord;
use wire::{Did, Inbox, topics};

use crate::{
    gates::Gates,
    names::{HOUR_MS, person, subject},
    seeds::{Dice, waiting_schedules},
    texts::{Knobs, catalogue},
    world::World,
};

#[test]
fn law_4_stored_then_announced() {
    waiting_schedules(5, every_announcement);
}

/// What every append is compared with.
struct Looker {
    store: Arc<store::embedded::Embedded>,
    now: Millis,
    /// Events that were published so far; each is for everybody.
    made: Arc<AtomicUsize>,
    found: Arc<Mutex<Vec<String>>>,
    announced: Arc<AtomicUsize>,
}

/// One thing after the other is said, on a store that is often busy, with a crash now and then; before each
/// record that announces something, what it announces is looked for.
async fn every_announcement(mut dice: Dice) {
    let mut world = World::new(catalogue(&Knobs::default())).await;
    let made = Arc::new(AtomicUsize::new(0));
    let looker = Arc::new(Looker {
        store: world.store.clone(),
        now: world.now(),
        made: made.clone(),
        found: Arc::default(),
        announced: Arc::default(),
    });
    for who in ["ann", "bob"] {
        world.person(who, &["author:1"]).await;
    }
    open(&mut world, &looker, &mut dice).await;
    world.settle().await;
    for number in 0..10 {
        if dice.once_in_a_hundred(70) {
            made.fetch_add(1, Ordering::SeqCst);
            let at = world.now();
            world.make("work.made", number, "author:1", at).await;
        } else if dice.once_in_a_hundred(50) {
            world.follow("ann", "author:2", number % 2 == 0).await;
        } else {
            let who = dice.of(&["ann", "bob"]);
            let key = world.view(who).await.entries().last().map(|(key, _)| key.to_string());
            let what = dice.of(&["tidings.read", "tidings.cleared"]);
            if let Some(key) = key {
                world.fact(what, serde_json::json!({"person": who, "entries": [key]})).await;
            }
        }
        if dice.once_in_a_hundred(30) {
            for _ in 0..dice.below(200) {
                tokio::task::yield_now().await;
            }
            world.crash().await;
            open(&mut world, &looker, &mut dice).await;
        }
        world.settle().await;
        let found = looker.found.lock().unwrap();
        assert!(found.is_empty(), "{}", found.join("\n"));
    }
    assert!(looker.announced.load(Ordering::SeqCst) >= 2 * made.load(Ordering::SeqCst));
    // Acknowledged only after that: every offset is committed, and everybody is told everything.
    world.pass(30 * HOUR_MS).await;
    assert_eq!(world.view("bob").await.len(), made.load(Ordering::SeqCst));
}

async fn open(world: &mut World, looker: &Arc<Looker>, dice: &mut Dice) {
    let mut engines = world.engines();
    let seed = dice.next();
    let roughness = store::rough::Roughness {
        busy_before_percent: 5,
        busy_after_percent: 5,
        ..store::rough::Roughness::seeded(seed)
    };
    engines.store = Arc::new(store::rough::Rough::new(engines.store, roughness));
    let looker = looker.clone();
    let spy = move |records: Vec<NewRecord>| -> BoxFuture<'static, ()> {
        let looker = looker.clone();
        async move { looker.look(records).await }.boxed()
    };
    let gates = Gates::watched(Arc::new(spy));
    world.start(gates.around(engines)).await;
}

impl Looker {
    async fn look(&self, records: Vec<NewRecord>) {
        for record in records {
            let value = record.value.unwrap_or_default();
            let found = match &*record.topic {
                topics::EVENTS => self.event(&value).await,
                topics::INBOX => self.inbox(&value).await,
                topics::PENDING => self.pending(&value).await,
                _ => Ok(()),
            };
            if let Err(missing) = found {
                self.found
                    .lock()
                    .unwrap()
                    .push(format!("announced on {} and not stored: {missing}", record.topic));
            }
        }
    }

    async fn event(&self, value: &[u8]) -> Result<(), String> {
        let event = wire::event::decode(value).unwrap();
        let key = StateKey::Subject(event.tenant, event.subject);
        let state = self.store.states(&[key]).await.unwrap().remove(0);
        for (name, cell) in &event.state.cells {
            let stored = state.cells.get(name).map_or(i64::MIN, |stored| stored.version);
            (stored >= cell.version).then_some(()).ok_or(format!("{name} of version {}", cell.version))?;
        }
        Ok(())
    }

    async fn inbox(&self, value: &[u8]) -> Result<(), String> {
        match wire::inbox::decode(value).unwrap() {
            Inbox::Fact(Fact::Follow(follow)) => {
                let (of, who) = (follow.tenant.clone(), follow.person.clone());
                let crowd = Crowd::Followers(follow.target.clone());
                let stored = self.store.belongs(&[(of, who, crowd)]).await.unwrap();
                (stored == [follow.on]).then_some(()).ok_or(format!("{follow:?}"))
            }
            Inbox::Fact(Fact::Profile { tenant, person, state }) => {
                let stored = self.store.states(&[StateKey::Person(tenant, person)]).await.unwrap().remove(0);
                let has = |(name, cell): (_, &model::Cell)| {
                    stored.cells.get(name).is_some_and(|stored| stored.version >= cell.version)
                };
                state.cells.iter().all(has).then_some(()).ok_or(format!("{state:?}"))
            }
            Inbox::Feedback(feedback) => {
                let what = if feedback.what == Did::Read { What::Read } else { What::Cleared };
                let mark = Mark::new(None, what, feedback.keys.clone(), feedback.at);
                let day =
                    DayKey { tenant: feedback.tenant, person: feedback.person, day: feedback.keys[0].day() };
                let rows = self.store.read(&[day], self.now).await.unwrap().remove(0);
                rows.contains(&Row::Mark(mark.clone())).then_some(()).ok_or(format!("{mark:?}"))
            }
            Inbox::Delivery(_) | Inbox::ByHand { .. } | Inbox::Seen { .. } | Inbox::Erased { .. } => Ok(()),
        }
    }

    /// Everything that was made is for everybody, one after the other: so all of it is there by now.
    async fn pending(&self, value: &[u8]) -> Result<(), String> {
        let pending = wire::pending::decode(value).unwrap();
        for announcement in pending.announcements {
            self.announced.fetch_add(1, Ordering::SeqCst);
            let key =
                DayKey { tenant: pending.tenant.clone(), person: announcement.person, day: announcement.day };
            let rows = self.store.read(std::slice::from_ref(&key), self.now).await.unwrap().remove(0);
            let view = fold(&rows);
            let made = self.made.load(Ordering::SeqCst);
            let follows = Because::Follows(subject("author:1"));
            let ours = view.entries().filter(|(_, entry)| entry.reasons.iter().any(|r| r.because == follows));
            let stored = ours.count();
            let who = person(key.person.as_str());
            (stored == made)
                .then_some(())
                .ok_or(format!("{stored} of {made} entries of {who} on {}", key.day))?;
        }
        Ok(())
    }
}
