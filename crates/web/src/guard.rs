//! Access to this process, and what a browser may do with its answers.
//!
//! Without API keys only this machine can reach the port, but so can every page in its browsers: the Host
//! header must be ours (a name that is made to point here is not), and what changes something must come
//! from our own pages (Origin, Sec-Fetch-Site, and a token in every form). With API keys or access tokens, page and
//! admin need a token as well: the one that a process makes at its start, which may do everything, or one that the
//! settings give a role. Beside all this stand the links of mails (`console::unsubscribe`): there the token in the
//! address is the right, and the request may come from anywhere under any name.
//!
//! What a browser keeps of a token of the settings, and what stands in our forms, are hashes that every process with
//! the same settings makes alike: several of them may stand behind one address.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, HeaderValue, Method, Uri, header, header::HeaderName};
use house_facts::AccessRole;
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};

use crate::{
    api_key::{bearer_token, is_same_secret},
    cross_origin::is_from_listed_site,
    origin::is_origin_of,
    person_access::PersonAccess,
    problem::{HttpProblem, ProblemType},
};

/// What the pages may load: our own style, and nothing that runs.
pub const PAGE_POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self' data:; frame-src 'self'; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
/// The same of the pages with a script: scripts of our own, a worker, and a word to the house.
pub const SCRIPT_POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self' data:; script-src 'self'; \
     worker-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
/// What a mail may load: nothing. It cannot run, leave its frame, or tell anybody that it was opened.
pub const MAIL_POLICY: &str = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; \
     form-action 'none'; base-uri 'none'; frame-ancestors 'self'";

const COOKIE: &str = "tidings";

/// A token of the settings, and what it may do.
#[derive(Clone, Debug)]
pub struct RoleToken {
    pub role: AccessRole,
    pub token: SecretString,
}

/// A token, and the value of the cookie of a browser that has shown it.
#[derive(Clone, Debug)]
struct GuardedEntrance {
    role: AccessRole,
    token: SecretString,
    session: SecretString,
}

/// The secrets of one process, and what it answers to.
#[derive(Clone, Debug)]
pub struct RequestGuard {
    /// May do everything; new at each start.
    pub token: SecretString,
    /// In every form of ours.
    pub csrf: String,
    /// That token, and those of the settings.
    entrances: Vec<GuardedEntrance>,
    /// The Host headers we answer to; `None` is any.
    hosts: Option<Vec<String>>,
    /// Whether the page needs a token.
    pub is_locked: bool,
}

impl RequestGuard {
    /// `is_locked` where there are API keys or access tokens: then others may reach us, under names we do not know.
    pub fn new(
        listens: SocketAddr,
        is_locked: bool,
        random: impl Fn() -> anyhow::Result<String>,
    ) -> anyhow::Result<Self> {
        let token = SecretString::from(random()?);
        let csrf = random()?;
        let session = SecretString::from(random()?);
        let own = GuardedEntrance { role: AccessRole::Operate, token: token.clone(), session };
        let hosts = (!is_locked).then(|| hosts(listens));
        Ok(Self { token, csrf, entrances: vec![own], hosts, is_locked })
    }

    /// The same with tokens of the settings.
    #[must_use]
    pub fn with_tokens(mut self, tokens: impl IntoIterator<Item = RoleToken>) -> Self {
        let tokens: Vec<RoleToken> = tokens.into_iter().collect();
        // Only who may change something fills in a form, so the others' tokens say nothing about what stands in it.
        let mut operators: Vec<&str> = tokens
            .iter()
            .filter(|token| token.role == AccessRole::Operate)
            .map(|token| token.token.expose_secret())
            .collect();
        operators.sort_unstable();
        if !operators.is_empty() {
            self.csrf = derive_secret("form", &operators.join("\n"));
        }
        self.entrances.extend(tokens.into_iter().map(|RoleToken { role, token }| {
            let session = SecretString::from(derive_secret("session", token.expose_secret()));
            GuardedEntrance { role, token, session }
        }));
        self
    }

    /// What every request must pass.
    pub fn admits(&self, method: &Method, headers: &HeaderMap) -> Result<(), HttpProblem> {
        self.admits_from(method, headers, None)
    }

    /// The same where scripts of other sites may show the tokens of their persons.
    pub fn admits_persons(
        &self,
        method: &Method,
        headers: &HeaderMap,
        persons: &PersonAccess,
    ) -> Result<(), HttpProblem> {
        self.admits_from(method, headers, Some(persons))
    }

