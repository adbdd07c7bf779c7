//! How the texts of a configuration are understood, and what was probably meant by those that are not.

use std::{
    path::{Path, PathBuf},
    str::FromStr,
    time::Duration,
};

use courier_net::is_rate;
use runtime::log::LogFormat;
use share_ratio::{ShareRatio, ShareRatioError};
use source_text::nearest_name;
use tracing::level_filters::LevelFilter;

use super::keys::{API_KEY_FILE_VARIABLE, ConfigKey, FILE_SUFFIX_VARIABLE, KEYS, KeyForm};

pub fn parse_as<T: FromStr>(what: &'static str) -> impl Fn(&str) -> Result<T, String> {
    move |text| text.parse().map_err(|_| what.to_owned())
}

pub fn parse_log_format(text: &str) -> Result<LogFormat, String> {
    match text {
        "text" => Ok(LogFormat::Text),
        "json" => Ok(LogFormat::Json),
        _ => Err("is neither `text` nor `json`".to_owned()),
    }
}

/// The crates whose names a filter may begin a directive with: ours, and the one whose log is ours too.
const CRATES: [&str; 56] = [
    "adapters",
    "address_guard",
    "bench",
    "calendar",
    "catalogue",
    "catalogue_format",
    "cli",
    "console",
    "courier",
    "courier_net",
    "digest",
    "diverse_order",
    "expression",
    "fanout",
    "feed",
    "feed_bundles",
    "geoip",
    "house",
    "house_facts",
    "http_agent",
    "ingest",
    "languages",
    "lifecycle",
    "listener",
    "live",
    "model",
    "otlp",
    "preference_sheet",
    "preferences",
    "registry",
    "render",
    "room",
    "runtime",
    "scenario",
    "sender",
    "settings",
    "share_ratio",
    "shell",
    "sizing",
    "slot_lists",
    "slots",
    "source_rules",
    "source_text",
    "stage",
    "store",
    "store_cql",
    "store_embedded",
    "tidings",
    "topic",
    "topic_kafka",
    "traces",
    "upkeep",
    "views",
    "web",
    "wire",
    "rdkafka",
];
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// `info`, `info,digest=debug`. A filter that filters nothing, or everything, is mostly a slip.
pub fn check_log_filter(text: &str) -> Result<String, String> {
    for directive in text.split(',').map(str::trim).filter(|directive| !directive.is_empty()) {
        // Spans and their fields have a syntax of their own, which logging itself reads.
        if !directive.contains(['[', ']', '{', '}']) {
            one_directive(directive)?;
        }
    }
    Ok(text.to_owned())
}

fn one_directive(directive: &str) -> Result<(), String> {
    let (target, level) = match directive.split_once('=') {
        Some((target, level)) => (target, Some(level)),
        None => (directive, None),
    };
    let is_level = |word: &str| word.parse::<LevelFilter>().is_ok();
    if let Some(level) = level.filter(|level| level.is_empty() || !is_level(level)) {
        let near = nearest_name(level, LEVELS).map(|near| format!("; did you mean `{near}`?"));
        return Err(format!("has no level `{level}`{}", near.unwrap_or_default()));
    }
    let name = target.split("::").next().unwrap_or_default();
    if CRATES.contains(&name) || (level.is_none() && is_level(name)) {
        return Ok(());
    }
    if level.is_none() {
        let near = nearest_name(name, CRATES.into_iter().chain(LEVELS))
            .map(|near| format!("; did you mean `{near}`?"));
        let what = near.unwrap_or_else(|| format!("; for another crate write `{name}=debug`"));
        return Err(format!("has `{name}`, which is neither a level nor a crate of ours{what}"));
    }
    // Other people's crates log too, and some of their names are not far from ours: tokio, topic.
    let slips = if name.len() > 5 { 2 } else { 1 };
    match nearest_name(name, CRATES).filter(|near| strsim::osa_distance(name, near) <= slips) {
        Some(near) => Err(format!("has no crate `{name}`; did you mean `{near}`?")),
        None if name.is_empty() => Err(format!("has `{directive}`, which does not name a crate")),
        None => Ok(()),
    }
}

