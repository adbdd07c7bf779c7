//! The page of a sink: what came, and each mail as the outbox shows it.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Query, Request, State},
    http::StatusCode,
    middleware::{Next, from_fn, from_fn_with_state},
    response::{Html, IntoResponse as _, Response},
    routing::get,
};
use courier::outbox::OutboxMail;
use minijinja::value::Serde;
use model::civil_time::Zone;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::task::spawn_blocking;
use views::display;
use web::{HttpProblem, RequestGuard, error_layer::describe_errors, guard};

use super::{outbox, page, page::PageTemplates};
use crate::{trial_mailbox::MAILS_MAX, trial_mailbox::TrialMail, trial_mailbox::TrialMailbox};

/// What the paths work with.
pub struct SinkApp {
    pub sink: Arc<TrialMailbox>,
    pub guard: RequestGuard,
    pub pages: PageTemplates,
    /// How a house is told of it.
    pub way: String,
}

type SinkAppState = State<Arc<SinkApp>>;

pub fn router(inbox: SinkApp) -> Router {
    let inbox = Arc::new(inbox);
    Router::new()
        .route("/", get(list_mails))
        .route("/inbox", get(list_mails))
        .route("/inbox/mail", get(mail))
        .route("/inbox/html", get(html))
        .route("/style.css", get(page::style))
        .fallback(page::answer_missing)
        .with_state(inbox.clone())
        .layer(from_fn(describe_errors))
        .layer(from_fn_with_state(inbox, guard_request))
}

async fn guard_request(State(inbox): SinkAppState, request: Request, next: Next) -> Response {
    let mut response = match inbox.guard.admits(request.method(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(stopped) => stopped.into_response(),
    };
    guard::harden_headers(response.headers_mut());
    response
}

async fn list_mails(State(inbox): SinkAppState) -> Result<Response, HttpProblem> {
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
                "date": display::format_instant(mail.at, &Zone::UTC),
                "bytes": mail.raw.len(),
            })
        })
        .collect();
    let own = json!({"mails": mails, "count": inbox.sink.count(), "most": MAILS_MAX, "way": inbox.way});
    inbox.render_page("inbox.html", own)
}

#[derive(Deserialize)]
struct SinkMailQuery {
    id: u64,
    show: Option<String>,
}

async fn mail(
    State(inbox): SinkAppState,
    Query(SinkMailQuery { id, show }): Query<SinkMailQuery>,
) -> Result<Response, HttpProblem> {
    let Some(came) = inbox.sink.read(id) else { return inbox.no_such_mail() };
    let mail = parse_mail(&came).await?;
    inbox.render_page(
        "mail.html",
        outbox::mail_values(&mail, &id.to_string(), show.as_deref(), ("inbox", "Inbox")),
    )
}

/// The HTML of a mail, for the frame.
async fn html(
    State(inbox): SinkAppState,
    Query(SinkMailQuery { id, .. }): Query<SinkMailQuery>,
) -> Result<Response, HttpProblem> {
    let Some(came) = inbox.sink.read(id) else { return inbox.no_such_mail() };
    Ok(outbox::sandbox_html(&parse_mail(&came).await?.html))
}

/// A mail may take a while to take apart.
async fn parse_mail(came: &TrialMail) -> Result<OutboxMail, HttpProblem> {
    let raw = came.raw.clone();
    Ok(spawn_blocking(move || OutboxMail::parse(raw)).await?)
}

impl SinkApp {
    fn render_page(&self, name: &str, own: Value) -> Result<Response, HttpProblem> {
        let mut values = json!({
            "places": [{"path": "/", "name": "Inbox"}],
            "here": "/",
            "title": "Inbox",
            "now": display::format_instant(self.sink.now(), &Zone::UTC),
        });
        page::merge_values(&mut values, own);
        let text = self.pages.render(name, minijinja::Value::from(Serde(&values)));
        Ok(Html(text?).into_response())
    }

    fn no_such_mail(&self) -> Result<Response, HttpProblem> {
        let text = "This mail is no longer here.";
        Ok((
            StatusCode::NOT_FOUND,
            self.render_page("said.html", json!({"title": "No such mail", "text": text}))?,
        )
            .into_response())
    }
}
