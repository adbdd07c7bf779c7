//! Ways for mail as an operator writes them: an address a line.
//!
//! ```text
//! smtp://user:password@mail.example.com:587?weight=3
//! smtps://other.example.com?connections=4&per_second=50
//! smtp+plain://127.0.0.1:2525
//! ses://KEY:SECRET@eu-west-1
//! postmark://TOKEN@api.postmarkapp.com
//! sendgrid://KEY@api.sendgrid.com
//! ```

use std::{net::IpAddr, time::Duration};

use runtime::Clock;
use url::Url;

use crate::{
    dkim,
    http::secret_header,
    mail::MailRoute,
    providers::{MailProvider, PostmarkProvider, ProviderTransport, SendGridProvider, SesProvider},
    smtp::{SmtpLimits, SmtpLogin, SmtpRelay, SmtpTimeouts, SmtpTls, WarmupRamp},
    tls_trust::TlsTrust,
};

/// The largest number that makes sense for any of the settings.
const NUMBER_MAX: f64 = 1_000_000.0;

const SCHEMES: &str = "`smtp`, `smtps`, `smtp+plain`, `ses`, `postmark` and `sendgrid`";

/// What can be said behind the question mark of any way.
const WORDS: [&str; 8] =
    ["name", "weight", "domains", "connections", "waiting", "per_second", "warm_up", "warm_up_first"];
/// Mails of the first day, of a way that is got used to.
const WARM_UP_FIRST: f64 = 200.0;
/// And of one of these.
const SMTP_WORDS: [&str; 2] = ["mails_each", "tls_name"];
const SES_WORDS: [&str; 2] = ["endpoint", "configuration_set"];
const POSTMARK_WORDS: [&str; 1] = ["stream"];

/// What all ways have in common.
#[derive(Clone)]
pub struct RouteDefaults {
    /// How we call ourselves.
    pub ehlo: String,
    /// How long one mail may be in a server's hands.
    pub hand_over: Duration,
    pub trust: TlsTrust,
}

/// Reads ways, or says what is wrong with each line. No complaint quotes a line: it has a password in it.
pub fn parse_routes(text: &str, common: &RouteDefaults) -> Result<Vec<MailRoute>, Vec<String>> {
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let (mut ways, mut wrong) = (Vec::new(), Vec::new());
    for (number, line) in lines {
        match parse_route(line, common) {
            Ok(way) if ways.iter().any(|other: &MailRoute| other.name() == way.name()) => {
                wrong.push(format!(
                    "route {number}: another one is called `{}`; `?name=` tells them apart",
                    way.name()
                ));
            }
            Ok(way) => ways.push(way),
            Err(why) => wrong.push(format!("route {number}: {why}")),
        }
    }
    if ways.is_empty() && wrong.is_empty() {
        wrong.push("it is empty; write a URL such as `smtp://user:password@mail.example.com:587`".to_owned());
    }
    if wrong.is_empty() { Ok(ways) } else { Err(wrong) }
}

fn parse_route(line: &str, common: &RouteDefaults) -> Result<MailRoute, String> {
    let url = Url::parse(line).map_err(|error| format!("not an address: {error}"))?;
    let own = match url.scheme() {
        "smtp" | "smtps" | "smtp+plain" => &SMTP_WORDS[..],
        "ses" => &SES_WORDS,
        "postmark" => &POSTMARK_WORDS,
        "sendgrid" => &[],
        other => return Err(format!("`{other}` is not one of {SCHEMES}")),
    };
    let host = url.host_str().filter(|host| !host.is_empty()).ok_or("it has no server")?;
    let host = host.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
    if !matches!(url.path(), "" | "/") || url.fragment().is_some() {
        return Err("after the server, only parameters behind a `?` are allowed".to_owned());
    }
    let said = RouteParams::read(&url, own)?;
    let weight = match said.get_param("weight").as_deref() {
        Some("0") => 0,
        _ => said.count("weight")?.map_or(1, |n| u32::try_from(n).unwrap_or(u32::MAX)),
    };
    let name = said.get_param("name").unwrap_or_else(|| host.clone());
    let (limits, domains) = (read_limits(&said)?, said.domains()?);
    if own == SMTP_WORDS {
        return Ok(MailRoute::by_smtp(&name, weight, read_relay(&url, &said, host, common)?, limits)
            .only_for(domains));
    }
    let provider = read_provider(&url, &said, &host)?;
    let transport = ProviderTransport::new(provider, &common.trust, common.hand_over);
    Ok(MailRoute::by_provider(&name, weight, transport, limits).only_for(domains))
}

