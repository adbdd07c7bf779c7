//! A server, a courier that has it as its way, and messages for it.

use std::time::Duration;

use courier::{Gate, Mail, Message, Way};
use courier_net::{
    dkim::Signer,
    mail::Mailer,
    ways::{self, Common, Trust},
};
use engines::{MailOptions, MailServer, MailTls};
use model::{Millis, ReadyId, Tenant, returns::Sort};
use runtime::Clock;

/// How long a mail may be in a server's hands: on a machine that stands still now and then a short time says nothing.
pub const HAND_OVER: Duration = Duration::from_secs(120);

pub fn start(options: MailOptions) -> MailServer {
    MailServer::start(options).unwrap()
}

/// Where a server is, as an operator writes it.
pub fn address(server: &MailServer, tls: MailTls, login: &str) -> String {
    let scheme = match tls {
        MailTls::None => "smtp+plain",
        MailTls::StartTls => "smtp",
        MailTls::FromTheStart => "smtps",
    };
    let login = if login.is_empty() { String::new() } else { format!("{login}@") };
    format!("{scheme}://{login}{}:{}", server.host(), server.port())
}

pub fn mailer(ways: &str, ca: Option<&[u8]>, signer: Signer) -> Mailer {
    mailer_within(HAND_OVER, ways, ca, signer)
}

/// The same with another time for each mail.
pub fn mailer_within(hand_over: Duration, ways: &str, ca: Option<&[u8]>, signer: Signer) -> Mailer {
    let trust = Trust::new(ca).unwrap();
    let common = Common { ehlo: "house.example".to_owned(), hand_over, trust };
    Mailer::new(ways::parse(ways, &common).unwrap(), signer, hand_over)
}

/// By the clock on the wall, by which signatures run out.
pub fn now() -> i64 {
    Clock::real(0).now()
}

/// A message to somebody, one of many.
pub fn message(number: u8, to: &str) -> Message {
    let ready = ReadyId([number; 16]);
    Message {
        tenant: Tenant::new("main").unwrap(),
        ready,
        message_id: format!("{ready}@news.example"),
        headline: "New things, größere and smaller".to_owned(),
        text: ".a dot at the start\n..two\n.\nand an end".to_owned(),
        date: Millis(now()),
        way: Way::Mail(Mail {
            from: "News <news@news.example>".to_owned(),
            to: to.to_owned(),
            preheader: String::new(),
            html: "<p>.dots</p>".to_owned(),
            return_path: None,
            headers: vec![
                ("List-Unsubscribe".to_owned(), "<https://news.example/u/1>".to_owned()),
                ("List-Unsubscribe-Post".to_owned(), "List-Unsubscribe=One-Click".to_owned()),
            ],
        }),
    }
}

/// A gate that says the same each time, and counts.
#[derive(Default)]
pub struct Says {
    pub no: bool,
    pub asked: std::sync::atomic::AtomicUsize,
    /// What came back at once.
    pub back: std::sync::Mutex<Vec<(Sort, String)>>,
}

impl Says {
    pub fn asked(&self) -> usize {
        self.asked.load(std::sync::atomic::Ordering::SeqCst)
    }
}

#[async_trait::async_trait]
impl Gate for Says {
    async fn may_go(&self) -> bool {
        self.asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        !self.no
    }

    async fn came_back(&self, what: Sort, code: &str) {
        self.back.lock().unwrap().push((what, code.to_owned()));
    }
}
