//! Databases that are made here, read by the library that reads everybody's, and what becomes of broken ones.

use std::{fs, net::IpAddr, sync::Arc};

use model::{GeoPoint, UtcMillis};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{AddressDatabase, AddressPlaces, DatabaseWriter, FileStamp, IpNetwork};

const BUILT: UtcMillis = UtcMillis(1_764_000_000_000);
const BERLIN: GeoPoint = GeoPoint { lat: 52.5244, lon: 13.4105 };
const TOKYO: GeoPoint = GeoPoint { lat: 35.6895, lon: 139.6917 };

fn network(text: &str) -> IpNetwork {
    text.parse().unwrap()
}

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn city(lat: f64, lon: f64) -> Value {
    json!({"city": {"names": {"en": "A city"}}, "location": {"latitude": lat, "longitude": lon}})
}

fn a_writer() -> DatabaseWriter {
    DatabaseWriter::new("GeoLite2-City", BUILT)
        .with_place(network("203.0.113.0/24"), BERLIN, 20)
        .with_place(network("203.0.113.128/25"), TOKYO, 5)
        .with_place(network("2001:db8::/32"), TOKYO, 100)
        .with_place(network("198.51.100.0/25"), BERLIN, 101)
        .with_place(network("198.51.100.128/25"), GeoPoint { lat: -0.04, lon: 179.96 }, 1)
        .with_place(network("10.0.0.0/8"), BERLIN, 1)
        .with_place(network("100.64.0.0/10"), BERLIN, 1)
        .with_place(network("fc00::/7"), BERLIN, 1)
        .with_record(network("192.0.2.0/26"), &city(48.8, 2.3))
        .with_record(network("192.0.2.64/26"), &json!({"location": {"latitude": 48.8, "longitude": 2.3}}))
        .with_record(network("192.0.2.128/26"), &city(91.0, 2.3))
        .with_record(network("192.0.2.192/26"), &json!({"country": {"iso_code": "FR"}, "location": {}}))
}

fn a_database() -> AddressDatabase {
    AddressDatabase::from_bytes(a_writer().finish()).unwrap()
}

#[test]
fn an_address_is_where_the_database_knows_it_to_be_and_no_finer() {
    let database = a_database();
    assert_eq!((database.name(), database.built()), ("GeoLite2-City", BUILT));
    let check = |text: &str, expected: Option<(f64, f64)>| {
        let expected = expected.map(|(lat, lon)| GeoPoint { lat, lon });
        assert_eq!(database.find_place(address(text)), expected, "{text}");
    };
    check("203.0.113.7", Some((52.5, 13.4)));
    check("203.0.113.200", Some((35.7, 139.7)));
    check("::ffff:203.0.113.7", Some((52.5, 13.4)));
    check("2001:db8::7", Some((35.7, 139.7)));
    // Nobody has these networks here.
    check("8.8.8.8", None);
    check("2001:4860::8888", None);
    // More than a hundred kilometres off; without a radius, a city and the middle of a country.
    check("198.51.100.7", None);
    check("192.0.2.1", Some((48.8, 2.3)));
    check("192.0.2.65", None);
    // No place on the globe, and no place.
    check("192.0.2.129", None);
    check("192.0.2.193", None);
    // Zero has no sign, and the date line is not crossed.
    check("198.51.100.200", Some((0.0, 180.0)));
    // Whatever the database says of them.
    for private in [
        "10.1.2.3",
        "192.168.1.1",
        "172.16.0.1",
        "127.0.0.1",
        "0.0.0.0",
        "255.255.255.255",
        "169.254.1.1",
        "224.0.0.1",
        "100.64.0.1",
        "100.127.255.255",
        "::ffff:10.1.2.3",
        "::1",
        "::",
        "fc00::1",
        "fd00::1",
        "fe80::1",
        "ff02::1",
    ] {
        check(private, None);
    }
}

