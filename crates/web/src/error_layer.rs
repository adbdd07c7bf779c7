//! Turns refusals of the framework into problems, so that clients need to know one form only.

use axum::{
    body::to_bytes,
    extract::Request,
    http::header,
    middleware::Next,
    response::{IntoResponse as _, Response},
};

use crate::{
    body_slip::say_plainly,
    limits::REASON_BYTES_MAX,
    problem::{HttpProblem, ProblemType},
};

/// A layer: an error without a form of its own becomes a problem.
pub async fn describe_errors(request: Request, next: Next) -> Response {
    describe_error(next.run(request).await).await
}

/// An error with a line of text, or with nothing, as a problem; anything else as it was.
pub async fn describe_error(response: Response) -> Response {
    let status = response.status();
    let form = response.headers().get(header::CONTENT_TYPE).and_then(|form| form.to_str().ok());
    let is_bare = form.is_none_or(|form| form.starts_with("text/plain"));
    if !(status.is_client_error() || status.is_server_error()) || !is_bare {
        return response;
    }
    let (parts, body) = response.into_parts();
    let line = to_bytes(body, REASON_BYTES_MAX).await.unwrap_or_default();
    let line = String::from_utf8_lossy(&line);
    let kind = ProblemType::from_status(status);
    let detail = match line.trim() {
        "" => kind.title().to_owned(),
        line => say_without_framework(line),
    };
    let mut described = HttpProblem::new(kind, detail).into_response();
    for (name, value) in &parts.headers {
        // `Allow` and its like stay; what is about the body is said anew.
        if ![header::CONTENT_TYPE, header::CONTENT_LENGTH].contains(name) {
            described.headers_mut().append(name, value.clone());
        }
    }
    described
}

/// What the framework says of a body that it does not read, and what is said instead.
const FRAMEWORK_SENTENCES: [(&str, &str); 2] = [
    (
        "Failed to buffer the request body: length limit exceeded",
        "the body has more bytes than this path takes",
    ),
    ("Failed to buffer the request body", "the body did not arrive whole"),
];
/// What it puts before the words that say what is wrong.
const FRAMEWORK_WORDS: [&str; 4] = [
    "Failed to deserialize query string: ",
    "Failed to deserialize form body: ",
    "Failed to deserialize form: ",
    "Failed to deserialize the JSON body into the target type: ",
];

/// A line of the framework as the house would say it.
fn say_without_framework(line: &str) -> String {
    if let Some((_, sentence)) = FRAMEWORK_SENTENCES.iter().find(|(begins, _)| line.starts_with(begins)) {
        return (*sentence).to_owned();
    }
    say_plainly(FRAMEWORK_WORDS.iter().find_map(|words| line.strip_prefix(words)).unwrap_or(line))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use axum::{
        Json,
        body::Body,
        extract::Query,
        http::StatusCode,
        middleware::from_fn,
        routing::{get, post},
    };
    use tower::ServiceExt as _;

    use super::*;

    #[tokio::test]
    async fn the_framework_speaks_as_handlers_do() {
        let number = post(async |Json(number): Json<u32>| number.to_string());
        let asks = get(async |Query(asked): Query<BTreeMap<String, u32>>| asked.len().to_string());
        let refuses = post(async || HttpProblem::conflict("not now"));
        let router = axum::Router::new()
            .route("/number", number)
            .route("/asks", asks)
            .route("/refuses", refuses)
            .layer(from_fn(describe_errors));
        let ask = async |method: &str, path: &str, form: Option<&str>, body: &str| {
            let mut request = Request::builder().method(method).uri(path);
            if let Some(form) = form {
                request = request.header("content-type", form);
            }
            let request = request.body(Body::from(body.to_owned())).unwrap();
            let answer = router.clone().oneshot(request).await.unwrap();
            let (status, headers) = (answer.status(), answer.headers().clone());
            let body = to_bytes(answer.into_body(), 1 << 20).await.unwrap();
            (status, headers, String::from_utf8(body.to_vec()).unwrap())
        };
        let json = Some("application/json");
        let check = async |method: &str, path: &str, form: Option<&str>, body: &str, kind: ProblemType| {
            let (status, headers, text) = ask(method, path, form, body).await;
            assert_eq!(status, kind.status(), "{path}: {text}");
            assert_eq!(headers["content-type"], "application/problem+json");
            assert!(text.contains(&format!(r#""type":"{}""#, kind.reference())), "{text}");
        };
        check("POST", "/number", json, "x", ProblemType::BadRequest).await;
        check("POST", "/number", json, "\"x\"", ProblemType::InvalidBody).await;
        check("POST", "/number", None, "1", ProblemType::UnsupportedMediaType).await;
        check("POST", "/number", json, &"1".repeat(3 << 20), ProblemType::BodyTooLarge).await;
        check("GET", "/number", None, "", ProblemType::MethodNotAllowed).await;
        check("GET", "/nowhere", None, "", ProblemType::NotFound).await;
        check("POST", "/refuses", None, "", ProblemType::Conflict).await;
        for (method, path, body, detail) in [
            ("POST", "/number", "\"x\"", "a whole number from 0 is expected, not the text \\\"x\\\""),
            ("POST", "/number", &*"1".repeat(3 << 20), "the body has more bytes than this path takes"),
            ("GET", "/asks?limit=x", "", "invalid digit found in string"),
        ] {
            let (_, _, text) = ask(method, path, json, body).await;
            assert!(text.contains(detail) && !text.contains("Failed to"), "{path}: {text}");
        }
        let (_, headers, _) = ask("GET", "/number", None, "").await;
        assert_eq!(headers["allow"], "POST");
        assert_eq!(ask("POST", "/number", json, "7").await.0, StatusCode::OK);
    }
}
