//! A person: what is known of them, what they wait for, and their days with every entry's fate.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Router,
    extract::{Query, State},
    response::Response,
    routing::get,
};
use model::{
    Millis, Person, State as Known, Value as Stated,
    civil::Zone,
    person::{PersonRecord, profile},
};
use serde::Deserialize;
use serde_json::{Value, json};
use store::StateKey;

use super::{
    App, Oops, Shared, look,
    page::{self, Asked},
    windows,
};
use crate::{
    days::{self, Days},
    open,
    suppressions::{self, Suppressed},
};

/// How far back the page looks.
const DAYS_SHOWN: i32 = 7;
/// Mails that entries are linked to; older ones are in the outbox all the same.
const MAILS_LINKED: usize = 1_000;
/// Persons who are offered by name.
const OFFERED_MAX: usize = 20;
/// Mutes that are listed; of more only the number is said.
const MUTES_LISTED: usize = 20;

/// The fields of a profile that are shown. An address is masked: a page is easily seen by others.
const SHOWN: [(&str, &str); 7] = [
    (profile::NAME, "Name"),
    (profile::ZONE, "Zone"),
    (profile::LANGUAGE, "Language"),
    (profile::PLACE, "Place"),
    (profile::EMAIL, "E-mail"),
    (profile::EMAIL_PLAN, "Mail by plan"),
    (profile::EMAIL_OFF, "No mail, please"),
];

pub fn routes() -> Router<Arc<App>> {
    Router::new().route("/person", get(person))
}

#[derive(Deserialize)]
struct Id {
    id: Option<String>,
}

async fn person(
    State(app): Shared,
    Query(Id { id }): Query<Id>,
    Query(asked): Query<Asked>,
) -> Result<Response, Oops> {
    let id = id.map(|id| id.trim().to_owned()).filter(|id| !id.is_empty());
    let remembered = windows::everybody(&*app.house.engines().topics).await?;
    let offered: Vec<String> = remembered
        .persons
        .keys()
        .filter(|(tenant, _)| *tenant == app.tenant)
        .map(|(_, person)| person.to_string())
        .take(OFFERED_MAX)
        .collect();
    let own = match id.as_deref().map(Person::new) {
        None => json!({"offered": offered}),
        Some(Err(error)) => json!({"offered": offered, "id": id, "problems": {"id": error.to_string()}}),
        Some(Ok(person)) => {
            let mut own = one(&app, &person).await?;
            page::join(&mut own, json!({"offered": offered, "id": id}));
            own
        }
    };
    app.page("person.html", &asked, own)
}

async fn one(app: &Arc<App>, person: &Person) -> anyhow::Result<Value> {
    let engines = app.house.engines();
    let keys = [StateKey::Person, StateKey::Mutes].map(|key| key(app.tenant.clone(), person.clone()));
    let mut states = engines.store.states(&keys).await?.into_iter();
    let (known, mutes) = (states.next().unwrap_or_default(), states.next().unwrap_or_default());
    let muted = muted(&mutes);
    let zone = app.house.intake().zones.get_or_utc(known.text(profile::ZONE));
    let record = windows::of(&*engines.topics, &app.tenant, person).await?.unwrap_or_default();
    let now = app.now();
    let days =
        days::read(&*engines.store, &app.tenant, person, DAYS_SHOWN, now, Some(&app.catalogue)).await?;
    let found = suppressions::read(&*engines.store, (&app.tenant, person), now).await?;
    Ok(json!({
        "is_known": !known.is_empty() || !muted.is_empty() || !days.days.is_empty() || !record.windows.is_empty(),
        "profile": profile_of(&known),
        "muted": muted.iter().take(MUTES_LISTED).collect::<Vec<_>>(),
        "muted_more": muted.len().saturating_sub(MUTES_LISTED),
        "suppressed": suppressed(&found, &zone),
        "local": look::instant(now, &zone),
        "windows": windows_of(app, &record, &zone),
        "days": days_of(&days, &zone, &mails_of(app)),
        "days_shown": DAYS_SHOWN,
    }))
}

fn profile_of(known: &Known) -> Vec<Value> {
    let line = |(field, name): &(&str, &str)| {
        let value = known.get(field)?.to_string();
        let value = if *field == profile::EMAIL { look::masked(&value) } else { value };
        Some(json!({"name": name, "value": value}))
    };
    SHOWN.iter().filter_map(line).collect()
}

/// What keeps mails from the address that they have.
fn suppressed(found: &Suppressed, zone: &Zone) -> Vec<Value> {
    let at = |text: &String| Millis::parse(text).map(|at| look::instant(at, zone));
    let own = found.suppressions.iter().filter(|one| one.holds);
    own.map(|one| {
        json!({
            "what": one.what,
            "stream": one.stream,
            "code": one.code,
            "since": at(&one.since),
            "until": one.until.as_ref().and_then(at),
        })
    })
    .collect()
}

/// What they mute, such as `thread item:1`. A mute that has ended is still there, as a flag that is down.
fn muted(mutes: &Known) -> Vec<&str> {
    let up = |value: &Option<Stated>| *value == Some(Stated::Flag(true));
    mutes.cells.iter().filter(|(_, cell)| up(&cell.value)).map(|(name, _)| &**name).collect()
}

fn windows_of(app: &App, record: &PersonRecord, zone: &Zone) -> Vec<Value> {
    let now = app.now();
    let at = |text: &str| Millis::parse(text).unwrap_or(now);
    let one = |window: open::OneWindow| {
        let (opening, due) = (at(&window.opened), at(&window.due));
        json!({
            "plan": window.plan,
            "key": window.key,
            // Names the window that is seen here: one that opens later is not meant.
            "opening": window.opened,
            "opened": look::instant(opening, zone),
            "due": look::instant(due, zone),
            "until": look::until(due.since(now)),
            "why": window.why,
            "heard": window.heard,
            "follows": window.follows,
            "is_released": window.act.is_some(),
            "is_cancelled": window.act == Some(open::Deed::Cancel),
        })
    };
    open::of(record, now, Some(&app.catalogue.plans)).into_iter().map(one).collect()
}

/// The mails of the newest Readys, so that what was told can be looked at.
fn mails_of(app: &App) -> BTreeMap<String, String> {
    let mails = app.outbox.list(MAILS_LINKED).into_iter();
    mails.filter_map(|mail| Some((mail.ready?.to_string(), mail.message_id))).collect()
}

fn days_of(days: &Days, zone: &Zone, mails: &BTreeMap<String, String>) -> Vec<Value> {
    let entry = |entry: &days::Entry| {
        let at = |text: &String| Millis::parse(text).map(|at| look::instant(at, zone));
        let fate = |fate: &days::OneFate| {
            json!({
                "channel": fate.channel,
                "fate": fate.fate,
                "mood": fate.mood,
                "journal": fate.journal,
                "at": fate.at.as_ref().and_then(at),
                "mail": fate.ready.as_ref().and_then(|ready| mails.get(ready)),
            })
        };
        json!({
            "entry": entry.entry,
            "at": Millis::parse(&entry.occurred).map(|at| look::clock(at, zone)),
            "subject": entry.subject,
            "name": entry.name,
            "kinds": entry.kinds,
            "reasons": entry.reasons,
            "fates": entry.fates.iter().map(fate).collect::<Vec<_>>(),
        })
    };
    let day = |day: &days::OneDay| json!({"day": day.day, "entries": day.entries.iter().map(entry).collect::<Vec<_>>()});
    days.days.iter().map(day).collect()
}
