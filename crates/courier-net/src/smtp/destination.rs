//! A mail server and all that is between it and us: connections that are kept, how many there may be, how fast.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use courier::{HandoverGate, HandoverOutcome};
use runtime::clock::SteadyStopwatch;

use super::{
    connection::{SmtpConnection, SmtpMail, SmtpOpenError, SmtpSendOutcome},
    settings::SmtpRelay,
};
use crate::{
    backoff::{DestinationSignal, WarmupRamp},
    destination_limiter::{DestinationLimiter, LimiterError, LimiterWidth},
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

/// Whether a mail came to where somebody decided about it.
pub(crate) enum MailRouteOutcome {
    /// It did: the gate may have been asked, and nobody else may be given this mail.
    Here(HandoverOutcome),
    /// It did not, for this reason: another one may be asked.
    Away(LimiterError),
}

#[derive(Debug)]
pub(crate) struct SmtpDestination {
    server: SmtpRelay,
    limits: SmtpLimits,
    lane: Arc<DestinationLimiter>,
    idle: Mutex<Vec<IdleConnection>>,
}

struct IdleConnection {
    connection: SmtpConnection,
    since: SteadyStopwatch,
}

impl fmt::Debug for IdleConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdleConnection").field("since", &self.since.elapsed()).finish_non_exhaustive()
    }
}

impl SmtpDestination {
    pub fn new(server: SmtpRelay, limits: SmtpLimits) -> Self {
        let SmtpLimits { connections: at_once, waiting, wait, per_second, ramp, .. } = limits;
        let lane = DestinationLimiter::new(LimiterWidth { at_once, waiting, wait, per_second, ramp });
        Self { server, limits, lane, idle: Mutex::default() }
    }

    pub fn limits(&self) -> SmtpLimits {
        self.limits
    }

    /// Brings a mail there. `spread` is any number that differs from mail to mail.
    pub async fn bring(
        &self,
        letter: &SmtpMail<'_>,
        gate: &dyn HandoverGate,
        spread: u64,
    ) -> MailRouteOutcome {
        let (turn, _room) = match self.lane.admit(spread).await {
            Ok(admitted) => admitted,
            Err(why) => return MailRouteOutcome::Away(why),
        };
        let (brought, how) = self.bring_now(letter, gate).await;
        turn.record_signal(how);
        brought
    }

    async fn bring_now(
        &self,
        letter: &SmtpMail<'_>,
        gate: &dyn HandoverGate,
    ) -> (MailRouteOutcome, DestinationSignal) {
        if let Some(mut connection) = self.take_idle().await
            && let Ok(carried) = connection.send_mail(letter, gate).await
        {
            return self.settle_connection(connection, carried).await;
        }
        let mut connection = match SmtpConnection::open(&self.server).await {
            Ok(connection) => connection,
            Err(unopened) => {
                return (
                    MailRouteOutcome::Away(LimiterError::Away(self.describe_open_error(&unopened))),
                    DestinationSignal::Slow(None),
                );
            }
        };
        match connection.send_mail(letter, gate).await {
            Ok(carried) => self.settle_connection(connection, carried).await,
            // A new connection is never stale.
            Err(_) => {
                let why = "it closes at once".to_owned();
                (MailRouteOutcome::Away(LimiterError::Away(why)), DestinationSignal::Slow(None))
            }
        }
    }

    async fn settle_connection(
        &self,
        connection: SmtpConnection,
        carried: SmtpSendOutcome,
    ) -> (MailRouteOutcome, DestinationSignal) {
        let SmtpSendOutcome { handed, is_open, is_slow } = carried;
        if is_open && connection.mails < self.limits.mails_each {
            lock_mutex(&self.idle).push(IdleConnection { connection, since: SteadyStopwatch::start() });
        } else if is_open {
            connection.close().await;
        }
        (
            MailRouteOutcome::Here(handed),
            if is_slow { DestinationSignal::Slow(None) } else { DestinationSignal::Well },
        )
    }

    fn describe_open_error(&self, unopened: &SmtpOpenError) -> String {
        match unopened {
            SmtpOpenError::Broken(broken) => broken.to_string(),
            SmtpOpenError::Said(reply) => reply.redact(""),
            SmtpOpenError::Unsafe(why) => {
                let server = &self.server.host;
                tracing::error!(server, why, "a mail server is out of use until its problem is fixed");
                why.clone()
            }
        }
    }

    /// A connection that was kept and is still good: the one used last, for others may fall idle.
    async fn take_idle(&self) -> Option<SmtpConnection> {
        loop {
            let IdleConnection { mut connection, since } = lock_mutex(&self.idle).pop()?;
            if since.elapsed() < self.limits.idle && connection.is_fresh().await {
                return Some(connection);
            }
            connection.close().await;
        }
    }
}

impl fmt::Display for SmtpDestination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SmtpRelay { host, port, tls, login, .. } = &self.server;
        let login = if login.is_some() { ", login" } else { "" };
        write!(f, "smtp to {host}:{port} ({tls:?}{login})")
    }
}

/// What a panic left behind is still good: every change is one step.
fn lock_mutex<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
