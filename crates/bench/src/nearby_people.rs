//! People near a place: one event within so many kilometres among many people, through the real room. What
//! counts is how many rows the store reads for each person that is found.

use std::collections::BTreeSet;

use model::{
    Crowd, CrowdEnrolment, Event, EventKey, GeoPoint, Person, SubjectRef, Tenant, UtcMillis, Value,
    VersionedState, entry::DayKey, limits::SLICE_PERSONS_MAX, person::profile,
};
use runtime::{Clock, clock::SteadyStopwatch};
use store::{StateKey, Store};

use crate::{
    embedded_engines::open_embedded,
    fanout_room,
    report::{BenchFigure, BenchReport},
};

const CATALOGUE: &str = r"
catalogue: bench
subjects:
  show: {title: text, place: place}
kinds:
  nearby:
    on: show.announced
    to: {near: place, within: 50 km}
    says: '{{ subject.title }}'
    plans: [daily]
plans:
  daily:
    channel: email
    close: {daily: '09:00', zone: person}
    look_back: 7d
    from: Bench <bench@example.org>
    headline: Near
    template: mail.mjml
    text: mail.txt
    sections:
      - {title: Near, kinds: [nearby], most: 8, order: newest}
";
const WITHIN_KM: f64 = 50.0;
/// The store may read so many rows for each person that is found.
const ROWS_FOR_ONE_MAX: f64 = 4.0;
/// Persons stand on a grid that fills this stretch of the globe, about the size of a larger country.
const SOUTH_WEST: GeoPoint = GeoPoint { lat: 47.0, lon: 6.0 };
const DEGREES: (f64, f64) = (8.0, 9.0);
const MIDDLE: GeoPoint = GeoPoint { lat: 51.0, lon: 10.5 };

pub async fn run(size: usize, progress: &(dyn Fn(&str) + Sync)) -> anyhow::Result<BenchReport> {
    progress(&format!("near: {size} people take their places"));
    let dir = tempfile::tempdir()?;
    let (topics, store) = open_embedded(dir.path())?;
    fanout_room::declare_topics(&*topics).await?;
    let tenant = Tenant::new("bench")?;
    let people = spread_people(size)?;
    for some in people.chunks(SLICE_PERSONS_MAX) {
        store_people(&*store, &tenant, some).await?;
    }
    let expected: BTreeSet<&Person> = people
        .iter()
        .filter(|(_, place)| place.distance_km(MIDDLE) <= WITHIN_KM)
        .map(|(person, _)| person)
        .collect();
    progress(&format!("near: {} of them within {WITHIN_KM} km", expected.len()));
    let read = count_rows_read(&*store, &tenant).await?;
    let event = show_event(&tenant)?;
    let took = fanout_room::time_event(&topics, &store, CATALOGUE, &event).await?;
    let held = has_exact_audience(&*store, &event, &people, &expected).await?;
    // The raw loop here: asking everybody for their place.
    let watch = SteadyStopwatch::start();
    for some in people.chunks(SLICE_PERSONS_MAX) {
        store
            .states(&some.iter().map(|(person, _)| person_state_key(&tenant, person)).collect::<Vec<_>>())
            .await?;
    }
    let everybody = watch.elapsed();
    #[allow(clippy::cast_precision_loss, reason = "a ratio for people to read")]
    let rows = read as f64 / expected.len().max(1) as f64;
    let figures = vec![
        BenchFigure::bound("rows read for each person found", rows, "rows", ROWS_FOR_ONE_MAX),
        BenchFigure::seconds("one event to all within 50 km", &[took], &[everybody]),
    ];
    let checked = "exactly those within 50 km have a row, and the rows read for each are within the bound";
    let oracle = (checked, held && rows <= ROWS_FOR_ONE_MAX);
    Ok(BenchReport::new("near", "embedded; against reading everybody's place", figures, oracle))
}

/// People on a grid.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a grid of some thousand lines"
)]
fn spread_people(size: usize) -> anyhow::Result<Vec<(Person, GeoPoint)>> {
    let across = ((size as f64).sqrt().ceil() as usize).max(1);
    let at = |n: usize, degrees: f64| (n as f64 + 0.5) / across as f64 * degrees;
    (0..size)
        .map(|n| {
            let lat = SOUTH_WEST.lat + at(n / across, DEGREES.0);
            let lon = SOUTH_WEST.lon + at(n % across, DEGREES.1);
            Ok((Person::new(&format!("person-{n}"))?, GeoPoint { lat, lon }))
        })
        .collect()
}

/// Writes down where people are, as intake does.
async fn store_people(
    store: &dyn Store,
    tenant: &Tenant,
    people: &[(Person, GeoPoint)],
) -> anyhow::Result<()> {
    let mut enrolments = Vec::new();
    let mut states = Vec::new();
    for (person, place) in people {
        enrolments.extend(place.cells().into_iter().map(|cell| CrowdEnrolment {
            tenant: tenant.clone(),
            person: person.clone(),
            crowd: Crowd::Cell(cell),
            version: 1,
            on: true,
        }));
        states.push((
            person_state_key(tenant, person),
            VersionedState::from_values(1, [(profile::PLACE, Some(Value::Place(*place)))]),
        ));
    }
    store.enrol(enrolments).await?;
    Ok(store.merge(states).await?)
}

fn person_state_key(tenant: &Tenant, person: &Person) -> StateKey {
    StateKey::Person(tenant.clone(), person.clone())
}

/// The rows of all cells that the search looks into.
async fn count_rows_read(store: &dyn Store, tenant: &Tenant) -> anyhow::Result<usize> {
    let mut rows = 0;
    for cell in MIDDLE.cells_within(WITHIN_KM) {
        let mut from = None;
        loop {
            let crowd = Crowd::Cell(cell);
            let part = store.members(tenant, &crowd, from.as_deref(), SLICE_PERSONS_MAX).await?;
            rows += part.persons.len();
            let Some(next) = part.next else { break };
            from = Some(next);
        }
    }
    Ok(rows)
}

fn show_event(tenant: &Tenant) -> anyhow::Result<Event> {
    Ok(Event {
        tenant: tenant.clone(),
        key: EventKey::from_source_id(tenant, "bench", "1"),
        what: "show.announced".into(),
        subject: SubjectRef::new("show:1")?,
        actor: None,
        occurred: UtcMillis(Clock::real(0).now()),
        persons: Vec::new(),
        state: VersionedState::from_values(1, [("place", Some(Value::Place(MIDDLE)))]),
    })
}

/// Whether exactly the expected persons have a row.
async fn has_exact_audience(
    store: &dyn Store,
    event: &Event,
    people: &[(Person, GeoPoint)],
    expected: &BTreeSet<&Person>,
) -> anyhow::Result<bool> {
    let day = event.entry_key().day();
    for some in people.chunks(SLICE_PERSONS_MAX) {
        let key = |person: &Person| DayKey { tenant: event.tenant.clone(), person: person.clone(), day };
        let keys: Vec<DayKey> = some.iter().map(|(person, _)| key(person)).collect();
        let rows = store.read(&keys, event.occurred).await?;
        let right = |((person, _), rows): (&(Person, GeoPoint), &Vec<_>)| {
            rows.len() == usize::from(expected.contains(person))
        };
        if !some.iter().zip(&rows).all(right) {
            return Ok(false);
        }
    }
    Ok(true)
}
