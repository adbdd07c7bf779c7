//! The talk to the byte, and servers that no real one is like: what they say is written down, and nothing else.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use courier::{HandoverGate, HandoverOutcome};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use super::{
    connection::SmtpMail,
    settings::{SmtpRelay, SmtpTimeouts, SmtpTls},
    transport::SmtpTransport,
};
use crate::{
    mail_destination::{MailDestination, SmtpLimits},
    send_outcome::SendOutcome,
};

const LETTER: SmtpMail<'_> = SmtpMail {
    from: "news@news.example",
    to: "ann@mail.example",
    bytes: b"A: b\r\n\r\n.c\r\n",
    is_utf8: false,
};

const HELLO: [&str; 3] =
    ["> 220 here\r\n", "< EHLO us.example\r\n", "> 250-here\r\n250-SIZE 100\r\n250 PIPELINING\r\n"];
const ENVELOPE: &str = "< MAIL FROM:<news@news.example> SIZE=12\r\nRCPT TO:<ann@mail.example>\r\n";

struct TallyGate(Arc<AtomicUsize>);

#[async_trait]
impl HandoverGate for TallyGate {
    async fn may_go(&self) -> bool {
        self.0.fetch_add(1, Ordering::SeqCst);
        true
    }
}

/// Plays one side of a talk to its end: what is said begins with `>`, what has to be heard with `<`; `close` and
/// `silence` end it.
async fn play_talk(mut stream: TcpStream, talk: &[&str]) -> Result<(), String> {
    for line in talk {
        match line.split_once(' ') {
            Some((">", said)) => {
                stream.write_all(said.as_bytes()).await.map_err(|error| error.to_string())?;
            }
            Some(("<", expected)) => {
                let mut heard = vec![0; expected.len()];
                stream
                    .read_exact(&mut heard)
                    .await
                    .map_err(|error| format!("{error} before {expected:?}"))?;
                let heard = String::from_utf8_lossy(&heard);
                if heard != expected {
                    return Err(format!("heard {heard:?}, expected {expected:?}"));
                }
            }
            _ if *line == "close" => return Ok(()),
            _ => std::future::pending().await,
        }
    }
    // Whatever else is said, it is heard.
    let mut rest = Vec::new();
    drop(stream.read_to_end(&mut rest).await);
    Ok(())
}

