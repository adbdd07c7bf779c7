//! The HTTP of `up`: the way in, metrics, health, the admin paths of the command line, and the page.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use aide::axum::ApiRouter;
use axum::{
    Router,
    extract::{Request, State},
    middleware::{Next, from_fn, from_fn_with_state},
    response::{IntoResponse as _, Response},
    routing::get,
};
use catalogue::{Catalogue, ReaderLanguage};
use courier::outbox::{OutboxCourier, OutboxSummary};
use house::{RoomName, RunningHouse};
use model::{Person, Tenant, UtcMillis};
use settings::config::ApiKeyConfig;
use shell::{datadir::DemoClock, disks::WatchedDisks};
use tokio::time::timeout;
use views::preview::PreviewStudio;
use web::{
    ApiKey, RequestGuard,
    api_key::{ApiKeyList, TenantAccess},
    description::begin_description,
    error_layer::describe_errors,
    guard,
    person_access::{PersonAccess, PersonDoor},
    problem_lookup,
};

mod admin;
mod archive;
mod bell;
mod chart;
mod clock;
mod description;
mod devices;
mod editions;
mod erase;
mod error_page;
mod explain;
mod health;
pub mod metrics;
mod outbox;
mod overview;
pub mod page;
mod pauses;
mod person;
mod pipeline;
mod preferences;
mod preview;
mod publish;
mod push;
mod push_mark;
mod quarantine;
mod reader_sheet;
mod reader_words;
mod release;
mod replay;
mod shares;
mod shares_page;
pub mod sink;
pub mod standby;
mod state;
mod suppressions;
mod swappable_router;
#[cfg(test)]
mod tests;
pub mod trial_mailbox;
mod unclear_messages;
mod unsubscribe;
mod visit;
mod window_acts;

pub use admin::UPSTREAM_BYTES_MAX;
pub use archive::ArchivingService;
pub use shares::ShareCountCache;
pub use standby::StandbyHouse;
pub use swappable_router::SwappableRouter;
pub use unsubscribe::UnsubscribeService;
pub use visit::VisitCounter;

/// What the paths work with.
pub struct HttpApp {
    pub house: Arc<RunningHouse>,
    pub catalogue: Arc<Catalogue>,
    /// Nothing where messages only leave by ways.
    pub outbox: Option<Arc<OutboxCourier>>,
    pub clock: Arc<DemoClock>,
    pub tenant: Tenant,
    /// Whose changes are taken here.
    pub tenants: BTreeSet<Tenant>,
    /// Whether the clock may be moved.
    pub is_demo: bool,
    pub guard: RequestGuard,
    /// The keys of services, and the tokens of persons, as they are now.
    pub keys: ApiKeyList,
    pub persons: PersonAccess,
    pub disk_low: ingest::DiskGauge,
    pub disks: WatchedDisks,
    pub intake: ingest::Config,
    pub pages: page::PageTemplates,
    pub archive: ArchivingService,
    pub replays: upkeep::replay::ReplayService,
    pub counts: ShareCountCache,
    pub unsubscribe: UnsubscribeService,
    pub studio: PreviewStudio,
    pub web_key: views::devices::WebKey,
    pub visits: VisitCounter,
    /// For so long a page waits for the house to come to rest after something was done.
    pub rest_time: Duration,
}

/// The usual time for that: who looks at a page does not wait for longer.
pub const REST_TIME_MAX: Duration = Duration::from_secs(5);

/// What goes into every handler.
type AppState = State<Arc<HttpApp>>;

impl HttpApp {
    /// The one that a person has.
    fn catalogue_of(&self, person: &Person) -> &Catalogue {
        self.catalogue.for_person(person)
    }

    fn now(&self) -> UtcMillis {
        UtcMillis(self.clock.clock().now())
    }

    /// Waits a little for the house to do what there is to do; says whether it has.
    async fn wait_for_rest(&self) -> bool {
        matches!(timeout(self.rest_time, self.house.settle()).await, Ok(Ok(())))
    }

    /// The newest messages of the outbox, as many as there are at most.
    fn list_newest(&self, most: usize) -> Vec<OutboxSummary> {
        self.outbox.as_ref().map(|outbox| outbox.list_newest(most)).unwrap_or_default()
    }

    /// How many messages the outbox has; nothing where there is none.
    fn count_messages(&self) -> Option<usize> {
        self.outbox.as_ref().map(|outbox| outbox.len())
    }

    /// The way in over HTTP. With keys each request needs one; without, it is the house's own tenant.
    fn intake(&self, keys: ApiKeyList) -> ApiRouter {
        ingest::api_router(ingest::HttpIntake {
            deps: self.house.intake().clone(),
            config: self.intake.clone(),
            keys,
            disk_low: self.disk_low.clone(),
        })
    }

