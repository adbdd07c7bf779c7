//! `GET /problems/house-behind`: what a type of problem means, at the house that said it.

use axum::{Json, Router, extract::Path, routing::get};
use serde::Serialize;

use crate::problem::{HttpProblem, ProblemType, TYPE_PREFIX};

/// A type of problem.
#[derive(Debug, Serialize)]
pub struct ProblemTypeView {
    r#type: String,
    title: &'static str,
    status: u16,
    /// When it is said.
    when: &'static str,
    /// Whether the same may be sent again.
    again: &'static str,
}

/// The path, the same for everybody.
pub fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new().route(&format!("{TYPE_PREFIX}{{name}}"), get(show_type))
}

async fn show_type(Path(name): Path<String>) -> Result<Json<ProblemTypeView>, HttpProblem> {
    let kind = ProblemType::from_name(&name);
    let kind = kind.ok_or_else(|| HttpProblem::not_found("there is no such type of problem"))?;
    Ok(Json(ProblemTypeView {
        r#type: kind.reference(),
        title: kind.title(),
        status: kind.status().as_u16(),
        when: kind.occasion(),
        again: kind.again(),
    }))
}
