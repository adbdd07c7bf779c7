//! Amazon SES, by its API v2: it takes the mail's bytes as they are.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use hyper::{
    Request,
    body::Bytes,
    header::{AUTHORIZATION, CONTENT_TYPE, HOST},
};
use secrecy::SecretString;
use serde_json::json;

use super::{
    Letter, Provider, TRACE,
    sigv4::{Asked, Signer, date},
    usual,
};
use crate::{
    fared::{Fared, Judged},
    http::{Reply, secret, word},
};

const PATH: &str = "/v2/email/outbound-emails";
const JSON: &str = "application/json";
/// By which SES says what is wrong.
const ERROR: &str = "x-amzn-errortype";

#[derive(Debug)]
pub(crate) struct Ses {
    /// With its port, if it is not the usual one.
    host: String,
    /// By which one asks to be told what becomes of mails.
    configuration_set: Option<String>,
    signer: Signer,
}

impl Ses {
    pub fn new(
        key_id: String,
        secret: SecretString,
        region: String,
        endpoint: Option<String>,
        configuration_set: Option<String>,
    ) -> Self {
        let host = endpoint.unwrap_or_else(|| format!("email.{region}.amazonaws.com"));
        Self { host, configuration_set, signer: Signer { key_id, secret, region, service: "ses" } }
    }
}

impl Provider for Ses {
    fn takes_bytes(&self) -> bool {
        true
    }

    fn write(&self, letter: &Letter<'_>) -> Result<Request<Bytes>, String> {
        let mut body = json!({
            "Content": {"Raw": {"Data": BASE64_STANDARD.encode(letter.bytes)}},
            "Destination": {"ToAddresses": [letter.written.to]},
            "EmailTags": [{"Name": TRACE, "Value": letter.trace()}],
        });
        if let Some(name) = &self.configuration_set {
            body["ConfigurationSetName"] = name.as_str().into();
        }
        let (body, date) = (body.to_string(), date(letter.now).ok_or("there is no such date")?);
        let headers = [("content-type", JSON), ("host", self.host.as_str()), ("x-amz-date", date.as_str())];
        let asked = Asked { path: PATH, headers: &headers, body: body.as_bytes() };
        let authorization = secret(&self.signer.authorization(&asked, &date));
        let request = Request::post(format!("https://{}{PATH}", self.host))
            .header(HOST, &self.host)
            .header(CONTENT_TYPE, JSON)
            .header("x-amz-date", &date)
            .header(AUTHORIZATION, authorization.ok_or("no header can have the signature")?);
        request.body(body.into()).map_err(|_| "no request can be made of it".to_owned())
    }

    fn judge(&self, reply: &Reply, now: i64) -> Judged {
        let said = reply.headers.get(ERROR).and_then(|said| said.to_str().ok()).unwrap_or_default();
        // Behind a colon it may say where that is defined.
        let said = word(said.split(':').next().unwrap_or_default());
        let why = format!("{} {said}", reply.status).trim_end().to_owned();
        match (reply.status, said.as_str()) {
            (200, _) => Judged::well(Fared::Accepted),
            (_, "ThrottlingException" | "TooManyRequestsException" | "LimitExceededException") => {
                Judged::slow(why, reply.pause(now))
            }
            // What is wrong there is wrong for every mail.
            (401 | 403 | 404, _)
            | (
                _,
                "AccountSuspendedException" | "SendingPausedException" | "MailFromDomainNotVerifiedException",
            ) => Judged::closed("ses", why),
            _ => usual(why, reply, now),
        }
    }

    fn told(&self) -> String {
        format!("ses at {}", self.host)
    }
}
