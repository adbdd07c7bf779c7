//! A small client for HTTP within TLS: connections that live long, one deadline for each request, replies that are cut
//! off where they get too large, and no redirects. It knows whether a request that failed may have arrived.
//!
//! `connector` is for addresses that strangers make up, and asks those alone that the `address_guard` lets by.

mod connector;

use std::{error::Error as StdError, fmt, time::Duration};

use address_guard::AddressGuard;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::{
    HeaderMap, Request, Response,
    body::{Bytes, Incoming},
    header::{HeaderValue, RETRY_AFTER},
};
use hyper_util::{
    client::legacy::{Client as Pool, Error as PoolError},
    rt::{TokioExecutor, TokioTimer},
};
use tokio::time::timeout;

use connector::{BarredAddressError, GuardedConnector};

use crate::tls_trust::TlsTrust;

/// Bytes of a reply, at most: they only explain what its status says.
const REPLY_BYTES_MAX: usize = 64 * 1024;
/// Bytes of a reply's headers, at most.
const HEADER_BYTES_MAX: u32 = 16 * 1024;
/// A connection is asked this often whether it is still there, and has this long to say so.
const PING: Duration = Duration::from_secs(30);
const PONG: Duration = Duration::from_secs(10);

/// How long things may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutboundTimeouts {
    /// For one's turn, before anything is sent.
    pub wait: Duration,
    pub connect: Duration,
    /// One request, with all that belongs to it.
    pub request: Duration,
}

impl OutboundTimeouts {
    /// So that from the claim to the end no more than this passes, also if a token has to be made anew for a second
    /// request.
    pub fn within_hand_over(hand_over: Duration) -> Self {
        let connect = (hand_over / 8).min(Duration::from_secs(10));
        Self { wait: connect, connect, request: (hand_over / 5).min(Duration::from_secs(60)) }
    }
}

/// Who is spoken with, and how.
pub(crate) struct OutboundOptions {
    pub times: OutboundTimeouts,
    /// Checks where names lead that somebody else has made up.
    pub guard: Option<AddressGuard>,
    /// Nothing but HTTP/2.
    pub is_http2_only: bool,
    /// A connection that nobody used for so long is closed.
    pub idle: Duration,
}

pub(crate) struct OutboundClient {
    pool: Pool<GuardedConnector, Full<Bytes>>,
    times: OutboundTimeouts,
}

// A request has addresses and tokens in it.
impl fmt::Debug for OutboundClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutboundClient").field("times", &self.times).finish_non_exhaustive()
    }
}

/// What the other side said.
#[derive(Clone, Debug)]
pub(crate) struct OutboundReply {
    pub status: u16,
    pub headers: HeaderMap,
    /// Empty if it was too large or broke off.
    pub body: Bytes,
}

impl OutboundReply {
    /// For how many milliseconds it asks to be left alone.
    pub fn pause(&self, now: i64) -> Option<u64> {
        let text = self.headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
        if let Ok(seconds) = text.parse::<u64>() {
            return Some(seconds.saturating_mul(1_000));
        }
        let at = chrono::DateTime::parse_from_rfc2822(text).ok()?.timestamp_millis();
        u64::try_from(at.saturating_sub(now)).ok()
    }
}

