//! Where a service of pushes is reached.

use url::Url;

/// The root of a service, without the slash at its end.
pub(super) fn parse_root(text: &str) -> Result<String, String> {
    let url = Url::parse(text).ok().filter(|url| url.scheme() == "https" && url.has_host());
    let url =
        url.ok_or_else(|| format!("`{text}` is not the address of a service: it begins with `https://`"))?;
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_named_by_its_root() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(parse_root(text).ok().as_deref(), expected, "{text}");
        };
        check("https://api.push.apple.com", Some("https://api.push.apple.com"));
        check("https://127.0.0.1:8443/", Some("https://127.0.0.1:8443"));
        check("http://api.push.apple.com", None);
        check("api.push.apple.com", None);
        check("", None);
    }
}
