//! A mail read back from its file, as a mail client would see it.

use std::fmt;

use mail_parser::{Address, HeaderValue, Message, MessageParser, MessagePart, MimeHeaders as _, PartType};

use crate::parse;

/// One mail.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct OutboxMail {
    /// All headers in order, decoded.
    pub headers: Vec<(String, String)>,
    pub html: String,
    pub text: String,
    /// The file.
    pub raw: Vec<u8>,
}

// An address never reaches a log by accident.
impl fmt::Debug for OutboxMail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutboxMail").field("bytes", &self.raw.len()).finish_non_exhaustive()
    }
}

impl OutboxMail {
    /// Takes a mail apart; what cannot be understood is empty.
    pub fn parse(raw: Vec<u8>) -> Self {
        let parsed = MessageParser::default().parse_headers(&raw).unwrap_or_default();
        let headers = parsed.headers().iter().map(|header| {
            (header.name.as_str().to_owned(), header_text(&header.value, || raw_header(&raw, header)))
        });
        let headers = headers.collect();
        let bodies = parse::read_parsed(&raw, |mail| (read_body(mail, true), read_body(mail, false)));
        let (html, text) = bodies.unwrap_or_default();
        Self { headers, html, text, raw }
    }

    /// What a mail says it is about.
    pub fn read_headline(raw: &[u8]) -> String {
        let parsed = MessageParser::default().parse_headers(raw).unwrap_or_default();
        parsed.subject().unwrap_or_default().to_owned()
    }

    /// The first header of this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

/// The part of one sort, with the line ends of a text. What a push has beside its words stands for HTML.
fn read_body(parsed: &Message<'_>, html: bool) -> String {
    let part = parsed.parts.iter().find(|part| match &part.body {
        PartType::Html(_) => html,
        PartType::Text(_) => html == is_json(part),
        PartType::Binary(_) => html && is_json(part),
        _ => false,
    });
    part.map(|part| parse::part_text(parsed, part).replace("\r\n", "\n")).unwrap_or_default()
}

fn is_json(part: &MessagePart<'_>) -> bool {
    part.content_type().is_some_and(|sort| sort.subtype() == Some("json"))
}

fn header_text(value: &HeaderValue<'_>, raw: impl Fn() -> String) -> String {
    match value {
        HeaderValue::Text(text) => text.to_string(),
        HeaderValue::Address(address) => format_addresses(address),
        _ => raw(),
    }
}

/// As it was written, but on one line.
fn raw_header(raw: &[u8], header: &mail_parser::Header<'_>) -> String {
    let range = header.offset_start as usize..header.offset_end as usize;
    let text = String::from_utf8_lossy(raw.get(range).unwrap_or_default());
    text.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}

/// Addresses with their names.
pub(super) fn format_addresses(address: &Address<'_>) -> String {
    let one = |one: &mail_parser::Addr<'_>| {
        let address = one.address.as_deref().unwrap_or_default();
        match one.name.as_deref() {
            Some(name) => format!("{name} <{address}>"),
            None => address.to_owned(),
        }
    };
    address.iter().map(one).collect::<Vec<_>>().join(", ")
}
