//! Replays, as the command line orders them.

use std::borrow::Cow;

use axum::{Json, extract::State};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::{Value, json};
use upkeep::replay::{self, BEHIND_MAX, ReplayError, ReplayOrder};
use web::{HttpProblem, JsonBody};

use super::AppState;

/// What an order came to: a plan, a replay, a step of one, or all replays, as `upkeep::replay` has them.
#[derive(Serialize)]
pub struct AdminReplayReport(Value);

impl JsonSchema for AdminReplayReport {
    fn schema_name() -> Cow<'static, str> {
        "AdminReplayReport".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let replay = json!({"type": "object", "required": ["id", "by", "topic", "state", "parts"]});
        json_schema!({"description": "what the order came to", "anyOf": [
            {"type": "object", "required": ["topic", "parts", "records"], "description": "what would be replayed"},
            replay,
            {"type": "object", "required": ["replay", "waits"], "properties": {"replay": replay},
                "description": "what a part came to"},
            {"type": "array", "items": replay},
        ]})
    }
}

pub async fn order_replay(
    State(app): AppState,
    JsonBody(order): JsonBody<ReplayOrder>,
) -> Result<Json<AdminReplayReport>, HttpProblem> {
    let log = &*app.house.engines().topics;
    let pace = (&*app.house.intake().room.catalogue, BEHIND_MAX);
    match replay::answer_order(&app.replays, log, order, app.now(), Some(pace)).await {
        Ok(said) => Ok(Json(AdminReplayReport(said))),
        Err(ReplayError::Refused(why)) => Err(HttpProblem::conflict(why)),
        Err(ReplayError::Failed(error)) => Err(error.into()),
    }
}
