//! The page of a person, for support: what they get, why an entry was told or not; and the same data for the command
//! line.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Json, Router,
    extract::{Query, State},
    http::StatusCode,
    response::Response,
    routing::get,
};
use house::person_windows;
use model::{Crowd, Day, Person, ReadyId, UtcMillis, civil_time::Zone, person::profile};
use serde::Deserialize;
use serde_json::{Value, json};
use store::StateKey;
use views::display;
use views::{
    days, explain,
    open_windows::WindowAction,
    person::{self, DossierSources, PersonDossier},
    preview::LookupContext,
};
use web::HttpProblem;

use super::{AppState, HttpApp, admin::PersonParam, page, page::PageQuery};

/// Persons who are offered by name.
const OFFERED_MAX: usize = 20;
/// Characters of a text of theirs that are shown in one place.
const TEXT_CHARS_MAX: usize = 200;

/// How fields of a profile are called; others by their own names.
const CALLED: [(&str, &str); 12] = [
    (profile::NAME, "Name"),
    (profile::ZONE, "Zone"),
    (profile::LANGUAGE, "Language"),
    (profile::PLACE, "Place"),
    (profile::PLACE_BY_ADDRESS, "Place, by IP address"),
    (profile::QUIET, "Quiet hours"),
    (profile::QUIET_UNTIL, "Quiet until"),
    (profile::HOUR, "Hour of digests"),
    (profile::EMAIL_PLAN, "Mail by plan"),
    (profile::EMAIL_OFF, "No mail, please"),
    (profile::PUSH_PLAN, "Push by plan"),
    (profile::PUSH_OFF, "No push, please"),
];

pub fn routes() -> Router<Arc<HttpApp>> {
    Router::new().route("/person", get(person)).route("/person/why", get(show_explanation))
}

impl HttpApp {
    /// Nothing if nothing is known of them.
    async fn load_dossier(&self, person: &Person, day: Option<Day>) -> anyhow::Result<Option<PersonDossier>> {
        let engines = self.house.engines();
        let (log, store) = (&*engines.topics, &*engines.store);
        let zones = &self.house.intake().room.zones;
        let sources = DossierSources {
            at: LookupContext { log, store, tenant: &self.tenant, now: self.now() },
            catalogue: Some(&self.catalogue),
            studio: Some(&self.studio),
            outbox: self.outbox.as_deref(),
            day,
        };
        let gathered = person::load_facts(person, sources).await?;
        let tell = || person::build_dossier(person, &gathered, (zones, sources.catalogue), sources.at.now);
        Ok((!gathered.is_nobody()).then(tell))
    }

    /// That nothing is known, with who was probably meant.
    async fn say_unknown(&self, person: &Person) -> anyhow::Result<String> {
        let engines = self.house.engines();
        let (log, store) = (&*engines.topics, &*engines.store);
        person::describe_unknown_person(
            person,
            LookupContext { log, store, tenant: &self.tenant, now: self.now() },
        )
        .await
    }
}

/// As the command line asks for it.
pub async fn answer_person(
    State(app): AppState,
    PersonParam(person): PersonParam,
) -> Result<Json<PersonDossier>, HttpProblem> {
    match app.load_dossier(&person, None).await? {
        Some(whole) => Ok(Json(whole)),
        None => Err(HttpProblem::not_found(app.say_unknown(&person).await?)),
    }
}

#[derive(Deserialize)]
struct PersonPageQuery {
    id: Option<String>,
    /// One day alone, and all of it.
    day: Option<String>,
}

