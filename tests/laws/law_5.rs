//! Law 5: one owner per person. Whoever writes of a person, in whatever room and life of the house, writes it
//! where the one owner reads; so all that is remembered of somebody is one record.

use std::collections::BTreeMap;

use wire::{Inbox, topics};

use crate::{
    names::HOUR_MS,
    seeds::{Dice, waiting_schedules},
    texts::{CHOSEN, Knobs, catalogue_of},
    world::World,
};

const PERSONS: [&str; 12] =
    ["ann", "bob", "cat", "dan", "eve", "fay", "gus", "hal", "ida", "jon", "kim", "lea"];

#[test]
fn law_5_one_owner_per_person() {
    waiting_schedules(6, everything_in_one_place);
}

/// Everything that can be written of a person is written, over several lives of the house.
async fn everything_in_one_place(mut dice: Dice) {
    let mut world = World::new(catalogue_of(&Knobs::default(), CHOSEN)).await;
    world.start(world.engines()).await;
    for who in PERSONS {
        world.person(who, &["author:1"]).await;
    }
    world.settle().await;
    for number in 0..6 {
        let at = world.now();
        world.make(dice.of(&["work.made", "work.shown"]), number, "author:1", at).await;
        world.settle().await;
        let who = dice.of(&PERSONS);
        match dice.below(4) {
            0 => world.follow(who, "author:1", dice.once_in_a_hundred(50)).await,
            1 => {
                let key = world.view(who).await.entries().last().map(|(key, _)| key.to_string());
                let entries: Vec<String> = key.into_iter().collect();
                if !entries.is_empty() {
                    world.fact("tidings.read", serde_json::json!({"person": who, "entries": entries})).await;
                }
            }
            2 => {
                let plan = dice.of(&["weekly", "soon", "morning"]);
                world.fact("tidings.profile", serde_json::json!({"person": who, "email_plan": plan})).await;
            }
            _ => {
                world.crash().await;
                world.start(world.engines()).await;
            }
        }
        world.pass(dice.ms(0, 30 * HOUR_MS)).await;
    }
    world.pass(8 * 24 * HOUR_MS).await;
    let owners = owners(&world).await;
    for who in PERSONS {
        let places = owners.get(who).map(|places| places.keys().collect::<Vec<_>>()).unwrap_or_default();
        assert_eq!(places.len(), 1, "{who} is written of in {:?}", owners.get(who));
    }
}

/// Who is written of in which partitions, and on which topics there.
async fn owners(world: &World) -> BTreeMap<String, BTreeMap<u32, Vec<&'static str>>> {
    let mut owners: BTreeMap<String, BTreeMap<u32, Vec<&'static str>>> = BTreeMap::new();
    for topic in [topics::PENDING, topics::INBOX, topics::WINDOWS, topics::READY] {
        for record in world.records(topic).await {
            let value = record.value.as_deref().unwrap_or_default();
            let persons: Vec<String> = match topic {
                topics::PENDING => {
                    let pending = wire::pending::decode(value).unwrap();
                    pending.announcements.iter().map(|one| one.person.to_string()).collect()
                }
                topics::INBOX => {
                    let inbox: Inbox = wire::inbox::decode(value).unwrap();
                    vec![inbox.whose().1.to_string()]
                }
                _ => vec![wire::key::to_person(&record.key).unwrap().1.to_string()],
            };
            for person in persons {
                let topics = owners.entry(person).or_default().entry(record.partition).or_default();
                if !topics.contains(&topic) {
                    topics.push(topic);
                }
            }
        }
    }
    owners
}
