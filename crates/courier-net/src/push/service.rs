//! What the services have in common: a request is made ready first, which may fail and has told nobody anything, and
//! then it is sent.

use std::fmt;

use async_trait::async_trait;
use courier::{Message, MessageLinks, PushPayload, push::encode_push};
use hyper::{
    Request,
    body::Bytes,
    header::{AUTHORIZATION, HeaderValue},
};
use model::device::PushDevice;

use crate::{
    destination_limiter::LimiterTicket,
    http::{OutboundClient, OutboundReply},
    send_outcome::{SendOutcome, send_and_judge},
};

/// One message for one device.
#[derive(Clone, Copy)]
pub(super) struct PushDispatch<'a> {
    pub message: &'a Message,
    pub push: &'a PushPayload,
    pub device: &'a PushDevice,
    /// Now, in milliseconds.
    pub now: i64,
    /// Any number that differs from message to message.
    pub spread: u64,
}

/// A request that only has to be sent.
pub(super) struct PreparedPush {
    pub turn: LimiterTicket,
    pub request: Request<Bytes>,
}

/// One of those that bring pushes to devices.
#[async_trait]
pub(super) trait DevicePushService: Send + Sync + fmt::Debug {
    /// Makes a request ready. Nothing of the message leaves the house.
    async fn prepare(&self, letter: &PushDispatch<'_>) -> Result<PreparedPush, SendOutcome>;

    fn client(&self) -> &OutboundClient;

    /// What it is called in the metrics.
    fn name(&self) -> &'static str;

    /// What it is, for operators.
    fn describe(&self) -> String;

    /// What an answer means.
    fn judge(&self, reply: &OutboundReply, now: i64) -> SendOutcome;

    /// Another authorization than this one, which is not taken any more; none if there is no other to be had.
    async fn renew_authorization(&self, _old: &HeaderValue, _now: i64) -> Option<HeaderValue> {
        None
    }
}

/// Sends a request, and once more if only our token was too old.
pub(super) async fn send_prepared(
    service: &dyn DevicePushService,
    prepared: PreparedPush,
    now: i64,
) -> SendOutcome {
    let PreparedPush { turn, request } = prepared;
    let _room = match turn.wait_for_room().await {
        Ok(room) => room,
        Err(why) => return SendOutcome::turned_away(why),
    };
    let first = send_and_judge(service.client(), request.clone(), |reply| service.judge(reply, now)).await;
    let judged = match send_again(service, &first, request, now).await {
        Some(request) => send_and_judge(service.client(), request, |reply| service.judge(reply, now)).await,
        None => first,
    };
    turn.record_signal(judged.load);
    judged
}

async fn send_again(
    service: &dyn DevicePushService,
    first: &SendOutcome,
    mut old: Request<Bytes>,
    now: i64,
) -> Option<Request<Bytes>> {
    let authorization = old.headers().get(AUTHORIZATION).filter(|_| first.is_stale)?;
    let authorization = service.renew_authorization(authorization, now).await?;
    old.headers_mut().insert(AUTHORIZATION, authorization);
    Some(old)
}

/// The payload of a device in so many bytes, if need be with the short words.
pub(super) fn fit_payload(letter: &PushDispatch<'_>, bytes_max: usize) -> Result<Bytes, SendOutcome> {
    let whole = encode_push(letter.message, letter.push, letter.device).to_string();
    if whole.len() <= bytes_max {
        return Ok(whole.into());
    }
    // Its links are worth more than more words, and its words more than its links.
    let short = PushPayload { longer: String::new(), ..letter.push.clone() };
    let bare = PushPayload { links: MessageLinks::default(), withdrawn: Vec::new(), ..short.clone() };
    let [short, bare] =
        [short, bare].map(|push| encode_push(letter.message, &push, letter.device).to_string());
    if short.len() <= bytes_max {
        return Ok(short.into());
    }
    if bare.len() <= bytes_max {
        return Ok(bare.into());
    }
    Err(SendOutcome::refused(format!("it has {} bytes, and no more than {bytes_max} are taken", bare.len())))
}

/// Seconds until nobody wants it any more.
pub(super) fn seconds_left(letter: &PushDispatch<'_>) -> i64 {
    (letter.push.expires.0.saturating_sub(letter.now) / 1_000).max(0)
}