async fn person(
    State(app): AppState,
    Query(PersonPageQuery { id, day }): Query<PersonPageQuery>,
    asked: PageQuery,
) -> Result<Response, HttpProblem> {
    let id = id.map(|id| id.trim().to_owned()).filter(|id| !id.is_empty());
    let mut own = json!({"offered": list_offered(&app).await?});
    let more = match id.as_deref().map(Person::new) {
        None => Value::Null,
        Some(Err(error)) => json!({"id": id, "problems": {"id": error.to_string()}}),
        Some(Ok(person)) => {
            let day = day.as_deref().and_then(Day::parse);
            match app.load_dossier(&person, day).await? {
                Some(whole) => dossier_values(&whole, (&app, day)),
                None => json!({"id": id, "unknown": app.say_unknown(&person).await?}),
            }
        }
    };
    page::merge_values(&mut own, more);
    app.render_page("person.html", &asked, own)
}

/// Those of whom something is remembered, and then others who have a profile, each with their name.
async fn list_offered(app: &HttpApp) -> anyhow::Result<Vec<Value>> {
    let engines = app.house.engines();
    let remembered = person_windows::load_persons(&*engines.topics).await?;
    let own = remembered.persons.into_keys().filter(|(tenant, _)| *tenant == app.tenant);
    let mut persons: Vec<Person> = own.map(|(_, person)| person).take(OFFERED_MAX).collect();
    let others = engines.store.members(&app.tenant, &Crowd::Everyone, None, OFFERED_MAX).await?;
    for other in others.persons {
        if persons.len() < OFFERED_MAX && !persons.contains(&other) {
            persons.push(other);
        }
    }
    let key = |person: &Person| StateKey::Person(app.tenant.clone(), person.clone());
    let keys: Vec<StateKey> = persons.iter().map(key).collect();
    let profiles = engines.store.states(&keys).await?;
    let one = |(person, known): (&Person, &model::VersionedState)| json!({"id": person.as_str(), "name": known.text(profile::NAME).map(cut_text)});
    Ok(persons.iter().zip(&profiles).map(one).collect())
}

/// What is longer than a line says no more for it.
fn cut_text(text: &str) -> String {
    match text.char_indices().nth(TEXT_CHARS_MAX) {
        Some((end, _)) => format!("{}\u{2026}", &text[..end]),
        None => text.to_owned(),
    }
}

/// Instants on the wall of the person.
struct PersonWallClock<'a> {
    zone: &'a Zone,
    now: UtcMillis,
}

impl PersonWallClock<'_> {
    fn format_at(&self, text: &str) -> Option<String> {
        UtcMillis::parse(text).map(|at| display::format_instant(at, self.zone))
    }

    fn format_optional(&self, text: Option<&String>) -> Option<String> {
        text.and_then(|text| self.format_at(text))
    }

    fn until(&self, text: &str) -> Option<String> {
        UtcMillis::parse(text).map(|at| display::format_until(at.since(self.now)))
    }
}

fn dossier_values(whole: &PersonDossier, (app, day): (&HttpApp, Option<Day>)) -> Value {
    let zone = app.house.intake().room.zones.get_or_utc(Some(&whole.zone));
    let wall = PersonWallClock { zone: &zone, now: app.now() };
    let field = |name: &str| whole.profile.iter().find(|stated| stated.field == name);
    json!({
        "id": whole.person,
        "is_known": true,
        "name": field(profile::NAME).map(|stated| cut_text(&stated.value)),
        "local": display::format_instant(wall.now, &zone),
        "zone": whole.zone,
        "has_zone": field(profile::ZONE).is_some(),
        "arm": whole.catalogue,
        "erased": whole.erased.as_ref().map(|erased| json!({
            "state": erased.state, "asked": wall.format_optional(erased.asked.as_ref()),
        })),
        "notes": whole.unknown,
        "coming": whole.coming.iter().map(|one| window_values(one, &wall)).collect::<Vec<_>>(),
        "again": whole.again.iter().map(|one| json!({
            "plan": one.plan, "channel": one.channel, "entries": one.entries, "at": wall.format_at(&one.at),
        })).collect::<Vec<_>>(),
        "got": whole.got.iter().map(|one| message_values(one, &wall)).collect::<Vec<_>>(),
        "follows": {
            "newest": whole.follows.newest.iter().map(|one| json!({
                "subject": one.subject, "name": one.name, "since": wall.format_optional(one.since.as_ref()),
            })).collect::<Vec<_>>(),
            "count": whole.follows.count,
            "is_cut": whole.follows.is_cut,
            "more": whole.follows.count - whole.follows.newest.len(),
        },
        "preferences": {
            "newest": whole.preferences.newest.iter().map(|one| json!({
                "what": one.describe(), "of": one.of, "since": wall.format_optional(one.since.as_ref()),
            })).collect::<Vec<_>>(),
            "more": whole.preferences.count - whole.preferences.newest.len(),
        },
        "profile": profile_of(whole, &wall),
        "devices": whole.devices.iter().map(|one| json!({
            "device": cut_text(&one.device), "platform": one.platform, "token": one.token, "since": wall.format_optional(one.since.as_ref()),
        })).collect::<Vec<_>>(),
        "days": days_of(whole, &mails_of(whole, app), &wall),
        "days_shown": person::DAYS_SHOWN,
        "is_one_day": day.is_some(),
        "day": day.map(display::format_whole_date),
    })
}

