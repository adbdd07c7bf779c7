//! `tidings key`: a key for a service.

use house_facts::KeyScope;
use model::Tenant;
use serde_json::json;
use settings::config::{Config, KeyHash};
use shell::{datadir::random_hex, failure::CommandError, terminal};

use super::OutputStyle;
use crate::arguments::{KeyArgs, KeyCommand, NewApiKeyArgs};

/// Bytes of a key: more than anybody can try.
const KEY_BYTES: usize = 32;

pub fn run(config: &Config, asked: &KeyArgs, out: OutputStyle) -> Result<(), CommandError> {
    match &asked.what {
        KeyCommand::New(new) => make_api_key(&config.tenant, new, out),
    }
}

fn make_api_key(tenant: &Tenant, new: &NewApiKeyArgs, out: OutputStyle) -> Result<(), CommandError> {
    let key = random_hex(KEY_BYTES)?;
    let item = describe_item(tenant, &new.scopes, KeyHash::from_key(&key));
    if out.json {
        return Ok(terminal::print_json(&json!({"key": key, "item": item}))?);
    }
    terminal::print_talk("the key, for the service; it is not shown again:");
    terminal::print_data(key)?;
    terminal::print_talk("the item of `api_keys`, for the settings:");
    Ok(terminal::print_data(item)?)
}

/// As it stands in the settings.
fn describe_item(tenant: &Tenant, scopes: &[KeyScope], hash: KeyHash) -> String {
    let scopes: Vec<&str> = scopes.iter().copied().map(KeyScope::name).collect();
    let scopes = if scopes.is_empty() { String::new() } else { format!(", scopes: [{}]", scopes.join(", ")) };
    format!("- {{tenant: {}, hash: \"{hash}\"{scopes}}}", json!(tenant.as_str()))
}

#[cfg(test)]
mod tests {
    use settings::config::load_config;

    use super::*;

    #[test]
    fn the_item_is_one_of_the_settings() {
        let check = |tenant: &str, scopes: &[KeyScope], expected: &str| {
            let hash = KeyHash::from_key("correct-horse-battery");
            let item = describe_item(&Tenant::new(tenant).unwrap(), scopes, hash);
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("tidings.yaml");
            std::fs::write(&path, format!("api_keys:\n{item}\n")).unwrap();
            let config = load_config(Some(&path), [], vec![]).unwrap().config;
            let [key] = &config.api_keys[..] else { panic!("{item}") };
            let scopes: Vec<&str> = key.scopes.iter().copied().map(KeyScope::name).collect();
            assert_eq!(format!("{} {}", key.tenant, scopes.join(" ")), expected, "{item}");
            assert_eq!(key.hash, hash);
        };
        check("main", &[], "main changes facts feedback returns read");
        check("shop", &[KeyScope::Read], "shop read");
        check("a \"b\": c", &[KeyScope::Feedback, KeyScope::Changes], "a \"b\": c changes feedback");
    }
}
