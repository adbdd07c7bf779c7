//! To a program, as Standard Webhooks (1.0) has it: the id is the same at every try, and the signature covers id, time and
//! body. Most languages have a library that checks it.

use courier::call::encode_call;
use hyper::{
    HeaderMap,
    body::Bytes,
    header::{CONTENT_TYPE, HeaderName, HeaderValue},
};

use super::{HookDispatch, HookForm};

pub(super) struct WebhookForm;

const ID: HeaderName = HeaderName::from_static("webhook-id");
const TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");

impl HookForm for WebhookForm {
    fn build_request(&self, letter: &HookDispatch<'_>) -> Result<(HeaderMap, Bytes), String> {
        let HookDispatch { message, call, keys, now } = letter;
        let body = encode_call(message, call).to_string();
        // The Ready's id and not the message's, which may have a dot in it: dots stand between the parts of what is signed.
        let (id, seconds) = (message.ready.to_string(), now.div_euclid(1_000).to_string());
        let text = format!("{id}.{seconds}.{body}");
        let signatures = keys.signatures(call.hook, &message.tenant, text.as_bytes());
        let signatures: Vec<String> = signatures.iter().map(|signature| format!("v1,{signature}")).collect();
        let value = |text: &str| HeaderValue::from_str(text).map_err(|_| "no header can have it".to_owned());
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ID, value(&id)?);
        headers.insert(TIMESTAMP, value(&seconds)?);
        headers.insert(SIGNATURE, value(&signatures.join(" "))?);
        Ok((headers, body.into()))
    }

    fn is_signed(&self) -> bool {
        true
    }

    fn knows_again(&self) -> bool {
        true
    }
}
