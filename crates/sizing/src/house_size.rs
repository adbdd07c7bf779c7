//! The whole answer.

use model::{limits::PARTITIONS_MAX, partition::PartitionCount};
use serde::Serialize;

use crate::{
    engine_size::{self, KafkaSize, TableSize},
    question::{HouseLoad, SizeQuestion},
    room_size::{self, RoomSize},
};

/// A partition begins with so many persons at most: a house that grows fourfold still has partitions that are read back
/// within seconds.
const PARTITION_PERSONS: u64 = 40_000;
/// Fewer leave no room for more processes.
const PARTITIONS_MIN: u64 = 32;

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct HouseSize {
    pub question: SizeQuestion,
    pub load: HouseLoad,
    pub partitions: u64,
    pub rooms: Vec<RoomSize>,
    pub kafka: KafkaSize,
    pub tables: TableSize,
}

pub fn compute_size(question: SizeQuestion) -> HouseSize {
    let load = question.load();
    let partitions = choose_partitions(question.persons);
    let rooms = room_size::size_rooms(&question, &load, u64::from(partitions.count()));
    let kafka = engine_size::size_kafka(&question, &load, partitions);
    let tables = engine_size::size_tables(&question, &load);
    HouseSize { question, load, partitions: u64::from(partitions.count()), rooms, kafka, tables }
}

/// A power of two: it is divided evenly among many numbers of processes.
fn choose_partitions(persons: u64) -> PartitionCount {
    let needed = persons.div_ceil(PARTITION_PERSONS).next_power_of_two();
    let count = needed.clamp(PARTITIONS_MIN, u64::from(PARTITIONS_MAX));
    u32::try_from(count).ok().and_then(PartitionCount::new).unwrap_or(PartitionCount::USUAL)
}

impl HouseSize {
    pub fn cpu_millis_of_rooms(&self) -> u64 {
        self.rooms.iter().map(RoomSize::cpu_millis_of_all).sum()
    }

    pub fn memory_mib_of_rooms(&self) -> u64 {
        self.rooms.iter().map(RoomSize::memory_mib_of_all).sum()
    }
}
