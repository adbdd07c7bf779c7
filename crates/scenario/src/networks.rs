//! Where the addresses of a scenario's networks are: a database like any other.

use std::{path::Path, sync::Arc};

use geoip::{AddressDatabase, AddressPlaces, DatabaseWriter};
use stage::Scenario;

/// How far at most the addresses of a network are from its place.
const NETWORK_KM: u16 = 20;

/// A database of the networks that a scenario names, and in use.
pub(super) fn write_places(dir: &Path, scenario: &Scenario) -> anyhow::Result<AddressPlaces> {
    let places = AddressPlaces::default();
    if !scenario.networks.is_empty() {
        let empty = DatabaseWriter::new("Scenario-City", scenario.calendar.start());
        let write = |file: DatabaseWriter, (network, at): &(_, _)| file.with_place(*network, *at, NETWORK_KM);
        let path = dir.join("networks.mmdb");
        std::fs::write(&path, scenario.networks.iter().fold(empty, write).finish())?;
        places.replace(Some(Arc::new(AddressDatabase::open(&path)?)));
    }
    Ok(places)
}
