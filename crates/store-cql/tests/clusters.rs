//! What a cluster adds to the promises: laying out, several processes, who is let in.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{cell::Cell, collections::BTreeMap, time::Duration};

use engines::{CassandraCluster, CassandraOptions};
use model::{
    Crowd, CrowdEnrolment, Day, DayRow, Mark, MarkAction, Person, SubjectRef, Tenant, UtcMillis,
    entry::DayKey, limits::LEFT_LIFE_MS, place,
};
use scylla::client::session_builder::SessionBuilder;
use store::{CrowdStore as _, DayRows, DayStore as _, StoreError};
use store_cql::{CqlLogin, CqlStore, CqlTls, Settings, migrate_keyspaces};

/// 2026-11-21.
const TODAY: Day = Day(20_778);

fn wall_now() -> UtcMillis {
    TODAY.start().plus(1_000)
}

/// A keyspace with nothing in it, not laid out.
async fn fresh_keyspace(name: &str) -> Settings {
    let settings = Settings::from_contact_points(engines::cql().unwrap(), name);
    let session = SessionBuilder::new().known_nodes(&settings.contact_points).build().await.unwrap();
    for name in [name.to_owned(), format!("{name}_journal")] {
        session.query_unpaged(format!("DROP KEYSPACE IF EXISTS {name}"), ()).await.unwrap();
    }
    settings
}

