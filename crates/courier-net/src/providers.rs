//! Mail over the HTTP interfaces of providers: [`ProviderTransport`] is the way to any of them;
//! `ses`, `postmark` and `sendgrid` are what each is told, and what it says.

mod postmark;
mod sendgrid;
mod ses;
mod sigv4;
mod transport;

use std::fmt;

use courier::{
    MailPayload, Message,
    mail_returns::WORD_KEY as TRACE,
    mime::{MimeMessage, READY_HEADER},
};
use hyper::{
    Request,
    body::Bytes,
    header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue},
};
use serde_json::Value;

pub(crate) use postmark::PostmarkProvider;
pub(crate) use sendgrid::SendGridProvider;
pub(crate) use ses::SesProvider;
pub(crate) use transport::ProviderTransport;

use crate::{http::OutboundReply, send_outcome::SendOutcome};

/// What one provider is told, and what its answers mean.
pub(crate) trait MailProvider: Send + Sync + fmt::Debug {
    /// Whether it takes a mail's bytes, with our signature. The others put together a mail of their own from its parts.
    fn takes_bytes(&self) -> bool {
        false
    }

    /// The request that hands a mail over, or why there can be none.
    fn encode_request(&self, letter: &ProviderMail<'_>) -> Result<Request<Bytes>, String>;

    /// What an answer means.
    fn judge(&self, reply: &OutboundReply, now: i64) -> SendOutcome;

    /// What it is, for operators; without that by which it knows us.
    fn describe(&self) -> String;
}

/// One mail.
#[derive(Clone, Copy)]
pub(crate) struct ProviderMail<'a> {
    pub message: &'a Message,
    pub mail: &'a MailPayload,
    pub written: &'a MimeMessage,
    /// The mail itself, signed.
    pub bytes: &'a [u8],
    /// Now, in milliseconds.
    pub now: i64,
}

impl ProviderMail<'_> {
    /// By what the mail is traced when something comes back of it: the word that its return path has, if it has one.
    /// A provider keeps it as [`TRACE`] and gives it back with whatever it tells of the mail.
    fn trace_word(&self) -> String {
        let word = self.mail.return_path.as_deref().and_then(|path| path.split('@').next());
        word.map_or_else(|| self.message.ready.to_string(), str::to_owned)
    }

    /// The headers that a mail has beside those that every provider writes itself.
    fn extra_headers(&self) -> impl Iterator<Item = (&str, String)> {
        let own = [
            ("Message-ID", format!("<{}>", self.written.message_id)),
            (READY_HEADER, self.message.ready.to_string()),
        ];
        let more = self.mail.headers.iter().map(|(name, value)| (name.as_str(), value.clone()));
        own.into_iter().chain(more)
    }
}

/// A request with JSON.
fn json_request(
    url: String,
    secret: (HeaderName, HeaderValue),
    body: &Value,
) -> Result<Request<Bytes>, String> {
    let request = Request::post(url)
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "application/json")
        .header(secret.0, secret.1);
    request.body(body.to_string().into()).map_err(|_| "no request can be made of it".to_owned())
}

/// What an answer means that has nothing to do with what a provider is: most of those that are no yes.
fn judge_common(why: String, reply: &OutboundReply, now: i64) -> SendOutcome {
    match reply.status {
        // Whoever stands before the provider asked it and heard nothing.
        502 | 504 => SendOutcome::unknown(why),
        408 | 429 | 500..=599 => SendOutcome::slow_down(why, reply.pause(now)),
        _ => SendOutcome::refused(why),
    }
}

#[cfg(test)]
mod tests {
    use courier::HandoverOutcome;
    use hyper::HeaderMap;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Only a status of success is a yes, whatever else is said, and nothing that is said gets into a log but codes.
        #[test]
        fn whatever_is_answered_has_an_outcome(
            status in 200_u16..600,
            error in "[ -~]{0,80}",
            body in prop_oneof![
                Just(String::new()),
                r#"\{"ErrorCode": (-?[0-9]{1,20}|"x"|null), "Message": "ann@example\.com"\}"#,
                r"\PC{0,60}",
            ],
        ) {
            let mut headers = HeaderMap::new();
            for name in ["x-amzn-errortype", "x-ratelimit-reset", "retry-after"] {
                headers.insert(name, HeaderValue::from_str(&error).unwrap());
            }
            let reply = OutboundReply { status, headers, body: body.into() };
            let token = HeaderValue::from_static("t");
            let providers: [Box<dyn MailProvider>; 3] = [
                Box::new(SesProvider::new("k".to_owned(), "s".into(), "eu-west-1".to_owned(), None, None)),
                Box::new(PostmarkProvider { host: "h".to_owned(), token: token.clone(), stream: None }),
                Box::new(SendGridProvider { host: "h".to_owned(), key: token }),
            ];
            for provider in providers {
                let why = match provider.judge(&reply, 1_800_000_000_000).handed {
                    HandoverOutcome::Accepted => {
                        prop_assert!(status < 300, "{provider:?} {status}");
                        continue;
                    }
                    HandoverOutcome::Refused(why) | HandoverOutcome::NotNow(why) | HandoverOutcome::Unknown(why) => why,
                    HandoverOutcome::Away(why) | HandoverOutcome::Busy(why) => why,
                    HandoverOutcome::Stopped => panic!("no answer stops a mail"),
                };
                prop_assert!(why.starts_with(&status.to_string()) && why.len() <= 70, "{why}");
                prop_assert!(!why.contains('@'), "{why}");
            }
        }
    }
}
