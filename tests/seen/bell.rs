//! The bell of `clients/web` before a real house, in two real browsers; and what it would be as a package.

use std::{path::PathBuf, thread};

use anyhow::{Context as _, Result};
use engines::node;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    house::{ExampleHouse, example_folder},
    judges::run_json,
};

/// Somebody with as many entries as scroll smoothly, and on how many days: a day is full at 2,000.
const MANY_PERSON: &str = "mia";
const MANY_DAYS: i64 = 6;
const MANY_OF_A_DAY: usize = 1_700;
/// Items of one request.
const REQUEST_ITEMS: usize = 850;

/// What a browser tried.
#[derive(Deserialize)]
struct BellReport {
    wrong: Vec<String>,
    done: Vec<String>,
}

fn try_bell(browser: &str) -> Result<BellReport> {
    let house = ExampleHouse::start_as(&example_folder("gallery"), &[], &["--demo"])?;
    house.wait_begun("ann")?;
    let follow = json!({"id": "f", "source": "gallery", "type": "tidings.follow", "person": "eve", "target": "artist:1"});
    house.say("/v1/facts", &[follow])?;
    fill_feed(&house)?;
    let pictures = std::env::var_os("TIDINGS_PICTURES").map(PathBuf::from);
    let asked = json!({"browser": browser, "url": house.address, "person": "eve", "many": MANY_PERSON, "pictures": pictures});
    run_json(node("bell.cjs")?.arg(asked.to_string()))
}

/// Ten thousand works that were suggested to one person.
fn fill_feed(house: &ExampleHouse) -> Result<()> {
    let now = house.get_json("/admin/clock")?;
    let now: Timestamp = now["now"].as_str().context("no time")?.parse()?;
    let work = |day: i64, number: usize| {
        let time = now - SignedDuration::from_hours(24 * day);
        json!({"id": format!("many-{day}-{number}"), "source": "gallery", "type": "artwork.suggested", "persons": [MANY_PERSON],
            "subject": format!("artwork:many-{day}-{number}"), "title": format!("Sketch {number} of day {day}"), "published": true,
            "time": time.to_string()})
    };
    for day in 0..MANY_DAYS {
        let works: Vec<Value> = (0..MANY_OF_A_DAY).map(|number| work(day, number)).collect();
        for part in works.chunks(REQUEST_ITEMS) {
            house.say("/v1/changes", part)?;
        }
    }
    house.settle()
}

#[test]
fn the_bell_does_in_two_browsers_what_its_page_says() {
    let reports = thread::scope(|scope| {
        let browsers = ["chromium", "firefox"].map(|browser| scope.spawn(move || try_bell(browser).unwrap()));
        browsers.map(|browser| browser.join().unwrap())
    });
    for BellReport { wrong, done } in reports {
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert!(done.len() > 10, "only {done:?}");
    }
}

#[derive(Deserialize)]
struct PackageReport {
    wrong: Vec<String>,
    most: usize,
    version: String,
}

#[test]
fn the_package_is_small_and_its_client_is_what_the_api_says() {
    let PackageReport { wrong, most, version } = run_json(&mut node("bell_package.cjs").unwrap()).unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(most > 5_000, "{most} bytes are too few to be true");
    assert_eq!(version, env!("CARGO_PKG_VERSION"));
}
