//! Mails that were made to be too much: each is refused or read at once, on a thread of the usual size.

use std::{fmt::Write as _, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use runtime::clock::SteadyStopwatch;

use crate::{
    mail_returns::{self, ReturnPathMail},
    outbox::OutboxMail,
    parse::{MAILS_WITHIN_MAX, MailLimitError, PARTS_MAX, check_limits, read_parsed},
};

const NEST: &str = "Content-Type: message/rfc822\r\n\r\n";
/// Bytes of a mail, half of what the intake takes.
const SIZE: usize = mail_returns::MAIL_BYTES_MAX / 2;
/// Generous, for a machine that does other things; the worst of them would take minutes.
const TIME_MAX: Duration = Duration::from_secs(60);

fn fill_mail(size: usize, head: &str, again: impl Fn(usize) -> String) -> String {
    let mut text = head.to_owned();
    let mut number = 0;
    loop {
        let more = again(number);
        if text.len() + more.len() > size {
            return text;
        }
        text.push_str(&more);
        number += 1;
    }
}

/// A mail within it that is encoded, and has this in it.
fn encoded_mail(inner: &str) -> String {
    let mut lines = String::new();
    for line in STANDARD.encode(inner).as_bytes().chunks(76) {
        writeln!(lines, "{}\r", str::from_utf8(line).unwrap()).unwrap();
    }
    format!("Content-Type: message/rfc822\r\nContent-Transfer-Encoding: base64\r\n\r\n{lines}")
}

/// What there is too much of, by what it is called.
fn all_bombs(size: usize) -> Vec<MailBomb> {
    let mut all = [bombs_of_mails(size), bombs_of_parts(size), bombs_of_headers(size)].concat();
    for said in ["Content-Type", "Content-Disposition"] {
        let attributes = fill_mail(size, &format!("{said}: text/plain"), |n| format!(";a{n}*1=b"));
        all.push(("attributes", attributes, Some(MailLimitError::Said)));
        let folded = fill_mail(size, &format!("{said}: text/plain"), |n| format!(";\r\n a{n}*1=b"));
        all.push(("attributes on lines of their own", folded, Some(MailLimitError::Said)));
    }
    all
}

type MailBomb = (&'static str, String, Option<MailLimitError>);

fn bombs_of_mails(size: usize) -> Vec<MailBomb> {
    let within = size * 3 / 4 - size / 20;
    let mails = Some(MailLimitError::Mails);
    vec![
        ("mails in mails", fill_mail(size, "", |_| NEST.to_owned()), mails),
        (
            "their names spaced",
            fill_mail(size, "", |_| " C ontent - T ype :MESSAGE/global\n\n".to_owned()),
            mails,
        ),
        (
            "their names behind colons",
            fill_mail(size, "", |_| "::content-type:message/rfc822\n\n".to_owned()),
            mails,
        ),
        (
            "their values on a second line",
            fill_mail(size, "", |_| "Content-Type:\r\n message/rfc822\r\n\r\n".to_owned()),
            mails,
        ),
        (
            "digests in digests",
            fill_mail(size, "", |n| {
                format!("Content-Type: multipart/digest; boundary=b{n}\r\n\r\n--b{n}\r\n\r\n")
            }),
            mails,
        ),
        (
            "mails beside mails",
            fill_mail(size, "Content-Type: multipart/mixed; boundary=b\r\n\r\n", |_| {
                format!("--b\r\n{NEST}a: b\r\n\r\n")
            }),
            mails,
        ),
        (
            "mails in an encoded mail",
            encoded_mail(&fill_mail(within, "", |_| "Content-Type:message/rfc822\n\n".to_owned())),
            None,
        ),
        (
            "mails beside mails in an encoded mail",
            encoded_mail(&fill_mail(within, "Content-Type: multipart/mixed; boundary=b\n\n", |_| {
                "--b\nContent-Type:message/rfc822\n\na:b\n\n".to_owned()
            })),
            None,
        ),
    ]
}

fn bombs_of_parts(size: usize) -> Vec<MailBomb> {
    let parts = Some(MailLimitError::Parts);
    vec![
        (
            "parts in parts",
            fill_mail(size, "", |n| {
                format!("Content-Type: multipart/mixed; boundary=b{n}\r\n\r\n--b{n}\r\n")
            }),
            parts,
        ),
        (
            "parts without their boundaries",
            fill_mail(size, "Content-Type: multipart/mixed; boundary=b\r\n\r\n", |_| {
                "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n".to_owned()
            }),
            parts,
        ),
        (
            "bare parts",
            fill_mail(size, "Content-Type: multipart/mixed; boundary=b\r\n\r\n", |_| {
                "--b\r\n\r\n".to_owned()
            }),
            None,
        ),
    ]
}

fn bombs_of_headers(size: usize) -> Vec<MailBomb> {
    vec![
        ("headers", fill_mail(size, "", |n| format!("x{n}: y\r\n")), None),
        ("addresses", fill_mail(size, "To: ", |n| format!("a{n}@b,")), None),
        ("comments in comments", fill_mail(size, "To: ", |_| "(".to_owned()), None),
        ("groups", fill_mail(size, "To: ", |_| "a:b;".to_owned()), None),
        ("encoded words", fill_mail(size, "Subject: ", |_| "=?utf-8?q?a?= ".to_owned()), None),
        ("unfinished words", fill_mail(size, "Subject: ", |_| "=?utf-8?q?".to_owned()), None),
        ("a date", fill_mail(size, "Date: ", |_| "9".to_owned()), None),
        ("references", fill_mail(size, "References: ", |_| "<a@b>".to_owned()), None),
        ("a long way", fill_mail(size, "Received: ", |_| "from a by b (c) ".to_owned()), None),
    ]
}

#[test]
fn what_is_too_much_is_refused_and_all_else_is_read_at_once() {
    for (name, mail, expected) in all_bombs(SIZE) {
        let began = SteadyStopwatch::start();
        assert_eq!(check_limits(mail.as_bytes()).err(), expected, "{name}");
        assert_eq!(read_parsed(mail.as_bytes(), |_| ()).is_some(), expected.is_none(), "{name}");
        assert_eq!(mail_returns::read_mail(mail.as_bytes()), ReturnPathMail::NoReport, "{name}");
        assert_eq!(OutboxMail::parse(mail.clone().into_bytes()).raw.len(), mail.len(), "{name}");
        let took = began.elapsed();
        assert!(took < TIME_MAX, "{name}: {took:?}");
    }
}

#[test]
fn as_much_as_may_be_is_taken() {
    let parted = |parts: usize, part: &str| {
        format!("Content-Type: multipart/mixed; boundary=b\r\n\r\n{}", format!("--b\r\n{part}").repeat(parts))
    };
    let deep = |mails: usize| format!("{}Subject: inside\r\n\r\nHello.\r\n", NEST.repeat(mails));
    let check = |mail: &str, is_good: bool| {
        assert_eq!(check_limits(mail.as_bytes()).is_ok(), is_good);
        assert_eq!(read_parsed(mail.as_bytes(), |_| ()).is_some(), is_good);
    };
    check(&deep(MAILS_WITHIN_MAX), true);
    check(&deep(MAILS_WITHIN_MAX + 1), false);
    let text = "Content-Type: text/plain\r\nContent-Disposition: attachment\r\n\r\nHello.\r\n";
    check(&parted(PARTS_MAX - 1, text), true);
    check(&parted(PARTS_MAX + 1, text), false);
}

/// The second wall holds alone: what the library made deep is dropped on a thread of the usual size.
#[test]
fn what_is_deep_is_dropped_flat() {
    let raw = NEST.repeat(30_000);
    let parse = || mail_parser::MessageParser::default().parse(raw.as_bytes());
    let mail = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(64 * 1024 * 1024);
        thread.spawn_scoped(scope, parse).unwrap().join().unwrap().unwrap()
    });
    let mut parts = &mail.parts;
    let mut depth = 0;
    while let Some(mail_parser::PartType::Message(inner)) = parts.first().map(|part| &part.body) {
        parts = &inner.parts;
        depth += 1;
    }
    assert!(depth > 29_000, "{depth}");
    crate::parse::drop_flat(mail);
}

