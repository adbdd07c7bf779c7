//! The hosts to which something may lead that upstream has said.

use url::{Host, Url};

/// An address on the web of one of these hosts, as it is sent; nothing if it is none. `*.example.com` is any host below
/// `example.com`, and a number is a host only where it is named. An address that says who asks leads nowhere.
pub fn find_allowed(address: &str, hosts: &[String]) -> Option<String> {
    let parsed = Url::parse(address).ok().filter(|parsed| is_allowed(parsed, hosts))?;
    Some(String::from(parsed)).filter(|address| address.len() <= crate::BYTES_MAX)
}

fn is_allowed(parsed: &Url, hosts: &[String]) -> bool {
    let is_web = matches!(parsed.scheme(), "https" | "http");
    let names_nobody = parsed.username().is_empty() && parsed.password().is_none();
    let host = match parsed.host() {
        Some(Host::Domain(host)) => host.trim_end_matches('.'),
        _ => return hosts.iter().any(|of| Some(&**of) == parsed.host_str()) && is_web && names_nobody,
    };
    let is_of = |of: &String| match of.strip_prefix("*.") {
        Some(above) => host.strip_suffix(above).is_some_and(|below| below.len() > 1 && below.ends_with('.')),
        None => host == of,
    };
    is_web && names_nobody && hosts.iter().any(is_of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_leads_to_a_host_that_is_named() {
        let hosts = ["shop.example", "*.cdn.example", "127.0.0.1"].map(str::to_owned);
        let check = |address: &str, expected: bool| {
            assert_eq!(find_allowed(address, &hosts).is_some(), expected, "{address}");
        };
        check("https://shop.example/a?b#c", true);
        check("http://shop.example:8080/", true);
        check("https://SHOP.example./a", true);
        check("https://img.cdn.example/a.png", true);
        check("https://a.b.cdn.example/a.png", true);
        check("http://127.0.0.1:9/a", true);
        check("https://cdn.example/a.png", false);
        check("https://.cdn.example/a.png", false);
        check("https://evilcdn.example/a.png", false);
        check("https://a.shop.example/", false);
        check("https://shop.example.evil/", false);
        check("https://evil.example/?https://shop.example", false);
        check("https://shop.example@evil.example/", false);
        check("https://me@shop.example/", false);
        check("https://evil.example\\@shop.example/", false);
        check("https:shop.example", true);
        check("//shop.example/", false);
        check("javascript://shop.example/%0aalert(1)", false);
        check("data:text/html,shop.example", false);
        check("ftp://shop.example/", false);
        check("http://127.1/", true);
        check("http://[::1]/", false);
        check("", false);
        check(&format!("https://shop.example/{}", "a".repeat(crate::BYTES_MAX)), false);
        // Bytes that a header cannot carry are written out.
        let found = find_allowed("https://shop.example/gr\u{f6}\u{df}e \"<>.png", &hosts);
        assert_eq!(found.as_deref(), Some("https://shop.example/gr%C3%B6%C3%9Fe%20%22%3C%3E.png"));
    }
}
