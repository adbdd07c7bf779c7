//! Apple's devices, by its Push Notification service: HTTP/2, and a token that says who we are.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use courier::HandoverOutcome;
use hyper::{
    Request,
    header::{AUTHORIZATION, HeaderValue},
};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};

use super::{
    jwt::{JwtKey, PushServiceToken, PushTokenCache},
    service::{DevicePushService, PreparedPush, PushDispatch, fit_payload},
};
use crate::{
    destination_limiter::DestinationLimiter,
    http::{OutboundClient, OutboundOptions, OutboundReply, OutboundTimeouts, clean_word, secret_header},
    known_hosts::host_limiter,
    send_outcome::SendOutcome,
    tls_trust::TlsTrust,
};

pub const ROOT: &str = "https://api.push.apple.com";

/// Bytes of a payload, at most.
const BYTES_MAX: usize = 4_096;
/// A token is good for an hour, and must not be made anew within twenty minutes.
const TOKEN_MS: i64 = 50 * 60_000;
const TOKEN_APART_MS: i64 = 20 * 60_000;
/// Requests at the same time; Apple says itself how many it takes on one connection.
const REQUESTS: usize = 500;
/// Apple takes it for an attack if connections come and go.
const IDLE: Duration = Duration::from_hours(1);

/// What Apple gives out.
#[derive(Clone, Debug)]
pub struct Settings {
    /// [`ROOT`], or that of the sandbox.
    pub root: String,
    /// The key in PEM, and by which id Apple knows it.
    pub key: SecretString,
    pub key_id: String,
    pub team_id: String,
    /// The app's bundle id.
    pub topic: String,
    pub per_second: Option<f64>,
}

#[derive(Debug)]
pub(super) struct ApnsService {
    root: String,
    key: JwtKey,
    key_id: String,
    team_id: String,
    topic: HeaderValue,
    kept: PushTokenCache,
    lane: Arc<DestinationLimiter>,
    client: OutboundClient,
}

impl ApnsService {
    pub fn new(settings: &Settings, trust: &TlsTrust, times: OutboundTimeouts) -> Result<Self, String> {
        let key = JwtKey::read_es256(settings.key.expose_secret())
            .map_err(|why| format!("the key for APNs: {why}"))?;
        let topic = HeaderValue::from_str(&settings.topic).ok().filter(|topic| !topic.is_empty());
        let root = super::root::parse_root(&settings.root)?;
        let manner = OutboundOptions { times, guard: None, is_http2_only: true, idle: IDLE };
        Ok(Self {
            root,
            key,
            key_id: settings.key_id.clone(),
            team_id: settings.team_id.clone(),
            topic: topic.ok_or("the topic for APNs is an app's bundle id")?,
            kept: PushTokenCache::default(),
            lane: host_limiter(settings.per_second, REQUESTS, times),
            client: OutboundClient::new(trust, manner),
        })
    }

    fn authorization(&self, now: i64) -> Result<HeaderValue, String> {
        let make = || {
            let claims = json!({"iss": self.team_id, "iat": now / 1_000});
            let text = self.key.issue_token(Some(&self.key_id), &claims)?.into();
            Ok(PushServiceToken { text, from: now, until: now + TOKEN_MS })
        };
        let token = self.kept.get_or_make(now, make)?;
        secret_header(&format!("bearer {token}")).ok_or_else(|| "no header can have the token".to_owned())
    }
}

#[async_trait]
impl DevicePushService for ApnsService {
    async fn prepare(&self, letter: &PushDispatch<'_>) -> Result<PreparedPush, SendOutcome> {
        let token = &letter.device.token;
        if token.is_empty() || token.len() > 400 || !token.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(SendOutcome::gone("it is no token of APNs"));
        }
        let body = fit_payload(letter, BYTES_MAX)?;
        let turn = self.lane.enter(letter.spread).await.map_err(SendOutcome::turned_away)?;
        let authorization = self.authorization(letter.now).map_err(SendOutcome::away)?;
        let kind = if letter.push.wordless { "background" } else { "alert" };
        let is_quiet = letter.push.silent || letter.push.wordless;
        let request = Request::post(format!("{}/3/device/{token}", self.root))
            .header(AUTHORIZATION, authorization)
            .header("apns-topic", self.topic.clone())
            .header("apns-push-type", kind)
            .header("apns-priority", if is_quiet { "5" } else { "10" })
            .header("apns-expiration", letter.push.expires.0.div_euclid(1_000).max(0))
            .header("apns-collapse-id", letter.message.ready.to_string())
            .body(body);
        let request = request.map_err(|_| SendOutcome::refused("no request can be made of it"))?;
        Ok(PreparedPush { turn, request })
    }

    fn client(&self) -> &OutboundClient {
        &self.client
    }

    fn name(&self) -> &'static str {
        "apns"
    }

    fn describe(&self) -> String {
        format!("APNs for {} at {}", String::from_utf8_lossy(self.topic.as_bytes()), self.root)
    }

    fn judge(&self, reply: &OutboundReply, now: i64) -> SendOutcome {
        let said: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
        let reason = clean_word(said["reason"].as_str().unwrap_or_default());
        let why = format!("{} {reason}", reply.status).trim_end().to_owned();
        match (reply.status, reason.as_str()) {
            (200, _) => SendOutcome::decided(HandoverOutcome::Accepted),
            (410, _) | (400, "BadDeviceToken" | "DeviceTokenNotForTopic") => SendOutcome::gone(why),
            // Of one device there is too much, and of the others not.
            (429, "TooManyRequests") => SendOutcome::decided(HandoverOutcome::NotNow(why)),
            (429 | 500..=599, _) => SendOutcome::slow_down(why, reply.pause(now)),
            (403, "ExpiredProviderToken") => SendOutcome::stale_token(why),
            // It is us whom it does not know: that is no reason to give up a message.
            (403, _) => SendOutcome::locked_out("apns", why),
            _ => SendOutcome::refused(why),
        }
    }

    async fn renew_authorization(&self, old: &HeaderValue, now: i64) -> Option<HeaderValue> {
        let token = old.to_str().ok()?.strip_prefix("bearer ")?;
        if !self.kept.refuse(token, now, TOKEN_APART_MS) {
            tracing::error!(service = "apns", "a new token has expired already; check the clock");
            return None;
        }
        self.authorization(now).ok()
    }
}
