//! A mail server for trying mails out: it takes what comes, keeps the newest in memory, and hands nothing on.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use courier::outbox::OutboxMail;
use courier_net::smtp::server::{MailboxOutcome, SmtpEnvelope, SmtpMailbox, SmtpServerLimits};
use model::UtcMillis;
use runtime::Clock;

/// How much is kept; the oldest goes when more comes.
pub const MAILS_MAX: usize = 1_000;
const BYTES_MAX: usize = 64 * 1024 * 1024;
/// Mails with pictures in them are larger than what comes back to a house.
pub const BOUNDS: SmtpServerLimits = SmtpServerLimits {
    mail_bytes: 8 * 1024 * 1024,
    recipients: 100,
    connections: 32,
    // What is tried out here is one program.
    per_address: 32,
    ..SmtpServerLimits::USUAL
};

/// What came.
pub struct TrialMailbox {
    clock: Clock,
    kept: Mutex<TrialMailStore>,
}

#[derive(Default)]
struct TrialMailStore {
    /// Oldest first.
    mails: VecDeque<Arc<TrialMail>>,
    bytes: usize,
    /// How many came, those among them that are gone.
    count: u64,
}

/// A mail, as it came.
pub struct TrialMail {
    pub number: u64,
    pub at: UtcMillis,
    pub envelope: SmtpEnvelope,
    /// As the list says it.
    pub headline: String,
    pub raw: Vec<u8>,
}

impl TrialMailbox {
    pub fn new(clock: Clock) -> Self {
        Self { clock, kept: Mutex::default() }
    }

    /// All that are kept, newest first.
    pub fn list(&self) -> Vec<Arc<TrialMail>> {
        self.lock_mails().mails.iter().rev().cloned().collect()
    }

    pub fn read(&self, number: u64) -> Option<Arc<TrialMail>> {
        self.lock_mails().mails.iter().find(|mail| mail.number == number).cloned()
    }

    /// How many came since it was started.
    pub fn count(&self) -> u64 {
        self.lock_mails().count
    }

    pub fn now(&self) -> UtcMillis {
        UtcMillis(self.clock.now())
    }

    fn lock_mails(&self) -> MutexGuard<'_, TrialMailStore> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl SmtpMailbox for TrialMailbox {
    /// Whoever it is to: nothing of it goes any further.
    fn takes_address(&self, _to: &str) -> bool {
        true
    }

    async fn take_mail(&self, envelope: &SmtpEnvelope, raw: Vec<u8>) -> MailboxOutcome {
        let (at, envelope, headline) = (self.now(), envelope.clone(), OutboxMail::read_headline(&raw));
        self.lock_mails().add(TrialMail { number: 0, at, envelope, headline, raw });
        MailboxOutcome::Kept
    }
}

impl TrialMailStore {
    fn add(&mut self, mail: TrialMail) {
        self.count += 1;
        self.bytes += mail.raw.len();
        self.mails.push_back(Arc::new(TrialMail { number: self.count, ..mail }));
        while self.mails.len() > MAILS_MAX || self.bytes > BYTES_MAX {
            let Some(oldest) = self.mails.pop_front() else { break };
            self.bytes -= oldest.raw.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use courier_net::smtp::server::SmtpServer;
    use runtime::ShutdownSignal;
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpStream,
    };

    use super::*;

    /// Over TCP, as a program that is tried out would send it.
    #[tokio::test(flavor = "multi_thread")]
    async fn a_deep_mail_is_refused_and_the_next_is_kept() {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let server = SmtpServer::bind(any, "sink.example", BOUNDS).await.unwrap();
        let address = server.address().unwrap();
        let (sink, stop) = (Arc::new(TrialMailbox::new(Clock::real(0))), ShutdownSignal::default());
        let serving = tokio::spawn(server.serve(sink.clone(), stop.clone()));
        for (mail, expected) in [
            ("Content-Type:message/rfc822\r\n\r\n".repeat(250_000), "554 5.6.0 "),
            ("A: b\r\n".to_owned(), "250 2.0.0 "),
        ] {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let envelope = "EHLO a\r\nMAIL FROM:<>\r\nRCPT TO:<ann@here.example>\r\nDATA\r\n";
            stream.write_all(format!("{envelope}{mail}\r\n.\r\nQUIT\r\n").as_bytes()).await.unwrap();
            let mut said = String::new();
            stream.read_to_string(&mut said).await.unwrap();
            assert!(said.contains(&format!("354 go on\r\n{expected}")), "{said}");
        }
        stop.start();
        serving.await.unwrap();
        assert_eq!(sink.count(), 1);
    }

    #[tokio::test]
    async fn the_newest_are_kept() {
        let check = async |mails: usize, bytes: usize, kept: usize| {
            let sink = TrialMailbox::new(Clock::real(0));
            let envelope = SmtpEnvelope { from: String::new(), to: vec!["ann@mail.example".to_owned()] };
            for number in 1..=mails {
                let mut raw = format!("Subject: {number}\r\n\r\n").into_bytes();
                raw.resize(bytes, b'a');
                assert!(sink.takes_address(&envelope.to[0]));
                assert_eq!(sink.take_mail(&envelope, raw).await, MailboxOutcome::Kept);
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
