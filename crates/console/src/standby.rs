//! What answers while there is no house: that it waits, what for, and what happens next.

use std::{path::PathBuf, sync::Arc};

use anyhow::Context as _;
use axum::{
    Router,
    extract::{Request, State},
    http::StatusCode,
    middleware::{Next, from_fn, from_fn_with_state},
    response::{Html, IntoResponse, Response},
    routing::{any, get},
};
use minijinja::{Environment, context};
use shell::datadir::disk_free;
use web::{
    HttpProblem, ProblemType, RequestGuard, body::drain_body, error_layer::describe_errors, guard,
    problem_lookup,
};
use wire::cloud_event::BODY_BYTES_MAX;

use super::{health, page};

const PAGE: &str = include_str!("../page/waiting.html");
/// When it is worth while to ask again.
const RETRY_SECS: u32 = 30;
const RELOAD_RETRY_SECS: u32 = 2;

/// A house that waits.
pub struct StandbyHouse {
    pub guard: RequestGuard,
    pub why: StandbyReason,
}

/// What it waits for.
pub enum StandbyReason {
    /// For room on the disk of this directory, so many bytes.
    Full { dir: PathBuf, needs: u64 },
    /// For engines that are being opened, or are elsewhere and do not answer.
    Away,
    /// For its rooms, which begin again with another catalogue.
    Reload,
}

/// All paths, without a house.
pub fn router(waiting: StandbyHouse) -> Router {
    let waiting = Arc::new(waiting);
    Router::new()
        .route("/v1/{*path}", any(refuse_intake))
        .route("/admin/{*path}", any(refuse_intake))
        .route("/health/live", get(health::live))
        .route("/health/ready", get(answer_not_ready))
        .route("/metrics", get(answer_not_ready))
        .route("/style.css", get(page::style))
        .merge(Router::from(problem_lookup::routes()))
        .fallback(show_page)
        .with_state(waiting.clone())
        .layer(from_fn(describe_errors))
        .layer(from_fn_with_state(waiting, guard_request))
        // The links of mails are outside of the guard here too: a mailbox that is refused never asks again.
        .route(&format!("/{}/{{*path}}", sender::links::PATH), any(answer_later))
}

async fn answer_later() -> Response {
    let mut response =
        HttpProblem::from_text(ProblemType::Busy, "this cannot be done right now; try again in a moment")
            .into_response();
    guard::harden_headers(response.headers_mut());
    response
}

