//! The room at work: it reads what is told of persons' days, from where the log ends when it begins, and lets go of what it
//! remembers of them. A turn writes nothing, so a process of it may come and go.

use async_trait::async_trait;
use runtime::retry::wait_real_time;
use topic::{
    GroupMembership, NewRecord, RecordBatch, TopicRecord, TurnGuarantee,
    drive::{RoomWork, run_room},
};
use wire::topics;

use crate::{
    apply,
    config::Config,
    config::RECORDS_MAX,
    deps::Deps,
    noted_streams::{LOOK_EVERY, NotedStreams},
    read::{self, LogNews},
};

/// Runs the room until the shutdown, or until an engine cannot go on.
pub async fn run(deps: Deps, config: Config) -> anyhow::Result<()> {
    let process = config.group.clone();
    let membership = GroupMembership {
        group: config.group,
        lead: topics::PENDING.into(),
        companions: vec![topics::INBOX.into()],
        state: None,
        mode: TurnGuarantee::Plain,
    };
    let drive = deps.room.build_drive(membership, RECORDS_MAX);
    let mut work = FeedWork(deps.clone());
    // Where the room cannot go on, nobody waits for the notes.
    let notes = async {
        note_streams(&deps, &process).await;
        anyhow::Ok(())
    };
    tokio::try_join!(run_room(drive, &mut work), notes).map(drop)
}

/// Notes who has a stream open until the shutdown, and then that all have ended. Where no surface asks there is nothing to do.
async fn note_streams(deps: &Deps, process: &str) {
    if !deps.room.catalogue.plans.surfaces.iter().any(|surface| surface.asks_live) {
        return;
    }
    let mut noted = NotedStreams::default();
    loop {
        tokio::select! {
            () = wait_real_time(LOOK_EVERY) => {}
            () = deps.room.shutdown.wait() => break,
        }
        apply::note_streams(deps, process, &mut noted, &deps.board.live.list_waiting()).await;
    }
    apply::note_streams(deps, process, &mut noted, &[]).await;
}

struct FeedWork(Deps);

#[async_trait]
impl RoomWork for FeedWork {
    /// What was announced before is in the store, where it is read when somebody asks.
    fn begins_at_end(&self) -> bool {
        true
    }

    fn restore(&mut self, partition: u32, _: Vec<TopicRecord>) -> anyhow::Result<()> {
        self.0.board.cover(partition, self.0.room.partitions);
        Ok(())
    }

    fn forget(&mut self, partition: u32) {
        self.0.board.uncover(partition, self.0.room.partitions);
    }

    async fn turn(&mut self, batch: &RecordBatch, _: Option<i64>) -> anyhow::Result<Vec<NewRecord>> {
        let LogNews { changed, marks, facts } = read::read_news(&batch.records);
        // Before anybody is told that there is something new, it is not to be found in what is kept.
        facts.iter().for_each(|whose| self.0.board.shelves.note_facts(whose));
        marks.iter().for_each(|feedback| self.0.board.shelves.note_marks(feedback));
        for (whose, changed) in changed {
            self.0.board.note_change(&whose, &changed);
        }
        self.0.metrics.count_records(batch.records.len());
        Ok(Vec::new())
    }
}
