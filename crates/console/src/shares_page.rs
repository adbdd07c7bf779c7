//! The page of what was told: each day's share as a bar, each kind's, and when the windows of each plan are due.
//!
//! The bars are drawn here, as rectangles in a picture without words; the words and numbers stand beside them in a
//! table, for readers who cannot see the bars and for narrow screens.

use std::{cmp::Reverse, sync::Arc};

use axum::{
    Router,
    extract::{Query, State},
    http::StatusCode,
    response::Response,
    routing::get,
};
use model::Day;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use views::display;
use views::shares::{
    DAYS_BACK, EntryShare, ToldShares,
    due_windows::{DueCounts, DueWindows},
};
use web::HttpProblem;

use super::{AppState, HttpApp, page::PageQuery, shares};

/// How far back a page may look: each has a count of its own, so there are few.
const BACK: [i32; 3] = [1, DAYS_BACK, 21];
/// Kinds and plans that are listed; of more only the number is said.
const LISTED_MAX: usize = 20;
/// How wide a picture is; it is stretched to where it stands.
const WIDTH: u64 = 1_000;
/// What is there is seen.
const WIDTH_MIN: u64 = 8;

pub fn routes() -> Router<Arc<HttpApp>> {
    Router::new().route("/told", get(show_shares))
}

#[derive(Deserialize)]
struct SharesPageQuery {
    days: Option<String>,
}

async fn show_shares(
    State(app): AppState,
    Query(SharesPageQuery { days }): Query<SharesPageQuery>,
    asked: PageQuery,
) -> Result<Response, HttpProblem> {
    let back = days.as_deref().map_or(Some(DAYS_BACK), |text| text.parse().ok());
    let Some(back) = back.filter(|back| BACK.contains(back)) else {
        let why = "This page looks 1, 7 or 21 days back; `tidings shares --since` looks back as far as days are kept.";
        return Ok(app.notice_page(StatusCode::BAD_REQUEST, "Choose 1, 7 or 21 days", why));
    };
    // Today is one of them.
    let shares = shares::load_recent_shares(&app, back - 1).await?;
    app.render_page("told.html", &asked, shares_values(&shares, back))
}

/// The values of the page.
pub(super) fn shares_values(shares: &ToldShares, back: i32) -> Value {
    let ToldShares { rows, cut, total, days, due, .. } = shares;
    let tab = |days: &i32| json!({"days": days, "is_here": *days == back});
    let date = |day: &String| Day::parse(day).map_or_else(|| day.clone(), display::format_date);
    let mut kinds: Vec<(&String, &EntryShare)> = total.kinds.iter().collect();
    kinds.sort_by_key(|(name, share)| (Reverse(share.entries), *name));
    let kind = |(name, share): &(&String, &EntryShare)| line(name, share);
    json!({
        "tabs": BACK.iter().map(tab).collect::<Vec<_>>(),
        "rows": rows,
        "cut": cut.as_ref().map(date),
        "total": line("", &total.share),
        "days": days.iter().map(|day| line(&date(&day.day), &day.tally.share)).collect::<Vec<_>>(),
        "arms": total.arms.iter().map(|(arm, share)| line(arm, share)).collect::<Vec<_>>(),
        "kinds": kinds.iter().take(LISTED_MAX).map(kind).collect::<Vec<_>>(),
        "kinds_more": kinds.len().saturating_sub(LISTED_MAX),
        "due": due.as_ref().map(windows),
    })
}

fn line(name: &str, share: &EntryShare) -> Value {
    let EntryShare { entries, told, waiting, ended, told_percent } = share;
    let parts = [("told", *told), ("waiting", *waiting), ("ended", *ended)];
    json!({
        "name": name,
        "entries": entries,
        "told": told,
        "waiting": waiting,
        "ended": ended,
        "percent": told_percent.map(|percent| format!("{percent:.1}")),
        "bars": bars(&parts, *entries),
    })
}

fn windows(due: &DueWindows) -> Value {
    let mut plans: Vec<(&String, &DueCounts)> = due.plans.iter().collect();
    plans.sort_by_key(|(name, soon)| (Reverse(soon.open), *name));
    // Beside one another, so one measure for all of them.
    let most = plans.first().map_or(0, |(_, soon)| soon.open);
    let plan = |(name, soon): &(&String, &DueCounts)| {
        let DueCounts { open: _, now, minute, hour, day, later } = **soon;
        let parts = [
            ("due-now", now),
            ("due-minute", minute),
            ("due-hour", hour),
            ("due-day", day),
            ("due-later", later),
        ];
        json!({"name": name, "due": soon, "bars": bars(&parts, most)})
    };
    json!({
        "now": due.total.now,
        "open": due.total.open,
        "cut": due.cut,
        "deferred": due.deferred,
        "plans": plans.iter().take(LISTED_MAX).map(plan).collect::<Vec<_>>(),
        "plans_more": plans.len().saturating_sub(LISTED_MAX),
    })
}

/// A rectangle of a bar.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct ShareBar {
    /// What it is of, which gives it its colour.
    is: &'static str,
    x: u64,
    width: u64,
}

/// Parts of a whole one behind the other, each as wide as its share. What is there is wide enough to be seen, which the
/// widest pays for.
fn bars(parts: &[(&'static str, u64)], whole: u64) -> Vec<ShareBar> {
    let wide = |count: u64| {
        let width = u128::from(count) * u128::from(WIDTH) / u128::from(whole.max(1));
        u64::try_from(width).unwrap_or(WIDTH).clamp(WIDTH_MIN, WIDTH)
    };
    let there = parts.iter().filter(|(_, count)| *count > 0);
    let mut bars: Vec<ShareBar> =
        there.map(|(is, count)| ShareBar { is, x: 0, width: wide(*count) }).collect();
    let over = bars.iter().map(|bar| bar.width).sum::<u64>().saturating_sub(WIDTH);
    if let Some(widest) = bars.iter_mut().max_by_key(|bar| bar.width) {
        widest.width = widest.width.saturating_sub(over);
    }
    let mut x = 0;
    for bar in &mut bars {
        bar.x = x;
        x += bar.width;
    }
    bars
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_wide_as_its_share() {
        let check = |counts: [u64; 3], whole: u64, expect: &[(&str, u64, u64)]| {
            let [told, waiting, ended] = counts;
            let found = bars(&[("told", told), ("waiting", waiting), ("ended", ended)], whole);
            let found: Vec<_> = found.iter().map(|bar| (bar.is, bar.x, bar.width)).collect();
            assert_eq!(found, expect, "{counts:?} of {whole}");
        };
        check([0, 0, 0], 0, &[]);
        check([2, 1, 1], 4, &[("told", 0, 500), ("waiting", 500, 250), ("ended", 750, 250)]);
        check([0, 0, 7], 7, &[("ended", 0, 1_000)]);
        check([1, 0, 0], 4, &[("told", 0, 250)]);
        // What hardly is there is seen, and the bar is no longer for it.
        check([1_000_000, 1, 0], 1_000_001, &[("told", 0, 992), ("waiting", 992, 8)]);
        check([u64::MAX, 0, 0], u64::MAX, &[("told", 0, 1_000)]);
        check([u64::MAX, u64::MAX, 0], u64::MAX, &[("told", 0, 1_000), ("waiting", 1_000, 0)]);
    }
}