fn window_values(one: &person::DossierWindow, wall: &PersonWallClock<'_>) -> Value {
    let window = &one.window;
    json!({
        "plan": window.plan,
        "channel": one.channel,
        "key": window.key,
        // Names the window that is seen here: one that opens later is not meant.
        "opening": window.opened,
        "opened": wall.format_at(&window.opened),
        "due": wall.format_at(&window.due),
        "until": wall.until(&window.due),
        "why": window.why,
        "heard": window.heard,
        "follows": window.follows,
        "is_released": window.act.is_some(),
        "is_cancelled": window.act == Some(WindowAction::Cancel),
        "message": one.message.as_ref().map(|message| json!({
            "headline": cut_text(&message.headline), "entries": message.entries, "remarks": message.remarks,
        })),
    })
}

fn message_values(one: &person::DossierMessage, wall: &PersonWallClock<'_>) -> Value {
    json!({
        "headline": one.headline.as_deref().map(cut_text),
        "about": cut_text(&one.about),
        "more": one.entries.saturating_sub(1),
        "channel": one.channel,
        "plan": one.plan,
        "outcome": one.outcome,
        "at": wall.format_optional(one.at.as_ref()),
        "mail": one.mail,
    })
}

/// Addresses and what they say of themselves, and what keeps mails from them.
fn profile_of(whole: &PersonDossier, wall: &PersonWallClock<'_>) -> Vec<Value> {
    let called = |field: &str| CALLED.iter().find(|(name, _)| *name == field).map(|(_, called)| *called);
    let stated = whole.profile.iter().map(|stated| {
        let name = match stated.field.as_str() {
            profile::EMAIL => "E-mail",
            field => called(field).unwrap_or(field),
        };
        json!({"name": name, "value": cut_text(&stated.value)})
    });
    let kept = whole.suppressions.iter().map(|one| {
        let code = if one.code.is_empty() { String::new() } else { format!(" ({})", one.code) };
        let stream =
            one.stream.as_ref().map(|stream| format!(", of the stream {stream}")).unwrap_or_default();
        let until = wall
            .format_optional(one.until.as_ref())
            .map(|until| format!(", until {until}"))
            .unwrap_or_default();
        let since = wall.format_at(&one.since).unwrap_or_default();
        json!({"name": "No mail", "value": format!("{}{code}{stream}, since {since}{until}", one.what)})
    });
    let seen = whole.seen.iter().map(|one| {
        let surface = if one.surface.is_empty() {
            "Last seen".to_owned()
        } else {
            format!("Last seen: {}", cut_text(&one.surface))
        };
        json!({"name": surface, "value": wall.format_at(&one.at)})
    });
    stated.chain(kept).chain(seen).collect()
}

