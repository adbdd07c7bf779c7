//! The mark of a backup. Topics and tables are copied one after the other, and neither shows by itself as of when it is.
//! So both keep the instant at which a stopped house was about to be copied, and the tables keep when a process started
//! on them afterwards. After a restore one can then see whether both are of one backup.

use std::collections::BTreeMap;

use anyhow::Context as _;
use house::book::HouseBook;
use model::{UtcMillis, Value, VersionedState};
use serde::Serialize;
use store::Store;
use topic::Topics;
use upkeep::repartition;
use wire::topics;

use super::{
    NotReadyError,
    identity::{self, house_key},
};

/// Fields of the house's own state.
const MARK: &str = "backup";
const START: &str = "started";
/// What only a house writes to, but for its notes of itself.
const OWN_TOPICS: [&str; 9] = [
    topics::EVENTS,
    topics::SLICES,
    topics::INBOX,
    topics::PENDING,
    topics::WINDOWS,
    topics::READY_URGENT,
    topics::READY,
    topics::RETURNS,
    topics::ERASURES,
];

/// Which backup topics and tables are of, as they say themselves.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct BackupMarks {
    pub house: String,
    #[serde(serialize_with = "write_instant")]
    pub topics: Option<UtcMillis>,
    #[serde(serialize_with = "write_instant")]
    pub tables: Option<UtcMillis>,
    /// When a process started on the tables after their mark.
    #[serde(serialize_with = "write_instant")]
    pub tables_went_on: Option<UtcMillis>,
    /// Records that a house appended after the mark of the topics, by topic.
    pub topics_went_on: BTreeMap<&'static str, u64>,
}

#[allow(clippy::ref_option, reason = "serde gives it so")]
fn write_instant<S: serde::Serializer>(at: &Option<UtcMillis>, to: S) -> Result<S::Ok, S::Error> {
    at.map(|at| at.to_string()).serialize(to)
}

impl BackupMarks {
    /// Why a house must not start on these as they are; nothing where both are of one backup.
    pub fn find_gaps(&self) -> Vec<String> {
        let Self { topics, tables, tables_went_on, topics_went_on, .. } = self;
        let (Some(of_topics), Some(of_tables)) = (topics, tables) else {
            return vec!["no backup was marked in the tables: nobody can say whether they are of the same time as the topics"
                .to_owned()];
        };
        let mut gaps = Vec::new();
        if of_topics < of_tables {
            gaps.push(format!(
                "the topics are of the backup of {of_topics}, the tables of a later one, {of_tables}: restore the tables of {of_topics}"
            ));
        }
        if of_tables < of_topics {
            gaps.push(format!(
                "the tables are of the backup of {of_tables}, the topics of a later one, {of_topics}: restore the topics of {of_tables}"
            ));
        }
        if !topics_went_on.is_empty() {
            let each = topics_went_on.iter().map(|(name, count)| format!("{count} in `{name}`"));
            gaps.push(format!(
                "the topics went on after their mark of {of_topics}: {}",
                each.collect::<Vec<_>>().join(", ")
            ));
        }
        if let Some(at) = tables_went_on {
            gaps.push(format!("the tables went on after their mark of {of_tables}: a house started at {at}"));
        }
        gaps
    }
}

/// Marks a stopped house, before its topics and tables are copied.
pub async fn write_backup_mark(
    log: &dyn Topics,
    store: &dyn Store,
    names: (&str, &str),
    now: UtcMillis,
) -> anyhow::Result<BackupMarks> {
    identity::check_identity(log, store, names).await?;
    let members = repartition::find_members(log).await?;
    if !members.is_empty() {
        return Err(NotReadyError(members.join("\n")).into());
    }
    let house = HouseBook::read(log).await?.house().unwrap_or_default().to_owned();
    let state = VersionedState::from_values(
        now.0,
        [(MARK, Some(Value::from_text(&now.0.to_string()))), (START, None)],
    );
    store.merge(vec![(house_key()?, state)]).await.context("mark the tables")?;
    HouseBook::write_house_name(log, &house, now).await.context("mark the topics")?;
    read_backup_marks(log, store, names).await
}

/// Reads which backup these are of.
pub async fn read_backup_marks(
    log: &dyn Topics,
    store: &dyn Store,
    names: (&str, &str),
) -> anyhow::Result<BackupMarks> {
    identity::check_identity(log, store, names).await?;
    let book = HouseBook::read(log).await?;
    let states = store.states(&[house_key()?]).await.context("read the mark of the tables")?;
    let read = |field: &str| {
        let text = states.first().and_then(|state| state.text(field))?;
        text.parse().ok().map(UtcMillis)
    };
    let mut topics_went_on = BTreeMap::new();
    if let Some(appended) = book.house_appended() {
        for name in OWN_TOPICS {
            let count =
                count_since(log, name, appended + 1).await.with_context(|| format!("look into `{name}`"))?;
            if count > 0 {
                topics_went_on.insert(name, count);
            }
        }
    }
    Ok(BackupMarks {
        house: book.house().unwrap_or_default().to_owned(),
        topics: book.house_at(),
        tables: read(MARK),
        tables_went_on: read(START),
        topics_went_on,
    })
}

