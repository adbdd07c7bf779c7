//! The merge: default, file, environment, flag; the later one wins. Every problem is found, not only the
//! first, and each names the place it came from.

use std::{collections::BTreeMap, fmt, io, path::Path};

use catalogue::slip::missing_blank;
use model::Tenant;
use secrecy::{ExposeSecret as _, SecretString};

use super::{
    ApiKey, Refused,
    file::{self, At, Node, What},
    keys::{
        self, API_KEY_CHARS_MIN, API_KEY_FILE_VARIABLE, API_KEYS, FILE_SUFFIX, FILE_SUFFIX_VARIABLE, Form,
        KEYS, Key,
    },
    parse::{beside, misspelt, unknown},
    settle::Merged,
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

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    Default,
    File(String, At),
    Environment(String),
    Flag(&'static str),
}

impl Source {
    /// Whether two values of one key come from one layer, where neither can win.
    fn is_beside(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
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
pub(super) struct Setting {
    pub text: String,
    pub source: Source,
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
    let mut merge = Merge {
        settings: BTreeMap::new(),
        secrets: BTreeMap::new(),
        api_keys: Vec::new(),
        refused: Vec::new(),
        host: None,
        read: &read,
    };
    merge.defaults();
    if let Some((path, text)) = file {
        merge.file(path, text);
    }
    let environment: BTreeMap<String, String> = environment.into_iter().collect();
    merge.host = stable_host(&environment);
    merge.environment(environment.into_iter().filter(|(name, _)| name.starts_with("TIDINGS_")).collect());
    for Given { name, flag, text } in flags {
        merge.settings.insert(name, Setting { text, source: Source::Flag(flag) });
    }
    merge.settle()
}

/// Whether keys stand below this one.
fn is_section(name: &str) -> bool {
    KEYS.iter().any(|key| key.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')))
}

/// Why it is probably no map: of `key:value` YAML makes a text. What it says may be a secret.
fn no_map(what: &What) -> &'static str {
    let is_slip = matches!(what, What::Text(text) if missing_blank(text).is_some());
    if is_slip { ": there is no blank after the colon" } else { "" }
}

/// A Pod of a StatefulSet has the same name in all its lives: that of the set and a number. One of a Deployment ends in
/// five letters and digits, and never comes back.
fn stable_host(environment: &BTreeMap<String, String>) -> Option<String> {
    const DIGITS_MAX: usize = 4;
    environment.get("KUBERNETES_SERVICE_HOST")?;
    let host = environment.get("HOSTNAME")?;
    let (set, number) = host.rsplit_once('-')?;
    let is_number = (1..=DIGITS_MAX).contains(&number.len()) && number.bytes().all(|b| b.is_ascii_digit());
    (is_number && !set.is_empty()).then(|| host.clone())
}

pub(super) struct Merge<'a> {
    pub settings: BTreeMap<&'static str, Setting>,
    pub secrets: BTreeMap<&'static str, (SecretString, Source)>,
    api_keys: Vec<KeySetting>,
    pub refused: Vec<String>,
    /// A name that this process will have again when it is started anew.
    pub host: Option<String>,
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
            Ok(Node { at, what }) => {
                let help = no_map(&what);
                self.refused.push(format!("{name}:{at}: a configuration is a map of keys{help}"));
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
                (Some(key), What::List(list)) if key.form == Form::ApiKeys => self.list(file, path, list),
                (Some(key), _) if key.form == Form::ApiKeys => {
                    self.refuse(&source, "`api_keys` is a list of `{tenant: ..., key: ...}`");
                }
                (Some(key), what) if key.form == Form::Secret => match what {
                    // A number would have lost its leading zeros by now, and then it is another secret.
                    What::Text(text) => self.secret(key.name, Ok(text), source),
                    What::List(list) if key.name == keys::MAIL_WAYS => match lines_of(list) {
                        Some(text) => self.secret(key.name, Ok(text), source),
                        None => self.refuse(&source, format!("`{full}` is a list of texts: quote them")),
                    },
                    _ => self.refuse(&source, format!("`{full}` is a text: quote it")),
                },
                (Some(key), what) => match as_text(key, what) {
                    Ok(text) => {
                        let text = if key.form == Form::Path { beside(path, &text) } else { text };
                        self.settings.insert(key.name, Setting { text, source });
                    }
                    Err(what) => self.refuse(&source, format!("`{full}` is {what}")),
                },
                (None, What::Text(from)) if secret_in_file(&full).is_some() => {
                    let read = self.read_secret(Path::new(&beside(path, &from)));
                    self.secret(secret_in_file(&full).unwrap_or_default(), read, source);
                }
                (None, What::Map(map)) if is_section(&full) => self.map(file, path, &full, map),
                (None, what @ What::Text(_)) if is_section(&full) => {
                    self.refuse(&source, format!("`{full}` is a map of keys{}", no_map(&what)));
                }
                (None, _) => {
                    let what = unknown(&full, KEYS.iter().map(|key| key.name));
                    self.refused.push(format!("{file}:{at}: {what}"));
                }
            }
        }
    }

    /// A secret from the file or from the environment; it has one place there.
    fn secret(&mut self, name: &'static str, secret: Result<String, String>, source: Source) {
        let before = self.secrets.get(name).map(|(_, before)| before);
        if before.is_some_and(|before| before.is_beside(&source)) {
            return self.refuse(&source, format!("`{name}` or `{name}{FILE_SUFFIX}`, not both"));
        }
        match secret {
            Ok(secret) => {
                self.secrets.insert(name, (SecretString::from(secret), source));
            }
            Err(why) => self.refuse(&source, why),
        }
    }

    fn read_secret(&self, path: &Path) -> Result<String, String> {
        let read = (self.read)(path).map_err(|error| format!("{}: {error}", path.display()));
        read.map(|text| text.trim_end_matches(['\n', '\r']).to_owned())
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
                let source = Source::Environment("TIDINGS_API_KEY".to_owned());
                self.api_keys.push(KeySetting { tenant: None, key: SecretString::from(key), source });
            }
            (None, Some(from)) => {
                self.key_from(None, Path::new(&from), Source::Environment(API_KEY_FILE_VARIABLE.to_owned()));
            }
            (None, None) => {}
        }
        for (name, text) in given {
            let source = Source::Environment(name.clone());
            let in_file = name
                .strip_suffix(FILE_SUFFIX_VARIABLE)
                .and_then(|name| KEYS.iter().find(|key| key.form == Form::Secret && key.environment == name));
            if let Some(key) = in_file {
                let read = self.read_secret(Path::new(&text));
                self.secret(key.name, read, source);
            } else if let Some(key) = KEYS.iter().find(|key| key.environment == name) {
                match key.form {
                    Form::Secret => self.secret(key.name, Ok(text), source),
                    Form::Map => match map_of_text(key, &text) {
                        Ok(text) => drop(self.settings.insert(key.name, Setting { text, source })),
                        Err(what) => self.refuse(&source, format!("{}: {what}", key.name)),
                    },
                    _ => drop(self.settings.insert(key.name, Setting { text, source })),
                }
            } else if let Some(near) = misspelt(&name) {
                // Others are left alone: Kubernetes sets TIDINGS_PORT and the like for a service of that name.
                self.refused.push(format!("environment: unknown variable {name}; did you mean {near}?"));
            }
        }
    }

    /// An API key that lies in a file of its own.
    fn key_from(&mut self, tenant: Option<String>, path: &Path, source: Source) {
        match self.read_secret(path) {
            Ok(key) => self.api_keys.push(KeySetting { tenant, key: SecretString::from(key), source }),
            Err(why) => self.refuse(&source, why),
        }
    }

    pub fn refuse(&mut self, source: &Source, what: impl fmt::Display) {
        self.refused.push(format!("{source}: {what}"));
    }

    pub fn api_keys(&mut self, own: Option<&Tenant>) -> Vec<ApiKey> {
        let mut keys: Vec<ApiKey> = Vec::new();
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
                Ok(tenant) if keys.iter().any(|other| other.tenant != tenant && is_same(&other.key, key)) => {
                    self.refused
                        .push(format!("{source}: this API key is another tenant's too; each has its own"));
                }
                Ok(tenant) => keys.push(ApiKey { tenant, key: key.clone() }),
                Err(error) => self.refused.push(format!("{source}: {error}")),
            }
        }
        keys
    }

    pub fn sources(&self) -> BTreeMap<&'static str, Source> {
        let of = |key: &Key| {
            let source = match self.api_keys.first() {
                Some(first) if key.name == API_KEYS => Some(&first.source),
                _ => self.source(key.name),
            };
            (key.name, source.cloned().unwrap_or(Source::Default))
        };
        KEYS.iter().map(of).collect()
    }

    /// Where the value of a key comes from, if it has one.
    pub fn source(&self, name: &str) -> Option<&Source> {
        let setting = self.settings.get(name).map(|setting| &setting.source);
        setting.or_else(|| self.secrets.get(name).map(|(_, source)| source))
    }
}

