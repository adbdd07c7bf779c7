//! A mail server and all that is between it and us: connections that are kept, how many there may be, how fast.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use courier::{Gate, Handed};
use runtime::clock::Stopwatch;

use super::{
    connection::{Carried, Connection, Letter, Unopened},
    settings::Server,
};
use crate::{
    lane::{Closed, Lane, Width},
    pace::{Ramp, Went},
};

/// How much of a server is used.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
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
    pub ramp: Option<Ramp>,
}

impl Limits {
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
pub(crate) enum Brought {
    /// It did: the gate may have been asked, and nobody else may be given this mail.
    Here(Handed),
    /// It did not, for this reason: another one may be asked.
    Away(Closed),
}

#[derive(Debug)]
pub(crate) struct Destination {
    server: Server,
    limits: Limits,
    lane: Arc<Lane>,
    idle: Mutex<Vec<Idle>>,
}

struct Idle {
    connection: Connection,
    since: Stopwatch,
}

impl fmt::Debug for Idle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Idle").field("since", &self.since.elapsed()).finish_non_exhaustive()
    }
}

impl Destination {
    pub fn new(server: Server, limits: Limits) -> Self {
        let Limits { connections: at_once, waiting, wait, per_second, ramp, .. } = limits;
        let lane = Lane::new(Width { at_once, waiting, wait, per_second, ramp });
        Self { server, limits, lane, idle: Mutex::default() }
    }

    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Brings a mail there. `spread` is any number that differs from mail to mail.
    pub async fn bring(&self, letter: &Letter<'_>, gate: &dyn Gate, spread: u64) -> Brought {
        let (turn, _room) = match self.lane.admit(spread).await {
            Ok(admitted) => admitted,
            Err(why) => return Brought::Away(why),
        };
        let (brought, how) = self.bring_now(letter, gate).await;
        turn.went(how);
        brought
    }

    async fn bring_now(&self, letter: &Letter<'_>, gate: &dyn Gate) -> (Brought, Went) {
        if let Some(mut connection) = self.kept().await
            && let Ok(carried) = connection.carry(letter, gate).await
        {
            return self.brought(connection, carried).await;
        }
        let mut connection = match Connection::open(&self.server).await {
            Ok(connection) => connection,
            Err(unopened) => return (Brought::Away(Closed::Away(self.told(&unopened))), Went::Slow(None)),
        };
        match connection.carry(letter, gate).await {
            Ok(carried) => self.brought(connection, carried).await,
            // A new connection is never stale.
            Err(_) => {
                let why = "it closes at once".to_owned();
                (Brought::Away(Closed::Away(why)), Went::Slow(None))
            }
        }
    }

    async fn brought(&self, connection: Connection, carried: Carried) -> (Brought, Went) {
        let Carried { handed, is_open, is_slow } = carried;
        if is_open && connection.mails < self.limits.mails_each {
            lock(&self.idle).push(Idle { connection, since: Stopwatch::start() });
        } else if is_open {
            connection.close().await;
        }
        (Brought::Here(handed), if is_slow { Went::Slow(None) } else { Went::Well })
    }

    fn told(&self, unopened: &Unopened) -> String {
        match unopened {
            Unopened::Broken(broken) => broken.to_string(),
            Unopened::Said(reply) => reply.told(""),
            Unopened::Unsafe(why) => {
                let server = &self.server.host;
                tracing::error!(server, why, "a mail server is not used: somebody has to look");
                why.clone()
            }
        }
    }

    /// A connection that was kept and is still good: the one used last, for others may fall idle.
    async fn kept(&self) -> Option<Connection> {
        loop {
            let Idle { mut connection, since } = lock(&self.idle).pop()?;
            if since.elapsed() < self.limits.idle && connection.is_fresh().await {
                return Some(connection);
            }
            connection.close().await;
        }
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Server { host, port, tls, login, .. } = &self.server;
        let login = if login.is_some() { ", login" } else { "" };
        write!(f, "smtp to {host}:{port} ({tls:?}{login})")
    }
}

/// What a panic left behind is still good: every change is one step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
