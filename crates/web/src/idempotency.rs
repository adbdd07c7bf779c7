//! A request that may be repeated: the first answer under a key stands for a day. When it was first seen is written
//! before anything is done and the answer after, so that a repetition after a crash does the same again.

use std::marker::PhantomData;

use axum::{
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use model::{Tenant, UtcMillis};
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use store::AnswerStore;

use crate::{
    limits::IDEMPOTENCY_KEY_BYTES_MAX,
    problem::{HttpProblem, PROBLEM_MEDIA_TYPE, ProblemType, describe_store_error},
};

/// The header with the key.
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// An answer as it is kept and given again, of a `T` or of a problem.
#[derive(Debug)]
pub struct IdempotentAnswer<T> {
    pub status: StatusCode,
    /// JSON.
    pub body: String,
    of: PhantomData<fn() -> T>,
}

impl<T> IdempotentAnswer<T> {
    fn from_parts(status: StatusCode, body: String) -> Self {
        Self { status, body, of: PhantomData }
    }

    /// A refusal that stands like any other answer.
    pub fn from_problem(problem: &HttpProblem) -> Self {
        Self::from_parts(problem.status(), problem.body())
    }
}

impl<T: Serialize> IdempotentAnswer<T> {
    pub fn new(status: StatusCode, value: &T) -> Result<Self, HttpProblem> {
        Ok(Self::from_parts(status, serde_json::to_string(value)?))
    }
}

impl<T> IntoResponse for IdempotentAnswer<T> {
    fn into_response(self) -> Response {
        let is_error = self.status.is_client_error() || self.status.is_server_error();
        let form = if is_error { PROBLEM_MEDIA_TYPE } else { "application/json" };
        (self.status, [(header::CONTENT_TYPE, HeaderValue::from_static(form))], self.body).into_response()
    }
}

/// The key of a request, if it has one.
pub fn idempotency_key(headers: &HeaderMap) -> Result<Option<&str>, HttpProblem> {
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
        _ => Err(HttpProblem::bad_request(format_args!(
            "the idempotency key must be one of 1 to {IDEMPOTENCY_KEY_BYTES_MAX} visible ASCII characters"
        ))),
    }
}

/// What a request with a key asks for: the same key with anything else is a mistake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IdempotentRequest(pub [u8; 32]);

impl IdempotentRequest {
    /// The attributes are those in headers; a body that has its own has none there.
    pub fn from_request(path: &str, attributes: &[(String, Vec<u8>)], body: &[u8]) -> Self {
        let mut hash = Sha256::new().chain_update(path).chain_update([0]);
        for (name, value) in attributes {
            let length = value.len().to_be_bytes();
            hash = hash.chain_update(name).chain_update([0]).chain_update(length).chain_update(value);
        }
        Self(hash.chain_update(body).finalize().into())
    }

    /// What is written before anything is done. A retry after a crash is judged by the same instant, so it writes the
    /// same rows.
    fn encode_first_seen(self, at: UtcMillis) -> Vec<u8> {
        [self.0.as_slice(), &at.0.to_be_bytes()].concat()
    }

    fn decode_first_seen(bytes: &[u8]) -> Option<(Self, UtcMillis)> {
        let (asked, at) = bytes.split_first_chunk::<32>()?;
        Some((Self(*asked), UtcMillis(i64::from_be_bytes(at.try_into().ok()?))))
    }

    /// What is written when all is done.
    fn encode_answer<T>(self, answer: &IdempotentAnswer<T>) -> Vec<u8> {
        [self.0.as_slice(), &answer.status.as_u16().to_be_bytes(), answer.body.as_bytes()].concat()
    }

    fn decode_answer<T>(bytes: &[u8]) -> Option<(Self, IdempotentAnswer<T>)> {
        let (asked, rest) = bytes.split_first_chunk::<32>()?;
        let (status, body) = rest.split_first_chunk::<2>()?;
        let status = StatusCode::from_u16(u16::from_be_bytes(*status)).ok()?;
        let body = String::from_utf8(body.to_vec()).ok()?;
        Some((Self(*asked), IdempotentAnswer::from_parts(status, body)))
    }

    /// The answer under a key, if it belongs to the same request.
    fn check_same<T>(self, stands: Option<(Self, T)>) -> Result<T, HttpProblem> {
        match stands {
            Some((of, what)) if of == self => Ok(what),
            Some(_) => Err(HttpProblem::from_text(
                ProblemType::KeyReused,
                "this idempotency key was used for another request",
            )),
            None => Err(anyhow::anyhow!("the answer kept for this idempotency key cannot be read").into()),
        }
    }
}

/// A key of a tenant, and where answers are kept.
pub struct IdempotentDesk<'a> {
    pub store: &'a dyn AnswerStore,
    pub tenant: &'a Tenant,
    pub key: &'a str,
    pub request: IdempotentRequest,
}

impl IdempotentDesk<'_> {
    // Two prefixes of one length: no key of a client's choice can run into the other sort of entry.
    fn seen_key(&self) -> String {
        format!("seen:{}", self.key)
    }

    fn answer_key(&self) -> String {
        format!("said:{}", self.key)
    }

    /// The answer that stands.
    pub async fn find_answer<T>(&self, now: UtcMillis) -> Result<Option<IdempotentAnswer<T>>, HttpProblem> {
        let stands = self.store.find_answer(self.tenant, &self.answer_key(), now).await;
        let Some(stands) = stands.map_err(describe_store_error)? else { return Ok(None) };
        self.request.check_same(IdempotentRequest::decode_answer(&stands.body)).map(Some)
    }

    /// When the request was first seen, which is now at the latest.
    pub async fn note_first_seen(&self, now: UtcMillis) -> Result<UtcMillis, HttpProblem> {
        let seen = self.request.encode_first_seen(now);
        let seen = self.store.answer(self.tenant, &self.seen_key(), seen, now).await;
        let seen = seen.map_err(describe_store_error)?;
        self.request.check_same(IdempotentRequest::decode_first_seen(&seen))
    }

    /// Keeps an answer, and gives the one that stands.
    pub async fn keep_answer<T>(
        &self,
        answer: &IdempotentAnswer<T>,
        now: UtcMillis,
    ) -> Result<IdempotentAnswer<T>, HttpProblem> {
        let answer = self.request.encode_answer(answer);
        let stands = self.store.answer(self.tenant, &self.answer_key(), answer, now).await;
        self.request.check_same(IdempotentRequest::decode_answer(&stands.map_err(describe_store_error)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_can_be_read_again() {
        let asked = IdempotentRequest([7; 32]);
        let at = UtcMillis(1_795_255_200_000);
        let seen = asked.encode_first_seen(at);
        assert_eq!(IdempotentRequest::decode_first_seen(&seen), Some((asked, at)));
        let answer = IdempotentAnswer::<()>::from_problem(&HttpProblem::bad_request("no"));
        let (of, read) = IdempotentRequest::decode_answer::<()>(&asked.encode_answer(&answer)).unwrap();
        assert_eq!((of, read.status, &read.body), (asked, answer.status, &answer.body));
        assert_eq!(IdempotentRequest::decode_first_seen(&[]), None);
        assert!(IdempotentRequest::decode_answer::<()>(&[0; 33]).is_none());
    }
}
