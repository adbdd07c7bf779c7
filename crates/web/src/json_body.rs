//! A body of JSON, and what is wrong with one in the house's own words.

use axum::{
    Json,
    extract::{FromRequest, Request, rejection::JsonRejection},
    http::StatusCode,
};
use serde::de::DeserializeOwned;

use crate::{
    error_layer::leave_out_framework,
    problem::{HttpProblem, ProblemType},
};

/// A body that is a `T`.
#[derive(Debug)]
pub struct JsonBody<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = HttpProblem;

    async fn from_request(request: Request, state: &S) -> Result<Self, HttpProblem> {
        let body = Json::from_request(request, state).await;
        body.map(|Json(body)| Self(body)).map_err(|rejection| describe_rejection(&rejection))
    }
}

fn describe_rejection(rejection: &JsonRejection) -> HttpProblem {
    let kind = match rejection.status() {
        // No JSON, or cut off.
        StatusCode::BAD_REQUEST => ProblemType::UnreadableBody,
        status => ProblemType::from_status(status),
    };
    HttpProblem::new(kind, leave_out_framework(&rejection.body_text()))
}
