//! The link of a push by which its reader says that they read it: whoever taps a notification has no login, and the right in
//! the link says for whom and of what. Looking changes nothing; a POST marks, from wherever it comes, and says nothing of
//! the person.

use std::sync::Arc;

use axum::{
    Router,
    extract::{DefaultBodyLimit, Path, State},
    http::StatusCode,
    middleware::from_fn_with_state,
    routing::post,
};
use store::StoreError;
use web::HttpProblem;
use wire::mark_right;

use super::{
    AppState, HttpApp,
    unsubscribe::{UNKNOWN, harden_link},
};

/// Nothing has to be said in a body: what a browser adds is not read.
const BODY_BYTES_MAX: usize = 1024;

/// The path. It stands outside of the guard: who may ask is said by the right alone.
pub fn routes(app: &Arc<HttpApp>) -> Router<Arc<HttpApp>> {
    Router::new()
        .route(&format!("/{}/{{right}}", sender::links::READ), post(mark_read))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(from_fn_with_state(app.clone(), harden_link))
}

async fn mark_read(State(app): AppState, Path(right): Path<String>) -> Result<StatusCode, HttpProblem> {
    let right = mark_right::read_mark(&right, app.unsubscribe.secret()).ok_or(UNKNOWN)?;
    let _permit = app.unsubscribe.mark_permit()?;
    feed::mark_told(app.house.feed(), &right, app.now()).await.map_err(|error| {
        match error.downcast_ref() {
            Some(StoreError::Busy(_) | StoreError::Full(_)) => super::unsubscribe::BUSY,
            _ => HttpProblem::internal(&error),
        }
    })?;
    Ok(StatusCode::NO_CONTENT)
}
