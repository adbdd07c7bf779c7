//! Law 1, of events: each is named by its source and id, and its time is the one with which it was first heard. However
//! often it is said again, by whatever way and with whatever time, it is one entry and is told once.

use std::collections::BTreeMap;

use model::{UtcMillis, limits::DAY_MS};
use serde_json::json;

use crate::{
    catalogue_text::{CatalogueKnobs, knob_catalogue},
    names::HOUR_MS,
    seeds::{LawDice, run_waiting_schedules},
    world::{LawHouse, work_title},
};

#[test]
fn law_1_an_event_is_named_by_source_and_id() {
    run_waiting_schedules(4, repeat_events);
}

/// A few events, each said several times: with times up to three days apart, with none, by any partition, and some of them
/// when they were told long ago; in between the house dies.
async fn repeat_events(mut dice: LawDice) {
    let mut world =
        LawHouse::new(knob_catalogue(&CatalogueKnobs { most: 20, ..CatalogueKnobs::default() })).await;
    start_rough(&mut world, &mut dice).await;
    world.add_person("ann", &["author:1"]).await;
    // Whom she follows is said by another partition than the events, which may be read first.
    world.settle().await;
    let mut heard: BTreeMap<String, UtcMillis> = BTreeMap::new();
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
            start_rough(&mut world, &mut dice).await;
        }
        world.settle().await;
        world.pass_time(dice.ms(1, 20 * HOUR_MS)).await;
    }
    world.pass_time(30 * HOUR_MS).await;
    let view = world.view("ann").await;
    let found: BTreeMap<String, UtcMillis> =
        view.entries().map(|(key, entry)| (work_title(entry.subject().unwrap()), key.occurred)).collect();
    assert_eq!(found, heard);
    assert_eq!(view.len(), heard.len(), "an event has two entries");
    let told = world.told_titles("ann").await;
    assert!(told.values().all(|times| *times == 1), "told twice: {told:?}");
}

async fn start_rough(world: &mut LawHouse, dice: &mut LawDice) {
    let mut engines = world.engines();
    let roughness = store::rough_store::StoreRoughness {
        busy_before_percent: 5,
        busy_after_percent: 5,
        ..store::rough_store::StoreRoughness::from_seed(dice.next())
    };
    engines.store = std::sync::Arc::new(store::rough_store::RoughStore::new(engines.store, roughness));
    world.start(engines).await;
}
