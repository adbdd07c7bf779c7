//! What a listener says by itself, before any router has a request: problems of RFC 9457, as the routers say them.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::LazyLock,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// An answer of the listener's own. Their types, titles and statuses are those of the house's one table, which a test
/// of the console holds them to.
#[derive(Clone, Copy, Debug)]
pub struct OwnAnswer {
    /// The status, with the words that stand behind it on the first line.
    pub status_line: &'static str,
    pub body: &'static str,
    /// Seconds after which one may come again.
    retry_secs: Option<u32>,
}

/// No place is free.
pub const FULL: OwnAnswer = OwnAnswer {
    status_line: "503 Service Unavailable",
    body: r#"{"type":"/problems/too-many-connections","title":"There are too many connections","status":503,"detail":"no connection is free for this address; retry later","retry":5}"#,
    retry_secs: Some(5),
};
/// HTTP/2 from the first byte.
pub const ANOTHER_VERSION: OwnAnswer = OwnAnswer {
    status_line: "505 HTTP Version Not Supported",
    body: r#"{"type":"/problems/http-version","title":"HTTP/1.1 is needed","status":505,"detail":"this connection uses another version of HTTP"}"#,
    retry_secs: None,
};
/// A head that is none.
pub const BAD_HEAD: OwnAnswer = OwnAnswer {
    status_line: "400 Bad Request",
    body: r#"{"type":"/problems/bad-request","title":"The request is malformed","status":400,"detail":"the head cannot be read"}"#,
    retry_secs: None,
};
/// A head that is too long.
pub const LARGE_HEAD: OwnAnswer = OwnAnswer {
    status_line: "431 Request Header Fields Too Large",
    body: r#"{"type":"/problems/head-too-large","title":"The head is too large","status":431,"detail":"the head has too many lines or bytes"}"#,
    retry_secs: None,
};
/// All of them.
pub const OWN_ANSWERS: [OwnAnswer; 4] = [FULL, ANOTHER_VERSION, BAD_HEAD, LARGE_HEAD];

/// The same as bytes, for connections that nobody talks HTTP on.
pub(crate) static FULL_TEXT: LazyLock<String> = LazyLock::new(|| FULL.write());
pub(crate) static ANOTHER_VERSION_TEXT: LazyLock<String> = LazyLock::new(|| ANOTHER_VERSION.write());

impl OwnAnswer {
    /// A whole answer, after which the connection ends.
    fn write(self) -> String {
        let Self { status_line, body, retry_secs } = self;
        let retry = retry_secs.map(|secs| format!("retry-after: {secs}\r\n")).unwrap_or_default();
        format!(
            "HTTP/1.1 {status_line}\r\n{retry}connection: close\r\ncontent-type: application/problem+json\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        )
    }

    /// The replacement for an empty answer of hyper: it answers so by itself when it cannot read a request.
    fn from_bare_head(head: &[u8]) -> Option<Self> {
        let mut lines = str::from_utf8(head).ok()?.strip_suffix("\r\n\r\n")?.split("\r\n");
        let status = lines.next()?.strip_prefix("HTTP/1.1 ")?;
        let answer = [BAD_HEAD, LARGE_HEAD].into_iter().find(|answer| answer.status_line == status)?;
        lines.any(|line| line.eq_ignore_ascii_case("content-length: 0")).then_some(answer)
    }
}

/// A connection on which bare answers get their words.
#[derive(Debug)]
pub(crate) struct DescribedStream<S> {
    stream: S,
    /// What is still to be written of an answer of our own.
    rest: Vec<u8>,
}

impl<S: AsyncWrite + Unpin> DescribedStream<S> {
    pub fn new(stream: S) -> Self {
        Self { stream, rest: Vec::new() }
    }

    /// Writes what is left of an answer of our own.
    fn poll_rest(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.rest.is_empty() {
            let written = ready!(Pin::new(&mut self.stream).poll_write(cx, &self.rest))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.rest.drain(..written);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for DescribedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for DescribedStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_rest(cx))?;
        let Some(answer) = OwnAnswer::from_bare_head(buf) else {
            return Pin::new(&mut self.stream).poll_write(cx, buf);
        };
        self.rest = answer.write().into_bytes();
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if let [only] = bufs {
            return self.poll_write(cx, only);
        }
        ready!(self.poll_rest(cx))?;
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_rest(cx))?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_rest(cx))?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_head_that_says_nothing_gets_words() {
        let check = |head: &str, expected: Option<&str>| {
            let answer = OwnAnswer::from_bare_head(head.as_bytes());
            assert_eq!(answer.map(|answer| answer.status_line), expected, "{head:?}");
        };
        let bad = "HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
        check(bad, Some("400 Bad Request"));
        check(
            "HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\n\r\n",
            Some("431 Request Header Fields Too Large"),
        );
        check("HTTP/1.1 400 Bad Request\r\ncontent-length: 7\r\n\r\n", None);
        check("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", None);
        check(&bad[..bad.len() - 2], None);
        check(&format!("{bad}{{}}"), None);
        check(&format!("x{bad}"), None);
    }
}