/// Whether two keys open the same door: white space around them counts for nothing.
fn is_same(one: &SecretString, other: &SecretString) -> bool {
    one.expose_secret().trim() == other.expose_secret().trim()
}

/// The secret that a name of the file says is kept elsewhere.
fn secret_in_file(name: &str) -> Option<&'static str> {
    let key = keys::get(name.strip_suffix(FILE_SUFFIX)?)?;
    (key.form == Form::Secret).then_some(key.name)
}

/// What stands in the file, as the one text that every layer has; or what it should be.
fn as_text(key: &Key, what: What) -> Result<String, &'static str> {
    let plain = |node: Node| match node.what {
        What::Text(text) | What::Plain(text) => Some(text),
        What::List(_) | What::Map(_) => None,
    };
    match (key.form, what) {
        (Form::Map, What::Map(map)) => {
            let line = |(name, _, node)| Some(format!("{name}={}\n", plain(node)?));
            map.into_iter().map(line).collect::<Option<String>>().ok_or("a map of names and values")
        }
        (Form::Map, What::Plain(nothing)) if nothing.is_empty() => Ok(nothing),
        (Form::Map, _) => Err("a map of names and values"),
        (Form::List, What::List(list)) => {
            let texts: Option<Vec<String>> = list.into_iter().map(plain).collect();
            texts.map(|texts| texts.join(",")).ok_or("a list of texts")
        }
        (_, What::Text(text) | What::Plain(text)) => Ok(text),
        (Form::List, What::Map(_)) => Err("a list of texts"),
        (_, What::List(_) | What::Map(_)) => Err("one value"),
    }
}

/// A list of texts, a line for each; none of them has a line of its own in it.
fn lines_of(list: Vec<Node>) -> Option<String> {
    let text = |node: Node| match node.what {
        What::Text(text) if !text.contains(['\n', '\r']) => Some(text),
        _ => None,
    };
    Some(list.into_iter().map(text).collect::<Option<Vec<String>>>()?.join("\n"))
}

/// A map of the environment is written as in the file. What is none is not shown: it may hold a secret.
fn map_of_text(key: &Key, text: &str) -> Result<String, &'static str> {
    const WRONG: &str = "is no map such as `{a: 1}`";
    let node = file::parse(text).map_err(|_| WRONG)?;
    as_text(key, node.what).map_err(|_| WRONG)
}
