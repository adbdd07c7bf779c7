//! Spacing between tries: doubling, capped, with jitter, so that many who failed together do not come
//! back together.

use std::time::Duration;

const FIRST_MS: u64 = 50;
const MOST_MS: u64 = 10_000;
const LONG_MS: u64 = 60_000;

/// How long to wait before try number `tries + 1`. `salt` spreads those who failed at the same time.
pub fn retry_delay(tries: u32, salt: u64) -> Duration {
    delay_within(tries, salt, MOST_MS)
}

/// The same for what hardly mends itself: at most a minute.
pub fn long_retry_delay(tries: u32, salt: u64) -> Duration {
    delay_within(tries, salt, LONG_MS)
}

fn delay_within(tries: u32, salt: u64, most: u64) -> Duration {
    let full = FIRST_MS.saturating_mul(1 << tries.min(16)).min(most);
    // Between half and all of it.
    let jitter = salt.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    Duration::from_millis(full / 2 + jitter % (full / 2 + 1))
}

/// Waits in real time: spacing tries at an engine is IO, not a decision.
#[allow(clippy::disallowed_methods, reason = "real time on purpose")]
pub async fn pause_before_retry(tries: u32, salt: u64) {
    tokio::time::sleep(retry_delay(tries, salt)).await;
}

/// Waits so long in real time, for an engine that tells nobody when to ask again.
#[allow(clippy::disallowed_methods, reason = "real time on purpose")]
pub async fn wait_real_time(time: Duration) {
    tokio::time::sleep(time).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_and_are_capped() {
        for tries in 0..40 {
            for salt in 0..50 {
                let ms = u64::try_from(retry_delay(tries, salt).as_millis()).unwrap();
                let full = (FIRST_MS << tries.min(16)).min(MOST_MS);
                assert!((full / 2..=full).contains(&ms), "{tries} {salt} {ms}");
            }
        }
    }
}
