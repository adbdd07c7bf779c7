//! The links of mails by which their readers ask for no more of them, for less, or for others instead. A signed token says
//! for whom; whoever has it needs no other key, and it opens nothing else. Looking changes nothing, since scanners of mail
//! follow every link; what changes something is a press of a button, or the one click of a mailbox
//! (RFC 8058), which comes from anywhere and without a form of ours.
//!
//! [`wish`] is what somebody wants, [`facts`] what holds and how that becomes a fact, [`rest_page`] the page of what waits,
//! [`settings_page`] that of all preferences, with [`settings_form`], [`time_fields`] and [`thing_list`].

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    Router,
    body::Bytes,
    extract::{
        DefaultBodyLimit, FromRequest as _, Path, RawQuery, Request, State, rejection::BytesRejection,
    },
    http::{HeaderMap, HeaderValue, StatusCode, header, header::HeaderName},
    middleware::{Next, from_fn_with_state},
    response::Response,
    routing::{any, get},
};
use catalogue::ReaderLanguage;
use model::{Channel, Day, Person, PlanName, Tenant, UtcMillis};
use preference_sheet::MuteTarget;
use serde_json::{Value as Json, json};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};
use web::{HttpProblem, ProblemType, error_layer::describe_error, guard};
use wire::token::{self, LinkSecret, LinkToken};

use super::{AppState, HttpApp, error_page, page, reader_words};

mod preferences;
mod rest_page;
mod settings_form;
mod settings_page;
mod thing_list;
mod time_fields;
mod wish;

use preferences::MailPreferences;
use wish::{ReaderWish, choices};

/// Bytes of a form: a mailbox's own, in either encoding, is far shorter.
const FORM_BYTES_MAX: usize = 4 * 1024;
/// A form that takes longer than this to arrive is given up.
const FORM_TIME_MAX: Duration = Duration::from_secs(5);
/// Requests that are worked on at once.
const REQUESTS_MAX: usize = 32;
/// Lists of what waits that are made at once: each reads a part of the log.
const LISTS_MAX: usize = 4;
/// How often a person may change their mind within an hour, and persons of whom that is counted. No mail can be wanted
/// as often as one likes.
const AGAIN_MAX: u32 = 10;
const PERSONS_COUNTED_MAX: usize = 10_000;
const HOUR_MS: i64 = 3_600_000;
/// For this many days after its mail a link does everything; it turns mail off without an end.
const AGAIN_DAYS_MAX: i32 = 30;
/// What the paths work with.
#[derive(Debug)]
pub struct UnsubscribeService {
    secret: LinkSecret,
    requests: Semaphore,
    /// Of the links of pushes: they must not keep anybody from ending mails.
    marks: Semaphore,
    lists: Semaphore,
    /// The hour that is counted, and how often each person changed their mind in it.
    again: Mutex<(i64, WishCounts)>,
}

/// How often each person changed their mind.
type WishCounts = HashMap<(Tenant, Person), u32>;

impl UnsubscribeService {
    pub fn new(secret: LinkSecret) -> Self {
        let (requests, lists) = (Semaphore::new(REQUESTS_MAX), Semaphore::new(LISTS_MAX));
        Self { secret, requests, marks: Semaphore::new(REQUESTS_MAX), lists, again: Mutex::default() }
    }

    /// Counts a wish; whether there were not too many in this hour. One for no mail is never too many, and without a wish
    /// for mail again there is none.
    fn count_wish(&self, token: &LinkToken, now: UtcMillis) -> bool {
        let mut again = self.again.lock().unwrap_or_else(PoisonError::into_inner);
        let hour = now.0.div_euclid(HOUR_MS);
        if again.0 != hour {
            *again = (hour, HashMap::new());
        }
        let counts = &mut again.1;
        let person = (token.tenant.clone(), token.person.clone());
        if counts.len() >= PERSONS_COUNTED_MAX && !counts.contains_key(&person) {
            return false;
        }
        let count = counts.entry(person).or_default();
        *count += 1;
        *count <= AGAIN_MAX
    }

    fn read(&self, token: &str) -> Result<LinkToken, HttpProblem> {
        token::read_token(token, &self.secret).ok_or(UNKNOWN)
    }

    pub(super) fn secret(&self) -> &LinkSecret {
        &self.secret
    }

    pub(super) fn mark_permit(&self) -> Result<SemaphorePermit<'_>, HttpProblem> {
        self.marks.try_acquire().map_err(|_| BUSY)
    }

    fn permit(&self) -> Result<SemaphorePermit<'_>, HttpProblem> {
        self.requests.try_acquire().map_err(|_| BUSY)
    }
}

