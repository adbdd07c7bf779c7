//! The links of mails that are counted, for plans that want it. Following one leads on and looking at a picture shows
//! one; neither says anything of a person, or changes anything: what programs do for their users is told apart and
//! counted apart, and nobody's entries are seen by it.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Path, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    middleware::from_fn_with_state,
    response::{IntoResponse, Response},
    routing::get,
};
use runtime::metrics::{Counters, Metrics};
use web::HttpProblem;
use wire::{
    token::LinkSecret,
    visit::{self, LinkVisit, LinkVisitAction},
};

use super::{AppState, HttpApp, metrics::declare_visits, unsubscribe::UNKNOWN, unsubscribe::harden_link};

/// A visit this soon after the mail was due comes from a program: nobody could have read the mail.
const READS_MS: i64 = 10_000;
/// A picture of one point that cannot be seen.
const POINT: &[u8] =
    b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\x00\x00\x00\x21\xf9\x04\x01\x00\x00\x00\x00\
                       \x2c\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;";
/// What programs call themselves that fetch what is in mails to keep it for their users.
const PROXIES: [&str; 4] = ["googleimageproxy", "ggpht.com", "yahoomailproxy", "outlook-ios-image"];
/// What programs call themselves that look where links lead before anybody reads the mail, or for other reasons.
const ROBOTS: [&str; 24] = [
    "bot",
    "crawler",
    "spider",
    "slurp",
    "scan",
    "preview",
    "fetch",
    "monitor",
    "headless",
    "barracuda",
    "mimecast",
    "proofpoint",
    "symantec",
    "messagelabs",
    "bitdefender",
    "safelinks",
    "trendmicro",
    "forcepoint",
    "curl/",
    "wget/",
    "python",
    "go-http-client",
    "java/",
    "libwww",
];
/// What a browser says of a page that nobody asked for yet.
const AHEAD: [&str; 3] = ["sec-purpose", "purpose", "x-moz"];

/// What the paths work with.
#[derive(Debug)]
pub struct VisitCounter {
    secret: LinkSecret,
    counted: Counters,
}

impl VisitCounter {
    pub fn new(secret: LinkSecret, metrics: &Metrics) -> anyhow::Result<Self> {
        Ok(Self { secret, counted: declare_visits(metrics)? })
    }
}

/// The paths. They stand outside of the guard: where they lead is signed.
pub fn routes(app: &Arc<HttpApp>) -> Router<Arc<HttpApp>> {
    Router::new()
        .route(&format!("/{}/{{visit}}", sender::links::FOLLOWED), get(follow))
        .route(&format!("/{}/{{visit}}", sender::links::OPENED), get(open_picture))
        .layer(from_fn_with_state(app.clone(), harden_link))
}

async fn follow(
    State(app): AppState,
    Path(visit): Path<String>,
    method: Method,
    headers: HeaderMap,
) -> Result<Response, HttpProblem> {
    let visit = visit::read_visit(&visit, &app.visits.secret).ok_or(UNKNOWN)?;
    let LinkVisitAction::Followed(address) = &visit.what else { return Err(UNKNOWN) };
    let address = HeaderValue::from_str(address).map_err(|_| UNKNOWN)?;
    app.count_visit(&visit, &method, &headers);
    Ok((StatusCode::FOUND, [(header::LOCATION, address), (header::CACHE_CONTROL, UNKEPT)]).into_response())
}

async fn open_picture(
    State(app): AppState,
    Path(visit): Path<String>,
    method: Method,
    headers: HeaderMap,
) -> Result<Response, HttpProblem> {
    let visit = visit::read_visit(&visit, &app.visits.secret).ok_or(UNKNOWN)?;
    if visit.what != LinkVisitAction::Opened {
        return Err(UNKNOWN);
    }
    app.count_visit(&visit, &method, &headers);
    let kind = HeaderValue::from_static("image/gif");
    Ok(([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, UNKEPT)], POINT).into_response())
}

const UNKEPT: HeaderValue = HeaderValue::from_static("no-store");

impl HttpApp {
    fn count_visit(&self, visit: &LinkVisit, method: &Method, headers: &HeaderMap) {
        // A plan that is gone is counted no more, and so nobody makes up names.
        if !self.catalogue.arms().any(|(_, of)| of.mails.contains_key(&visit.plan)) {
            return;
        }
        let (what, is_soon) = match visit.what {
            LinkVisitAction::Opened => ("opened", false),
            LinkVisitAction::Followed(_) => ("followed", self.now().0 < visit.due.0.saturating_add(READS_MS)),
        };
        let who = if is_soon { VisitorClass::Robot } else { classify_visitor(method, headers) };
        self.visits.counted.with_label_values(&[visit.plan.as_str(), what, who.name()]).inc();
    }
}

/// Who follows a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum VisitorClass {
    Reader,
    /// Shows somebody's pictures to them, or fetches them whether or not anybody looks.
    Proxy,
    Robot,
}

impl VisitorClass {
    fn name(self) -> &'static str {
        match self {
            Self::Reader => "reader",
            Self::Proxy => "proxy",
            Self::Robot => "robot",
        }
    }
}

fn classify_visitor(method: &Method, headers: &HeaderMap) -> VisitorClass {
    let said = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let agent = said(header::USER_AGENT).to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| agent.contains(word));
    let is_ahead = AHEAD.into_iter().any(|name| headers.contains_key(name));
    // Apple fetches the pictures of all mails as this, and nothing more.
    if has(&PROXIES) || agent == "mozilla/5.0" {
        VisitorClass::Proxy
    } else if *method != Method::GET || is_ahead || agent.is_empty() || has(&ROBOTS) {
        VisitorClass::Robot
    } else {
        VisitorClass::Reader
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_are_told_from_robots() {
        let check = |method: Method, lines: &[(&str, &str)], expected: VisitorClass| {
            let mut headers = HeaderMap::new();
            for (name, value) in lines {
                headers.insert(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
            }
            assert_eq!(classify_visitor(&method, &headers), expected, "{method} {lines:?}");
        };
        let browser =
            ("user-agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0");
        check(Method::GET, &[browser], VisitorClass::Reader);
        check(Method::HEAD, &[browser], VisitorClass::Robot);
        check(Method::GET, &[browser, ("sec-purpose", "prefetch;prerender")], VisitorClass::Robot);
        check(Method::GET, &[browser, ("purpose", "prefetch")], VisitorClass::Robot);
        check(Method::GET, &[], VisitorClass::Robot);
        for robot in [
            "Mozilla/5.0 (compatible; bingbot/2.0)",
            "curl/8.5.0",
            "python-requests/2.32",
            "Barracuda Sentinel (EE)",
            "Slackbot-LinkExpanding 1.0",
            "SkypeUriPreview Preview/0.5",
        ] {
            check(Method::GET, &[("user-agent", robot)], VisitorClass::Robot);
        }
        for proxy in [
            "Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)",
            "YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html",
            "Mozilla/5.0",
        ] {
            check(Method::GET, &[("user-agent", proxy)], VisitorClass::Proxy);
        }
    }
}
