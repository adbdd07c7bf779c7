//! Talks to the byte, with whoever keeps to the rules and whoever does not.

use std::sync::Mutex;

use proptest::prelude::*;
use tokio::io::{DuplexStream, duplex};

use super::*;

const BOUNDS: SmtpServerLimits = SmtpServerLimits {
    mail_bytes: 200,
    recipients: 2,
    connections: 9,
    per_address: 8,
    step: Duration::from_millis(300),
    talk: Duration::from_millis(900),
    mail: Duration::from_millis(900),
};
const GREETING: &str = "220 here.example ESMTP\r\n";
const HELLO: &str = "EHLO a.example\r\n";
const OFFERS: &str = "250-here.example\r\n250-PIPELINING\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n\
                      250-ENHANCEDSTATUSCODES\r\n250 SIZE 200\r\n";
const ENVELOPE: &str = "MAIL FROM:<>\r\nRCPT TO:<b-1@here.example>\r\n";
const NAMED: &str = "250 2.1.0 well\r\n250 2.1.5 well\r\n";

/// Takes mail to addresses that begin with `b-`; what it says to one is in its first line.
#[derive(Default)]
struct PrefixMailbox(Mutex<Vec<(SmtpEnvelope, Vec<u8>)>>);

#[async_trait]
impl SmtpMailbox for PrefixMailbox {
    fn takes_address(&self, to: &str) -> bool {
        to.starts_with("b-")
    }

    async fn take_mail(&self, envelope: &SmtpEnvelope, mail: Vec<u8>) -> MailboxOutcome {
        let taken = match &mail {
            mail if mail.starts_with(b"later") => MailboxOutcome::Later,
            mail if mail.starts_with(b"never") => MailboxOutcome::Never,
            _ => MailboxOutcome::Kept,
        };
        self.0.lock().unwrap().push((envelope.clone(), mail));
        taken
    }
}

fn open_session(own: &Arc<PrefixMailbox>) -> (DuplexStream, SmtpSession<DuplexStream>) {
    let (near, far) = duplex(64 * 1024);
    (near, SmtpSession::new(far, own.clone(), "here.example".to_owned(), BOUNDS))
}

/// All that is said to `bytes`, and the mails that came of it.
async fn answers_to_bytes(bytes: &[u8], is_closed: bool) -> (String, Vec<(SmtpEnvelope, Vec<u8>)>) {
    let own = Arc::new(PrefixMailbox::default());
    let (mut near, mut talk) = open_session(&own);
    near.write_all(bytes).await.unwrap();
    if is_closed {
        near.shutdown().await.unwrap();
    }
    let _ended = talk.serve_mails(&ShutdownSignal::default()).await;
    drop(talk);
    let mut said = Vec::new();
    near.read_to_end(&mut said).await.unwrap();
    let mails = std::mem::take(&mut *own.0.lock().unwrap());
    (String::from_utf8(said).unwrap(), mails)
}

/// What is said to a peer that greets, says this and goes.
async fn check_answers(told: &str, expected: &str) -> Vec<(SmtpEnvelope, Vec<u8>)> {
    let (said, mails) = answers_to_bytes(format!("{HELLO}{told}").as_bytes(), true).await;
    assert_eq!(said, format!("{GREETING}{OFFERS}{expected}"), "{told:?}");
    mails
}

#[tokio::test]
async fn a_mail_comes() {
    let mails = check_answers(
        &format!("{ENVELOPE}DATA\r\nA: b\r\n\r\n..c\r\n.\r\nQUIT\r\n"),
        &format!("{NAMED}354 go on\r\n250 2.0.0 it is here\r\n221 2.0.0 bye\r\n"),
    )
    .await;
    let envelope = SmtpEnvelope { from: String::new(), to: vec!["b-1@here.example".to_owned()] };
    assert_eq!(mails, [(envelope, b"A: b\r\n\r\n.c\r\n".to_vec())]);
    let mails = check_answers(
        &format!("{ENVELOPE}DATA\r\n.\r\n"),
        &format!("{NAMED}354 go on\r\n250 2.0.0 it is here\r\n"),
    )
    .await;
    assert_eq!(mails[0].1, b"", "also one without a line");
}

#[tokio::test]
async fn what_it_says_is_what_became_of_the_mail() {
    for (word, expected) in
        [("later", "451 4.3.0 not now, come again\r\n"), ("never", "550 5.7.1 not wanted\r\n")]
    {
        let told = format!("{ENVELOPE}DATA\r\n{word}\r\n.\r\n");
        check_answers(&told, &format!("{NAMED}354 go on\r\n{expected}")).await;
    }
}