fn read_limits(said: &RouteParams) -> Result<SmtpLimits, String> {
    let usual = SmtpLimits::USUAL;
    Ok(SmtpLimits {
        connections: said.count("connections")?.unwrap_or(usual.connections),
        mails_each: said
            .count("mails_each")?
            .map_or(usual.mails_each, |n| u32::try_from(n).unwrap_or(u32::MAX)),
        waiting: said.count("waiting")?.unwrap_or(usual.waiting),
        per_second: said.number("per_second")?,
        ramp: said.ramp()?,
        ..usual
    })
}

fn read_relay(
    url: &Url,
    said: &RouteParams,
    host: String,
    common: &RouteDefaults,
) -> Result<SmtpRelay, String> {
    let connector = || common.trust.connector();
    let (tls, port) = match url.scheme() {
        "smtp" => (SmtpTls::Required(connector()), 587),
        "smtps" => (SmtpTls::FromTheStart(connector()), 465),
        _ => (SmtpTls::None, 25),
    };
    if matches!(tls, SmtpTls::None) && !is_local_host(&host) {
        return Err(
            "`smtp+plain` is for a server on this machine; mail to another machine needs TLS".to_owned()
        );
    }
    Ok(SmtpRelay {
        port: url.port().unwrap_or(port),
        tls_name: said.get_param("tls_name"),
        tls,
        login: read_login(url)?,
        ehlo: common.ehlo.clone(),
        times: SmtpTimeouts::within_hand_over(common.hand_over),
        host,
    })
}

/// One that is asked by HTTP, always within TLS.
fn read_provider(url: &Url, said: &RouteParams, host: &str) -> Result<Box<dyn MailProvider>, String> {
    if url.scheme() == "ses" {
        let Some(SmtpLogin { user, password }) = read_login(url)? else {
            return Err("it needs a key and its secret, as in `ses://KEY:SECRET@eu-west-1`".to_owned());
        };
        let is_region = host.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if !is_region || url.port().is_some() {
            return Err("after the @ there must be a region, such as `eu-west-1`".to_owned());
        }
        let (endpoint, set) = (
            said.get_param("endpoint").map(|at| parse_host(&at)).transpose()?,
            said.get_param("configuration_set"),
        );
        return Ok(Box::new(SesProvider::new(user, password, host.to_owned(), endpoint, set)));
    }
    let (token, password) = (decode_percent(url.username())?, url.password());
    if token.is_empty() || password.is_some() {
        return Err("it needs a token before the @, and nothing else".to_owned());
    }
    let host = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    let host = parse_host(&host)?;
    let header = |text: &str| {
        secret_header(text).ok_or_else(|| "its token has a character that is not allowed".to_owned())
    };
    Ok(match url.scheme() {
        "postmark" => {
            Box::new(PostmarkProvider { host, token: header(&token)?, stream: said.get_param("stream") })
        }
        _ => Box::new(SendGridProvider { host, key: header(&format!("Bearer {token}"))? }),
    })
}

/// A host and maybe a port, and nothing by which an address would lead elsewhere.
fn parse_host(text: &str) -> Result<String, String> {
    let url = Url::parse(&format!("https://{text}")).ok();
    let is_whole = |url: &Url| {
        let port = url.port().map_or(String::new(), |port| format!(":{port}"));
        url.host_str().is_some_and(|host| format!("{host}{port}") == text) && url.path() == "/"
    };
    url.filter(is_whole).map(|_| text.to_owned()).ok_or_else(|| format!("`{text}` is not a host name"))
}

