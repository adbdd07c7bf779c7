//! API keys: in files with several lines, as hashes, and with scopes.

use std::path::PathBuf;

use house_facts::KeyScope;

use super::*;
use crate::config::KeyHash;

/// The SHA-256 of `correct-horse-battery`.
const HASH: &str = "sha256:62249369389075490555a758353aec61500c6218fa597252d52dc4bd0148f12d";

fn keys_of(merged: &MergedConfig) -> Vec<(String, KeyHash, Vec<&'static str>)> {
    let keys = merged.config.api_keys.iter();
    keys.map(|key| {
        (key.tenant.to_string(), key.hash, key.scopes.iter().copied().map(KeyScope::name).collect())
    })
    .collect()
}

#[test]
fn a_key_is_kept_as_its_hash_wherever_it_stands() {
    const ALL: &[&str] = &["changes", "facts", "feedback", "returns", "read"];
    let hash_of = |key: &str| KeyHash::from_key(key);
    let check = |file: &str, environment: &[(&str, &str)], expected: &[(&str, KeyHash, &[&str])]| {
        let merged = merge_values(file, environment, &[]).unwrap_or_else(|refused| panic!("{refused}"));
        let expected: Vec<_> = expected
            .iter()
            .map(|(tenant, hash, scopes)| ((*tenant).to_owned(), *hash, scopes.to_vec()))
            .collect();
        assert_eq!(keys_of(&merged), expected, "{file}");
        let shown = format!("{merged:?} {}", listing::config_as_json(&merged));
        assert!(!shown.contains("0123456789abcdef") && !shown.contains("sha256"), "{shown}");
    };
    let secret = hash_of(SECRET);
    let written = secret.to_string();
    check(&format!("api_keys: [{{tenant: t, hash: '{written}'}}]"), &[], &[("t", secret, ALL)]);
    check(&format!("api_keys: [{{tenant: t, key: '{written}'}}]"), &[], &[("t", secret, ALL)]);
    check("", &[("TIDINGS_API_KEY", &written)], &[("main", secret, ALL)]);
    let (new, old) = ("new-0123456789abcdef", "old-0123456789abcdef");
    let both: [(&str, KeyHash, &[&str]); 2] = [("t", hash_of(new), ALL), ("t", hash_of(old), ALL)];
    check("api_keys: [{tenant: t, key_file: tokens}]", &[], &both);
    let both = both.map(|(_, hash, scopes)| ("main", hash, scopes));
    check("", &[("TIDINGS_API_KEY_FILE", "tokens")], &both);
    check(
        &format!("api_keys: [{{tenant: t, hash: '{written}', scopes: [read, changes]}}]"),
        &[],
        &[("t", secret, &["changes", "read"])],
    );
    // The same key twice is one.
    check(
        &format!("api_keys: [{{tenant: t, hash: '{written}'}}, {{tenant: t, key: {SECRET}}}]"),
        &[],
        &[("t", secret, ALL)],
    );
}

#[test]
fn the_files_of_keys_are_known() {
    let file = "api_keys: [{tenant: t, key_file: secret}, {tenant: t, key: key-0123456789abcdef}]";
    let merged = merge_values(file, &[], &[]).unwrap();
    assert_eq!(merged.config.api_key_files, [PathBuf::from("secret")].into());
}

#[test]
fn hashes_and_scopes_that_are_none_are_refused_and_not_shown() {
    let check = |keys: &str, says: &str| {
        let refused = merge_values(&format!("api_keys: {keys}"), &[], &[]).unwrap_err().to_string();
        assert!(refused.contains(says), "{keys}: {refused}");
        assert!(!refused.contains("622493") && !refused.contains("horse"), "{refused}");
    };
    check("[{tenant: t, hash: correct-horse-battery}]", "`hash` must be `sha256:` and 64 hexadecimal digits");
    check("[{tenant: t, hash: 'sha256:622493'}]", "a hash must be `sha256:` and 64 hexadecimal digits");
    check("[{tenant: t, key: 'sha256:correct-horse-battery'}]", "a hash must be");
    check(&format!("[{{tenant: t, hash: '{HASH}', key: correct-horse-battery}}]"), "not both");
    check(&format!("[{{tenant: t, hash: '{HASH}', key_file: secret}}]"), "not both");
    check("[{tenant: t, hash: 12}]", "`hash` must be a text: quote it");
    check("[{tenant: t, hsah: x}]", "did you mean `hash`?");
    check(&format!("[{{tenant: t, hash: '{HASH}', scopes: read}}]"), "`scopes` must be a list");
    check(&format!("[{{tenant: t, hash: '{HASH}', scopes: []}}]"), "such a key opens nothing");
    check(
        &format!("[{{tenant: t, hash: '{HASH}', scopes: [write]}}]"),
        "`write` is not a scope: one of `changes`, `facts`, `feedback`, `returns`, `read`",
    );
    check(
        &format!("[{{tenant: a, hash: '{HASH}'}}, {{tenant: b, hash: '{HASH}'}}]"),
        "two tenants have this API key",
    );
    check(
        &format!("[{{tenant: a, hash: '{HASH}'}}, {{tenant: a, hash: '{HASH}', scopes: [read]}}]"),
        "with other scopes",
    );
    check("[{tenant: a, key_file: empty}]", "an API key is empty");
    // A token has neither.
    let tokens = "access_tokens: [{role: read, hash: x, scopes: [read]}]";
    let refused = merge_values(tokens, &[], &[]).unwrap_err().to_string();
    assert!(refused.contains("unknown key `hash`") && refused.contains("unknown key `scopes`"), "{refused}");
}
