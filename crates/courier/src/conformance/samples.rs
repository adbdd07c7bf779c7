//! Messages for the suite, with text that gets altered where something is wrong.

use model::{ReadyId, Tenant, UtcMillis};

use super::BrokenCourierPromise;
use crate::port::{MailPayload, Message, MessagePayload};

/// A plain message, one of many.
pub(super) fn sample_message(number: u8) -> Result<Message, BrokenCourierPromise> {
    let ready = ReadyId([number; 16]);
    Ok(Message {
        tenant: Tenant::new("main").map_err(|error| BrokenCourierPromise(error.to_string()))?,
        ready,
        message_id: format!("{ready}@news.example"),
        headline: format!("{number} new things"),
        text: format!("Number {number}\n"),
        date: UtcMillis(1_795_248_000_000),
        way: MessagePayload::Mail(MailPayload {
            from: "News <news@news.example>".to_owned(),
            to: format!("ann{number}@mail.example"),
            preheader: "Moon and others".to_owned(),
            html: format!("<html><body><p>Number {number}</p></body></html>"),
            return_path: None,
            headers: vec![("Auto-Submitted".to_owned(), "auto-generated".to_owned())],
        }),
    })
}

/// Headlines that are easily altered.
pub(super) fn sample_headlines() -> Vec<String> {
    let mut all: Vec<String> = [
        "Plain",
        "Zwölf Monde über Köln",
        "\u{1f319} 12 new \u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467} \u{1f1e9}\u{1f1ea}",
        "新しい作品が十二点あります",
        "a  b   c",
        " edges ",
        "=?utf-8?q?not_encoded?=",
        "tab\there",
        "100% \"quoted\" \\ <angle> @ , ; : (round)",
        "",
    ]
    .map(str::to_owned)
    .to_vec();
    all.extend(["x".repeat(300), "ä".repeat(300), "long words and more ".repeat(20).trim().to_owned()]);
    all
}

/// Bodies that are easily altered.
pub(super) fn sample_bodies() -> Vec<String> {
    [
        "one line without an end".to_owned(),
        "ends\n\n\n".to_owned(),
        ".\n..\n.dot at the start\nend\n.\nmore\n".to_owned(),
        "From here\n>From there\n--\n-- \n--=_boundary\n".to_owned(),
        "blanks at the end   \n\ttabs\t\n".to_owned(),
        "=3D =\n= soft?\n".to_owned(),
        "Zwölf Monde \u{1f319} 十二\n".to_owned(),
        "十二点".repeat(500),
        "x".repeat(5_000),
        "words ".repeat(1_000),
        "a\u{0}b\u{7}c\u{feff}\n".to_owned(),
        String::new(),
    ]
    .to_vec()
}