/// `268435456`, `256 MiB`, `2GiB`.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let (number, unit) = text.split_at(text.len() - digits.len());
    let shift = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "kib" => 10,
        "mib" => 20,
        "gib" => 30,
        "tib" => 40,
        _ => return Err("is not a size, such as 256 MiB".to_owned()),
    };
    let number: Option<u64> = number.parse().ok();
    number.and_then(|n| n.checked_mul(1 << shift)).ok_or_else(|| "is not a size, such as 256 MiB".to_owned())
}

/// The address of a service, which may be one within our own walls.
pub fn parse_web_url(text: &str) -> Result<String, String> {
    match catalogue::is_web_url(text) {
        true => Ok(text.to_owned()),
        false => Err("is not an address, such as http://presence.internal:8080/connected".to_owned()),
    }
}

/// Characters of a public address; a link in a header adds some 800 to it.
const PUBLIC_URL_CHARS_MAX: usize = 150;
/// Names of this machine, to which nobody listens in on the way.
const OWN_HOSTS: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Whether a name is one of this machine's own.
pub fn is_own_host(host: &str) -> bool {
    OWN_HOSTS.contains(&host)
}

/// `https://mail.example.org`, with a path or without. Links in mails are a right: they go over the wire
/// encrypted, and a mailbox offers its one click for no others.
pub fn parse_public_url(text: &str) -> Result<String, String> {
    let wrong = || "is not an address, such as https://mail.example.org".to_owned();
    let odd = |c: char| !c.is_ascii_alphanumeric() && !"-._~:/[]%".contains(c);
    if text.len() > PUBLIC_URL_CHARS_MAX || text.contains(odd) {
        return Err(wrong());
    }
    let (scheme, rest) = text.split_once("://").ok_or_else(wrong)?;
    let authority = rest.split('/').next().unwrap_or_default();
    let (host, port) = match authority.rsplit_once(':').filter(|(_, port)| !port.contains(']')) {
        Some((host, port)) => (host, Some(port)),
        None => (authority, None),
    };
    if host.is_empty()
        || !catalogue::is_web_url(text)
        || port.is_some_and(|port| port.parse::<u16>().is_err())
    {
        return Err(wrong());
    }
    if scheme != "https" && !is_own_host(host) {
        return Err("is not encrypted: use https, except for this machine".to_owned());
    }
    Ok(text.trim_end_matches('/').to_owned())
}

/// `10%` or `0.5%`; `off` is none.
pub fn parse_share(text: &str) -> Result<Option<ShareRatio>, String> {
    match text.parse() {
        _ if text == "off" => Ok(None),
        Ok(share) if share > ShareRatio::NONE => Ok(Some(share)),
        Ok(_) | Err(ShareRatioError) => Err(format!("{ShareRatioError}, nor `off`")),
    }
}

/// `45s`, `500ms`, `2m`.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let factor = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        _ => 0,
    };
    let number: Option<u64> = text[..text.len() - unit.len()].parse().ok();
    match number.and_then(|number| number.checked_mul(factor)) {
        Some(ms) if ms > 0 => Ok(Duration::from_millis(ms)),
        _ => Err("is not a duration, such as 45s, 500ms or 2m".to_owned()),
    }
}

/// So many a second: `50`, `0.5`.
pub fn parse_rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate| is_rate(*rate));
    rate.ok_or_else(|| "is not a rate: a number above 0, at most a million".to_owned())
}

/// One of some words, in large letters or small ones.
pub fn parse_word<T: Copy>(words: &'static [(&'static str, T)]) -> impl Fn(&str) -> Result<T, String> {
    move |text| {
        let found = words.iter().find(|(word, _)| word.eq_ignore_ascii_case(text));
        found.map(|(_, value)| *value).ok_or_else(|| {
            let words: Vec<String> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
            format!("is not one of {}", words.join(", "))
        })
    }
}

/// `host:port`, several with commas between them.
pub fn parse_addresses(text: &str) -> Result<Vec<String>, String> {
    let one = |address: &str| {
        let (host, port) = address.rsplit_once(':')?;
        let fits = !host.is_empty() && !host.contains([' ', '/']) && port.parse::<u16>().is_ok_and(|p| p > 0);
        fits.then(|| address.to_owned())
    };
    let all: Option<Vec<String>> = text.split(',').map(|address| one(address.trim())).collect();
    all.ok_or_else(|| "is not an address, such as host:9092, or several with commas".to_owned())
}

