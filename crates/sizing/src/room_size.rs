//! How many processes of each room, and how large.

use serde::Serialize;

use crate::{
    measured,
    number_text::round_up,
    question::{HouseLoad, RESERVE, SizeQuestion},
};

/// Two of each room, so that one may go.
const PROCESSES_MIN: u64 = 2;
/// A process is given so much of a processor at most; more load becomes more processes.
const PROCESS_MILLIS_MAX: u64 = 1_000;
/// And so much at least: it starts within seconds, and answers probes.
const PROCESS_MILLIS_MIN: u64 = 100;
const MILLIS_STEP: u64 = 50;
/// Of a room's partitions a process owns so many at most: when it goes, no other gets more than it can take up at once.
const PROCESS_PARTITIONS_MAX: u64 = 128;
/// A digest is given so much memory at most. What it remembers is read back when a partition moves.
const DIGEST_MIB_MAX: u64 = 2_048;
/// Streams that a feed takes at once, and what it keeps in memory of persons at most.
const FEED_STREAMS_MAX: f64 = 10_000.0;
const FEED_KEPT_MIB: f64 = 192.0;
const MEMORY_STEP: u64 = 64;
const MIB: f64 = 1_048_576.0;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct RoomSize {
    pub room: &'static str,
    pub processes: u64,
    /// Of each process.
    pub cpu_millis: u64,
    pub memory_mib: u64,
}

impl RoomSize {
    pub fn cpu_millis_of_all(&self) -> u64 {
        self.processes * self.cpu_millis
    }

    pub fn memory_mib_of_all(&self) -> u64 {
        self.processes * self.memory_mib
    }
}

/// The rooms in the order in which data flows, with the keeper behind them.
pub fn size_rooms(question: &SizeQuestion, load: &HouseLoad, partitions: u64) -> Vec<RoomSize> {
    let HouseLoad { events_a_second, entries_a_second, .. } = *load;
    let messages = load.messages_a_second();
    let ingest = events_a_second * measured::INGEST_CPU.value;
    let fanout = events_a_second * measured::FANOUT_EVENT_CPU.value
        + entries_a_second * measured::FANOUT_ROW_CPU.value;
    let digest = (entries_a_second + messages) * measured::DIGEST_CPU.value;
    let sender = messages * measured::SENDER_CPU.value;
    let persons_mib = question.persons as f64 * measured::PERSON_MEMORY.value * RESERVE / MIB;
    vec![
        size_room("ingest", ingest, 0.0, partitions),
        size_room("fanout", fanout, 0.0, partitions),
        size_room("digest", digest, persons_mib, partitions),
        size_room("sender", sender, 0.0, partitions),
        size_feed(load),
        // It deletes what has expired, and one is enough.
        RoomSize { processes: 1, ..size_room("keeper", 0.0, 0.0, 1) },
    ]
}

/// Each process of it answers anybody, and each reads all that the log says of persons, so it has nothing to do with partitions.
fn size_feed(load: &HouseLoad) -> RoomSize {
    let HouseLoad { pages_a_second, streams, entries_a_second, .. } = *load;
    let pages = pages_a_second * measured::FEED_PAGE_CPU.value * RESERVE;
    let hears = entries_a_second * measured::FEED_RECORD_CPU.value * RESERVE;
    // At a whole processor for what all of them read, more processes would not help.
    let left = (PROCESS_MILLIS_MAX as f64 - hears).max(MILLIS_STEP as f64);
    let for_pages = round_up(pages / left, 1);
    let for_streams = round_up(streams / FEED_STREAMS_MAX, 1);
    let processes = for_pages.max(for_streams).max(PROCESSES_MIN);
    let of_one = |all: f64| all / processes as f64;
    let streams_mib = of_one(streams) * measured::STREAM_MEMORY.value * 1_000.0 * RESERVE / MIB;
    RoomSize {
        room: "feed",
        processes,
        cpu_millis: round_up(of_one(pages) + hears, MILLIS_STEP).max(PROCESS_MILLIS_MIN),
        memory_mib: round_up(
            measured::PROCESS_MEMORY.value * RESERVE + FEED_KEPT_MIB + streams_mib,
            MEMORY_STEP,
        ),
    }
}

/// A room that uses so many milliseconds of processors in a second at its peak, and remembers so much.
fn size_room(room: &'static str, millis: f64, remembered_mib: f64, partitions: u64) -> RoomSize {
    let millis = millis * RESERVE;
    let fixed = measured::PROCESS_MEMORY.value * RESERVE;
    let room_for_persons = DIGEST_MIB_MAX as f64 - fixed;
    let for_millis = round_up(millis / PROCESS_MILLIS_MAX as f64, 1);
    let for_memory = round_up(remembered_mib / room_for_persons, 1);
    // A process above the partitions has nothing to read.
    let for_partitions = partitions.div_ceil(PROCESS_PARTITIONS_MAX);
    let processes =
        for_millis.max(for_memory).max(for_partitions).clamp(PROCESSES_MIN, partitions.max(PROCESSES_MIN));
    let own_partitions = partitions.div_ceil(processes) as f64;
    let memory =
        fixed + remembered_mib / processes as f64 + own_partitions * measured::PARTITION_MEMORY.value;
    RoomSize {
        room,
        processes,
        cpu_millis: round_up(millis / processes as f64, MILLIS_STEP).max(PROCESS_MILLIS_MIN),
        memory_mib: round_up(memory, MEMORY_STEP),
    }
}
