//! The server that takes mail, with our own client and one that nobody here wrote.

use std::{
    net::SocketAddr,
    process::Command,
    sync::{Arc, Mutex},
};

use courier::{Courier as _, HandoverOutcome};
use courier_net::{
    dkim::DkimSigner,
    smtp::server::{MailboxOutcome, SmtpEnvelope, SmtpMailbox, SmtpServer, SmtpServerLimits},
};
use runtime::ShutdownSignal;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::mail_setup::{RecordingGate, mail_message, open_mailer};

#[derive(Default)]
struct KeepingMailbox(Mutex<Vec<(SmtpEnvelope, Vec<u8>)>>);

#[async_trait::async_trait]
impl SmtpMailbox for KeepingMailbox {
    fn takes_address(&self, to: &str) -> bool {
        to.ends_with("@here.example")
    }

    async fn take_mail(&self, envelope: &SmtpEnvelope, mail: Vec<u8>) -> MailboxOutcome {
        self.0.lock().unwrap().push((envelope.clone(), mail));
        MailboxOutcome::Kept
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn mails_come_and_it_goes_when_it_is_asked_to() {
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let server = SmtpServer::bind(any, "here.example", SmtpServerLimits::USUAL).await.unwrap();
    let port = server.address().unwrap().port();
    let (keeps, shutdown) = (Arc::new(KeepingMailbox::default()), ShutdownSignal::default());
    let serving = tokio::spawn(server.serve(keeps.clone(), shutdown.clone()));

    let mailer = open_mailer(&format!("smtp+plain://127.0.0.1:{port}"), None, DkimSigner::default());
    let handed = mailer.hand(&mail_message(1, "ann@here.example"), &RecordingGate::default()).await.unwrap();
    assert_eq!(handed, HandoverOutcome::Accepted);
    let handed =
        mailer.hand(&mail_message(2, "ann@elsewhere.example"), &RecordingGate::default()).await.unwrap();
    assert!(matches!(handed, HandoverOutcome::Refused(_)), "{handed:?}");

    let script = format!(
        "import smtplib\n\
         with smtplib.SMTP('127.0.0.1', {port}) as server:\n    \
             server.sendmail('', ['bob@here.example'], b'A: b\\r\\n\\r\\n.dot\\r\\n')\n"
    );
    let python = engines::python().unwrap();
    let sent = Command::new(python).args(["-c", &script]).status().unwrap();
    assert!(sent.success());

    shutdown.start();
    serving.await.unwrap();
    let kept = std::mem::take(&mut *keeps.0.lock().unwrap());
    let whose: Vec<&str> = kept.iter().flat_map(|(envelope, _)| &envelope.to).map(String::as_str).collect();
    assert_eq!(whose, ["ann@here.example", "bob@here.example"]);
    assert_eq!(kept[1].1, b"A: b\r\n\r\n.dot\r\n");
}

/// A mail that is nested as deeply as its size lets it be: refused at the door, and the next is taken.
#[tokio::test(flavor = "multi_thread")]
async fn a_deep_mail_is_refused_and_the_next_is_taken() {
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let server = SmtpServer::bind(any, "here.example", SmtpServerLimits::USUAL).await.unwrap();
    let address = server.address().unwrap();
    let (keeps, shutdown) = (Arc::new(KeepingMailbox::default()), ShutdownSignal::default());
    let serving = tokio::spawn(server.serve(keeps.clone(), shutdown.clone()));
    let check = async |mail: &str, expected: &str| {
        let envelope = "EHLO a.example\r\nMAIL FROM:<>\r\nRCPT TO:<ann@here.example>\r\nDATA\r\n";
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(format!("{envelope}{mail}\r\n.\r\nQUIT\r\n").as_bytes()).await.unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).await.unwrap();
        assert!(said.contains(&format!("354 go on\r\n{expected}")), "{said}");
    };
    check(
        &"Content-Type:message/rfc822\r\n\r\n".repeat(30_000),
        "554 5.6.0 more than 20 mails within a mail",
    )
    .await;
    check("A: b\r\n\r\nHello.", "250 ").await;
    shutdown.start();
    serving.await.unwrap();
    assert_eq!(keeps.0.lock().unwrap().len(), 1);
}