#[test]
fn what_is_no_database_of_places_is_refused_with_a_reason() {
    let dir = tempfile::tempdir().unwrap();
    let check = |bytes: Option<Vec<u8>>, expected: &str| {
        let path = dir.path().join("a.mmdb");
        drop(fs::remove_file(&path));
        if let Some(bytes) = bytes {
            fs::write(&path, bytes).unwrap();
        }
        let refused = format!("{:#}", AddressDatabase::open(&path).unwrap_err());
        assert!(refused.contains(expected) && refused.contains("a.mmdb"), "{expected}: {refused}");
    };
    check(None, "No such file");
    check(Some(Vec::new()), "in the format of MaxMind");
    check(Some(b"ip,lat,lon\n203.0.113.7,52.5,13.4\n".to_vec()), "in the format of MaxMind");
    let whole = a_writer().finish();
    check(Some(whole[..whole.len() / 2].to_vec()), "in the format of MaxMind");
    let country = DatabaseWriter::new("GeoLite2-Country", BUILT)
        .with_record(network("203.0.113.0/24"), &json!({"country": {"iso_code": "DE"}}));
    check(Some(country.finish()), "it has no places: it is `GeoLite2-Country`");
    check(Some(DatabaseWriter::new("Empty", BUILT).finish()), "it has no places");
    let words = json!({"location": {"latitude": "north", "longitude": "east"}});
    let odd = DatabaseWriter::new("Odd", BUILT).with_record(network("203.0.113.0/24"), &words);
    check(Some(odd.finish()), "it has no places: it is `Odd`");
    // A record that says it is longer than the file.
    let mut damaged = a_writer().finish();
    let at = damaged.windows(8).position(|bytes| bytes == b"location").unwrap();
    damaged[at - 1] = 0x5f;
    check(Some(damaged), "it is damaged");
    let of_folder = format!("{:#}", AddressDatabase::open(dir.path()).unwrap_err());
    assert!(of_folder.contains("it is not a file"), "{of_folder}");
}

#[test]
fn a_process_uses_one_database_after_another() {
    let (dir, places) = (tempfile::tempdir().unwrap(), AddressPlaces::default());
    let path = dir.path().join("a.mmdb");
    let whose = address("203.0.113.7");
    assert_eq!((places.find_place(whose), FileStamp::of_file(&path)), (None, FileStamp::default()));
    fs::write(&path, a_writer().finish()).unwrap();
    let first = Arc::new(AddressDatabase::open(&path).unwrap());
    assert_eq!(first.stamp(), FileStamp::of_file(&path));
    let other = places.clone();
    assert!(places.replace(Some(first.clone())).is_none());
    assert_eq!(other.find_place(whose), Some(GeoPoint { lat: 52.5, lon: 13.4 }), "clones share it");
    fs::write(&path, a_writer().with_place(network("203.0.113.0/24"), TOKYO, 5).finish()).unwrap();
    assert_ne!(first.stamp(), FileStamp::of_file(&path));
    let before = places.replace(Some(Arc::new(AddressDatabase::open(&path).unwrap())));
    assert_eq!(before.map(|before| before.stamp()), Some(first.stamp()));
    assert_eq!(other.find_place(whose), Some(GeoPoint { lat: 35.7, lon: 139.7 }));
}

/// Whoever can be read is asked; neither may end the process.
fn ask_broken(bytes: Vec<u8>) {
    let Ok(database) = AddressDatabase::from_bytes(bytes) else { return };
    for text in
        ["203.0.113.7", "203.0.113.200", "2001:db8::7", "198.51.100.200", "192.0.2.1", "8.8.8.8", "ffff::"]
    {
        if let Some(GeoPoint { lat, lon }) = database.find_place(address(text)) {
            assert!(GeoPoint::new(lat, lon).is_some(), "{lat} {lon}");
        }
    }
    assert!(database.built().0 >= 0);
}

#[test]
fn a_file_that_breaks_off_or_has_a_wrong_byte_ends_nothing() {
    let whole = a_writer().finish();
    for length in 0..whole.len() {
        ask_broken(whole[..length].to_vec());
    }
    for at in 0..whole.len() {
        for flipped in [0x01, 0x80, 0xff, whole[at]] {
            let mut bytes = whole.clone();
            bytes[at] ^= flipped;
            ask_broken(bytes);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_file_with_many_wrong_bytes_ends_nothing(
        wrong in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40)
    ) {
        let mut bytes = a_writer().finish();
        for (at, byte) in wrong {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        ask_broken(bytes);
    }
}
