//! An answer that a client has already is not sent again.

use std::{marker::PhantomData, sync::Arc};

use axum::{
    body::Bytes,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

/// Bytes of an ETag's hash; it is shown as hexadecimal digits.
const ETAG_BYTES: usize = 16;
/// A client asks each time, and mostly hears that nothing has changed.
const CACHE: HeaderValue = HeaderValue::from_static("private, no-cache");

/// An answer of a `T`, or that the client has it already.
#[derive(Debug)]
pub struct CachedJson<T> {
    response: Response,
    of: PhantomData<fn() -> T>,
}

impl<T: Serialize> CachedJson<T> {
    /// The JSON of a `T`, for a request with these headers.
    pub fn from_body(body: &TaggedBody, headers: &HeaderMap) -> Self {
        Self { response: whole_or_unchanged(body, headers), of: PhantomData }
    }

    /// The same with something done to its body.
    pub fn map(self, change: impl FnOnce(Response) -> Response) -> Self {
        Self { response: change(self.response), of: PhantomData }
    }
}

impl<T> IntoResponse for CachedJson<T> {
    fn into_response(self) -> Response {
        self.response
    }
}

/// A body of JSON with its ETag, which may be sent more than once.
#[derive(Clone, Debug)]
pub struct TaggedBody {
    body: Bytes,
    etag: Arc<str>,
}

impl TaggedBody {
    pub fn new(body: String) -> Self {
        let hash = Sha256::digest(&body);
        let digits: String = hash.iter().take(ETAG_BYTES).map(|byte| format!("{byte:02x}")).collect();
        Self { body: body.into(), etag: format!("\"{digits}\"").into() }
    }

    /// Bytes of the body.
    pub fn size(&self) -> usize {
        self.body.len()
    }
}

/// A body of JSON, unless the client has it already.
fn whole_or_unchanged(TaggedBody { body, etag }: &TaggedBody, headers: &HeaderMap) -> Response {
    let common = [(header::CACHE_CONTROL, CACHE), (header::VARY, HeaderValue::from_static("authorization"))];
    let tag = [(header::ETAG, &**etag)];
    if is_cached(headers, etag) {
        return (StatusCode::NOT_MODIFIED, common, tag).into_response();
    }
    let json = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    (common, tag, json, body.clone()).into_response()
}

/// Whether the client says that it has this. Weak tags are compared as strong ones: RFC 9110, 13.1.2.
fn is_cached(headers: &HeaderMap, etag: &str) -> bool {
    let given = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let mut tags = given.flat_map(|text| text.split(',')).map(str::trim);
    tags.any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == etag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_has_is_not_sent_to_it() {
        let check = |lines: &[&str], expect: bool| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(header::IF_NONE_MATCH, HeaderValue::from_str(line).unwrap());
            }
            assert_eq!(is_cached(&headers, "\"a1\""), expect, "{lines:?}");
        };
        check(&[], false);
        check(&["\"a1\""], true);
        check(&["W/\"a1\""], true);
        check(&["*"], true);
        check(&["\"b2\", \"a1\""], true);
        check(&["\"b2\"", "\"a1\""], true);
        check(&["a1"], false);
        check(&["\"a\"", "\"a11\"", ""], false);
    }
}
