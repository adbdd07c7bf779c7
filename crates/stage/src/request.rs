//! What a line says, as the request that an upstream service would make: CloudEvents in structured mode,
//! so that no field of a product can run into an attribute.

use model::{Person, SubjectRef, UtcMillis};
use serde_json::{Map, Value, json};

use crate::scenario::{FeedbackVerb, ScenarioEvent, ScenarioFeedbackTarget, ScenarioMute};

/// The paths of the intake.
pub(crate) const CHANGES: &str = "/v1/changes";
const FACTS: &str = "/v1/facts";
const FEEDBACK: &str = "/v1/feedback";

/// A path and a body.
pub(crate) struct StageRequest {
    pub path: &'static str,
    pub body: String,
}

pub(crate) fn event_body(event: &ScenarioEvent) -> String {
    if event.times == 1 {
        return Value::Object(event_object(event, &event.id, 0)).to_string();
    }
    let one = |turn: u32| Value::Object(event_object(event, &format!("{}-{turn}", event.id), turn));
    (0..event.times).map(one).collect::<Value>().to_string()
}

fn event_object(event: &ScenarioEvent, id: &str, turn: u32) -> Map<String, Value> {
    let mut cloud = cloud_event(id, &event.source, &event.what, event.at.plus(i64::from(turn)));
    let of_turn = |names: &[String]| {
        let place = usize::try_from(turn).unwrap_or_default().checked_rem(names.len())?;
        names.get(place).cloned()
    };
    if event.subjects.is_empty() {
        cloud.insert("subject".to_owned(), event.subject.as_str().into());
    } else {
        let all = std::iter::once(&event.subject).chain(&event.subjects);
        cloud.insert("subjects".to_owned(), all.map(|subject| Value::from(subject.as_str())).collect());
    }
    if !event.persons.is_empty() {
        cloud.insert("persons".to_owned(), event.persons.iter().map(listed_person).collect());
    }
    let said = [
        ("actor", of_turn(&event.actors)),
        ("actorname", of_turn(&event.actor_names)),
        ("actorkind", event.actor_kind.clone()),
    ];
    for (name, value) in said {
        if let Some(value) = value {
            cloud.insert(name.to_owned(), value.into());
        }
    }
    if let Some(version) = event.version {
        cloud.insert("version".to_owned(), version.into());
    }
    cloud.insert("data".to_owned(), Value::Object(event.fields.clone()));
    cloud
}

fn listed_person((person, score): &(Person, Option<f64>)) -> Value {
    match score {
        None => person.as_str().into(),
        Some(score) => json!({"person": person.as_str(), "score": score}),
    }
}

pub(crate) fn profile_request(
    line: usize,
    at: UtcMillis,
    person: &Person,
    fields: &Map<String, Value>,
) -> StageRequest {
    let mut data = fields.clone();
    data.insert("person".to_owned(), person.as_str().into());
    own_request(FACTS, "profile", line, at, Value::Object(data))
}

pub(crate) fn follow_request(
    line: usize,
    at: UtcMillis,
    person: &Person,
    target: &SubjectRef,
    on: bool,
) -> StageRequest {
    let data = json!({"person": person.as_str(), "target": target.as_str()});
    own_request(FACTS, if on { "follow" } else { "unfollow" }, line, at, data)
}

pub(crate) fn mute_request(
    line: usize,
    at: UtcMillis,
    person: &Person,
    muted: &ScenarioMute,
    on: bool,
) -> StageRequest {
    let (sort, name) = muted.parts();
    let data = json!({"person": person.as_str(), sort: name});
    own_request(FACTS, if on { "mute" } else { "unmute" }, line, at, data)
}

pub(crate) fn preference_request(
    line: usize,
    at: UtcMillis,
    (person, choice): (&Person, &str),
    of: &[(&'static str, String)],
) -> StageRequest {
    let mut data = json!({"person": person.as_str(), "choice": choice});
    for (field, value) in of {
        data[*field] = json!(value);
    }
    if of.iter().all(|(field, _)| *field == "channel") {
        data["all"] = json!(true);
    }
    own_request(FACTS, "preference", line, at, data)
}

pub(crate) fn feedback_request(
    line: usize,
    at: UtcMillis,
    person: &Person,
    about: &ScenarioFeedbackTarget,
    did: FeedbackVerb,
) -> StageRequest {
    let person = person.as_str();
    let mut data = match about {
        ScenarioFeedbackTarget::Subject(subject) => json!({"person": person, "subject": subject.as_str()}),
        ScenarioFeedbackTarget::Kind(kind) => json!({"person": person, "kind": kind.as_str()}),
        ScenarioFeedbackTarget::All => json!({"person": person, "all": true}),
    };
    if let FeedbackVerb::Snooze(until) = did {
        data["until"] = json!(until.to_string());
    }
    own_request(FEEDBACK, did.event_word(), line, at, data)
}

/// A device's token is made up of its names: a scenario sends nothing into the world.
pub(crate) fn device_request(
    line: usize,
    at: UtcMillis,
    person: &Person,
    device: &str,
    platform: &str,
) -> StageRequest {
    let data = match platform {
        "none" => json!({"person": person.as_str(), "device": device, "token": null}),
        platform => {
            let token = format!("token-of-{device}");
            json!({"person": person.as_str(), "device": device, "platform": platform, "token": token})
        }
    };
    own_request(FACTS, "device", line, at, data)
}

pub(crate) fn seen_request(line: usize, at: UtcMillis, person: &Person, surface: &str) -> StageRequest {
    own_request(FACTS, "seen", line, at, json!({"person": person.as_str(), "surface": surface}))
}

pub(crate) fn erase_request(line: usize, at: UtcMillis, person: &Person, welcomes: bool) -> StageRequest {
    own_request(
        FACTS,
        if welcomes { "welcome" } else { "erase" },
        line,
        at,
        json!({"person": person.as_str()}),
    )
}

pub(crate) fn own_request(
    path: &'static str,
    what: &str,
    line: usize,
    at: UtcMillis,
    data: Value,
) -> StageRequest {
    let mut cloud = cloud_event(&format!("line-{line}"), "scenario", &format!("tidings.{what}"), at);
    cloud.insert("data".to_owned(), data);
    StageRequest { path, body: Value::Object(cloud).to_string() }
}

fn cloud_event(id: &str, source: &str, what: &str, at: UtcMillis) -> Map<String, Value> {
    let mut cloud = Map::new();
    for (name, text) in
        [("specversion", "1.0"), ("id", id), ("source", source), ("type", what), ("time", &at.to_string())]
    {
        cloud.insert(name.to_owned(), text.into());
    }
    cloud
}
