//! A form that publishes an example event: which ones there are, and with which fields, the catalogue says.

use std::{collections::BTreeMap, sync::Arc};

use anyhow::Context as _;
use axum::{
    Form, Router,
    body::{Body, to_bytes},
    extract::{Query, State, rejection::FormRejection},
    http::{Request, header},
    response::Response,
    routing::get,
};
use catalogue::{Catalogue, SubjectFieldError};
use model::{FieldType, SubjectRef, UtcMillis};
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use shell::datadir::random_hex;
use tower::ServiceExt as _;
use web::{HttpProblem, api_key::ApiKeyList};

use super::{AppState, HttpApp, page, page::PageQuery};

mod examples;

use examples::{EventExample, examples};
use views::display;

const SOURCE: &str = "page";
/// What the names of inputs for the fields of a subject begin with.
const FIELD: &str = "field.";
/// Bytes of an answer of our own way in.
const ANSWER_BYTES_MAX: usize = 1024 * 1024;

pub fn routes() -> Router<Arc<HttpApp>> {
    Router::new().route("/publish", get(form).post(publish))
}

#[derive(Debug, Default, Deserialize)]
struct PublishPageQuery {
    event: Option<String>,
}

async fn form(
    State(app): AppState,
    Query(wanted): Query<PublishPageQuery>,
    asked: PageQuery,
) -> Result<Response, HttpProblem> {
    render_form(&app, &asked, wanted.event.as_deref(), &BTreeMap::new(), &FieldProblems::new())
}

/// What is wrong, by the name of the field; what is wrong with none of them has no name.
type FieldProblems = BTreeMap<String, String>;

/// The form, with what was filled in before if it was refused.
fn render_form(
    app: &HttpApp,
    asked: &PageQuery,
    wanted: Option<&str>,
    filled: &BTreeMap<String, String>,
    problems: &FieldProblems,
) -> Result<Response, HttpProblem> {
    let examples = examples(&app.catalogue);
    let chosen = examples.iter().find(|example| Some(example.what.as_str()) == wanted).or(examples.first());
    let link = |example: &EventExample| json!({"what": example.what, "kinds": example.kinds});
    let own = json!({
        "examples": examples.iter().map(link).collect::<Vec<_>>(),
        "what": chosen.map(|example| example.what.clone()),
        "kinds": chosen.map(|example| example.kinds.clone()),
        "subject": filled.get("subject").cloned().or_else(|| fresh_subject(chosen?)),
        "actor": filled.get("actor"),
        "lists": chosen.is_some_and(|example| example.lists),
        "persons": filled.get("persons"),
        "fields": chosen.map(|example| fields(&app.catalogue, example, filled, app.now())),
        "problems": problems,
        "refused": problems.get(""),
    });
    app.render_page("publish.html", asked, own)
}

/// A subject that was probably not published before.
fn fresh_subject(example: &EventExample) -> Option<String> {
    Some(format!("{}:{}", example.subject, random_hex(2).ok()?))
}

fn fields(
    catalogue: &Catalogue,
    example: &EventExample,
    filled: &BTreeMap<String, String>,
    now: UtcMillis,
) -> Vec<Json> {
    let state = example.state(catalogue, now);
    let Some(declared) = catalogue.subjects.get(&example.subject) else { return Vec::new() };
    let one = |(name, field): (&String, &FieldType)| {
        let example = state.get(name).map(ToString::to_string).unwrap_or_default();
        json!({
            "name": name,
            "field": format!("{FIELD}{name}"),
            "sort": field.to_string(),
            "is_flag": *field == FieldType::Flag,
            "value": filled.get(&format!("{FIELD}{name}")).unwrap_or(&example),
        })
    };
    declared.fields.iter().map(one).collect()
}

impl page::SignedForm for BTreeMap<String, String> {
    fn csrf(&self) -> &str {
        self.get("csrf").map(|text| text.trim()).unwrap_or_default()
    }
}

