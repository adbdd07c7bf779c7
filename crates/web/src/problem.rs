//! Errors of HTTP: problems of RFC 9457, with a type that a program can rely on.
//!
//! A type is a path of the house itself, `/problems/house-behind`: it is the same text wherever the house runs, and
//! whoever has one can look it up at the house that said it.

use std::borrow::Cow;

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;
use serde_json::{Map, Value};
use store::StoreError;

use crate::limits::BUSY_RETRY_SECS;

/// The media type of a problem.
pub const PROBLEM_MEDIA_TYPE: &str = "application/problem+json";
/// What all types begin with.
pub const TYPE_PREFIX: &str = "/problems/";

/// What is known of a type beside its name.
struct ProblemRow {
    name: &'static str,
    status: u16,
    title: &'static str,
    when: &'static str,
    again: &'static str,
}

macro_rules! problem_types {
    ($($variant:ident $name:literal $status:literal $title:literal $when:literal $again:literal;)*) => {
        /// The type of a problem, for programs.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub enum ProblemType { $(#[doc = $when] $variant,)* }

        impl ProblemType {
            /// All of them, by their status.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            fn row(self) -> ProblemRow {
                match self {
                    $(Self::$variant => ProblemRow {
                        name: $name, status: $status, title: $title, when: $when, again: $again,
                    },)*
                }
            }
        }
    };
}

// The one table of what can go wrong. docs/http.md shows it, and a test holds the page to it.
problem_types! {
    BadRequest "bad-request" 400 "The request is malformed"
        "a parameter, a header or a name in the body is invalid, missing, unknown or given twice; a head that cannot be read"
        "corrected";
    UnreadableBody "unreadable-body" 400 "The body cannot be read"
        "the body does not have the right form, has too many items, or did not arrive whole; `at` says \
        where"
        "corrected";
    NothingAccepted "nothing-accepted" 400 "No item was accepted"
        "every item of the body was refused; `accepted`, `rejected` and `notes` are those of a 202"
        "corrected";
    Unauthorized "unauthorized" 401 "A key is needed"
        "the API key or the token is missing or unknown"
        "with a key";
    InvalidToken "invalid-token" 401 "The token is invalid"
        "a person's token has expired, is by another login or for another audience, or cannot be read; `detail` says which"
        "with a new token";
    Forbidden "forbidden" 403 "This is not allowed"
        "the house does not do this, such as moving the clock of a house that is not a demo; or a person's token is for another \
        person"
        "no";
    ForeignOrigin "foreign-origin" 403 "The request comes from elsewhere"
        "a page of another site asks, or the `Host` is not this service's"
        "no";
    MissingScope "missing-scope" 403 "The key may not do this"
        "the API key does not have the scope that the path needs; `detail` names it"
        "with another key";
    NotFound "not-found" 404 "There is nothing here"
        "there is no such path, or nothing of this name"
        "no";
    MethodNotAllowed "method-not-allowed" 405 "The path does not take this method"
        "`Allow` has the methods that the path takes"
        "no";
    BodyTooSlow "body-too-slow" 408 "The body took too long"
        "the body took more than 5 seconds to arrive"
        "yes";
    Conflict "conflict" 409 "This cannot be done now"
        "the request does not fit the present state; `detail` says why"
        "when the state has changed";
    BodyTooLarge "body-too-large" 413 "The body is too large"
        "the body has more bytes than its path takes"
        "in parts";
    UnsupportedMediaType "unsupported-media-type" 415 "The form of the body is not supported"
        "the content type is not supported, or the body is compressed"
        "corrected";
    InvalidBody "invalid-body" 422 "A field of the body is wrong"
        "a field is missing, unknown or of another type"
        "corrected";
    KeyReused "idempotency-key-reused" 422 "The idempotency key is taken"
        "the key came with another body or path before"
        "with a key of its own";
    HouseBehind "house-behind" 429 "The house is behind"
        "too many records are waiting; `retry` says when to retry"
        "after `Retry-After`";
    QuotaExceeded "quota-exceeded" 429 "The quota is used up"
        "the lists of this tenant make more rows a minute than it may have; `retry` says when to retry"
        "after `Retry-After`";
    TooOften "too-often" 429 "This was requested too often"
        "the reader of a mail changed their mind ten times within an hour"
        "in an hour";
    HeadTooLarge "head-too-large" 431 "The head is too large"
        "the head has more than some 64 KiB or more than 100 lines"
        "shorter";
    Internal "internal" 500 "Something is broken"
        "an engine is broken; the log of the service says more"
        "after a repair";
    Busy "busy" 503 "The house is busy"
        "an engine or the schema registry is busy or away, too many requests at once, or it took more than 10 seconds"
        "after `Retry-After`";
    NotReady "not-ready" 503 "The house is not ready"
        "the house waits for its engines, or `/health/ready` has found what is missing"
        "later; the house goes on by itself";
    TooManyConnections "too-many-connections" 503 "There are too many connections"
        "no connection is free, or the address has too many"
        "after `Retry-After`";
    HttpVersion "http-version" 505 "HTTP/1.1 is needed"
        "the connection uses another version of HTTP"
        "with HTTP/1.1";
    DiskFull "disk-full" 507 "The disk is full"
        "the disk is down to its reserve (`disk_reserve`), or the house waits for room"
        "later; the house goes on by itself when there is room";
}

