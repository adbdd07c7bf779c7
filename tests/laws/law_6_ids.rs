//! Law 6: a Ready's id is that of one Ready and of no other, whatever opens and closes at one instant.

use std::collections::BTreeMap;

use digest::read::PersonNews;
use model::ReadyId;

use crate::{
    catalogue_text::{CatalogueKnobs, knob_catalogue},
    digest_simulation::DigestSimulation,
    names::{HOUR_MS, a_day, person, reason, subject, tenant},
    seeds::{LawDice, run_schedules},
};

#[test]
fn law_6_ready_ids_never_collide() {
    run_schedules(60, many_closings);
}

/// Windows of two plans, three persons and two tenants open, close and open again, often within the same
/// millisecond; a record that is forgotten and begun anew is no exception.
fn many_closings(mut dice: LawDice) {
    let knobs = CatalogueKnobs { most: 1, look_back_days: 19, ..CatalogueKnobs::default() };
    let mut desk = DigestSimulation::new(knob_catalogue(&knobs), a_day().start());
    let mut persons = Vec::new();
    for (of, who) in [("main", "ann"), ("main", "bob"), ("other", "ann")] {
        let key = desk.add_person(&tenant(of), &person(who), "Europe/Berlin");
        desk.follow(&key, &subject("author:1"), true);
        persons.push(key);
    }
    let mut first: BTreeMap<ReadyId, usize> = BTreeMap::new();
    for number in 0..40 {
        let key = dice.pick(&persons);
        desk.set_public(&key.0, &subject(&format!("work:{number}")), true);
        let because = reason(dice.pick(&["made", "shown"]), 1);
        let day = model::Day::from_instant(desk.now);
        let news: PersonNews = desk.add_event(&key, day, number, because);
        desk.hear(&key, vec![news]);
        let wait = match dice.below(4) {
            0 => 0,
            // To the very instant at which something closes.
            1 => desk.memory.next_due().map_or(0, |due| due.since(desk.now).max(0)),
            2 => dice.ms(0, 30 * HOUR_MS),
            _ => dice.ms(0, 100 * HOUR_MS),
        };
        desk.pass_to(desk.now.plus(wait));
    }
    desk.pass_to(desk.now.plus(25 * 24 * HOUR_MS));
    for (place, ready) in desk.readys.iter().enumerate() {
        let other = first.entry(ready.id).or_insert(place);
        assert_eq!(*other, place, "{ready:?} has the id of {:?}", desk.readys[*other]);
    }
    assert!(desk.readys.len() > 10, "too little was told to say anything: {}", desk.readys.len());
}
