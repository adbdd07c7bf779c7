//! The arithmetic: cases, and what holds for all houses.

use proptest::prelude::*;

use crate::{HouseSize, SizeQuestion, compute_size, measured, number_text};

#[test]
fn a_house_is_as_large_as_its_people_need() {
    // Persons, minutes for the digests: partitions, digests, senders, brokers, nodes.
    let check = |persons: u64, digest_minutes: u32, expect: (u64, u64, u64, u64, u64)| {
        let size = compute_size(SizeQuestion { digest_minutes, ..SizeQuestion::usual(persons) });
        let count = |room: &str| size.rooms.iter().find(|found| found.room == room).unwrap().processes;
        let (brokers, nodes) = (size.kafka.brokers, size.tables.nodes);
        let found = (size.partitions, count("digest"), count("sender"), brokers, nodes);
        assert_eq!(found, expect, "{persons} in {digest_minutes} min");
    };
    check(1, 60, (32, 2, 2, 3, 3));
    check(100_000, 10, (32, 2, 2, 3, 3));
}

#[test]
fn numbers_are_short() {
    let check = |found: String, expect: &str| assert_eq!(found, expect);
    for (value, expect) in [
        (0.0, "0"),
        (0.1234, "0.12"),
        (1.0, "1"),
        (9.96, "10"),
        (166.6, "170"),
        (2_777.7, "2,800"),
        (27_777.7, "28,000"),
        (5_000_000.0, "5,000,000"),
    ] {
        check(number_text::format_about(value), expect);
    }
    for (value, expect) in [(1_234, "1,234"), (999, "999"), (100_000, "100,000"), (1_000_000, "1,000,000")] {
        check(number_text::format_count(value), expect);
    }
    for (value, expect) in
        [(12.0, "12 B"), (999.6, "1 kB"), (1_530.0, "1.5 kB"), (4.2e12, "4.2 TB"), (123e9, "120 GB")]
    {
        check(number_text::format_bytes(value), expect);
    }
    for (value, expect) in [(100, "0.1"), (1_000, "1"), (350, "0.35"), (18_200, "18.2")] {
        check(number_text::format_processors(value), expect);
    }
    for (value, expect) in [(256, "256 MiB"), (1_024, "1 GiB"), (1_536, "1.5 GiB"), (1_088, "1088 MiB")] {
        check(number_text::format_memory(value), expect);
    }
}

#[test]
fn every_figure_says_where_it_comes_from() {
    for figure in measured::ALL {
        assert!(figure.value > 0.0 && !figure.unit.is_empty() && figure.origin.len() > 20, "{figure:?}");
    }
}

/// All that is printed of a size and must not shrink when more is asked of it.
fn amounts(size: &HouseSize) -> Vec<(&'static str, f64)> {
    let mut all = vec![
        ("partitions", size.partitions as f64),
        ("bytes in topics", size.kafka.bytes_on_disks),
        ("bytes a second", size.kafka.bytes_a_second),
        ("processors of Kafka", size.kafka.cpu_millis as f64),
        ("brokers", size.kafka.brokers as f64),
        ("bytes in tables", size.tables.bytes_on_disks),
        ("processors of tables", size.tables.cpu_millis as f64),
        ("nodes", size.tables.nodes as f64),
    ];
    all.extend(size.rooms.iter().map(|room| (room.room, room.processes as f64)));
    all
}

fn drawn_question() -> impl Strategy<Value = SizeQuestion> {
    let rates = (0.0..50.0, 1.0..1_000.0, 0.0..10.0, 0.0..50.0, 0.0..500.0);
    let feeds = (0.0..50.0, 0.0..100.0);
    (1u64..200_000_000, rates, feeds, 1u32..1_440, 1.0..100.0, 1u32..5).prop_map(
        |(
            persons,
            (entries, audience, mails, pushes, follows),
            (pages, streams),
            minutes,
            percent,
            copies,
        )| SizeQuestion {
            persons,
            entries_per_day: entries,
            persons_per_event: audience,
            mails_per_day: mails,
            pushes_per_day: pushes,
            follows,
            pages_per_day: pages,
            streams_percent: streams,
            day_life: 90,
            digest_minutes: minutes,
            peak_hour_percent: percent,
            replication: copies,
        },
    )
}

proptest! {
    #[test]
    fn more_people_never_need_less(question in drawn_question(), more in 1u64..200_000_000) {
        let (few, many) = (compute_size(question), compute_size(SizeQuestion { persons: question.persons + more, ..question }));
        for ((name, less), (_, not_less)) in amounts(&few).into_iter().zip(amounts(&many)) {
            prop_assert!(less <= not_less, "{name}: {less} for {}, {not_less} for {more} more", question.persons);
        }
    }

    #[test]
    fn more_time_never_needs_more(question in drawn_question(), minutes in 1u32..1_440) {
        let (fast, slow) = (
            compute_size(question),
            compute_size(SizeQuestion { digest_minutes: question.digest_minutes + minutes, ..question }),
        );
        for ((name, more), (_, less)) in amounts(&fast).into_iter().zip(amounts(&slow)) {
            prop_assert!(less <= more, "{name}");
        }
    }

    /// Each process has something to read, and all together bear the peak twice.
    #[test]
    fn rooms_bear_their_peak(question in drawn_question()) {
        let size = compute_size(question);
        for room in size.rooms.iter().filter(|room| room.room != "feed") {
            prop_assert!(room.processes <= size.partitions, "{room:?}");
        }
        let feed = size.rooms.iter().find(|room| room.room == "feed").unwrap();
        prop_assert!(feed.processes as f64 * 10_000.0 >= size.load.streams, "{feed:?}");
        let millis = size.load.messages_a_second() * measured::SENDER_CPU.value * 2.0;
        let sender = size.rooms.iter().find(|room| room.room == "sender").unwrap();
        prop_assert!(sender.cpu_millis_of_all() as f64 >= millis, "{sender:?} for {millis} ms a second");
    }
}