#[tokio::test]
async fn orders_out_of_order_are_refused() {
    check_answers("DATA\r\n", "503 5.5.1 whose mail, and to whom?\r\n").await;
    check_answers("MAIL FROM:<>\r\nDATA\r\n", "250 2.1.0 well\r\n503 5.5.1 whose mail, and to whom?\r\n")
        .await;
    check_answers("RCPT TO:<b-1@here.example>\r\n", "503 5.5.1 whose mail?\r\n").await;
    check_answers("MAIL FROM:<>\r\nMAIL FROM:<>\r\n", "250 2.1.0 well\r\n503 5.5.1 one mail at a time\r\n")
        .await;
    check_answers(
        "MAIL FROM:<>\r\nRSET\r\nMAIL FROM:<>\r\n",
        "250 2.1.0 well\r\n250 2.0.0 forgotten\r\n250 2.1.0 well\r\n",
    )
    .await;
    check_answers("MAIL FROM:<> SIZE=201\r\n", "552 5.3.4 too large\r\n").await;
    check_answers("MAIL FROM:<> REQUIRETLS\r\n", "555 5.5.4 that was not offered\r\n").await;
    check_answers(
        "NOOP\r\nVRFY ann\r\nSTARTTLS\r\n",
        "250 2.0.0 well\r\n252 2.5.2 send a mail and see\r\n502 5.5.1 not here\r\n",
    )
    .await;
    let (said, _) = answers_to_bytes(b"MAIL FROM:<>\r\n", true).await;
    assert_eq!(said, format!("{GREETING}503 5.5.1 who are you?\r\n"));
}

#[tokio::test]
async fn it_is_no_relay() {
    check_answers(
        "MAIL FROM:<>\r\nRCPT TO:<ann@mail.example>\r\n",
        "250 2.1.0 well\r\n550 5.1.1 nobody of that name is here\r\n",
    )
    .await;
    let many = "RCPT TO:<b-1@here.example>\r\n".repeat(3);
    let expected = "250 2.1.0 well\r\n250 2.1.5 well\r\n250 2.1.5 well\r\n452 4.5.3 too many at once\r\n";
    check_answers(&format!("MAIL FROM:<>\r\n{many}"), expected).await;
}

/// What another server might take for the end of a mail, and whatever follows it for commands, is refused whole.
#[tokio::test]
async fn no_mail_lies_within_a_mail() {
    for end in ["\n.\n", "\n.\r\n", "\r\n.\n", "\r.\r", "\r\n.\r", "\r\n\0.\r\n"] {
        let told = format!("{ENVELOPE}DATA\r\na{end}MAIL FROM:<x@y.example>\r\n.\r\n");
        let (said, mails) = answers_to_bytes(format!("{HELLO}{told}").as_bytes(), true).await;
        let refused = format!("{GREETING}{OFFERS}{NAMED}354 go on\r\n554 5.6.0");
        if end.contains('\0') {
            assert_eq!(mails.len(), 1, "a mail with a strange byte is one mail");
        } else {
            assert!(said.starts_with(&refused), "{end:?}: {said}");
            assert_eq!(mails, [], "{end:?}");
        }
    }
    check_answers("NOOP\nNOOP\r\n", "500 5.5.2 what is that?\r\n250 2.0.0 well\r\n").await;
}

#[tokio::test]
async fn nobody_fills_it_up_or_keeps_it_waiting() {
    let large = "a".repeat(300);
    check_answers(
        &format!("{ENVELOPE}DATA\r\n{large}\r\n.\r\nNOOP\r\n"),
        &format!("{NAMED}354 go on\r\n552 5.3.4 too large\r\n"),
    )
    .await;
    check_answers(&"a".repeat(LINE_BYTES_MAX + 1), "500 5.5.6 too long a line\r\n").await;
    let (said, _) = answers_to_bytes(b"EHLO a", false).await;
    assert_eq!(said, format!("{GREETING}421 4.4.2 that took too long\r\n"));
    let (said, _) = answers_to_bytes("NOOP\r\n".repeat(200).as_bytes(), true).await;
    assert_eq!(said.matches("250 2.0.0 well").count(), 100);
    assert!(said.ends_with("421 4.7.0 too many commands\r\n"));
}

