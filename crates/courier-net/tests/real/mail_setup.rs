//! A server, a courier that has it as its way, and messages for it.

use std::time::Duration;

use courier::{HandoverGate, MailPayload, Message, MessagePayload};
use courier_net::{
    TlsTrust,
    dkim::DkimSigner,
    mail::MailCourier,
    mail_routes::{self, RouteDefaults},
};
use engines::{MailOptions, MailTls, PythonMailServer};
use model::{ReadyId, Tenant, UtcMillis, returns::ReturnSort};
use runtime::Clock;

/// How long a mail may be in a server's hands: on a machine that stands still now and then a short time says nothing.
pub const HAND_OVER: Duration = Duration::from_secs(120);

pub fn start_server(options: MailOptions) -> PythonMailServer {
    PythonMailServer::start(options).unwrap()
}

/// Where a server is, as an operator writes it.
pub fn route_line(server: &PythonMailServer, tls: MailTls, login: &str) -> String {
    let scheme = match tls {
        MailTls::None => "smtp+plain",
        MailTls::StartTls => "smtp",
        MailTls::FromTheStart => "smtps",
    };
    let login = if login.is_empty() { String::new() } else { format!("{login}@") };
    format!("{scheme}://{login}{}:{}", server.host(), server.port())
}

pub fn open_mailer(ways: &str, ca: Option<&[u8]>, signer: DkimSigner) -> MailCourier {
    open_mailer_within(HAND_OVER, ways, ca, signer)
}

/// The same with another time for each mail.
pub fn open_mailer_within(
    hand_over: Duration,
    ways: &str,
    ca: Option<&[u8]>,
    signer: DkimSigner,
) -> MailCourier {
    let trust = TlsTrust::new(ca).unwrap();
    let common = RouteDefaults { ehlo: "house.example".to_owned(), hand_over, trust };
    MailCourier::new(mail_routes::parse_routes(ways, &common).unwrap(), signer, hand_over)
}

/// By the clock on the wall, by which signatures run out.
pub fn now_ms() -> i64 {
    Clock::real(0).now()
}

/// A message to somebody, one of many.
pub fn mail_message(number: u8, to: &str) -> Message {
    let ready = ReadyId([number; 16]);
    Message {
        tenant: Tenant::new("main").unwrap(),
        ready,
        message_id: format!("{ready}@news.example"),
        headline: "New things, größere and smaller".to_owned(),
        text: ".a dot at the start\n..two\n.\nand an end".to_owned(),
        date: UtcMillis(now_ms()),
        way: MessagePayload::Mail(MailPayload {
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
pub struct RecordingGate {
    pub no: bool,
    pub asked: std::sync::atomic::AtomicUsize,
    /// What came back at once.
    pub back: std::sync::Mutex<Vec<(ReturnSort, String)>>,
}

impl RecordingGate {
    pub fn times_asked(&self) -> usize {
        self.asked.load(std::sync::atomic::Ordering::SeqCst)
    }
}

#[async_trait::async_trait]
impl HandoverGate for RecordingGate {
    async fn may_go(&self) -> bool {
        self.asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        !self.no
    }

    async fn note_return(&self, what: ReturnSort, code: &str) {
        self.back.lock().unwrap().push((what, code.to_owned()));
    }
}
