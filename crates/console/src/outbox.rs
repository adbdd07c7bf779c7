//! The outbox: every mail as its reader sees it, as text, and with its headers. The HTML of a mail is shown
//! in a frame that can neither run nor load anything: it holds what upstream services say. Pictures that the
//! catalogue itself has are put into it ([`pictures`]).

use std::sync::Arc;

use axum::{
    Router,
    extract::{Query, State},
    http::{StatusCode, header},
    response::{Html, IntoResponse as _, Response},
    routing::get,
};
use courier::outbox::OutboxMail;
use serde::Deserialize;
use serde_json::{Value, json};
use web::{HttpProblem, guard::MAIL_POLICY};

use super::{AppState, HttpApp, overview::summary_values, page::PageQuery};

mod pictures;
mod slots;

/// Mails that the list shows, newest first.
const MAILS_LISTED: usize = 100;
/// The ways to look at a mail, by the word in the address and the one on the tab.
const TABS: [(&str, &str); 4] =
    [("html", "HTML"), ("text", "Text"), ("headers", "Headers"), ("raw", "Source")];

/// Pictures from elsewhere are not loaded, and a browser's broken-image icon says less than their text: a
/// sheet over the icon repeats it, in the size and the colours that the mail gives to its pictures.
const NO_PICTURES: &str = "<style>\
    :where(img:not([src^='data:'])){background-color:#eee;background-color:light-dark(#eee,#333);\
    color:#444;color:light-dark(#444,#bbb);min-height:1.5em}\
    img:not([src^='data:']){position:relative;overflow:hidden;font:14px/1.5 sans-serif}\
    img:not([src^='data:'])::after{content:attr(alt);position:absolute;inset:0;background:inherit;color:inherit}\
    </style>";

pub fn routes() -> Router<Arc<HttpApp>> {
    Router::new()
        .route("/outbox", get(list_mails))
        .route("/outbox/mail", get(mail))
        .route("/outbox/html", get(html))
}

async fn list_mails(State(app): AppState, asked: PageQuery) -> Result<Response, HttpProblem> {
    let mails: Vec<_> = app.list_newest(MAILS_LISTED).iter().map(summary_values).collect();
    app.render_page(
        "outbox.html",
        &asked,
        json!({"mails": mails, "count": app.count_messages(), "most": MAILS_LISTED, "has_outbox": app.outbox.is_some()}),
    )
}

impl HttpApp {
    async fn read_mail(&self, id: &str) -> anyhow::Result<Option<OutboxMail>> {
        match &self.outbox {
            Some(outbox) => Ok(outbox.read_mail(id).await?),
            None => Ok(None),
        }
    }
}

#[derive(Deserialize)]
struct OutboxMailQuery {
    id: String,
    show: Option<String>,
}

async fn mail(
    State(app): AppState,
    Query(OutboxMailQuery { id, show }): Query<OutboxMailQuery>,
    asked: PageQuery,
) -> Result<Response, HttpProblem> {
    let Some(mail) = app.read_mail(&id).await? else { return Ok(no_such_mail(&app)) };
    app.render_page("mail.html", &asked, mail_values(&mail, &id, show.as_deref(), ("outbox", "Outbox")))
}

/// What the page of a mail says, in a box with a path and a name.
pub(super) fn mail_values(
    mail: &OutboxMail,
    id: &str,
    show: Option<&str>,
    (path, name): (&str, &str),
) -> Value {
    let show = TABS.iter().find(|(tab, _)| Some(*tab) == show).map_or("html", |(tab, _)| *tab);
    let header = |name: &str| mail.header(name).unwrap_or_default();
    let headers: Vec<_> =
        mail.headers.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
    json!({
        "box": {"path": path, "name": name},
        "id": id,
        "show": show,
        "tabs": TABS.iter().map(|(tab, name)| json!({"tab": tab, "name": name})).collect::<Vec<_>>(),
        "headline": header("subject"),
        "from": header("from"),
        "to": header("to"),
        "date": header("date"),
        "text": mail.text,
        "headers": headers,
        "raw": String::from_utf8_lossy(&mail.raw),
    })
}

/// The HTML of a mail, for the frame.
async fn html(
    State(app): AppState,
    Query(OutboxMailQuery { id, .. }): Query<OutboxMailQuery>,
) -> Result<Response, HttpProblem> {
    let Some(OutboxMail { html, .. }) = app.read_mail(&id).await? else {
        return Ok(no_such_mail(&app));
    };
    let html = slots::fill_slots(&html, app.house.slots()).await;
    Ok(frame_html(&html, &app.catalogue.file).await)
}

/// The HTML of a mail in its sandbox, with the pictures that its catalogue has.
pub(super) async fn frame_html(html: &str, catalogue_file: &str) -> Response {
    sandbox_html(&pictures::fill_pictures(html, catalogue_file).await)
}

/// The HTML of a mail in its sandbox.
pub(super) fn sandbox_html(html: &str) -> Response {
    let policy = [(header::CONTENT_SECURITY_POLICY, MAIL_POLICY), (header::X_FRAME_OPTIONS, "SAMEORIGIN")];
    (policy, Html(format!("{html}{NO_PICTURES}"))).into_response()
}

fn no_such_mail(app: &HttpApp) -> Response {
    app.notice_page(StatusCode::NOT_FOUND, "No such mail", "There is no mail with this id in the outbox.")
}
