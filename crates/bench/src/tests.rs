//! Every bench runs small as a test: its oracle must hold, its figures must be figures, and of what it made in a
//! cluster nothing may be left.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
    time::Duration,
};

use model::{Day, DayRow, Person, SubjectRef, UtcMillis, entry::DayKey};
use rdkafka::consumer::{BaseConsumer, Consumer as _};

use crate::{
    BenchClusters, BenchReport,
    clusters::own_prefix,
    embedded_engines::open_embedded,
    fairness::{self, FairnessFindings, FairnessLoad},
    fanout_room::bench_tenant,
    feed_load::{FeedLoad, PERSONS},
    ready_load::URGENT_PLAN,
};

const PATIENCE: Duration = Duration::from_secs(120);

fn check_report(report: &BenchReport) {
    assert!(report.oracle.held, "{report}");
    assert!(!report.figures.is_empty());
    for figure in &report.figures {
        assert!(figure.value > 0.0 && figure.against > 0.0 && figure.ratio.is_finite(), "{report}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_bench_runs_small_and_its_oracle_holds() {
    // Those that run the program are tried where the program is: tests/kill.
    for bench in crate::BENCHES.iter().filter(|bench| !bench.runs_program && !bench.needs_clusters) {
        // Enough people that some are near.
        let size = if bench.name == "near" { 20_000 } else { 300 };
        check_report(&crate::run_bench(bench.name, Some(size), None, Path::new(""), &|_| {}).await.unwrap());
    }
}

/// Long before the queue of the other tenant is through: its courier takes its time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_urgent_push_does_not_wait_for_the_queue_of_another_tenant() {
    let load = FairnessLoad {
        queued: 20_000,
        pushes: 50,
        plan: URGENT_PLAN,
        courier_takes: Duration::from_millis(100),
        config: sender::Config::default(),
    };
    let findings = measure_fairness(&load).await;
    let queue = load.courier_takes * u32::try_from(load.queued / load.config.at_once_max).unwrap();
    let latest = findings.late.last().unwrap();
    assert!(*latest < queue / 2, "it left after {latest:?}, the queue takes {queue:?}");
}

/// What lies in one lane with the messages of a tenant whose server does not answer: its places are its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tenant_whose_server_is_slow_leaves_places_to_another() {
    let tenants = ["loud", "quiet"].map(|name| model::Tenant::new(name).unwrap());
    let shares = house_facts::tenant_shares::TenantShares::default().among(&tenants.into());
    let load = FairnessLoad {
        queued: 200,
        pushes: 50,
        plan: "at_once",
        courier_takes: Duration::from_secs(30),
        config: sender::Config { shares: Arc::new(shares), ..sender::Config::default() },
    };
    let findings = measure_fairness(&load).await;
    let latest = findings.late.last().unwrap();
    assert!(*latest < load.courier_takes, "it left after {latest:?}");
}

/// What the oracle of feeds expects is what lies in the store: of each page its edits, the page that was edited last first.
#[tokio::test]
async fn feeds_are_written_as_they_are_expected() {
    for entries in [1, 40, 3_000] {
        let dir = tempfile::tempdir().unwrap();
        let (_topics, store) = open_embedded(dir.path()).unwrap();
        let load = FeedLoad::new(entries).unwrap();
        load.fill(&*store).await.unwrap();
        for person in [0, PERSONS - 1] {
            let days: BTreeSet<Day> =
                (0..entries).map(|number| Day::from_instant(load.occurred(number).unwrap())).collect();
            let name = Person::new(&FeedLoad::person_name(person)).unwrap();
            let key = |day: &Day| DayKey { tenant: bench_tenant().unwrap(), person: name.clone(), day: *day };
            let keys: Vec<DayKey> = days.iter().map(key).collect();
            let rows = store.read(&keys, load.occurred(0).unwrap().plus(1_000)).await.unwrap().concat();
            assert_eq!(rows.len(), entries);
            let mut pages = BTreeMap::<SubjectRef, (UtcMillis, usize)>::new();
            for row in rows {
                let DayRow::Entry(entry) = row else { panic!("a row is no entry") };
                let page = pages.entry(entry.subject).or_insert((entry.key.occurred, 0));
                *page = (page.0.max(entry.key.occurred), page.1 + 1);
            }
            let mut newest: Vec<_> = pages.into_iter().map(|(page, (at, edits))| (at, page, edits)).collect();
            newest.sort_unstable_by(|a, b| b.cmp(a));
            let first: Vec<_> =
                newest.into_iter().take(10).map(|(_, page, edits)| (page.to_string(), edits)).collect();
            assert_eq!(load.first_page(person, 10).unwrap(), first, "person {person} of {entries} entries");
        }
    }
}

