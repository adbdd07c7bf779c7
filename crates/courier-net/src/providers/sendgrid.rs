//! SendGrid, by its API v3: it puts together a mail of its own from what it is told, and signs that.

use courier::HandoverOutcome;
use hyper::{
    Request,
    body::Bytes,
    header::{AUTHORIZATION, HeaderValue},
};
use serde_json::{Map, Value, json};

use super::{MailProvider, ProviderMail, TRACE, json_request, judge_common};
use crate::{http::OutboundReply, send_outcome::SendOutcome};

/// When there may be more requests, in seconds since 1970.
const RESET: &str = "x-ratelimit-reset";

#[derive(Debug)]
pub(crate) struct SendGridProvider {
    /// With its port, if it is not the usual one.
    pub host: String,
    /// `Bearer` and the key: a header's value that is not shown.
    pub key: HeaderValue,
}

impl MailProvider for SendGridProvider {
    fn encode_request(&self, letter: &ProviderMail<'_>) -> Result<Request<Bytes>, String> {
        let ProviderMail { message, mail, written, .. } = letter;
        let headers: Map<String, Value> =
            letter.extra_headers().map(|(name, value)| (name.to_owned(), value.into())).collect();
        // It takes no part that is empty, nor a mail without a headline; in a mail a blank is the same as nothing.
        let parts = [("text/plain", &message.text), ("text/html", &mail.html)];
        let parts = parts.into_iter().filter(|(_, text)| !text.is_empty());
        let content: Vec<Value> = parts.map(|(sort, text)| json!({"type": sort, "value": text})).collect();
        let headline = if message.headline.is_empty() { " " } else { &message.headline };
        let mut from = json!({"email": written.from});
        if let Some(name) = &written.name {
            from["name"] = name.as_str().into();
        }
        let off = json!({"enable": false});
        let body = json!({
            "personalizations": [{"to": [{"email": written.to}]}],
            "from": from,
            "subject": headline,
            "content": content,
            "headers": headers,
            "custom_args": {TRACE: letter.trace_word()},
            "tracking_settings": {
                "click_tracking": {"enable": false, "enable_text": false},
                "open_tracking": off,
                "subscription_tracking": off,
            },
        });
        json_request(format!("https://{}/v3/mail/send", self.host), (AUTHORIZATION, self.key.clone()), &body)
    }

    /// Its words are no codes, and may quote an address: only the status is told.
    fn judge(&self, reply: &OutboundReply, now: i64) -> SendOutcome {
        let why = reply.status.to_string();
        match reply.status {
            200 | 202 => SendOutcome::decided(HandoverOutcome::Accepted),
            401 | 403 | 404 => SendOutcome::locked_out("sendgrid", why),
            429 => SendOutcome::slow_down(why, reply.pause(now).or_else(|| read_reset(reply, now))),
            _ => judge_common(why, reply, now),
        }
    }

    fn describe(&self) -> String {
        format!("sendgrid at {}", self.host)
    }
}

fn read_reset(reply: &OutboundReply, now: i64) -> Option<u64> {
    let at: i64 = reply.headers.get(RESET)?.to_str().ok()?.trim().parse().ok()?;
    u64::try_from(at.saturating_mul(1_000).saturating_sub(now)).ok()
}