impl ProblemType {
    /// The last part of its reference.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// How a problem refers to it.
    pub fn reference(self) -> String {
        format!("{TYPE_PREFIX}{}", self.name())
    }

    pub fn status(self) -> StatusCode {
        StatusCode::from_u16(self.row().status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// The same for every problem of the type.
    pub fn title(self) -> &'static str {
        self.row().title
    }

    /// When it is said, for the documentation.
    pub fn occasion(self) -> &'static str {
        self.row().when
    }

    /// Whether the same may be sent again, for the documentation.
    pub fn again(self) -> &'static str {
        self.row().again
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// The most general type of a status, for what comes without one.
    pub fn from_status(status: StatusCode) -> Self {
        match status {
            StatusCode::SERVICE_UNAVAILABLE => return Self::Busy,
            StatusCode::FORBIDDEN => return Self::Forbidden,
            _ => {}
        }
        let same = Self::ALL.iter().copied().find(|kind| kind.status() == status);
        same.unwrap_or(if status.is_client_error() { Self::BadRequest } else { Self::Internal })
    }
}

/// Why a request was not done.
#[derive(Clone, PartialEq, Debug)]
pub struct HttpProblem {
    pub kind: ProblemType,
    /// In words, for people; nothing of the inside of the house.
    pub detail: Cow<'static, str>,
    /// Where in the body: a JSON pointer, empty for the whole of it, or line and column.
    at: Option<String>,
    /// Seconds after which the same may be asked again.
    retry_secs: Option<u32>,
    /// More members, of this type alone. In a box, so that a problem is no burden where there is none.
    members: Option<Box<Map<String, Value>>>,
}

/// As it is written.
#[derive(Serialize)]
struct ProblemBody<'a> {
    r#type: String,
    title: &'static str,
    status: u16,
    detail: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry: Option<u32>,
    #[serde(flatten)]
    members: Option<&'a Map<String, Value>>,
}

impl HttpProblem {
    pub fn new(kind: ProblemType, detail: impl std::fmt::Display) -> Self {
        Self { detail: Cow::Owned(detail.to_string()), ..Self::from_text(kind, "") }
    }

    /// One that is always said in the same words.
    pub const fn from_text(kind: ProblemType, detail: &'static str) -> Self {
        Self { kind, detail: Cow::Borrowed(detail), at: None, retry_secs: None, members: None }
    }

    pub fn bad_request(detail: impl std::fmt::Display) -> Self {
        Self::new(ProblemType::BadRequest, detail)
    }

    pub fn not_found(detail: impl std::fmt::Display) -> Self {
        Self::new(ProblemType::NotFound, detail)
    }

    pub fn conflict(detail: impl std::fmt::Display) -> Self {
        Self::new(ProblemType::Conflict, detail)
    }

    /// Nothing was acknowledged, and the same may be sent again.
    pub fn busy(detail: impl std::fmt::Display) -> Self {
        Self::new(ProblemType::Busy, detail).with_retry(BUSY_RETRY_SECS)
    }

    /// An engine is broken. What is wrong inside is for the log, not for whoever asks.
    pub fn internal(error: &anyhow::Error) -> Self {
        tracing::error!(error = format!("{error:#}"), "a request failed");
        Self::from_text(ProblemType::Internal, "an engine is broken; the log of the service says more")
    }

    pub fn with_pointer(self, at: impl Into<String>) -> Self {
        Self { at: Some(at.into()), ..self }
    }

    pub fn with_retry(self, secs: u32) -> Self {
        Self { retry_secs: Some(secs), ..self }
    }

    /// With the members of an object beside its own.
    pub fn with_members(self, members: Map<String, Value>) -> Self {
        Self { members: Some(Box::new(members)), ..self }
    }

