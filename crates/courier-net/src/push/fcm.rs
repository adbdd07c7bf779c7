//! Android's devices, by Firebase Cloud Messaging (HTTP v1), with a token that Google gives us for one we signed.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use courier::HandoverOutcome;
use hyper::{
    Request,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue},
};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::{
    jwt::{JwtKey, PushServiceToken},
    service::{DevicePushService, PreparedPush, PushDispatch, fit_payload},
};
use crate::{
    backoff::DestinationSignal,
    destination_limiter::DestinationLimiter,
    http::{
        OutboundClient, OutboundError, OutboundOptions, OutboundReply, OutboundTimeouts, clean_word,
        secret_header,
    },
    known_hosts::host_limiter,
    send_outcome::SendOutcome,
    tls_trust::TlsTrust,
};

pub const ROOT: &str = "https://fcm.googleapis.com";

/// Bytes of a message, at most, with what goes around it.
const BYTES_MAX: usize = 4_096;
/// How long what we sign is good.
const ASSERTION_SECS: i64 = 3_600;
/// A token is not used up to its last moment.
const EARLY_MS: i64 = 5 * 60_000;
const REQUESTS: usize = 200;
const IDLE: Duration = Duration::from_secs(300);
const SCOPE: &str = "https://www.googleapis.com/auth/firebase.messaging";

/// What Google gives out.
#[derive(Clone, Debug)]
pub struct Settings {
    /// [`ROOT`].
    pub root: String,
    /// The service account, as JSON.
    pub account: SecretString,
    pub per_second: Option<f64>,
}

#[derive(Deserialize)]
struct FcmAccount {
    project_id: String,
    client_email: String,
    private_key: String,
    private_key_id: String,
    token_uri: String,
}

pub(super) struct FcmService {
    messages: String,
    account: FcmAccount,
    key: JwtKey,
    /// The token, or why there was none.
    kept: Mutex<Result<PushServiceToken, FcmTokenError>>,
    failures: AtomicU64,
    lane: Arc<DestinationLimiter>,
    client: OutboundClient,
}

// The account has a key in it.
impl fmt::Debug for FcmService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FcmService").field("messages", &self.messages).finish_non_exhaustive()
    }
}

impl FcmService {
    pub fn new(settings: &Settings, trust: &TlsTrust, times: OutboundTimeouts) -> Result<Self, String> {
        let account: FcmAccount = serde_json::from_str(settings.account.expose_secret())
            .map_err(|_| "the service account for FCM is JSON with `project_id`, `client_email`, `private_key`, `private_key_id` and `token_uri`")?;
        let key = JwtKey::read_rs256(&account.private_key);
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
        if account.project_id.is_empty() || !account.project_id.bytes().all(is_name) {
            return Err("the service account for FCM has a project that is no name".to_owned());
        }
        if !account.token_uri.starts_with("https://") {
            return Err("the service account for FCM has a `token_uri` that is not https".to_owned());
        }
        let root = super::root::parse_root(&settings.root)?;
        // Else all that come at once before there is a connection would make one each.
        let manner = OutboundOptions { times, guard: None, is_http2_only: true, idle: IDLE };
        Ok(Self {
            messages: format!("{root}/v1/projects/{}/messages:send", account.project_id),
            key: key.map_err(|why| format!("the service account for FCM has a key that is {why}"))?,
            account,
            kept: Mutex::new(Err(FcmTokenError::default())),
            failures: AtomicU64::new(0),
            lane: host_limiter(settings.per_second, REQUESTS, times),
            client: OutboundClient::new(trust, manner),
        })
    }

    /// One asks for a token, and the others wait for it, or for its failure.
    async fn authorization(
        &self,
        now: i64,
        refused: Option<&HeaderValue>,
    ) -> Result<HeaderValue, FcmTokenError> {
        let failures = self.failures.load(Ordering::SeqCst);
        let mut kept = self.kept.lock().await;
        if let Ok(token) = &*kept
            && token.is_good(now)
            && let Some(value) = bearer_header(&token.text)
            && refused != Some(&value)
        {
            return Ok(value);
        }
        if let Err(unnamed) = &*kept
            && self.failures.load(Ordering::SeqCst) != failures
        {
            return Err(unnamed.clone());
        }
        match self.fetch_token(now).await {
            Ok((token, value)) => {
                *kept = Ok(token);
                Ok(value)
            }
            Err(unnamed) => {
                self.failures.fetch_add(1, Ordering::SeqCst);
                *kept = Err(unnamed.clone());
                Err(unnamed)
            }
        }
    }

