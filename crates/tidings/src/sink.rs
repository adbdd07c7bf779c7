//! A mail server for trying mails out: it takes what comes, keeps the newest in memory, and hands nothing on.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use courier::outbox::Mail;
use courier_net::smtp::server::{Bounds, Envelope, Mailbox, Taken};
use model::Millis;
use runtime::Clock;

/// How much is kept; the oldest goes when more comes.
pub const MAILS_MAX: usize = 1_000;
const BYTES_MAX: usize = 64 * 1024 * 1024;
/// Mails with pictures in them are larger than what comes back to a house.
pub const BOUNDS: Bounds =
    Bounds { mail_bytes: 8 * 1024 * 1024, recipients: 100, connections: 32, step: Duration::from_secs(60) };

/// What came.
pub struct Sink {
    clock: Clock,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    /// Oldest first.
    mails: VecDeque<Arc<Came>>,
    bytes: usize,
    /// How many came, those among them that are gone.
    count: u64,
}

/// A mail, as it came.
pub struct Came {
    pub number: u64,
    pub at: Millis,
    pub envelope: Envelope,
    /// As the list says it.
    pub headline: String,
    pub raw: Vec<u8>,
}

impl Sink {
    pub fn new(clock: Clock) -> Self {
        Self { clock, kept: Mutex::default() }
    }

    /// All that are kept, newest first.
    pub fn list(&self) -> Vec<Arc<Came>> {
        self.kept().mails.iter().rev().cloned().collect()
    }

    pub fn read(&self, number: u64) -> Option<Arc<Came>> {
        self.kept().mails.iter().find(|mail| mail.number == number).cloned()
    }

    /// How many came since it was started.
    pub fn count(&self) -> u64 {
        self.kept().count
    }

    pub fn now(&self) -> Millis {
        Millis(self.clock.now())
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Mailbox for Sink {
    /// Whoever it is to: nothing of it goes any further.
    fn takes(&self, _to: &str) -> bool {
        true
    }

    async fn take(&self, envelope: &Envelope, raw: Vec<u8>) -> Taken {
        let mail = Mail::parse(raw);
        let headline = mail.header("subject").unwrap_or_default().to_owned();
        let (at, envelope) = (self.now(), envelope.clone());
        self.kept().add(Came { number: 0, at, envelope, headline, raw: mail.raw });
        Taken::Kept
    }
}

impl Kept {
    fn add(&mut self, mail: Came) {
        self.count += 1;
        self.bytes += mail.raw.len();
        self.mails.push_back(Arc::new(Came { number: self.count, ..mail }));
        while self.mails.len() > MAILS_MAX || self.bytes > BYTES_MAX {
            let Some(oldest) = self.mails.pop_front() else { break };
            self.bytes -= oldest.raw.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_newest_are_kept() {
        let check = async |mails: usize, bytes: usize, kept: usize| {
            let sink = Sink::new(Clock::real(0));
            let envelope = Envelope { from: String::new(), to: vec!["ann@mail.example".to_owned()] };
            for number in 1..=mails {
                let mut raw = format!("Subject: {number}\r\n\r\n").into_bytes();
                raw.resize(bytes, b'a');
                assert!(sink.takes(&envelope.to[0]));
                assert_eq!(sink.take(&envelope, raw).await, Taken::Kept);
            }
            let list = sink.list();
            assert_eq!((list.len(), sink.count()), (kept, mails as u64));
            assert_eq!(list[0].headline, mails.to_string(), "newest first");
            assert!(sink.read(mails as u64).is_some() && sink.read(mails as u64 + 1).is_none());
            let oldest = (mails - kept) as u64;
            assert!(sink.read(oldest).is_none() && sink.read(oldest + 1).is_some());
        };
        check(3, 100, 3).await;
        check(MAILS_MAX + 2, 100, MAILS_MAX).await;
        check(10, BOUNDS.mail_bytes, BYTES_MAX / BOUNDS.mail_bytes).await;
    }
}
