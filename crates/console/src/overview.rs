//! The first page: the last messages, who is told next, and in a demo the button that moves the clock there.

use std::sync::Arc;

use axum::{Router, extract::State, response::Response, routing::get};
use courier::outbox::OutboxSummary;
use house::person_windows;
use model::civil_time::Zone;
use serde_json::{Value, json};
use upkeep::quarantine;
use views::display;
use web::HttpProblem;

use super::{AppState, HttpApp, page::PageQuery, pauses};

/// Messages and windows that the page lists.
const LISTED: usize = 6;

pub fn routes() -> Router<Arc<HttpApp>> {
    Router::new().route("/", get(overview))
}

async fn overview(State(app): AppState, asked: PageQuery) -> Result<Response, HttpProblem> {
    let log = &*app.house.engines().topics;
    let remembered = person_windows::load_persons(log).await?;
    let open = remembered.open_windows(&app.tenant);
    let now = app.now();
    let listed = open.iter().take(LISTED).map(|(person, window)| {
        json!({
            "person": person.as_str(),
            "plan": window.plan.as_str(),
            "due": display::format_instant(window.due, &Zone::UTC),
            "until": display::format_until(window.due.since(now)),
        })
    });
    let (deferred, next_try) = remembered.deferred_messages(&app.tenant);
    let messages: Vec<Value> = app.list_newest(LISTED).iter().map(summary_values).collect();
    let own = json!({
        "messages": messages,
        "sent": app.count_messages(),
        "has_outbox": app.outbox.is_some(),
        "waiting": quarantine::count_items(log).await?,
        "open": open.len(),
        "is_cut": remembered.is_cut,
        "deferred": deferred,
        "next_try": next_try.map(|at| display::format_instant(at, &Zone::UTC)),
        "paused": pauses::view_pauses(&house::pauses::list_pauses(log).await?),
        "windows": listed.collect::<Vec<_>>(),
        "lag": app.house.stages().await?.iter().map(|stage| stage.lag).sum::<u64>(),
    });
    app.render_page("overview.html", &asked, own)
}

/// A line of the outbox.
pub(super) fn summary_values(mail: &OutboxSummary) -> Value {
    json!({
        "id": mail.message_id,
        "headline": mail.headline,
        "to": mail.to,
        "date": display::format_instant(mail.date, &Zone::UTC),
    })
}
