//! The room at work: it reads what is told of persons' days, from where the log ends when it begins, and lets go of what it
//! remembers of them. A turn writes nothing, so a process of it may come and go.

use async_trait::async_trait;
use topic::{
    GroupMembership, NewRecord, RecordBatch, TopicRecord, TurnGuarantee,
    drive::{RoomWork, run_room},
};
use wire::topics;

use crate::{config::Config, config::RECORDS_MAX, deps::Deps, read};

/// Runs the room until the shutdown, or until an engine cannot go on.
pub async fn run(deps: Deps, config: Config) -> anyhow::Result<()> {
    let membership = GroupMembership {
        group: config.group,
        lead: topics::PENDING.into(),
        companions: vec![topics::INBOX.into()],
        state: None,
        mode: TurnGuarantee::Plain,
    };
    let drive = deps.room.build_drive(membership, RECORDS_MAX);
    run_room(drive, &mut FeedWork(deps)).await
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
        for (whose, changed) in read::read_changes(&batch.records) {
            self.0.board.note_change(&whose, &changed);
        }
        self.0.metrics.count_records(batch.records.len());
        Ok(Vec::new())
    }
}