async fn publish(
    State(app): AppState,
    form: Result<Form<BTreeMap<String, String>>, FormRejection>,
) -> Result<Response, HttpProblem> {
    let Some(filled) = app.own_form(form) else { return Ok(app.outdated_form()) };
    let text = |name: &str| filled.get(name).map(|text| text.trim()).filter(|text| !text.is_empty());
    let what = text("event").unwrap_or_default();
    let chosen = examples(&app.catalogue).into_iter().find(|example| example.what == what);
    let subject = chosen.map(|example| example.subject).unwrap_or_default();
    let data = data(&app.catalogue, &subject, &filled);
    let problems = find_ill_typed(&app.catalogue, &subject, &data);
    if !problems.is_empty() {
        return render_form(&app, &PageQuery::default(), Some(what), &filled, &problems);
    }
    let mut event = json!({
        "specversion": "1.0",
        "id": random_hex(8)?,
        "source": SOURCE,
        "type": what,
        "subject": text("subject"),
        "data": data,
    });
    if let Some(actor) = text("actor") {
        event["actor"] = actor.into();
    }
    if let Some(text) = text("persons") {
        event["persons"] = persons(text);
    }
    match post_to_intake(&app, "/v1/changes", &event).await? {
        None => {
            // So that the next page shows what came of it.
            app.wait_for_rest().await;
            Ok(page::redirect_to(&format!("/publish?event={}&done=published", display::urlencode(what))))
        }
        Some(PublishRefusal { at, reason }) => {
            let problems = FieldProblems::from([(input_of(&at), reason)]);
            render_form(&app, &PageQuery::default(), Some(what), &filled, &problems)
        }
    }
}

/// All stated fields that are not what they were declared to be: who fills in a form wants to hear of all of them at once.
fn find_ill_typed(catalogue: &Catalogue, subject: &str, data: &Map<String, Json>) -> FieldProblems {
    let Ok(any) = SubjectRef::new(&format!("{subject}:x")) else { return FieldProblems::new() };
    let problem = |(name, value): (&String, &Json)| {
        let alone = Map::from_iter([(name.clone(), value.clone())]);
        match catalogue.state(&any, &alone, 0) {
            Err(SubjectFieldError::Field { expected, found, .. }) => {
                Some((format!("{FIELD}{name}"), format!("This must be {expected}, not {found}.")))
            }
            Ok(_) | Err(SubjectFieldError::Subject { .. }) => None,
        }
    };
    data.iter().filter_map(problem).collect()
}

/// The input that stands for a place of the event.
fn input_of(at: &str) -> String {
    let mut names = at.split('/').skip(1);
    match (names.next(), names.next()) {
        (Some("data"), Some(field)) => format!("{FIELD}{field}"),
        (Some(name @ ("subject" | "actor" | "persons")), _) => name.to_owned(),
        _ => String::new(),
    }
}

/// The stated fields as JSON, as far as their types can be made out; what cannot is refused further in,
/// with the reason.
fn data(catalogue: &Catalogue, subject: &str, filled: &BTreeMap<String, String>) -> Map<String, Json> {
    let Some(declared) = catalogue.subjects.get(subject) else { return Map::new() };
    let one = |(name, field): (&String, &FieldType)| {
        let text = filled.get(&format!("{FIELD}{name}"))?.trim();
        (!text.is_empty()).then(|| (name.clone(), parse_field(field, text)))
    };
    declared.fields.iter().filter_map(one).collect()
}

/// `ann, ben=0.9`: persons, some with a score. What is no score is refused further in.
fn persons(text: &str) -> Json {
    let one = |person: &str| match person.rsplit_once('=') {
        None => person.into(),
        Some((person, score)) => {
            let number = score.parse().ok().filter(|number: &f64| number.is_finite());
            let score = number.map_or_else(|| score.into(), Json::from);
            json!({"person": person, "score": score})
        }
    };
    text.split(',').map(str::trim).filter(|person| !person.is_empty()).map(one).collect()
}

