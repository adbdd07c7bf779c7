//! Amazon SES, by its API v2: it takes the mail's bytes as they are.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use courier::HandoverOutcome;
use hyper::{
    Request,
    body::Bytes,
    header::{AUTHORIZATION, CONTENT_TYPE, HOST},
};
use secrecy::SecretString;
use serde_json::json;

use super::{
    MailProvider, ProviderMail, TRACE, judge_common,
    sigv4::{SigV4Request, SigV4Signer, format_date},
};
use crate::{
    http::{OutboundReply, clean_word, secret_header},
    send_outcome::SendOutcome,
};

const PATH: &str = "/v2/email/outbound-emails";
const JSON: &str = "application/json";
/// By which SES says what is wrong.
const ERROR: &str = "x-amzn-errortype";

#[derive(Debug)]
pub(crate) struct SesProvider {
    /// With its port, if it is not the usual one.
    host: String,
    /// By which one asks to be told what becomes of mails.
    configuration_set: Option<String>,
    signer: SigV4Signer,
}

impl SesProvider {
    pub fn new(
        key_id: String,
        secret: SecretString,
        region: String,
        endpoint: Option<String>,
        configuration_set: Option<String>,
    ) -> Self {
        let host = endpoint.unwrap_or_else(|| format!("email.{region}.amazonaws.com"));
        Self { host, configuration_set, signer: SigV4Signer { key_id, secret, region, service: "ses" } }
    }
}

impl MailProvider for SesProvider {
    fn takes_bytes(&self) -> bool {
        true
    }

    fn encode_request(&self, letter: &ProviderMail<'_>) -> Result<Request<Bytes>, String> {
        let mut body = json!({
            "Content": {"Raw": {"Data": BASE64_STANDARD.encode(letter.bytes)}},
            "Destination": {"ToAddresses": [letter.written.to]},
            "EmailTags": [{"Name": TRACE, "Value": letter.trace_word()}],
        });
        if let Some(name) = &self.configuration_set {
            body["ConfigurationSetName"] = name.as_str().into();
        }
        let (body, date) = (body.to_string(), format_date(letter.now).ok_or("there is no such date")?);
        let headers = [("content-type", JSON), ("host", self.host.as_str()), ("x-amz-date", date.as_str())];
        let asked = SigV4Request { path: PATH, headers: &headers, body: body.as_bytes() };
        let authorization = secret_header(&self.signer.authorize_request(&asked, &date));
        let request = Request::post(format!("https://{}{PATH}", self.host))
            .header(HOST, &self.host)
            .header(CONTENT_TYPE, JSON)
            .header("x-amz-date", &date)
            .header(AUTHORIZATION, authorization.ok_or("no header can have the signature")?);
        request.body(body.into()).map_err(|_| "no request can be made of it".to_owned())
    }

    fn judge(&self, reply: &OutboundReply, now: i64) -> SendOutcome {
        let said = reply.headers.get(ERROR).and_then(|said| said.to_str().ok()).unwrap_or_default();
        // Behind a colon it may say where that is defined.
        let said = clean_word(said.split(':').next().unwrap_or_default());
        let why = format!("{} {said}", reply.status).trim_end().to_owned();
        match (reply.status, said.as_str()) {
            (200, _) => SendOutcome::decided(HandoverOutcome::Accepted),
            (_, "ThrottlingException" | "TooManyRequestsException" | "LimitExceededException") => {
                SendOutcome::slow_down(why, reply.pause(now))
            }
            // What is wrong there is wrong for every mail.
            (401 | 403 | 404, _)
            | (
                _,
                "AccountSuspendedException" | "SendingPausedException" | "MailFromDomainNotVerifiedException",
            ) => SendOutcome::locked_out("ses", why),
            _ => judge_common(why, reply, now),
        }
    }

    fn describe(&self) -> String {
        format!("ses at {}", self.host)
    }
}
