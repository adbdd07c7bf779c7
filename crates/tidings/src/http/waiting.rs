//! What answers while the house waits for room on the disk: that it does, and what happens next.

use std::{path::PathBuf, sync::Arc};

use anyhow::Context as _;
use axum::{
    Router,
    extract::{Request, State},
    http::{StatusCode, header},
    middleware::{Next, from_fn_with_state},
    response::{Html, IntoResponse, Response},
    routing::{any, get},
};
use futures::StreamExt as _;
use ingest::config::BODY_TIME_MAX;
use minijinja::{Environment, context};
use serde_json::json;
use tokio::time::timeout;
use wire::cloud::BODY_BYTES_MAX;

use super::{
    guard::{self, Guard},
    health, page,
};
use crate::datadir::disk_free;

const PAGE: &str = include_str!("../../page/waiting.html");
/// When it is worth while to ask again.
const RETRY_SECS: u32 = 30;

/// A house that waits for room.
pub struct Waiting {
    pub guard: Guard,
    /// Whose disk is full.
    pub dir: PathBuf,
    /// Bytes that must be free for the house to go on.
    pub needs: u64,
}

/// All paths, without a house.
pub fn router(waiting: Waiting) -> Router {
    let waiting = Arc::new(waiting);
    Router::new()
        .route("/v1/{*path}", any(full))
        .route("/admin/{*path}", any(full))
        .route("/health/live", get(health::live))
        .route("/health/ready", get(not_ready))
        .route("/metrics", get(not_ready))
        .route("/style.css", get(page::style))
        .fallback(shown)
        .with_state(waiting.clone())
        .layer(from_fn_with_state(waiting, guarded))
        // The links of mails are outside of the guard here too: a mailbox that is refused never asks again.
        .route(&format!("/{}/{{*path}}", sender::links::PATH), any(later))
}

async fn later() -> Response {
    let what = "this cannot be done right now; try again soon\n";
    let mut response = (StatusCode::SERVICE_UNAVAILABLE, what).into_response();
    guard::harden(response.headers_mut());
    response
}

async fn guarded(State(waiting): State<Arc<Waiting>>, request: Request, next: Next) -> Response {
    let mut response = match waiting.guard.admits(request.method(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(stopped) => stopped.into_response(),
    };
    guard::harden(response.headers_mut());
    response
}

impl Waiting {
    /// The same for everybody, so it names no place of this machine.
    fn why(&self) -> String {
        let free = match disk_free(&self.dir) {
            Ok(free) => format!("{} MiB are free", free >> 20),
            Err(_) => "nobody can say how much is free".to_owned(),
        };
        format!(
            "the disk is full: {free}, the house needs {} MiB; it goes on by itself when there is room",
            self.needs.div_ceil(1 << 20)
        )
    }
}

async fn full(State(waiting): State<Arc<Waiting>>, request: Request) -> Response {
    drain(request).await;
    let body = json!({"error": waiting.why()}).to_string();
    let headers =
        [(header::CONTENT_TYPE, "application/json"), (header::RETRY_AFTER, &RETRY_SECS.to_string())];
    (StatusCode::INSUFFICIENT_STORAGE, headers, body).into_response()
}

/// Reads a body to its end: an answer before that is followed by the end of the connection, and who is told
/// to come again shall find it there.
async fn drain(request: Request) {
    let (mut body, mut left) = (request.into_body().into_data_stream(), BODY_BYTES_MAX);
    let read = async {
        while let Some(Ok(piece)) = body.next().await
            && let Some(less) = left.checked_sub(piece.len())
        {
            left = less;
        }
    };
    // Who is too slow, or sends too much, is cut off.
    drop(timeout(BODY_TIME_MAX, read).await);
}

async fn not_ready(State(waiting): State<Arc<Waiting>>) -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, format!("{}\n", waiting.why())).into_response()
}

async fn shown(State(waiting): State<Arc<Waiting>>) -> Response {
    let env = Environment::new();
    let page = env.render_named_str("waiting.html", PAGE, context! { why => waiting.why() });
    match page.context("render waiting.html") {
        Ok(page) => (StatusCode::SERVICE_UNAVAILABLE, Html(page)).into_response(),
        Err(error) => super::Oops::from(error).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use axum::{body::Body, http::Method};
    use tower::ServiceExt as _;

    use super::*;
    use crate::testing::read;

    const HOST: &str = "127.0.0.1:7280";

    async fn ask(method: Method, host: &str, path: &str) -> (StatusCode, String, String) {
        let guard = Guard::new(HOST.parse().unwrap(), false, || Ok("secret".to_owned())).unwrap();
        let router = router(Waiting { guard, dir: "/".into(), needs: 9 << 20 });
        let request = Request::builder().method(method).uri(path).header("host", host);
        let answer = router.oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        let headers = format!("{:?}", answer.headers());
        let (status, text) = read(answer).await;
        (status, headers, text)
    }

    #[tokio::test]
    async fn everybody_is_told_that_there_is_no_room() {
        let check = async |method: Method, path: &str, status: u16, says: &str| {
            let (found, headers, text) = ask(method, HOST, path).await;
            assert_eq!((found.as_u16(), text.contains(says)), (status, true), "{path}: {text}");
            assert!(headers.contains("default-src 'none'"), "{path}: {headers}");
        };
        check(Method::POST, "/v1/changes", 507, "{\"error\":\"the disk is full: ").await;
        check(Method::POST, "/v1/feedback", 507, "the house needs 9 MiB").await;
        check(Method::GET, "/v1/people/ann/entries", 507, "the disk is full").await;
        check(Method::POST, "/admin/v1/changes", 507, "the disk is full").await;
        check(Method::GET, "/admin/stages", 507, "the disk is full").await;
        check(Method::GET, "/health/live", 200, "alive").await;
        check(Method::GET, "/health/ready", 503, "the disk is full").await;
        check(Method::GET, "/metrics", 503, "the disk is full").await;
        check(Method::GET, "/", 503, "goes on by itself").await;
        check(Method::POST, "/publish", 503, "goes on by itself").await;
        let (_, headers, _) = ask(Method::POST, HOST, "/v1/changes").await;
        assert!(headers.contains("retry-after") && headers.contains("application/json"), "{headers}");
        assert_eq!(ask(Method::GET, "evil.example", "/").await.0, StatusCode::FORBIDDEN);
        assert_eq!(ask(Method::POST, "mail.example", "/u/token").await.0, StatusCode::SERVICE_UNAVAILABLE);
    }
}
