//! Browsers, and whoever speaks like them: Web Push (RFC 8030), encrypted (RFC 8291), and signed by us (RFC 8292).
//!
//! A device's token is the browser's subscription, as JSON. UnifiedPush is the same, with a service of one's own choice.

use std::time::Duration;

use async_trait::async_trait;
use hyper::{
    Request,
    header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HeaderValue},
};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde_json::json;
use url::Url;

use super::{
    encrypt::{self, Keys},
    jwt::{Kept, Key, Token, plain},
    service::{Letter, Prepared, Service, fitting, seconds_left},
};
use crate::{
    fared::{Fared, Judged},
    hosts::{Host, Hosts, Reach},
    http::{Client, Guard, Manner, Reply, Times, secret},
    ways::Trust,
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
pub(super) struct Web {
    key: Key,
    public: String,
    subject: String,
    guard: Guard,
    /// The services, and what each is signed with.
    hosts: Hosts<Kept>,
    client: Client,
}

/// As a browser writes it.
#[derive(Deserialize)]
struct Subscription {
    endpoint: String,
    keys: SubscriptionKeys,
}

#[derive(Deserialize)]
struct SubscriptionKeys {
    p256dh: String,
    auth: String,
}

impl Web {
    pub fn new(settings: &Settings, trust: &Trust, times: Times) -> Result<Self, String> {
        let key = Key::es256(settings.key.expose_secret());
        let key = key.map_err(|why| format!("the key for Web Push: {why}"))?;
        if !settings.subject.starts_with("mailto:") && !settings.subject.starts_with("https:") {
            return Err("the subject for Web Push begins with `mailto:` or `https:`".to_owned());
        }
        let guard = Guard::new(&settings.hosts);
        let manner = Manner { times, guard: Some(guard.clone()), is_http2_only: false, idle: IDLE };
        Ok(Self {
            public: key.public(),
            key,
            subject: settings.subject.clone(),
            guard,
            hosts: Hosts::new(Reach {
                most: HOSTS_MAX,
                at_once: REQUESTS,
                per_second: settings.per_second,
                times,
            }),
            client: Client::new(trust, manner),
        })
    }

    fn authorization(&self, host: &Host<Kept>, origin: &str, now: i64) -> Option<HeaderValue> {
        let make = || {
            let claims = json!({"aud": origin, "exp": now / 1_000 + SIGNED_SECS, "sub": self.subject});
            Ok(Token { text: self.key.token(None, &claims)?.into(), from: now, until: now + SIGNED_USED_MS })
        };
        let token = host.own.get(now, make).ok()?;
        secret(&format!("vapid t={token}, k={}", self.public))
    }

    /// Where a subscription leads, and for whom a text is encrypted.
    fn read(&self, token: &str) -> Result<(Url, Keys), Fared> {
        let none = |why: &str| Fared::Gone(format!("it is no subscription: {why}"));
        let said: Subscription = serde_json::from_str(token).map_err(|_| none("not its JSON"))?;
        let url = self.guard.read(&said.endpoint).map_err(|why| Fared::Refused(why.to_owned()))?;
        let p256dh = plain(&said.keys.p256dh).ok_or_else(|| none("a key that is not base64"))?;
        let auth = plain(&said.keys.auth).and_then(|auth| auth.try_into().ok());
        let auth = auth.ok_or_else(|| none("`auth` has not 16 bytes"))?;
        Ok((url, Keys { p256dh, auth }))
    }
}

#[async_trait]
impl Service for Web {
    async fn prepare(&self, letter: &Letter<'_>) -> Result<Prepared, Fared> {
        let (url, keys) = self.read(&letter.device.token)?;
        let text = fitting(letter, encrypt::BYTES_MAX)?;
        let body = encrypt::encrypt(&text, &keys)
            .map_err(|_| Fared::Gone("it is no subscription: a key that is none".to_owned()))?;
        let origin = url.origin().ascii_serialization();
        let host = self.hosts.get(&origin).ok_or_else(|| Fared::away("there are too many services"))?;
        let turn = host.lane.enter(letter.spread).await.map_err(Fared::Closed)?;
        let unsigned = || Fared::away("there is no signature");
        let authorization = self.authorization(&host, &origin, letter.now).ok_or_else(unsigned)?;
        let request = Request::post(url.as_str())
            .header(AUTHORIZATION, authorization)
            .header(CONTENT_ENCODING, "aes128gcm")
            .header(CONTENT_TYPE, "application/octet-stream")
            .header("ttl", seconds_left(letter).min(TTL_MAX))
            .header("urgency", urgency(letter))
            .header("topic", topic(letter))
            .body(body.into());
        let request = request.map_err(|_| Fared::Refused("no request can be made of it".to_owned()))?;
        Ok(Prepared { turn, request })
    }

    fn client(&self) -> &Client {
        &self.client
    }

    fn told(&self) -> String {
        format!("Web Push with the key {}", self.public)
    }

    /// The status alone: of what a stranger says, nothing comes into our logs.
    fn judge(&self, reply: &Reply, now: i64) -> Judged {
        let why = reply.status.to_string();
        match reply.status {
            200..=202 | 204 => Judged::well(Fared::Accepted),
            404 | 410 => Judged::well(Fared::Gone(why)),
            429 | 500..=599 => Judged::slow(why, reply.pause(now)),
            // No redirect is followed: nobody has checked where it leads.
            _ => Judged::well(Fared::Refused(why)),
        }
    }
}

fn urgency(letter: &Letter<'_>) -> &'static str {
    match (letter.push.wordless, letter.push.silent) {
        (true, _) => "very-low",
        (_, true) => "low",
        _ => "high",
    }
}

/// A message that waits for a device is replaced by one with the same: at most 32 letters of base64's other alphabet.
fn topic(letter: &Letter<'_>) -> String {
    let good = |c: &char| c.is_ascii_alphanumeric() || *c == '-' || *c == '_';
    letter.message.ready.to_string().chars().filter(good).take(32).collect()
}
