//! Mail over the HTTP interfaces of providers: [`Destination`] is how much of one is used and what its answers come to;
//! `ses`, `postmark` and `sendgrid` are what each is told, and what it says.

mod destination;
mod postmark;
mod sendgrid;
mod ses;
mod sigv4;

use std::fmt;

use courier::{
    Mail, Message,
    back::WORD_KEY as TRACE,
    mime::{READY_HEADER, Written},
};
use hyper::{
    Request,
    body::Bytes,
    header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue},
};
use serde_json::Value;

pub(crate) use destination::Destination;
pub(crate) use postmark::Postmark;
pub(crate) use sendgrid::SendGrid;
pub(crate) use ses::Ses;

use crate::{
    fared::{Fared, Judged},
    http::Reply,
};

/// What one provider is told, and what its answers mean.
pub(crate) trait Provider: Send + Sync + fmt::Debug {
    /// Whether it takes a mail's bytes, with our signature. The others put together a mail of their own from its parts.
    fn takes_bytes(&self) -> bool {
        false
    }

    /// The request that hands a mail over, or why there can be none.
    fn write(&self, letter: &Letter<'_>) -> Result<Request<Bytes>, String>;

    /// What an answer means.
    fn judge(&self, reply: &Reply, now: i64) -> Judged;

    /// What it is, for operators; without that by which it knows us.
    fn told(&self) -> String;
}

/// One mail.
#[derive(Clone, Copy)]
pub(crate) struct Letter<'a> {
    pub message: &'a Message,
    pub mail: &'a Mail,
    pub written: &'a Written,
    /// The mail itself, signed.
    pub bytes: &'a [u8],
    /// Now, in milliseconds.
    pub now: i64,
}

impl Letter<'_> {
    /// By what the mail is traced when something comes back of it: the word that its return path has, if it has one.
    /// A provider keeps it as [`TRACE`] and gives it back with whatever it tells of the mail.
    fn trace(&self) -> String {
        let word = self.mail.return_path.as_deref().and_then(|path| path.split('@').next());
        word.map_or_else(|| self.message.ready.to_string(), str::to_owned)
    }

    /// The headers that a mail has beside those that every provider writes itself.
    fn headers(&self) -> impl Iterator<Item = (&str, String)> {
        let own = [
            ("Message-ID", format!("<{}>", self.written.message_id)),
            (READY_HEADER, self.message.ready.to_string()),
        ];
        let more = self.mail.headers.iter().map(|(name, value)| (name.as_str(), value.clone()));
        own.into_iter().chain(more)
    }
}

/// A request with JSON.
fn post(url: String, secret: (HeaderName, HeaderValue), body: &Value) -> Result<Request<Bytes>, String> {
    let request = Request::post(url)
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "application/json")
        .header(secret.0, secret.1);
    request.body(body.to_string().into()).map_err(|_| "no request can be made of it".to_owned())
}

/// What an answer means that has nothing to do with what a provider is: most of those that are no yes.
fn usual(why: String, reply: &Reply, now: i64) -> Judged {
    match reply.status {
        // Whoever stands before the provider asked it and heard nothing.
        502 | 504 => Judged { fared: Fared::Unknown(why), ..Judged::slow(String::new(), None) },
        408 | 429 | 500..=599 => Judged::slow(why, reply.pause(now)),
        _ => Judged::well(Fared::Refused(why)),
    }
}

#[cfg(test)]
mod tests {
    use hyper::HeaderMap;
    use proptest::prelude::*;

    use super::*;
    use crate::lane::Closed;

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
            let reply = Reply { status, headers, body: body.into() };
            let token = HeaderValue::from_static("t");
            let providers: [Box<dyn Provider>; 3] = [
                Box::new(Ses::new("k".to_owned(), "s".into(), "eu-west-1".to_owned(), None, None)),
                Box::new(Postmark { host: "h".to_owned(), token: token.clone(), stream: None }),
                Box::new(SendGrid { host: "h".to_owned(), key: token }),
            ];
            for provider in providers {
                let why = match provider.judge(&reply, 1_800_000_000_000).fared {
                    Fared::Accepted => {
                        prop_assert!(status < 300, "{provider:?} {status}");
                        continue;
                    }
                    Fared::Gone(why) | Fared::Refused(why) | Fared::Later(why) | Fared::Unknown(why) => why,
                    Fared::Closed(Closed::Away(why) | Closed::Busy(why)) => why,
                };
                prop_assert!(why.starts_with(&status.to_string()) && why.len() <= 70, "{why}");
                prop_assert!(!why.contains('@'), "{why}");
            }
        }
    }
}