async fn measure_fairness(load: &FairnessLoad) -> FairnessFindings {
    let dir = tempfile::tempdir().unwrap();
    let (topics, store) = open_embedded(dir.path()).unwrap();
    let findings = fairness::measure(load, topics, store, &|_| {}).await.unwrap();
    assert_eq!(findings.wrong, None);
    assert_eq!(findings.late.len(), load.pushes);
    findings
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_clusters_too_and_nothing_is_left_there_also_after_a_failure() {
    let clusters = BenchClusters {
        kafka: topic_kafka::Settings::for_brokers(engines::kafka().unwrap()),
        cql: store_cql::Settings::from_contact_points(engines::cql().unwrap(), "tidings"),
    };
    // Of a run that was killed there may be something.
    let before = list_bench_objects(&clusters).await;
    let there: Vec<_> = crate::BENCHES
        .iter()
        .filter(|bench| bench.on_clusters && !bench.runs_program && !bench.has_peer)
        .collect();
    assert!(!there.is_empty());
    for bench in there {
        let report =
            crate::run_bench(bench.name, Some(300), Some(&clusters), Path::new(""), &|_| {}).await.unwrap();
        check_report(&report);
        assert!(report.engine.contains("Kafka"), "{report}");
        assert_eq!(await_leftovers(&clusters, &before).await, BTreeSet::new(), "after `{}`", bench.name);
    }
    // Its topics are made by the time that its tables cannot be.
    let nowhere = BTreeMap::from([("nowhere".to_owned(), 1)]);
    let cql = store_cql::Settings { replication: nowhere, ..clusters.cql.clone() };
    let fails = BenchClusters { cql, ..clusters.clone() };
    let failed = crate::run_bench("fanout", Some(300), Some(&fails), Path::new(""), &|_| {}).await;
    assert!(failed.unwrap_err().to_string().contains("lay out a keyspace"));
    assert_eq!(await_leftovers(&clusters, &before).await, BTreeSet::new(), "after a failure");
}

/// What is there beside what was there before, once a cluster has had the time to forget what is removed.
async fn await_leftovers(clusters: &BenchClusters, before: &BTreeSet<String>) -> BTreeSet<String> {
    let waited = runtime::clock::SteadyStopwatch::start();
    loop {
        let left: BTreeSet<String> = list_bench_objects(clusters).await.difference(before).cloned().collect();
        if left.is_empty() || waited.elapsed() > PATIENCE {
            return left;
        }
        runtime::retry::pause_before_retry(2, 0).await;
    }
}

/// Topics and keyspaces of benches.
async fn list_bench_objects(clusters: &BenchClusters) -> BTreeSet<String> {
    let session = store_cql::open_session(&clusters.cql).await.unwrap();
    let query = "SELECT keyspace_name FROM system_schema.keyspaces";
    let rows = session.query_unpaged(query, ()).await.unwrap().into_rows_result().unwrap();
    let keyspaces = rows.rows::<(String,)>().unwrap().map(|row| row.unwrap().0);
    let client: BaseConsumer = topic_kafka::client_config(&clusters.kafka).create().unwrap();
    let metadata = client.fetch_metadata(None, PATIENCE).unwrap();
    let topics = metadata.topics().iter().map(|topic| topic.name().to_owned());
    keyspaces.chain(topics).filter(|name| name.starts_with(&own_prefix())).collect()
}

#[tokio::test]
async fn what_is_not_there_is_told_with_what_is() {
    let nowhere = BenchClusters {
        kafka: topic_kafka::Settings::for_brokers("127.0.0.1:1"),
        cql: store_cql::Settings::from_contact_points("127.0.0.1:1", "tidings"),
    };
    for (name, clusters, says) in [
        ("fan", None, "there is no bench `fan`: try one of log, rows, fanout"),
        ("near", Some(&nowhere), "with `--engine production` there is fanout, crowd, route"),
        ("route", Some(&nowhere), "`make engines` starts a Kafka"),
    ] {
        let error =
            crate::run_bench(name, None, clusters, Path::new(""), &|_| {}).await.unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}
