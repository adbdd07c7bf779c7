//! The HTTP of `up`: the way in, metrics, health, the admin paths of the command line, and the page.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{Request, State},
    http::{StatusCode, header},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
    routing::get,
};
use catalogue::Catalogue;
use courier::outbox::Outbox;
use model::{Millis, Tenant};
use tokio::time::timeout;

use crate::{config::ApiKey, datadir::DemoClock, disks::Disks, house::House, preview::Studio};

mod admin;
mod archive;
mod chart;
mod clock;
mod devices;
mod entries;
mod erase;
mod explain;
mod face;
mod front;
pub mod guard;
mod health;
pub mod look;
mod open;
mod outbox;
mod overview;
pub mod page;
mod person;
mod pipeline;
mod preview;
mod publish;
mod push;
mod quarantine;
mod release;
mod replay;
mod shares;
pub mod sink;
mod state;
mod suppressions;
#[cfg(test)]
mod tests;
mod told;
mod unknown;
mod unsubscribe;
mod visit;
pub mod waiting;
pub mod windows;

use guard::{Guard, Stopped};

pub use admin::UPSTREAM_BYTES_MAX;
pub use archive::Desk;
pub use front::Front;
pub use push::WebKey;
pub use shares::Counts;
pub use unsubscribe::Unsubscribe;
pub use visit::Visits;
pub use waiting::Waiting;

/// What the paths work with.
pub struct App {
    pub house: Arc<House>,
    pub catalogue: Arc<Catalogue>,
    pub outbox: Arc<Outbox>,
    pub clock: Arc<DemoClock>,
    pub tenant: Tenant,
    /// Whether the clock may be moved.
    pub is_demo: bool,
    pub guard: Guard,
    pub disk_low: ingest::DiskGauge,
    pub disks: Disks,
    pub intake: ingest::Config,
    pub pages: page::Pages,
    pub archive: Desk,
    pub replays: crate::replay::Desk,
    pub counts: Counts,
    pub unsubscribe: Unsubscribe,
    pub studio: Studio,
    pub web_key: WebKey,
    pub visits: Visits,
    /// For so long a page waits for the house to come to rest after something was done.
    pub rest_time: Duration,
}

/// The usual time for that: who looks at a page does not wait for longer.
pub const REST_TIME_MAX: Duration = Duration::from_secs(5);

/// What goes into every handler.
type Shared = State<Arc<App>>;

impl App {
    fn now(&self) -> Millis {
        Millis(self.clock.clock().now())
    }

    /// Waits a little for the house to do what there is to do; says whether it has.
    async fn rest(&self) -> bool {
        matches!(timeout(self.rest_time, self.house.settle()).await, Ok(Ok(())))
    }
    /// The way in over HTTP. With keys each request needs one; without, it is the house's own tenant.
    fn intake(&self, keys: &[ApiKey]) -> Router {
        let key = |key: &ApiKey| ingest::ApiKey::new(&key.key, key.tenant.clone());
        ingest::router(ingest::Http {
            ports: self.house.intake().clone(),
            config: self.intake.clone(),
            keys: (!keys.is_empty()).then(|| keys.iter().map(key).collect()),
            disk_low: self.disk_low.clone(),
        })
    }
}

/// All paths.
pub fn router(app: Arc<App>, keys: &[ApiKey]) -> Router {
    let pages = Router::new()
        .merge(overview::routes())
        .merge(pipeline::routes())
        .merge(outbox::routes())
        .merge(person::routes())
        .merge(preview::routes())
        .merge(told::routes())
        .merge(open::routes())
        .merge(publish::routes())
        .merge(push::routes())
        .merge(quarantine::routes())
        .merge(clock::routes())
        .layer(from_fn_with_state(app.clone(), page::known));
    let admin = admin::routes()
        .merge(Router::new().nest("/admin", app.intake(&[])).with_state(()))
        .layer(from_fn_with_state(app.clone(), admin::known));
    Router::new()
        .merge(pages)
        .merge(admin)
        .merge(health::routes(&app, keys))
        .route("/style.css", get(page::style))
        .merge(push::scripts())
        .fallback(page::missing)
        .with_state(app.clone())
        .merge(app.intake(keys))
        .merge(entries::routes(&app, keys))
        .layer(from_fn_with_state(app.clone(), guarded))
        // After the guard, and so outside of it.
        .merge(unsubscribe::routes(&app).with_state(app.clone()))
        .merge(visit::routes(&app).with_state(app))
}

/// The paths of a process without the way in: health and metrics.
pub fn of_machines(app: Arc<App>, keys: &[ApiKey]) -> Router {
    Router::new()
        .merge(health::routes(&app, keys))
        .fallback(page::missing)
        .with_state(app.clone())
        .layer(from_fn_with_state(app, guarded))
}

/// Around everything: who may ask, and what a browser may do with the answer.
async fn guarded(State(app): Shared, request: Request, next: Next) -> Response {
    let is_admitted = app.guard.admits(request.method(), request.headers());
    // Nothing of the house for a page of elsewhere, and for somebody who may not see it.
    let is_known = is_admitted.is_ok() && app.guard.is_known(request.headers());
    let asks_for_page = face::asks_for_page(&request);
    let mut response = match is_admitted {
        Ok(()) => next.run(request).await,
        Err(stopped) => page::stopped(request.uri().path(), stopped),
    };
    if asks_for_page {
        response = app.faced(response, (!is_known).then_some("/style.css")).await;
    }
    guard::harden(response.headers_mut());
    response
}

impl IntoResponse for Stopped {
    fn into_response(self) -> Response {
        let Self(status, what) = self;
        (status, [(header::CONTENT_TYPE, "text/plain; charset=utf-8")], format!("{what}\n")).into_response()
    }
}

/// A handler that could not do it.
pub struct Oops(anyhow::Error);

impl<E: Into<anyhow::Error>> From<E> for Oops {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for Oops {
    fn into_response(self) -> Response {
        tracing::error!(error = format!("{:#}", self.0), "a page could not be made");
        // What went wrong inside is for the log, not for whoever asks.
        Stopped(StatusCode::INTERNAL_SERVER_ERROR, "this did not work; the log says more").into_response()
    }
}
