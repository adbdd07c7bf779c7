//! The logins whose tokens say who a person is.

use super::*;
use crate::config::{PersonKeySource, PersonTokenConfig};

fn logins_of(merged: &MergedConfig) -> Vec<String> {
    let one = |login: &PersonTokenConfig| {
        let PersonTokenConfig { tenant, issuer, audience, keys, origins } = login;
        let keys = match keys {
            PersonKeySource::File(path) => path.display().to_string(),
            PersonKeySource::Url(url) => url.clone(),
        };
        format!("{tenant} {issuer} {audience} {keys} {}", origins.join(","))
    };
    merged.config.person_tokens.iter().map(one).collect()
}

#[test]
fn a_login_has_an_issuer_and_keys() {
    let check = |file: &str, environment: &[(&str, &str)], expected: &[&str], shown: &str| {
        let merged = merge_values(file, environment, &[]).unwrap_or_else(|refused| panic!("{refused}"));
        assert_eq!(logins_of(&merged), expected, "{file}");
        assert_eq!(show_value(&merged, "person_tokens"), shown);
        // It opens nothing that was closed, and closes nothing.
        assert!(!merged.config.is_locked());
    };
    check("", &[], &[], "- (default)");
    check(
        "person_tokens:\n- {tenant: shop, issuer: 'https://login.example', keys_url: 'https://login.example/keys'}",
        &[],
        &["shop https://login.example tidings https://login.example/keys "],
        "shop https://login.example (tidings.yaml:2:3)",
    );
    let several = "[{issuer: i, audience: a, keys_file: keys.json, origins: ['https://shop.example', \
                   'http://localhost:3000', 'https://xn--bcher-kva.example:8443']}, {issuer: i, keys_url: \
                   'http://127.0.0.1:8080/jwks?v=1'}]";
    let both = [
        "main i a keys.json https://shop.example,http://localhost:3000,https://xn--bcher-kva.example:8443",
        "main i tidings http://127.0.0.1:8080/jwks?v=1 ",
    ];
    check(&format!("person_tokens: {several}"), &[], &both, "main i, main i (tidings.yaml:1:17)");
    check(
        "person_tokens: [{issuer: other, keys_file: k}]",
        &[("TIDINGS_PERSON_TOKENS", several)],
        &both,
        "main i, main i (environment TIDINGS_PERSON_TOKENS)",
    );
    let beside = Some((Path::new("conf/tidings.yaml"), "person_tokens: [{issuer: i, keys_file: keys.json}]"));
    let merged = values::merge_layers(beside, [], vec![], read_fake_file).unwrap();
    assert_eq!(logins_of(&merged), ["main i tidings conf/keys.json "]);
}

#[test]
fn logins_that_are_none_are_refused() {
    let check = |logins: &str, says: &str| {
        for (file, environment) in [
            (format!("person_tokens: {logins}"), vec![]),
            (String::new(), vec![("TIDINGS_PERSON_TOKENS", logins)]),
        ] {
            let refused = merge_values(&file, &environment, &[]).unwrap_err().to_string();
            assert!(refused.contains(says), "{logins}: {refused}");
        }
    };
    check("shop", "a list of `{tenant: ..., issuer: ..., keys_url: ...}`");
    check("{issuer: i}", "a list of");
    check("[shop]", "must be a map of keys");
    check("[{keys_file: k}]", "a login needs an `issuer`");
    check("[{issuer: '', keys_file: k}]", "a login needs an `issuer`");
    check("[{issuer: i, audience: '', keys_file: k}]", "a login needs an `audience`");
    check("[{issuer: \"a\\nb\", keys_file: k}]", "no control characters");
    check("[{issuer: 7, keys_file: k}]", "`issuer` must be a text: quote it");
    check("[{isuer: i, keys_file: k}]", "did you mean `issuer`?");
    check("[{tenant: '', issuer: i, keys_file: k}]", "empty");
    check("[{issuer: i}]", "needs `keys_file` or `keys_url`");
    check("[{issuer: i, keys_file: ''}]", "needs `keys_file` or `keys_url`");
    check("[{issuer: i, keys_file: k, keys_url: 'https://a'}]", "not both");
    for url in ["keys.json", "ftp://a/b", "https://", "//a/b"] {
        check(&format!("[{{issuer: i, keys_url: '{url}'}}]"), "is not an address");
    }
    for url in ["http://login.example/keys", "http://10.0.0.1/", "http://127.0.0.1.example/"] {
        check(&format!("[{{issuer: i, keys_url: '{url}'}}]"), "is not encrypted");
    }
    check("[{issuer: i, keys_url: 'https://user:word@login.example'}]", "has no password");
    check("[{issuer: i, keys_file: k, origins: 'https://a.example'}]", "`origins` must be a list");
    check("[{issuer: i, keys_file: k, origins: [1]}]", "must be a list of texts");
    for origin in [
        "*",
        "null",
        "shop.example",
        "https://shop.example/",
        "https://shop.example/app",
        "https://Shop.example",
        "https://shop.example:443",
        "https://*.shop.example",
        "https://u@shop.example",
    ] {
        check(&format!("[{{issuer: i, keys_file: k, origins: ['{origin}']}}]"), "is not a site");
    }
    check("[{issuer: i, keys_file: k, origins: ['http://shop.example']}]", "is not encrypted");
    // By both a token says whose it is.
    check(
        "[{tenant: a, issuer: i, keys_file: k}, {tenant: b, issuer: i, audience: tidings, keys_file: l}]",
        "is there already with the same `audience`",
    );
}