fn parse_field(field: &FieldType, text: &str) -> Json {
    let list = || text.split(',').map(str::trim).filter(|part| !part.is_empty());
    match field {
        FieldType::Number => text.parse::<f64>().map_or_else(|_| text.into(), Json::from),
        FieldType::Flag => text.parse::<bool>().map_or_else(|_| text.into(), Json::from),
        FieldType::Refs(_) => list().map(Json::from).collect(),
        FieldType::Place => {
            let degrees: Vec<Option<f64>> = list().map(|part| part.parse().ok()).collect();
            match degrees[..] {
                [Some(lat), Some(lon)] => json!({"lat": lat, "lon": lon}),
                _ => text.into(),
            }
        }
        FieldType::Text | FieldType::Url | FieldType::Time | FieldType::Ref(_) | FieldType::Person => {
            text.into()
        }
    }
}

/// A refusal of the intake, with its place.
pub(super) struct PublishRefusal {
    /// A pointer into what was sent.
    pub at: String,
    pub reason: String,
}

/// Goes the same way in as everybody; says why, if it was refused.
pub(super) async fn post_to_intake(
    app: &HttpApp,
    path: &str,
    event: &Json,
) -> anyhow::Result<Option<PublishRefusal>> {
    let request = Request::post(path).header(header::CONTENT_TYPE, "application/json");
    let answer = Router::from(app.intake(ApiKeyList::default()))
        .oneshot(request.body(Body::from(event.to_string()))?)
        .await?;
    let body = to_bytes(answer.into_body(), ANSWER_BYTES_MAX).await.context("read the answer")?;
    let said: Json = serde_json::from_slice(&body).context("decode the answer")?;
    if said["accepted"] == 1 {
        return Ok(None);
    }
    let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
    Ok(Some(match said["rejected"].get(0) {
        Some(rejected) => PublishRefusal { at: text(&rejected["at"]), reason: text(&rejected["reason"]) },
        None => PublishRefusal { at: String::new(), reason: text(&said["detail"]) },
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_filled_in_becomes_what_the_field_is() {
        let check = |field: &str, text: &str, json: Json| {
            assert_eq!(parse_field(&FieldType::parse(field).unwrap(), text), json, "{field} {text}");
        };
        check("number", "1.5", 1.5.into());
        check("number", "many", "many".into());
        check("flag", "true", true.into());
        check("refs maker", "maker:1, maker:2,", json!(["maker:1", "maker:2"]));
        check("place", "52.5, 13.4", json!({"lat": 52.5, "lon": 13.4}));
        check("place", "here", "here".into());
        check("text", "1984", "1984".into());
        check("person", "ann", "ann".into());
    }

    #[test]
    fn persons_are_listed_with_their_scores() {
        let check = |text: &str, json: Json| assert_eq!(persons(text), json, "{text}");
        check("ann", json!(["ann"]));
        check(
            " ann, ben=0.9 ,,a=b=1",
            json!(["ann", {"person": "ben", "score": 0.9}, {"person": "a=b", "score": 1.0}]),
        );
        check("ann=good", json!([{"person": "ann", "score": "good"}]));
    }

    #[test]
    fn a_problem_stands_beside_its_field() {
        let check = |at: &str, input: &str| assert_eq!(input_of(at), input, "{at}");
        check("/data/price", "field.price");
        check("/data/at/lat", "field.at");
        check("/subject", "subject");
        check("/persons/1/score", "persons");
        check("/actor", "actor");
        check("/type", "");
        check("", "");
    }

    #[test]
    fn an_address_holds_what_it_is_given() {
        assert_eq!(display::urlencode("item.published"), "item.published");
        assert_eq!(display::urlencode("a&b=c\r\nd"), "a%26b%3Dc%0D%0Ad");
    }
}
