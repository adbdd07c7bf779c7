//! Law 3: time is accepted or refused, never altered; judged by the record's own append time, so that the
//! verdict is the same whenever it is read.

use model::{
    Day, EntryKey, EventKey, UtcMillis,
    event::{EventTimeError, check_timely},
    limits::{AHEAD_MS_MAX, LAST_CALL_MS, LATE_MS_MAX},
};
use proptest::prelude::*;

use crate::{names::LIFE, seeds::check_values};

#[test]
fn law_3_time_is_accepted_or_refused() {
    let around = |edge: i64| (edge - 3..=edge + 3).boxed();
    let offset = prop_oneof![
        around(AHEAD_MS_MAX),
        around(-LATE_MS_MAX),
        around(0),
        (-2 * LATE_MS_MAX..2 * AHEAD_MS_MAX).boxed(),
        any::<i64>().boxed(),
    ];
    let appended = prop_oneof![4 => 0..4_000_000_000_000_i64, 1 => any::<i64>()];
    check_values(2_000, (appended, offset), |(appended, offset)| {
        check_case(UtcMillis(appended), UtcMillis(appended).plus(offset))
    });
}

fn check_case(appended: UtcMillis, occurred: UtcMillis) -> Result<(), TestCaseError> {
    // In wide numbers, where nothing saturates.
    let ahead = i128::from(occurred.0) - i128::from(appended.0);
    let verdict = check_timely(occurred, appended);
    match verdict {
        Ok(()) => {
            prop_assert!(
                ahead <= i128::from(AHEAD_MS_MAX),
                "{occurred} is {ahead} ms ahead and was accepted"
            );
            prop_assert!(
                -ahead <= i128::from(LATE_MS_MAX),
                "{occurred} is {} ms late and was accepted",
                -ahead
            );
            // What is accepted has its own time and day, and enough of the day is left to be told.
            let key = EntryKey { occurred, event: EventKey([1; 16]) };
            prop_assert_eq!(EntryKey::from_bytes(&key.to_bytes()), Some(key));
            prop_assert_eq!(key.day(), Day::from_instant(occurred));
            if appended.0.abs() < 1 << 53 {
                prop_assert!(key.day().start() <= occurred && occurred < key.day().plus(1).start());
                prop_assert!(
                    LIFE.expiry(key.day()).since(appended) >= LIFE.ms() - LATE_MS_MAX - LAST_CALL_MS
                );
            }
        }
        Err(EventTimeError::Late { occurred: said, appended: by }) => {
            prop_assert!(-ahead > i128::from(LATE_MS_MAX) && (said, by) == (occurred, appended));
        }
        Err(EventTimeError::Ahead { occurred: said, appended: by }) => {
            prop_assert!(ahead > i128::from(AHEAD_MS_MAX) && (said, by) == (occurred, appended));
        }
    }
    prop_assert_eq!(check_timely(occurred, appended), verdict);
    Ok(())
}
