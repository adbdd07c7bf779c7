//! A partition that cannot go on stands still alone, and closings leave room for reading.

use std::{
    collections::BTreeSet,
    sync::{Mutex, atomic::AtomicBool},
};

use runtime::standstill::Standstill;

use super::*;

/// A room that does not take everything, and the offsets that it has heard by partition.
#[derive(Clone, Default)]
struct Choosy {
    heard: Arc<[Mutex<BTreeSet<u64>>; 2]>,
    mended: Arc<AtomicBool>,
    /// What is in the way, in partition 0.
    fault: Option<Fault>,
    closings: Arc<AtomicU32>,
    decided: [Vec<u64>; 2],
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Fault {
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

impl Choosy {
    fn meets(&self, partition: u32, fault: Fault) -> bool {
        partition == 0 && self.fault == Some(fault) && !self.mended.load(Ordering::SeqCst)
    }

    fn heard(&self, partition: usize) -> usize {
        self.heard[partition].lock().unwrap().len()
    }
}

#[async_trait]
impl Work for Choosy {
    fn restore(&mut self, partition: u32, _state: Vec<Record>) -> anyhow::Result<()> {
        anyhow::ensure!(!self.meets(partition, Fault::State), "no record of ours");
        Ok(())
    }

    fn due(&self, partition: u32) -> Option<i64> {
        let due = self.meets(partition, Fault::PanicClosing) || self.meets(partition, Fault::AlwaysDue);
        due.then_some(0)
    }

    async fn turn(&mut self, batch: &Batch, closing: Option<i64>) -> anyhow::Result<Vec<NewRecord>> {
        let partition = batch.partition;
        assert!(closing.is_some() || !self.meets(partition, Fault::PanicReading), "a bad record");
        assert!(closing.is_none() || !self.meets(partition, Fault::PanicClosing), "a bad window");
        anyhow::ensure!(!self.meets(partition, Fault::Turn), "a turn that cannot be decided");
        self.closings.fetch_add(u32::from(closing.is_some()), Ordering::SeqCst);
        self.decided[partition as usize] = batch.records.iter().map(|record| record.offset).collect();
        Ok(Vec::new())
    }

    async fn committed(&mut self, partition: u32) -> anyhow::Result<()> {
        let heard = std::mem::take(&mut self.decided[partition as usize]);
        self.heard[partition as usize].lock().unwrap().extend(heard);
        Ok(())
    }
}

/// Runs a room on a log of two partitions with some records each, beside whoever looks on.
async fn beside<F: Future<Output = ()>>(room: &Choosy, look: impl FnOnce(Quiet) -> F) {
    const RECORDS: u8 = 20;
    let (dir, clock, shutdown) = (tempfile::tempdir().unwrap(), Clock::still(1_000), Shutdown::default());
    let engine = Arc::new(Embedded::open(dir.path(), clock.clone()).unwrap());
    let spec = |name: &str, retention| TopicSpec { name: name.into(), partitions: 2, retention };
    let specs = [spec("lead", Retention::Milliseconds(1_000)), spec("state", Retention::Compacted)];
    engine.declare(&specs).await.unwrap();
    let record = |n: u8| {
        let (topic, value) = ("lead".into(), Some(vec![n]));
        NewRecord { topic, partition: u32::from(n % 2), key: vec![1], value, headers: vec![] }
    };
    engine.append((0..2 * RECORDS).map(record).collect()).await.unwrap();
    let (group, lead, state) = ("group".into(), "lead".into(), Some("state".into()));
    let membership = Membership { group, lead, companions: vec![], state, mode: Mode::Atomic };
    let (quiet, stop, mut work) = (Quiet::default(), shutdown.clone(), room.clone());
    let standstills = quiet.standstills().clone();
    let looks = look(quiet.clone());
    let drive =
        drive(Drive { topics: engine, membership, clock, quiet, shutdown, records_max: 3 }, &mut work);
    let looked = async {
        until(|| room.heard(1) == usize::from(RECORDS)).await;
        looks.await;
        room.mended.store(true, Ordering::SeqCst);
        until(|| room.heard(0) == usize::from(RECORDS) && standstills.list().is_empty()).await;
        stop.start();
    };
    let (ran, ()) = timeout(PATIENCE, async { tokio::join!(drive, looked) }).await.unwrap();
    ran.unwrap();
}

async fn until(holds: impl Fn() -> bool) {
    while !holds() {
        retry::wait(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn a_partition_that_cannot_go_on_stands_still_alone_and_goes_on_once_it_is_mended() {
    let cases = [
        (Fault::State, "restore partition 0: no record of ours"),
        (Fault::PanicReading, "it panicked: a bad record"),
        (Fault::PanicClosing, "it panicked: a bad window"),
        (Fault::Turn, "a turn that cannot be decided"),
    ];
    for (fault, why) in cases {
        let room = Choosy { fault: Some(fault), ..Choosy::default() };
        let for_good = fault != Fault::Turn;
        beside(&room, |quiet| async move {
            until(|| !quiet.standstills().list().is_empty()).await;
            let standstill =
                Standstill { group: "group".into(), partition: 0, why: why.to_owned(), for_good };
            assert_eq!(quiet.standstills().list(), [standstill], "{fault:?}");
        })
        .await;
    }
}

#[tokio::test]
async fn a_partition_that_is_always_due_keeps_nobody_from_reading() {
    let room = Choosy { fault: Some(Fault::AlwaysDue), ..Choosy::default() };
    beside(&room, |_| async {
        until(|| room.heard(0) == 20).await;
        let closings = room.closings.load(Ordering::SeqCst);
        until(|| room.closings.load(Ordering::SeqCst) > closings + 20).await;
    })
    .await;
}
