//! Law 4: stored, then announced, then acknowledged. Whoever hears of something finds it in the store.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use futures::{FutureExt as _, future::BoxFuture};
use model::{
    AudienceMatch, Crowd, DayRow, Fact, Mark, MarkAction, UtcMillis, entry::DayKey, fold::fold_rows,
};
use store::{CrowdStore as _, DayStore as _, StateKey, StateStore as _};
use topic::NewRecord;
use wire::{FeedbackAction, InboxItem, topics};

use crate::{
    catalogue_text::{CatalogueKnobs, knob_catalogue},
    gates::HouseGates,
    names::{HOUR_MS, person, subject},
    seeds::{LawDice, run_waiting_schedules},
    world::LawHouse,
};

#[test]
fn law_4_stored_then_announced() {
    run_waiting_schedules(5, every_announcement);
}

/// What every append is compared with.
struct AnnouncementChecker {
    store: Arc<store_embedded::EmbeddedStore>,
    now: UtcMillis,
    /// Events that were published so far; each is for everybody.
    made: Arc<AtomicUsize>,
    found: Arc<Mutex<Vec<String>>>,
    announced: Arc<AtomicUsize>,
}

/// One thing after the other is said, on a store that is often busy, with a crash now and then; before each
/// record that announces something, what it announces is looked for.
async fn every_announcement(mut dice: LawDice) {
    let mut world = LawHouse::new(knob_catalogue(&CatalogueKnobs::default())).await;
    let made = Arc::new(AtomicUsize::new(0));
    let looker = Arc::new(AnnouncementChecker {
        store: world.store.clone(),
        now: world.now(),
        made: made.clone(),
        found: Arc::default(),
        announced: Arc::default(),
    });
    for who in ["ann", "bob"] {
        world.add_person(who, &["author:1"]).await;
    }
    open_rough_house(&mut world, &looker, &mut dice).await;
    world.settle().await;
    for number in 0..10 {
        if dice.once_in_a_hundred(70) {
            made.fetch_add(1, Ordering::SeqCst);
            let at = world.now();
            world.publish_work("work.made", number, "author:1", at).await;
        } else if dice.once_in_a_hundred(50) {
            world.follow("ann", "author:2", number % 2 == 0).await;
        } else {
            let who = dice.pick(&["ann", "bob"]);
            let key = world.view(who).await.entries().last().map(|(key, _)| key.to_string());
            let what = dice.pick(&["tidings.read", "tidings.cleared"]);
            if let Some(key) = key {
                world.send_fact(what, serde_json::json!({"person": who, "entries": [key]})).await;
            }
        }
        if dice.once_in_a_hundred(30) {
            for _ in 0..dice.below(200) {
                tokio::task::yield_now().await;
            }
            world.crash().await;
            open_rough_house(&mut world, &looker, &mut dice).await;
        }
        world.settle().await;
        let found = looker.found.lock().unwrap();
        assert!(found.is_empty(), "{}", found.join("\n"));
    }
    assert!(looker.announced.load(Ordering::SeqCst) >= 2 * made.load(Ordering::SeqCst));
    // Acknowledged only after that: every offset is committed, and everybody is told everything.
    world.pass_time(30 * HOUR_MS).await;
    assert_eq!(world.view("bob").await.len(), made.load(Ordering::SeqCst));
}

async fn open_rough_house(world: &mut LawHouse, looker: &Arc<AnnouncementChecker>, dice: &mut LawDice) {
    let mut engines = world.engines();
    let seed = dice.next();
    let roughness = store::rough_store::StoreRoughness {
        busy_before_percent: 5,
        busy_after_percent: 5,
        ..store::rough_store::StoreRoughness::from_seed(seed)
    };
    engines.store = Arc::new(store::rough_store::RoughStore::new(engines.store, roughness));
    let looker = looker.clone();
    let spy = move |records: Vec<NewRecord>| -> BoxFuture<'static, ()> {
        let looker = looker.clone();
        async move { looker.check_records(records).await }.boxed()
    };
    let gates = HouseGates::with_spy(Arc::new(spy));
    world.start(gates.around(engines)).await;
}

impl AnnouncementChecker {
    async fn check_records(&self, records: Vec<NewRecord>) {
        for record in records {
            let value = record.value.unwrap_or_default();
            let found = match &*record.topic {
                topics::EVENTS => self.check_event(&value).await,
                topics::INBOX => self.check_inbox(&value).await,
                topics::PENDING => self.check_pending(&value).await,
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

    async fn check_event(&self, value: &[u8]) -> Result<(), String> {
        let event = wire::event::decode(value).unwrap();
        let key = StateKey::Subject(event.tenant, event.subject);
        let state = self.store.states(&[key]).await.unwrap().remove(0);
        for (name, cell) in &event.state.cells {
            let stored = state.cells.get(name).map_or(i64::MIN, |stored| stored.version);
            (stored >= cell.version).then_some(()).ok_or(format!("{name} of version {}", cell.version))?;
        }
        Ok(())
    }

    async fn check_inbox(&self, value: &[u8]) -> Result<(), String> {
        match wire::inbox::decode(value).unwrap() {
            InboxItem::Fact(Fact::Follow(follow)) => {
                let (of, who) = (follow.tenant.clone(), follow.person.clone());
                let crowd = Crowd::Followers(follow.target.clone());
                let stored = self.store.belongs(&[(of, who, crowd)]).await.unwrap();
                (stored == [follow.on]).then_some(()).ok_or(format!("{follow:?}"))
            }
            InboxItem::Fact(Fact::Profile { tenant, person, state }) => {
                let stored = self.store.states(&[StateKey::Person(tenant, person)]).await.unwrap().remove(0);
                let has = |(name, cell): (_, &model::ValueCell)| {
                    stored.cells.get(name).is_some_and(|stored| stored.version >= cell.version)
                };
                state.cells.iter().all(has).then_some(()).ok_or(format!("{state:?}"))
            }
            InboxItem::Feedback(feedback) => {
                let what = if feedback.what == FeedbackAction::Read {
                    MarkAction::Read
                } else {
                    MarkAction::Cleared
                };
                let mark = Mark::new(None, what, feedback.keys.clone(), feedback.at);
                let day =
                    DayKey { tenant: feedback.tenant, person: feedback.person, day: feedback.keys[0].day() };
                let rows = self.store.read(&[day], self.now).await.unwrap().remove(0);
                rows.contains(&DayRow::Mark(mark.clone())).then_some(()).ok_or(format!("{mark:?}"))
            }
            InboxItem::Delivery(_)
            | InboxItem::ByHand { .. }
            | InboxItem::Seen { .. }
            | InboxItem::Erased { .. } => Ok(()),
        }
    }

    /// Everything that was made is for everybody, one after the other: so all of it is there by now.
    async fn check_pending(&self, value: &[u8]) -> Result<(), String> {
        let pending = wire::pending::decode(value).unwrap();
        for announcement in pending.announcements {
            self.announced.fetch_add(1, Ordering::SeqCst);
            let key =
                DayKey { tenant: pending.tenant.clone(), person: announcement.person, day: announcement.day };
            let rows = self.store.read(std::slice::from_ref(&key), self.now).await.unwrap().remove(0);
            let view = fold_rows(&rows);
            let made = self.made.load(Ordering::SeqCst);
            let follows = AudienceMatch::Follows(subject("author:1"));
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
