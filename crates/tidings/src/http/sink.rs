//! The page of a sink: what came, and each mail as the outbox shows it.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Query, Request, State},
    http::StatusCode,
    middleware::{Next, from_fn_with_state},
    response::{Html, IntoResponse as _, Response},
    routing::get,
};
use courier::outbox::Mail;
use minijinja::value::Serde;
use model::civil::Zone;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::task::spawn_blocking;

use super::{
    Oops,
    guard::{self, Guard},
    look, outbox,
    page::{self, Pages},
};
use crate::sink::{Came, MAILS_MAX, Sink};

/// What the paths work with.
pub struct Inbox {
    pub sink: Arc<Sink>,
    pub guard: Guard,
    pub pages: Pages,
    /// How a house is told of it.
    pub way: String,
}

type Shared = State<Arc<Inbox>>;

pub fn router(inbox: Inbox) -> Router {
    let inbox = Arc::new(inbox);
    Router::new()
        .route("/", get(list))
        .route("/inbox", get(list))
        .route("/inbox/mail", get(mail))
        .route("/inbox/html", get(html))
        .route("/style.css", get(page::style))
        .fallback(page::missing)
        .with_state(inbox.clone())
        .layer(from_fn_with_state(inbox, guarded))
}

async fn guarded(State(inbox): Shared, request: Request, next: Next) -> Response {
    let mut response = match inbox.guard.admits(request.method(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(stopped) => page::stopped(request.uri().path(), stopped),
    };
    guard::harden(response.headers_mut());
    response
}

async fn list(State(inbox): Shared) -> Result<Response, Oops> {
    let mails: Vec<_> = inbox
        .sink
        .list()
        .iter()
        .map(|mail| {
            json!({
                "number": mail.number,
                "headline": mail.headline,
                "from": mail.envelope.from,
                "to": mail.envelope.to.join(", "),
                "date": look::instant(mail.at, &Zone::UTC),
                "bytes": mail.raw.len(),
            })
        })
        .collect();
    let own = json!({"mails": mails, "count": inbox.sink.count(), "most": MAILS_MAX, "way": inbox.way});
    inbox.page("inbox.html", own)
}

#[derive(Deserialize)]
struct Which {
    id: u64,
    show: Option<String>,
}

async fn mail(State(inbox): Shared, Query(Which { id, show }): Query<Which>) -> Result<Response, Oops> {
    let Some(came) = inbox.sink.read(id) else { return inbox.gone() };
    let mail = parsed(&came).await?;
    inbox.page("mail.html", outbox::shown(&mail, &id.to_string(), show.as_deref(), ("inbox", "Inbox")))
}

/// The HTML of a mail, for the frame.
async fn html(State(inbox): Shared, Query(Which { id, .. }): Query<Which>) -> Result<Response, Oops> {
    let Some(came) = inbox.sink.read(id) else { return inbox.gone() };
    Ok(outbox::sandboxed(&parsed(&came).await?.html))
}

/// A mail may take a while to take apart.
async fn parsed(came: &Came) -> Result<Mail, Oops> {
    let raw = came.raw.clone();
    Ok(spawn_blocking(move || Mail::parse(raw)).await?)
}

impl Inbox {
    fn page(&self, name: &str, own: Value) -> Result<Response, Oops> {
        let mut values = json!({
            "places": [{"path": "/", "name": "Inbox"}],
            "here": "/",
            "title": "Inbox",
            "now": look::instant(self.sink.now(), &Zone::UTC),
        });
        page::join(&mut values, own);
        let text = self.pages.render(name, minijinja::Value::from(Serde(&values)));
        Ok(Html(text?).into_response())
    }

    fn gone(&self) -> Result<Response, Oops> {
        let text = "There is no mail of this number here any more.";
        Ok((StatusCode::NOT_FOUND, self.page("said.html", json!({"title": "No such mail", "text": text}))?)
            .into_response())
    }
}
