//! How much of a long log is read for an event that is asked for by its name.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use model::partition::PartitionCount;
use topic::{TopicError, TopicRecord, Topics, decorator::TopicsDecorator};
use wire::topics;

use super::*;

/// Events that were announced long before, and as many long after.
const OTHERS: u8 = 40;
const EACH: u8 = 50;

/// Counts the events that are read of it.
#[derive(Debug)]
struct CountedReads {
    inner: Arc<dyn Topics>,
    read: AtomicUsize,
}

#[async_trait]
impl TopicsDecorator for CountedReads {
    fn inner(&self) -> &dyn Topics {
        &*self.inner
    }

    async fn read(
        &self,
        topic: &str,
        partition: u32,
        from: u64,
        most: usize,
    ) -> Result<Vec<TopicRecord>, TopicError> {
        let records = self.inner.read(topic, partition, from, most).await?;
        if topic == topics::EVENTS {
            self.read.fetch_add(records.len(), Ordering::Relaxed);
        }
        Ok(records)
    }
}

#[tokio::test]
async fn an_event_is_looked_for_where_it_was_heard() {
    let dir = tempfile::tempdir().unwrap();
    let clock = runtime::Clock::still(UtcMillis::parse(testing::START).unwrap().0);
    let ground = testing::open_fixture(dir.path(), &clock).await;
    let engines = ground.house.engines();
    let partitions =
        PartitionCount::from_topic_count(engines.topics.bounds(topics::EVENTS).await.unwrap().len());
    let append_others = async |first: u8| {
        let of = |n: u8| {
            (0..EACH).map(move |m| Event {
                key: EventKey([n, m].repeat(8).try_into().unwrap()),
                ..event("item.made")
            })
        };
        for n in first..first + OTHERS {
            let records =
                of(n).map(|event| room::records::event_record(&event, Vec::new(), partitions).unwrap());
            engines.topics.append(records.collect()).await.unwrap();
        }
    };
    append_others(0).await;
    ground.house.settle().await.unwrap();
    clock.advance(3_600_000);
    ground.offer_item("item:9", "maker:1", "Alone").await;
    clock.advance(3_600_000);
    append_others(OTHERS).await;
    ground.house.settle().await.unwrap();

    let counted = CountedReads { inner: engines.topics.clone(), read: AtomicUsize::new(0) };
    let check = async |asked: &str, expected: &[&str], most: usize| {
        counted.read.store(0, Ordering::Relaxed);
        let target = ExplainTarget::parse(asked).unwrap();
        let (tenant, ann, now) = (tenant(), Person::new("ann").unwrap(), UtcMillis(clock.now()));
        let catalogue = testing::test_catalogue();
        let whose = (&tenant, &ann);
        let found =
            load_evidence((&counted, &*engines.store), whose, &target, &catalogue, now).await.unwrap();
        let subjects: Vec<&str> = found.events.iter().map(|event| event.subject.as_str()).collect();
        let read = counted.read.load(Ordering::Relaxed);
        assert_eq!(subjects, expected, "{asked}");
        assert!(read <= most, "{asked}: {read} events were read");
        found.events.first().map(|event| event.key.to_string())
    };
    // A page of the partition in which it lies.
    let key = check("t/item:9", &["item:9"], 200).await.unwrap();
    check(&key, &["item:9"], 200).await;
    // Of what nobody kept a first word all has to be read.
    let all = usize::from(OTHERS) * usize::from(EACH) * 2;
    check("t/nothing", &[], 2 * all).await;
    let other = EventKey([3; 16]).to_string();
    check(&other, &["item:1"], 2 * all).await;
    ground.close();
}
