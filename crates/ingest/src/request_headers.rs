//! Who may enter by HTTP, and what a request's headers must say.

use std::fmt;

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use model::Tenant;
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};
use topic::RecordHeaders;
use wire::upstream::{HTTP_PREFIX, is_binary};

use crate::{answer::IngestAnswer, config::IDEMPOTENCY_KEY_BYTES_MAX};

/// What a body may be said to be; nothing said is as good.
const MEDIA_TYPES: [&str; 7] = [
    "application/json",
    "application/cloudevents+json",
    "application/cloudevents-batch+json",
    "application/x-ndjson",
    "application/avro",
    "avro/binary",
    "application/vnd.confluent.avro",
];

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// A key by which a service shows whose changes it brings. Only its hash is kept.
#[derive(Clone, PartialEq, Eq)]
pub struct IngestApiKey {
    digest: [u8; 32],
    tenant: Tenant,
}

impl IngestApiKey {
    pub fn new(secret: &SecretString, tenant: Tenant) -> Self {
        Self { digest: Sha256::digest(secret.expose_secret()).into(), tenant }
    }

    pub fn tenant(&self) -> &Tenant {
        &self.tenant
    }
}

impl fmt::Debug for IngestApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IngestApiKey").field("tenant", &self.tenant).finish_non_exhaustive()
    }
}

/// Whose changes a request brings. Hashes are compared, and all of them, so the time that takes says
/// nothing about a key.
pub fn authenticate_tenant<'a>(
    headers: &HeaderMap,
    keys: &'a [IngestApiKey],
) -> Result<&'a Tenant, IngestAnswer> {
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    let bearer = match (given.next().and_then(|value| value.to_str().ok()), given.next()) {
        (Some(text), None) => {
            text.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        }
        _ => None,
    };
    let Some((_, secret)) = bearer else {
        return Err(IngestAnswer::unauthorized("an API key is needed: `Authorization: Bearer <key>`"));
    };
    let digest: [u8; 32] = Sha256::digest(secret.trim()).into();
    let mut found = None;
    for key in keys {
        if key.digest == digest {
            found = Some(&key.tenant);
        }
    }
    found.ok_or_else(|| IngestAnswer::unauthorized("there is no such API key"))
}

/// Whether a provider of mail has one of the keys: as the password of an address, `https://tidings:KEY@host/`, which is
/// what all of them can be told. Gives whose key it is; whose mails it tells of their words say.
pub fn authenticate_provider(headers: &HeaderMap, keys: &[IngestApiKey]) -> Result<Tenant, IngestAnswer> {
    let mut headers = headers.clone();
    let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let basic = given
        .and_then(|text| text.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("basic"));
    let said = basic.and_then(|(_, said)| String::from_utf8(STANDARD.decode(said.trim()).ok()?).ok());
    let bearer =
        said.and_then(|said| HeaderValue::from_str(&format!("Bearer {}", said.split_once(':')?.1)).ok());
    if let Some(bearer) = bearer {
        headers.insert(header::AUTHORIZATION, bearer);
    }
    authenticate_tenant(&headers, keys).cloned()
}

/// Without keys whoever reaches the port may enter, but not a page of another site through somebody's
/// browser: browsers say where a page is from, services do not.
pub fn check_same_origin(headers: &HeaderMap) -> Result<(), IngestAnswer> {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let same = match (text(header::ORIGIN), text(header::HOST)) {
        (None, _) => true,
        (Some(origin), Some(host)) => origin.split_once("://").is_some_and(|(_, from)| from == host),
        (Some(_), None) => false,
    };
    if same {
        Ok(())
    } else {
        Err(IngestAnswer::error(StatusCode::FORBIDDEN, "pages of other sites may not do this"))
    }
}

/// Whether the body is said to be something that is read here.
pub fn check_media_type(headers: &HeaderMap) -> Result<(), IngestAnswer> {
    if headers.get(header::CONTENT_ENCODING).is_some_and(|encoding| encoding != "identity") {
        return Err(IngestAnswer::error(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "compressed bodies are not read",
        ));
    }
    let Some(given) = headers.get(header::CONTENT_TYPE) else { return Ok(()) };
    let essence = given.to_str().unwrap_or("?").split(';').next().unwrap_or_default().trim();
    if MEDIA_TYPES.iter().any(|known| known.eq_ignore_ascii_case(essence)) {
        return Ok(());
    }
    let reason = format!("the content type must be one of {}", MEDIA_TYPES.join(", "));
    Err(IngestAnswer::error(StatusCode::UNSUPPORTED_MEDIA_TYPE, &reason))
}

/// The attributes of a CloudEvent in binary mode; none of any other request.
pub fn cloud_event_attributes(headers: &HeaderMap) -> RecordHeaders {
    let value = |value: &HeaderValue| unescape_attribute(value.as_bytes());
    let all: RecordHeaders = headers.iter().map(|(name, of)| (name.as_str().to_owned(), value(of))).collect();
    if !is_binary(&all, HTTP_PREFIX) {
        return RecordHeaders::new();
    }
    all.into_iter().filter(|(name, _)| name.starts_with(HTTP_PREFIX)).collect()
}

/// CloudEvents writes what is no plain ASCII as `%` and two digits. What is none of these stays as it is.
fn unescape_attribute(mut value: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(value.len());
    while let Some((byte, rest)) = value.split_first() {
        let digits = rest.split_first_chunk::<2>().filter(|_| *byte == b'%');
        let escaped = digits.and_then(|(digits, rest)| {
            let digits = str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+'))?;
            Some((u8::from_str_radix(digits, 16).ok()?, rest))
        });
        let (byte, rest) = escaped.unwrap_or((*byte, rest));
        bytes.push(byte);
        value = rest;
    }
    bytes
}

/// The idempotency key, if there is one.
pub fn idempotency_key(headers: &HeaderMap) -> Result<Option<&str>, IngestAnswer> {
    let mut given = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(value) = given.next() else { return Ok(None) };
    let visible = |text: &&str| text.bytes().all(|byte| byte.is_ascii_graphic());
    let key = value
        .to_str()
        .ok()
        .filter(visible)
        .filter(|key| (1..=IDEMPOTENCY_KEY_BYTES_MAX).contains(&key.len()));
    match (key, given.next()) {
        (Some(key), None) => Ok(Some(key)),
        _ => {
            let reason = format!(
                "the idempotency key must be one of 1 to {IDEMPOTENCY_KEY_BYTES_MAX} visible ASCII characters"
            );
            Err(IngestAnswer::error(StatusCode::BAD_REQUEST, &reason))
        }
    }
}
