//! Browsers, and whoever speaks like them: Web Push (RFC 8030), encrypted (RFC 8291), and signed by us (RFC 8292).
//!
//! A device's token is the browser's subscription, as JSON. UnifiedPush is the same, with a service of one's own choice.

use std::time::Duration;

use address_guard::AddressGuard;
use async_trait::async_trait;
use courier::HandoverOutcome;
use hyper::{
    Request,
    header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HeaderValue},
};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde_json::json;
use url::Url;

use super::{
    encrypt::{self, SubscriberKeys},
    jwt::{JwtKey, PushServiceToken, PushTokenCache, decode_base64},
    service::{DevicePushService, PreparedPush, PushDispatch, fit_payload, seconds_left},
};
use crate::{
    http::{OutboundClient, OutboundOptions, OutboundReply, OutboundTimeouts, secret_header},
    known_hosts::{HostLimits, KnownHost, KnownHosts},
    send_outcome::SendOutcome,
    tls_trust::TlsTrust,
};

/// Services know so many hosts, at most; anybody can make up new ones.
const HOSTS_MAX: usize = 1_000;
/// Requests to one host at the same time.
const REQUESTS: usize = 500;
const IDLE: Duration = Duration::from_secs(60);
/// A signature holds for less than a day (RFC 8292), and one is used for half of it.
const SIGNED_SECS: i64 = 12 * 3_600;
const SIGNED_USED_MS: i64 = 6 * 3_600_000;
/// Seconds for which services keep a message, at most.
const TTL_MAX: i64 = 28 * 86_400;

/// Who we are to the services of browsers.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The key, in PEM or as 32 bytes in base64; its public half is what the app gave to browsers.
    pub key: SecretString,
    /// Where a service finds somebody to talk to: `mailto:` or `https:`.
    pub subject: String,
    /// Hosts that are asked wherever they are, such as a service on one's own network.
    pub hosts: Vec<String>,
    /// To each service.
    pub per_second: Option<f64>,
}

#[derive(Debug)]
pub(super) struct WebPushService {
    key: JwtKey,
    public: String,
    subject: String,
    guard: AddressGuard,
    /// The services, and what each is signed with.
    hosts: KnownHosts<PushTokenCache>,
    client: OutboundClient,
}

/// As a browser writes it.
#[derive(Deserialize)]
struct WebPushSubscription {
    endpoint: String,
    keys: SubscriptionKeys,
}

#[derive(Deserialize)]
struct SubscriptionKeys {
    p256dh: String,
    auth: String,
}

impl WebPushService {
    pub fn new(settings: &Settings, trust: &TlsTrust, times: OutboundTimeouts) -> Result<Self, String> {
        let key = JwtKey::read_es256(settings.key.expose_secret());
        let key = key.map_err(|why| format!("the key for Web Push: {why}"))?;
        if !settings.subject.starts_with("mailto:") && !settings.subject.starts_with("https:") {
            return Err("the subject for Web Push begins with `mailto:` or `https:`".to_owned());
        }
        let guard = AddressGuard::new(&settings.hosts);
        let manner = OutboundOptions { times, guard: Some(guard.clone()), is_http2_only: false, idle: IDLE };
        Ok(Self {
            public: key.public_base64(),
            key,
            subject: settings.subject.clone(),
            guard,
            hosts: KnownHosts::new(HostLimits {
                most: HOSTS_MAX,
                at_once: REQUESTS,
                per_second: settings.per_second,
                times,
            }),
            client: OutboundClient::new(trust, manner),
        })
    }

    fn authorization(&self, host: &KnownHost<PushTokenCache>, origin: &str, now: i64) -> Option<HeaderValue> {
        let make = || {
            let claims = json!({"aud": origin, "exp": now / 1_000 + SIGNED_SECS, "sub": self.subject});
            Ok(PushServiceToken {
                text: self.key.issue_token(None, &claims)?.into(),
                from: now,
                until: now + SIGNED_USED_MS,
            })
        };
        let token = host.own.get_or_make(now, make).ok()?;
        secret_header(&format!("vapid t={token}, k={}", self.public))
    }

