//! A connection whose other side has to read what it is sent.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Sleep, sleep},
};

/// How much the other side has to take in how long.
#[derive(Clone, Copy, Debug)]
pub struct WritePace {
    pub bytes: usize,
    pub within: Duration,
}

/// A connection that fails when the other side reads too slowly.
#[derive(Debug)]
pub struct PacedStream {
    stream: TcpStream,
    pace: WritePace,
    /// From when the other side first let us wait: when that has been too long, and what it has taken since.
    behind: Option<(Pin<Box<Sleep>>, usize)>,
}

impl PacedStream {
    pub fn new(stream: TcpStream, pace: WritePace) -> Self {
        Self { stream, pace, behind: None }
    }

    fn note_write(&mut self, cx: &mut Context<'_>, done: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        let Poll::Ready(done) = done else {
            ready!(self.poll_too_slow(cx))?;
            return Poll::Pending;
        };
        if let (Ok(bytes), Some((_, taken))) = (&done, &mut self.behind) {
            *taken += bytes;
            if *taken >= self.pace.bytes {
                self.behind = None;
            }
        }
        Poll::Ready(done)
    }

    /// Ready when the wait has been too long.
    fn poll_too_slow(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let (time, _) = self.behind.get_or_insert_with(|| (Box::pin(sleep(self.pace.within)), 0));
        ready!(time.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read")))
    }
}

impl AsyncRead for PacedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for PacedStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.note_write(cx, done)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.note_write(cx, done)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Asked when all is written.
        self.behind = None;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
