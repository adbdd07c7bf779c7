//! The hosts to which something may lead that upstream has said.

use url::{Host, Url};

/// Whether this is an address on the web of one of these hosts. `*.example.com` is any host below `example.com`. An address that
/// says who asks, or that leads to a number, leads nowhere.
pub fn leads_to_host(address: &str, hosts: &[String]) -> bool {
    let Ok(parsed) = Url::parse(address) else { return false };
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
    is_web && names_nobody && address.len() <= crate::BYTES_MAX && hosts.iter().any(is_of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_leads_to_a_host_that_is_named() {
        let hosts = ["shop.example", "*.cdn.example", "127.0.0.1"].map(str::to_owned);
        let check = |address: &str, expected: bool| {
            assert_eq!(leads_to_host(address, &hosts), expected, "{address}");
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
    }
}
