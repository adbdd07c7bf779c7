//! Law 1, of events: each is named by its source and id, and its time is the one with which it was first heard. However
//! often it is said again, by whatever way and with whatever time, it is one entry and is told once.

use std::collections::BTreeMap;

use model::{Millis, limits::DAY_MS};
use serde_json::json;

use crate::{
    names::HOUR_MS,
    seeds::{Dice, waiting_schedules},
    texts::{Knobs, catalogue},
    world::{World, title},
};

#[test]
fn law_1_an_event_is_named_by_source_and_id() {
    waiting_schedules(4, said_again);
}

/// A few events, each said several times: with times up to three days apart, with none, by any partition, and some of them
/// when they were told long ago; in between the house dies.
async fn said_again(mut dice: Dice) {
    let mut world = World::new(catalogue(&Knobs { most: 20, ..Knobs::default() })).await;
    start(&mut world, &mut dice).await;
    world.person("ann", &["author:1"]).await;
    let mut heard: BTreeMap<String, Millis> = BTreeMap::new();
    for _ in 0..12 {
        let number = dice.below(4);
        let time = dice.once_in_a_hundred(70).then(|| world.now().plus(-dice.ms(0, 3 * DAY_MS)));
        let name = format!("T{number}");
        let partition = u32::try_from(dice.below(8)).unwrap();
        let data = json!({"title": name, "author": "author:1", "public": true});
        let mut change = json!({"specversion": "1.0", "id": name, "type": "work.made", "subject": format!("work:{number}"), "data": data});
        if let Some(time) = time {
            change["time"] = json!(time.to_string());
        }
        heard.entry(name).or_insert_with(|| time.unwrap_or_else(|| world.now()));
        world.say(partition, change).await;
        if dice.once_in_a_hundred(30) {
            for _ in 0..dice.below(300) {
                tokio::task::yield_now().await;
            }
            world.crash().await;
            start(&mut world, &mut dice).await;
        }
        world.settle().await;
        world.pass(dice.ms(1, 20 * HOUR_MS)).await;
    }
    world.pass(30 * HOUR_MS).await;
    let view = world.view("ann").await;
    let found: BTreeMap<String, Millis> =
        view.entries().map(|(key, entry)| (title(entry.subject().unwrap()), key.occurred)).collect();
    assert_eq!(found, heard);
    assert_eq!(view.len(), heard.len(), "an event has two entries");
    let told = world.told("ann").await;
    assert!(told.values().all(|times| *times == 1), "told twice: {told:?}");
}

async fn start(world: &mut World, dice: &mut Dice) {
    let mut engines = world.engines();
    let roughness = store::rough::Roughness {
        busy_before_percent: 5,
        busy_after_percent: 5,
        ..store::rough::Roughness::seeded(dice.next())
    };
    engines.store = std::sync::Arc::new(store::rough::Rough::new(engines.store, roughness));
    world.start(engines).await;
}
