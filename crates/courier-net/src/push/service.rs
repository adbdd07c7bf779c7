//! What the services have in common: a request is made ready first, which may fail and has told nobody anything, and
//! then it is sent.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use courier::{Message, Push, push::payload};
use hyper::{
    Request,
    body::Bytes,
    header::{AUTHORIZATION, HeaderValue},
};
use model::device::Device;

use super::http::{Client, Failed, Reply, Times};
use crate::{
    lane::{Lane, Turn, Width},
    pace::Went,
};

/// One message for one device.
#[derive(Clone, Copy)]
pub(super) struct Letter<'a> {
    pub message: &'a Message,
    pub push: &'a Push,
    pub device: &'a Device,
    /// Now, in milliseconds.
    pub now: i64,
    /// Any number that differs from message to message.
    pub spread: u64,
}

/// What became of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Fared {
    Accepted,
    /// Never, to this token.
    Gone(String),
    Refused(String),
    Later(String),
    /// It may have arrived.
    Unknown(String),
}

/// A request that only has to be sent.
pub(super) struct Prepared {
    pub turn: Turn,
    pub request: Request<Bytes>,
}

/// One of those that bring pushes to devices.
#[async_trait]
pub(super) trait Service: Send + Sync + fmt::Debug {
    /// Makes a request ready. Nothing of the message leaves the house.
    async fn prepare(&self, letter: &Letter<'_>) -> Result<Prepared, Fared>;

    fn client(&self) -> &Client;

    /// What it is, for operators.
    fn told(&self) -> String;

    /// What an answer means.
    fn judge(&self, reply: &Reply, now: i64) -> Judged;

    /// Another authorization than this one, which is not taken any more; none if there is no other to be had.
    async fn renewed(&self, _old: &HeaderValue, _now: i64) -> Option<HeaderValue> {
        None
    }
}

/// What an answer means.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Judged {
    pub fared: Fared,
    pub went: Went,
    /// Our token is not taken any more; with another one it may go.
    pub is_stale: bool,
}

impl Judged {
    pub fn well(fared: Fared) -> Self {
        Self { fared, went: Went::Well, is_stale: false }
    }

    /// It wants less of us, for so many milliseconds if it says so.
    pub fn slow(why: String, pause: Option<u64>) -> Self {
        Self { fared: Fared::Later(why), went: Went::Slow(pause), is_stale: false }
    }

    /// Nothing goes before somebody has looked.
    pub fn closed(service: &'static str, why: String) -> Self {
        tracing::error!(service, why, "a push service does not take who we are: somebody has to look");
        Self::slow(why, None)
    }

    pub fn stale(why: String) -> Self {
        Self { is_stale: true, ..Self::slow(why, None) }
    }
}

/// Sends a request, and once more if only our token was too old.
pub(super) async fn send(service: &dyn Service, prepared: Prepared, now: i64) -> Fared {
    let Prepared { turn, request } = prepared;
    let _room = match turn.room().await {
        Ok(room) => room,
        Err(why) => return Fared::Later(why),
    };
    let first = sent(service, request.clone(), now).await;
    let judged = match again(service, &first, request, now).await {
        Some(request) => sent(service, request, now).await,
        None => first,
    };
    turn.went(judged.went);
    judged.fared
}

async fn again(
    service: &dyn Service,
    first: &Judged,
    mut old: Request<Bytes>,
    now: i64,
) -> Option<Request<Bytes>> {
    let authorization = old.headers().get(AUTHORIZATION).filter(|_| first.is_stale)?;
    let authorization = service.renewed(authorization, now).await?;
    old.headers_mut().insert(AUTHORIZATION, authorization);
    Some(old)
}

async fn sent(service: &dyn Service, request: Request<Bytes>, now: i64) -> Judged {
    match service.client().send(request).await {
        Ok(reply) => service.judge(&reply, now),
        Err(Failed::Barred(why)) => Judged::well(Fared::Refused(why)),
        Err(Failed::NotSent(why)) => Judged::slow(why, None),
        Err(Failed::Unknown(why)) => {
            Judged { fared: Fared::Unknown(why), ..Judged::slow(String::new(), None) }
        }
    }
}

/// As much of a service as this is used; ten times as many may wait for their turn.
pub(super) fn lane(per_second: Option<f64>, at_once: usize, times: Times) -> Arc<Lane> {
    Lane::new(Width { at_once, waiting: at_once * 10, wait: times.wait, per_second })
}

/// The payload of a device in so many bytes, if need be with the short words.
pub(super) fn fitting(letter: &Letter<'_>, bytes_max: usize) -> Result<Bytes, Fared> {
    let whole = payload(letter.message, letter.push, letter.device).to_string();
    if whole.len() <= bytes_max {
        return Ok(whole.into());
    }
    let short = Push { longer: String::new(), ..letter.push.clone() };
    let short = payload(letter.message, &short, letter.device).to_string();
    if short.len() <= bytes_max {
        return Ok(short.into());
    }
    Err(Fared::Refused(format!("it has {} bytes, and no more than {bytes_max} are taken", short.len())))
}

/// A header's value that must not be shown.
pub(super) fn secret(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Seconds until nobody wants it any more.
pub(super) fn seconds_left(letter: &Letter<'_>) -> i64 {
    (letter.push.expires.0.saturating_sub(letter.now) / 1_000).max(0)
}

/// A word of another house, as far as it is one.
pub(super) fn word(text: &str) -> String {
    text.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').take(60).collect()
}

/// For how many milliseconds a reply asks to be left alone.
pub(super) fn pause(reply: &Reply, now: i64) -> Option<u64> {
    let text = reply.retry_after.as_ref()?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<u64>() {
        return Some(seconds.saturating_mul(1_000));
    }
    let at = chrono::DateTime::parse_from_rfc2822(text).ok()?.timestamp_millis();
    u64::try_from(at.saturating_sub(now)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_named_in_seconds_or_by_its_end() {
        let now = 1_445_412_480_000; // Wed, 21 Oct 2015 07:28:00 GMT
        let check = |text: &'static str, expected: Option<u64>| {
            let retry_after = Some(HeaderValue::from_static(text));
            let reply = Reply { status: 429, retry_after, body: Bytes::new() };
            assert_eq!(pause(&reply, now), expected, "{text}");
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
        assert_eq!(pause(&Reply { status: 429, retry_after: None, body: Bytes::new() }, now), None);
    }

    #[test]
    fn of_another_houses_words_only_one_word_is_told() {
        assert_eq!(word("BadDeviceToken"), "BadDeviceToken");
        assert_eq!(word("two\r\nlines: <b>"), "twolinesb");
        assert_eq!(word(&"x".repeat(1_000)).len(), 60);
    }
}
