//! The merge: default, file, environment, flag; the later one wins. Every problem is found, not only the
//! first, and each names the place it came from.

use std::{
    collections::BTreeMap,
    fmt, io,
    path::{Path, PathBuf},
};

use model::Tenant;
use secrecy::{ExposeSecret as _, SecretString};

use super::{
    ApiKey, Config, Limits, Log, Refused,
    file::{self, At, Node, What},
    keys::{self, API_KEY_CHARS_MIN, API_KEY_FILE_VARIABLE, API_KEYS, KEYS, Key},
    parse::{beside, bytes, format, is_path, log_filter, misspelt, parsed, public_url, unknown},
};

/// A value given by a flag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// The name of the key, one of `keys::KEYS`.
    pub name: &'static str,
    /// The flag as it is written, `--data-dir`.
    pub flag: &'static str,
    pub text: String,
}

/// The configuration, and where each value of it comes from.
#[derive(Clone, Debug)]
pub struct Merged {
    pub config: Config,
    pub sources: BTreeMap<&'static str, Source>,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    Default,
    File(String, At),
    Environment(&'static str),
    Flag(&'static str),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path, at) => write!(f, "{path}:{at}"),
            Self::Environment(name) => write!(f, "environment {name}"),
            Self::Flag(flag) => write!(f, "flag {flag}"),
        }
    }
}

/// A value before it is understood.
struct Setting {
    text: String,
    source: Source,
}

/// An API key before it is understood.
struct KeySetting {
    tenant: Option<String>,
    key: SecretString,
    source: Source,
}

/// How a file with a secret is read; an argument, so that the merge itself touches nothing.
type Read<'a> = &'a dyn Fn(&Path) -> io::Result<String>;

/// Merges everything there is.
pub fn merge(
    file: Option<(&Path, &str)>,
    environment: impl IntoIterator<Item = (String, String)>,
    flags: Vec<Given>,
    read: impl Fn(&Path) -> io::Result<String>,
) -> Result<Merged, Refused> {
    let mut merge =
        Merge { settings: BTreeMap::new(), api_keys: Vec::new(), refused: Vec::new(), read: &read };
    merge.defaults();
    if let Some((path, text)) = file {
        merge.file(path, text);
    }
    merge.environment(environment.into_iter().filter(|(name, _)| name.starts_with("TIDINGS_")).collect());
    for Given { name, flag, text } in flags {
        merge.settings.insert(name, Setting { text, source: Source::Flag(flag) });
    }
    merge.settle()
}

struct Merge<'a> {
    settings: BTreeMap<&'static str, Setting>,
    api_keys: Vec<KeySetting>,
    refused: Vec<String>,
    read: Read<'a>,
}

