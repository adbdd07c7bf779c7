//! `GET /problems/house-behind`: what a type of problem means, at the house that said it.

use aide::axum::{ApiRouter, routing::get_with};
use axum::{Json, extract::Path};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    description::{OperationAccess, OperationDoc, describe_operation},
    problem::{HttpProblem, ProblemType, TYPE_PREFIX},
};

/// A type of problem.
#[derive(Debug, JsonSchema, Serialize)]
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
pub fn routes<S: Clone + Send + Sync + 'static>() -> ApiRouter<S> {
    let doc = OperationDoc {
        id: "getProblemType",
        summary: "What a type of problem means",
        access: OperationAccess::Open,
        problems: &[ProblemType::NotFound],
    };
    let show = get_with(show_type, describe_operation(doc));
    ApiRouter::new().api_route(&format!("{TYPE_PREFIX}{{name}}"), show)
}

/// The last part of a type.
#[derive(Debug, Deserialize, JsonSchema)]
struct ProblemTypePath {
    name: String,
}

async fn show_type(
    Path(ProblemTypePath { name }): Path<ProblemTypePath>,
) -> Result<Json<ProblemTypeView>, HttpProblem> {
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
