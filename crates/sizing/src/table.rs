//! A size as a table for people, with a column for each house.

use crate::{
    HouseSize,
    engine_size::{MACHINE_DISK_BYTES, MACHINE_PROCESSORS},
    measured::{self, MeasuredFigure},
    number_text::{format_about, format_bytes, format_count, format_memory, format_processors},
    room_size::RoomSize,
};

/// Lines of a table: a name, then a cell for each house.
pub fn describe_sizes(sizes: &[HouseSize]) -> Vec<Vec<String>> {
    let mut lines = Vec::new();
    let mut add = |name: &str, cell: &dyn Fn(&HouseSize) -> String| {
        lines.push([name.to_owned()].into_iter().chain(sizes.iter().map(cell)).collect());
    };
    add("persons", &|of| format_count(of.question.persons));
    add("events a day", &|of| format_about(of.load.events_a_day));
    add("entries a day", &|of| format_about(of.load.entries_a_day));
    add("mails a day", &|of| format_about(of.load.mails_a_day));
    add("pushes a day", &|of| format_about(of.load.pushes_a_day));
    add("peak: events a second", &|of| format_about(of.load.events_a_second));
    add("peak: entries a second", &|of| format_about(of.load.entries_a_second));
    add("peak: pushes a second", &|of| format_about(of.load.pushes_a_second));
    add("peak: pages of feeds a second", &|of| format_about(of.load.pages_a_second));
    add("peak: streams of feeds", &|of| format_about(of.load.streams));
    add("peak: mails a second", &|of| {
        format!("{}, all in {} min", format_about(of.load.mails_a_second), of.question.digest_minutes)
    });
    add("partitions", &|of| of.partitions.to_string());
    for room in ["ingest", "fanout", "digest", "sender", "feed", "keeper"] {
        add(room, &|of| {
            of.rooms.iter().find(|found| found.room == room).map(describe_room).unwrap_or_default()
        });
    }
    add("all rooms", &|of| {
        let memory = of.memory_mib_of_rooms() as f64 * 1_048_576.0;
        format!("{} CPU, {}", format_processors(of.cpu_millis_of_rooms()), format_bytes(memory))
    });
    add("Kafka: written at the peak", &|of| format!("{}/s", format_bytes(of.kafka.bytes_a_second)));
    add("Kafka: one copy of what is kept", &|of| format_bytes(of.kafka.bytes_kept));
    add("Kafka: all copies", &|of| format_bytes(of.kafka.bytes_on_disks));
    add("Kafka: CPU", &|of| format_processors(of.kafka.cpu_millis));
    add("Kafka: brokers", &|of| of.kafka.brokers.to_string());
    add("tables: entries", &|of| format_about(of.tables.entries_kept));
    add("tables: messages in the journal", &|of| format_about(of.tables.messages_kept));
    add("tables: one copy of what is kept", &|of| format_bytes(of.tables.bytes_kept));
    add("tables: all copies", &|of| format_bytes(of.tables.bytes_on_disks));
    add("tables: CPU", &|of| format_processors(of.tables.cpu_millis));
    add("tables: nodes", &|of| of.tables.nodes.to_string());
    lines
}

fn describe_room(size: &RoomSize) -> String {
    let RoomSize { processes, cpu_millis, memory_mib, .. } = size;
    format!("{processes} × {} CPU, {}", format_processors(*cpu_millis), format_memory(*memory_mib))
}

/// What the numbers rest on, for below the table.
pub fn describe_assumptions(size: &HouseSize) -> Vec<String> {
    let HouseSize { question, kafka, .. } = size;
    vec![
        format!(
            "assumed of each person a day: entries {}, mails {}, pushes {}; an event concerns {}, each follows {}",
            question.entries_per_day,
            question.mails_per_day,
            question.pushes_per_day,
            question.persons_per_event,
            question.follows
        ),
        format!(
            "each looks at {} pages of their feed a day, {} % have a stream open in the busiest hour",
            question.pages_per_day, question.streams_percent
        ),
        format!(
            "the busiest hour has {} % of a day; {} copies; topics keep {} days, tables {}",
            question.peak_hour_percent, question.replication, kafka.days_kept, question.day_life
        ),
        format!(
            "processors, memory and disks are twice what was measured; a broker or node has {MACHINE_PROCESSORS} CPU and {}",
            format_bytes(MACHINE_DISK_BYTES)
        ),
    ]
}

/// The measured figures: name, value with its unit, and where it comes from.
pub fn describe_figures() -> Vec<[String; 3]> {
    let line = |figure: &MeasuredFigure| {
        let MeasuredFigure { name, value, unit, origin } = figure;
        [(*name).to_owned(), format!("{value} {unit}"), (*origin).to_owned()]
    };
    measured::ALL.iter().map(line).collect()
}
