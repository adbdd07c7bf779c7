//! The logins whose tokens say who a person is: who signs, for which tenant, and where the keys are.

use std::path::PathBuf;

use model::Tenant;
use source_text::yaml::{TreeKey, TreeNode, TreePlace, TreeValue};

use super::{
    PersonKeySource, PersonTokenConfig,
    keys::{PERSON_AUDIENCE, PERSON_ORIGINS_MAX, PERSON_TOKENS},
    parse::{is_own_host, unknown_key},
    source::ConfigSource,
};

const TENANT: &str = "tenant";
const ISSUER: &str = "issuer";
const AUDIENCE: &str = "audience";
const KEYS_FILE: &str = "keys_file";
const KEYS_URL: &str = "keys_url";
const ORIGINS: &str = "origins";
const NAMES: [&str; 6] = [TENANT, ISSUER, AUDIENCE, KEYS_FILE, KEYS_URL, ORIGINS];

/// Bytes of an issuer, of an audience and of an origin.
const WORD_BYTES_MAX: usize = 512;

pub(super) fn describe_form() -> String {
    format!("a list of `{{{TENANT}: ..., {ISSUER}: ..., {KEYS_URL}: ...}}`")
}

/// An item before it is understood.
pub(super) struct RawPersonToken {
    tenant: Option<String>,
    issuer: Option<String>,
    audience: Option<String>,
    keys_file: Option<String>,
    keys_url: Option<String>,
    origins: Vec<String>,
    pub source: ConfigSource,
}

/// What a list holds, and what is wrong with the rest of it.
#[derive(Default)]
pub(super) struct PersonTokenReading {
    pub items: Vec<RawPersonToken>,
    pub refused: Vec<String>,
}

/// Reads a list; `locate` says where a file is that stands in it.
pub(super) fn read_person_tokens(
    place: &dyn Fn(TreePlace) -> ConfigSource,
    locate: &dyn Fn(&str) -> String,
    list: Vec<TreeNode>,
) -> PersonTokenReading {
    let mut reading = PersonTokenReading::default();
    for node in list {
        let source = place(node.at);
        let TreeValue::Map(map) = node.what else {
            reading.refused.push(format!("{source}: an item of `{PERSON_TOKENS}` must be a map of keys"));
            continue;
        };
        let (tenant, issuer, audience, keys_file, keys_url) = Default::default();
        let mut item =
            RawPersonToken { tenant, issuer, audience, keys_file, keys_url, origins: Vec::new(), source };
        for (TreeKey { name, at }, node) in map {
            let refused = match (name.as_str(), node.what) {
                (TENANT, TreeValue::Text(text)) => item.set(|item| item.tenant = Some(text)),
                (ISSUER, TreeValue::Text(text)) => item.set(|item| item.issuer = Some(text)),
                (AUDIENCE, TreeValue::Text(text)) => item.set(|item| item.audience = Some(text)),
                (KEYS_FILE, TreeValue::Text(text)) => item.set(|item| item.keys_file = Some(locate(&text))),
                (KEYS_URL, TreeValue::Text(text)) => item.set(|item| item.keys_url = Some(text)),
                (ORIGINS, TreeValue::List(list)) => match list.into_iter().map(read_text).collect() {
                    Some(origins) => item.set(|item| item.origins = origins),
                    None => Some((node.at, format!("`{ORIGINS}` must be a list of texts: quote them"))),
                },
                (ORIGINS, _) => Some((node.at, format!("`{ORIGINS}` must be a list"))),
                (name, _) if NAMES.contains(&name) => {
                    Some((node.at, format!("`{name}` must be a text: quote it")))
                }
                (name, _) => Some((at, unknown_key(name, NAMES))),
            };
            reading.refused.extend(refused.map(|(at, why)| format!("{}: {why}", place(at))));
        }
        reading.items.push(item);
    }
    reading
}

fn read_text(node: TreeNode) -> Option<String> {
    match node.what {
        TreeValue::Text(text) => Some(text),
        _ => None,
    }
}