/// A header's value that must not be shown.
pub(crate) fn secret_header(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// A word of another house, as far as it is one.
pub(crate) fn clean_word(text: &str) -> String {
    text.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').take(60).collect()
}

/// Why there is no reply.
#[derive(Debug)]
pub(crate) enum OutboundError {
    /// The request did not go out.
    NotSent(String),
    /// Nor will it ever: nobody may be asked there.
    Barred(String),
    /// It may have arrived.
    Unknown(String),
}

impl OutboundClient {
    pub fn new(trust: &TlsTrust, manner: OutboundOptions) -> Self {
        let OutboundOptions { times, guard, is_http2_only, idle } = manner;
        let protocols: &[&[u8]] = if is_http2_only { &[b"h2"] } else { &[b"h2", b"http/1.1"] };
        let connector = GuardedConnector::new(trust.connector_for(protocols), guard, times.connect);
        let pool = Pool::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(idle)
            .pool_max_idle_per_host(8)
            .http1_max_buf_size(64 * 1024)
            .http2_only(is_http2_only)
            .http2_max_header_list_size(HEADER_BYTES_MAX)
            .http2_keep_alive_interval(PING)
            .http2_keep_alive_timeout(PONG)
            .http2_keep_alive_while_idle(true)
            .build(connector);
        Self { pool, times }
    }

    /// Sends a request and hears the reply.
    pub async fn send(&self, request: Request<Bytes>) -> Result<OutboundReply, OutboundError> {
        let sent = timeout(self.times.request, self.pool.request(request.map(Full::new)));
        match sent.await {
            Ok(Ok(reply)) => Ok(read_reply(reply, self.times.request / 4).await),
            Ok(Err(error)) => Err(classify_error(&error)),
            Err(_) => Err(OutboundError::Unknown(format!("no reply for {} s", self.times.request.as_secs()))),
        }
    }
}

/// Its status is what counts: whatever becomes of the body, that has been said.
async fn read_reply(reply: Response<Incoming>, within: Duration) -> OutboundReply {
    let (head, body) = reply.into_parts();
    let body = Limited::new(body, REPLY_BYTES_MAX).collect();
    let body = timeout(within, body).await.ok().and_then(Result::ok);
    let body = body.map_or_else(Bytes::new, |body| body.to_bytes());
    OutboundReply { status: head.status.as_u16(), headers: head.headers, body }
}

fn classify_error(error: &PoolError) -> OutboundError {
    let why = describe_pool_error(error);
    if let Some(barred) = find_source::<BarredAddressError>(error) {
        return OutboundError::Barred(barred.to_string());
    }
    let is_unread = find_source::<h2::Error>(error).is_some_and(was_left_unread);
    let is_unsent = find_source::<hyper::Error>(error).is_some_and(hyper::Error::is_canceled);
    if error.is_connect() || is_unread || is_unsent {
        OutboundError::NotSent(why)
    } else {
        OutboundError::Unknown(why)
    }
}

/// HTTP/2 has two ways to say that a request was not looked at: it is refused by itself, or it came behind the last
/// one that a server reads before it leaves in peace.
fn was_left_unread(error: &h2::Error) -> bool {
    let leaves = error.is_go_away() && error.reason() == Some(h2::Reason::NO_ERROR);
    error.is_remote() && (leaves || error.reason() == Some(h2::Reason::REFUSED_STREAM))
}

fn find_source<E: StdError + 'static>(error: &PoolError) -> Option<&E> {
    error_chain(error).find_map(|error| match error.downcast_ref::<std::io::Error>() {
        // An io error has its own within, which is not its source.
        Some(io) => io.get_ref().and_then(|inner| inner.downcast_ref::<E>()),
        None => error.downcast_ref::<E>(),
    })
}

fn error_chain<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |error: &&'a (dyn StdError + 'static)| (*error).source())
}

/// What is wrong, from the outside to the inside; none of it names an address.
fn describe_pool_error(error: &PoolError) -> String {
    let all: Vec<String> = error_chain(error).map(ToString::to_string).collect();
    all.join(": ").chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_named_in_seconds_or_by_its_end() {
        let now = 1_445_412_480_000; // Wed, 21 Oct 2015 07:28:00 GMT
        let check = |text: &'static str, expected: Option<u64>| {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static(text))]);
            let reply = OutboundReply { status: 429, headers, body: Bytes::new() };
            assert_eq!(reply.pause(now), expected, "{text}");
        };
        check("0", Some(0));
        check(" 120 ", Some(120_000));
        check("18446744073709551615", Some(u64::MAX));
        check("Wed, 21 Oct 2015 07:29:30 GMT", Some(90_000));
        check("Wed, 21 Oct 2015 07:28:00 GMT", Some(0));
        check("Wed, 21 Oct 2015 07:27:59 GMT", None);
        check("-1", None);
        check("soon", None);
        check("", None);
        assert_eq!(
            OutboundReply { status: 429, headers: HeaderMap::new(), body: Bytes::new() }.pause(now),
            None
        );
    }

    #[test]
    fn of_another_houses_words_only_one_word_is_told() {
        assert_eq!(clean_word("BadDeviceToken"), "BadDeviceToken");
        assert_eq!(clean_word("two\r\nlines: <b>"), "twolinesb");
        assert_eq!(clean_word(&"x".repeat(1_000)).len(), 60);
    }
}
