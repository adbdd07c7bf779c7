//! A body of JSON, and what is wrong with one in the house's own words.

use std::{fmt, marker::PhantomData};

use axum::{
    body::Bytes,
    extract::{FromRequest, Request, rejection::BytesRejection},
    http::{HeaderMap, StatusCode, header},
};
use serde::{
    Deserialize, Deserializer,
    de::{
        DeserializeOwned, Error, IntoDeserializer, MapAccess, Visitor,
        value::{MapAccessDeserializer, StrDeserializer},
    },
};
use serde_json::Value;

use crate::{
    body::{BodyLimit, check_encoding},
    body_slip::{describe_slip, describe_syntax},
    problem::{HttpProblem, ProblemType},
};

/// A body that is a `T`, whose fields have names: a list of the same values in their order is none.
#[derive(Debug)]
pub struct JsonBody<T>(pub T);

/// Reads an object, or the word that an order without any field is, and no list.
struct NamedJson<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for NamedJson<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ObjectVisitor(PhantomData)).map(Self)
    }
}

struct ObjectVisitor<T>(PhantomData<fn() -> T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<T, E> {
        let deserializer: StrDeserializer<'_, E> = word.into_deserializer();
        T::deserialize(deserializer)
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = HttpProblem;

    async fn from_request(request: Request, state: &S) -> Result<Self, HttpProblem> {
        check_encoding(request.headers())?;
        if !is_json(request.headers()) {
            let reason = "the content type must be application/json";
            return Err(HttpProblem::from_text(ProblemType::UnsupportedMediaType, reason));
        }
        let BodyLimit(bytes_max) = request.extensions().get::<BodyLimit>().copied().unwrap_or_default();
        let bytes = Bytes::from_request(request, state).await;
        let bytes = bytes.map_err(|rejection| describe_rejection(&rejection, bytes_max))?;
        parse_body(&bytes).map(Self)
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let given = headers.get(header::CONTENT_TYPE).and_then(|given| given.to_str().ok());
    let essence = given.unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence.strip_prefix("application/").is_some_and(|form| form == "json" || form.ends_with("+json"))
}

fn describe_rejection(rejection: &BytesRejection, bytes_max: usize) -> HttpProblem {
    if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
        return HttpProblem::new(
            ProblemType::BodyTooLarge,
            format_args!("the body has more than {bytes_max} bytes"),
        );
    }
    HttpProblem::from_text(ProblemType::UnreadableBody, "the body did not arrive whole")
}

fn parse_body<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, HttpProblem> {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let slip = match serde_path_to_error::deserialize(&mut json) {
        Ok(NamedJson(body)) => return json.end().map(|()| body).map_err(|error| describe_syntax(&error)),
        Err(slip) => slip,
    };
    if slip.inner().is_data() {
        return Err(describe_slip(&slip));
    }
    // A number where a word of ours is expected ends the parser as if it were no JSON; a value that was read before says more.
    let value: Value = serde_json::from_slice(bytes).map_err(|error| describe_syntax(&error))?;
    let body = serde_path_to_error::deserialize(value);
    body.map(|NamedJson(body)| body).map_err(|slip| describe_slip(&slip))
}

#[cfg(test)]
mod tests {
    use axum::{
        Router,
        body::{Body, to_bytes},
        routing::post,
    };
    use tower::ServiceExt as _;

    use super::*;
    use crate::body::limit_body;

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct TestOrder {
        word: TestWord,
        #[serde(default)]
        count: u64,
        #[serde(default)]
        lines: Vec<TestLine>,
    }

    #[derive(PartialEq, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum TestWord {
        Read,
        Unread,
        Saved,
    }

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct TestLine {
        id: String,
    }

    const BYTES_MAX: usize = 200;

    /// The status of an answer, its `at` and its `detail`.
    async fn send_body(form: &str, body: &str, bytes_max: Option<usize>) -> (u16, String, String) {
        let read = async |JsonBody(order): JsonBody<TestOrder>| {
            let is_read = order.word == TestWord::Read;
            let letters: usize = order.lines.iter().map(|line| line.id.len()).sum();
            format!("{{\"detail\":\"{is_read} {} {letters}\"}}", order.count)
        };
        let router = Router::new().route("/", post(read));
        let router = match bytes_max {
            Some(bytes_max) => router.layer(limit_body(bytes_max)),
            None => router,
        };
        let request = Request::post("/").header(header::CONTENT_TYPE, form);
        let answer = router.oneshot(request.body(Body::from(body.to_owned())).unwrap()).await.unwrap();
        let status = answer.status().as_u16();
        let said = to_bytes(answer.into_body(), 1 << 20).await.unwrap();
        let said: Value = serde_json::from_slice(&said).unwrap();
        let member = |name: &str| said.get(name).and_then(Value::as_str).unwrap_or("none").to_owned();
        (status, member("at"), member("detail"))
    }

    #[tokio::test]
    async fn a_slip_is_said_plainly_at_its_place() {
        let check = async |body: &str, status: u16, at: &str, detail: &str| {
            let found = send_body("application/json", body, Some(BYTES_MAX)).await;
            assert_eq!(found, (status, at.to_owned(), detail.to_owned()), "{body}");
        };
        check(r#"{"word":"read","count":7,"lines":[{"id":"a"}]}"#, 200, "none", "true 7 1").await;
        check(r#"{"word":"nope"}"#, 422, "/word", "`nope` is not one of `read`, `unread`, `saved`").await;
        check(r#"{"word":5}"#, 422, "/word", "a text or an object is expected, not the number 5").await;
        check("{}", 422, "/word", "`word` is missing").await;
        check(r#"{"word":"read","word":"read"}"#, 422, "/word", "`word` is there twice").await;
        let unknown = "there is no field `wrod`, only `word`, `count`, `lines`";
        check(r#"{"word":"read","wrod":1}"#, 422, "/wrod", unknown).await;
        let number = "a whole number from 0 is expected, not the text \"7\"";
        check(r#"{"word":"read","count":"7"}"#, 422, "/count", number).await;
        let text = "a text is expected, not the number 1";
        check(r#"{"word":"read","lines":[{"id":"a"},{"id":1}]}"#, 422, "/lines/1/id", text).await;
        check(r#"{"word":"read","lines":[{}]}"#, 422, "/lines/0/id", "`id` is missing").await;
        let odd = "there is no field `a/~b`, only `id`";
        check(r#"{"word":"read","lines":[{"a/~b":1}]}"#, 422, "/lines/0/a~1~0b", odd).await;
        check("[]", 422, "", "an object is expected, not a list").await;
        check("\"x\"", 422, "", "an object is expected, not the text \"x\"").await;
        let begins = "the body is not JSON: ";
        check("", 400, "line 1 column 1", &format!("{begins}it ends within a value")).await;
        check("{", 400, "line 1 column 1", &format!("{begins}it ends within an object")).await;
        check("{\n\"word\":}", 400, "line 2 column 8", &format!("{begins}a value is expected")).await;
        let trailing = format!("{begins}trailing characters");
        check(r#"{"word":"read"} x"#, 400, "line 1 column 17", &trailing).await;
        let filled = format!("{{\"word\":\"read\"}}{}", " ".repeat(BYTES_MAX - 15));
        check(&filled, 200, "none", "true 0 0").await;
        check(&format!("{filled} "), 413, "none", "the body has more than 200 bytes").await;
    }

    #[tokio::test]
    async fn a_body_has_a_form_and_an_end() {
        let read = r#"{"word":"unread"}"#;
        for (form, status) in [
            ("application/json", 200),
            ("Application/JSON; charset=utf-8", 200),
            ("application/merge-patch+json", 200),
            ("text/json", 415),
            ("application/x-www-form-urlencoded", 415),
            ("", 415),
        ] {
            assert_eq!(send_body(form, read, None).await.0, status, "{form}");
        }
        // What is said where nothing is set is what is taken.
        let BodyLimit(most) = BodyLimit::default();
        let filled = format!("{read}{}", " ".repeat(most - read.len()));
        assert_eq!(send_body("application/json", &filled, None).await.0, 200);
        let (status, _, detail) = send_body("application/json", &format!("{filled} "), None).await;
        assert_eq!((status, detail), (413, format!("the body has more than {most} bytes")));
    }

    #[derive(Debug, Deserialize)]
    struct NumberOrder {
        number: u32,
    }

    #[tokio::test]
    async fn a_body_is_an_object_that_is_sent_as_it_is() {
        let check = async |encodings: &[&str], body: &str, expect: Result<u32, ProblemType>| {
            let mut request = Request::builder().header("content-type", "application/json");
            for encoding in encodings {
                request = request.header("content-encoding", *encoding);
            }
            let request = request.body(Body::from(body.to_owned())).unwrap();
            let found = JsonBody::<NumberOrder>::from_request(request, &()).await;
            let found = found.map(|JsonBody(order)| order.number).map_err(|problem| problem.kind);
            assert_eq!(found, expect, "{encodings:?} {body}");
        };
        let body = r#"{"number":7}"#;
        check(&[], body, Ok(7)).await;
        check(&["identity"], body, Ok(7)).await;
        // A client that says so packed it, whatever it looks like.
        check(&["gzip"], body, Err(ProblemType::UnsupportedMediaType)).await;
        check(&["identity", "br"], body, Err(ProblemType::UnsupportedMediaType)).await;
        check(&["identity, gzip"], "x", Err(ProblemType::UnsupportedMediaType)).await;
        check(&[], "[7]", Err(ProblemType::InvalidBody)).await;
        check(&[], "{", Err(ProblemType::UnreadableBody)).await;
    }
}
