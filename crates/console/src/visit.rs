//! The links of mails that are counted, for plans that want it. Following one leads on and looking at a picture shows
//! one; neither says anything of a person, or changes anything: what programs do for their users is told apart and
//! counted apart, and nobody's entries are seen by it.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Path, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    middleware::from_fn_with_state,
    response::{IntoResponse, Response},
    routing::get,
};
use runtime::metrics::{Counters, Metrics};
use web::{HttpProblem, visitor::VisitorClass};
use wire::{
    token::LinkSecret,
    visit::{self, LinkVisit, LinkVisitAction},
};

use super::{AppState, HttpApp, metrics::declare_visits, unsubscribe::UNKNOWN, unsubscribe::harden_link};

/// A visit this soon after the mail was due comes from a program: nobody could have read the mail.
const READS_MS: i64 = 10_000;
/// A picture of one point that cannot be seen.
const POINT: &[u8] =
    b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\x00\x00\x00\x21\xf9\x04\x01\x00\x00\x00\x00\
                       \x2c\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;";

/// What the paths work with.
#[derive(Debug)]
pub struct VisitCounter {
    secret: LinkSecret,
    counted: Counters,
}

impl VisitCounter {
    pub fn new(secret: LinkSecret, metrics: &Metrics) -> anyhow::Result<Self> {
        Ok(Self { secret, counted: declare_visits(metrics)? })
    }
}

/// The paths. They stand outside of the guard: where they lead is signed.
pub fn routes(app: &Arc<HttpApp>) -> Router<Arc<HttpApp>> {
    Router::new()
        .route(&format!("/{}/{{visit}}", sender::links::FOLLOWED), get(follow))
        .route(&format!("/{}/{{visit}}", sender::links::OPENED), get(open_picture))
        .layer(from_fn_with_state(app.clone(), harden_link))
}

async fn follow(
    State(app): AppState,
    Path(visit): Path<String>,
    method: Method,
    headers: HeaderMap,
) -> Result<Response, HttpProblem> {
    let visit = visit::read_visit(&visit, &app.visits.secret).ok_or(UNKNOWN)?;
    let LinkVisitAction::Followed(address) = &visit.what else { return Err(UNKNOWN) };
    let address = HeaderValue::from_str(address).map_err(|_| UNKNOWN)?;
    app.count_visit(&visit, &method, &headers);
    Ok((StatusCode::FOUND, [(header::LOCATION, address), (header::CACHE_CONTROL, UNKEPT)]).into_response())
}

async fn open_picture(
    State(app): AppState,
    Path(visit): Path<String>,
    method: Method,
    headers: HeaderMap,
) -> Result<Response, HttpProblem> {
    let visit = visit::read_visit(&visit, &app.visits.secret).ok_or(UNKNOWN)?;
    if visit.what != LinkVisitAction::Opened {
        return Err(UNKNOWN);
    }
    app.count_visit(&visit, &method, &headers);
    let kind = HeaderValue::from_static("image/gif");
    Ok(([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, UNKEPT)], POINT).into_response())
}

const UNKEPT: HeaderValue = HeaderValue::from_static("no-store");

impl HttpApp {
    fn count_visit(&self, visit: &LinkVisit, method: &Method, headers: &HeaderMap) {
        // A plan that is gone is counted no more, and so nobody makes up names.
        if !self.catalogue.arms().any(|(_, of)| of.mails.contains_key(&visit.plan)) {
            return;
        }
        let (what, is_soon) = match visit.what {
            LinkVisitAction::Opened => ("opened", false),
            LinkVisitAction::Followed(_) => ("followed", self.now().0 < visit.due.0.saturating_add(READS_MS)),
        };
        let who = if is_soon { VisitorClass::Robot } else { VisitorClass::of_request(method, headers) };
        self.visits.counted.with_label_values(&[visit.plan.as_str(), what, who.name()]).inc();
    }
}
