//! The demo's clock: it moves forward, and what is due by then is done.

use std::sync::Arc;

use axum::{
    Form, Router,
    extract::{State, rejection::FormRejection},
    http::StatusCode,
    response::Response,
    routing::get,
};
use house::person_windows;
use model::{
    UtcMillis,
    civil_time::{self, Zone},
    limits::DAY_MS,
    plan::LocalTime,
};
use serde::Deserialize;
use serde_json::json;
use views::display;
use web::HttpProblem;

use super::{AppState, HttpApp, page, page::PageQuery};

const HOUR_MS: i64 = 3_600_000;
const WEEK_MS: i64 = 7 * DAY_MS;
/// One jump at most: longer than any window, shorter than the life of a day.
pub const JUMP_MS_MAX: i64 = 8 * DAY_MS;
/// When whoever lives by UTC has had the mail of nine o'clock, also if it spreads over some minutes.
const MORNING: LocalTime = LocalTime { hour: 9, minute: 30 };

pub fn routes() -> Router<Arc<HttpApp>> {
    Router::new().route("/clock", get(show_clock).post(jump_clock))
}

async fn show_clock(State(app): AppState, asked: PageQuery) -> Result<Response, HttpProblem> {
    let remembered = person_windows::load_persons(&*app.house.engines().topics).await?;
    let now = app.now();
    let due = remembered.next_due();
    let own = json!({
        "ahead": display::format_until(app.clock.clock().ahead()).replacen("in ", "", 1),
        "is_ahead": app.clock.clock().ahead() >= 60_000,
        "due": due.map(|due| display::format_instant(due, &Zone::UTC)),
        "due_until": due.map(|due| display::format_until(due.since(now))),
        "due_person": remembered.open_windows(&app.tenant).first().map(|(person, _)| person.to_string()),
        "morning": display::format_instant(next_morning(now), &Zone::UTC),
    });
    app.render_page("clock.html", &asked, own)
}

#[derive(Deserialize)]
struct ClockForm {
    csrf: String,
    to: String,
    /// The page that it was asked on.
    #[serde(default)]
    from: String,
}

impl page::SignedForm for ClockForm {
    fn csrf(&self) -> &str {
        &self.csrf
    }
}

async fn jump_clock(
    State(app): AppState,
    form: Result<Form<ClockForm>, FormRejection>,
) -> Result<Response, HttpProblem> {
    let Some(asked) = app.own_form(form) else { return Ok(app.outdated_form()) };
    if !app.is_demo {
        let text = "Only a demo has a clock that can be moved: start with --demo.";
        return Ok(app.notice_page(StatusCode::FORBIDDEN, "The clock cannot be moved", text));
    }
    let back = if asked.from == "/" { "/" } else { "/clock" };
    Ok(match move_to(&app, JumpTarget::Instant(&asked.to)).await? {
        Some(true) => page::redirect_to(&format!("{back}?done=moved")),
        Some(false) => page::redirect_to(&format!("{back}?done=moving")),
        None => {
            app.notice_page(StatusCode::BAD_REQUEST, "When?", "The clock cannot be moved to this instant.")
        }
    })
}

/// Where the clock goes.
#[derive(Clone, Copy, Debug)]
pub enum JumpTarget<'a> {
    /// A named instant.
    Instant(&'a str),
    /// So far from now.
    Ahead { ms: i64 },
}

/// When something is due next.
pub async fn next_due(app: &HttpApp) -> anyhow::Result<Option<UtcMillis>> {
    Ok(person_windows::load_persons(&*app.house.engines().topics).await?.next_due())
}

/// Moves the clock of a demo. Returns whether the house came to rest there, or `None` for an unknown instant.
pub async fn move_to(app: &HttpApp, to: JumpTarget<'_>) -> anyhow::Result<Option<bool>> {
    // Otherwise a window that is about to open could be jumped over.
    app.wait_for_rest().await;
    let now = app.now();
    let to = match to {
        JumpTarget::Instant("hour") => now.plus(HOUR_MS),
        JumpTarget::Instant("day") => now.plus(DAY_MS),
        JumpTarget::Instant("week") => now.plus(WEEK_MS),
        JumpTarget::Instant("morning") => next_morning(now),
        JumpTarget::Instant("due") => next_due(app).await?.unwrap_or(now),
        JumpTarget::Instant(_) => return Ok(None),
        JumpTarget::Ahead { ms } => now.plus(ms),
    };
    let ms = to.since(now).clamp(0, JUMP_MS_MAX);
    let clock = app.clock.clone();
    tokio::task::spawn_blocking(move || clock.advance(ms)).await??;
    tracing::info!(ms, "the clock was moved forward");
    Ok(Some(app.wait_for_rest().await))
}

/// Half past nine, UTC, tomorrow.
fn next_morning(now: UtcMillis) -> UtcMillis {
    let tomorrow = civil_time::local_date(now, &Zone::UTC).saturating_add(1);
    civil_time::local_instant(tomorrow, MORNING, &Zone::UTC).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tomorrow_morning_is_tomorrow() {
        let check = |now: &str, morning: &str| {
            assert_eq!(next_morning(UtcMillis::parse(now).unwrap()), UtcMillis::parse(morning).unwrap());
        };
        check("2026-11-21T00:00:00Z", "2026-11-22T09:30:00Z");
        check("2026-11-21T23:59:59Z", "2026-11-22T09:30:00Z");
    }
}
