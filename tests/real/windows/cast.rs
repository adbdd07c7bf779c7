//! Who takes part: persons of whom each has windows of about half of the types, in zones where it is nine soon, a
//! little later, or long past; and what the house is told of them.

use std::{collections::BTreeMap, ops::Range};

use model::UtcMillis;
use serde_json::{Value, json};

const PERSONS: u64 = 24;
const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
/// Zones are so many hours from UTC.
const ZONES: Range<i64> = -12..13;
/// The house opens slowly now and then: there are so many minutes at which it can be nine.
const NINES: i64 = 3;

/// When it is nine, or a few minutes past, and in which zone.
pub struct NineTimes {
    first: i64,
    zone: i64,
}

impl NineTimes {
    /// The full minutes that come next, but not before `from`.
    pub fn new(from: i64) -> Self {
        let first = (from + MINUTE - 1).div_euclid(MINUTE) * MINUTE;
        let hour = first.div_euclid(HOUR).rem_euclid(24);
        let zone = if ZONES.contains(&(9 - hour)) { 9 - hour } else { 9 - hour + 24 };
        Self { first, zone }
    }

    /// A catalogue whose nines are these.
    pub fn set(&self, catalogue: &str) -> String {
        (0..NINES).fold(catalogue.to_owned(), |text, n| {
            text.replace(&format!("\"09:0{n}\""), &format!("{:?}", wall_time(self.instant_of(n), self.zone)))
        })
    }

    fn instant_of(&self, n: i64) -> i64 {
        self.first + n * MINUTE
    }
}

/// Who somebody is, as far as it says what they are told.
#[derive(Clone, Default, Debug)]
pub struct CastMember {
    pub number: u64,
    /// Hours from UTC.
    pub zone: i64,
    /// In their zone it is nine.
    pub has_nine: bool,
    /// Theirs are to be released before that.
    pub is_early: bool,
    /// When somebody did.
    pub released: Option<i64>,
    /// Where they travel after that: there it is nine soon.
    pub moves_to: Option<i64>,
    pub quiet: Option<Range<i64>>,
    /// A push reaches them.
    pub has_device: bool,
    pub comes: ComingHabit,
}

/// How often somebody is seen.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum ComingHabit {
    #[default]
    Never,
    Once,
    Often,
}

pub struct StoryCast {
    pub people: BTreeMap<String, CastMember>,
    /// When it is nine.
    pub nine: i64,
    /// The plan whose nine this is.
    plan: String,
}

impl StoryCast {
    /// Everybody, with the first nine that is not before `from`; nobody if none is left.
    pub fn new(nines: &NineTimes, now: i64, from: i64) -> Option<Self> {
        let n = (0..NINES).find(|n| nines.instant_of(*n) >= from)?;
        let (nine, zone) = (nines.instant_of(n), nines.zone);
        let who = |p| (format!("p{p}"), CastMember::new(p, zone, now..nine));
        let people = (0..PERSONS).map(who).collect();
        Some(Self { people, nine, plan: format!("dated_{}", n + 1) })
    }

    /// The plan of dates that all of them take.
    pub fn plan(&self) -> &str {
        &self.plan
    }

    /// What is said of all of them at the beginning.
    pub fn facts(&self) -> Vec<String> {
        let of = |(person, who): (&String, &CastMember)| {
            let mut profile = json!({"person": person, "email": format!("{person}@example.org"),
                "zone": zone_name(who.zone), "email_plan": self.plan});
            if let Some(quiet) = &who.quiet {
                let wall = |at| wall_time(at, who.zone);
                profile["quiet"] = format!("{}-{}", wall(quiet.start), wall(quiet.end)).into();
            }
            let mut facts = vec![fact_line("profile", person, 1, profile)];
            if who.has_device {
                // By its name a push is known as theirs.
                let device = json!({"person": person, "device": person, "platform": "web", "token": "t"});
                facts.push(fact_line("device", person, 1, device));
            }
            facts
        };
        self.people.iter().flat_map(of).collect()
    }

    /// Those who travel say so.
    pub fn move_facts(&self) -> Vec<String> {
        let of = |(person, who): (&String, &CastMember)| {
            let zone = zone_name(who.moves_to?);
            Some(fact_line("profile", person, 2, json!({"person": person, "zone": zone})))
        };
        self.people.iter().filter_map(of).collect()
    }

    /// These persons were seen now.
    pub fn seen_facts(persons: &[&String], at: i64) -> Vec<String> {
        let one = |person: &&String| {
            json!({"id": format!("seen-{person}-{at}"), "source": "real", "type": "tidings.seen",
                "time": UtcMillis(at).to_string(), "data": {"person": person, "surface": "site"}})
            .to_string()
        };
        persons.iter().map(one).collect()
    }
}

impl CastMember {
    /// The even ones have windows of one half of the types, the odd ones of the other; see `script`.
    fn new(number: u64, zone: i64, time: Range<i64>) -> Self {
        let half = number / 2;
        let (zone, is_early, moves_to) = match half % 4 {
            0 => (zone, false, None),
            1 => (zone, true, None),
            2 => (zone + 1, true, Some(zone)),
            // At noon nothing is due for most of a day.
            _ => (zone + 3, false, None),
        };
        let begun = time.start - MINUTE;
        let quiet = match half % 3 {
            _ if number.is_multiple_of(2) || moves_to.is_some() => None,
            0 => Some(begun..time.end),
            1 => Some(begun..time.end + 2 * HOUR),
            _ => None,
        };
        let comes = match (number % 2, half % 3) {
            (0, 0) => ComingHabit::Often,
            (0, 1) | (1, 2) => ComingHabit::Once,
            _ => ComingHabit::Never,
        };
        let has_device = number % 2 == 1 || half % 6 != 5;
        let (has_nine, released) = (half % 4 < 2, None);
        Self { number, zone, has_nine, is_early, released, moves_to, quiet, has_device, comes }
    }
}

fn fact_line(sort: &str, person: &str, version: u64, data: Value) -> String {
    json!({"id": format!("{sort}-{person}-{version}"), "source": "real", "type": format!("tidings.{sort}"),
        "version": version, "data": data})
    .to_string()
}

/// The zones of the tables count to the west.
fn zone_name(hours: i64) -> String {
    if hours == 0 { "UTC".to_owned() } else { format!("Etc/GMT{:+}", -hours) }
}

fn wall_time(at: i64, zone: i64) -> String {
    let minutes = (at + zone * HOUR).div_euclid(MINUTE).rem_euclid(24 * 60);
    format!("{:02}:{:02}", minutes / 60, minutes % 60)
}
