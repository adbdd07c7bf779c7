//! A connection's bytes: commands go out, replies come in, and each waits so long and no longer.

use std::{borrow::Cow, io, time::Duration};

use memchr::memmem;
use smtp_proto::{EhloResponse, response::parser::ResponseReceiver};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    time::timeout,
};

use super::reply::SmtpReply;

/// Bytes of one reply, however many lines it has.
const REPLY_BYTES_MAX: usize = 16 * 1024;

/// What a connection runs over.
pub(super) trait SmtpStream: AsyncRead + AsyncWrite + Send + Sync + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Sync + Unpin> SmtpStream for S {}

/// A connection that is of no more use.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct SmtpWireError(pub String);

impl SmtpWireError {
    pub fn from_io(what: &str, error: &io::Error) -> Self {
        // The kind alone: a system's own words may name whom it spoke with.
        Self(format!("{what}: {}", error.kind()))
    }
}

pub(super) struct SmtpWire<S> {
    stream: S,
    /// What came and was not read yet.
    received: Vec<u8>,
}

impl<S: SmtpStream> SmtpWire<S> {
    pub fn new(stream: S) -> Self {
        Self { stream, received: Vec::new() }
    }

    /// The stream, for another layer on it. What was said before that layer began is said by anybody.
    pub fn into_stream(self) -> Result<S, SmtpWireError> {
        if self.received.is_empty() {
            return Ok(self.stream);
        }
        Err(SmtpWireError("the server, or something in between, sent data before it was asked".to_owned()))
    }

    /// Sends commands in one piece.
    pub async fn write_text(&mut self, text: &str, within: Duration) -> Result<(), SmtpWireError> {
        let said = async {
            self.stream.write_all(text.as_bytes()).await?;
            self.stream.flush().await
        };
        within_time("a command", within, said).await
    }

    /// Sends a mail without its end, each line that begins with a dot with one more. Its lines end as they must,
    /// for whoever wrote it has checked them.
    pub async fn write_mail(&mut self, mail: &[u8], within: Duration) -> Result<(), SmtpWireError> {
        let said = async {
            self.stream.write_all(&add_dots(mail)).await?;
            self.stream.flush().await
        };
        within_time("the mail", within, said).await
    }

    /// The next reply.
    pub async fn read_reply(&mut self, within: Duration) -> Result<SmtpReply, SmtpWireError> {
        let bytes = self.read_reply_bytes(within).await?;
        let reply = ResponseReceiver::default().parse(&mut bytes.iter());
        reply.map(SmtpReply::from).map_err(|_| nonsense_error())
    }

    /// The reply to a greeting, and what the server offers if it greets back.
    pub async fn read_offers(
        &mut self,
        within: Duration,
    ) -> Result<Result<EhloResponse<String>, SmtpReply>, SmtpWireError> {
        let bytes = self.read_reply_bytes(within).await?;
        if let Ok(offers) = EhloResponse::parse(&mut bytes.iter()) {
            return Ok(Ok(offers));
        }
        let reply = ResponseReceiver::default().parse(&mut bytes.iter());
        reply.map(|reply| Err(SmtpReply::from(reply))).map_err(|_| nonsense_error())
    }

    async fn read_reply_bytes(&mut self, within: Duration) -> Result<Vec<u8>, SmtpWireError> {
        let heard = async {
            let mut looked = 0;
            loop {
                if let Some(end) = end_of_reply(&self.received, &mut looked) {
                    return Ok(self.received.drain(..end).collect());
                }
                if self.received.len() > REPLY_BYTES_MAX {
                    return Err(io::ErrorKind::InvalidData.into());
                }
                if self.stream.read_buf(&mut self.received).await? == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
        };
        within_time("a reply", within, heard).await
    }

    /// Whether the server has said something unasked, or gone.
    pub async fn is_quiet(&mut self) -> bool {
        let unasked = timeout(Duration::ZERO, self.stream.read_buf(&mut self.received)).await;
        unasked.is_err() && self.received.is_empty()
    }
}

async fn within_time<T>(
    what: &str,
    within: Duration,
    work: impl Future<Output = io::Result<T>>,
) -> Result<T, SmtpWireError> {
    match timeout(within, work).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => Err(SmtpWireError::from_io(what, &error)),
        Err(_) => Err(SmtpWireError(format!("{what}: nothing for {} s", within.as_secs()))),
    }
}

fn nonsense_error() -> SmtpWireError {
    SmtpWireError("the server does not speak SMTP".to_owned())
}

/// Where the first reply ends: behind the first line without a hyphen after its code. Lines before `looked` have one.
fn end_of_reply(bytes: &[u8], looked: &mut usize) -> Option<usize> {
    while let Some(length) = bytes[*looked..].iter().position(|byte| *byte == b'\n') {
        let line = &bytes[*looked..*looked + length];
        *looked += length + 1;
        if line.get(3) != Some(&b'-') {
            return Some(*looked);
        }
    }
    None
}

fn add_dots(mail: &[u8]) -> Cow<'_, [u8]> {
    if !mail.starts_with(b".") && memmem::find(mail, b"\n.").is_none() {
        return Cow::Borrowed(mail);
    }
    let mut out = Vec::with_capacity(mail.len() + mail.len() / 64);
    for line in mail.split_inclusive(|byte| *byte == b'\n') {
        if line.first() == Some(&b'.') {
            out.push(b'.');
        }
        out.extend_from_slice(line);
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_ends_with_its_last_line() {
        let check = |bytes: &str, expected: Option<usize>| {
            assert_eq!(end_of_reply(bytes.as_bytes(), &mut 0), expected, "{bytes:?}");
        };
        check("250 ok\r\n", Some(8));
        check("250 ok", None);
        check("250-one\r\n250 two\r\n250 three\r\n", Some(18));
        check("250-one\r\n", None);
        check("250\r\n", Some(5));
        check("\r\n", Some(2));
        check("", None);
    }

    #[test]
    fn lines_that_begin_with_a_dot_get_one_more() {
        let check = |mail: &str, expected: &str| {
            assert_eq!(String::from_utf8_lossy(&add_dots(mail.as_bytes())), expected);
        };
        check("a\r\n.\r\nb\r\n", "a\r\n..\r\nb\r\n");
        check(".a\r\n..b\r\nc.\r\n", "..a\r\n...b\r\nc.\r\n");
        check("a\r\n", "a\r\n");
    }
}
