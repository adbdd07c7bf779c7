//! What comes back of mails, read: bounces and complaints as mails, and what providers tell of them over HTTP.
//!
//! All of it comes from outside, and anybody can write it. So nothing here decides whose mail it was: each [`ReturnedMail`] has
//! the words that were found where the mail's own word may be said again, and whoever has the secret sees which of them
//! is one. An address is never kept.
//!
//! [`read_mail()`] reads a mail: `dsn` a report of a delivery that failed (RFC 3464), with `status` for what its codes mean,
//! `arf` a report of a complaint (RFC 5965). [`read_webhook()`] reads what a provider posts: `ses`, `postmark`, `sendgrid`.

mod arf;
mod dsn;
mod postmark;
mod sendgrid;
mod ses;
pub mod status;

use mail_parser::{Message, MessageParser, MessagePart, MimeHeaders as _, PartType};
use model::returns::ReturnSort;

use crate::parse;

/// The header of a mail that has its word, for reports that bring the mail's headers but not its return path.
pub const WORD_HEADER: &str = "X-Tidings-Return";
/// What providers call the word that they were given beside a mail.
pub const WORD_KEY: &str = "tidings";

/// Bytes of a mail that is read. What a server adds to the mail that it could not deliver comes at the end.
pub const MAIL_BYTES_MAX: usize = 1024 * 1024;
/// Groups of fields of a report: one of the mail, and one for each receiver, of which there is one.
const GROUPS_MAX: usize = 50;
/// Words that one return may have.
const WORDS_MAX: usize = 8;
/// Characters of a word; what is longer is none.
const WORD_CHARS_MAX: usize = 64;

/// Something came back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReturnedMail {
    pub what: ReturnSort,
    /// As [`model::returns::extract_code`] leaves it.
    pub code: String,
    /// Which mail it may be of; who sent it to a return path has said one more.
    pub words: Vec<String>,
}

/// What a mail is that came to a return path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReturnPathMail {
    Came(ReturnedMail),
    /// It reports nothing of which anything follows: a delay, a delivery.
    Nothing,
    /// It is no report: an answer of somebody who is away, or anything else.
    NoReport,
}

/// Who tells of what came back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReturnProvider {
    Ses,
    Postmark,
    SendGrid,
}

impl ReturnProvider {
    pub const ALL: [Self; 3] = [Self::Ses, Self::Postmark, Self::SendGrid];

    pub fn name(self) -> &'static str {
        match self {
            Self::Ses => "ses",
            Self::Postmark => "postmark",
            Self::SendGrid => "sendgrid",
        }
    }
}

/// What a provider posted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ProviderPost {
    /// Also nothing at all: of deliveries and of what was opened nothing follows.
    Came(Vec<ReturnedMail>),
    /// Somebody has to confirm that it may post here, by opening this address.
    Confirm(String),
}

/// Why a body says nothing.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct ProviderPostError(pub String);

/// Reads what a provider posted.
pub fn read_webhook(provider: ReturnProvider, body: &[u8]) -> Result<ProviderPost, ProviderPostError> {
    match provider {
        ReturnProvider::Ses => ses::read_post(body),
        ReturnProvider::Postmark => postmark::read_post(body),
        ReturnProvider::SendGrid => sendgrid::read_post(body),
    }
}

/// Reads a mail.
pub fn read_mail(bytes: &[u8]) -> ReturnPathMail {
    let bytes = &bytes[..bytes.len().min(MAIL_BYTES_MAX)];
    parse::read_parsed(bytes, read_letter).unwrap_or(ReturnPathMail::NoReport)
}

fn read_letter(mail: &Message<'_>) -> ReturnPathMail {
    for part in &mail.parts {
        if is_report_part(part, "message", "feedback-report") {
            return arf::read_complaint(mail, part);
        }
        if is_report_part(part, "message", "delivery-status")
            || is_report_part(part, "message", "global-delivery-status")
        {
            return dsn::read_bounce(mail, part);
        }
    }
    ReturnPathMail::NoReport
}

fn is_report_part(part: &MessagePart<'_>, sort: &str, of: &str) -> bool {
    part.content_type().is_some_and(|content| {
        content.ctype().eq_ignore_ascii_case(sort)
            && content.subtype().is_some_and(|subtype| subtype.eq_ignore_ascii_case(of))
    })
}

/// Groups of fields as both sorts of report have them: headers, with an empty line between two groups.
fn field_groups(mail: &Message<'_>, part: &MessagePart<'_>) -> Vec<Vec<(String, String)>> {
    if matches!(part.body, PartType::Message(_) | PartType::Multipart(_)) {
        return Vec::new();
    }
    let text = String::from_utf8_lossy(&parse::part_bytes(mail, part)).replace("\r\n", "\n");
    let parser = MessageParser::default();
    let read = |group: &str| {
        parser.parse_headers(format!("{}\n\n", group.trim_matches('\n')).as_bytes()).map(header_fields)
    };
    text.split("\n\n").take(GROUPS_MAX).filter_map(read).filter(|fields| !fields.is_empty()).collect()
}

fn header_fields(of: Message<'_>) -> Vec<(String, String)> {
    let raw = of.headers_raw().map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()));
    raw.collect()
}

/// A field of a group.
fn find_field<'a>(group: &'a [(String, String)], name: &str) -> Option<&'a str> {
    group.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
}

/// The words in the mail that a report is about.
fn words_in_report(report: &Message<'_>) -> Vec<String> {
    let mut words = Vec::new();
    for part in &report.parts {
        match &part.body {
            PartType::Message(inner) => words.extend(words_of(inner)),
            PartType::Text(_) | PartType::Html(_) | PartType::Binary(_) | PartType::InlineBinary(_)
                if is_report_part(part, "text", "rfc822-headers")
                    || is_report_part(part, "message", "rfc822-headers") =>
            {
                let own = field_groups(report, part).into_iter().flatten();
                words.extend(own.filter_map(|(name, value)| word_of(&name, &value)));
            }
            _ => {}
        }
    }
    limit_words(words)
}

fn words_of(mail: &Message<'_>) -> Vec<String> {
    mail.headers_raw().filter_map(|(name, value)| word_of(name, value)).collect()
}

fn word_of(header: &str, value: &str) -> Option<String> {
    match header.to_ascii_lowercase().as_str() {
        "return-path" => parse_word(value),
        name if name.eq_ignore_ascii_case(WORD_HEADER) => parse_word(value),
        _ => None,
    }
}

/// What may be a word: the part before the @, of an address or alone.
fn parse_word(text: &str) -> Option<String> {
    let text = text.trim().trim_start_matches('<').trim_end_matches('>');
    let local = text.split('@').next().unwrap_or_default();
    let good =
        (1..=WORD_CHARS_MAX).contains(&local.len()) && local.bytes().all(|byte| byte.is_ascii_alphanumeric());
    good.then(|| local.to_owned())
}

fn limit_words(mut words: Vec<String>) -> Vec<String> {
    let mut seen = std::collections::BTreeSet::new();
    words.retain(|word| seen.insert(word.clone()));
    words.truncate(WORDS_MAX);
    words
}
