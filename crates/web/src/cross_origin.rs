//! Which scripts of other sites may read answers: those of the sites that a tenant lists beside its login, on the paths
//! that take the tokens of its persons, and nobody else's anywhere (CORS).
//!
//! A browser brings nothing along by itself here, no cookie and no password; a script shows its person's token, and a site
//! without one learns nothing. So the answers allow no credentials.

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};

use crate::{
    api_key::bearer_token,
    limits::PREFLIGHT_LIFE_SECS,
    person_access::PersonAccess,
    problem::{HttpProblem, ProblemType},
};

/// What scripts may send, and what they may read beside the body.
const SENT_HEADERS: HeaderValue =
    HeaderValue::from_static("authorization, content-type, if-none-match, last-event-id");
const READ_HEADERS: HeaderValue = HeaderValue::from_static("etag, retry-after");

/// The sites that may ask some paths, and by which methods: `GET, POST`.
#[derive(Clone, Debug)]
pub struct CrossOriginRule {
    pub persons: PersonAccess,
    pub methods: &'static str,
}

/// Around these paths: `.layer(from_fn_with_state(rule, answer_other_origins))`.
pub async fn answer_other_origins(
    State(rule): State<CrossOriginRule>,
    request: Request,
    next: Next,
) -> Response {
    if !rule.persons.has_origins() {
        return next.run(request).await;
    }
    let origin = rule.persons.find_listed_origin(request.headers());
    let mut response = match is_preflight(&request) {
        true => rule.answer_preflight(origin.is_some()),
        false => next.run(request).await,
    };
    let headers = response.headers_mut();
    // Also what nobody may read: a cache must not give it to whoever may.
    headers.append(header::VARY, HeaderValue::from_static("origin"));
    if let Some(origin) = origin {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, READ_HEADERS);
    }
    response
}

/// Whether a request is that of a script which may ask, and shows a token: browsers send one from elsewhere only after
/// they were told that this site may.
pub fn is_from_listed_site(headers: &HeaderMap, persons: &PersonAccess) -> bool {
    bearer_token(headers).is_some() && persons.find_listed_origin(headers).is_some()
}

/// Whether a browser asks what a script may do.
fn is_preflight(request: &Request) -> bool {
    let headers = request.headers();
    request.method() == Method::OPTIONS
        && headers.contains_key(header::ORIGIN)
        && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

impl CrossOriginRule {
    fn answer_preflight(&self, is_listed: bool) -> Response {
        if !is_listed {
            let why = "this site is not among the `origins` of `person_tokens`";
            return HttpProblem::from_text(ProblemType::ForeignOrigin, why).into_response();
        }
        let mut response = StatusCode::NO_CONTENT.into_response();
        let headers = response.headers_mut();
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(self.methods));
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, SENT_HEADERS);
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from(PREFLIGHT_LIFE_SECS));
        response
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use axum::{Router, body::Body, middleware::from_fn_with_state, routing::get};
    use model::Tenant;
    use tower::ServiceExt as _;

    use super::*;
    use crate::person_access::PersonIssuer;

    const SITE: &str = "https://shop.example";

    async fn ask(method: Method, origins: &[&str], lines: &[(&'static str, &str)]) -> Response {
        let origins = origins.iter().map(|origin| (*origin).to_owned()).collect();
        let issuer = PersonIssuer::new(Tenant::new("t").unwrap(), String::new(), String::new(), origins);
        let rule = CrossOriginRule { persons: PersonAccess::new(vec![Arc::new(issuer)]), methods: "GET" };
        let router = Router::new()
            .route("/", get(|| async { ([(header::VARY, "authorization")], "read") }))
            .layer(from_fn_with_state(rule, answer_other_origins));
        let mut request = axum::http::Request::builder().method(method).uri("/");
        for (name, value) in lines {
            request = request.header(*name, *value);
        }
        router.oneshot(request.body(Body::empty()).unwrap()).await.unwrap()
    }

    #[tokio::test]
    async fn scripts_of_listed_sites_read_answers_and_no_others() {
        let check = async |origins: &[&str], lines: &[(&'static str, &str)], allowed: Option<&str>| {
            let answer = ask(Method::GET, origins, lines).await;
            let line = |name| answer.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
            assert_eq!(answer.status(), StatusCode::OK);
            assert_eq!(
                line(header::ACCESS_CONTROL_ALLOW_ORIGIN).as_deref(),
                allowed,
                "{origins:?} {lines:?}"
            );
            assert_eq!(line(header::ACCESS_CONTROL_EXPOSE_HEADERS).is_some(), allowed.is_some());
            assert_eq!(line(header::ACCESS_CONTROL_ALLOW_CREDENTIALS), None);
            let varies = answer.headers().get_all(header::VARY).iter().any(|value| value == "origin");
            assert_eq!(varies, !origins.is_empty(), "{lines:?}");
        };
        check(&[SITE], &[("origin", SITE)], Some(SITE)).await;
        check(&["https://other.example", SITE], &[("origin", SITE)], Some(SITE)).await;
        check(&[SITE], &[], None).await;
        check(&[], &[("origin", SITE)], None).await;
        for wrong in [
            "https://shop.example:8443",
            "https://shop.example/",
            "https://shop.example.evil.example",
            "http://shop.example",
            "HTTPS://shop.example",
            "null",
            "*",
            "",
        ] {
            check(&[SITE], &[("origin", wrong)], None).await;
        }
        check(&[SITE], &[("origin", SITE), ("origin", "https://evil.example")], None).await;
    }

    #[tokio::test]
    async fn a_browser_that_asks_first_is_told() {
        let check = async |origins: &[&str], lines: &[(&'static str, &str)], status: u16| {
            let answer = ask(Method::OPTIONS, origins, lines).await;
            assert_eq!(answer.status().as_u16(), status, "{origins:?} {lines:?}");
            let allowed = answer.headers().get(header::ACCESS_CONTROL_ALLOW_METHODS);
            assert_eq!(allowed.map(|value| value.to_str().unwrap()), (status == 204).then_some("GET"));
        };
        let (asks, site) = (("access-control-request-method", "GET"), ("origin", SITE));
        check(&[SITE], &[site, asks, ("access-control-request-headers", "authorization")], 204).await;
        check(&[SITE], &[("origin", "https://evil.example"), asks], 403).await;
        check(&[SITE], &[asks], 405).await;
        check(&[SITE], &[site], 405).await;
        check(&[], &[site, asks], 405).await;
    }
}
