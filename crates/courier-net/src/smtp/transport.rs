//! The way to a mail server: connections that are kept, and made anew where none is good.

use std::{
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

use courier::HandoverGate;
use runtime::clock::SteadyStopwatch;

use super::{
    connection::{SmtpConnection, SmtpMail, SmtpOpenError},
    settings::SmtpRelay,
};
use crate::{mail_destination::SmtpLimits, send_outcome::SendOutcome};

#[derive(Debug)]
pub(crate) struct SmtpTransport {
    server: SmtpRelay,
    limits: SmtpLimits,
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

impl SmtpTransport {
    pub fn new(server: SmtpRelay, limits: SmtpLimits) -> Self {
        Self { server, limits, idle: Mutex::default() }
    }

    /// Carries a mail as far as it goes, and asks the gate as late as it can.
    pub async fn carry(&self, letter: &SmtpMail<'_>, gate: &dyn HandoverGate) -> SendOutcome {
        if let Some(mut connection) = self.take_idle().await
            && let Ok(outcome) = connection.send_mail(letter, gate).await
        {
            self.settle_connection(connection).await;
            return outcome;
        }
        let mut connection = match SmtpConnection::open(&self.server).await {
            Ok(connection) => connection,
            Err(unopened) => return SendOutcome::slow_down(self.describe_open_error(&unopened), None),
        };
        match connection.send_mail(letter, gate).await {
            Ok(outcome) => {
                self.settle_connection(connection).await;
                outcome
            }
            // A new connection is never stale.
            Err(_) => SendOutcome::slow_down("it closes at once", None),
        }
    }

    async fn settle_connection(&self, connection: SmtpConnection) {
        if connection.is_open && connection.mails < self.limits.mails_each {
            lock_mutex(&self.idle).push(IdleConnection { connection, since: SteadyStopwatch::start() });
        } else if connection.is_open {
            connection.close().await;
        }
    }

    fn describe_open_error(&self, unopened: &SmtpOpenError) -> String {
        match unopened {
            SmtpOpenError::Broken(broken) => broken.to_string(),
            SmtpOpenError::Said(reply) => reply.redact(""),
            SmtpOpenError::Unsafe(why) => {
                let server = &self.server.host;
                tracing::error!(server, why, "a mail server is not used until its settings are checked");
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

impl fmt::Display for SmtpTransport {
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
