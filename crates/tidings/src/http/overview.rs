//! The first page: the last messages, who is told next, and in a demo the button that moves the clock there.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Query, State},
    response::Response,
    routing::get,
};
use courier::outbox::Summary;
use model::civil::Zone;
use serde_json::{Value, json};

use super::{App, Oops, Shared, look, page::Asked, windows};
use crate::quarantine;

/// Messages and windows that the page lists.
const LISTED: usize = 6;

pub fn routes() -> Router<Arc<App>> {
    Router::new().route("/", get(overview))
}

async fn overview(State(app): Shared, Query(asked): Query<Asked>) -> Result<Response, Oops> {
    let log = &*app.house.engines().topics;
    let remembered = windows::everybody(log).await?;
    let open = remembered.open(&app.tenant);
    let now = app.now();
    let listed = open.iter().take(LISTED).map(|(person, window)| {
        json!({
            "person": person.as_str(),
            "plan": window.plan.as_str(),
            "due": look::instant(window.due, &Zone::UTC),
            "until": look::until(window.due.since(now)),
        })
    });
    let messages: Vec<Value> = app.outbox.list(LISTED).iter().map(message).collect();
    let own = json!({
        "messages": messages,
        "sent": app.outbox.len(),
        "waiting": quarantine::count(log).await?,
        "open": open.len(),
        "is_cut": remembered.is_cut,
        "windows": listed.collect::<Vec<_>>(),
        "lag": app.house.stages().await?.iter().map(|stage| stage.lag).sum::<u64>(),
    });
    app.page("overview.html", &asked, own)
}

/// A line of the outbox.
pub(super) fn message(mail: &Summary) -> Value {
    json!({
        "id": mail.message_id,
        "headline": mail.headline,
        "to": mail.to,
        "date": look::instant(mail.date, &Zone::UTC),
    })
}
