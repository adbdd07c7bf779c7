//! A partition that cannot go on stands still alone, and closings leave room for reading.

use std::{
    collections::BTreeSet,
    sync::{Mutex, atomic::AtomicBool},
};

use runtime::standstill::PartitionStandstill;

use super::*;

/// A room that does not take everything, and the offsets that it has heard by partition.
#[derive(Clone, Default)]
struct ChoosyWork {
    heard: Arc<[Mutex<BTreeSet<u64>>; 2]>,
    mended: Arc<AtomicBool>,
    /// What is in the way, in partition 0.
    fault: Option<ChoosyFault>,
    closings: Arc<AtomicU32>,
    decided: [Vec<u64>; 2],
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum ChoosyFault {
    /// Its state cannot be read.
    State,
    /// Its records make the room panic.
    PanicReading,
    /// So does what is due.
    PanicClosing,
    /// Its turns cannot be decided.
    Turn,
    /// It is always due.
    AlwaysDue,
}

impl ChoosyWork {
    fn meets(&self, partition: u32, fault: ChoosyFault) -> bool {
        partition == 0 && self.fault == Some(fault) && !self.mended.load(Ordering::SeqCst)
    }

    fn heard_count(&self, partition: usize) -> usize {
        self.heard[partition].lock().unwrap().len()
    }
}

#[async_trait]
impl RoomWork for ChoosyWork {
    fn restore(&mut self, partition: u32, _state: Vec<TopicRecord>) -> anyhow::Result<()> {
        anyhow::ensure!(!self.meets(partition, ChoosyFault::State), "no record of ours");
        Ok(())
    }

    fn due(&self, partition: u32) -> Option<i64> {
        let due =
            self.meets(partition, ChoosyFault::PanicClosing) || self.meets(partition, ChoosyFault::AlwaysDue);
        due.then_some(0)
    }

    async fn turn(&mut self, batch: &RecordBatch, closing: Option<i64>) -> anyhow::Result<Vec<NewRecord>> {
        let partition = batch.partition;
        assert!(closing.is_some() || !self.meets(partition, ChoosyFault::PanicReading), "a bad record");
        assert!(closing.is_none() || !self.meets(partition, ChoosyFault::PanicClosing), "a bad window");
        anyhow::ensure!(!self.meets(partition, ChoosyFault::Turn), "a turn that cannot be decided");
        self.closings.fetch_add(u32::from(closing.is_some()), Ordering::SeqCst);
        self.decided[partition as usize] = batch.records.iter().map(|record| record.offset).collect();
        Ok(Vec::new())
    }

    async fn after_commit(&mut self, partition: u32) -> anyhow::Result<()> {
        let heard = std::mem::take(&mut self.decided[partition as usize]);
        self.heard[partition as usize].lock().unwrap().extend(heard);
        Ok(())
    }
}

/// Runs a room on a log of two partitions with some records each, beside whoever looks on.
async fn run_beside<F: Future<Output = ()>>(room: &ChoosyWork, look: impl FnOnce(WorkTracker) -> F) {
    const RECORDS: u8 = 20;
    let (dir, clock, shutdown) =
        (tempfile::tempdir().unwrap(), Clock::still(1_000), ShutdownSignal::default());
    let engine = Arc::new(EmbeddedTopics::open(dir.path(), clock.clone()).unwrap());
    let spec = |name: &str, retention| TopicSpec { name: name.into(), partitions: 2, retention };
    let specs = [spec("lead", TopicRetention::Milliseconds(1_000)), spec("state", TopicRetention::Compacted)];
    engine.declare(&specs).await.unwrap();
    let record = |n: u8| {
        let (topic, value) = ("lead".into(), Some(vec![n]));
        NewRecord { topic, partition: u32::from(n % 2), key: vec![1], value, headers: vec![] }
    };
    engine.append((0..2 * RECORDS).map(record).collect()).await.unwrap();
    let (group, lead, state) = ("group".into(), "lead".into(), Some("state".into()));
    let membership = GroupMembership { group, lead, companions: vec![], state, mode: TurnGuarantee::Atomic };
    let (quiet, stop, mut work) = (WorkTracker::default(), shutdown.clone(), room.clone());
    let standstills = quiet.standstills().clone();
    let looks = look(quiet.clone());
    let drive = run_room(
        DriveDeps {
            topics: engine,
            membership,
            clock,
            quiet,
            shutdown,
            records_max: 3,
            metrics: GroupTurnMetrics::default(),
        },
        &mut work,
    );
    let looked = async {
        wait_until(|| room.heard_count(1) == usize::from(RECORDS)).await;
        looks.await;
        room.mended.store(true, Ordering::SeqCst);
        wait_until(|| room.heard_count(0) == usize::from(RECORDS) && standstills.list().is_empty()).await;
        stop.start();
    };
    let (ran, ()) = timeout(PATIENCE, async { tokio::join!(drive, looked) }).await.unwrap();
    ran.unwrap();
}

async fn wait_until(holds: impl Fn() -> bool) {
    while !holds() {
        retry::wait_real_time(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn a_partition_that_cannot_go_on_stands_still_alone_and_goes_on_once_it_is_mended() {
    let cases = [
        (ChoosyFault::State, "restore partition 0: no record of ours"),
        (ChoosyFault::PanicReading, "it panicked: a bad record"),
        (ChoosyFault::PanicClosing, "it panicked: a bad window"),
        (ChoosyFault::Turn, "a turn that cannot be decided"),
    ];
    for (fault, why) in cases {
        let room = ChoosyWork { fault: Some(fault), ..ChoosyWork::default() };
        let for_good = fault != ChoosyFault::Turn;
        run_beside(&room, |quiet| async move {
            wait_until(|| !quiet.standstills().list().is_empty()).await;
            let standstill =
                PartitionStandstill { group: "group".into(), partition: 0, why: why.to_owned(), for_good };
            assert_eq!(quiet.standstills().list(), [standstill], "{fault:?}");
        })
        .await;
    }
}

#[tokio::test]
async fn a_partition_that_is_always_due_keeps_nobody_from_reading() {
    let room = ChoosyWork { fault: Some(ChoosyFault::AlwaysDue), ..ChoosyWork::default() };
    run_beside(&room, |_| async {
        wait_until(|| room.heard_count(0) == 20).await;
        let closings = room.closings.load(Ordering::SeqCst);
        wait_until(|| room.closings.load(Ordering::SeqCst) > closings + 20).await;
    })
    .await;
}