fn is_local_host(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn read_login(url: &Url) -> Result<Option<SmtpLogin>, String> {
    let user = decode_percent(url.username())?;
    match (user.is_empty(), url.password()) {
        (true, None) => Ok(None),
        (false, Some(password)) => Ok(Some(SmtpLogin { user, password: decode_percent(password)?.into() })),
        _ => Err("it has a user or a password, but not both".to_owned()),
    }
}

/// Without the percent signs by which a password may have any character.
fn decode_percent(text: &str) -> Result<String, String> {
    let text = percent_encoding::percent_decode_str(text).decode_utf8();
    let text = text.map_err(|_| "its user or password is not UTF-8".to_owned())?;
    if text.chars().any(char::is_control) {
        return Err("its user or password has a control character".to_owned());
    }
    Ok(text.into_owned())
}

/// What is said behind the question mark.
struct RouteParams(Vec<(String, String)>);

impl RouteParams {
    fn read(url: &Url, own: &[&str]) -> Result<Self, String> {
        let words: Vec<&str> = WORDS.iter().chain(own).copied().collect();
        let mut said: Vec<(String, String)> = Vec::new();
        for (word, value) in url.query_pairs() {
            if !words.contains(&&*word) {
                return Err(format!("`{word}` is not one of {}", words.join(", ")));
            }
            if said.iter().any(|(other, _)| **other == *word) {
                return Err(format!("`{word}` is given twice"));
            }
            if value.is_empty() || value.chars().any(char::is_control) {
                return Err(format!("`{word}` has no value"));
            }
            said.push((word.into_owned(), value.into_owned()));
        }
        Ok(Self(said))
    }

    fn get_param(&self, word: &str) -> Option<String> {
        self.0.iter().find(|(other, _)| other == word).map(|(_, value)| value.clone())
    }

    /// The domains whose mails a way takes.
    fn domains(&self) -> Result<Vec<String>, String> {
        let text = self.get_param("domains").unwrap_or_default();
        let names = text.split(',').filter(|name| !name.is_empty());
        names.map(|name| parse_host(&name.to_ascii_lowercase())).collect()
    }

    fn ramp(&self) -> Result<Option<WarmupRamp>, String> {
        let first_day = self.number("warm_up_first")?;
        let Some(date) = self.get_param("warm_up") else {
            let alone = first_day.map(|_| "`warm_up_first` goes with `warm_up`, a date".to_owned());
            return alone.map_or(Ok(None), Err);
        };
        let since = dkim::folder::parse_since(&date).ok_or("`warm_up` must be a date, such as 2026-12-01")?;
        let age_ms = Clock::real(0).now().saturating_sub(since.saturating_mul(1_000));
        Ok(Some(WarmupRamp { age_ms, first_day: first_day.unwrap_or(WARM_UP_FIRST) }))
    }

    fn number(&self, word: &str) -> Result<Option<f64>, String> {
        let Some(text) = self.get_param(word) else { return Ok(None) };
        let number = text.parse::<f64>().ok().filter(|number| *number > 0.0 && *number <= NUMBER_MAX);
        number.map(Some).ok_or_else(|| format!("`{word}` must be a number above 0, and at most a million"))
    }

    fn count(&self, word: &str) -> Result<Option<usize>, String> {
        let Some(text) = self.get_param(word) else { return Ok(None) };
        let count = text.parse::<usize>().ok().filter(|count| (1..=1_000_000).contains(count));
        count
            .map(Some)
            .ok_or_else(|| format!("`{word}` must be a whole number above 0, and at most a million"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn test_defaults() -> RouteDefaults {
        let trust = TlsTrust::new(None).unwrap();
        RouteDefaults { ehlo: "here.example".to_owned(), hand_over: Duration::from_secs(120), trust }
    }

    #[test]
    fn ways_are_read() {
        let text = "\n# two\nsmtp://ann:p%40ss%3A@mail.example.com?weight=3&connections=4\n smtps://[::1]:2465?name=b\n\
                    smtp+plain://127.0.0.1:2525?weight=0\nses://KEY:s3cret@eu-west-1?configuration_set=all\n\
                    ses://KEY:a%2Fb@us-east-1?endpoint=localhost:4566&name=near\n\
                    postmark://s3cret@api.postmarkapp.com?stream=news\nsendgrid://s3cret@127.0.0.1:8443?per_second=50&name=sg";
        let ways = parse_routes(text, &test_defaults()).unwrap();
        let shown: Vec<String> = ways.iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            [
                "mail.example.com: smtp to mail.example.com:587 (starttls, login), weight 3, 4 connections",
                "b: smtp to ::1:2465 (tls), weight 1, 8 connections",
                "127.0.0.1: smtp to 127.0.0.1:2525 (none), weight 0, 8 connections",
                "eu-west-1: ses at email.eu-west-1.amazonaws.com, weight 1, 8 connections",
                "near: ses at localhost:4566, weight 1, 8 connections",
                "api.postmarkapp.com: postmark at api.postmarkapp.com, weight 1, 8 connections",
                "sg: sendgrid at 127.0.0.1:8443, weight 1, 8 connections",
            ]
        );
        assert!(!format!("{ways:?}").contains("s3cret"));
    }

    #[test]
    fn what_is_wrong_is_said_without_the_password() {
        let check = |line: &str, expected: &str| {
            let wrong = parse_routes(line, &test_defaults()).unwrap_err().join("; ");
            assert!(wrong.contains(expected), "{wrong:?} does not say {expected:?}");
            assert!(!wrong.contains("s3cret"), "{wrong:?}");
        };
        check("", "it is empty");
        check("mail.example.com", "not an address");
        check("http://ann:s3cret@mail.example.com", "`http` is not one of");
        check("smtp+plain://ann:s3cret@mail.example.com", "needs TLS");
        check("smtp+plain://10.0.0.1", "needs TLS");
        check("smtp://ann@mail.example.com", "but not both");
        check("smtp://:s3cret@mail.example.com", "but not both");
        check("smtp://ann:s3cret%0d%0aQUIT@mail.example.com", "control character");
        check("smtp://ann:s3cret@mail.example.com?wieght=3", "`wieght` is not one of name, weight");
        check("smtp://mail.example.com?weight=-1", "`weight` must be a whole number");
        check("smtp://mail.example.com?connections=0", "`connections` must be a whole number");
        check("smtp://mail.example.com?per_second=NaN", "`per_second` must be a number");
        check("smtp://mail.example.com?weight=1&weight=2", "given twice");
        check("smtp://mail.example.com?warm_up=soon", "`warm_up` must be a date");
        check("smtp://mail.example.com?warm_up_first=10", "`warm_up_first` goes with `warm_up`");
        check("smtp://mail.example.com?domains=a.example,b c", "`b c` is not a host name");
        check("smtp://mail.example.com/inbox", "behind a `?`");
        check("ses://KEY@eu-west-1", "but not both");
        check("ses://eu-west-1", "a key and its secret");
        check("ses://KEY:s3cret@email.eu-west-1.amazonaws.com", "there must be a region");
        check("ses://KEY:s3cret@eu-west-1?endpoint=a/b", "`a/b` is not a host name");
        check("ses://KEY:s3cret@eu-west-1?endpoint=a@b", "`a@b` is not a host name");
        check("ses://KEY:s3cret@eu-west-1?stream=x", "`stream` is not one of name, weight");
        check("postmark://api.postmarkapp.com", "a token before the @");
        check("postmark://ann:s3cret@api.postmarkapp.com", "and nothing else");
        check("postmark://s3cret@api.postmarkapp.com/email", "behind a `?`");
        check("postmark://s3cret@api.postmarkapp.com?mails_each=3", "`mails_each` is not one of");
        check("sendgrid://s3cret%0d%0ax@api.sendgrid.com", "control character");
        check("sendgrid://s3crét@api.sendgrid.com?tls_name=x", "`tls_name` is not one of");
        check("smtp://mail.example.com\nsmtps://mail.example.com", "route 2: another one is called");
    }

    proptest! {
        #[test]
        fn whatever_stands_there_is_a_way_or_a_complaint(
            scheme in "smtp|smtps|smtp\\+plain|ses|postmark|sendgrid|\\PC{0,6}",
            rest in "(//)?\\PC{0,20}(:\\PC{0,8})?(@\\PC{0,20})?(:[0-9]{0,6})?(\\?\\PC{0,30})?",
        ) {
            drop(parse_routes(&format!("{scheme}:{rest}"), &test_defaults()));
        }
    }
}
