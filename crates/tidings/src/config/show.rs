//! The effective configuration, with the source of each value; secrets are never shown.

use serde_json::{Value, json};

use super::{
    Config, Merged,
    keys::{self, KEYS},
};

/// What stands in the place of a secret.
const SECRET: &str = "***";

/// One line of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub name: &'static str,
    pub value: String,
    pub source: String,
    pub help: &'static str,
}

/// A line for each key.
pub fn lines(merged: &Merged) -> Vec<Line> {
    let line = |key: &keys::Key| Line {
        name: key.name,
        value: match value(&merged.config, key.name) {
            Value::String(text) => text,
            Value::Null => "-".to_owned(),
            Value::Number(bytes) if key.name == keys::DISK_RESERVE => in_mib(bytes.as_u64().unwrap_or(0)),
            Value::Array(list) if list.is_empty() => "-".to_owned(),
            Value::Array(list) => {
                let tenants = list.iter().filter_map(|key| key["tenant"].as_str());
                tenants.map(|tenant| format!("{tenant} {SECRET}")).collect::<Vec<_>>().join(", ")
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
pub fn json(merged: &Merged) -> Value {
    let one = |key: &keys::Key| {
        let source = merged.sources.get(key.name).map(ToString::to_string);
        (key.name.to_owned(), json!({"value": value(&merged.config, key.name), "source": source}))
    };
    Value::Object(KEYS.iter().map(one).collect())
}

fn value(config: &Config, name: &str) -> Value {
    match name {
        keys::DATA_DIR => config.data_dir.display().to_string().into(),
        keys::LISTEN => config.listen.to_string().into(),
        keys::PUBLIC_URL => config.public_url.clone().into(),
        keys::TENANT => config.tenant.as_str().into(),
        keys::CATALOGUE => config.catalogue.as_ref().map(|path| path.display().to_string()).into(),
        keys::API_KEYS => {
            config.api_keys.iter().map(|key| json!({"tenant": key.tenant.as_str(), "key": SECRET})).collect()
        }
        keys::DISK_RESERVE => config.disk_reserve.into(),
        keys::DEMO => config.demo.into(),
        keys::LOG_FILTER => config.log.filter.as_str().into(),
        keys::LOG_FORMAT => match config.log.format {
            runtime::log::Format::Text => "text".into(),
            runtime::log::Format::Json => "json".into(),
        },
        keys::LIMITS_LAG => config.limits.lag.into(),
        _ => Value::Null,
    }
}
