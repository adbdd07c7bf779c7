//! The keys of traces: where they go, and how many.

use std::path::PathBuf;

use secrecy::SecretString;
use share_ratio::ShareRatio;

use super::{
    keys::{TRACES_CA, TRACES_ENDPOINT, TRACES_HEADERS, TRACES_SAMPLE, TRACES_SERVICE},
    merge::ConfigMerge,
    parse::{parse_path, parse_share, parse_web_url},
    secret_list::lines_of_secret,
};

/// Where traces go.
#[derive(Clone, Debug)]
pub struct TracesConfig {
    pub endpoint: String,
    /// Of the traces that begin here, how many are recorded.
    pub sample: ShareRatio,
    /// What each request has beside.
    pub headers: Vec<(String, SecretString)>,
    pub service: String,
    pub ca: Option<PathBuf>,
}

/// Nothing where no receiver is named: then no trace is recorded.
pub fn resolve_traces(merge: &mut ConfigMerge<'_>) -> Option<TracesConfig> {
    let endpoint = merge.take(TRACES_ENDPOINT, parse_receiver);
    let sample = merge.take(TRACES_SAMPLE, parse_share);
    let service = merge.take(TRACES_SERVICE, |text| Ok(text.to_owned()));
    let ca = merge.take(TRACES_CA, parse_path);
    let mut headers = Vec::new();
    if let Some((lines, source)) = merge.secrets.get(TRACES_HEADERS).cloned() {
        match lines_of_secret(&lines).map(parse_header).collect() {
            Ok(read) => headers = read,
            Err(why) => merge.refuse(&source, format!("`{TRACES_HEADERS}`: {why}")),
        }
    }
    if merge.source(TRACES_ENDPOINT).is_none() {
        [TRACES_SAMPLE, TRACES_SERVICE, TRACES_HEADERS, TRACES_CA]
            .into_iter()
            .for_each(|name| merge.refuse_without(name, TRACES_ENDPOINT));
    }
    Some(TracesConfig {
        endpoint: endpoint?,
        sample: sample?.unwrap_or_default(),
        headers,
        service: service?,
        ca,
    })
}

/// A password in it would be shown.
fn parse_receiver(text: &str) -> Result<String, String> {
    let endpoint =
        parse_web_url(text).map_err(|_| "is not an address, such as http://collector:4318".to_owned())?;
    if endpoint.contains(['@', '?', '#']) {
        return Err(format!("must not contain user, password or key; they go to `{TRACES_HEADERS}`"));
    }
    Ok(endpoint)
}

/// `name: value`. What is wrong is said without it.
fn parse_header(line: &str) -> Result<(String, SecretString), String> {
    const WRONG: &str = "each line must be a header, such as `x-api-key: ...`";
    let (name, value) = line.split_once(':').ok_or(WRONG)?;
    let (name, value) = (name.trim(), value.trim());
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let fits = !name.is_empty() && name.bytes().all(is_name);
    let is_plain = !value.is_empty() && value.bytes().all(|byte| matches!(byte, 0x20..=0x7E));
    if fits && is_plain { Ok((name.to_owned(), value.into())) } else { Err(WRONG.to_owned()) }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;

    use super::*;

    #[test]
    fn a_header_is_a_name_and_a_value() {
        let good = |line: &str, name: &str, value: &str| {
            let read = parse_header(line).unwrap();
            assert_eq!((read.0.as_str(), read.1.expose_secret()), (name, value), "{line}");
        };
        good("x-api-key: abc", "x-api-key", "abc");
        good("Authorization:Basic YTpi", "Authorization", "Basic YTpi");
        for bad in ["", "abc", ": abc", "x y: abc", "x:", "x: a\u{e4}", "x: a\tb"] {
            let why = parse_header(bad).unwrap_err();
            assert!(!why.contains("abc"), "{why}");
        }
    }

    #[test]
    fn an_address_with_a_password_is_refused() {
        assert!(parse_receiver("http://collector:4318").is_ok());
        for bad in ["collector:4318", "https://ann:x@collector", "https://collector/v1/traces?key=x"] {
            assert!(parse_receiver(bad).is_err(), "{bad}");
        }
    }
}
