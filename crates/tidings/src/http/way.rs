//! The way of the data: every stage with what lies there and how far its reader is.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Query, State},
    response::Response,
    routing::get,
};
use model::civil::Zone;
use serde::Serialize;
use serde_json::json;
use wire::topics;

use super::{App, Oops, Shared, look, page::Asked, windows};
use crate::{house::StageView, quarantine};

/// Windows that the page lists.
const WINDOWS_LISTED: usize = 8;

pub fn routes() -> Router<Arc<App>> {
    Router::new().route("/", get(way))
}

/// A thing that lies on the way, or somebody who works there.
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
        lags: Vec<(String, u64)>,
    },
}

#[derive(Debug, Serialize)]
struct Pile {
    name: String,
    is: &'static str,
    count: u64,
    /// Where to look closer.
    link: Option<&'static str>,
}

/// What lies in a topic, for people.
fn lies_in(topic: &str) -> &'static str {
    match topic {
        topics::CHANGES => "from topics; HTTP goes straight on",
        topics::EVENTS => "admitted",
        topics::SLICES => "parts of large audiences",
        topics::PENDING => "days with news",
        topics::INBOX => "about persons",
        topics::ERASURES => "who is to be forgotten",
        // An end of this topic counts what Kafka writes into it at the end of each turn.
        topics::READY => "due to be told (on Kafka also one mark a turn)",
        _ => "",
    }
}

/// What a room does, for people.
fn does(room: &str) -> &'static str {
    match room {
        "ingest" => "admits or refuses",
        "fanout" => "finds who cares",
        "slices" => "walks large audiences",
        "digest" => "holds and closes windows",
        "sender" => "checks, renders, sends",
        "erasures" => "forgets persons",
        _ => "reads what others say",
    }
}

async fn way(State(app): Shared, Query(asked): Query<Asked>) -> Result<Response, Oops> {
    let log = &*app.house.engines().topics;
    let stages = app.house.stages().await?;
    let remembered = windows::everybody(log).await?;
    let open = remembered.open(&app.tenant);
    let now = app.now();
    let listed = open.iter().take(WINDOWS_LISTED).map(|(person, window)| {
        json!({
            "person": person.as_str(),
            "plan": window.plan.as_str(),
            "due": look::instant(window.due, &Zone::UTC),
            "until": look::until(window.due.since(now)),
        })
    });
    let mails = app.outbox.len();
    let own = json!({
        "stops": stops(&stages),
        "mails": mails,
        "waiting": quarantine::count(log).await?,
        "open": open.len(),
        "persons": remembered.persons.len(),
        "is_cut": remembered.is_cut,
        "windows": listed.collect::<Vec<_>>(),
        "lag": stages.iter().map(|stage| stage.lag).sum::<u64>(),
    });
    app.page("way.html", &asked, own)
}

/// The stages in a row: the topics a room reads, and then the room.
fn stops(stages: &[StageView]) -> Vec<Stop> {
    let mut stops = Vec::new();
    for of_room in stages.chunk_by(|a, b| a.name == b.name) {
        let pile = |stage: &StageView| Pile {
            name: stage.topic.clone(),
            is: lies_in(&stage.topic),
            count: stage.end,
            link: None,
        };
        let name = of_room[0].name.clone();
        stops.push(Stop::Topics { piles: of_room.iter().map(pile).collect() });
        stops.push(Stop::Room {
            does: does(&name),
            name,
            lag: of_room.iter().map(|stage| stage.lag).sum(),
            lags: of_room.iter().map(|stage| (stage.topic.clone(), stage.lag)).collect(),
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
        let stages =
            [stage("digest", "pending", 2), stage("digest", "inbox", 3), stage("sender", "ready", 0)];
        let stops = stops(&stages);
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
