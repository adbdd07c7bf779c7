//! Postmark, by its email API: it puts together a mail of its own from what it is told, and signs that.

use hyper::{
    Request,
    body::Bytes,
    header::{HeaderName, HeaderValue},
};
use serde_json::{Value, json};

use super::{Letter, Provider, TRACE, post, usual};
use crate::{
    fared::{Fared, Judged},
    http::Reply,
};

const TOKEN: HeaderName = HeaderName::from_static("x-postmark-server-token");
/// By which it leaves a message's id as it is.
const KEEP_ID: &str = "X-PM-KeepID";

#[derive(Debug)]
pub(crate) struct Postmark {
    /// With its port, if it is not the usual one.
    pub host: String,
    /// A header's value that is not shown.
    pub token: HeaderValue,
    /// Which of its streams the mails belong to; its usual one unless set.
    pub stream: Option<String>,
}

impl Provider for Postmark {
    fn write(&self, letter: &Letter<'_>) -> Result<Request<Bytes>, String> {
        let Letter { message, mail, written, .. } = letter;
        let headers = letter.headers().chain([(KEEP_ID, "true".to_owned())]);
        let headers: Vec<Value> =
            headers.map(|(name, value)| json!({"Name": name, "Value": value})).collect();
        let mut body = json!({
            "From": mail.from,
            "To": written.to,
            "Subject": message.headline,
            "TextBody": message.text,
            "HtmlBody": mail.html,
            "Headers": headers,
            "Metadata": {TRACE: letter.trace()},
            "TrackOpens": false,
            "TrackLinks": "None",
        });
        if let Some(stream) = &self.stream {
            body["MessageStream"] = stream.as_str().into();
        }
        post(format!("https://{}/email", self.host), (TOKEN, self.token.clone()), &body)
    }

    fn judge(&self, reply: &Reply, now: i64) -> Judged {
        let said: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
        let code = said["ErrorCode"].as_u64();
        let why = match code {
            Some(code) => format!("{} {code}", reply.status),
            None => reply.status.to_string(),
        };
        match (reply.status, code) {
            (200, None | Some(0)) => Judged::well(Fared::Accepted),
            // Who we are is not taken, or not as whom we send, or the account is spent or shut: true of every mail.
            (401 | 403 | 404, _)
            | (_, Some(10 | 400 | 401 | 405 | 412 | 413 | 1_221 | 1_222 | 1_226 | 1_235 | 1_236)) => {
                Judged::closed("postmark", why)
            }
            (_, Some(100)) => Judged::slow(why, reply.pause(now)),
            (200, Some(_)) => Judged::well(Fared::Refused(why)),
            _ => usual(why, reply, now),
        }
    }

    fn told(&self) -> String {
        format!("postmark at {}", self.host)
    }
}
