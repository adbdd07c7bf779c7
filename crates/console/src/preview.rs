//! A message before anybody gets it, as the command line asks for it and as a page: how a mailbox lists it, how it looks
//! on a phone and on a desk, by day and by night, its text and its headers; of a push one card for each platform.

use std::sync::Arc;

use axum::{
    Json, Router,
    extract::{Query, State},
    http::StatusCode,
    response::Response,
    routing::get,
};
use house::person_windows;
use model::{Kind, PlanName};
use serde::Deserialize;
use serde_json::{Value, json};
use views::display;
use views::preview::{self, LookupContext, MessagePreview, PreviewError, PreviewSource};
use web::HttpProblem;

use super::{AppState, HttpApp, explain::describe_refusal, outbox, page, page::PageQuery};

/// The ways to look at a mail, by the word in the address and the one on the tab.
const TABS: [(&str, &str); 4] =
    [("phone", "Phone"), ("desk", "Desk"), ("text", "Text"), ("headers", "Headers")];
/// Persons who are offered by name.
const OFFERED_MAX: usize = 20;

pub fn routes() -> Router<Arc<HttpApp>> {
    Router::new().route("/preview", get(show_preview)).route("/preview/html", get(html))
}

impl HttpApp {
    async fn build_previews(
        &self,
        asked: &preview::PreviewRequest,
    ) -> anyhow::Result<Result<Vec<MessagePreview>, PreviewError>> {
        let engines = self.house.engines();
        let (log, store) = (&*engines.topics, &*engines.store);
        self.studio
            .build_previews(asked, LookupContext { log, store, tenant: &self.tenant, now: self.now() })
            .await
    }
}

/// As the command line asks for it.
pub async fn answer_preview(
    State(app): AppState,
    Query(asked): Query<preview::PreviewRequest>,
) -> Result<Json<Vec<MessagePreview>>, HttpProblem> {
    let previews = app.build_previews(&asked).await?;
    previews.map(Json).map_err(|slip| describe_refusal(slip.refusal))
}

/// What the page's form says; a field that is left empty says nothing.
#[derive(Default, Deserialize)]
struct PreviewForm {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    person: String,
    #[serde(default)]
    plan: String,
    #[serde(default)]
    subject: String,
    #[serde(default)]
    show: String,
}

impl PreviewForm {
    /// What is asked for; of a kind by one plan: that which was chosen, else the kind's first.
    fn to_request(&self, app: &HttpApp) -> Option<preview::PreviewRequest> {
        let said = |text: &str| Some(text.trim()).filter(|text| !text.is_empty()).map(str::to_owned);
        let (kind, person) = (said(&self.kind), said(&self.person)?);
        let first = |kind: &String| plans(app, kind).first().map(ToString::to_string);
        let plan = said(&self.plan).or_else(|| kind.as_ref().and_then(first));
        Some(preview::PreviewRequest { kind, person, plan, channel: None, subject: said(&self.subject) })
    }
}

fn plans(app: &HttpApp, kind: &str) -> Vec<PlanName> {
    let kind = Kind::new(kind).ok().and_then(|kind| app.catalogue.kinds.get(&kind));
    kind.map(|kind| kind.plans.clone()).unwrap_or_default()
}

async fn show_preview(
    State(app): AppState,
    Query(form): Query<PreviewForm>,
    asked: PageQuery,
) -> Result<Response, HttpProblem> {
    let remembered = person_windows::load_persons(&*app.house.engines().topics).await?;
    let persons = remembered.persons.keys().filter(|(tenant, _)| *tenant == app.tenant);
    let mut own = json!({
        "kinds": app.catalogue.kinds.keys().map(Kind::as_str).collect::<Vec<_>>(),
        "offered": persons.map(|(_, person)| person.as_str()).take(OFFERED_MAX).collect::<Vec<_>>(),
        "kind": form.kind.trim(),
        "person": form.person.trim(),
        "subject": form.subject.trim(),
    });
    if let Some(wanted) = form.to_request(&app) {
        let more = match app.build_previews(&wanted).await? {
            Ok(previews) => {
                previews.first().map(|preview| preview_values(&app, &previews, preview, &wanted, &form.show))
            }
            Err(slip) => Some(json!({"problems": {(slip.at): slip.reason()}})),
        };
        page::merge_values(&mut own, more.unwrap_or_default());
    }
    app.render_page("preview.html", &asked, own)
}

fn preview_values(
    app: &HttpApp,
    all: &[MessagePreview],
    preview: &MessagePreview,
    asked: &preview::PreviewRequest,
    show: &str,
) -> Value {
    let show = TABS.iter().find(|(tab, _)| *tab == show).map_or("phone", |(tab, _)| *tab);
    let field = |name: &str, value: &str| format!("{name}={}", display::urlencode(value));
    let mut query = vec![field("person", &asked.person)];
    query.extend(asked.kind.as_ref().map(|kind| field("kind", kind)));
    query.extend(asked.subject.as_ref().map(|subject| field("subject", subject)));
    let query = query.join("&");
    let names: Vec<String> = match &asked.kind {
        Some(kind) => plans(app, kind).iter().map(ToString::to_string).collect(),
        // Those whose windows have something to tell.
        None => all.iter().map(|one| one.plan.clone()).collect(),
    };
    let plan = |plan: &String| json!({"name": plan, "link": format!("{query}&{}", field("plan", plan))});
    let plans: Vec<Value> = names.iter().map(plan).collect();
    let of = match preview.of {
        PreviewSource::Digest => "everything that waits, as a release would send it now",
        PreviewSource::Waiting => "the entries that wait for them",
        PreviewSource::Subject => "as if it came now",
        PreviewSource::Example => "made up, because nothing of this kind waits for them",
    };
    let cards = preview.cards.iter().map(|card| {
        let payload = serde_json::to_string_pretty(&card.payload).unwrap_or_default();
        json!({"card": card, "payload": payload})
    });
    json!({
        "preview": preview,
        "cards": cards.collect::<Vec<_>>(),
        "of": of,
        // Who it is from, as a list of mails has it.
        "sender": preview.from.split('<').next().map(str::trim).filter(|name| !name.is_empty()).unwrap_or(&preview.from),
        "plans": plans,
        "link": format!("{query}&{}", field("plan", &preview.plan)),
        "show": show,
        "tabs": TABS.map(|(tab, name)| json!({"tab": tab, "name": name})),
    })
}

/// The HTML of a mail, for the frames.
async fn html(State(app): AppState, Query(form): Query<PreviewForm>) -> Result<Response, HttpProblem> {
    let gone = || app.notice_page(StatusCode::NOT_FOUND, "No such mail", "There is no mail to show.");
    let Some(asked) = form.to_request(&app) else { return Ok(gone()) };
    let previews = app.build_previews(&asked).await?.unwrap_or_default();
    match previews.into_iter().find_map(|preview| preview.html) {
        Some(html) => Ok(outbox::frame_html(&html, &app.catalogue.file).await),
        None => Ok(gone()),
    }
}