pub(super) const UNKNOWN: HttpProblem = HttpProblem::from_text(
    ProblemType::NotFound,
    "this link is incomplete; open it again from the mail, or copy all of it",
);
pub(super) const BUSY: HttpProblem =
    HttpProblem::from_text(ProblemType::Busy, "this cannot be done right now; try again in a moment");
const TOO_OLD: HttpProblem = HttpProblem::from_text(
    ProblemType::Forbidden,
    "this mail is too old for that; it may be in other hands by now",
);
const TOO_OFTEN: HttpProblem =
    HttpProblem::from_text(ProblemType::TooOften, "this was requested too often; try again in an hour");
const NO_FORM: HttpProblem =
    HttpProblem::from_text(ProblemType::BadRequest, "this form does not belong to this page");
const LONG: HttpProblem = HttpProblem::from_text(ProblemType::BodyTooLarge, "this form is too long");

/// All that these paths answer if they do not do it.
#[cfg(test)]
pub const PROBLEMS: [HttpProblem; 7] = [UNKNOWN, BUSY, TOO_OLD, TOO_OFTEN, NO_FORM, LONG, rest_page::TOO_OLD];

/// The paths. They stand outside of the guard: who may ask is said by the token alone.
pub fn routes(app: &Arc<HttpApp>) -> Router<Arc<HttpApp>> {
    let path = format!("/{}", sender::links::PATH);
    // Part of a link, or more than one: whoever comes here reads mails, and is answered as a reader.
    let others = ["", "/", "/{token}/", "/{token}/{*more}"].map(|rest| format!("{path}{rest}"));
    let router = Router::new()
        .route(&format!("{path}/{{token}}"), get(show_choice).post(press_button))
        .route(&format!("{path}/{{token}}/rest"), get(rest_page::show_rest))
        .route(
            &format!("{path}/{{token}}/settings"),
            get(settings_page::show_settings)
                .post(settings_page::save_settings)
                .layer(DefaultBodyLimit::max(settings_page::FORM_BYTES_MAX)),
        )
        // Beside the page: whatever stands in front of the house lets this one path through.
        .route(&format!("{path}/style.css"), get(page::style));
    let answer_unknown = || any(async || UNKNOWN);
    others
        .iter()
        .fold(router, |router, other| router.route(other, answer_unknown()))
        .layer(DefaultBodyLimit::max(FORM_BYTES_MAX))
        .layer(from_fn_with_state(app.clone(), harden_link))
}

