//! What comes in by HTTP: the pictures of slots, and the links behind them. Whoever has a mail may ask; where an answer leads is the
//! catalogue's to say, and never the address's.
//!
//! The `Host` header is checked by nobody: mails are opened behind any balancer.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Path, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse as _, Response},
    routing::get,
};
use catalogue::{SlotListDef, limits::SLOT_PLACES_MAX};
use runtime::clock::SteadyStopwatch;
use slot_lists::SlotList;
use tokio::time::timeout;
use web::{HttpProblem, visitor::VisitorClass};
use wire::mail_slots::PATH;

use crate::{
    apply::{ListOrder, find_clicked, find_list, find_once},
    config::ANSWER_TIME_MAX,
    decide::{find_image, find_page, list_life},
    deps::Deps,
    load::{load_reader, load_shown},
    read::{AskedList, AskedPlace},
};

/// Every opening asks anew: what stands there is decided then.
const UNKEPT: HeaderValue =
    HeaderValue::from_static("private, no-store, no-cache, max-age=0, must-revalidate");

/// The paths of slots.
pub fn router(deps: Deps) -> Router {
    Router::new()
        .route(&format!("/{PATH}/{{slots}}/{{place}}"), get(show_picture))
        .route(&format!("/{PATH}/{{slots}}/{{place}}/{}", render::SLOT_PAGE), get(follow_page))
        .with_state(deps)
}

async fn show_picture(
    State(deps): State<Deps>,
    Path((slots, place)): Path<(String, String)>,
    method: Method,
    headers: HeaderMap,
) -> Result<Response, HttpProblem> {
    let watch = SteadyStopwatch::start();
    let (asked, def) = find_asked(&deps, &slots, &place)?;
    let visitor = VisitorClass::of_request(&method, &headers);
    let image = find_shown_image(&deps, asked, def, visitor).await;
    let shown = if image.is_some() { "thing" } else { "banner" };
    deps.metrics.observe_request(("picture", visitor.name(), shown), watch.elapsed());
    lead_to(image.as_deref().unwrap_or(&def.instead.image))
}

async fn follow_page(
    State(deps): State<Deps>,
    Path((slots, place)): Path<(String, String)>,
    method: Method,
    headers: HeaderMap,
) -> Result<Response, HttpProblem> {
    let watch = SteadyStopwatch::start();
    let (asked, def) = find_asked(&deps, &slots, &place)?;
    let visitor = VisitorClass::of_request(&method, &headers);
    let found = timeout(ANSWER_TIME_MAX, find_link(&deps, &asked, def)).await;
    let link = match found {
        Ok(Ok(link)) => link,
        Ok(Err(error)) => note_failure(&error),
        Err(_) => None,
    };
    let shown = if link.is_some() { "thing" } else { "banner" };
    deps.metrics.observe_request(("page", visitor.name(), shown), watch.elapsed());
    lead_to(link.as_deref().unwrap_or(&def.instead.link))
}

/// The picture that a reader is shown at a place, for a page of the house that shows mails: to look at one is to open it. Nothing if
/// the address is none of ours.
pub async fn find_picture(deps: &Deps, slots: &str, place: &str) -> Option<String> {
    let (asked, def) = find_asked(deps, slots, place).ok()?;
    let image = find_shown_image(deps, asked, def, VisitorClass::Reader).await;
    Some(image.unwrap_or_else(|| def.instead.image.clone()))
}

/// The picture of the thing that somebody is shown at a place, if one stands there.
async fn find_shown_image(
    deps: &Deps,
    AskedPlace { slots, place }: AskedPlace,
    def: &SlotListDef,
    visitor: VisitorClass,
) -> Option<String> {
    find_image(&*find_shown(deps, &AskedList { slots, visitor }, def).await?, place, def)
}

/// What an address asks, and the list as the catalogue of today has it: one name is one list, whoever's mail it is.
fn find_asked<'d>(
    deps: &'d Deps,
    slots: &str,
    place: &str,
) -> Result<(AskedPlace, &'d SlotListDef), HttpProblem> {
    let unknown = || HttpProblem::not_found("there is no such slot (any more)");
    let asked = AskedPlace::parse(slots, place, &deps.secret).ok_or_else(unknown)?;
    if asked.place > usize::from(SLOT_PLACES_MAX) {
        return Err(unknown());
    }
    let def = deps.room.catalogue.arms().find_map(|(_, of)| of.slots.get(&asked.slots.list));
    let def = def.ok_or_else(unknown)?;
    Ok((asked, def))
}

/// The list of a mail; none where it cannot be found in time, for then the mail shows what stands instead.
async fn find_shown(deps: &Deps, asked: &AskedList, def: &SlotListDef) -> Option<Arc<SlotList>> {
    let seen = deps.board.lists.find(asked, list_life(def), deps.room.now());
    if seen.is_some() {
        return seen;
    }
    let find = find_once(deps, asked, find_for_reader(deps, asked, def));
    match timeout(ANSWER_TIME_MAX, find).await {
        Ok(Ok(list)) => Some(list),
        Ok(Err(error)) if error.is::<CrowdedError>() => {
            deps.metrics.count_list("crowded");
            None
        }
        Ok(Err(error)) => {
            deps.metrics.count_list("failed");
            note_failure(&error)
        }
        Err(_) => {
            deps.metrics.count_list("late");
            None
        }
    }
}

async fn find_for_reader(deps: &Deps, asked: &AskedList, def: &SlotListDef) -> anyhow::Result<SlotList> {
    // Of many who ask for one list only one is here.
    let finds =
        if asked.visitor == VisitorClass::Robot { &deps.board.robot_finds } else { &deps.board.finds };
    let _permit = finds.try_acquire().map_err(|_| CrowdedError)?;
    let reader = load_reader(deps, &asked.slots).await?;
    find_list(deps, ListOrder { asked, def, reader: reader.as_ref() }).await
}

/// Where a click leads; nowhere if nothing was shown there, or nothing of what was is left.
async fn find_link(deps: &Deps, asked: &AskedPlace, def: &SlotListDef) -> anyhow::Result<Option<Arc<str>>> {
    let _permit = deps.board.finds.try_acquire().map_err(|_| CrowdedError)?;
    let tenant = &asked.slots.tenant;
    let list = AskedList { slots: asked.slots.clone(), visitor: VisitorClass::Reader };
    let Some(list) = find_clicked(deps, &list).await? else { return Ok(None) };
    let world = load_shown(deps, tenant, &list, def).await?;
    let page = find_page(&list, &world, tenant, (def, asked.place), deps.room.now());
    Ok(page.map(|thing| thing.link))
}

/// Too many lists are looked for at once.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("too many lists are looked for at once")]
struct CrowdedError;

/// A mail is never shown an error: whoever runs the house is.
fn note_failure<T>(error: &anyhow::Error) -> Option<T> {
    tracing::warn!("slots are shown without their things: {error:#}");
    None
}

fn lead_to(address: &str) -> Result<Response, HttpProblem> {
    let address = HeaderValue::from_str(address).map_err(|error| HttpProblem::internal(&error.into()))?;
    let quiet = [
        (HeaderName::from_static("x-robots-tag"), HeaderValue::from_static("noindex, nofollow")),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    ];
    let leads = [(header::LOCATION, address), (header::CACHE_CONTROL, UNKEPT)];
    Ok((StatusCode::FOUND, quiet, leads).into_response())
}
