//! How many Readys the sender reads. What finds no place goes back to its owner and comes round again, which costs more than
//! to leave it in the log; so a room that is slow reads less. One that only one channel or one tenant slows down does not.

use std::{collections::BTreeMap, time::Duration};

use model::{Channel, Tenant};

use crate::config::ROUND;

/// However slow it is, so many are read: another channel's may be among them.
const LEAST: usize = 8;

/// How many may come in the next round; without a number as many as usual.
#[derive(Debug, Default)]
pub(crate) struct AdaptiveBatchLimit {
    most: Option<usize>,
}

/// Whose places, and of which channel.
pub(crate) type SeatedGroup = (Channel, Tenant);

/// How the Readys of a round found their places.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct RoundSeating {
    pub placed: BTreeMap<SeatedGroup, usize>,
    pub turned_away: BTreeMap<SeatedGroup, usize>,
    /// Until the last of them had one.
    pub took: Duration,
}

impl AdaptiveBatchLimit {
    pub fn most(&self, usual: usize) -> usize {
        self.most.map_or(usual, |most| most.min(usual))
    }

    /// So many that they would have found places in half of the time that a round has for it.
    pub fn adjust_after(&mut self, round: &RoundSeating, usual: usize) {
        let is_quick = round.turned_away.is_empty() && round.took < ROUND / 2;
        // One channel or tenant that is slow must not keep the others behind it in the log.
        let keeps_others_back = round.placed.keys().any(|group| !round.turned_away.contains_key(group));
        self.most = match self.most {
            _ if !round.turned_away.is_empty() && keeps_others_back => None,
            Some(most) if is_quick => Some(most.saturating_mul(2)).filter(|most| *most < usual),
            None if is_quick => None,
            _ => {
                let placed = u32::try_from(round.placed.values().sum::<usize>()).unwrap_or(u32::MAX);
                let took = round.took.max(ROUND / 2).as_millis();
                let fit = u128::from(placed) * (ROUND / 2).as_millis() / took;
                Some(usize::try_from(fit).unwrap_or(usual).max(LEAST).min(usual))
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_slow_reads_less_and_who_is_quick_again_reads_more() {
        let of = |channel, tenant| (channel, Tenant::new(tenant).unwrap());
        let (mail, push) = (of(Channel::Email, "main"), of(Channel::Push, "main"));
        let other = of(Channel::Email, "other");
        let (mail, push, other) = (&mail, &push, &other);
        let round =
            |placed: &[(&SeatedGroup, usize)], turned_away: &[(&SeatedGroup, usize)], seconds: u64| {
                let count = |seats: &[(&SeatedGroup, usize)]| {
                    seats.iter().map(|(group, many)| ((*group).clone(), *many)).collect()
                };
                let (placed, turned_away) = (count(placed), count(turned_away));
                RoundSeating { placed, turned_away, took: Duration::from_secs(seconds) }
            };
        let check = |before: Option<usize>, round: RoundSeating, expected: usize| {
            let mut appetite = AdaptiveBatchLimit { most: before };
            appetite.adjust_after(&round, 512);
            assert_eq!(appetite.most(512), expected, "{before:?} {round:?}");
        };
        check(None, round(&[(mail, 512)], &[], 0), 512);
        check(None, round(&[(mail, 100)], &[(mail, 412)], 10), 50);
        check(None, round(&[], &[(mail, 512)], 10), 8);
        check(Some(50), round(&[(mail, 50)], &[], 5), 50);
        check(Some(50), round(&[(mail, 50)], &[], 8), 31);
        check(Some(50), round(&[(mail, 50)], &[], 1), 100);
        check(Some(400), round(&[(mail, 400)], &[], 1), 512);
        // Pushes lie between the mails, and would wait for them; so would mails of another tenant.
        check(Some(50), round(&[(mail, 9), (other, 1)], &[(mail, 40)], 10), 512);
        check(Some(50), round(&[(mail, 9), (push, 1)], &[(mail, 40)], 10), 512);
        check(None, round(&[], &[], 0), 512);
    }
}