/// The mails of what was told in these days, as far as they are in the outbox.
fn mails_of(whole: &PersonDossier, app: &HttpApp) -> BTreeMap<String, String> {
    let fates = whole.days.iter().flat_map(|one| &one.day.entries).flat_map(|entry| &entry.fates);
    let readys = fates.filter_map(|fate| ReadyId::parse(fate.ready.as_ref()?)).collect();
    let Some(outbox) = &app.outbox else { return BTreeMap::new() };
    let mails = outbox.list_of_readys(&readys).into_iter();
    mails.filter_map(|mail| Some((mail.ready?.to_string(), mail.message_id))).collect()
}

fn days_of(
    whole: &PersonDossier,
    mails: &BTreeMap<String, String>,
    wall: &PersonWallClock<'_>,
) -> Vec<Value> {
    let entry = |entry: &days::EntryReport| {
        let fate = |fate: &days::ChannelFate| {
            json!({
                "channel": fate.channel,
                "fate": fate.fate,
                "mood": fate.mood,
                "journal": fate.journal,
                "at": wall.format_optional(fate.at.as_ref()),
                "mail": fate.ready.as_ref().and_then(|ready| mails.get(ready)),
            })
        };
        json!({
            "entry": entry.entry,
            "at": UtcMillis::parse(&entry.occurred).map(|at| display::format_clock(at, wall.zone)),
            "subject": entry.subject,
            "name": entry.name,
            "kinds": entry.kinds,
            "reasons": entry.reasons,
            "fates": entry.fates.iter().map(fate).collect::<Vec<_>>(),
        })
    };
    let day = |one: &person::DossierDay| {
        json!({
            "day": one.day.day,
            "date": Day::parse(&one.day.day).map(display::format_whole_date),
            "entries": one.day.entries.iter().map(entry).collect::<Vec<_>>(),
            "more": one.more,
        })
    };
    whole.days.iter().map(day).collect()
}

#[derive(Deserialize)]
struct WhyPageQuery {
    id: String,
    /// An entry as days name it.
    entry: String,
}

/// Why an entry was told or not: by the code of `tidings explain`.
async fn show_explanation(
    State(app): AppState,
    Query(WhyPageQuery { id, entry }): Query<WhyPageQuery>,
    asked: PageQuery,
) -> Result<Response, HttpProblem> {
    let title = "No explanation";
    let person = match Person::new(&id) {
        Ok(person) => person,
        Err(error) => return Ok(app.notice_page(StatusCode::BAD_REQUEST, title, &error.to_string())),
    };
    let explanations = match app.explain_for(&person, &entry).await {
        Ok(explanations) if explanations.is_empty() => {
            let event = explain::ExplainTarget::parse(&entry);
            let why = event.map(|event| explain::explain_absence(&event)).unwrap_or_default();
            return Ok(app.notice_page(StatusCode::NOT_FOUND, title, &why));
        }
        Ok(explanations) => explanations,
        Err(problem) if problem.status().is_server_error() => return Err(problem),
        Err(problem) => return Ok(app.notice_page(problem.status(), title, &problem.detail)),
    };
    let zone = zone_of(&app, &person).await?;
    let at = |text: &str| UtcMillis::parse(text).map(|at| display::format_instant(at, &zone));
    let one = |one: &explain::EventExplanation| {
        json!({
            "what": one.what, "subject": one.subject, "at": at(&one.occurred), "steps": one.steps,
            "verdict": one.verdict,
        })
    };
    let explanations: Vec<Value> = explanations.iter().map(one).collect();
    app.render_page("why.html", &asked, json!({"id": person.as_str(), "explanations": explanations}))
}

async fn zone_of(app: &HttpApp, person: &Person) -> anyhow::Result<Zone> {
    let key = StateKey::Person(app.tenant.clone(), person.clone());
    let known = app.house.engines().store.states(&[key]).await?.pop().unwrap_or_default();
    Ok(app.house.intake().room.zones.get_or_utc(known.text(profile::ZONE)))
}
