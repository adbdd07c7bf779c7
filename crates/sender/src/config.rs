//! What can be set about the sender.

use std::{sync::Arc, time::Duration};

use house_facts::tenant_shares::TenantShares;
use model::ReadyId;

use crate::{links::MailLinks, returns::ReturnAddresses};

/// The groups under which it reads: what is urgent, and all else.
pub const URGENT_GROUP: &str = "sender-urgent";
pub const GROUP: &str = "sender";

/// Milliseconds before the second try of a Ready that could not be handed over; doubles with each try, and is up to a quarter longer.
pub const RETRY_MS_FIRST: i64 = 30_000;
/// The longest wait between two tries.
pub const RETRY_MS_MAX: i64 = 3_600_000;

/// How often the store is asked right before a message goes.
pub const TRIES: u32 = 3;
/// How long the sender waits at its end for deliveries that are under way: of one that it leaves, nobody may know whether it
/// was sent. With the round before it that is within the 20 s in which a process drains.
pub const GOODBYE: Duration = Duration::from_secs(12);
/// How long a Ready that its owner calls back stays here, if it may be in somebody's hands.
pub const RECALL: Duration = Duration::from_secs(1);
/// How long a round begins deliveries; whoever has not had a place by then comes again.
pub const ROUND: Duration = Duration::from_secs(10);
/// How long a Ready waits for a place while its tenant holds all that it may and others are free for other tenants.
pub const OVER_SHARE: Duration = Duration::from_secs(3);
/// How long a message rests for which its courier has no turn, before it is handed over again.
pub const BUSY: Duration = Duration::from_millis(500);
/// Facts that were read longer ago than this are read again right before the claim.
pub const FRESH_MS: i64 = 1_000;
/// How often a message is made anew since other facts have come; then only what it tells counts.
pub const REMADE_MAX: usize = 3;

/// Settings of the sender.
#[derive(Clone, Debug)]
pub struct Config {
    /// Readys of one round of a lane at most, of all its partitions.
    pub records_max: usize,
    /// Messages of a channel and lane that are under way at the same time.
    pub at_once_max: usize,
    /// How tenants share these.
    pub shares: Arc<TenantShares>,
    /// How long a claim holds: the hand-over gives up then, and only after that is it unknown. As long a message waits
    /// here for its turn.
    pub claim_ms: i64,
    /// How long a turn waits for one delivery.
    pub patience: Duration,
    /// How a reader asks for no more mail; without it, mails carry no such link.
    pub links: Option<MailLinks>,
    /// Where mails come back to; without it, to their senders.
    pub returns: Option<ReturnAddresses>,
}

impl Default for Config {
    /// As the house ships it.
    fn default() -> Self {
        Self {
            // Each message waits for some writes, so that many of them must wait together. What is lost by a crash is
            // asked of the journal again.
            records_max: 512,
            at_once_max: 128,
            shares: Arc::default(),
            // Longer than a slow mail server needs to answer.
            claim_ms: 120_000,
            // Servers that look into a mail before they take it need some seconds; who needs more is heard later.
            patience: Duration::from_secs(3),
            links: None,
            returns: None,
        }
    }
}

/// Pushes that one without words says are withdrawn; the newest are what is still on a screen.
pub const WITHDRAWN_MAX: usize = 20;
/// Pushes that are put into other words on one occasion; the newest are what is still on a screen.
pub const RENEWED_MAX: usize = 5;

/// When a Ready is tried again after so many tries. Each has a little more of its own, so that those that failed
/// together do not come back together.
pub fn retry_ms(ready: ReadyId, attempt: u16) -> i64 {
    let pause = RETRY_MS_FIRST.saturating_mul(1 << attempt.min(16)).min(RETRY_MS_MAX);
    pause + pause * i64::from(ready.0[0]) / (4 * i64::from(u8::MAX))
}
