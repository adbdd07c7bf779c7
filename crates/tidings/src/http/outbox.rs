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
use courier::outbox::Mail;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{App, Oops, Shared, guard::MAIL_POLICY, overview::message, page::Asked};

mod pictures;

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

pub fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/outbox", get(list))
        .route("/outbox/mail", get(mail))
        .route("/outbox/html", get(html))
}

async fn list(State(app): Shared, Query(asked): Query<Asked>) -> Result<Response, Oops> {
    let mails: Vec<_> = app.outbox.list(MAILS_LISTED).iter().map(message).collect();
    app.page("outbox.html", &asked, json!({"mails": mails, "count": app.outbox.len(), "most": MAILS_LISTED}))
}

#[derive(Deserialize)]
struct Which {
    id: String,
    show: Option<String>,
}

async fn mail(
    State(app): Shared,
    Query(Which { id, show }): Query<Which>,
    Query(asked): Query<Asked>,
) -> Result<Response, Oops> {
    let Some(mail) = app.outbox.read(&id).await? else { return Ok(gone(&app)) };
    app.page("mail.html", &asked, shown(&mail, &id, show.as_deref(), ("outbox", "Outbox")))
}

/// What the page of a mail says, in a box with a path and a name.
pub(super) fn shown(mail: &Mail, id: &str, show: Option<&str>, (path, name): (&str, &str)) -> Value {
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
async fn html(State(app): Shared, Query(Which { id, .. }): Query<Which>) -> Result<Response, Oops> {
    let Some(Mail { html, .. }) = app.outbox.read(&id).await? else { return Ok(gone(&app)) };
    Ok(framed(&html, &app.catalogue.file).await)
}

/// The HTML of a mail in its sandbox, with the pictures that its catalogue has.
pub(super) async fn framed(html: &str, catalogue_file: &str) -> Response {
    sandboxed(&pictures::filled(html, catalogue_file).await)
}

/// The HTML of a mail in its sandbox.
pub(super) fn sandboxed(html: &str) -> Response {
    let policy = [(header::CONTENT_SECURITY_POLICY, MAIL_POLICY), (header::X_FRAME_OPTIONS, "SAMEORIGIN")];
    (policy, Html(format!("{html}{NO_PICTURES}"))).into_response()
}

fn gone(app: &App) -> Response {
    app.saying(StatusCode::NOT_FOUND, "No such mail", "There is no mail of this id in the outbox.")
}
