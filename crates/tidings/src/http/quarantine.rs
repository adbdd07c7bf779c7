//! The quarantine's page: what could not be used, and two buttons.

use std::sync::Arc;

use axum::{
    Form, Router,
    extract::{Query, State, rejection::FormRejection},
    http::StatusCode,
    response::Response,
    routing::get,
};
use model::{Millis, civil::Zone};
use serde::Deserialize;
use serde_json::json;

use super::{
    App, Oops, Shared, look,
    page::{self, Asked},
};
use crate::quarantine::{self, Item, Verdict};

/// Items that the page shows; the oldest first, and more when these are settled.
const SHOWN_MAX: usize = 50;
/// Characters of a value that are shown; `tidings quarantine show` has the rest.
const VALUE_CHARS_SHOWN: usize = 600;

pub fn routes() -> Router<Arc<App>> {
    Router::new().route("/quarantine", get(list).post(settle))
}

async fn list(State(app): Shared, Query(asked): Query<Asked>) -> Result<Response, Oops> {
    let items = quarantine::list(&*app.house.engines().topics).await?;
    let shown = items.iter().take(SHOWN_MAX).map(|item: &Item| {
        let value = item.value.as_deref().unwrap_or_default();
        json!({
            "number": item.number,
            "reason": item.reason,
            "room": item.room,
            "at": Millis::parse(&item.at).map_or_else(|| item.at.clone(), |at| look::instant(at, &Zone::UTC)),
            "place": format!("{}, partition {}, offset {}", item.topic, item.partition, item.offset),
            "value": value.chars().take(VALUE_CHARS_SHOWN).collect::<String>(),
            "is_cut": item.cut || value.chars().count() > VALUE_CHARS_SHOWN,
        })
    });
    let own = json!({"items": shown.collect::<Vec<_>>(), "count": items.len()});
    app.page("quarantine.html", &asked, own)
}

#[derive(Deserialize)]
struct Settle {
    csrf: String,
    verdict: Verdict,
    item: u64,
}

impl page::Signed for Settle {
    fn csrf(&self) -> &str {
        &self.csrf
    }
}

async fn settle(State(app): Shared, form: Result<Form<Settle>, FormRejection>) -> Result<Response, Oops> {
    let Some(asked) = app.ours(form) else { return Ok(app.too_old()) };
    let log = &*app.house.engines().topics;
    match quarantine::settle(log, Some(&[asked.item]), asked.verdict, app.now()).await {
        Ok(_) => Ok(page::go(match asked.verdict {
            Verdict::Retry => "/quarantine?done=retried",
            Verdict::Drop => "/quarantine?done=dropped",
        })),
        Err(error) => Ok(app.saying(StatusCode::CONFLICT, "Not done", &format!("{error:#}"))),
    }
}
