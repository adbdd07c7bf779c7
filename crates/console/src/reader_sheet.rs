//! What is known of a person who looks at their own preferences, and how what they ask for is stated.

use anyhow::Context as _;
use axum::{
    body::{Body, to_bytes},
    http::{Request, StatusCode, header},
};
use model::{
    Day, Person, Tenant, UtcMillis, VersionedState,
    civil_time::ZoneRules,
    entry::DayKey,
    fold::fold_rows,
    person::{notes, profile},
};
use preference_sheet::{PreferenceSheet, ReaderState, StatedFact, WeekEntry, WeekForecast, forecast_week};
use serde_json::{Value as Json, json};
use shell::datadir::random_hex;
use store::StateKey;
use tower::ServiceExt as _;

use super::HttpApp;

/// Bytes of an answer of our own way in.
const ANSWER_BYTES_MAX: usize = 64 * 1024;
/// The week that is counted.
const WEEK_DAYS: i32 = 7;

/// What is kept of somebody's preferences.
#[derive(Default)]
pub struct ReaderRecord {
    pub profile: VersionedState,
    pub preferences: VersionedState,
}

impl ReaderRecord {
    /// Nothing of who was erased.
    pub async fn load(app: &HttpApp, (tenant, person): (&Tenant, &Person)) -> anyhow::Result<Option<Self>> {
        let keys = [StateKey::Person, StateKey::Preferences, StateKey::Notes];
        let keys = keys.map(|key| key(tenant.clone(), person.clone()));
        let mut states = app.house.engines().store.states(&keys).await?.into_iter();
        let mut next = || states.next().unwrap_or_default();
        let (profile, preferences, noted) = (next(), next(), next());
        Ok((!noted.flag(notes::ERASED)).then_some(Self { profile, preferences }))
    }

    pub fn state<'a>(&'a self, app: &'a HttpApp, (tenant, person): (&'a Tenant, &Person)) -> ReaderState<'a> {
        let catalogue = app.catalogue_of(person);
        ReaderState { catalogue, tenant, profile: &self.profile, preferences: &self.preferences }
    }

    /// The sheet, with the titles of plans and categories as the person reads them.
    pub fn read_sheet(
        &self,
        app: &HttpApp,
        of: (&Tenant, &Person),
        language: Option<&str>,
    ) -> PreferenceSheet {
        let mut sheet = PreferenceSheet::read(&self.state(app, of));
        let stated = language.or(self.profile.text(profile::LANGUAGE));
        let plans = sheet.channels.iter_mut().flat_map(|channel| channel.plans.iter_mut());
        for plan in plans {
            if let Ok(name) = model::PlanName::new(&plan.plan) {
                plan.title = app.studio.plan_title(of.1, &name, stated);
            }
        }
        for topic in &mut sheet.topics {
            if let Some(category) = &topic.category {
                topic.title = app.studio.category_title(of.1, category, stated);
            }
        }
        sheet
    }

    /// The messages that these entries would have made by what holds.
    pub fn forecast(&self, app: &HttpApp, of: (&Tenant, &Person), week: &[WeekEntry]) -> Vec<WeekForecast> {
        forecast_week(&self.state(app, of), week, &app.house.intake().room.zones)
    }
}

/// What time it is, and the rules by which that is so somewhere.
pub fn read_clock(app: &HttpApp) -> (UtcMillis, &ZoneRules) {
    (app.now(), &app.house.intake().room.zones)
}

/// The entries of a person's last seven days.
pub async fn load_week(
    app: &HttpApp,
    (tenant, person): (&Tenant, &Person),
) -> anyhow::Result<Vec<WeekEntry>> {
    let now = app.now();
    let today = Day::from_instant(now);
    let key = |back: i32| DayKey { tenant: tenant.clone(), person: person.clone(), day: today.plus(-back) };
    let keys: Vec<DayKey> = (0..=WEEK_DAYS).rev().map(key).collect();
    let rows = app.house.engines().store.read(&keys, now).await.context("the person's week")?;
    let view = fold_rows(rows.iter().flatten());
    let since = now.plus(-i64::from(WEEK_DAYS) * model::limits::DAY_MS);
    let recent = view.entries().filter(|(key, _)| key.occurred >= since);
    let entries = recent.map(|(key, entry)| WeekEntry {
        at: key.occurred,
        kinds: entry.reasons.iter().map(|reason| reason.kind.clone()).collect(),
        subject: entry.subject().map(ToString::to_string).unwrap_or_default(),
    });
    Ok(entries.collect())
}

/// States facts on the same way in as everybody: stored, then announced, then acknowledged. Says why not if one was not
/// taken; then the same may be asked again.
pub async fn state_facts(
    app: &HttpApp,
    tenant: &Tenant,
    source: &str,
    facts: &[StatedFact],
) -> anyhow::Result<Result<(), String>> {
    let mut body = Vec::new();
    for StatedFact { sort, version, data } in facts {
        body.push(json!({
            "specversion": "1.0",
            "id": random_hex(16)?,
            "source": source,
            "type": sort,
            "version": version,
            "data": data,
        }));
    }
    let intake = ingest::router(ingest::HttpIntake {
        deps: app.house.intake().clone(),
        config: ingest::Config { tenant: tenant.clone(), ..app.intake.clone() },
        keys: None.into(),
        disk_low: app.disk_low.clone(),
    });
    let request = Request::post("/v1/facts").header(header::CONTENT_TYPE, "application/json");
    let answer = intake.oneshot(request.body(Body::from(Json::from(body).to_string()))?).await?;
    let status = answer.status();
    let body = to_bytes(answer.into_body(), ANSWER_BYTES_MAX).await.context("read the answer")?;
    let said: Json = serde_json::from_slice(&body).unwrap_or_default();
    if status == StatusCode::ACCEPTED && said["accepted"] == facts.len() {
        return Ok(Ok(()));
    }
    tracing::warn!(%status, source, "what a reader prefers could not be stored");
    let reason = said["rejected"][0]["reason"].as_str().or(said["detail"].as_str());
    Ok(Err(reason.unwrap_or("the facts were not taken").to_owned()))
}
