//! Access to this process, and what a browser may do with its answers.
//!
//! Without API keys only this machine can reach the port, but so can every page in its browsers: the Host
//! header must be ours (a name that is made to point here is not), and what changes something must come
//! from our own pages (Origin, Sec-Fetch-Site, and a token in every form). With API keys, page and admin
//! need the admin token as well. Beside all this stand the links of mails (`console::unsubscribe`): there the
//! token in the address is the right, and the request may come from anywhere under any name.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, HeaderValue, Method, Uri, header, header::HeaderName};
use secrecy::{ExposeSecret as _, SecretString};

use crate::{
    api_key::{bearer_token, is_same_secret},
    origin::is_origin_of,
    problem::{HttpProblem, ProblemType},
};

/// What the pages may load: our own style, and nothing that runs.
pub const PAGE_POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self' data:; frame-src 'self'; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
/// The same of the one page that subscribes a browser to pushes: scripts of our own, a worker, and a word to the house.
pub const PUSH_POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self' data:; script-src 'self'; \
     worker-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
/// What a mail may load: nothing. It cannot run, leave its frame, or tell anybody that it was opened.
pub const MAIL_POLICY: &str = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; \
     form-action 'none'; base-uri 'none'; frame-ancestors 'self'";

const COOKIE: &str = "tidings";

/// The secrets of one process, and what it answers to.
#[derive(Clone, Debug)]
pub struct RequestGuard {
    /// Opens the admin paths, and the page where it is locked.
    pub token: SecretString,
    /// In every form of ours.
    pub csrf: String,
    /// The value of the cookie of a session that has shown the token.
    session: SecretString,
    /// The Host headers we answer to; `None` is any.
    hosts: Option<Vec<String>>,
    /// Whether the page needs the token.
    pub is_locked: bool,
}

impl RequestGuard {
    /// `is_locked` where there are API keys: then others may reach us, under names we do not know.
    pub fn new(
        listens: SocketAddr,
        is_locked: bool,
        random: impl Fn() -> anyhow::Result<String>,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            token: SecretString::from(random()?),
            csrf: random()?,
            session: SecretString::from(random()?),
            hosts: (!is_locked).then(|| hosts(listens)),
            is_locked,
        })
    }

    /// What every request must pass.
    pub fn admits(&self, method: &Method, headers: &HeaderMap) -> Result<(), HttpProblem> {
        let host = single_header(headers, &header::HOST)?;
        if let Some(hosts) = &self.hosts
            && !host.is_some_and(|host| hosts.iter().any(|ours| ours.eq_ignore_ascii_case(host)))
        {
            return Err(HttpProblem::from_text(
                ProblemType::ForeignOrigin,
                "the `Host` of the request is not a name of this service",
            ));
        }
        if method.is_safe() {
            return Ok(());
        }
        let origin = single_header(headers, &header::ORIGIN)?;
        let site = single_header(headers, &HeaderName::from_static("sec-fetch-site"))?;
        // A browser says `null` for its origin where a page keeps its address to itself; where the request comes from it says
        // all the same, and no page can have it say something else.
        let from_here = match (origin, site) {
            (Some("null"), _) => site == Some("same-origin"),
            (Some(origin), _) => host.is_some_and(|host| is_origin_of(origin, host)),
            (None, _) => true,
        };
        if from_here && matches!(site, None | Some("same-origin" | "none")) {
            return Ok(());
        }
        Err(HttpProblem::from_text(
            ProblemType::ForeignOrigin,
            "this page belongs to another site, which may not change anything here",
        ))
    }

    /// Whether a request shows the admin token.
    pub fn is_admin(&self, headers: &HeaderMap) -> bool {
        bearer_token(headers).is_some_and(|token| self.opens(token))
    }

    /// Whether this is the admin token.
    pub fn opens(&self, token: &str) -> bool {
        is_same_secret(token, self.token.expose_secret())
    }

    /// Whether a browser may see the page.
    pub fn is_known(&self, headers: &HeaderMap) -> bool {
        !self.is_locked || cookies(headers).any(|value| is_same_secret(value, self.session.expose_secret()))
    }

    /// Whether a form is one of ours.
    pub fn is_own_csrf(&self, csrf: &str) -> bool {
        is_same_secret(csrf, &self.csrf)
    }

    /// The cookie of somebody who showed the token. Not `Secure`: the house itself speaks plain HTTP, and
    /// who stands in front of it with TLS adds that.
    pub fn cookie(&self) -> Option<HeaderValue> {
        let session = self.session.expose_secret();
        HeaderValue::from_str(&format!("{COOKIE}={session}; Path=/; HttpOnly; SameSite=Strict")).ok()
    }
}