    /// Where a subscription leads, and for whom a text is encrypted.
    fn read_subscription(&self, token: &str) -> Result<(Url, SubscriberKeys), SendOutcome> {
        let none = |why: &str| SendOutcome::gone(format!("it is no subscription: {why}"));
        let said: WebPushSubscription = serde_json::from_str(token).map_err(|_| none("not its JSON"))?;
        let url = self.guard.parse_address(&said.endpoint).map_err(SendOutcome::refused)?;
        let p256dh = decode_base64(&said.keys.p256dh).ok_or_else(|| none("a key that is not base64"))?;
        let auth = decode_base64(&said.keys.auth).and_then(|auth| auth.try_into().ok());
        let auth = auth.ok_or_else(|| none("`auth` has not 16 bytes"))?;
        Ok((url, SubscriberKeys { p256dh, auth }))
    }
}

#[async_trait]
impl DevicePushService for WebPushService {
    async fn prepare(&self, letter: &PushDispatch<'_>) -> Result<PreparedPush, SendOutcome> {
        let (url, keys) = self.read_subscription(&letter.device.token)?;
        let text = fit_payload(letter, encrypt::BYTES_MAX)?;
        let body = encrypt::encrypt_text(&text, &keys)
            .map_err(|_| SendOutcome::gone("it is no subscription: a key that is none"))?;
        let origin = url.origin().ascii_serialization();
        let host = self.hosts.get(&origin).ok_or_else(|| SendOutcome::away("there are too many services"))?;
        let turn = host.lane.enter(letter.spread).await.map_err(SendOutcome::turned_away)?;
        let unsigned = || SendOutcome::away("there is no signature");
        let authorization = self.authorization(&host, &origin, letter.now).ok_or_else(unsigned)?;
        let request = Request::post(url.as_str())
            .header(AUTHORIZATION, authorization)
            .header(CONTENT_ENCODING, "aes128gcm")
            .header(CONTENT_TYPE, "application/octet-stream")
            .header("ttl", seconds_left(letter).min(TTL_MAX))
            .header("urgency", message_urgency(letter))
            .header("topic", message_topic(letter))
            .body(body.into());
        let request = request.map_err(|_| SendOutcome::refused("no request can be made of it"))?;
        Ok(PreparedPush { turn, request })
    }

    fn client(&self) -> &OutboundClient {
        &self.client
    }

    fn name(&self) -> &'static str {
        "web_push"
    }

    fn describe(&self) -> String {
        format!("Web Push with the key {}", self.public)
    }

    /// The status alone: of what a stranger says, nothing comes into our logs.
    fn judge(&self, reply: &OutboundReply, now: i64) -> SendOutcome {
        let why = reply.status.to_string();
        match reply.status {
            200..=202 | 204 => SendOutcome::decided(HandoverOutcome::Accepted),
            404 | 410 => SendOutcome::gone(why),
            429 | 500..=599 => SendOutcome::slow_down(why, reply.pause(now)),
            // No redirect is followed: nobody has checked where it leads.
            _ => SendOutcome::refused(why),
        }
    }
}

fn message_urgency(letter: &PushDispatch<'_>) -> &'static str {
    match (letter.push.wordless, letter.push.silent) {
        (true, _) => "very-low",
        (_, true) => "low",
        _ => "high",
    }
}

/// A message that waits for a device is replaced by one with the same: at most 32 letters of base64's other alphabet.
fn message_topic(letter: &PushDispatch<'_>) -> String {
    let good = |c: &char| c.is_ascii_alphanumeric() || *c == '-' || *c == '_';
    letter.message.ready.to_string().chars().filter(good).take(32).collect()
}
