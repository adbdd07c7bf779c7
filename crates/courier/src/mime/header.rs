//! Headers: what may stand in one, and how it is encoded.

use lettre::{
    Address,
    message::{
        Mailbox,
        header::{HeaderName, HeaderValue},
    },
};

use super::{FIELD_BYTES_MAX, LINE_BYTES_MAX, MimeError};

/// Bytes of a message id: its header stays on one line, and a file can be named after it.
const ID_BYTES_MAX: usize = 200;
/// Bytes of one encoded word's content: with its frame and the header's name it stays under 76.
const WORD_BYTES_MAX: usize = 45;

/// Headers that a mail has of its own, and those that decide where it goes.
const OURS: [&str; 16] = [
    "message-id",
    "date",
    "from",
    "to",
    "subject",
    "sender",
    "cc",
    "bcc",
    "mime-version",
    "return-path",
    "received",
    "x-tidings-ready",
    "resent-to",
    "resent-cc",
    "resent-bcc",
    "delivered-to",
];

/// Characters that stand for themselves in an id or the local part of an address (RFC 5322, atext).
fn is_atom(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(&byte)
}

fn is_dot_atom(text: &str) -> bool {
    text.split('.').all(|atom| !atom.is_empty() && atom.bytes().all(is_atom))
}

/// The same with letters and digits of any script (RFC 6531).
fn is_dot_atom_of_any_script(text: &str) -> bool {
    let good = |c: char| if c.is_ascii() { u8::try_from(c).is_ok_and(is_atom) } else { c.is_alphanumeric() };
    text.split('.').all(|atom| !atom.is_empty() && atom.chars().all(good))
}

/// The id without its brackets.
pub(super) fn bare_message_id(text: &str) -> Result<&str, MimeError> {
    let bare = text.strip_prefix('<').and_then(|text| text.strip_suffix('>')).unwrap_or(text);
    let good = bare.len() <= ID_BYTES_MAX
        && bare.split_once('@').is_some_and(|(left, right)| is_dot_atom(left) && is_dot_atom(right));
    if good { Ok(bare) } else { Err(MimeError::new("message id", "not of the form left@right")) }
}

/// An address, or a name and an address in angle brackets. One only: a list is refused.
pub(super) fn parse_mailbox(field: &'static str, text: &str) -> Result<Mailbox, MimeError> {
    if text.len() > FIELD_BYTES_MAX {
        return Err(MimeError::new(field, "too long"));
    }
    if text.chars().any(char::is_control) {
        return Err(MimeError::new(field, "has a control character"));
    }
    let text = text.trim();
    let (name, address) = match text.strip_suffix('>').and_then(|text| text.rsplit_once('<')) {
        Some((name, address)) => (display_name(field, name.trim())?, address),
        None => (String::new(), text),
    };
    // Others are allowed by one standard or the next, and few servers take them.
    let (local, domain) = address.rsplit_once('@').unwrap_or(("", ""));
    if !is_dot_atom_of_any_script(local) {
        return Err(MimeError::new(field, "not an address that servers take"));
    }
    // A domain has a form in ASCII whatever its script; what stands before it has none.
    let domain = idna::domain_to_ascii_strict(domain).map_err(|_| MimeError::new(field, "not an address"))?;
    let address = Address::new(local, domain).map_err(|_| MimeError::new(field, "not an address"))?;
    Ok(Mailbox::new((!name.is_empty()).then_some(name), address))
}

/// A display name without the quotes it may be given in. Without quotes it holds nothing by which an
/// address could end or begin: what looks like a list is not taken for a name.
fn display_name(field: &'static str, name: &str) -> Result<String, MimeError> {
    let Some(inner) = name.strip_prefix('"').and_then(|name| name.strip_suffix('"')) else {
        return match name.contains(['<', '>', '@', ',', ';', ':', '"', '\\']) {
            true => Err(MimeError::new(field, "its name needs quotes, or it is a list")),
            false => Ok(name.to_owned()),
        };
    };
    let mut out = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => return Err(MimeError::new(field, "its name has a quote within quotes")),
            '\\' => out.extend(chars.next()),
            _ => out.push(c),
        }
    }
    Ok(out)
}

/// The headline's header.
pub(super) fn headline_header(text: &str) -> Result<HeaderValue, MimeError> {
    check_text("headline", text)?;
    let name = HeaderName::new_from_ascii_str("Subject");
    if is_plain(text) {
        return Ok(HeaderValue::new(name, text.to_owned()));
    }
    Ok(HeaderValue::dangerous_new_pre_encoded(name, text.to_owned(), encode_words(text)))
}

/// A header of ours with a value of ours.
pub(super) fn own_header(name: &'static str, value: String) -> HeaderValue {
    HeaderValue::new(HeaderName::new_from_ascii_str(name), value)
}

/// One more header.
pub(super) fn extra_header(name: &str, value: &str) -> Result<HeaderValue, MimeError> {
    let lower = name.to_ascii_lowercase();
    if OURS.contains(&lower.as_str()) || lower.starts_with("content-") {
        return Err(MimeError::new("headers", "one is the mail's own"));
    }
    // A name's bytes are those of RFC 5322, 3.6.8.
    if !name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b':') {
        return Err(MimeError::new("headers", "one has no good name"));
    }
    check_text("headers", value)?;
    if value.chars().any(char::is_control) || value.trim() != value || value.is_empty() {
        return Err(MimeError::new(
            "headers",
            "one has a control character, no value or a blank at its edge",
        ));
    }
    if value.split(' ').any(|word| word.len() + name.len() + 2 > LINE_BYTES_MAX) {
        return Err(MimeError::new("headers", "one cannot be folded into lines"));
    }
    let name = HeaderName::new_from_ascii(name.to_owned());
    Ok(HeaderValue::new(
        name.map_err(|_| MimeError::new("headers", "one has no good name"))?,
        value.to_owned(),
    ))
}

fn check_text(field: &'static str, text: &str) -> Result<(), MimeError> {
    if text.len() > FIELD_BYTES_MAX {
        return Err(MimeError::new(field, "too long"));
    }
    if text.contains(['\r', '\n', '\0']) {
        return Err(MimeError::new(field, "has a line break or a zero byte"));
    }
    Ok(())
}

/// Whether the usual encoding gives the text back: blanks at edges and in a row are lost when a header is
/// folded, a word may be too long to be folded, and what looks like an encoded word would be decoded.
fn is_plain(text: &str) -> bool {
    !text.contains("=?")
        && !text.contains("  ")
        && !text.starts_with(' ')
        && !text.ends_with(' ')
        && !text.chars().any(char::is_control)
        && !text.split(' ').any(|word| word.len() > 60)
}

/// Encoded words (RFC 2047, Q) of everything, whatever it is. The blank between two of them is not text.
fn encode_words(text: &str) -> String {
    let mut words = vec![String::new()];
    for c in text.chars() {
        let mut utf8 = [0; 4];
        let bytes = c.encode_utf8(&mut utf8).bytes();
        let piece: String = match c.is_ascii_alphanumeric() {
            true => c.into(),
            false => bytes.map(|byte| format!("={byte:02X}")).collect(),
        };
        match words.last_mut() {
            Some(word) if word.len() + piece.len() <= WORD_BYTES_MAX => word.push_str(&piece),
            _ => words.push(piece),
        }
    }
    let words: Vec<String> = words.iter().map(|word| format!("=?utf-8?q?{word}?=")).collect();
    words.join("\r\n ")
}