pub fn parse_path(text: &str) -> Result<PathBuf, String> {
    if text.is_empty() { Err("is not a path".to_owned()) } else { Ok(PathBuf::from(text)) }
}

/// A path of the file is meant from the file's own folder.
pub fn path_beside(file: &Path, text: &str) -> String {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() && !text.is_empty() => {
            folder.join(text).display().to_string()
        }
        _ => text.to_owned(),
    }
}

pub fn unknown_key<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    // What stands behind the colon may be a secret.
    if let Some((key, _)) = word.split_once(':') {
        return format!("`{key}` has no space after its colon");
    }
    match nearest_name(word, names) {
        Some(near) => format!("unknown key `{word}`; did you mean `{near}`?"),
        None => format!("unknown key `{word}`; `tidings config` lists the known ones"),
    }
}

/// The variable that was probably meant.
pub fn nearest_variable(name: &str) -> Option<String> {
    let secrets = KEYS.iter().filter(|key| key.form == KeyForm::Secret);
    let files = secrets.map(|key| format!("{}{FILE_SUFFIX_VARIABLE}", key.variable()));
    let known = KEYS.iter().map(ConfigKey::variable).chain([API_KEY_FILE_VARIABLE.to_owned()]);
    known
        .chain(files)
        .filter(|known| strsim::osa_distance(name, known) <= 2)
        .min_by_key(|known| strsim::osa_distance(name, known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_crate_of_ours_can_be_filtered() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let crates = folder.read_dir().unwrap().map(|item| item.unwrap().file_name().into_string().unwrap());
        let mut ours: Vec<String> =
            crates.filter(|name| name != "xtask").map(|name| name.replace('-', "_")).collect();
        ours.sort();
        let known: Vec<&str> = CRATES.into_iter().filter(|name| *name != "rdkafka").collect();
        assert_eq!(known, ours);
    }

    #[test]
    fn a_public_address_is_one_that_can_stand_in_a_mail() {
        let good = |text: &str, kept: &str| assert_eq!(parse_public_url(text).as_deref(), Ok(kept));
        good("https://mail.example.org", "https://mail.example.org");
        good("https://example.org:8443/tidings/", "https://example.org:8443/tidings");
        good("http://localhost:7280", "http://localhost:7280");
        good("http://127.0.0.1", "http://127.0.0.1");
        good("http://[::1]:7280/", "http://[::1]:7280");
        let bad = |text: &str, says: &str| {
            let why = parse_public_url(text).unwrap_err();
            assert!(why.contains(says), "{text}: {why}");
        };
        for text in ["", "mail.example.org", "https://", "https:///x", "ftp://example.org", "javascript://x"]
        {
            bad(text, "is not");
        }
        for text in
            ["https://a b", "https://a?b", "https://a#b", "https://u@a", "https://a\r\nX: y", "https://ä"]
        {
            bad(text, "is not an address");
        }
        bad("https://example.org:port", "is not an address");
        bad(&format!("https://example.org/{}", "x".repeat(200)), "is not an address");
        bad("http://mail.example.org", "not encrypted");
        bad("http://127.0.0.1.example.org", "not encrypted");
    }

    #[test]
    fn filters_that_are_slips_are_refused() {
        for good in [
            "",
            "info",
            "INFO,digest=debug",
            "warn, tokio=info",
            "digest::window=trace",
            "tidings",
            "[room]=info",
        ] {
            assert_eq!(check_log_filter(good).as_deref(), Ok(good));
        }
        let check = |filter: &str, says: &str| {
            let why = check_log_filter(filter).unwrap_err();
            assert!(why.contains(says), "{filter}: {why}");
        };
        check("inof", "did you mean `info`?");
        check("info,digset=debug", "did you mean `digest`?");
        check("digest=debgu", "did you mean `debug`?");
        check("digest=", "no level");
        check("=info", "does not name a crate");
        check("nonsense", "neither a level nor a crate of ours");
    }
}
