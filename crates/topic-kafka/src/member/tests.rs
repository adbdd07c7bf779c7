//! What a member and its thread share, step by step.

use topic::port::{TopicName, TopicRecord};

use super::{member_state::KafkaMemberShared, partition_slot::PartitionSlot};

/// A step, and what the positions of the lead and its companion are after it.
enum SlotStep {
    /// The group gives the partition and it is taken into hand, from these offsets on.
    Take(u64, u64),
    /// A record was read: side, offset.
    Read(usize, u64),
    /// A side was read up to here, marks included. Whether a position moved by that.
    Reach(usize, u64, bool),
    /// At most so many records are handed out; these offsets.
    Hand(usize, &'static [u64]),
    /// Reading goes back to these offsets.
    Rewind(u64, u64),
}

use SlotStep::{Hand, Reach, Read, Rewind, Take};

fn slot_record(side: usize, offset: u64) -> TopicRecord {
    let topic: TopicName = if side == 0 { "lead".into() } else { "companion".into() };
    TopicRecord { topic, partition: 3, offset, appended: 0, key: vec![], value: None, headers: vec![] }
}

fn check_steps(steps: &[(SlotStep, (u64, u64))]) {
    let shared = KafkaMemberShared::new("group".into());
    let mut state = shared.lock_state();
    let names: Vec<TopicName> = vec!["lead".into(), "companion".into()];
    let mut reading = 0;
    for (at, (step, wanted)) in steps.iter().enumerate() {
        match step {
            Take(lead, companion) => {
                state.give(&[3]);
                let claim = state.begin_takeover()[&3];
                state.end_takeover(true);
                let slot = PartitionSlot::new(claim, 7, &[*lead, *companion]);
                assert!(state.install(3, slot).is_ok());
                reading = state.reads;
            }
            Read(side, offset) => state.push(reading, *side, slot_record(*side, *offset)),
            Reach(side, offset, moved) => {
                assert_eq!(state.reach(3, reading, *side, *offset), *moved, "step {at}");
            }
            Hand(most, offsets) => {
                let found = state.batch(&[], *most).map(|batch| batch.records).unwrap_or_default();
                let found: Vec<u64> = found.iter().map(|record| record.offset).collect();
                assert_eq!(found, *offsets, "step {at}");
            }
            Rewind(lead, companion) => {
                let old = reading;
                state.restart(3, 7, vec![*lead, *companion], None);
                // What is still on its way from before is of no use.
                state.push(old, 0, slot_record(0, 99));
                assert!(!state.reach(3, old, 0, 99), "step {at}");
                reading = state.reads;
            }
        }
        let positions: Vec<u64> = state.positions(3, &names).into_iter().map(|(_, offset)| offset).collect();
        assert_eq!(positions, [wanted.0, wanted.1], "step {at}");
    }
}

#[test]
fn positions_follow_what_is_handed_out() {
    check_steps(&[
        (Take(5, 0), (5, 0)),
        (Read(0, 5), (5, 0)),
        (Read(1, 2), (5, 0)),
        (Read(0, 6), (5, 0)),
        (Hand(2, &[5, 2]), (6, 3)),
        (Hand(2, &[6]), (7, 3)),
        (Hand(2, &[]), (7, 3)),
    ]);
}

#[test]
fn positions_pass_marks_when_nothing_waits_before_them() {
    check_steps(&[
        (Take(0, 0), (0, 0)),
        (Reach(1, 4, true), (0, 4)),
        (Reach(1, 4, false), (0, 4)),
        (Read(0, 0), (0, 4)),
        (Read(0, 1), (0, 4)),
        // The mark behind both is passed with the last of them.
        (Reach(0, 3, false), (0, 4)),
        (Hand(1, &[0]), (1, 4)),
        (Hand(1, &[1]), (3, 4)),
    ]);
}

#[test]
fn what_was_read_before_rewinding_is_forgotten() {
    check_steps(&[
        (Take(2, 0), (2, 0)),
        (Read(0, 2), (2, 0)),
        (Read(0, 3), (2, 0)),
        (Hand(1, &[2]), (3, 0)),
        (Rewind(2, 0), (2, 0)),
        (Hand(9, &[]), (2, 0)),
        (Read(0, 2), (2, 0)),
        (Hand(9, &[2]), (3, 0)),
    ]);
}

#[test]
fn what_is_taken_back_is_told_and_then_let_go_of() {
    let shared = KafkaMemberShared::new("group".into());
    let take = || {
        let mut state = shared.lock_state();
        state.give(&[1]);
        let claim = state.begin_takeover()[&1];
        state.end_takeover(true);
        let slot = PartitionSlot::new(claim, 7, &[0]);
        assert!(state.install(1, slot).is_ok());
    };
    take();
    assert!(shared.lock_state().take_back(&[1], false).is_empty());
    assert!(shared.lock_state().holds_any(&[1]), "until the member has let go of it");
    assert_eq!(shared.lock_state().take_revoked(), Some(vec![1]));
    assert_eq!(shared.lock_state().generation(1), Some(7), "the turn in flight may still be committed");
    drop(shared.enter());
    assert!(!shared.lock_state().holds_any(&[1]));
    assert_eq!(shared.lock_state().take_revoked(), None);

    take();
    assert_eq!(shared.lock_state().take_back(&[1], true).len(), 1, "too late for the turn in flight");
    assert_eq!(shared.lock_state().generation(1), None);
    assert_eq!(shared.lock_state().take_revoked(), Some(vec![1]), "it is told all the same");
    // Taken over for a claim that is not the group's any more.
    shared.lock_state().give(&[1]);
    let old = PartitionSlot::new(1, 8, &[0]);
    assert!(shared.lock_state().install(1, old).is_err());
}

#[test]
fn a_member_says_where_it_stands() {
    let shared = KafkaMemberShared::new("group".into());
    let check = |expected: &[&str]| {
        let said = shared.lock_state().describe();
        assert!(expected.iter().all(|part| said.contains(part)), "{said}, not {expected:?}");
    };
    check(&["its room is at work for", "it was handed no records", "no partition is its own"]);
    drop(shared.lock_state().give(&[3]));
    let inside = shared.enter();
    check(&["it waits for what happens", "partition 3 given for"]);
    drop(inside);
    let claim = shared.lock_state().begin_takeover()[&3];
    check(&["partition 3 being taken over for"]);
    shared.lock_state().end_takeover(true);
    check(&["partition 3 taken over for"]);
    assert!(shared.lock_state().install(3, PartitionSlot::new(claim, 7, &[5, 0])).is_ok());
    check(&["has not begun", "partition 3 in hand (handed out to 5/0, read to 5/0, 0 waiting)"]);
    let reading = shared.lock_state().reads;
    shared.lock_state().followed = reading;
    shared.lock_state().push(reading, 0, slot_record(0, 5));
    check(&["partition 3 in hand (handed out to 5/0, read to 6/0, 1 waiting)"]);
    assert!(!shared.lock_state().describe().contains("has not begun"));
    assert!(shared.lock_state().batch(&[], 9).is_some());
    let call = shared.lock_state().begin_call("it commits");
    check(&["it was handed records", "it commits for", "handed out to 6/0, read to 6/0, 0 waiting"]);
    shared.lock_state().end_call(call);
    shared.lock_state().hold(3);
    assert!(!shared.lock_state().describe().contains("commits"));
    check(&["handed out to 6/0, read to 6/0, 0 waiting, held"]);
}
