//! The effective configuration, with the source of each value; secrets are never shown.

use house_facts::KeyScope;
use serde_json::{Value, json};

use super::{
    AccessTokenConfig, ApiKeyConfig, MergedConfig, PersonKeySource, PersonTokenConfig,
    keys::{self, ConfigKey, KEYS, KeyForm},
};

/// What stands in the place of a secret.
const SECRET: &str = "***";

/// One line of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigLine {
    pub name: &'static str,
    pub value: String,
    pub source: String,
    pub help: &'static str,
}

/// A line for each key.
pub fn config_lines(merged: &MergedConfig) -> Vec<ConfigLine> {
    let line = |key: &keys::ConfigKey| ConfigLine {
        name: key.name,
        value: match value_as_json(merged, key) {
            Value::String(text) if text.is_empty() => "-".to_owned(),
            Value::String(text) => text,
            Value::Null => "-".to_owned(),
            Value::Number(bytes) if key.name == keys::DISK_RESERVE => in_mib(bytes.as_u64().unwrap_or(0)),
            Value::Array(list) if list.is_empty() => "-".to_owned(),
            Value::Object(map) if map.is_empty() => "-".to_owned(),
            Value::Array(list) if key.name == keys::PERSON_TOKENS => {
                let logins =
                    list.iter().filter_map(|one| Some((one["tenant"].as_str()?, one["issuer"].as_str()?)));
                logins.map(|(tenant, issuer)| format!("{tenant} {issuer}")).collect::<Vec<_>>().join(", ")
            }
            Value::Array(list) => {
                let words = list.iter().filter_map(|one| one["tenant"].as_str().or(one["role"].as_str()));
                words.map(|word| format!("{word} {SECRET}")).collect::<Vec<_>>().join(", ")
            }
            Value::Object(map) => {
                let pairs =
                    map.iter().map(|(name, value)| format!("{name}={}", value.as_str().unwrap_or("")));
                pairs.collect::<Vec<_>>().join(", ")
            }
            other => other.to_string(),
        },
        source: merged.sources.get(key.name).map(ToString::to_string).unwrap_or_default(),
        help: key.help,
    };
    KEYS.iter().map(line).collect()
}

fn in_mib(bytes: u64) -> String {
    if bytes > 0 && bytes.is_multiple_of(1 << 20) {
        format!("{} MiB", bytes >> 20)
    } else {
        bytes.to_string()
    }
}

/// The same for machines.
pub fn config_as_json(merged: &MergedConfig) -> Value {
    let one = |key: &keys::ConfigKey| {
        let source = merged.sources.get(key.name).map(ToString::to_string);
        (key.name.to_owned(), json!({"value": value_as_json(merged, key), "source": source}))
    };
    Value::Object(KEYS.iter().map(one).collect())
}

fn value_as_json(merged: &MergedConfig, key: &ConfigKey) -> Value {
    let config = &merged.config;
    match key.name {
        keys::DATA_DIR => config.data_dir.display().to_string().into(),
        keys::LISTEN => config.listen.to_string().into(),
        keys::PUBLIC_URL => config.public_url.clone().into(),
        keys::PRESENCE_URL => config.presence_url.clone().into(),
        keys::API_KEYS => {
            let one = |key: &ApiKeyConfig| {
                let scopes: Vec<&str> = key.scopes.iter().copied().map(KeyScope::name).collect();
                json!({"tenant": key.tenant.as_str(), "key": SECRET, "scopes": scopes})
            };
            config.api_keys.iter().map(one).collect()
        }
        keys::PERSON_TOKENS => {
            let one = |login: &PersonTokenConfig| {
                let PersonTokenConfig { tenant, issuer, audience, keys, origins } = login;
                let (name, keys) = match keys {
                    PersonKeySource::File(file) => ("keys_file", file.display().to_string()),
                    PersonKeySource::Url(url) => ("keys_url", url.clone()),
                };
                json!({"tenant": tenant.as_str(), "issuer": issuer, "audience": audience, name: keys, "origins": origins})
            };
            config.person_tokens.iter().map(one).collect()
        }
        keys::ACCESS_TOKENS => {
            let one = |token: &AccessTokenConfig| json!({"role": token.role.name(), "token": SECRET});
            config.access_tokens.iter().map(one).collect()
        }
        keys::OUTBOX => match &config.outbox {
            Some(folder) => folder.display().to_string().into(),
            None => keys::NO_FOLDER.into(),
        },
        keys::PARTITIONS => config.partitions.count().into(),
        keys::DAY_LIFE => config.day_life.days().into(),
        keys::DISK_RESERVE => config.disk_reserve.into(),
        keys::DEMO => config.demo.into(),
        keys::CATALOGUE_WATCH => config.catalogue_watch.into(),
        keys::LIMITS_LAG => config.limits.lag.into(),
        name => written_value(merged, name, key.form),
    }
}

/// A value as it was written.
fn written_value(merged: &MergedConfig, name: &str, form: KeyForm) -> Value {
    let text = merged.texts.get(name);
    match form {
        KeyForm::Secret => merged.secrets.contains(name).then_some(SECRET).into(),
        KeyForm::Map => {
            let pairs =
                text.into_iter().flat_map(|text| text.lines()).filter_map(|line| line.split_once('='));
            Value::Object(pairs.map(|(name, value)| (name.to_owned(), value.into())).collect())
        }
        _ => text.map(String::as_str).into(),
    }
}
