//! What waits for the reader of a mail: what that mail had no room for, and what came since, as it stands now.

use axum::{
    extract::{Path, State},
    http::HeaderMap,
    response::Response,
};
use model::Channel;
use serde_json::{Value as Json, json};
use views::preview::LookupContext;

use super::{
    AppState, BUSY, HttpProblem, MailPreferences, ProblemType, accepted_text, choices, is_young,
    page_language, sender_of,
};

pub const TOO_OLD: HttpProblem = HttpProblem::from_text(
    ProblemType::Forbidden,
    "this mail is too old to show what is new; it may be in other hands by now",
);

pub async fn show_rest(
    State(app): AppState,
    Path(text): Path<String>,
    headers: HeaderMap,
) -> Result<Response, HttpProblem> {
    let token = app.unsubscribe.read(&text)?;
    // It says what somebody follows, which ending their mails does not.
    if !is_young(&token, app.now()) {
        return Err(TOO_OLD);
    }
    let _permit = app.unsubscribe.permit()?;
    let _list = app.unsubscribe.lists.try_acquire().map_err(|_| BUSY)?;
    let known = MailPreferences::load(&app, &token).await?;
    let is_told =
        token.channel == Channel::Email && app.catalogue_of(&token.person).mails.contains_key(&token.plan);
    let (items, more) = match &known {
        // What goes by another plan by now waits there.
        Some(_) if is_told => {
            let engines = app.house.engines();
            let (log, store) = (&*engines.topics, &*engines.store);
            let plans = [choices(&token, app.catalogue_of(&token.person)), vec![token.plan.clone()]].concat();
            let at = LookupContext { log, store, tenant: &token.tenant, now: app.now() };
            app.studio.list_rest(&token.person, plans, at).await?
        }
        _ => (Vec::new(), 0),
    };
    // What waits is told in the language of the mails, and so is all around it.
    let accepted = accepted_text(&headers).filter(|_| items.is_empty());
    let language = page_language(&app, &token, known.as_ref(), accepted.as_deref());
    let items: Vec<Json> =
        items.iter().map(|item| json!({"says": item.says, "why": item.why, "page": item.page})).collect();
    let own = json!({
        "sender": sender_of(&app, &token),
        "is_off": known.as_ref().is_some_and(|known| known.is_off(token.channel)),
        "is_gone": known.is_none(),
        "items": items,
        "more": more,
        "token": text,
    });
    Ok(app.render_alone("rest.html", &own, &language)?)
}
