//! Postmark, by its email API: it puts together a mail of its own from what it is told, and signs that.

use courier::HandoverOutcome;
use hyper::{
    Request,
    body::Bytes,
    header::{HeaderName, HeaderValue},
};
use serde_json::{Value, json};

use super::{MailProvider, ProviderMail, TRACE, json_request, judge_common};
use crate::{http::OutboundReply, send_outcome::SendOutcome};

const TOKEN: HeaderName = HeaderName::from_static("x-postmark-server-token");
/// By which it leaves a message's id as it is.
const KEEP_ID: &str = "X-PM-KeepID";

#[derive(Debug)]
pub(crate) struct PostmarkProvider {
    /// With its port, if it is not the usual one.
    pub host: String,
    /// A header's value that is not shown.
    pub token: HeaderValue,
    /// Which of its streams the mails belong to; its usual one unless set.
    pub stream: Option<String>,
}

impl MailProvider for PostmarkProvider {
    fn encode_request(&self, letter: &ProviderMail<'_>) -> Result<Request<Bytes>, String> {
        let ProviderMail { message, mail, written, .. } = letter;
        let headers = letter.extra_headers().chain([(KEEP_ID, "true".to_owned())]);
        let headers: Vec<Value> =
            headers.map(|(name, value)| json!({"Name": name, "Value": value})).collect();
        let mut body = json!({
            "From": mail.from,
            "To": written.to,
            "Subject": message.headline,
            "TextBody": message.text,
            "HtmlBody": mail.html,
            "Headers": headers,
            "Metadata": {TRACE: letter.trace_word()},
            "TrackOpens": false,
            "TrackLinks": "None",
        });
        if let Some(stream) = &self.stream {
            body["MessageStream"] = stream.as_str().into();
        }
        json_request(format!("https://{}/email", self.host), (TOKEN, self.token.clone()), &body)
    }

    fn judge(&self, reply: &OutboundReply, now: i64) -> SendOutcome {
        let said: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
        let code = said["ErrorCode"].as_u64();
        let why = match code {
            Some(code) => format!("{} {code}", reply.status),
            None => reply.status.to_string(),
        };
        match (reply.status, code) {
            (200, None | Some(0)) => SendOutcome::decided(HandoverOutcome::Accepted),
            // Who we are is not taken, or not as whom we send, or the account is spent or shut: true of every mail.
            (401 | 403 | 404, _)
            | (_, Some(10 | 400 | 401 | 405 | 412 | 413 | 1_221 | 1_222 | 1_226 | 1_235 | 1_236)) => {
                SendOutcome::locked_out("postmark", why)
            }
            (_, Some(100)) => SendOutcome::slow_down(why, reply.pause(now)),
            (200, Some(_)) => SendOutcome::refused(why),
            _ => judge_common(why, reply, now),
        }
    }

    fn describe(&self) -> String {
        format!("postmark at {}", self.host)
    }
}
