//! `revoke`: what a service takes back.

use model::UtcMillis;
use serde_json::json;

use crate::{
    args::LineArgs,
    request::{CHANGES, StageRequest, own_request},
    scenario::ScenarioRevocation,
    token::LineError,
};

/// `work:1`, or `event ID`, or `event ID about work:1`.
pub(crate) fn read_revocation(args: &mut LineArgs) -> Result<ScenarioRevocation, LineError> {
    if args.peek() != Some("event") {
        return args.subject().map(ScenarioRevocation::Subject);
    }
    args.text("event")?;
    let id = args.text("the id of an event")?;
    if args.check_end().is_ok() {
        return Ok(ScenarioRevocation::Event { id, about: None });
    }
    args.one_of("`about`", &["about"])?;
    Ok(ScenarioRevocation::Event { id, about: Some(args.subject()?) })
}

pub(crate) fn revoke_request(line: usize, at: UtcMillis, revoked: &ScenarioRevocation) -> StageRequest {
    let data = match revoked {
        ScenarioRevocation::Subject(subject) => json!({"subject": subject.as_str()}),
        ScenarioRevocation::Event { id, about } => {
            let mut data = json!({"event": {"source": "scenario", "id": id}});
            if let Some(subject) = about {
                data["subject"] = json!(subject.as_str());
            }
            data
        }
    };
    own_request(CHANGES, "revoke", line, at, data)
}
