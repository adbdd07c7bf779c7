//! HTTP/1.1 with a timeout for everything: for the head, for an idle connection, for an answer that the client does not
//! read. HTTP/2 is refused with an answer that says so.

use std::{
    convert::Infallible,
    io,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::{Router, body::Body, extract::Request, response::Response};
use hyper::{
    body::{Body as HttpBody, Bytes, Frame, Incoming, SizeHint},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use runtime::ShutdownSignal;
use tokio::{net::TcpStream, sync::Notify, task::JoinSet, time::timeout};
use tower::util::ServiceExt as _;

use crate::{
    accept::{AcceptedClient, LimitedListener, say_farewell},
    own_answers::{ANOTHER_VERSION_TEXT, DescribedStream, FULL_TEXT},
    paced_stream::{PacedStream, WritePace},
};

/// How long things may take.
#[derive(Clone, Copy, Debug)]
pub struct ServeTimeouts {
    /// From the connection to the end of the first request's head.
    pub head: Duration,
    /// From an answer to the end of the next request's head.
    pub idle: Duration,
    /// How an answer has to be taken.
    pub write: WritePace,
}

impl ServeTimeouts {
    pub const USUAL: Self = Self {
        head: Duration::from_secs(5),
        idle: Duration::from_secs(60),
        write: WritePace { bytes: 64 * 1024, within: Duration::from_secs(20) },
    };
}

/// Bytes of a connection that lie in memory each way, and of an answer that are handed over at once.
const BUFFER_BYTES_MAX: usize = 64 * 1024;
const SLICE_BYTES: usize = 16 * 1024;
/// What a connection of HTTP/2 begins with.
const PREFACE: &[u8] = b"PRI * HTTP/2.0";

/// Answers until the shutdown, and then those who have asked.
pub async fn serve_http(
    listener: LimitedListener,
    router: Router,
    times: ServeTimeouts,
    stop: ShutdownSignal,
) {
    let mut talks = JoinSet::new();
    loop {
        let guest = tokio::select! {
            guest = listener.next(&FULL_TEXT) => guest,
            () = stop.wait() => break,
        };
        while talks.try_join_next().is_some() {}
        let (router, stop) = (router.clone(), stop.clone());
        talks.spawn(async move {
            let AcceptedClient { stream, place } = guest;
            if let Err(error) = serve_stream(stream, router, times, stop).await {
                tracing::debug!(error, "a connection has ended");
            }
            drop(place);
        });
    }
    drop(listener);
    while talks.join_next().await.is_some() {}
}

async fn serve_stream(
    stream: TcpStream,
    router: Router,
    times: ServeTimeouts,
    stop: ShutdownSignal,
) -> Result<(), String> {
    let text = |error: io::Error| error.to_string();
    stream.set_nodelay(true).map_err(text)?;
    let mut begins = [0; PREFACE.len()];
    let peeked = tokio::select! {
        peeked = timeout(times.head, stream.peek(&mut begins)) => peeked,
        () = stop.wait() => return Ok(()),
    };
    let begins = match peeked {
        Ok(read) => &begins[..read.map_err(text)?],
        Err(_) => return Err("no bytes arrived".to_owned()),
    };
    if begins == PREFACE {
        let said = timeout(times.head, say_farewell(stream, &ANOTHER_VERSION_TEXT)).await;
        return said.map_or(Ok(()), |said| said.map_err(text));
    }
    let asked = Arc::new(Notify::new());
    let service = service_fn(|request: hyper::Request<Incoming>| {
        asked.notify_one();
        answer_request(router.clone(), request.map(Body::new))
    });
    let stream = TokioIo::new(DescribedStream::new(PacedStream::new(stream, times.write)));
    let talk = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(times.idle)
        .max_buf_size(BUFFER_BYTES_MAX)
        .serve_connection(stream, service);
    let mut talk = pin!(talk);
    // The first head has a shorter time: who has asked before may rest.
    tokio::select! {
        ended = &mut talk => return ended.map_err(|error| error.to_string()),
        came = timeout(times.head, asked.notified()) => {
            if came.is_err() {
                return Err("no head arrived".to_owned());
            }
        }
        () = stop.wait() => {}
    }
    tokio::select! {
        ended = &mut talk => return ended.map_err(|error| error.to_string()),
        () = stop.wait() => talk.as_mut().graceful_shutdown(),
    }
    // Who is in the middle of a head is not waited for.
    match timeout(times.write.within, talk).await {
        Ok(ended) => ended.map_err(|error| error.to_string()),
        Err(_) => Err("it did not end".to_owned()),
    }
}

async fn answer_request(router: Router, request: Request) -> Result<Response<SlicedBody>, Infallible> {
    let response = router.oneshot(request).await?;
    Ok(response.map(|body| SlicedBody { body, rest: Bytes::new() }))
}

/// An answer, part by part: so what holds on to it is let go of when nearly all has been taken by the other side, and
/// not when it was laid out for it.
struct SlicedBody {
    body: Body,
    rest: Bytes,
}

impl HttpBody for SlicedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.rest.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.rest = data,
                    Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
                },
                ended => return Poll::Ready(ended),
            }
        }
        let next = self.rest.len().min(SLICE_BYTES);
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(next)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (left, rest) = (self.body.size_hint(), self.rest.len() as u64);
        let mut hint = SizeHint::new();
        hint.set_lower(left.lower() + rest);
        if let Some(upper) = left.upper() {
            hint.set_upper(upper + rest);
        }
        hint
    }
}

/// An answer that holds on to something, a permit, until it has been taken by the other side or given up.
pub fn hold_until_read<T: Send + Unpin + 'static>(response: Response, held: T) -> Response {
    response.map(|body| Body::new(HoldingBody { body, _held: held }))
}

struct HoldingBody<T> {
    body: Body,
    _held: T,
}

impl<T: Unpin> HttpBody for HoldingBody<T> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    // Never at its end before it was asked once more, which is after the last part has gone.
    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