    /// Who may ask for what is of one person.
    fn person_door(&self) -> PersonDoor {
        let services = TenantAccess { keys: self.keys.clone(), tenant: self.tenant.clone() };
        PersonDoor { services, persons: self.persons.clone() }
    }
}

/// The keys of a configuration, where one is needed: a house that others may reach is open to nobody without.
pub fn list_api_keys(keys: &[ApiKeyConfig], is_locked: bool) -> Option<Vec<ApiKey>> {
    let key =
        |key: &ApiKeyConfig| ApiKey::from_digest(key.hash.bytes(), key.tenant.clone(), key.scopes.clone());
    is_locked.then(|| keys.iter().map(key).collect())
}

/// The paths of persons, where the room is that serves them.
fn person_router(app: &Arc<HttpApp>) -> ApiRouter {
    if !app.house.runs_room(RoomName::Feed) {
        return ApiRouter::new();
    }
    let feed = feed::HttpFeed { deps: app.house.feed().clone(), door: app.person_door() };
    feed::api_router(feed).merge(preferences::routes(app))
}

/// The slots of mails, where the room is that fills them. They stand outside of the guard: mails are opened anywhere, and each address
/// is signed.
fn slots_router(app: &HttpApp) -> Router {
    match app.house.runs_room(RoomName::Slots) {
        true => slots::router(app.house.slots().clone()).layer(from_fn(describe_errors)),
        false => Router::new(),
    }
}

/// All paths.
pub fn router(app: Arc<HttpApp>) -> Router {
    let pages = Router::new()
        .merge(overview::routes())
        .merge(pauses::routes())
        .merge(pipeline::routes())
        .merge(outbox::routes())
        .merge(person::routes())
        .merge(preview::routes())
        .merge(shares_page::routes())
        .merge(window_acts::routes())
        .merge(publish::routes())
        .merge(push::routes())
        .merge(bell::routes())
        .merge(quarantine::routes())
        .merge(clock::routes())
        .layer(from_fn_with_state(app.clone(), page::require_session));
    begin_description();
    let operators = ApiRouter::new().nest("/admin", app.intake(ApiKeyList::default()).with_state(()));
    let admin = admin::routes()
        .merge(operators.with_path_items(description::describe_for_operators))
        .layer(from_fn_with_state(app.clone(), admin::require_admin));
    let described = ApiRouter::new()
        .merge(admin)
        .merge(health::routes(&app))
        .merge(problem_lookup::routes())
        .with_state(app.clone())
        .merge(app.intake(app.keys.clone()))
        .merge(person_router(&app));
    Router::new()
        .merge(pages)
        .route("/style.css", get(page::style))
        .merge(push::scripts())
        .merge(bell::scripts())
        .fallback(page::answer_missing)
        .with_state(app.clone())
        .merge(description::publish(described))
        .layer(from_fn(describe_errors))
        .layer(from_fn_with_state(app.clone(), guard_request))
        // After the guard, and so outside of it.
        .merge(unsubscribe::routes(&app).with_state(app.clone()))
        .merge(push_mark::routes(&app).with_state(app.clone()))
        .merge(slots_router(&app))
        .merge(visit::routes(&app).with_state(app))
}

/// The paths of a process without the way in: health and metrics, and those of feeds and slots if it has these rooms.
pub fn machine_router(app: Arc<HttpApp>) -> Router {
    begin_description();
    let described = ApiRouter::new()
        .merge(health::routes(&app))
        .merge(problem_lookup::routes())
        .with_state(app.clone())
        .merge(person_router(&app));
    Router::new()
        .fallback(page::answer_missing)
        .with_state(app.clone())
        .merge(description::publish(described))
        .layer(from_fn(describe_errors))
        .layer(from_fn_with_state(app.clone(), guard_request))
        .merge(slots_router(&app))
}

/// Around everything: who may ask, and what a browser may do with the answer.
async fn guard_request(State(app): AppState, request: Request, next: Next) -> Response {
    let is_admitted = app.guard.admits_persons(request.method(), request.headers(), &app.persons);
    // Nothing of the house for a page of elsewhere, and for somebody who may not see it.
    let is_known = is_admitted.is_ok() && app.guard.is_known(request.headers());
    let asks_for_page = error_page::asks_for_page(&request);
    let mut response = match is_admitted {
        Ok(()) => next.run(request).await,
        Err(stopped) => stopped.into_response(),
    };
    if asks_for_page {
        response = app
            .with_error_page(response, (!is_known).then(|| ("/style.css", ReaderLanguage::plain_english())))
            .await;
    }
    guard::harden_headers(response.headers_mut());
    response
}
