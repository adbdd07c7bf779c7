//! How many rows a second `Days::write` stores, beside a bare loop of the same driver with the same rows and
//! as many requests at once. `TIDINGS_CQL` names the cluster.

#![allow(clippy::print_stdout, reason = "its figures are what it is for")]

use anyhow::Context as _;
use futures::{StreamExt as _, TryStreamExt as _};
use model::{
    Because, Day, Entry, EntryKey, EventKey, Kind, Millis, Person, Reason, Row, SubjectRef, Tenant,
    entry::DayKey,
};
use runtime::clock::Stopwatch;
use scylla::{
    client::{session::Session, session_builder::SessionBuilder},
    statement::prepared::PreparedStatement,
};
use store::{DayRows, Days as _, rows::push_row};
use store_cql::{Cql, Settings, migrate};

const PERSONS: usize = 12_000;
const AT_ONCE: usize = 256;
const ROUNDS: u8 = 20;
const NOW: Millis = Millis(1_795_264_000_000);

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let contact = std::env::var("TIDINGS_CQL").context("TIDINGS_CQL names the cluster")?;
    let settings = Settings { in_flight_max: AT_ONCE, ..Settings::at(&contact, "write_rate") };
    migrate(&settings).await?;
    let store = Cql::open(settings).await?;
    let session = SessionBuilder::new().known_node(&contact).build().await?;
    let table = format!("write_rate.days_{:02}", Day::of(NOW).0.rem_euclid(32));
    let cql =
        format!("INSERT INTO {table} (tenant, person, day, row, body) VALUES (?, ?, ?, ?, ?) USING TTL ?");
    let mut insert = session.prepare(cql).await?;
    insert.set_is_idempotent(true);
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        // New rows for each, and each as often first: whatever else the machine does hits both alike.
        let (one, other) = (rows(2 * round)?, rows(2 * round + 1)?);
        for is_ours in [round % 2 == 0, round % 2 != 0] {
            let watch = Stopwatch::start();
            if is_ours {
                store.write(one.clone(), NOW).await?;
                ours.push(PERSONS as f64 / watch.elapsed().as_secs_f64());
            } else {
                bare_loop(&session, &insert, &other).await?;
                bare.push(PERSONS as f64 / watch.elapsed().as_secs_f64());
            }
        }
    }
    for rates in [&mut ours, &mut bare] {
        rates.sort_by(f64::total_cmp);
    }
    let tell = |name: &str, rates: &[f64]| {
        println!(
            "{name:>5}: median {:.0}, best {:.0} rows/s",
            rates[rates.len() / 2],
            rates[rates.len() - 1]
        );
    };
    tell("bare", &bare);
    tell("ours", &ours);
    let ratio = |at: usize| ours[at] / bare[at];
    println!("ratio: median {:.2}, best {:.2}", ratio(ours.len() / 2), ratio(ours.len() - 1));
    Ok(())
}

fn rows(round: u8) -> anyhow::Result<Vec<DayRows>> {
    let day = Day::of(NOW);
    let entry = Entry {
        key: EntryKey { occurred: NOW, event: EventKey([round; 16]) },
        reason: Reason {
            kind: Kind::new("published")?,
            because: Because::Follows(SubjectRef::new("author:7")?),
        },
        subject: SubjectRef::new("work:1234")?,
        actor: None,
    };
    (0..PERSONS)
        .map(|n| {
            let key =
                DayKey { tenant: Tenant::new("main")?, person: Person::new(&format!("person-{n}"))?, day };
            Ok(DayRows { key, rows: vec![Row::Entry(entry.clone())] })
        })
        .collect()
}

async fn bare_loop(session: &Session, insert: &PreparedStatement, rows: &[DayRows]) -> anyhow::Result<()> {
    let mut encoded = Vec::with_capacity(rows.len());
    for of in rows {
        let (mut key, mut body) = (Vec::new(), Vec::new());
        push_row(&mut key, &mut body, &of.rows[0])?;
        encoded.push((of.key.tenant.as_str(), of.key.person.as_str(), of.key.day.0, key, body, 1_000_000));
    }
    let inserts = encoded.iter().map(|values| session.execute_unpaged(insert, values));
    futures::stream::iter(inserts).buffer_unordered(AT_ONCE).try_for_each(async |_| Ok(())).await?;
    Ok(())
}
