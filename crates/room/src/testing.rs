//! What the tests of all rooms share: catalogues with templates that say little, engines in a folder with all topics
//! declared, and a way to wait until a room has read what there is.

use std::sync::Arc;

use catalogue::Catalogue;
use model::{DayLife, Person, SubjectRef, Tenant, UtcMillis, partition::PartitionCount};
use runtime::{Clock, WorkTracker};
use store_embedded::EmbeddedStore;
use tempfile::TempDir;
use topic::{TopicRecord, TopicRetention, TopicSpec, Topics, embedded::EmbeddedTopics};
use wire::topics::{self, KeepPolicy};

use crate::Deps;

/// How long days live in the tests of rooms.
pub const LIFE: DayLife = DayLife::LEAST;

/// A catalogue whose templates, `mail.mjml` and all others, say of each entry what its kind says.
pub fn parse_catalogue(text: &str) -> Catalogue {
    let template = |name: &str| match name {
        "mail.mjml" => {
            Ok("<mjml><mj-body>{% for i in items %}{{ i.says }}{% endfor %}</mj-body></mjml>".to_owned())
        }
        _ => Ok("{% for i in items %}{{ i.says }}{% endfor %}".to_owned()),
    };
    Catalogue::parse_for(LIFE, text, "catalogue.yaml", &template)
        .unwrap_or_else(|problems| panic!("{problems}"))
}

pub fn parse_instant(text: &str) -> UtcMillis {
    UtcMillis::parse(text).unwrap()
}

/// The tenant of all that a test does.
pub fn tenant() -> Tenant {
    Tenant::new("main").unwrap()
}

pub fn person(name: &str) -> Person {
    Person::new(name).unwrap()
}

pub fn subject(text: &str) -> SubjectRef {
    SubjectRef::new(text).unwrap()
}

/// Embedded engines in a folder that goes with them, and a clock that stands still.
pub struct RoomEngines {
    _dir: TempDir,
    pub clock: Clock,
    pub topics: EmbeddedTopics,
    pub store: Arc<EmbeddedStore>,
}

impl RoomEngines {
    /// With all topics declared.
    pub async fn open(now: UtcMillis) -> Self {
        let dir = TempDir::new().unwrap();
        let clock = Clock::still(now.0);
        let topics = EmbeddedTopics::open(&dir.path().join("topics"), clock.clone()).unwrap();
        declare_topics(&topics).await;
        let store = Arc::new(EmbeddedStore::open_for(&dir.path().join("store"), LIFE).unwrap());
        Self { _dir: dir, clock, topics, store }
    }

    /// For a room on these very engines.
    pub fn deps(&self, catalogue: Catalogue) -> Deps {
        Deps::for_one_room(
            Arc::new(self.topics.clone()),
            self.store.clone(),
            Arc::new(catalogue),
            self.clock.clone(),
        )
    }
}

/// Declares every topic as a house does.
pub async fn declare_topics(topics: &dyn Topics) {
    let specs = topics::all_topics(PartitionCount::USUAL).map(|(name, partitions, keep)| {
        let retention = match keep {
            KeepPolicy::Millis(ms) => TopicRetention::Milliseconds(ms),
            KeepPolicy::Latest => TopicRetention::Compacted,
        };
        TopicSpec { name: name.into(), partitions, retention }
    });
    topics.declare(&specs).await.unwrap();
}

/// Everything on a topic, a partition after the other.
pub async fn list_records(topics: &dyn Topics, topic: &str) -> Vec<TopicRecord> {
    let mut records = Vec::new();
    for (partition, (from, _)) in (0..).zip(topics.bounds(topic).await.unwrap()) {
        records.extend(topics.read(topic, partition, from, 100_000).await.unwrap());
    }
    records
}

/// Waits until each of these groups, one after the other, has committed all that is on its topic.
pub async fn wait_until_read(topics: &dyn Topics, quiet: &WorkTracker, readings: &[(&str, &str)]) {
    for (group, topic) in readings {
        loop {
            let (_, changes) = quiet.idle_state();
            let standings = topics.standing(group, topic).await.unwrap();
            if standings.iter().all(|at| at.committed == at.end) {
                break;
            }
            quiet.wait_for_change(changes).await;
        }
    }
}