    pub fn status(&self) -> StatusCode {
        self.kind.status()
    }

    /// The JSON of it.
    pub fn body(&self) -> String {
        let body = ProblemBody {
            r#type: self.kind.reference(),
            title: self.kind.title(),
            status: self.status().as_u16(),
            detail: &self.detail,
            at: self.at.as_deref(),
            retry: self.retry_secs,
            members: self.members.as_deref(),
        };
        serde_json::to_string(&body).unwrap_or_default()
    }
}

/// An error that nobody had a word for.
impl<E: Into<anyhow::Error>> From<E> for HttpProblem {
    fn from(error: E) -> Self {
        Self::internal(&error.into())
    }
}

/// What the store says, as it is said to a client.
pub fn describe_store_error(error: StoreError) -> HttpProblem {
    match error {
        StoreError::Busy(_) => HttpProblem::busy(error),
        StoreError::Full(_) => HttpProblem::new(ProblemType::DiskFull, error),
        StoreError::Refused(_) | StoreError::Broken(_) => error.into(),
    }
}

impl IntoResponse for HttpProblem {
    fn into_response(self) -> Response {
        let mut response = (self.status(), self.body()).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(PROBLEM_MEDIA_TYPE));
        if let Some(secs) = self.retry_secs {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(secs));
        }
        // As RFC 6750 has it.
        let challenge = match self.kind {
            ProblemType::Unauthorized => Some("Bearer realm=\"tidings\""),
            ProblemType::InvalidToken => Some("Bearer realm=\"tidings\", error=\"invalid_token\""),
            ProblemType::MissingScope => Some("Bearer realm=\"tidings\", error=\"insufficient_scope\""),
            _ => None,
        };
        if let Some(challenge) = challenge {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;

    /// `UPDATE_GOLDENS=1 cargo test -p web` writes the table of the page anew.
    #[test]
    fn the_page_shows_the_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/http.md");
        let page = std::fs::read_to_string(path).unwrap();
        let head = "| type | status | when | send it again? |\n| --- | --- | --- | --- |\n";
        let row = |kind: &ProblemType| {
            let (name, status) = (kind.name(), kind.status().as_u16());
            format!("| `{name}` | {status} | {} | {} |\n", kind.occasion(), kind.again())
        };
        let rows: String = ProblemType::ALL.iter().map(row).collect();
        let (before, rest) = page.split_once(head).expect("the page has the table");
        let (found, after) = rest.split_once("\n\n").unwrap();
        if std::env::var_os("UPDATE_GOLDENS").is_some() {
            std::fs::write(path, format!("{before}{head}{rows}\n{after}")).unwrap();
        } else {
            assert_eq!(format!("{found}\n"), rows, "UPDATE_GOLDENS=1 cargo test -p web writes it anew");
        }
    }

    #[test]
    fn a_problem_has_the_members_of_the_standard() {
        let problem = HttpProblem::new(ProblemType::HouseBehind, "come again").with_retry(5);
        let expected = json!({"type": "/problems/house-behind", "title": "The house is behind", "status": 429,
            "detail": "come again", "retry": 5});
        assert_eq!(problem.body(), expected.to_string());
        let response = problem.into_response();
        assert_eq!(response.headers()[header::CONTENT_TYPE], PROBLEM_MEDIA_TYPE);
        assert_eq!(response.headers()[header::RETRY_AFTER], "5");
        let with = Map::from_iter([("accepted".to_owned(), json!(0))]);
        let problem = HttpProblem::bad_request("no").with_pointer("/a").with_members(with);
        assert!(problem.body().ends_with(r#""detail":"no","at":"/a","accepted":0}"#), "{}", problem.body());
    }

    #[test]
    fn an_error_says_nothing_of_the_inside() {
        let problem = HttpProblem::from(anyhow::anyhow!("postgres://user:password@host"));
        assert!(problem.status() == 500 && !problem.body().contains("password"));
    }

    #[test]
    fn types_have_one_name_each_in_the_order_of_their_status() {
        let names: BTreeSet<&str> = ProblemType::ALL.iter().map(|kind| kind.name()).collect();
        assert_eq!(names.len(), ProblemType::ALL.len());
        assert!(ProblemType::ALL.is_sorted_by_key(|kind| kind.status()));
        for kind in ProblemType::ALL {
            assert_eq!(ProblemType::from_name(kind.name()), Some(*kind));
            assert_eq!(ProblemType::from_status(kind.status()).status(), kind.status());
        }
        assert_eq!(ProblemType::from_status(StatusCode::GONE), ProblemType::BadRequest);
    }
}