/// Brings the letter as often as there are talks with the server, one after the other, and says what became of the last.
async fn bring_letters(
    talks: &[Vec<&'static str>],
    times: usize,
) -> (String, usize, Vec<Result<(), String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let talks = talks.to_vec();
    let server = tokio::spawn(async move {
        let mut ends = Vec::new();
        for talk in talks {
            let (stream, _) = listener.accept().await.unwrap();
            ends.push(tokio::spawn(async move { play_talk(stream, &talk).await }));
        }
        ends
    });
    let destination = MailDestination::new(
        SmtpTransport::new(
            SmtpRelay {
                host: "127.0.0.1".to_owned(),
                port,
                tls_name: None,
                tls: SmtpTls::None,
                login: None,
                ehlo: "us.example".to_owned(),
                times: SmtpTimeouts::within_hand_over(Duration::from_secs(6)),
            },
            SmtpLimits::USUAL,
        ),
        SmtpLimits::USUAL,
    );
    let (asked, mut told) = (Arc::new(AtomicUsize::new(0)), String::new());
    for _ in 0..times {
        told = match destination
            .bring(0, destination.transport.carry(&LETTER, &TallyGate(asked.clone())))
            .await
        {
            SendOutcome { handed: HandoverOutcome::Accepted, .. } => "accepted".to_owned(),
            SendOutcome { handed: HandoverOutcome::Away(why), elsewhere: true, .. } => format!("away: {why}"),
            SendOutcome { handed: HandoverOutcome::Busy(why), elsewhere: true, .. } => format!("busy: {why}"),
            SendOutcome { handed, .. } => format!("{handed:?}"),
        };
    }
    drop(destination);
    let mut ends = Vec::new();
    for end in server.await.unwrap() {
        // One that is silent is so for good.
        ends.push(tokio::time::timeout(Duration::from_millis(200), end).await.map_or(Ok(()), Result::unwrap));
    }
    (told, asked.load(Ordering::SeqCst), ends)
}

/// What becomes of one mail in a talk, and how often the gate is asked.
async fn check_talk(name: &str, talk: &[&'static str], expected: &str, asked: usize) {
    let (told, count, ends) = bring_letters(&[talk.to_vec()], 1).await;
    assert!(told.contains(expected), "{name}: {told:?} is not {expected:?}");
    assert_eq!(count, asked, "{name}: how often the gate was asked");
    assert!(ends.iter().all(Result::is_ok), "{name}: {ends:?}");
}

fn talk_after_hello(rest: &[&'static str]) -> Vec<&'static str> {
    [&HELLO[..], rest].concat()
}

/// A mail from the envelope to the server's word.
const TAKEN: [&str; 6] = [
    ENVELOPE,
    "> 250 ok\r\n250 ok\r\n",
    "< DATA\r\n",
    "> 354 go on\r\n",
    "< A: b\r\n\r\n..c\r\n.\r\n",
    "> 250 taken\r\n",
];

#[tokio::test]
async fn a_talk_to_the_byte() {
    let refused = [ENVELOPE, "> 250 ok\r\n550 no\r\n", "< RSET\r\n", "> 250 ok\r\n"];
    let (told, asked, ends) =
        bring_letters(&[talk_after_hello(&[&TAKEN[..], &refused, &TAKEN].concat())], 3).await;
    assert_eq!((told.as_str(), asked, ends), ("accepted", 2, vec![Ok(())]));
}

#[tokio::test]
async fn a_server_that_closed_between_two_mails_is_asked_anew() {
    let first = talk_after_hello(&TAKEN);
    let ends: [&[&str]; 4] = [
        &["close"],
        &["> 421 idle\r\n", "close"],
        &[ENVELOPE, "> 421 idle\r\n421 idle\r\n"],
        &[ENVELOPE, "close"],
    ];
    for end in ends {
        let (told, asked, ends) = bring_letters(&[[&first[..], end].concat(), first.clone()], 2).await;
        assert_eq!((told.as_str(), asked), ("accepted", 2), "{end:?}");
        assert!(ends.iter().all(Result::is_ok), "{end:?}: {ends:?}");
    }
}

#[tokio::test]
async fn servers_that_are_none() {
    check_talk("silent", &["silence"], "away: a reply: nothing for 0 s", 0).await;
    check_talk("closes", &["close"], "away: a reply: unexpected end of file", 0).await;
    check_talk("HTTP", &["> HTTP/1.1 400 Bad Request\r\n\r\n"], "away: the server does not speak SMTP", 0)
        .await;
    check_talk("busy", &["> 421 4.3.2 come later\r\n"], "away: 421 4.3.2 come later", 0).await;
    check_talk("not for us", &["> 554 5.7.1 not for you\r\n"], "away: 554 5.7.1 not for you", 0).await;
    check_talk("no EHLO", &["> 220 x\r\n", "< EHLO us.example\r\n", "> 502 what\r\n"], "away: 502 what", 0)
        .await;
    check_talk("half a reply", &["> 220-a\r\n220-", "close"], "away: a reply: unexpected end of file", 0)
        .await;
    let long: &'static str = format!("> {}", "2".repeat(80_000)).leak();
    check_talk("no end of lines", &[long, "silence"], "away: a reply: invalid data", 0).await;
}

#[tokio::test]
async fn what_a_server_may_say_at_each_step() {
    let step = async |name: &str, rest: &[&'static str], expected: &str, asked: usize| {
        check_talk(name, &talk_after_hello(rest), expected, asked).await;
    };
    let with = |rest: &[&'static str]| [&TAKEN[..3], rest].concat();
    step(
        "no to the sender",
        &[ENVELOPE, "> 553 5.7.1 <news@news.example> no\r\n503 first the sender\r\n"],
        "Refused(\"553 5.7.1 no\")",
        0,
    )
    .await;
    let no = ["< RSET\r\n", "> 250 ok\r\n"];
    let later = [&[ENVELOPE, "> 250 ok\r\n451 4.7.1 greylisted\r\n"][..], &no[..]].concat();
    step("not this mail now", &later, "NotNow(\"451 4.7.1 greylisted\")", 0).await;
    let leaves = [ENVELOPE, "> 421 4.3.2 stopping\r\n421 4.3.2 stopping\r\n"];
    step("no mail at all", &leaves, "Away(\"421 4.3.2 stopping\")", 0).await;
    step("no DATA", &with(&["> 503 no\r\n"]), "Refused(\"503 no\")", 1).await;
    step("DATA with a yes", &with(&["> 250 ok\r\n"]), "NotNow(\"250 ok\")", 1).await;
    step("gone at DATA", &with(&["close"]), "Away(", 1).await;
    step(
        "nonsense at the end",
        &with(&["> 354 go\r\n", "< A: b\r\n\r\n..c\r\n.\r\n", "> yes\r\n"]),
        "Unknown(",
        1,
    )
    .await;
    step(
        "a maybe at the end",
        &with(&["> 354 go\r\n", "< A: b\r\n\r\n..c\r\n.\r\n", "> 354 go\r\n"]),
        "Unknown(\"354 go\")",
        1,
    )
    .await;
    step(
        "silent at the end",
        &with(&["> 354 go\r\n", "< A: b\r\n\r\n..c\r\n.\r\n", "silence"]),
        "Unknown(",
        1,
    )
    .await;
}
