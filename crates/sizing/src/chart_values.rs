//! A size as values of the Helm chart.

use std::fmt::Write as _;

use crate::{
    HouseSize,
    number_text::{format_about, format_count, format_processors},
    room_size::RoomSize,
};

/// From so many persons on, rooms that can be scaled at any time are.
const SCALED_FROM: u64 = 10_000_000;
/// Of a room that is scaled, at most.
const SCALED_MAX: u64 = 64;
/// Digests of more than these keep their partitions over a restart.
const DEPLOYED_DIGESTS_MAX: u64 = 2;
/// How far a stage of a large house may be behind before intake waits.
const LARGE_LAG: u64 = 1_000_000;

/// The values, as YAML.
pub fn write_chart_values(size: &HouseSize) -> String {
    let HouseSize { question, load, partitions, rooms, .. } = size;
    let is_scaled = question.persons >= SCALED_FROM;
    let (persons, mails) = (format_count(question.persons), format_about(load.mails_a_second));
    let minutes = question.digest_minutes;
    let mut text = format!(
        "# For {persons} persons and {mails} mails a second, as `tidings size --persons {} --digests-within {minutes}m --values`\n\
         # prints it. Put it before your own values; docs/sizing.md has the arithmetic.\n",
        question.persons
    );
    if is_scaled {
        text += "# Nobody has run a house of this size: measure first.\n";
    }
    let lag = if is_scaled { format!("\n  limits: {{lag: {LARGE_LAG}}}") } else { String::new() };
    // Writing to a text does not fail.
    write!(text, "config:\n  partitions: {partitions}{lag}\nrooms:\n").ok();
    // The chart has one keeper, and its own size for it.
    for room in rooms.iter().filter(|room| room.room != "keeper") {
        text += &write_room(room, is_scaled, *partitions);
    }
    text
}

fn write_room(size: &RoomSize, is_scaled: bool, partitions: u64) -> String {
    let RoomSize { room, processes, cpu_millis, memory_mib } = size;
    let most = SCALED_MAX.max(*processes);
    // Only a feed has work where there is no partition for it.
    let most = if *room == "feed" { most } else { most.min(partitions) };
    let count = match (*room, is_scaled) {
        ("digest", _) if *processes > DEPLOYED_DIGESTS_MAX => {
            format!("    kind: StatefulSet\n    replicas: {processes}\n")
        }
        ("ingest" | "feed", true) => {
            format!("    autoscaling: {{kind: hpa, minReplicas: {processes}, maxReplicas: {most}}}\n")
        }
        ("fanout", true) => {
            format!(
                "    autoscaling: {{kind: keda, minReplicas: {processes}, maxReplicas: {most}, lagThreshold: 5000}}\n"
            )
        }
        ("sender", true) => {
            format!(
                "    autoscaling: {{kind: keda, minReplicas: {processes}, maxReplicas: {most}, lagThreshold: 2000}}\n"
            )
        }
        _ => format!("    replicas: {processes}\n"),
    };
    let cpu = format_processors(*cpu_millis);
    format!(
        "  {room}:\n{count}    resources:\n      requests: {{cpu: {cpu}, memory: {memory_mib}Mi}}\n      limits: {{memory: {}Mi}}\n",
        memory_mib * 2
    )
}
