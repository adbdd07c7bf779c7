//! The table of keys and the reading of them say the same: what each form takes is taken, and what it refuses is refused.

use super::{HEX, SECRET, merge_values};
use crate::config::keys::{self, ConfigKey, KEYS, KeyForm};

/// A value for each key that is more than its form, so that all of them can be set at once.
const OWN: [(&str, &str); 25] = [
    (keys::DAY_LIFE, "90"),
    (keys::ENGINE, keys::PRODUCTION),
    (keys::PUBLIC_URL, "https://mail.example.com"),
    (keys::SECRET, HEX),
    (keys::MAIL_WAYS, "smtp://mail.example.com:587"),
    (keys::MAIL_RETURNS, "returns.example.com"),
    (keys::HOOKS_CHANNELS, "webhook"),
    (keys::HOOKS_SECRET, "0123456789abcdef0123456789abcdef"),
    (keys::LOG_FILTER, "info"),
    (keys::TRACES_HEADERS, "x-key: correct-horse"),
    (keys::KAFKA_BROKERS, "k:9092"),
    (keys::KAFKA_REPLICATION, "3"),
    (keys::KAFKA_TLS, "true"),
    (keys::KAFKA_PROPERTIES, "{client.id: x}"),
    (keys::CQL_CONTACT_POINTS, "c:9042"),
    (keys::CQL_TLS, "true"),
    (keys::CQL_REPLICATION, "{dc1: 3}"),
    (keys::REGISTRY_URL, "https://registry.example.com"),
    (keys::API_KEYS, SECRET),
    (keys::ACCESS_TOKENS, "[{role: read, token: another-horse-battery}]"),
    (keys::PERSON_TOKENS, "[{issuer: i, keys_file: keys.json}]"),
    (keys::APNS_URL, "https://apns.example.com"),
    (keys::FCM_URL, "https://fcm.example.com"),
    (keys::TENANTS_WEIGHTS, "{acme: 4}"),
    (keys::TENANTS_PLACES, "{acme: 32}"),
];

fn sample(key: &ConfigKey) -> String {
    let own = OWN.iter().find(|(name, _)| *name == key.name).map(|(_, value)| *value);
    let of_form = match key.form {
        KeyForm::Text
        | KeyForm::Path
        | KeyForm::PathOrNone
        | KeyForm::List
        | KeyForm::Map
        | KeyForm::ApiKeys
        | KeyForm::AccessTokens
        | KeyForm::PersonTokens => "x",
        KeyForm::Flag => "true",
        KeyForm::Count => "2",
        KeyForm::Duration => "45s",
        KeyForm::Bytes => "256 MiB",
        KeyForm::Rate => "0.5",
        KeyForm::Share => "0.5%",
        KeyForm::Address => "127.0.0.1:7280",
        KeyForm::Url => "https://example.com",
        KeyForm::Words(words) => words[0],
        KeyForm::Secret => SECRET,
    };
    own.unwrap_or(of_form).to_owned()
}

/// What no value of this form is, where there is such a text.
fn bad_sample(form: KeyForm) -> Option<&'static str> {
    match form {
        KeyForm::Flag => Some("yes"),
        KeyForm::Count => Some("2.5"),
        KeyForm::Duration => Some("45"),
        KeyForm::Bytes => Some("much"),
        KeyForm::Rate => Some("0"),
        KeyForm::Share => Some("101%"),
        KeyForm::Address => Some("localhost"),
        KeyForm::Words(_) => Some("nonsense"),
        KeyForm::Map => Some("[x]"),
        KeyForm::AccessTokens | KeyForm::PersonTokens => Some("{role: read}"),
        _ => None,
    }
}

/// All keys at once, one of them with this value; what is refused.
fn refusal_of(changed: &ConfigKey, value: &str) -> String {
    let all = KEYS.iter().map(|key| {
        let value = if key.name == changed.name { value.to_owned() } else { sample(key) };
        (key.variable(), value)
    });
    let all: Vec<(String, String)> = all.collect();
    let all: Vec<(&str, &str)> = all.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    merge_values("", &all, &[]).err().map(|refused| refused.to_string()).unwrap_or_default()
}

#[test]
fn every_key_is_read_as_the_table_says() {
    for key in KEYS {
        assert_eq!(refusal_of(key, &sample(key)), "", "{}", key.name);
        if let Some(bad) = bad_sample(key.form) {
            let refused = refusal_of(key, bad);
            assert!(refused.contains(&key.variable()), "{}: `{bad}`: {refused}", key.name);
        }
        if let KeyForm::Words(words) = key.form {
            let refused = refusal_of(key, "nonsense");
            for word in words {
                assert!(refused.contains(word), "{}: {refused}", key.name);
                assert!(!refusal_of(key, word).contains(&format!("{}: `{word}`", key.name)), "{word}");
            }
        }
    }
}

#[test]
fn a_variable_is_the_key_in_capitals() {
    let odd: Vec<String> = KEYS
        .iter()
        .filter(|key| key.variable() != format!("TIDINGS_{}", key.name.to_uppercase().replace('.', "_")))
        .map(ConfigKey::variable)
        .collect();
    assert_eq!(odd, ["TIDINGS_API_KEY"]);
}

#[test]
fn a_default_is_a_value_of_its_form() {
    for key in KEYS {
        let Some(default) = key.default else { continue };
        assert_eq!(refusal_of(key, default).lines().find(|line| line.contains(&key.variable())), None);
    }
}