    fn admits_from(
        &self,
        method: &Method,
        headers: &HeaderMap,
        persons: Option<&PersonAccess>,
    ) -> Result<(), HttpProblem> {
        let host = single_header(headers, &header::HOST)?;
        if let Some(hosts) = &self.hosts
            && !host.is_some_and(|host| hosts.iter().any(|ours| ours.eq_ignore_ascii_case(host)))
        {
            return Err(HttpProblem::from_text(
                ProblemType::ForeignOrigin,
                "the `Host` of the request is not a name of this service",
            ));
        }
        if method.is_safe() || persons.is_some_and(|persons| is_from_listed_site(headers, persons)) {
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
        let refusal = HttpProblem::from_text(
            ProblemType::ForeignOrigin,
            "this page belongs to another site, which may not change anything here",
        );
        Err(match persons {
            Some(persons) => persons.explain_refusal(refusal, headers),
            None => refusal,
        })
    }

    /// What a request may do by the token in its header.
    pub fn find_role(&self, headers: &HeaderMap) -> Option<AccessRole> {
        self.find_entrance(bearer_token(headers)?).map(|entrance| entrance.role)
    }

    /// What a browser may do on the page; `None` if it may not see it.
    pub fn find_page_role(&self, headers: &HeaderMap) -> Option<AccessRole> {
        if !self.is_locked {
            return Some(AccessRole::Operate);
        }
        let role = |value: &str| {
            let known = |found: Option<AccessRole>, entrance: &GuardedEntrance| {
                let is_same = is_same_secret(value, entrance.session.expose_secret());
                if is_same { found.max(Some(entrance.role)) } else { found }
            };
            self.entrances.iter().fold(None, known)
        };
        cookies(headers).filter_map(role).max().filter(|role| *role >= AccessRole::Read)
    }

    /// Whether a browser may see the page.
    pub fn is_known(&self, headers: &HeaderMap) -> bool {
        self.find_page_role(headers).is_some()
    }

    /// The token that is this text. All are looked at, so that the time says nothing.
    fn find_entrance(&self, token: &str) -> Option<&GuardedEntrance> {
        self.entrances.iter().fold(None, |found, entrance| {
            if is_same_secret(token, entrance.token.expose_secret()) { Some(entrance) } else { found }
        })
    }

    /// Whether a form is one of ours.
    pub fn is_own_csrf(&self, csrf: &str) -> bool {
        is_same_secret(csrf, &self.csrf)
    }

    /// The cookie of somebody who showed a token with which one may see the page. Not `Secure`: the house itself speaks
    /// plain HTTP, and who stands in front of it with TLS adds that.
    pub fn cookie_for(&self, token: &str) -> Option<HeaderValue> {
        let entrance = self.find_entrance(token).filter(|entrance| entrance.role >= AccessRole::Read)?;
        let session = entrance.session.expose_secret();
        HeaderValue::from_str(&format!("{COOKIE}={session}; Path=/; HttpOnly; SameSite=Strict")).ok()
    }
}

/// What a request must be allowed, by its method.
pub fn needed_role(method: &Method) -> AccessRole {
    if method.is_safe() { AccessRole::Read } else { AccessRole::Operate }
}

/// What is said to a token of another role.
pub fn refuse_role(has: AccessRole, needs: AccessRole) -> HttpProblem {
    HttpProblem::new(
        ProblemType::Forbidden,
        format!("this token has the role `{has}`; this needs the role `{needs}`"),
    )
}

/// Another secret for each use of one.
fn derive_secret(used: &str, secret: &str) -> String {
    let digest = Sha256::digest(format!("tidings {used}\0{secret}"));
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
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
    use std::sync::Arc;

    use super::*;
    use crate::person_access::PersonIssuer;

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
    fn a_script_of_a_listed_site_does_something_with_a_token() {
        let tenant = model::Tenant::new("main").unwrap();
        let origins = vec!["https://shop.example".to_owned()];
        let login = PersonIssuer::new(tenant, "i".to_owned(), "a".to_owned(), origins);
        let persons = PersonAccess::new(vec![Arc::new(login)]);
        let check = |lines: &[(&'static str, &str)], refusal: Option<ProblemType>| {
            let mut all = vec![("sec-fetch-site", "cross-site")];
            all.extend(lines);
            let ask = |host: &str, persons: Option<&PersonAccess>| {
                let lines = headers(&[&[("host", host)], &all[..]].concat());
                guard(false).admits_from(&Method::POST, &lines, persons).err().map(|problem| problem.kind)
            };
            let foreign = Some(ProblemType::ForeignOrigin);
            assert_eq!(ask("127.0.0.1:7280", Some(&persons)), refusal, "{lines:?}");
            assert_eq!(ask("127.0.0.1:7280", None), foreign, "{lines:?}");
            assert_eq!(ask("evil.example", Some(&persons)), foreign, "{lines:?}");
        };
        let (site, token) = (("origin", "https://shop.example"), ("authorization", "Bearer x"));
        let (needs_token, foreign) = (Some(ProblemType::Unauthorized), Some(ProblemType::ForeignOrigin));
        check(&[site, token], None);
        // What a browser brings along by itself is no token.
        check(&[site], needs_token);
        check(&[site, ("cookie", "tidings=x")], needs_token);
        check(&[site, ("authorization", "Basic x")], needs_token);
        check(&[("origin", "https://evil.example")], foreign);
        check(&[("origin", "https://evil.example"), token], foreign);
        check(&[("origin", "null"), token], foreign);
        check(&[token], foreign);
    }

    #[test]
    fn a_locked_page_wants_the_cookie() {
        assert!(guard(false).is_known(&HeaderMap::new()));
        assert!(!guard(true).is_known(&HeaderMap::new()));
        assert!(!guard(true).is_known(&headers(&[("cookie", "tidings=wrong")])));
        assert!(!guard(true).is_known(&headers(&[("cookie", "other=secret")])));
        assert!(guard(true).is_known(&headers(&[("cookie", "a=b; tidings=secret")])));
    }

    const READER: &str = "reader-0123456789abcdef";
    const OPERATOR: &str = "operator-0123456789abcdef";
    const SCRAPER: &str = "scraper-0123456789abcdef";

    fn guard_with_tokens(order: &[(AccessRole, &str)]) -> RequestGuard {
        let tokens = order.iter().map(|(role, token)| RoleToken { role: *role, token: (*token).into() });
        guard(true).with_tokens(tokens)
    }

    fn guard_of_all() -> RequestGuard {
        use AccessRole::{Metrics, Operate, Read};
        guard_with_tokens(&[(Operate, OPERATOR), (Read, READER), (Metrics, SCRAPER)])
    }

    #[test]
    fn a_token_has_its_role_and_no_other() {
        let check = |lines: &[&str], expected: Option<AccessRole>| {
            let lines: Vec<_> = lines.iter().map(|line| ("authorization", *line)).collect();
            assert_eq!(guard_of_all().find_role(&headers(&lines)), expected, "{lines:?}");
        };
        check(&[&format!("Bearer {OPERATOR}")], Some(AccessRole::Operate));
        check(&[&format!("bearer  {READER} ")], Some(AccessRole::Read));
        check(&[&format!("Bearer {SCRAPER}")], Some(AccessRole::Metrics));
        check(&["Bearer secret"], Some(AccessRole::Operate));
        check(&[], None);
        check(&[""], None);
        check(&["Bearer"], None);
        check(&["Bearer "], None);
        check(&[&format!("Basic {OPERATOR}")], None);
        check(&[&format!("Bearer {}", &OPERATOR[1..])], None);
        check(&[&format!("Bearer {OPERATOR}0")], None);
        check(&[&format!("Bearer {}", OPERATOR.to_uppercase())], None);
        check(&[&format!("Bearer {OPERATOR}, Bearer {READER}")], None);
        check(&[&format!("Bearer {}", "x".repeat(60_000))], None);
        // Who says two things says nothing, in whatever order.
        check(&[&format!("Bearer {READER}"), &format!("Bearer {OPERATOR}")], None);
        check(&[&format!("Bearer {OPERATOR}"), "Bearer wrong"], None);
    }

    #[test]
    fn a_cookie_is_worth_what_its_token_is() {
        let all = guard_of_all();
        let cookie = |token: &str| {
            let cookie = all.cookie_for(token)?;
            cookie.to_str().unwrap().split(';').next().map(str::to_owned)
        };
        let (read, operate) = (cookie(READER).unwrap(), cookie(OPERATOR).unwrap());
        assert!(!read.contains(READER) && read != operate);
        assert_eq!(cookie(SCRAPER), None, "whoever reads metrics sees no page");
        assert_eq!(cookie("wrong"), None);
        let check = |cookie: &str, expected: Option<AccessRole>| {
            assert_eq!(all.find_page_role(&headers(&[("cookie", cookie)])), expected, "{cookie}");
        };
        check(&read, Some(AccessRole::Read));
        check(&operate, Some(AccessRole::Operate));
        check(&format!("tidings=; {read}"), Some(AccessRole::Read));
        check(&format!("{read}0"), None);
        check(&read[..read.len() - 1], None);
        check(&read.to_uppercase(), None);
        check(&format!("tidings={READER}"), None);
        check(&format!("tidings={}", derive_secret("session", SCRAPER)), None);
        check(&format!("tidings={}; role=operate", derive_secret("form", READER)), None);
    }

    #[test]
    fn processes_with_the_same_tokens_know_each_others_cookies_and_forms() {
        use AccessRole::{Operate, Read};
        let one = guard_with_tokens(&[(Operate, OPERATOR), (Read, READER)]);
        let other = guard_with_tokens(&[(Read, READER), (Operate, OPERATOR)]);
        assert_eq!(one.cookie_for(READER), other.cookie_for(READER));
        assert!(other.is_own_csrf(&one.csrf));
        // Whose token is gone is gone with it.
        let later = guard_with_tokens(&[(Operate, "another-0123456789abcdef")]);
        let cookie = one.cookie_for(OPERATOR).unwrap();
        assert!(!later.is_known(&headers(&[("cookie", cookie.to_str().unwrap())])));
        assert!(!later.is_own_csrf(&one.csrf));
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