impl Merge<'_> {
    fn defaults(&mut self) {
        for key in KEYS {
            if let Some(default) = key.default {
                self.settings.insert(key.name, Setting { text: default.to_owned(), source: Source::Default });
            }
        }
    }

    fn file(&mut self, path: &Path, text: &str) {
        let name = path.display().to_string();
        match file::parse(text) {
            Ok(Node { what: What::Map(map), .. }) => self.map(&name, path, "", map),
            Ok(Node { what: What::Plain(nothing), .. }) if nothing.is_empty() => {}
            Ok(Node { at, .. }) => {
                self.refused.push(format!("{name}:{at}: a configuration is a map of keys"));
            }
            Err((at, what)) => self.refused.push(format!("{name}:{at}: {what}")),
        }
    }

    /// One level of the file; `above` is the path down to it.
    fn map(&mut self, file: &str, path: &Path, above: &str, map: Vec<(String, At, Node)>) {
        for (word, at, node) in map {
            let full = if above.is_empty() { word.clone() } else { format!("{above}.{word}") };
            let source = Source::File(file.to_owned(), node.at);
            match (keys::get(&full), node.what) {
                (Some(key), What::List(list)) if key.name == API_KEYS => self.list(file, path, list),
                (Some(key), _) if key.name == API_KEYS => {
                    self.refuse(&source, "`api_keys` is a list of `{tenant: ..., key: ...}`");
                }
                (Some(key), What::Text(text) | What::Plain(text)) => {
                    let text = if is_path(key) { beside(path, &text) } else { text };
                    self.settings.insert(key.name, Setting { text, source });
                }
                (Some(_), What::List(_) | What::Map(_)) => {
                    self.refuse(&source, format!("`{full}` is one value"));
                }
                (None, What::Map(map))
                    if KEYS.iter().any(|key| key.name.starts_with(&format!("{full}."))) =>
                {
                    self.map(file, path, &full, map);
                }
                (None, _) => {
                    let what = unknown(&full, KEYS.iter().map(|key| key.name));
                    self.refused.push(format!("{file}:{at}: {what}"));
                }
            }
        }
    }

    fn list(&mut self, file: &str, path: &Path, list: Vec<Node>) {
        for node in list {
            let source = Source::File(file.to_owned(), node.at);
            let What::Map(map) = node.what else {
                self.refuse(
                    &source,
                    "an API key is `{tenant: ..., key: ...}` or `{tenant: ..., key_file: ...}`",
                );
                continue;
            };
            let (mut tenant, mut key, mut from) = (None, None, None);
            for (word, at, node) in map {
                let place = Source::File(file.to_owned(), node.at);
                match (word.as_str(), node.what) {
                    ("tenant", What::Text(text) | What::Plain(text)) => tenant = Some(text),
                    ("key", What::Text(text)) => key = Some(SecretString::from(text)),
                    ("key_file", What::Text(text)) => from = Some(text),
                    // A number would have lost its leading zeros by now, and then it is another key.
                    ("tenant" | "key" | "key_file", _) => {
                        self.refuse(&place, format!("`{word}` is a text: quote it"));
                    }
                    _ => {
                        let what = unknown(&word, ["tenant", "key", "key_file"]);
                        self.refused.push(format!("{file}:{at}: {what}"));
                    }
                }
            }
            match (key, from) {
                (Some(key), None) => self.api_keys.push(KeySetting { tenant, key, source }),
                (None, Some(from)) => self.key_from(tenant, Path::new(&beside(path, &from)), source),
                (Some(_), Some(_)) => self.refuse(&source, "an API key has `key` or `key_file`, not both"),
                (None, None) => self.refuse(&source, "an API key needs `key` or `key_file`"),
            }
        }
    }

    fn environment(&mut self, mut given: BTreeMap<String, String>) {
        let own = given.remove(keys::get(API_KEYS).map_or("", |key| key.environment));
        let from = given.remove(API_KEY_FILE_VARIABLE);
        if own.is_some() || from.is_some() {
            self.api_keys.clear();
        }
        match (own, from) {
            (Some(_), Some(_)) => {
                self.refused.push(format!("TIDINGS_API_KEY and {API_KEY_FILE_VARIABLE} are both set"));
            }
            (Some(key), None) => {
                let source = Source::Environment("TIDINGS_API_KEY");
                self.api_keys.push(KeySetting { tenant: None, key: SecretString::from(key), source });
            }
            (None, Some(from)) => {
                self.key_from(None, Path::new(&from), Source::Environment(API_KEY_FILE_VARIABLE));
            }
            (None, None) => {}
        }
        for (name, text) in given {
            if let Some(key) = KEYS.iter().find(|key| key.environment == name) {
                let source = Source::Environment(key.environment);
                self.settings.insert(key.name, Setting { text, source });
            } else if let Some(near) = misspelt(&name) {
                // Others are left alone: Kubernetes sets TIDINGS_PORT and the like for a service of that name.
                self.refused.push(format!("environment: unknown variable {name}; did you mean {near}?"));
            }
        }
    }

    /// An API key that lies in a file of its own.
    fn key_from(&mut self, tenant: Option<String>, path: &Path, source: Source) {
        match (self.read)(path) {
            Ok(text) => {
                let key = SecretString::from(text.trim_end_matches(['\n', '\r']));
                self.api_keys.push(KeySetting { tenant, key, source });
            }
            Err(error) => self.refuse(&source, format!("{}: {error}", path.display())),
        }
    }

    fn refuse(&mut self, source: &Source, what: impl fmt::Display) {
        self.refused.push(format!("{source}: {what}"));
    }

    /// The value of a key, understood; a value that is not is refused with its place.
    fn take<T>(&mut self, name: &str, parse: impl Fn(&str) -> Result<T, String>) -> Option<T> {
        let setting = self.settings.get(name)?;
        match parse(&setting.text) {
            Ok(value) => Some(value),
            Err(what) => {
                let what = format!("{}: {name}: `{}` {what}", setting.source, setting.text);
                self.refused.push(what);
                None
            }
        }
    }

    fn settle(mut self) -> Result<Merged, Refused> {
        let tenant =
            self.take(keys::TENANT, |text| Tenant::new(text).map_err(|e| format!("is no tenant: {e}")));
        let api_keys = self.api_keys(tenant.as_ref());
        let sources = self.sources();
        let path =
            |text: &str| if text.is_empty() { Err("is no path".to_owned()) } else { Ok(PathBuf::from(text)) };
        let data_dir = self.take(keys::DATA_DIR, path);
        let listen = self.take(keys::LISTEN, parsed("is no address and port, such as 127.0.0.1:7280"));
        let public_url = self.take(keys::PUBLIC_URL, public_url);
        let catalogue = self.settings.get(keys::CATALOGUE).map(|setting| PathBuf::from(&setting.text));
        let disk_reserve = self.take(keys::DISK_RESERVE, bytes);
        let demo = self.take(keys::DEMO, parsed("is neither true nor false"));
        let filter = self.take(keys::LOG_FILTER, log_filter);
        let format = self.take(keys::LOG_FORMAT, format);
        let lag = self.take(keys::LIMITS_LAG, parsed("is no whole number"));
        // Everything was looked at by now, so that every problem is told and not only the first.
        let config = (|| {
            Some(Config {
                data_dir: data_dir?,
                listen: listen?,
                public_url,
                tenant: tenant?,
                catalogue,
                api_keys,
                disk_reserve: disk_reserve?,
                demo: demo?,
                log: Log { filter: filter?, format: format? },
                limits: Limits { lag: lag? },
            })
        })();
        match config {
            Some(config) if self.refused.is_empty() => {
                let config = check(config, &sources)?;
                Ok(Merged { config, sources })
            }
            _ => Err(Refused(self.refused)),
        }
    }

    fn api_keys(&mut self, own: Option<&Tenant>) -> Vec<ApiKey> {
        let mut keys = Vec::new();
        for KeySetting { tenant, key, source } in &self.api_keys {
            let tenant = match (tenant, own) {
                (Some(tenant), _) => Tenant::new(tenant),
                (None, Some(own)) => Ok(own.clone()),
                (None, None) => continue,
            };
            match tenant {
                Ok(_) if key.expose_secret().chars().count() < API_KEY_CHARS_MIN => {
                    self.refused
                        .push(format!("{source}: an API key has at least {API_KEY_CHARS_MIN} characters"));
                }
                Ok(tenant) => keys.push(ApiKey { tenant, key: key.clone() }),
                Err(error) => self.refused.push(format!("{source}: {error}")),
            }
        }
        keys
    }

    fn sources(&self) -> BTreeMap<&'static str, Source> {
        let of = |key: &Key| {
            let source = match self.api_keys.first() {
                Some(first) if key.name == API_KEYS => Some(&first.source),
                _ => self.settings.get(key.name).map(|setting| &setting.source),
            };
            (key.name, source.cloned().unwrap_or(Source::Default))
        };
        KEYS.iter().map(of).collect()
    }
}

/// What must hold between values.
fn check(config: Config, sources: &BTreeMap<&'static str, Source>) -> Result<Config, Refused> {
    if config.listen.ip().is_loopback() || !config.api_keys.is_empty() {
        return Ok(config);
    }
    let source = sources.get(keys::LISTEN).unwrap_or(&Source::Default);
    let listen = config.listen;
    Err(Refused(vec![format!(
        "{source}: {listen} can be reached from other machines, and there are no API keys: \
         set `api_keys` or {API_KEY_FILE_VARIABLE}, or listen on 127.0.0.1"
    )]))
}
