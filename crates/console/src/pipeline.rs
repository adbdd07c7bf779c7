//! The pipeline: every stage with what lies there and how far its reader is, and the last hours as pictures.

use std::sync::Arc;

use axum::{Router, extract::State, response::Response, routing::get};
use house::StageView;
use serde::Serialize;
use serde_json::json;
use web::HttpProblem;
use wire::topics;

use super::{AppState, HttpApp, chart, page::PageQuery};

pub fn routes() -> Router<Arc<HttpApp>> {
    Router::new().route("/pipeline", get(pipeline))
}

/// Topics, or the room that reads them.
#[derive(Debug, Serialize)]
#[serde(tag = "sort", rename_all = "lowercase")]
enum PipelineStop {
    /// Topics side by side, each with its count.
    Topics {
        piles: Vec<TopicPile>,
    },
    Room {
        name: String,
        does: &'static str,
        lag: u64,
    },
}

#[derive(Debug, Serialize)]
struct TopicPile {
    name: String,
    is: &'static str,
    count: u64,
}

/// What lies in a topic, for people.
fn describe_topic(topic: &str) -> &'static str {
    match topic {
        topics::CHANGES => "from your services",
        topics::EVENTS => "accepted events",
        topics::SLICES => "parts of large audiences",
        topics::PENDING => "notices about people",
        topics::INBOX => "visits, reads, deliveries",
        topics::ERASURES => "requests to erase",
        topics::READY_URGENT => "urgent messages due",
        topics::READY => "messages due",
        _ => "",
    }
}

/// What a room does, for people.
fn describe_room(room: &str) -> &'static str {
    match room {
        "ingest" => "accepts or refuses",
        "fanout" => "finds the audience",
        "slices" => "walks large audiences",
        "digest" => "holds and closes windows",
        "sender" => "checks, renders, sends",
        "erasures" => "erases people",
        _ => "reads a source",
    }
}

async fn pipeline(State(app): AppState, asked: PageQuery) -> Result<Response, HttpProblem> {
    let stages = app.house.stages().await?;
    let own = json!({
        "stops": list_stops(stages.iter().filter(|stage| stage.topic != topics::ERASURES)),
        // Nothing of the others flows into this one.
        "beside": list_stops(stages.iter().filter(|stage| stage.topic == topics::ERASURES)),
        "mails": app.count_messages(),
        "lag": stages.iter().map(|stage| stage.lag).sum::<u64>(),
        "charts": chart::charts(&app.house.history().list()),
    });
    app.render_page("pipeline.html", &asked, own)
}

/// The stages in a row: the topics a room reads, and then the room.
fn list_stops<'a>(stages: impl Iterator<Item = &'a StageView>) -> Vec<PipelineStop> {
    let (stages, mut stops): (Vec<_>, _) = (stages.collect(), Vec::new());
    for of_room in stages.chunk_by(|a, b| a.name == b.name) {
        let pile = |stage: &&StageView| TopicPile {
            name: stage.topic.clone(),
            is: describe_topic(&stage.topic),
            count: stage.end,
        };
        let name = of_room[0].name.clone();
        stops.push(PipelineStop::Topics { piles: of_room.iter().map(pile).collect() });
        stops.push(PipelineStop::Room {
            does: describe_room(&name),
            name,
            lag: of_room.iter().map(|stage| stage.lag).sum(),
        });
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
        let stages = [
            stage("digest", "pending", 2),
            stage("digest", "inbox", 3),
            stage("sender", "ready-urgent", 0),
            stage("sender", "ready", 1),
        ];
        let stops = list_stops(stages.iter());
        let shown: Vec<String> = stops
            .iter()
            .map(|stop| match stop {
                PipelineStop::Topics { piles } => {
                    piles.iter().map(|pile| pile.name.as_str()).collect::<Vec<_>>().join("+")
                }
                PipelineStop::Room { name, lag, .. } => format!("{name}:{lag}"),
            })
            .collect();
        assert_eq!(shown, ["pending+inbox", "digest:5", "ready-urgent+ready", "sender:1"]);
    }
}
