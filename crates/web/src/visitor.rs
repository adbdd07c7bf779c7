//! Who asks for what is in a mail: its reader, or a program that fetches it for them or looks into it before them.

use axum::http::{HeaderMap, HeaderName, Method, header};

/// What programs call themselves that fetch what is in mails to keep it for their users.
const PROXIES: [&str; 4] = ["googleimageproxy", "ggpht.com", "yahoomailproxy", "outlook-ios-image"];
/// What programs call themselves that look where links lead before anybody reads the mail, or for other reasons.
const ROBOTS: [&str; 23] = [
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

/// Who asks for what is in a mail.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum VisitorClass {
    Reader,
    /// Shows somebody's pictures to them, or fetches them whether or not anybody looks.
    Proxy,
    Robot,
}

impl VisitorClass {
    /// By what a request says of itself.
    pub fn of_request(method: &Method, headers: &HeaderMap) -> Self {
        let said =
            |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let agent = said(header::USER_AGENT).to_ascii_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| agent.contains(word));
        // The name of a program ends with it; `cubot` makes phones.
        let is_bot = agent.match_indices("bot").any(|(at, bot)| {
            let ends = !agent[at + bot.len()..].starts_with(|c: char| c.is_ascii_alphabetic());
            ends && !agent[..at].ends_with("cu")
        });
        let is_ahead = AHEAD.into_iter().any(|name| headers.contains_key(name));
        // Apple fetches the pictures of all mails as this, and nothing more.
        if has(&PROXIES) || agent == "mozilla/5.0" {
            Self::Proxy
        } else if *method != Method::GET || is_ahead || agent.is_empty() || is_bot || has(&ROBOTS) {
            Self::Robot
        } else {
            Self::Reader
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Reader => "reader",
            Self::Proxy => "proxy",
            Self::Robot => "robot",
        }
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
            assert_eq!(VisitorClass::of_request(&method, &headers), expected, "{method} {lines:?}");
        };
        let browser =
            ("user-agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0");
        check(Method::GET, &[browser], VisitorClass::Reader);
        let phone =
            "Mozilla/5.0 (Linux; Android 12; CUBOT P50) AppleWebKit/537.36 Chrome/120.0 Mobile Safari/537.36";
        check(Method::GET, &[("user-agent", phone)], VisitorClass::Reader);
        check(Method::GET, &[("user-agent", "Mozilla/5.0 (Linux) Bottlerocket/1.0")], VisitorClass::Reader);
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