/// A word now and then holds nothing open: not within a line, not line by line, and not within a mail.
#[tokio::test]
async fn nobody_trickles() {
    let check = async |begin: &str, again: &str, said: &str| {
        let own = Arc::new(PrefixMailbox::default());
        let (near, mut talk) = open_session(&own);
        let (mut reads, mut writes) = tokio::io::split(near);
        writes.write_all(begin.as_bytes()).await.unwrap();
        let trickle = async {
            let mut pause = tokio::time::interval(BOUNDS.step / 10);
            loop {
                pause.tick().await;
                if writes.write_all(again.as_bytes()).await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        };
        let stop = ShutdownSignal::default();
        let ended = tokio::select! {
            ended = timeout(20 * BOUNDS.talk, talk.serve_mails(&stop)) => ended,
            () = trickle => unreachable!("it goes on"),
        };
        assert!(ended.is_ok(), "{begin:?} {again:?} is held open");
        drop(talk);
        let mut all = String::new();
        reads.read_to_string(&mut all).await.unwrap();
        assert!(all.ends_with(&format!("{said}421 4.4.2 that took too long\r\n")), "{all}");
    };
    check("", "N", "").await;
    check("", "NOOP\r\n", "250 2.0.0 well\r\n").await;
    check(&format!("{HELLO}{ENVELOPE}DATA\r\n"), "a", "354 go on\r\n").await;
}

/// A port with nine places, eight of them for one client: seven talk slowly, one more of the same is sent away at once, and
/// another client is greeted.
#[tokio::test]
async fn one_client_does_not_fill_the_port() {
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let server = SmtpServer::bind(any, "here.example", BOUNDS).await.unwrap();
    let address = server.address().unwrap();
    let stop = ShutdownSignal::default();
    let serving = tokio::spawn(server.serve(Arc::new(PrefixMailbox::default()), stop.clone()));
    let connect = async |from: [u8; 4]| {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::from((from, 0))).unwrap();
        let mut stream = socket.connect(address).await.unwrap();
        let mut said = vec![0; 200];
        let read = stream.read(&mut said).await.unwrap();
        said.truncate(read);
        (stream, String::from_utf8(said).unwrap())
    };
    let mut held = Vec::new();
    for _ in 0..BOUNDS.per_address {
        let (stream, said) = connect([127, 0, 0, 1]).await;
        assert_eq!(said, GREETING);
        held.push(stream);
    }
    assert_eq!(connect([127, 0, 0, 1]).await.1, FULL);
    let (_other, said) = connect([127, 0, 0, 2]).await;
    assert_eq!(said, GREETING);
    assert_eq!(connect([127, 0, 0, 3]).await.1, FULL, "now all places are taken");
    // Nobody said a word, so all of them go by themselves.
    for mut stream in held {
        let mut said = String::new();
        stream.read_to_string(&mut said).await.unwrap();
        assert_eq!(said, "421 4.4.2 that took too long\r\n");
    }
    assert_eq!(connect([127, 0, 0, 1]).await.1, GREETING);
    stop.start();
    serving.await.unwrap();
}

#[tokio::test]
async fn it_says_goodbye() {
    let own = Arc::new(PrefixMailbox::default());
    let (mut near, mut talk) = open_session(&own);
    let shutdown = ShutdownSignal::default();
    shutdown.start();
    assert!(talk.serve_mails(&shutdown).await.is_err());
    drop(talk);
    let mut said = String::new();
    near.read_to_string(&mut said).await.unwrap();
    assert_eq!(said, format!("{GREETING}421 4.3.2 going down, come again\r\n"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever is said, it answers in lines, and a mail that it takes is one that was begun.
    #[test]
    fn anything_may_be_said(lines in prop::collection::vec(
        prop_oneof![
            Just(b"EHLO a.example\r\n".to_vec()),
            Just(ENVELOPE.as_bytes().to_vec()),
            Just(b"DATA\r\n".to_vec()),
            Just(b"\r\n.\r\n".to_vec()),
            prop::collection::vec(any::<u8>(), 0..80),
        ],
        0..20,
    )) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (said, mails) = runtime.block_on(answers_to_bytes(&lines.concat(), true));
        prop_assert!(said.lines().all(|line| line.len() > 3 && line.as_bytes()[..3].iter().all(u8::is_ascii_digit)));
        prop_assert_eq!(said.matches("it is here").count() , mails.iter().filter(|(_, mail)| !mail.starts_with(b"later") && !mail.starts_with(b"never")).count());
        for (envelope, mail) in mails {
            prop_assert!(envelope.to.iter().all(|to| to.starts_with("b-")) && !envelope.to.is_empty());
            prop_assert!(is_in_lines(&mail));
        }
    }
}
