//! Taking a mail apart that anybody may have written.
//!
//! The library keeps mails within mails as a tree and drops it recursively, searches the whole rest of a mail for the
//! boundary of each part, and copies all of an encoded mail once for each mail in it. So what is nested or split too
//! much is refused by its bytes, before anything is parsed ([`check_limits`]); what a part is encoded with is undone here, part by
//! part; and the work is done on a thread with a large stack of its own, should there be depth that nobody thought of.

use std::{borrow::Cow, thread};

use mail_parser::{
    HeaderName, Message, MessageParser, MessagePart, MimeHeaders as _, PartType,
    decoders::{
        base64::base64_decode, charsets::map::charset_decoder, quoted_printable::quoted_printable_decode,
    },
};

/// Mails within a mail, wherever they are: so there are no more in one another.
pub const MAILS_WITHIN_MAX: usize = 20;
/// Parts of a mail.
pub const PARTS_MAX: usize = 200;
/// Bytes of what one header says about a part; some things are counted in it each against each.
const SAID_BYTES_MAX: usize = 8 * 1024;
const STACK_BYTES: usize = 64 * 1024 * 1024;
/// The two headers that say something about a part.
const SAYING: [&[u8]; 2] = [b"content-type", b"content-disposition"];

/// Why a mail is not taken apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MailLimitError {
    #[error("more than {MAILS_WITHIN_MAX} mails within a mail")]
    Mails,
    #[error("more than {PARTS_MAX} parts")]
    Parts,
    #[error("a header of a part with more than {SAID_BYTES_MAX} bytes")]
    Said,
}

/// Whether a mail may be taken apart. Counts what might be a header of a part wherever it stands, so it never counts
/// less than the library finds: there white space within a header's name counts for nothing, and a line may begin with the
/// boundary.
pub fn check_limits(raw: &[u8]) -> Result<(), MailLimitError> {
    let (mut parts, mut mails) = (0, 0);
    let mut name: Vec<u8> = Vec::new();
    let mut at = 0;
    while let Some(byte) = raw.get(at) {
        at += 1;
        match byte {
            b'\n' => name.clear(),
            b':' if SAYING.iter().any(|saying| name.ends_with(saying)) => {
                name.clear();
                let said = header_value(&raw[at..])?;
                parts += 1;
                // A part of a digest is a mail by itself.
                mails += usize::from(
                    ["message", "digest"].iter().any(|word| contains_word(said, word.as_bytes())),
                );
            }
            byte if byte.is_ascii_whitespace() => {}
            byte => {
                // The end is all that counts.
                if name.len() > 2 * SAYING[1].len() {
                    name.drain(..SAYING[1].len());
                }
                name.push(byte.to_ascii_lowercase());
            }
        }
    }
    match (mails > MAILS_WITHIN_MAX, parts > 2 * PARTS_MAX) {
        (true, _) => Err(MailLimitError::Mails),
        (_, true) => Err(MailLimitError::Parts),
        _ => Ok(()),
    }
}

/// What a header says, with the lines that go on.
fn header_value(rest: &[u8]) -> Result<&[u8], MailLimitError> {
    let ends = memchr::memchr_iter(b'\n', rest);
    let end = ends.into_iter().find(|end| !matches!(rest.get(end + 1), Some(b' ' | b'\t')));
    let end = end.unwrap_or(rest.len());
    if end > SAID_BYTES_MAX { Err(MailLimitError::Said) } else { Ok(&rest[..end]) }
}

fn contains_word(bytes: &[u8], word: &[u8]) -> bool {
    bytes.windows(word.len()).any(|window| window.eq_ignore_ascii_case(word))
}

/// Parses a mail and has it read; `None` if it is too much, or no mail at all.
pub fn read_parsed<T: Send>(raw: &[u8], reader: impl FnOnce(&Message<'_>) -> T + Send) -> Option<T> {
    check_limits(raw).ok()?;
    thread::scope(|scope| {
        let work = move || {
            let mail = bare_parser().parse(raw)?;
            let read = reader(&mail);
            drop_flat(mail);
            Some(read)
        };
        let thread = thread::Builder::new().name("mail".to_owned()).stack_size(STACK_BYTES);
        thread.spawn_scoped(scope, work).ok()?.join().ok()?
    })
}

/// Knows the form of a mail and nothing else. How a part is encoded it does not see, so that it never parses what
/// was decoded.
fn bare_parser() -> MessageParser {
    MessageParser::new().with_mime_headers().ignore_header(HeaderName::ContentTransferEncoding)
}

/// Drops a mail without going into it: each mail in it is dropped when it is empty.
pub(crate) fn drop_flat(mail: Message<'_>) {
    let mut left = vec![mail];
    while let Some(mail) = left.pop() {
        left.extend(mail.parts.into_iter().filter_map(|part| match part.body {
            PartType::Message(inner) => Some(inner),
            _ => None,
        }));
    }
}

/// What a part has in it, decoded.
pub fn part_bytes<'a>(mail: &'a Message<'_>, part: &MessagePart<'_>) -> Cow<'a, [u8]> {
    let within = |from: u32, to: u32| mail.raw_message.get(from as usize..to as usize).unwrap_or_default();
    let raw = within(part.offset_body, part.offset_end);
    let header = part.headers.iter().find(|header| header.name == HeaderName::ContentTransferEncoding);
    let encoding =
        header.map_or(&[][..], |header| within(header.offset_start, header.offset_end)).trim_ascii();
    let decoded = match encoding.to_ascii_lowercase().as_slice() {
        b"base64" => base64_decode(raw),
        b"quoted-printable" => quoted_printable_decode(raw),
        _ => None,
    };
    decoded.map_or(Cow::Borrowed(raw), Cow::Owned)
}

/// The text of a part.
pub fn part_text(mail: &Message<'_>, part: &MessagePart<'_>) -> String {
    let bytes = part_bytes(mail, part);
    let charset = part.content_type().and_then(|sort| sort.attribute("charset"));
    match charset.and_then(|charset| charset_decoder(charset.as_bytes())) {
        Some(decode) => decode(&bytes),
        None => String::from_utf8_lossy(&bytes).into_owned(),
    }
}
