//! Who has a stream of their feed open, in any process: each process notes it with the instant until which it is believed, and
//! notes it anew while the stream lasts. Of a process that dies nobody believes it for long.

use std::sync::Arc;

use model::{UtcMillis, Value, ValueCell, VersionedState};
use store::RemovedCell;

/// For so long a note is believed, and after so long it is made anew.
pub const BELIEVED_MS: i64 = 90_000;
pub const RENEWED_MS: i64 = 30_000;

/// What a process notes of somebody whose stream is open.
pub fn note_open(process: &str, now: UtcMillis) -> VersionedState {
    note(process, now, Some(Value::Time(now.plus(BELIEVED_MS))))
}

/// What it notes when the last of their streams has ended.
pub fn note_ended(process: &str, now: UtcMillis) -> VersionedState {
    note(process, now, None)
}

fn note(process: &str, now: UtcMillis, value: Option<Value>) -> VersionedState {
    let mut state = VersionedState::default();
    state.set(process, ValueCell { version: now.0, value });
    state
}

/// What processes noted that nobody believes for a while now.
pub fn list_stale(noted: &VersionedState, now: UtcMillis) -> Vec<RemovedCell> {
    let is_stale = |cell: &ValueCell| {
        matches!(cell.value, Some(Value::Time(until)) if until.plus(BELIEVED_MS) < now)
            || cell.value.is_none()
    };
    let stale = noted.cells.iter().filter(|(_, cell)| is_stale(cell));
    stale.map(|(name, cell)| (Arc::clone(name), cell.version)).collect()
}

/// Whether any process has a stream of theirs open.
pub fn is_open(noted: &VersionedState, now: UtcMillis) -> bool {
    noted.cells.values().any(|cell| matches!(cell.value, Some(Value::Time(until)) if until > now))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_open_while_any_process_says_so() {
        let mut noted = VersionedState::default();
        let check = |noted: &VersionedState, at: i64, expected: bool| {
            assert_eq!(is_open(noted, UtcMillis(at)), expected, "{at}: {noted:?}");
        };
        check(&noted, 0, false);
        noted.merge(&note_open("a", UtcMillis(0)));
        noted.merge(&note_open("b", UtcMillis(10)));
        check(&noted, 10, true);
        noted.merge(&note_ended("a", UtcMillis(20)));
        check(&noted, 20, true);
        check(&noted, 9 + BELIEVED_MS, true);
        check(&noted, 10 + BELIEVED_MS, false);
        noted.merge(&note_ended("b", UtcMillis(30)));
        check(&noted, 30, false);
        let stale = |noted: &VersionedState, at: i64| {
            list_stale(noted, UtcMillis(at)).into_iter().map(|(name, _)| name.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(stale(&noted, 30), ["a", "b"], "what ended and was not forgotten");
        noted.merge(&note_open("a", UtcMillis(40)));
        assert_eq!(stale(&noted, 40 + BELIEVED_MS), ["b"]);
        assert_eq!(stale(&noted, 41 + 2 * BELIEVED_MS), ["a", "b"]);
        const { assert!(2 * RENEWED_MS < BELIEVED_MS, "one note may be late") };
    }
}
