//! What the services have in common: a request is made ready first, which may fail and has told nobody anything, and
//! then it is sent.

use std::fmt;

use async_trait::async_trait;
use courier::{Message, Push, push::payload};
use hyper::{
    Request,
    body::Bytes,
    header::{AUTHORIZATION, HeaderValue},
};
use model::device::Device;

use crate::{
    fared::{Fared, Judged, sent},
    http::{Client, Reply},
    lane::Turn,
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

/// Sends a request, and once more if only our token was too old.
pub(super) async fn send(service: &dyn Service, prepared: Prepared, now: i64) -> Fared {
    let Prepared { turn, request } = prepared;
    let _room = match turn.room().await {
        Ok(room) => room,
        Err(why) => return Fared::Closed(why),
    };
    let first = sent(service.client(), request.clone(), |reply| service.judge(reply, now)).await;
    let judged = match again(service, &first, request, now).await {
        Some(request) => sent(service.client(), request, |reply| service.judge(reply, now)).await,
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

/// Seconds until nobody wants it any more.
pub(super) fn seconds_left(letter: &Letter<'_>) -> i64 {
    (letter.push.expires.0.saturating_sub(letter.now) / 1_000).max(0)
}