fn expect_refused<T: std::fmt::Debug>(answer: Result<T, StoreError>, says: &str) {
    let error = answer.unwrap_err();
    assert!(matches!(error, StoreError::Broken(_)), "{error:?}");
    assert!(error.to_string().contains(says), "{error} does not say `{says}`");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_migrations_at_once_lay_everything_out_once() {
    let settings = fresh_keyspace("at_once").await;
    expect_refused(CqlStore::open(settings.clone()).await, "does not exist: run `tidings migrate`");
    let (one, other) = tokio::join!(migrate_keyspaces(&settings), migrate_keyspaces(&settings));
    let done = [one.unwrap(), other.unwrap()].concat();
    let brought = done.iter().filter(|line| *line == "keyspace at_once was brought to version 1").count();
    assert_eq!(brought, 1, "{done:#?}");
    assert_eq!(migrate_keyspaces(&settings).await.unwrap(), Vec::<String>::new());
    CqlStore::open(settings).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_keyspace_that_is_replicated_otherwise_is_left_as_it_is() {
    let mut settings = fresh_keyspace("otherwise").await;
    let session = SessionBuilder::new().known_nodes(&settings.contact_points).build().await.unwrap();
    for name in ["otherwise", "otherwise_journal"] {
        let simple = "{'class': 'SimpleStrategy', 'replication_factor': 1}";
        session
            .query_unpaged(format!("CREATE KEYSPACE {name} WITH replication = {simple}"), ())
            .await
            .unwrap();
    }
    settings.replication = BTreeMap::from([("datacenter1".to_owned(), 1)]);
    let lines = migrate_keyspaces(&settings).await.unwrap();
    let says = "replication_factor: 1, not datacenter1: 1 as configured; it was left as it is";
    assert_eq!(lines.iter().filter(|line| line.contains(says)).count(), 2, "{lines:#?}");
    settings.replication = BTreeMap::from([("datacenter1".to_owned(), 3)]);
    let error = migrate_keyspaces(&settings).await.unwrap_err().to_string();
    assert!(error.contains("otherwise has 1 copy in datacenter1, and needs 3"), "{error}");
}

/// Who left a place goes by themselves; who came back, and who unfollowed, stays.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_left_a_place_is_forgotten_there_in_time() {
    let settings = fresh_keyspace("left_places").await;
    migrate_keyspaces(&settings).await.unwrap();
    let session = SessionBuilder::new().known_nodes(&settings.contact_points).build().await.unwrap();
    let store = CqlStore::open(settings).await.unwrap();
    let (there, followers) =
        (Crowd::Cell(place::GlobeCell(7)), Crowd::Followers(SubjectRef::new("work:1").unwrap()));
    for (person, crowd, on) in [
        ("ann", &there, vec![true, false]),
        ("bob", &there, vec![false, true]),
        ("eve", &followers, vec![true, false]),
    ] {
        for (version, on) in (1..).zip(on) {
            let (tenant, person) = (Tenant::new("main").unwrap(), Person::new(person).unwrap());
            let one = CrowdEnrolment { tenant, person, crowd: crowd.clone(), version, on };
            store.enrol(vec![one]).await.unwrap();
        }
    }
    let rows =
        session.query_unpaged("SELECT person, TTL(standing) FROM left_places.crowds", ()).await.unwrap();
    let rows = rows.into_rows_result().unwrap();
    let left: BTreeMap<String, Option<i32>> =
        rows.rows::<(String, Option<i32>)>().unwrap().map(Result::unwrap).collect();
    let life = i32::try_from(LEFT_LIFE_MS / 1_000).unwrap();
    assert!(left["ann"].is_some_and(|left| left <= life && left > life - 600), "{left:?}");
    assert_eq!((left["bob"], left["eve"]), (None, None), "{left:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_settings_are_refused_at_once() {
    let right = Settings::from_contact_points(engines::cql().unwrap(), "unheard_of");
    expect_refused(CqlStore::open(right.clone()).await, "unheard_of does not exist");
    for keyspace in ["", "Capital", "a;b", "1st", &"a".repeat(41)] {
        expect_refused(
            CqlStore::open(Settings { keyspace: keyspace.to_owned(), ..right.clone() }).await,
            "is not a keyspace",
        );
    }
    let elsewhere = Settings { datacenter: Some("elsewhere".into()), ..right.clone() };
    expect_refused(CqlStore::open(elsewhere).await, "no data centre `elsewhere`");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_s_cluster_is_a_store_that_is_busy() {
    // A port that was free a moment ago.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let settings = Settings {
        timeout: Duration::from_secs(2),
        ..Settings::from_contact_points(&free.to_string(), "nobody")
    };
    let error = CqlStore::open(settings).await.unwrap_err();
    assert!(matches!(error, StoreError::Busy(_)), "{error:?}");
}

fn sample_rows(person: usize, day: Day) -> Vec<DayRows> {
    let person = Person::new(&format!("p{person}")).unwrap();
    let key = DayKey { tenant: Tenant::new("main").unwrap(), person, day };
    vec![DayRows { key, rows: vec![DayRow::Mark(Mark::new(None, MarkAction::Read, Vec::new(), wall_now()))] }]
}

/// How many persons have rows on a day.
async fn count_persons(store: &CqlStore, day: Day) -> usize {
    store.scan(day, None, 10_000).await.unwrap().rows.len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_day_that_one_process_closes_takes_no_rows_of_another() {
    let settings = Settings { timeout: Duration::from_secs(1), ..fresh_keyspace("closing").await };
    migrate_keyspaces(&settings).await.unwrap();
    let (one, other) =
        (CqlStore::open(settings.clone()).await.unwrap(), CqlStore::open(settings).await.unwrap());
    let is_closed = Cell::new(false);
    let closed = async {
        one.write(sample_rows(0, TODAY.plus(-1)), wall_now()).await.unwrap();
        one.close_before(TODAY).await.unwrap();
        is_closed.set(true);
        count_persons(&one, TODAY.plus(-1)).await
    };
    let writing = async {
        let (mut wrote, mut after) = (1, 0);
        // And a little more after it.
        while after < 50 {
            other.write(sample_rows(wrote, TODAY.plus(-1)), wall_now()).await.unwrap();
            other.write(sample_rows(wrote, TODAY), wall_now()).await.unwrap();
            wrote += 1;
            after += usize::from(is_closed.get());
        }
        wrote - 1
    };
    let (before, wrote) = tokio::join!(closed, writing);
    assert!(before < wrote, "all {wrote} were written before the day was closed");
    assert_eq!(count_persons(&one, TODAY.plus(-1)).await, before);
    assert_eq!(count_persons(&other, TODAY).await, wrote);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_with_login_and_tls_lets_in_who_has_both() {
    let options = CassandraOptions { login: true, tls: true, ..CassandraOptions::default() };
    let cassandra = CassandraCluster::start(options).unwrap();
    let ca = cassandra.certificates().unwrap().ca_pem.clone();
    let login = |password: &str| {
        Some(CqlLogin { user: CassandraCluster::USER.to_owned(), password: password.into() })
    };
    let right = Settings {
        login: login(CassandraCluster::PASSWORD),
        tls: Some(CqlTls { ca: ca.clone(), certificate: None, key: None }),
        ..Settings::from_contact_points(&cassandra.contact_points().join(","), "secured")
    };
    migrate_keyspaces(&right).await.unwrap();
    let store = CqlStore::open(right.clone()).await.unwrap();
    store.write(sample_rows(0, TODAY), wall_now()).await.unwrap();
    assert_eq!(count_persons(&store, TODAY).await, 1);

    let quick = Settings { timeout: Duration::from_secs(3), ..right };
    expect_refused(CqlStore::open(Settings { login: login("guessed"), ..quick.clone() }).await, "");
    expect_refused(CqlStore::open(Settings { login: None, ..quick.clone() }).await, "");
    CqlStore::open(Settings { tls: None, ..quick.clone() }).await.unwrap_err();
    // A certificate that signs nothing, where the authority should be.
    let other = Some(CqlTls {
        ca: cassandra.certificates().unwrap().client_pem.clone(),
        certificate: None,
        key: None,
    });
    CqlStore::open(Settings { tls: other, ..quick.clone() }).await.unwrap_err();
    let half = Some(CqlTls { ca, certificate: Some("client.pem".into()), key: None });
    expect_refused(CqlStore::open(Settings { tls: half, ..quick }).await, "must both be set");
}
