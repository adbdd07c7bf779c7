//! A destination for mail and all that is between it and us: how many mails there may be on their way at the same time, how
//! fast, and how long it is left alone. The transport within carries a mail there: over SMTP, or to a provider.

use std::{sync::Arc, time::Duration};

use crate::{
    backoff::WarmupRamp,
    destination_limiter::{DestinationLimiter, LimiterWidth},
    send_outcome::SendOutcome,
};

/// How much of a server is used.
#[derive(Clone, Copy, Debug)]
pub struct SmtpLimits {
    /// Connections at the same time.
    pub connections: usize,
    /// Mails over one connection.
    pub mails_each: u32,
    /// Mails that wait for a connection. What comes then is told to come later, so that a slow server holds nobody up.
    pub waiting: usize,
    /// How long each of them waits.
    pub wait: Duration,
    /// A connection that nobody used for so long is closed.
    pub idle: Duration,
    /// Mails a second.
    pub per_second: Option<f64>,
    pub ramp: Option<WarmupRamp>,
}

impl SmtpLimits {
    pub const USUAL: Self = Self {
        connections: 8,
        mails_each: 100,
        waiting: 512,
        wait: Duration::from_secs(10),
        // Many servers close after half a minute.
        idle: Duration::from_secs(20),
        per_second: None,
        ramp: None,
    };
}

#[derive(Debug)]
pub(crate) struct MailDestination<T> {
    pub transport: T,
    pub limits: SmtpLimits,
    lane: Arc<DestinationLimiter>,
}

impl<T> MailDestination<T> {
    pub fn new(transport: T, limits: SmtpLimits) -> Self {
        let SmtpLimits { connections: at_once, waiting, wait, per_second, ramp, .. } = limits;
        let lane = DestinationLimiter::new(LimiterWidth { at_once, waiting, wait, per_second, ramp });
        Self { transport, limits, lane }
    }

    /// Whether it is left alone by now.
    pub fn is_resting(&self) -> bool {
        self.lane.is_resting()
    }

    /// Brings a mail there: it is carried as soon as there is room. `spread` is any number that differs from mail to mail.
    pub async fn bring(&self, spread: u64, carried: impl Future<Output = SendOutcome>) -> SendOutcome {
        let (turn, _room) = match self.lane.admit(spread).await {
            Ok(admitted) => admitted,
            Err(why) => return SendOutcome::turned_away(why),
        };
        let outcome = carried.await;
        turn.record_signal(outcome.load);
        outcome
    }
}
