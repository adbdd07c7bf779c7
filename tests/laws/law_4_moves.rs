//! Law 4, of who moves: they are found by the crowds of the new place before their profile names it, and by those of
//! the old one until it does. Whatever happens while they move is told once, wherever the intake stands, and also if it dies there.

use std::{collections::BTreeMap, sync::Arc};

use geoip::{AddressDatabase, AddressPlaces, DatabaseWriter};
use model::{
    DayRow, Event, EventKey, GeoPoint, Value, VersionedState, entry::DayKey, partition::PartitionCount,
    person::profile::PlaceOrigin,
};
use serde_json::json;
use store::{DayStore as _, StateKey, StateStore as _};
use topic::{NewRecord, Topics as _};
use wire::topics;

use crate::{
    catalogue_text::parse_catalogue,
    gates::HouseGates,
    names::{a_day, person, subject, tenant},
    seeds::{LawDice, run_waiting_schedules},
    world::LawHouse,
};

const CATALOGUE: &str = "catalogue: moves\n\
    subjects:\n  work: {title: text, place: place}\n\
    kinds:\n  made: {on: work.made, to: {near: place, within: 30 km}, says: x, plans: [daily]}\n\
    plans:\n  daily: {channel: email, close: {daily: \"09:00\", zone: person}, look_back: 7d, from: a@example.com, \
      headline: x, template: mail.mjml, text: mail.txt, sections: [{title: x, kinds: [made], most: 8}]}\n";

/// Where the intake stands while something happens; the profile names the new place in the last of them alone.
const GATES: [&str; 3] = ["before entering", "after entering", "before leaving"];
/// A step of about eleven kilometres, as fine as places by address are.
const STEP: f64 = 0.1;
/// Steps that somebody goes at most.
const STEPS_MAX: usize = 40;

#[test]
fn law_4_who_moves_is_never_lost() {
    run_waiting_schedules(12, whoever_moves);
}

async fn whoever_moves(mut dice: LawDice) {
    let mut world = LawHouse::new(parse_catalogue(CATALOGUE)).await;
    world.config.places = known_places();
    let gates = HouseGates::default();
    world.start(gates.around(world.engines())).await;
    let (old, origin) = (old_place(), dice.pick(&PlaceOrigin::ALL));
    // Within the circle and in another cell of it, or far away.
    let is_move = |steps: &usize| place_north(old, *steps).cells_of(origin) != old.cells_of(origin);
    let moves: Vec<usize> = [1, 2, 2, 4, STEPS_MAX].into_iter().filter(is_move).collect();
    let steps = dice.pick(&moves);
    let new = place_north(old, steps);
    state_place(&mut world, origin, 0).await;
    world.settle().await;
    let gate = dice.pick(&GATES);
    gates.close(gate);
    state_place(&mut world, origin, steps).await;
    gates.wait_reached(gate).await;
    let mut expected = BTreeMap::new();
    for number in 0..1 + dice.below(6) {
        let middle = place_north(old, dice.below(steps + 2));
        publish_work(&world, number, middle).await;
        let at = if gate == "before leaving" { new } else { old };
        expected.insert(number, (middle, usize::from(at.distance_km(middle) <= 30.0)));
    }
    world.wait_caught_up(&["ingest", "digest", "sender"]).await;
    assert_eq!(count_rows(&world).await, expected_counts(&expected), "{origin:?}, {gate}, {steps} steps");
    if dice.once_in_a_hundred(50) {
        world.crash().await;
        world.start(world.engines()).await;
    } else {
        gates.open(gate);
    }
    world.settle().await;
    for number in expected.len()..expected.len() + 2 {
        let middle = place_north(new, dice.below(4));
        publish_work(&world, number, middle).await;
        expected.insert(number, (middle, usize::from(new.distance_km(middle) <= 30.0)));
    }
    world.settle().await;
    assert_eq!(
        count_rows(&world).await,
        expected_counts(&expected),
        "{origin:?}, {gate}, {steps} steps, after it"
    );
}

fn expected_counts(expected: &BTreeMap<usize, (GeoPoint, usize)>) -> BTreeMap<usize, usize> {
    expected.iter().map(|(number, (_, times))| (*number, *times)).filter(|(_, times)| *times > 0).collect()
}

fn place_north(of: GeoPoint, steps: usize) -> GeoPoint {
    let steps = f64::from(u32::try_from(steps).unwrap());
    GeoPoint::new(steps.mul_add(STEP, of.lat), of.lon).unwrap()
}

fn old_place() -> GeoPoint {
    GeoPoint::new(52.5, 13.4).unwrap()
}

/// That somebody is so many steps north, or that their address is there.
async fn state_place(world: &mut LawHouse, origin: PlaceOrigin, steps: usize) {
    let GeoPoint { lat, lon } = place_north(old_place(), steps);
    let data = match origin {
        PlaceOrigin::Stated => json!({"person": "ann", "place": {"lat": lat, "lon": lon}}),
        PlaceOrigin::Address => json!({"person": "ann", "ip_address": address_north(steps)}),
    };
    world.send_fact("tidings.profile", data).await;
}

fn address_north(steps: usize) -> String {
    format!("203.0.113.{steps}")
}

/// The addresses of all these places.
fn known_places() -> AddressPlaces {
    let places = AddressPlaces::default();
    let file = (0..=STEPS_MAX).fold(DatabaseWriter::new("Laws-City", a_day().start()), |file, steps| {
        let network = address_north(steps).parse().unwrap();
        file.with_place(network, place_north(old_place(), steps), 20)
    });
    places.replace(Some(Arc::new(AddressDatabase::from_bytes(file.finish()).unwrap())));
    places
}

/// Something happens, as the intake announces it; this one stands still.
async fn publish_work(world: &LawHouse, number: usize, at: GeoPoint) {
    let (tenant, subject) = (tenant("main"), subject(&format!("work:{number}")));
    let state = VersionedState::from_values(1, [("place", Some(Value::Place(at)))]);
    let key = StateKey::Subject(tenant.clone(), subject.clone());
    world.store.merge(vec![(key, state.clone())]).await.unwrap();
    let event = Event {
        key: EventKey::from_source_id(&tenant, "laws", &number.to_string()),
        what: "work.made".to_owned(),
        actor: None,
        occurred: world.now(),
        persons: Vec::new(),
        tenant,
        subject,
        state,
    };
    let record = NewRecord {
        topic: topics::EVENTS.into(),
        partition: PartitionCount::USUAL.of_subject(&event.tenant, &event.subject),
        key: wire::key::subject_key(&event.tenant, &event.subject),
        value: Some(wire::event::encode(&event).unwrap()),
        headers: Vec::new(),
    };
    world.topics.append(vec![record]).await.unwrap();
}

/// How many rows ann has of each.
async fn count_rows(world: &LawHouse) -> BTreeMap<usize, usize> {
    let key = DayKey { tenant: tenant("main"), person: person("ann"), day: a_day() };
    let mut found = BTreeMap::new();
    for row in world.store.read(&[key], world.now()).await.unwrap().remove(0) {
        if let DayRow::Entry(entry) = row {
            *found.entry(entry.subject.id().parse().unwrap()).or_default() += 1;
        }
    }
    found
}
