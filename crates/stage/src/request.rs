//! What a line says, as the request that an upstream service would make: CloudEvents in structured mode,
//! so that no field of a product can run into an attribute.

use model::{Millis, Person, SubjectRef};
use serde_json::{Map, Value, json};

use crate::scenario::{About, Did, Event, Muted};

/// The paths of the intake.
pub(crate) const CHANGES: &str = "/v1/changes";
const FACTS: &str = "/v1/facts";
const FEEDBACK: &str = "/v1/feedback";

/// A path and a body.
pub(crate) struct Request {
    pub path: &'static str,
    pub body: String,
}

pub(crate) fn event(event: &Event) -> String {
    let mut cloud = cloud(&event.id, &event.source, &event.what, event.at);
    if event.subjects.is_empty() {
        cloud.insert("subject".to_owned(), event.subject.as_str().into());
    } else {
        let all = std::iter::once(&event.subject).chain(&event.subjects);
        cloud.insert("subjects".to_owned(), all.map(|subject| Value::from(subject.as_str())).collect());
    }
    if !event.persons.is_empty() {
        cloud.insert("persons".to_owned(), event.persons.iter().map(listed).collect());
    }
    if let Some(actor) = &event.actor {
        cloud.insert("actor".to_owned(), actor.as_str().into());
    }
    if let Some(version) = event.version {
        cloud.insert("version".to_owned(), version.into());
    }
    cloud.insert("data".to_owned(), Value::Object(event.fields.clone()));
    Value::Object(cloud).to_string()
}

fn listed((person, score): &(Person, Option<f64>)) -> Value {
    match score {
        None => person.as_str().into(),
        Some(score) => json!({"person": person.as_str(), "score": score}),
    }
}

pub(crate) fn profile(line: usize, at: Millis, person: &Person, fields: &Map<String, Value>) -> Request {
    let mut data = fields.clone();
    data.insert("person".to_owned(), person.as_str().into());
    ours(FACTS, "profile", line, at, Value::Object(data))
}

pub(crate) fn follow(line: usize, at: Millis, person: &Person, target: &SubjectRef, on: bool) -> Request {
    let data = json!({"person": person.as_str(), "target": target.as_str()});
    ours(FACTS, if on { "follow" } else { "unfollow" }, line, at, data)
}

pub(crate) fn mute(line: usize, at: Millis, person: &Person, muted: &Muted, on: bool) -> Request {
    let (sort, name) = muted.parts();
    let data = json!({"person": person.as_str(), sort: name});
    ours(FACTS, if on { "mute" } else { "unmute" }, line, at, data)
}

pub(crate) fn feedback(line: usize, at: Millis, person: &Person, about: &About, did: Did) -> Request {
    let person = person.as_str();
    let data = match about {
        About::Subject(subject) => json!({"person": person, "subject": subject.as_str()}),
        About::Kind(kind) => json!({"person": person, "kind": kind.as_str()}),
        About::All => json!({"person": person, "all": true}),
    };
    let what = match did {
        Did::Read => "read",
        Did::Clear => "cleared",
    };
    ours(FEEDBACK, what, line, at, data)
}

/// A device's token is made up of its names: a scenario sends nothing into the world.
pub(crate) fn device(line: usize, at: Millis, person: &Person, device: &str, platform: &str) -> Request {
    let data = match platform {
        "none" => json!({"person": person.as_str(), "device": device, "token": null}),
        platform => {
            let token = format!("token-of-{device}");
            json!({"person": person.as_str(), "device": device, "platform": platform, "token": token})
        }
    };
    ours(FACTS, "device", line, at, data)
}

pub(crate) fn seen(line: usize, at: Millis, person: &Person, surface: &str) -> Request {
    ours(FACTS, "seen", line, at, json!({"person": person.as_str(), "surface": surface}))
}

pub(crate) fn erase(line: usize, at: Millis, person: &Person, welcomes: bool) -> Request {
    ours(FACTS, if welcomes { "welcome" } else { "erase" }, line, at, json!({"person": person.as_str()}))
}

fn ours(path: &'static str, what: &str, line: usize, at: Millis, data: Value) -> Request {
    let mut cloud = cloud(&format!("line-{line}"), "scenario", &format!("tidings.{what}"), at);
    cloud.insert("data".to_owned(), data);
    Request { path, body: Value::Object(cloud).to_string() }
}

fn cloud(id: &str, source: &str, what: &str, at: Millis) -> Map<String, Value> {
    let mut cloud = Map::new();
    for (name, text) in
        [("specversion", "1.0"), ("id", id), ("source", source), ("type", what), ("time", &at.to_string())]
    {
        cloud.insert(name.to_owned(), text.into());
    }
    cloud
}