    async fn fetch_token(&self, now: i64) -> Result<(PushServiceToken, HeaderValue), FcmTokenError> {
        let account = &self.account;
        let from = now / 1_000;
        let claims = json!({
            "iss": account.client_email,
            "scope": SCOPE,
            "aud": account.token_uri,
            "iat": from,
            "exp": from + ASSERTION_SECS,
        });
        let assertion = self.key.issue_token(Some(&account.private_key_id), &claims);
        let assertion = assertion.map_err(|why| FcmTokenError::invalid_answer(&why))?;
        // Base64 and dots need no percent signs.
        let form =
            format!("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion={assertion}");
        let request = Request::post(&account.token_uri)
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(form.into());
        let request =
            request.map_err(|_| FcmTokenError::invalid_answer("a `token_uri` that is no address"))?;
        let reply = match self.client.send(request).await {
            Ok(reply) => reply,
            Err(OutboundError::Barred(why) | OutboundError::NotSent(why) | OutboundError::Unknown(why)) => {
                return Err(FcmTokenError { why: format!("no token: {why}"), pause: None });
            }
        };
        let said: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
        let error = clean_word(said["error"].as_str().unwrap_or_default());
        let why = format!("no token: {} {error}", reply.status).trim_end().to_owned();
        match (reply.status, said["access_token"].as_str(), said["expires_in"].as_i64()) {
            (200, Some(token), Some(seconds)) => {
                let until = now.saturating_add(seconds.saturating_mul(1_000)).saturating_sub(EARLY_MS);
                // One that is good for less than that is at least used once.
                let value = bearer_header(token)
                    .ok_or_else(|| FcmTokenError::invalid_answer("a token that no header can have"))?;
                Ok((PushServiceToken { text: token.into(), from: now, until: until.max(now + 1) }, value))
            }
            (429 | 500..=599, ..) => Err(FcmTokenError { why, pause: reply.pause(now) }),
            _ => Err(FcmTokenError::invalid_answer(&why)),
        }
    }
}

/// Why there is no token.
#[derive(Clone, Default)]
struct FcmTokenError {
    why: String,
    pause: Option<u64>,
}

impl FcmTokenError {
    fn invalid_answer(why: &str) -> Self {
        tracing::error!(service = "fcm", why, "Google refuses to give a token; check the service account");
        Self { why: why.to_owned(), pause: None }
    }
}

fn bearer_header(token: &str) -> Option<HeaderValue> {
    secret_header(&format!("Bearer {token}"))
}

#[async_trait]
impl DevicePushService for FcmService {
    async fn prepare(&self, letter: &PushDispatch<'_>) -> Result<PreparedPush, SendOutcome> {
        let body = fit_payload(letter, BYTES_MAX)?;
        let turn = self.lane.enter(letter.spread).await.map_err(SendOutcome::turned_away)?;
        let authorization = match self.authorization(letter.now, None).await {
            Ok(authorization) => authorization,
            Err(FcmTokenError { why, pause }) => {
                turn.record_signal(DestinationSignal::Slow(pause));
                return Err(SendOutcome::away(why));
            }
        };
        let request = Request::post(&self.messages)
            .header(AUTHORIZATION, authorization)
            .header(CONTENT_TYPE, "application/json")
            .body(body);
        let request = request.map_err(|_| SendOutcome::refused("no request can be made of it"))?;
        Ok(PreparedPush { turn, request })
    }

    fn client(&self) -> &OutboundClient {
        &self.client
    }

    fn name(&self) -> &'static str {
        "fcm"
    }

    fn describe(&self) -> String {
        format!("FCM for {}", self.account.project_id)
    }

    fn judge(&self, reply: &OutboundReply, now: i64) -> SendOutcome {
        let said: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
        let error = &said["error"];
        let none = Vec::new();
        let details = error["details"].as_array().unwrap_or(&none);
        let code = details.iter().find_map(|detail| detail["errorCode"].as_str());
        let code = clean_word(code.or(error["status"].as_str()).unwrap_or_default());
        let why = format!("{} {code}", reply.status).trim_end().to_owned();
        match (reply.status, code.as_str()) {
            (200, _) => SendOutcome::decided(HandoverOutcome::Accepted),
            (404, "UNREGISTERED") => SendOutcome::gone(why),
            (400, "INVALID_ARGUMENT") if is_about_token(error, details) => SendOutcome::gone(why),
            (429 | 500..=599, _) => SendOutcome::slow_down(why, reply.pause(now)),
            // Of the app, where a token belongs to: this one device is not ours.
            (403, "SENDER_ID_MISMATCH") => SendOutcome::refused(why),
            (401, "THIRD_PARTY_AUTH_ERROR") => SendOutcome::locked_out("fcm", why),
            (401, _) => SendOutcome::stale_token(why),
            (403, _) => SendOutcome::locked_out("fcm", why),
            _ => SendOutcome::refused(why),
        }
    }

    async fn renew_authorization(&self, old: &HeaderValue, now: i64) -> Option<HeaderValue> {
        self.authorization(now, Some(old)).await.ok()
    }
}

/// Google says what is wrong with an argument in one of two ways.
fn is_about_token(error: &Value, details: &[Value]) -> bool {
    let named = |detail: &Value| {
        let fields = detail["fieldViolations"].as_array().into_iter().flatten();
        fields.into_iter().any(|field| field["field"] == "message.token")
    };
    details.iter().any(named)
        || error["message"].as_str().is_some_and(|text| text.contains("registration token"))
}
