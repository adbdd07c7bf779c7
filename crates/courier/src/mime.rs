//! What a message looks like on the wire: RFC 5322 bytes, text and HTML as alternatives.
//!
//! The same message is the same bytes: nothing is random, and the date is the message's own. Whatever a
//! field holds, it cannot end its header and begin another: line breaks are refused, and the finished bytes
//! are looked at once more. Errors name the field and never quote it, for it may be an address.

mod header;
mod transfer_encoding;

use std::time::{Duration, SystemTime};

use lettre::{
    Message as Mail,
    message::{
        Body, Mailbox, MultiPart, SinglePart,
        header::{ContentTransferEncoding, ContentType},
    },
};
use memchr::{memchr, memchr_iter};
use model::device::PushDevice;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{
    call,
    port::{self, Message, MessagePayload},
    push,
};

/// Bytes of text and HTML together.
pub const BODY_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Bytes of a headline, an address with its name, or a header's value.
pub const FIELD_BYTES_MAX: usize = 4 * 1024;
/// More headers than a mail's own.
pub const HEADERS_MAX: usize = 32;
/// Bytes of a line without its end: RFC 5322, 2.1.1.
pub const LINE_BYTES_MAX: usize = 998;

/// The header that says which Ready a mail tells.
pub const READY_HEADER: &str = "X-Tidings-Ready";

/// The header that says that something is no mail.
pub const CHANNEL_HEADER: &str = "X-Tidings-Channel";
/// The header of a push without a sound.
pub const SILENT_HEADER: &str = "X-Tidings-Silent";

/// The last instant that a mail's date can name: the year has four digits.
const DATE_MS_MAX: i64 = 253_402_300_799_999;

/// A message as it goes out.
#[derive(Clone, PartialEq, Eq)]
pub struct MimeMessage {
    /// The id without its brackets.
    pub message_id: String,
    /// What the sender calls itself, if it does.
    pub name: Option<String>,
    /// The sender's bare address.
    pub from: String,
    /// The bare address that servers are told it is from, and send it back to.
    pub return_path: String,
    /// The receiver's bare address.
    pub to: String,
    /// One of the addresses is not ASCII, and so its header is not: servers have to be asked for that (RFC 6531).
    pub is_utf8: bool,
    pub bytes: Vec<u8>,
}

impl std::fmt::Debug for MimeMessage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MimeMessage").field("message_id", &self.message_id).finish_non_exhaustive()
    }
}

/// Why a message can never go out.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{field}: {reason}")]
pub struct MimeError {
    /// Which field; never what it holds.
    pub field: &'static str,
    pub reason: &'static str,
}

impl MimeError {
    fn new(field: &'static str, reason: &'static str) -> Self {
        Self { field, reason }
    }
}

/// Writes a message.
pub fn write_message(message: &Message) -> Result<MimeMessage, MimeError> {
    match &message.way {
        MessagePayload::Mail(mail) => write_mail(message, mail),
        MessagePayload::Push(push) => write_push(message, push),
        MessagePayload::Call(call) => write_call(message, call),
    }
}

fn write_mail(message: &Message, way: &port::MailPayload) -> Result<MimeMessage, MimeError> {
    let (from, to) = (header::parse_mailbox("from", &way.from)?, header::parse_mailbox("to", &way.to)?);
    let back =
        way.return_path.as_deref().map(|path| header::parse_mailbox("return path", path)).transpose()?;
    if way.html.len() + message.text.len() > BODY_BYTES_MAX {
        return Err(MimeError::new("body", "too long"));
    }
    // The text comes first: of alternatives the last that can be shown is shown.
    let html = encode_part(ContentType::TEXT_HTML, &way.html)?;
    let written = finish_message(message, from, vec![to], &way.headers, html)?;
    let return_path = back.map_or_else(|| written.from.clone(), |path| path.email.to_string());
    let is_utf8 = written.is_utf8 || !return_path.is_ascii();
    Ok(MimeMessage { return_path, is_utf8, ..written })
}

/// A push as a mail to its devices, with what each of them is given beside its words: for whoever looks into the
/// outbox, and for nobody else.
fn write_push(message: &Message, push: &port::PushPayload) -> Result<MimeMessage, MimeError> {
    let to = |device: &PushDevice| {
        header::parse_mailbox("device", &format!("{}@{}.invalid", device.id, device.platform.name()))
    };
    let to = push.devices.iter().map(to).collect::<Result<Vec<Mailbox>, MimeError>>()?;
    if to.is_empty() {
        return Err(MimeError::new("device", "there is none"));
    }
    write_as_mail(message, &push::encode_pushes(message, push), to, push.silent)
}

/// The call of a hook as a mail to whoever is behind it, in the same manner.
fn write_call(message: &Message, call: &port::CallPayload) -> Result<MimeMessage, MimeError> {
    let to = header::parse_mailbox("hook", &format!("somebody@{}.invalid", call.hook.name()))?;
    let payload = json!({"address": call.address, "body": call::encode_call(message, call)});
    write_as_mail(message, &payload, vec![to], call.silent)
}

