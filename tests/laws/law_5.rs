//! Law 5: one owner per person. Whoever writes of a person, in whatever room and life of the house, writes it
//! where the one owner reads; so all that is remembered of somebody is one record.

use std::collections::BTreeMap;

use wire::{InboxItem, topics};

use crate::{
    catalogue_text::{CHOSEN, CatalogueKnobs, catalogue_of},
    names::HOUR_MS,
    seeds::{LawDice, run_waiting_schedules},
    world::LawHouse,
};

const PERSONS: [&str; 12] =
    ["ann", "bob", "cat", "dan", "eve", "fay", "gus", "hal", "ida", "jon", "kim", "lea"];

#[test]
fn law_5_one_owner_per_person() {
    run_waiting_schedules(6, everything_in_one_place);
}

/// Everything that can be written of a person is written, over several lives of the house.
async fn everything_in_one_place(mut dice: LawDice) {
    let mut world = LawHouse::new(catalogue_of(&CatalogueKnobs::default(), CHOSEN)).await;
    world.start(world.engines()).await;
    for who in PERSONS {
        world.add_person(who, &["author:1"]).await;
    }
    world.settle().await;
    for number in 0..6 {
        let at = world.now();
        world.publish_work(dice.pick(&["work.made", "work.shown"]), number, "author:1", at).await;
        world.settle().await;
        let who = dice.pick(&PERSONS);
        match dice.below(4) {
            0 => world.follow(who, "author:1", dice.once_in_a_hundred(50)).await,
            1 => {
                let key = world.view(who).await.entries().last().map(|(key, _)| key.to_string());
                let entries: Vec<String> = key.into_iter().collect();
                if !entries.is_empty() {
                    world
                        .send_fact("tidings.read", serde_json::json!({"person": who, "entries": entries}))
                        .await;
                }
            }
            2 => {
                let plan = dice.pick(&["weekly", "soon", "morning"]);
                world
                    .send_fact("tidings.profile", serde_json::json!({"person": who, "email_plan": plan}))
                    .await;
            }
            _ => {
                world.crash().await;
                world.start(world.engines()).await;
            }
        }
        world.pass_time(dice.ms(0, 30 * HOUR_MS)).await;
    }
    world.pass_time(8 * 24 * HOUR_MS).await;
    let owners = read_owners(&world).await;
    for who in PERSONS {
        let places = owners.get(who).map(|places| places.keys().collect::<Vec<_>>()).unwrap_or_default();
        assert_eq!(places.len(), 1, "{who} is written of in {:?}", owners.get(who));
    }
}

/// Who is written of in which partitions, and on which topics there.
async fn read_owners(world: &LawHouse) -> BTreeMap<String, BTreeMap<u32, Vec<&'static str>>> {
    let mut owners: BTreeMap<String, BTreeMap<u32, Vec<&'static str>>> = BTreeMap::new();
    for topic in [topics::PENDING, topics::INBOX, topics::WINDOWS, topics::READY_URGENT, topics::READY] {
        for record in world.records(topic).await {
            let value = record.value.as_deref().unwrap_or_default();
            let persons: Vec<String> = match topic {
                topics::PENDING => {
                    let pending = wire::pending::decode(value).unwrap();
                    pending.announcements.iter().map(|one| one.person.to_string()).collect()
                }
                topics::INBOX => {
                    let inbox: InboxItem = wire::inbox::decode(value).unwrap();
                    vec![inbox.owner().1.to_string()]
                }
                _ => vec![wire::key::read_person_key(&record.key).unwrap().1.to_string()],
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
