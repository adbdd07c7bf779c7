//! The quarantine's page: what could not be used, and two buttons.

use std::sync::Arc;

use axum::{
    Form, Router,
    extract::{State, rejection::FormRejection},
    http::StatusCode,
    response::Response,
    routing::get,
};
use model::{UtcMillis, civil_time::Zone};
use serde::Deserialize;
use serde_json::json;
use upkeep::quarantine::{self, QuarantineItemView, QuarantineVerdict};
use views::display;
use web::HttpProblem;

use super::{AppState, HttpApp, page, page::PageQuery};

/// Items that the page shows; the oldest first, and more when these are settled.
const SHOWN_MAX: usize = 50;
/// Characters of a value that are shown; `tidings quarantine show` has the rest.
const VALUE_CHARS_SHOWN: usize = 600;

pub fn routes() -> Router<Arc<HttpApp>> {
    Router::new().route("/quarantine", get(show_quarantine).post(settle_item))
}

async fn show_quarantine(State(app): AppState, asked: PageQuery) -> Result<Response, HttpProblem> {
    let items = quarantine::list_items(&*app.house.engines().topics).await?;
    let shown = items.iter().take(SHOWN_MAX).map(|item: &QuarantineItemView| {
        let value = item.value.as_deref().unwrap_or_default();
        json!({
            "number": item.number,
            "reason": item.reason,
            "room": item.room,
            "at": UtcMillis::parse(&item.at).map_or_else(|| item.at.clone(), |at| display::format_instant(at, &Zone::UTC)),
            "place": format!("{}, partition {}, offset {}", item.topic, item.partition, item.offset),
            "value": value.chars().take(VALUE_CHARS_SHOWN).collect::<String>(),
            "is_cut": item.cut || value.chars().count() > VALUE_CHARS_SHOWN,
        })
    });
    let own = json!({"items": shown.collect::<Vec<_>>(), "count": items.len()});
    app.render_page("quarantine.html", &asked, own)
}

#[derive(Deserialize)]
struct QuarantineForm {
    csrf: String,
    verdict: QuarantineVerdict,
    item: u64,
}

impl page::SignedForm for QuarantineForm {
    fn csrf(&self) -> &str {
        &self.csrf
    }
}

async fn settle_item(
    State(app): AppState,
    form: Result<Form<QuarantineForm>, FormRejection>,
) -> Result<Response, HttpProblem> {
    let Some(asked) = app.own_form(form) else { return Ok(app.outdated_form()) };
    let log = &*app.house.engines().topics;
    match quarantine::settle_items(log, Some(&[asked.item]), asked.verdict, app.now()).await {
        Ok(_) => Ok(page::redirect_to(match asked.verdict {
            QuarantineVerdict::Retry => "/quarantine?done=retried",
            QuarantineVerdict::Drop => "/quarantine?done=dropped",
        })),
        Err(error) => Ok(app.notice_page(StatusCode::CONFLICT, "Not done", &format!("{error:#}"))),
    }
}