impl RawPersonToken {
    /// Nothing is wrong with it.
    fn set(&mut self, set: impl FnOnce(&mut Self)) -> Option<(TreePlace, String)> {
        set(self);
        None
    }

    /// Nothing where nobody is to say for which tenant it is.
    pub fn resolve(&self, own: Option<&Tenant>) -> Result<Option<PersonTokenConfig>, String> {
        let tenant = match (&self.tenant, own) {
            (Some(tenant), _) => Tenant::new(tenant).map_err(|why| why.to_string())?,
            (None, Some(own)) => own.clone(),
            (None, None) => return Ok(None),
        };
        let issuer = check_word(ISSUER, self.issuer.as_deref().unwrap_or_default())?;
        let audience = check_word(AUDIENCE, self.audience.as_deref().unwrap_or(PERSON_AUDIENCE))?;
        let keys = match (&self.keys_file, &self.keys_url) {
            (Some(file), None) if !file.is_empty() => PersonKeySource::File(PathBuf::from(file)),
            (None, Some(url)) => PersonKeySource::Url(check_keys_url(url)?),
            (Some(_), Some(_)) => {
                return Err(format!("a login has `{KEYS_FILE}` or `{KEYS_URL}`, not both"));
            }
            _ => return Err(format!("a login needs `{KEYS_FILE}` or `{KEYS_URL}`")),
        };
        if self.origins.len() > PERSON_ORIGINS_MAX {
            return Err(format!("`{ORIGINS}` has more than {PERSON_ORIGINS_MAX} sites"));
        }
        let origins = self.origins.iter().map(|origin| check_origin(origin)).collect::<Result<_, _>>()?;
        Ok(Some(PersonTokenConfig { tenant, issuer, audience, keys, origins }))
    }
}

fn check_word(name: &str, text: &str) -> Result<String, String> {
    if text.is_empty() {
        return Err(format!("a login needs an `{name}`"));
    }
    if text.len() > WORD_BYTES_MAX || text.chars().any(char::is_control) {
        return Err(format!("`{name}` must have at most {WORD_BYTES_MAX} bytes and no control characters"));
    }
    Ok(text.to_owned())
}

/// Whoever could change keys on their way could be anybody.
fn check_keys_url(text: &str) -> Result<String, String> {
    if text.contains('@') {
        return Err(format!("{KEYS_URL}: an address of keys has no password: they are public"));
    }
    let Some((is_encrypted, rest)) = split_web_url(text) else {
        let like = "https://login.example.org/keys.json";
        return Err(format!("{KEYS_URL}: `{text}` is not an address, such as {like}"));
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if !is_encrypted && !is_own_host(split_host(authority)) {
        return Err(format!("{KEYS_URL}: `{text}` is not encrypted: use https, except for this machine"));
    }
    Ok(text.to_owned())
}

/// A site as browsers write it: compared letter by letter.
fn check_origin(text: &str) -> Result<String, String> {
    let wrong =
        || format!("{ORIGINS}: `{text}` is not a site as browsers write it, such as https://shop.example");
    let (is_encrypted, authority) = split_web_url(text).ok_or_else(wrong)?;
    let odd = |c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit() || "-._:[]".contains(c));
    let is_usual = authority.ends_with(if is_encrypted { ":443" } else { ":80" });
    if text.len() > WORD_BYTES_MAX || authority.contains(odd) || is_usual {
        return Err(wrong());
    }
    if !is_encrypted && !is_own_host(split_host(authority)) {
        return Err(format!("{ORIGINS}: `{text}` is not encrypted: use https, except for this machine"));
    }
    Ok(text.to_owned())
}

/// Whether an address is encrypted, and what stands behind its scheme.
fn split_web_url(text: &str) -> Option<(bool, &str)> {
    let (scheme, rest) = text.split_once("://")?;
    let is_encrypted = match scheme {
        "https" => true,
        "http" => false,
        _ => return None,
    };
    catalogue::is_web_url(text).then_some((is_encrypted, rest))
}

fn split_host(authority: &str) -> &str {
    match authority.rsplit_once(':').filter(|(_, port)| !port.contains(']')) {
        Some((host, _)) => host,
        None => authority,
    }
}