async fn guard_request(State(waiting): State<Arc<StandbyHouse>>, request: Request, next: Next) -> Response {
    let mut response = match waiting.guard.admits(request.method(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(stopped) => stopped.into_response(),
    };
    guard::harden_headers(response.headers_mut());
    response
}

impl StandbyHouse {
    /// The same for everybody, so it names no place of this machine.
    fn describe_wait(&self) -> String {
        let (dir, needs) = match &self.why {
            StandbyReason::Full { dir, needs } => (dir, needs),
            StandbyReason::Away => {
                return "the house waits for its engines; it goes on by itself when they answer".to_owned();
            }
            StandbyReason::Reload => {
                return "the house is reloading; it goes on by itself in a moment".to_owned();
            }
        };
        let free = match disk_free(dir) {
            Ok(free) if free >= *needs => {
                return "the engines have no room: a quota, or too many files are open; it goes on by itself when there is room".to_owned();
            }
            Ok(free) => format!("{} MiB are free", free >> 20),
            Err(_) => "free space is unknown".to_owned(),
        };
        format!(
            "the disk is full: {free}, the house needs {} MiB; it goes on by itself when there is room",
            needs.div_ceil(1 << 20)
        )
    }

    fn problem_type(&self) -> ProblemType {
        match self.why {
            StandbyReason::Full { .. } => ProblemType::DiskFull,
            StandbyReason::Away | StandbyReason::Reload => ProblemType::NotReady,
        }
    }

    /// When it is worth while to ask again, in seconds.
    fn retry_after(&self) -> u32 {
        if matches!(self.why, StandbyReason::Reload) { RELOAD_RETRY_SECS } else { RETRY_SECS }
    }

    /// For the page: a title, and what can be done.
    fn advice(&self) -> (&'static str, &'static str) {
        match self.why {
            StandbyReason::Full { .. } => (
                "No room on the disk",
                "The house has stopped in good order. Everything that it acknowledged is safe. Requests \
                are refused with 507 meanwhile, and can be sent again later. Make room on the disk of the \
                data \
                 directory; nothing needs to be restarted.",
            ),
            StandbyReason::Away => (
                "Waiting for the engines",
                "Everything that was acknowledged is safe. Requests are refused with 503 meanwhile, and \
                can be sent again later. The log of this process says which engine does not answer; \
                nothing \
                 needs to be restarted.",
            ),
            StandbyReason::Reload => (
                "Reloading",
                "Everything that was acknowledged is safe. Requests are refused with 503 for a moment, and can be \
                 sent again.",
            ),
        }
    }
}

async fn refuse_intake(State(waiting): State<Arc<StandbyHouse>>, request: Request) -> HttpProblem {
    drain_body(request, BODY_BYTES_MAX).await;
    HttpProblem::new(waiting.problem_type(), waiting.describe_wait()).with_retry(waiting.retry_after())
}

async fn answer_not_ready(State(waiting): State<Arc<StandbyHouse>>) -> HttpProblem {
    HttpProblem::new(ProblemType::NotReady, waiting.describe_wait())
}

async fn show_page(State(waiting): State<Arc<StandbyHouse>>) -> Response {
    let env = Environment::new();
    let (title, advice) = waiting.advice();
    let page = env.render_named_str(
        "waiting.html",
        PAGE,
        context! { why => waiting.describe_wait(), title, advice },
    );
    match page.context("render waiting.html") {
        Ok(page) => (StatusCode::SERVICE_UNAVAILABLE, Html(page)).into_response(),
        Err(error) => HttpProblem::from(error).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use axum::{body::Body, http::Method};
    use tower::ServiceExt as _;

    use super::*;
    use house::testing::read_response;

    const HOST: &str = "127.0.0.1:7280";

    async fn ask(why: StandbyReason, method: Method, host: &str, path: &str) -> (StatusCode, String, String) {
        let guard = RequestGuard::new(HOST.parse().unwrap(), false, || Ok("secret".to_owned())).unwrap();
        let router = router(StandbyHouse { guard, why });
        let request = Request::builder().method(method).uri(path).header("host", host);
        let answer = router.oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        let headers = format!("{:?}", answer.headers());
        let (status, text) = read_response(answer).await;
        (status, headers, text)
    }

    fn full_disk() -> StandbyReason {
        StandbyReason::Full { dir: "/".into(), needs: u64::MAX }
    }

    #[tokio::test]
    async fn everybody_is_told_that_an_engine_is_away() {
        for (path, status) in
            [("/v1/changes", 503), ("/", 503), ("/health/ready", 503), ("/health/live", 200)]
        {
            let (found, _, text) = ask(StandbyReason::Away, Method::GET, HOST, path).await;
            assert_eq!(found.as_u16(), status, "{path}: {text}");
            assert!(status == 200 || text.contains("waits for its engines"), "{path}: {text}");
        }
    }

    #[tokio::test]
    async fn everybody_is_told_that_there_is_no_room() {
        let check = async |method: Method, path: &str, status: u16, says: &str| {
            let (found, headers, text) = ask(full_disk(), method, HOST, path).await;
            assert_eq!((found.as_u16(), text.contains(says)), (status, true), "{path}: {text}");
            assert!(headers.contains("default-src 'none'"), "{path}: {headers}");
        };
        check(Method::POST, "/v1/changes", 507, "\"detail\":\"the disk is full: ").await;
        check(Method::POST, "/v1/feedback", 507, "the house needs 17592186044416 MiB").await;
        check(Method::GET, "/v1/people/ann/entries", 507, "the disk is full").await;
        check(Method::POST, "/admin/v1/changes", 507, "the disk is full").await;
        check(Method::GET, "/admin/stages", 507, "the disk is full").await;
        check(Method::GET, "/health/live", 200, "alive").await;
        check(Method::GET, "/health/ready", 503, "the disk is full").await;
        check(Method::GET, "/metrics", 503, "the disk is full").await;
        check(Method::GET, "/", 503, "goes on by itself").await;
        check(Method::POST, "/publish", 503, "goes on by itself").await;
        let (_, headers, _) = ask(full_disk(), Method::POST, HOST, "/v1/changes").await;
        assert!(headers.contains("retry-after") && headers.contains("application/problem+json"), "{headers}");
        assert_eq!(ask(full_disk(), Method::GET, "evil.example", "/").await.0, StatusCode::FORBIDDEN);
        assert_eq!(
            ask(full_disk(), Method::POST, "mail.example", "/u/token").await.0,
            StatusCode::SERVICE_UNAVAILABLE
        );
    }
}