/// Around all links of mails: their errors have a face too, and their address, which is a right, goes nowhere.
pub(super) async fn harden_link(State(app): AppState, request: Request, next: Next) -> Response {
    let asks_for_page = error_page::asks_for_page(&request);
    let (path, accepted) = (request.uri().path().to_owned(), accepted_text(request.headers()));
    // Relative, since the public address may have a path of its own.
    let up = "../".repeat(request.uri().path().matches('/').count().saturating_sub(1));
    let mut response = describe_error(next.run(request).await).await;
    if asks_for_page {
        let style = format!("{up}{}/style.css", sender::links::PATH);
        let is_error = response.status().is_client_error() || response.status().is_server_error();
        let language = match is_error {
            true => find_error_language(&app, &path, accepted.as_deref()).await,
            false => ReaderLanguage::plain_english(),
        };
        response = app.with_error_page(response, Some((&style, language))).await;
    }
    let quiet = [("x-robots-tag", "noindex, nofollow"), ("referrer-policy", "no-referrer")];
    for (name, value) in quiet {
        response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    guard::harden_headers(response.headers_mut());
    response
}

fn accepted_text(headers: &HeaderMap) -> Option<String> {
    reader_words::accepted_languages(headers).map(str::to_owned)
}

/// The language in which an error is said: the reader's, if the link tells who that is and there is time to look.
async fn find_error_language(app: &HttpApp, path: &str, accepted: Option<&str>) -> ReaderLanguage {
    let token = path.split('/').find_map(|part| app.unsubscribe.read(part).ok());
    let Some(token) = token else { return app.catalogue.page_language(None, accepted) };
    let known = match app.unsubscribe.permit() {
        Ok(_permit) => MailPreferences::load(app, &token).await.ok().flatten(),
        Err(_) => None,
    };
    page_language(app, &token, known.as_ref(), accepted)
}

/// The language of a page for the reader of a mail.
fn page_language(
    app: &HttpApp,
    token: &LinkToken,
    known: Option<&MailPreferences>,
    accepted: Option<&str>,
) -> ReaderLanguage {
    app.catalogue_of(&token.person).page_language(known.and_then(MailPreferences::language), accepted)
}

async fn show_choice(
    State(app): AppState,
    Path(text): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, HttpProblem> {
    let token = app.unsubscribe.read(&text)?;
    if token.channel != Channel::Email {
        return settings_page::show_at_link(&app, (&text, &token), &headers).await;
    }
    let _permit = app.unsubscribe.permit()?;
    let Some(facts) = MailPreferences::load(&app, &token).await? else {
        return Ok(render_gone(&app, &token, accepted_text(&headers).as_deref())?);
    };
    let language = page_language(&app, &token, Some(&facts), accepted_text(&headers).as_deref());
    let query = query.filter(|query| ReaderWish::is_in_link(query));
    let asked = query
        .as_ref()
        .and_then(|query| ReaderWish::from_link(query, &token, app.catalogue_of(&token.person)));
    let asked = asked.filter(|_| is_young(&token, app.now()));
    let is_outdated = query.is_some() && asked.is_none();
    let holds = asked.as_ref().is_some_and(|wish| facts.satisfies(wish, &app, &token));
    let says = UnsubscribeNotice { asked, holds, is_outdated, done: None };
    Ok(render_choice(&app, (&text, &token), &facts, (says, &language)).await?)
}

async fn press_button(
    State(app): AppState,
    Path(text): Path<String>,
    RawQuery(query): RawQuery,
    request: Request,
) -> Result<Response, HttpProblem> {
    let token = app.unsubscribe.read(&text)?;
    let form = request.headers().get(header::CONTENT_TYPE).and_then(|form| form.to_str().ok());
    let form = form.unwrap_or_default().to_owned();
    let accepted = accepted_text(request.headers());
    let body = read_form(request).await?;
    let body = String::from_utf8_lossy(&body);
    let catalogue = app.catalogue_of(&token.person);
    let wish = ReaderWish::from_form(&form, &body, &token, catalogue).ok_or(NO_FORM)?;
    let is_click = wish.is_one_click(&body);
    let scope = query.filter(|query| is_click && ReaderWish::is_in_link(query));
    // What the link is about may be gone: then nothing comes of it any more, and all the rest is not meant.
    let wish = match &scope {
        None => Some(wish),
        Some(scope) => ReaderWish::from_link(scope, &token, catalogue),
    };
    let _permit = app.unsubscribe.permit()?;
    // What holds already is not said again: whoever has a link could fill the disk with it.
    let Some(facts) = MailPreferences::load(&app, &token).await? else {
        return Ok(render_gone(&app, &token, accepted.as_deref())?);
    };
    let (facts, says) = match wish {
        None => (facts, UnsubscribeNotice { is_outdated: true, ..UnsubscribeNotice::default() }),
        Some(wish) => {
            carry_out(&app, &token, (&facts, &wish), is_click).await?;
            let facts = facts.with_wish(&wish, token.channel);
            (facts, UnsubscribeNotice { done: Some(wish), ..UnsubscribeNotice::default() })
        }
    };
    let language = page_language(&app, &token, Some(&facts), accepted.as_deref());
    if token.channel != Channel::Email {
        let own = json!({
            "title": language.house_sentence("settings-saved", &[]),
            "text": language.house_sentence("settings-saved-lead", &[]),
            "style": "style.css",
        });
        return Ok(app.render_alone("alone.html", &own, &language)?);
    }
    Ok(render_choice(&app, (&text, &token), &facts, (says, &language)).await?)
}

/// States a wish, if it does not hold already. Less by one click is less for whoever clicks: it works as long as the end of all.
async fn carry_out(
    app: &HttpApp,
    token: &LinkToken,
    (facts, wish): (&MailPreferences, &ReaderWish),
    is_click: bool,
) -> Result<(), HttpProblem> {
    if facts.satisfies(wish, app, token) {
        return Ok(());
    }
    let is_end = *wish == ReaderWish::NoMail || (is_click && matches!(wish, ReaderWish::Less(_)));
    if !is_end && !is_young(token, app.now()) {
        return Err(TOO_OLD);
    }
    if !is_end && !app.unsubscribe.count_wish(token, app.now()) {
        return Err(TOO_OFTEN);
    }
    if facts.state_wish(app, token, wish).await? { Ok(()) } else { Err(BUSY) }
}

/// Whether a link still has the right to turn mail on again.
fn is_young(token: &LinkToken, now: UtcMillis) -> bool {
    token.day.is_some_and(|day| day.plus(AGAIN_DAYS_MAX) >= Day::from_instant(now))
}

async fn read_form(request: Request) -> Result<Bytes, HttpProblem> {
    match timeout(FORM_TIME_MAX, Bytes::from_request(request, &())).await {
        Ok(body) => body.map_err(|error| too_long(&error)),
        Err(_) => Err(NO_FORM),
    }
}

fn too_long(error: &BytesRejection) -> HttpProblem {
    if error.status() == StatusCode::PAYLOAD_TOO_LARGE { LONG } else { NO_FORM }
}

/// What the page asks first, and what was just done.
#[derive(Default)]
struct UnsubscribeNotice {
    asked: Option<ReaderWish>,
    /// That is so already.
    holds: bool,
    /// The link asks for what there is no more, or no longer by this mail. It must not lead to the end of all mail.
    is_outdated: bool,
    done: Option<ReaderWish>,
}

/// The page of somebody who was erased: there is nothing to turn on or off.
fn render_gone(app: &HttpApp, token: &LinkToken, accepted: Option<&str>) -> anyhow::Result<Response> {
    let own = json!({"sender": sender_of(app, token), "says": "is_gone"});
    app.render_alone("unsubscribe.html", &own, &page_language(app, token, None, accepted))
}

async fn render_choice(
    app: &HttpApp,
    (text, token): (&str, &LinkToken),
    facts: &MailPreferences,
    (says, language): (UnsubscribeNotice, &ReaderLanguage),
) -> anyhow::Result<Response> {
    let is_young = is_young(token, app.now());
    let UnsubscribeNotice { asked, holds, is_outdated, done } = says;
    let says = match (&done, &asked) {
        (Some(ReaderWish::MailAgain), _) => "on_again",
        _ if facts.is_off(token.channel) && done == Some(ReaderWish::NoMail) => "off",
        _ if facts.is_off(token.channel) => "is_off",
        (Some(ReaderWish::Plan(_)), _) => "changed",
        (Some(ReaderWish::Less(_)), _) => "less",
        (Some(ReaderWish::More(_)), _) => "more",
        (_, Some(ReaderWish::Plan(_))) if holds => "holds_plan",
        (_, Some(ReaderWish::Less(_))) if holds => "holds_less",
        (_, Some(ReaderWish::Plan(_))) => "asks_plan",
        (_, Some(ReaderWish::Less(_))) => "asks_less",
        _ if is_outdated => "outdated",
        _ => "asks",
    };
    let wished = done.as_ref().or(asked.as_ref());
    let of = match wished {
        Some(ReaderWish::Less(mute) | ReaderWish::More(mute)) => Some(mute.clone()),
        _ => None,
    };
    let mutes = facts.mutes(app);
    let all: Vec<MuteTarget> = mutes.iter().cloned().chain(of.clone()).collect();
    let names = preferences::load_mute_names((app, language), token, &all).await?;
    let named = |(mute, name): (&MuteTarget, &String)| json!({"flag": mute.flag(), "name": name});
    let own = json!({
        "sender": sender_of(app, token),
        "says": says,
        "undo": is_young,
        "token": text,
        "plans": plans(app, token, facts, language),
        "plan": match wished {
            Some(ReaderWish::Plan(plan)) => Some(one_plan(app, token, plan, language)),
            _ => None,
        },
        "mutes": mutes.iter().zip(&names).map(named).collect::<Vec<_>>(),
        "of": of.as_ref().zip(names.last()).map(named),
        "less": of.as_ref().map(MuteTarget::link_name),
    });
    app.render_alone("unsubscribe.html", &own, language)
}

/// The plans among which there is a choice, and which of them is on.
fn plans(app: &HttpApp, token: &LinkToken, facts: &MailPreferences, language: &ReaderLanguage) -> Vec<Json> {
    let on = facts.plan(app, token);
    let plan = |plan: PlanName| {
        let mut one = one_plan(app, token, &plan, language);
        one["on"] = json!(on.as_ref() == Some(&plan));
        one
    };
    choices(token, app.catalogue_of(&token.person)).into_iter().map(plan).collect()
}

fn one_plan(app: &HttpApp, token: &LinkToken, plan: &PlanName, language: &ReaderLanguage) -> Json {
    let title = app.studio.plan_title(&token.person, plan, Some(language.tag()));
    json!({"name": plan.as_str(), "title": title})
}

/// Whose mails these are, as the mails themselves say: the name of the sender, or its address.
fn sender_of(app: &HttpApp, token: &LinkToken) -> String {
    let from = app.catalogue_of(&token.person).mails.get(&token.plan).map_or("", |mail| mail.from.as_str());
    let name = from.split('<').next().unwrap_or_default().trim().trim_matches('"');
    let known = [name, from, app.catalogue.name.as_str()].into_iter().find(|name| !name.is_empty());
    known.unwrap_or_default().to_owned()
}
