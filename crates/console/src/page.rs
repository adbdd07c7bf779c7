//! What all pages share: templates, the frame around them, and who may see them.

use anyhow::Context as _;
use axum::{
    Form,
    extract::{
        FromRequestParts, Query, Request, State,
        rejection::{FormRejection, QueryRejection},
    },
    http::{StatusCode, Uri, header, request::Parts},
    middleware::Next,
    response::{Html, IntoResponse, Redirect, Response},
};
use catalogue::ReaderLanguage;
use house_facts::AccessRole;
use minijinja::{AutoEscape, Environment, UndefinedBehavior, syntax::SyntaxConfig, value::Serde};
use model::civil_time::Zone;
use serde::Deserialize;
use serde_json::{Value, json};
use views::display;
use web::{HttpProblem, ProblemType, guard};

use super::{AppState, HttpApp, reader_words};

/// Templates, compiled once. All of it is in the binary: the page needs no files and loads nothing.
pub struct PageTemplates {
    env: Environment<'static>,
}

const TEMPLATES: [(&str, &str); 24] = [
    ("frame.html", include_str!("../page/frame.html")),
    ("overview.html", include_str!("../page/overview.html")),
    ("pipeline.html", include_str!("../page/pipeline.html")),
    ("outbox.html", include_str!("../page/outbox.html")),
    ("inbox.html", include_str!("../page/inbox.html")),
    ("mail.html", include_str!("../page/mail.html")),
    ("person.html", include_str!("../page/person.html")),
    ("why.html", include_str!("../page/why.html")),
    ("cancel.html", include_str!("../page/cancel.html")),
    ("preview.html", include_str!("../page/preview.html")),
    ("push.html", include_str!("../page/push.html")),
    ("bell.html", include_str!("../page/bell.html")),
    ("told.html", include_str!("../page/told.html")),
    ("bars.html", include_str!("../page/bars.html")),
    ("publish.html", include_str!("../page/publish.html")),
    ("pauses.html", include_str!("../page/pauses.html")),
    ("quarantine.html", include_str!("../page/quarantine.html")),
    ("clock.html", include_str!("../page/clock.html")),
    ("said.html", include_str!("../page/said.html")),
    ("field.html", include_str!("../page/field.html")),
    ("alone.html", include_str!("../page/alone.html")),
    ("unsubscribe.html", include_str!("../page/unsubscribe.html")),
    ("rest.html", include_str!("../page/rest.html")),
    ("settings.html", include_str!("../page/settings.html")),
];

const STYLE: &str = include_str!("../page/style.css");

impl PageTemplates {
    pub fn new() -> anyhow::Result<Self> {
        let mut env = Environment::new();
        env.set_auto_escape_callback(|_| AutoEscape::Html);
        env.set_undefined_behavior(UndefinedBehavior::SemiStrict);
        env.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
        env.add_filter("number", |n: u64| display::format_number(n));
        for (name, text) in TEMPLATES {
            env.add_template(name, text).with_context(|| format!("compile {name}"))?;
        }
        Ok(Self { env })
    }

    pub(super) fn render(&self, name: &str, values: minijinja::Value) -> anyhow::Result<String> {
        self.env.get_template(name)?.render(values).with_context(|| format!("render {name}"))
    }
}

/// The pages that the frame links to, by their path and name.
const PLACES: [(&str, &str); 10] = [
    ("/", "Overview"),
    ("/pipeline", "Pipeline"),
    ("/outbox", "Outbox"),
    ("/person", "People"),
    ("/preview", "Preview"),
    ("/told", "Delivery"),
    ("/publish", "Publish"),
    ("/pauses", "Pauses"),
    ("/quarantine", "Quarantine"),
    ("/clock", "Clock"),
];

/// What every page may be asked for, and who asks.
#[derive(Debug)]
pub struct PageQuery {
    /// What was just done, one of `look::DONE`.
    pub done: Option<String>,
    /// Whether forms are offered.
    pub may_change: bool,
}

impl Default for PageQuery {
    fn default() -> Self {
        Self { done: None, may_change: true }
    }
}

#[derive(Deserialize)]
struct DoneQuery {
    done: Option<String>,
}

impl<S: Send + Sync> FromRequestParts<S> for PageQuery {
    type Rejection = QueryRejection;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, QueryRejection> {
        let Query(DoneQuery { done }) = Query::from_request_parts(parts, state).await?;
        let may_change =
            parts.extensions.get::<PageVisitor>().is_some_and(|who| who.0 >= AccessRole::Operate);
        Ok(Self { done, may_change })
    }
}

/// Who looks at a page: beside each request that got past [`require_session`].
#[derive(Clone, Copy)]
struct PageVisitor(AccessRole);