/// Headers that every answer has, unless it has its own.
pub fn harden_headers(headers: &mut HeaderMap) {
    let all = [
        (header::CONTENT_SECURITY_POLICY, PAGE_POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // With `no-referrer` browsers would not say where a form comes from.
        (header::REFERRER_POLICY, "same-origin"),
        (header::CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ];
    for (name, value) in all {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
}

/// The path of a request without the token, for the way back after it was shown.
pub fn without_token(uri: &Uri) -> String {
    let kept = uri.query().unwrap_or_default().split('&');
    let kept: Vec<&str> = kept.filter(|pair| !pair.is_empty() && !pair.starts_with("token=")).collect();
    // One slash: two would be the name of another host.
    let path = format!("/{}", uri.path().trim_start_matches('/'));
    if kept.is_empty() { path } else { format!("{path}?{}", kept.join("&")) }
}

fn hosts(listens: SocketAddr) -> Vec<String> {
    let port = listens.port();
    let ip = match listens.ip() {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    };
    let names = ["localhost".to_owned(), "127.0.0.1".to_owned(), "[::1]".to_owned(), ip];
    let mut hosts: Vec<String> = names.iter().map(|name| format!("{name}:{port}")).collect();
    if port == 80 {
        hosts.extend(names);
    }
    hosts
}

/// The one value of a header; several are somebody's trick.
fn single_header<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, HttpProblem> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => match value.to_str() {
            Ok(text) => Ok(Some(text)),
            Err(_) => Err(HttpProblem::from_text(ProblemType::BadRequest, "a header cannot be read")),
        },
        (Some(_), Some(_)) => Err(HttpProblem::from_text(ProblemType::BadRequest, "a header is given twice")),
    }
}

fn cookies(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let given = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = given.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.filter(|(name, _)| *name == COOKIE).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(is_locked: bool) -> RequestGuard {
        RequestGuard::new("127.0.0.1:7280".parse().unwrap(), is_locked, || Ok("secret".to_owned())).unwrap()
    }

    fn headers(lines: &[(&'static str, &str)]) -> HeaderMap {
        let pair =
            |(name, value): &(&'static str, &str)| (HeaderName::from_static(name), value.parse().unwrap());
        lines.iter().map(pair).fold(HeaderMap::new(), |mut all, (name, value)| {
            all.append(name, value);
            all
        })
    }

    #[test]
    fn only_our_own_names_are_answered() {
        let check = |host: &str, admitted: bool| {
            let given = headers(&[("host", host)]);
            assert_eq!(guard(false).admits(&Method::GET, &given).is_ok(), admitted, "{host}");
            assert!(guard(true).admits(&Method::GET, &given).is_ok());
        };
        check("127.0.0.1:7280", true);
        check("localhost:7280", true);
        check("LocalHost:7280", true);
        check("[::1]:7280", true);
        check("127.0.0.1", false);
        check("127.0.0.1:80", false);
        check("localhost.evil.example:7280", false);
        check("evil.example:7280", false);
        check("", false);
        assert!(guard(false).admits(&Method::GET, &HeaderMap::new()).is_err());
        let twice = headers(&[("host", "127.0.0.1:7280"), ("host", "evil.example")]);
        assert!(guard(false).admits(&Method::GET, &twice).is_err());
    }

    #[test]
    fn what_changes_something_comes_from_our_own_pages() {
        let check = |lines: &[(&'static str, &str)], admitted: bool| {
            let mut all = vec![("host", "127.0.0.1:7280")];
            all.extend(lines);
            assert_eq!(guard(false).admits(&Method::POST, &headers(&all)).is_ok(), admitted, "{lines:?}");
            assert!(guard(false).admits(&Method::GET, &headers(&all)).is_ok());
        };
        check(&[], true);
        check(&[("origin", "http://127.0.0.1:7280")], true);
        check(&[("origin", "http://localhost:7280")], false);
        check(&[("origin", "https://evil.example")], false);
        check(&[("origin", "null")], false);
        check(&[("origin", "null"), ("sec-fetch-site", "same-origin")], true);
        check(&[("origin", "null"), ("sec-fetch-site", "same-site")], false);
        check(&[("origin", "null"), ("sec-fetch-site", "cross-site")], false);
        check(&[("origin", "null"), ("sec-fetch-site", "none")], false);
        check(&[("origin", "https://evil.example"), ("sec-fetch-site", "same-origin")], false);
        check(&[("sec-fetch-site", "same-origin")], true);
        check(&[("sec-fetch-site", "cross-site")], false);
        check(&[("sec-fetch-site", "same-site")], false);
    }

    #[test]
    fn a_locked_page_wants_the_cookie() {
        assert!(guard(false).is_known(&HeaderMap::new()));
        assert!(!guard(true).is_known(&HeaderMap::new()));
        assert!(!guard(true).is_known(&headers(&[("cookie", "tidings=wrong")])));
        assert!(!guard(true).is_known(&headers(&[("cookie", "other=secret")])));
        assert!(guard(true).is_known(&headers(&[("cookie", "a=b; tidings=secret")])));
    }

    #[test]
    fn the_way_back_has_no_token_and_stays_here() {
        let check = |uri: &str, back: &str| assert_eq!(without_token(&uri.parse().unwrap()), back);
        check("/?token=a", "/");
        check("/person?token=a&id=ann", "/person?id=ann");
        check("http://evil.example//evil.example/x?token=a", "/evil.example/x");
    }

    #[test]
    fn secrets_are_not_printed() {
        assert!(!format!("{:?}", guard(true)).contains("Secret(\"secret"));
    }
}
