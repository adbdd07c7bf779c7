//! A room that wants nothing of before.

use std::sync::Mutex;

use super::*;

/// Keeps what it is given, and whether a partition was its own by then.
#[derive(Default)]
struct TailWork {
    begins_at_end: bool,
    given: Arc<Mutex<Vec<Vec<u8>>>>,
}

#[async_trait]
impl RoomWork for TailWork {
    fn begins_at_end(&self) -> bool {
        self.begins_at_end
    }

    async fn turn(&mut self, batch: &RecordBatch, _closing: Option<i64>) -> anyhow::Result<Vec<NewRecord>> {
        self.given.lock().unwrap().extend(batch.records.iter().map(|record| record.key.clone()));
        Ok(Vec::new())
    }
}

#[tokio::test]
async fn who_begins_at_the_end_is_given_what_comes_and_nothing_of_before() {
    let check = async |begins_at_end: bool, expected: &[&str]| {
        let dir = tempfile::tempdir().unwrap();
        let topics = EmbeddedTopics::open(dir.path(), Clock::still(0)).unwrap();
        let names: [TopicName; 2] = ["lead".into(), "beside".into()];
        let spec = |name: &TopicName| TopicSpec {
            name: name.clone(),
            partitions: 2,
            retention: TopicRetention::Milliseconds(i64::MAX),
        };
        topics.declare(&names.each_ref().map(spec)).await.unwrap();
        let record = |topic: &TopicName, key: &str| NewRecord {
            topic: topic.clone(),
            partition: 1,
            key: key.as_bytes().to_vec(),
            value: None,
            headers: Vec::new(),
        };
        topics.append(vec![record(&names[0], "old"), record(&names[1], "old beside")]).await.unwrap();
        let shutdown = ShutdownSignal::default();
        let drive = DriveDeps {
            topics: Arc::new(topics.clone()),
            membership: GroupMembership {
                group: "tail".into(),
                lead: names[0].clone(),
                companions: vec![names[1].clone()],
                state: None,
                mode: TurnGuarantee::Plain,
            },
            clock: Clock::still(0),
            quiet: WorkTracker::default(),
            shutdown: shutdown.clone(),
            records_max: 10,
            metrics: GroupTurnMetrics::default(),
        };
        let given: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
        let mut work = TailWork { begins_at_end, given: given.clone() };
        let room = tokio::spawn(async move { run_room(drive, &mut work).await });
        let wait_for = async |count: u64| {
            let read = async || {
                let standing = topics.standing("tail", "lead").await.unwrap();
                standing.iter().map(|at| at.committed).sum::<u64>()
            };
            let wait = async {
                while read().await < count {
                    retry::wait_real_time(Duration::from_millis(1)).await;
                }
            };
            timeout(PATIENCE, wait).await.unwrap();
        };
        // One old record is skipped or read: either way it is behind the group then.
        wait_for(1).await;
        topics.append(vec![record(&names[1], "new beside"), record(&names[0], "new")]).await.unwrap();
        wait_for(2).await;
        shutdown.start();
        timeout(PATIENCE, room).await.unwrap().unwrap().unwrap();
        let mut found: Vec<String> =
            given.lock().unwrap().iter().map(|key| String::from_utf8(key.clone()).unwrap()).collect();
        found.sort();
        assert_eq!(found, expected);
    };
    check(true, &["new", "new beside"]).await;
    check(false, &["new", "new beside", "old", "old beside"]).await;
}
