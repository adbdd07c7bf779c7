//! Backoff between retries: doubling, capped, with jitter, so that callers that failed together do not retry together.

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

/// Asks until the answer is no error that passes, with a pause before each further try; after so many further tries the
/// last answer stands.
pub async fn retry_while<T, E, F: Future<Output = Result<T, E>>>(
    further_tries_max: u32,
    passes: impl Fn(&E) -> bool,
    mut ask: impl FnMut() -> F,
) -> Result<T, E> {
    let mut tries = 0;
    loop {
        match ask().await {
            Err(error) if tries < further_tries_max && passes(&error) => pause_before_retry(tries, 0).await,
            answer => return answer,
        }
        tries += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_passes_is_asked_again_so_often() {
        // The answers in the order in which they come: an error of 0 passes, any other does not.
        let check = async |answers: &[Result<&str, u8>], further_tries_max, expected| {
            let mut left = answers.iter();
            let ask = || std::future::ready(*left.next().unwrap());
            assert_eq!(
                retry_while(further_tries_max, |error| *error == 0, ask).await,
                expected,
                "{answers:?}"
            );
            assert_eq!(left.len(), 0, "{answers:?}");
        };
        check(&[Ok("a")], 0, Ok("a")).await;
        check(&[Err(0)], 0, Err(0)).await;
        check(&[Err(0), Ok("a")], 1, Ok("a")).await;
        check(&[Err(0), Err(0), Err(0)], 2, Err(0)).await;
        check(&[Err(0), Err(1)], 4, Err(1)).await;
    }

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