/// Notes in marked tables that a house starts on them.
pub async fn note_start(store: &dyn Store, now: UtcMillis) -> anyhow::Result<()> {
    let states = store.states(&[house_key()?]).await.context("read the mark of the tables")?;
    let has = |field: &str| states.first().is_some_and(|state| state.text(field).is_some());
    if has(MARK) && !has(START) {
        let started =
            VersionedState::from_values(now.0, [(START, Some(Value::from_text(&now.0.to_string())))]);
        store.merge(vec![(house_key()?, started)]).await.context("note the start in the tables")?;
    }
    Ok(())
}

/// Records from an instant on. The end of a transaction takes an offset and is no record.
async fn count_since(log: &dyn Topics, topic: &str, at: i64) -> anyhow::Result<u64> {
    let (bounds, since) = (log.bounds(topic).await?, log.since(topic, at).await?);
    let mut count = 0;
    for ((partition, (_, end)), from) in (0..).zip(bounds).zip(since) {
        if from < end
            && let Some(first) = log.read(topic, partition, from, 1).await?.first()
        {
            count += end.saturating_sub(first.offset);
        }
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use model::partition::PartitionCount;
    use runtime::Clock;
    use store_embedded::EmbeddedStore;
    use topic::{NewRecord, embedded::EmbeddedTopics};

    use super::*;

    #[test]
    fn what_is_not_of_one_backup_is_said() {
        let check =
            |topics: Option<i64>, tables: Option<i64>, went_on: (u64, Option<i64>), expect: &[&str]| {
                let (records, started) = went_on;
                let marks = BackupMarks {
                    house: "a".into(),
                    topics: topics.map(UtcMillis),
                    tables: tables.map(UtcMillis),
                    tables_went_on: started.map(UtcMillis),
                    topics_went_on: (records > 0).then_some((topics::EVENTS, records)).into_iter().collect(),
                };
                let gaps = marks.find_gaps();
                assert_eq!(gaps.len(), expect.len(), "{gaps:?}");
                for (gap, expect) in gaps.iter().zip(expect) {
                    assert!(gap.contains(expect), "{gap}");
                }
            };
        check(Some(5), Some(5), (0, None), &[]);
        check(Some(5), None, (0, None), &["no backup was marked"]);
        check(None, None, (0, None), &["no backup was marked"]);
        check(Some(4), Some(5), (0, None), &["the tables of a later one"]);
        check(Some(6), Some(5), (0, None), &["the topics of a later one"]);
        check(
            Some(5),
            Some(5),
            (7, None),
            &["went on after their mark of 1970-01-01T00:00:00.005Z: 7 in `events`"],
        );
        check(Some(5), Some(5), (0, Some(9)), &["a house started at"]);
        check(Some(4), Some(5), (1, Some(9)), &["restore the tables", "topics went on", "tables went on"]);
    }

    #[tokio::test]
    async fn a_mark_is_in_both_and_what_comes_after_it_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        let clock = Clock::still(1_000_000);
        let log = EmbeddedTopics::open(&dir.path().join("log"), clock.clone()).unwrap();
        house::declare_topics(&log, PartitionCount::new(4).unwrap()).await.unwrap();
        let store = EmbeddedStore::open(&dir.path().join("store")).unwrap();
        let names = ("srd.", "tidings");
        let now = || UtcMillis(clock.now());
        assert!(write_backup_mark(&log, &store, names, now()).await.is_err(), "nobody has named it");
        identity::name_house(&log, &store, names, now()).await.unwrap();
        let gaps = async || read_backup_marks(&log, &store, names).await.unwrap().find_gaps();
        assert!(gaps().await[0].contains("no backup was marked"));
        // Who has never marked a backup notes no start either.
        note_start(&store, now()).await.unwrap();

        clock.advance_to(2_000_000);
        let marked = write_backup_mark(&log, &store, names, now()).await.unwrap();
        assert_eq!((marked.topics, marked.tables), (Some(now()), Some(now())));
        assert_eq!(marked.find_gaps(), Vec::<String>::new());
        clock.advance_to(2_000_001);
        note_start(&store, now()).await.unwrap();
        let event = NewRecord {
            topic: topics::EVENTS.into(),
            partition: 2,
            key: b"k".to_vec(),
            value: Some(b"v".to_vec()),
            headers: Vec::new(),
        };
        log.append(vec![event]).await.unwrap();
        let went_on = gaps().await;
        assert!(
            went_on[0].contains("1 in `events`") && went_on[1].contains("a house started at"),
            "{went_on:?}"
        );
        // The next backup begins anew.
        clock.advance_to(3_000_000);
        assert_eq!(
            write_backup_mark(&log, &store, names, now()).await.unwrap().find_gaps(),
            Vec::<String>::new()
        );
    }
}
