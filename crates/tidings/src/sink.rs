//! A mail server for trying mails out: it takes what comes, keeps the newest in memory, and hands nothing on.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
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
pub const BOUNDS: Bounds = Bounds {
    mail_bytes: 8 * 1024 * 1024,
    recipients: 100,
    connections: 32,
    // What is tried out here is one program.
    per_address: 32,
    ..Bounds::USUAL
};

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
        let (at, envelope, headline) = (self.now(), envelope.clone(), Mail::headline(&raw));
        self.kept().add(Came { number: 0, at, envelope, headline, raw });
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
    use std::net::SocketAddr;

    use courier_net::smtp::server::SmtpServer;
    use runtime::Shutdown;
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
        let (sink, stop) = (Arc::new(Sink::new(Clock::real(0))), Shutdown::default());
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