impl HttpApp {
    /// Makes a page: its own values within what the frame needs.
    pub(super) fn render_page(
        &self,
        name: &str,
        asked: &PageQuery,
        own: Value,
    ) -> Result<Response, HttpProblem> {
        let place = PLACES.iter().find(|(path, _)| *path == place_of(name));
        let mut values = json!({
            "places": PLACES.iter().map(|(path, name)| json!({"path": path, "name": name})).collect::<Vec<_>>(),
            "here": place.map(|(path, _)| *path),
            "title": place.map_or("Tidings", |(_, title)| *title),
            "now": display::format_instant(self.now(), &Zone::UTC),
            "is_demo": self.is_demo,
            "tenant": self.tenant.as_str(),
            "catalogue": self.catalogue.name.as_str(),
            "csrf": self.guard.csrf.as_str(),
            "may_change": asked.may_change,
            "done": asked.done.as_deref().and_then(display::done_message),
            "problems": {},
        });
        merge_values(&mut values, own);
        let text = self.pages.render(name, minijinja::Value::from(Serde(&values)))?;
        Ok(Html(text).into_response())
    }

    /// A page for somebody who knows nothing of the house: only its own values, and no way further in. It is in their
    /// language.
    pub(super) fn render_alone(
        &self,
        name: &str,
        own: &Value,
        language: &ReaderLanguage,
    ) -> anyhow::Result<Response> {
        let text = self.pages.render(name, reader_words::page_values(own, language))?;
        Ok(Html(text).into_response())
    }

    /// A form, if it is one of ours. One that cannot be read is not, whatever is wrong with it.
    pub(super) fn own_form<T: SignedForm>(&self, form: Result<Form<T>, FormRejection>) -> Option<T> {
        form.ok().map(|Form(form)| form).filter(|form| self.guard.is_own_csrf(form.csrf()))
    }

    /// The answer to a form that is not: its page is older than this process, or not ours at all.
    pub(super) fn outdated_form(&self) -> Response {
        let text = "The form is older than the last start of this house. Go back, load the page again, and \
            retry.";
        self.notice_page(StatusCode::FORBIDDEN, "This form is too old", text)
    }
}

/// A form that says which process made its page.
pub trait SignedForm {
    fn csrf(&self) -> &str;
}

/// The place of the frame's links to which a template belongs.
fn place_of(template: &str) -> &str {
    match template {
        "overview.html" => "/",
        "pipeline.html" => "/pipeline",
        "outbox.html" | "mail.html" => "/outbox",
        "person.html" | "push.html" | "bell.html" | "cancel.html" | "why.html" => "/person",
        "preview.html" => "/preview",
        "told.html" => "/told",
        "publish.html" => "/publish",
        "pauses.html" => "/pauses",
        "quarantine.html" => "/quarantine",
        "clock.html" => "/clock",
        _ => "",
    }
}

#[derive(Deserialize)]
pub struct TokenQuery {
    token: Option<String>,
}

/// Stops whoever may not see the page, or only look at it and change nothing; takes a token once, and gives a cookie
/// for it.
pub async fn require_session(
    State(app): AppState,
    Query(TokenQuery { token }): Query<TokenQuery>,
    mut request: Request,
    next: Next,
) -> Response {
    if let Some(cookie) = token.and_then(|token| app.guard.cookie_for(&token)) {
        // The token must not stay in the address bar, nor in the browser's history.
        let back = Redirect::to(&guard::without_token(request.uri()));
        return ([(header::SET_COOKIE, cookie)], back).into_response();
    }
    let needs = guard::needed_role(request.method());
    match app.guard.find_page_role(request.headers()) {
        Some(has) if has >= needs => {
            request.extensions_mut().insert(PageVisitor(has));
            next.run(request).await
        }
        Some(has) => guard::refuse_role(has, needs).into_response(),
        None => {
            // Nothing of the house: whoever asks may be anybody.
            let what = "this page needs an access token, or the token in admin.json of the data directory: add \
                ?token=... to the address once";
            HttpProblem::from_text(ProblemType::Unauthorized, what).into_response()
        }
    }
}

pub async fn style() -> Response {
    ([(header::CONTENT_TYPE, "text/css; charset=utf-8"), (header::CACHE_CONTROL, "max-age=60")], STYLE)
        .into_response()
}

pub async fn answer_missing(uri: Uri) -> HttpProblem {
    tracing::debug!(path = uri.path(), "there is no such path");
    HttpProblem::from_text(ProblemType::NotFound, "there is nothing here")
}

/// Adds the values of one map to another; the later ones win.
pub fn merge_values(values: &mut Value, own: Value) {
    if let (Value::Object(values), Value::Object(own)) = (values, own) {
        values.extend(own);
    }
}

/// To another page, after something was done.
pub fn redirect_to(path: &str) -> Response {
    Redirect::to(path).into_response()
}
