//! The pipeline: every stage with what lies there and how far its reader is, and the last hours as pictures.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Query, State},
    response::Response,
    routing::get,
};
use serde::Serialize;
use serde_json::json;
use wire::topics;

use super::{App, Oops, Shared, chart, page::Asked};
use crate::house::StageView;

pub fn routes() -> Router<Arc<App>> {
    Router::new().route("/pipeline", get(pipeline))
}

/// Topics, or the room that reads them.
#[derive(Debug, Serialize)]
#[serde(tag = "sort", rename_all = "lowercase")]
enum Stop {
    /// Topics side by side, each with its count.
    Topics {
        piles: Vec<Pile>,
    },
    Room {
        name: String,
        does: &'static str,
        lag: u64,
    },
}

#[derive(Debug, Serialize)]
struct Pile {
    name: String,
    is: &'static str,
    count: u64,
}

/// What lies in a topic, for people.
fn lies_in(topic: &str) -> &'static str {
    match topic {
        topics::CHANGES => "from your services",
        topics::EVENTS => "accepted events",
        topics::SLICES => "parts of large audiences",
        topics::PENDING => "notices about people",
        topics::INBOX => "visits, reads, deliveries",
        topics::ERASURES => "requests to erase",
        topics::READY => "messages due",
        _ => "",
    }
}

/// What a room does, for people.
fn does(room: &str) -> &'static str {
    match room {
        "ingest" => "accepts or refuses",
        "fanout" => "finds who cares",
        "slices" => "walks large audiences",
        "digest" => "holds and closes windows",
        "sender" => "checks, renders, sends",
        "erasures" => "erases people",
        _ => "reads a source",
    }
}

async fn pipeline(State(app): Shared, Query(asked): Query<Asked>) -> Result<Response, Oops> {
    let stages = app.house.stages().await?;
    let own = json!({
        "stops": stops(stages.iter().filter(|stage| stage.topic != topics::ERASURES)),
        // Nothing of the others flows into this one.
        "beside": stops(stages.iter().filter(|stage| stage.topic == topics::ERASURES)),
        "mails": app.outbox.len(),
        "lag": stages.iter().map(|stage| stage.lag).sum::<u64>(),
        "charts": chart::charts(&app.house.history().list()),
    });
    app.page("pipeline.html", &asked, own)
}

/// The stages in a row: the topics a room reads, and then the room.
fn stops<'a>(stages: impl Iterator<Item = &'a StageView>) -> Vec<Stop> {
    let (stages, mut stops): (Vec<_>, _) = (stages.collect(), Vec::new());
    for of_room in stages.chunk_by(|a, b| a.name == b.name) {
        let pile = |stage: &&StageView| Pile {
            name: stage.topic.clone(),
            is: lies_in(&stage.topic),
            count: stage.end,
        };
        let name = of_room[0].name.clone();
        stops.push(Stop::Topics { piles: of_room.iter().map(pile).collect() });
        stops.push(Stop::Room { does: does(&name), name, lag: of_room.iter().map(|stage| stage.lag).sum() });
    }
    stops
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_stands_behind_what_it_reads() {
        let stage = |name: &str, topic: &str, lag| StageView {
            name: name.to_owned(),
            topic: topic.to_owned(),
            group: name.to_owned(),
            committed: 1,
            end: 1 + lag,
            lag,
        };
        let stages =
            [stage("digest", "pending", 2), stage("digest", "inbox", 3), stage("sender", "ready", 0)];
        let stops = stops(stages.iter());
        let shown: Vec<String> = stops
            .iter()
            .map(|stop| match stop {
                Stop::Topics { piles } => {
                    piles.iter().map(|pile| pile.name.as_str()).collect::<Vec<_>>().join("+")
                }
                Stop::Room { name, lag, .. } => format!("{name}:{lag}"),
            })
            .collect();
        assert_eq!(shown, ["pending+inbox", "digest:5", "ready", "sender:0"]);
    }
}