#[test]
fn parts_are_decoded() {
    let check = |encoding: &str, charset: &str, body: &str, expected: &str| {
        let part = format!(
            "Content-Type: text/plain; charset={charset}\r\nContent-Transfer-Encoding: {encoding}\r\n\r\n{body}"
        );
        let alone = OutboxMail::parse(part.clone().into_bytes());
        assert_eq!(alone.text, expected, "{encoding} {charset}");
        let beside = format!(
            "Content-Type: multipart/alternative; boundary=b\r\n\r\n--b\r\n{part}\r\n--b\r\n\
             Content-Type: text/html\r\n\r\n<p>\r\n--b--\r\n"
        );
        let beside = OutboxMail::parse(beside.into_bytes());
        assert_eq!((beside.text.as_str(), beside.html.as_str()), (expected, "<p>"), "{encoding} {charset}");
    };
    check("7bit", "us-ascii", "Hello.", "Hello.");
    check("8bit", "utf-8", "für", "für");
    check("base64", "utf-8", "ZsO8\r\ncg==", "für");
    check("BASE64", "iso-8859-1", "Zvxy", "für");
    check("quoted-printable", "utf-8", "f=C3=\r\n=BCr", "für");
    check("quoted-printable", "windows-1252", "f=FCr", "für");
    check("base64", "utf-8", "*", "*");
    check("unknown", "unknown", "Hello.", "Hello.");
}
