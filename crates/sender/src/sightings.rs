//! How long the claims of other processes have stood. Clocks of two processes may be minutes apart, so a written
//! deadline cannot be trusted: a claim has expired when this process has seen it for as long as a claim may hold.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

/// Claims that are remembered, at most: of those of senders that have died and of those that are slow.
const SIGHTINGS_MAX: usize = 100_000;

/// When each claim was seen first, by its token.
#[derive(Debug, Default)]
pub(crate) struct ClaimSightings(Mutex<BTreeMap<[u8; 16], i64>>);

impl ClaimSightings {
    /// For how many milliseconds this claim has been seen to stand. What had to be forgotten is seen anew, and stands longer.
    pub fn standing_ms(&self, token: [u8; 16], now: i64) -> i64 {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() >= SIGHTINGS_MAX && !seen.contains_key(&token) {
            let mut firsts: Vec<i64> = seen.values().copied().collect();
            let (_, middle, _) = firsts.select_nth_unstable(SIGHTINGS_MAX / 2);
            let middle = *middle;
            // The older half is over or was never asked for again.
            seen.retain(|_, first| *first > middle);
        }
        now - *seen.entry(token).or_insert(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_stands_from_when_it_was_seen_first() {
        let sightings = ClaimSightings::default();
        assert_eq!(sightings.standing_ms([1; 16], 1_000), 0);
        assert_eq!(sightings.standing_ms([2; 16], 1_500), 0);
        assert_eq!(sightings.standing_ms([1; 16], 4_000), 3_000);
        assert_eq!(sightings.standing_ms([2; 16], 4_000), 2_500);
    }

    #[test]
    fn no_more_are_remembered_than_may_be() {
        let sightings = ClaimSightings::default();
        for number in 0..=u128::try_from(SIGHTINGS_MAX).unwrap() {
            sightings.standing_ms(number.to_be_bytes(), i64::try_from(number).unwrap());
        }
        let now = i64::try_from(SIGHTINGS_MAX).unwrap() + 10;
        assert!(sightings.0.lock().unwrap().len() <= SIGHTINGS_MAX / 2 + 1);
        assert_eq!(sightings.standing_ms(u128::try_from(SIGHTINGS_MAX).unwrap().to_be_bytes(), now), 10);
        assert_eq!(sightings.standing_ms(0_u128.to_be_bytes(), now), 0, "it is seen anew");
    }
}
