//! Answers whose type says their status.

use axum::{
    Json,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde::Serialize;

/// 202: it has begun, or will be done.
#[derive(Debug)]
pub struct AcceptedJson<T>(pub T);

impl<T: Serialize> IntoResponse for AcceptedJson<T> {
    fn into_response(self) -> Response {
        (StatusCode::ACCEPTED, Json(self.0)).into_response()
    }
}
