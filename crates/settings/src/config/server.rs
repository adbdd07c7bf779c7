//! The house that commands ask, where it is not the one of the data directory.

use std::{net::IpAddr, path::PathBuf};

use secrecy::SecretString;

use super::{
    keys::{CA_FILE, SERVER, TOKEN},
    merge::ConfigMerge,
    parse::parse_path,
    secret_list::{check_access_token, lines_of_secret},
};

/// Where a house is, and what is shown to it.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// Without a slash at its end.
    pub url: String,
    /// Not every question needs one.
    pub token: Option<SecretString>,
    /// Whom it is believed, a PEM file; those that browsers trust without it.
    pub ca: Option<PathBuf>,
}

/// Ends of names that no public server has: a service of a cluster, a machine of a local network.
const PRIVATE_ENDS: [&str; 5] = [".svc", ".local", ".internal", ".localhost", ".home.arpa"];

pub(super) fn resolve_server(merge: &mut ConfigMerge<'_>) -> Option<ServerConfig> {
    let url = merge.take(SERVER, parse_server_url);
    let ca = merge.take(CA_FILE, parse_path);
    let given = merge.secrets.get(TOKEN).map(|(token, source)| (token.clone(), source.clone()));
    let token = given.and_then(|(secret, source)| {
        let first = lines_of_secret(&secret).next().unwrap_or_default();
        match check_access_token(first) {
            Ok(()) => Some(SecretString::from(first)),
            Err(why) => {
                merge.refuse(&source, format!("token: {why}"));
                None
            }
        }
    });
    Some(ServerConfig { url: url?, token, ca })
}

/// `https://news.example.org`, or `http://` where the way leads over no foreign network: whoever reads a token on the way
/// has it.
fn parse_server_url(text: &str) -> Result<String, String> {
    let wrong =
        || "is not an address, such as https://news.example.org or http://tidings.news.svc".to_owned();
    let (scheme, rest) = text.split_once("://").ok_or_else(wrong)?;
    if !catalogue::is_web_url(text) || rest.contains(['?', '#', '%']) {
        return Err(wrong());
    }
    let authority = rest.split('/').next().unwrap_or_default();
    let (host, port) = match authority.rsplit_once(':').filter(|(_, port)| !port.contains(']')) {
        Some((host, port)) => (host, Some(port)),
        None => (authority, None),
    };
    if host.is_empty() || port.is_some_and(|port| port.parse::<u16>().is_err()) {
        return Err(wrong());
    }
    if scheme.eq_ignore_ascii_case("http") && !is_private_host(host) {
        return Err(
            "is not encrypted: use https, except within a cluster or a private network, where a service \
            is written as http://tidings.news.svc"
                .to_owned(),
        );
    }
    Ok(text.trim_end_matches('/').to_owned())
}

/// Whether a host is one of this machine, of a cluster or of a private network.
fn is_private_host(host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    match bare.parse::<IpAddr>() {
        Ok(IpAddr::V4(ip)) => ip.is_loopback() || ip.is_private() || ip.is_link_local(),
        Ok(IpAddr::V6(ip)) => ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local(),
        // What looks like a number is one to a resolver.
        Err(_) if !host.contains('.') => !host.starts_with(|c: char| c.is_ascii_digit()),
        Err(_) => PRIVATE_ENDS.iter().any(|end| host.trim_end_matches('.').ends_with(end)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_goes_over_no_foreign_network_in_the_open() {
        let good = |text: &str, kept: &str| assert_eq!(parse_server_url(text).as_deref(), Ok(kept), "{text}");
        good("https://news.example.org", "https://news.example.org");
        good("https://news.example.org:8443/tidings/", "https://news.example.org:8443/tidings");
        good("http://127.0.0.1:7280/", "http://127.0.0.1:7280");
        good("http://[::1]:7280", "http://[::1]:7280");
        good("http://[fd00::7]:7280", "http://[fd00::7]:7280");
        good("http://10.96.0.12", "http://10.96.0.12");
        good("http://localhost:7280", "http://localhost:7280");
        good("http://news-tidings", "http://news-tidings");
        good("http://news-tidings.news.svc:80", "http://news-tidings.news.svc:80");
        good("http://news-tidings.news.svc.cluster.local", "http://news-tidings.news.svc.cluster.local");
        let bad = |text: &str, says: &str| {
            let why = parse_server_url(text).unwrap_err();
            assert!(why.contains(says), "{text}: {why}");
        };
        for text in
            ["", "x", "ftp://a", "https://", "https://u:p@a", "https://a?b", "https://a#b", "https://a:x"]
        {
            bad(text, "is not an address");
        }
        for text in [
            "http://news.example.org",
            "http://tidings.news",
            "http://8.8.8.8",
            "http://[2001:db8::1]",
            "http://2130706433",
            "http://127.0.0.1.example.org",
            "http://svc.example.org",
            "http://0x7f000001",
        ] {
            bad(text, "is not encrypted");
        }
    }
}