/// What is no mail, as one.
fn write_as_mail(
    message: &Message,
    json: &Value,
    to: Vec<Mailbox>,
    silent: bool,
) -> Result<MimeMessage, MimeError> {
    let text = serde_json::to_string_pretty(json).map_err(|_| MimeError::new("body", "cannot be written"))?;
    if text.len() + message.text.len() > BODY_BYTES_MAX {
        return Err(MimeError::new("body", "too long"));
    }
    let channel = message.channel().name();
    let from = header::parse_mailbox("from", &format!("{channel}@tidings.invalid"))?;
    let silent = silent.then(|| (SILENT_HEADER.to_owned(), "yes".to_owned()));
    let json =
        ContentType::parse("application/json").map_err(|_| MimeError::new("body", "cannot be written"))?;
    let headers = std::iter::once((CHANNEL_HEADER.to_owned(), channel.to_owned())).chain(silent);
    finish_message(message, from, to, &headers.collect::<Vec<_>>(), encode_part(json, &text)?)
}

/// The bytes, with the plain words and one more form of them.
fn finish_message(
    message: &Message,
    from: Mailbox,
    to: Vec<Mailbox>,
    headers: &[(String, String)],
    other: SinglePart,
) -> Result<MimeMessage, MimeError> {
    let message_id = header::bare_message_id(&message.message_id)?;
    let (name, from_address, to_address) =
        (from.name.clone(), from.email.to_string(), to[0].email.to_string());
    let mut mail =
        Mail::builder().message_id(Some(format!("<{message_id}>"))).date(mail_date(message)?).from(from);
    for to in to {
        mail = mail.to(to);
    }
    mail = mail
        .raw_header(header::headline_header(&message.headline)?)
        .raw_header(header::own_header(READY_HEADER, message.ready.to_string()));
    if headers.len() > HEADERS_MAX {
        return Err(MimeError::new("headers", "too many"));
    }
    for (i, (name, value)) in headers.iter().enumerate() {
        if headers[..i].iter().any(|(other, _)| other.eq_ignore_ascii_case(name)) {
            return Err(MimeError::new("headers", "one is given twice"));
        }
        mail = mail.raw_header(header::extra_header(name, value)?);
    }
    let parts = MultiPart::alternative()
        .boundary(mime_boundary(message_id))
        .singlepart(encode_part(ContentType::TEXT_PLAIN, &message.text)?)
        .singlepart(other);
    let mail = mail.multipart(parts).map_err(|_| MimeError::new("mail", "cannot be put together"))?;
    let bytes = mail.formatted();
    let is_utf8 = !from_address.is_ascii() || !to_address.is_ascii();
    if !is_canonical(&bytes, is_utf8) {
        return Err(MimeError::new("mail", "has a line that no server must accept"));
    }
    let (message_id, return_path) = (message_id.to_owned(), from_address.clone());
    Ok(MimeMessage { message_id, name, from: from_address, return_path, to: to_address, is_utf8, bytes })
}

/// The id without its brackets; `None` if it is none.
pub fn bare_id(message_id: &str) -> Option<&str> {
    header::bare_message_id(message_id).ok()
}

/// Outside of these years the libraries below panic.
fn mail_date(message: &Message) -> Result<SystemTime, MimeError> {
    let ms = message.date.0;
    match u64::try_from(ms) {
        Ok(since) if ms <= DATE_MS_MAX => Ok(SystemTime::UNIX_EPOCH + Duration::from_millis(since)),
        _ => Err(MimeError::new("date", "before 1970 or after 9999")),
    }
}

/// Neither encoding has `=_` in it, so that no body can hold the boundary.
fn mime_boundary(message_id: &str) -> String {
    let hash = Sha256::digest(message_id.as_bytes());
    let digits: String = hash[..12].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("=_{digits}")
}

/// Both encodings leave no bare line end, no long line and nothing but ASCII.
fn encode_part(content_type: ContentType, text: &str) -> Result<SinglePart, MimeError> {
    let foreign = text.bytes().filter(|byte| !byte.is_ascii()).count();
    let (encoding, body) = if foreign * 3 > text.len() {
        let encoding = ContentTransferEncoding::Base64;
        let body = Body::new_with_encoding(text.to_owned(), encoding);
        (encoding, body.map_err(|_| MimeError::new("body", "cannot be encoded"))?)
    } else {
        let encoding = ContentTransferEncoding::QuotedPrintable;
        (encoding, Body::dangerous_pre_encoded(transfer_encoding::encode_text(text), encoding))
    };
    Ok(SinglePart::builder().header(content_type).header(encoding).body(body))
}

/// Whether every line ends in CRLF, is not too long, and holds ASCII, or UTF-8 where that is asked for, without NUL: two
/// servers that see different line ends see different mails.
fn is_canonical(bytes: &[u8], is_utf8: bool) -> bool {
    if !is_utf8 && !bytes.is_ascii() || memchr(0, bytes).is_some() || !bytes.ends_with(b"\n") {
        return false;
    }
    let mut begin = 0;
    let mut returns = memchr_iter(b'\r', bytes);
    for end in memchr_iter(b'\n', bytes) {
        // The next carriage return is the one before the line feed, or it stands by itself.
        if returns.next().map(|at| at + 1) != Some(end) || end - begin > LINE_BYTES_MAX + 1 {
            return false;
        }
        begin = end + 1;
    }
    returns.next().is_none()
}
