//! The merge: default, file, environment, flag; the later one wins. Every problem is found, not only the
//! first, and each names the place it came from.

use std::{
    collections::BTreeMap,
    fmt, io,
    path::{Path, PathBuf},
};

use secrecy::SecretString;
use source_text::{
    SourceText, TextProblem,
    yaml::{TreeKey, TreeNode, TreePlace, TreeValue, parse_yaml},
};

pub use super::source::ConfigSource;
use super::{
    file::{lines_of, map_of_text, no_map_help, value_as_text},
    keys::{
        self, ACCESS_TOKENS, API_KEY_FILE_VARIABLE, API_KEY_VARIABLE, API_KEYS, ConfigKey, FILE_SUFFIX,
        FILE_SUFFIX_VARIABLE, KEYS, KeyForm, NO_FOLDER, PERSON_TOKENS,
    },
    parse::{nearest_variable, path_beside, unknown_key},
    person_tokens::{PersonTokenReading, RawPersonToken, describe_form, read_person_tokens},
    secret_list::{RawListedSecret, SecretListForm, SecretListReading},
};

/// A value given by a flag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlagValue {
    /// The name of the key, one of `keys::KEYS`.
    pub name: &'static str,
    /// The flag as it is written, `--data-dir`.
    pub flag: &'static str,
    pub text: String,
}

/// A value before it is understood.
pub(super) struct RawSetting {
    pub text: String,
    pub source: ConfigSource,
}

/// How a file with a secret is read; an argument, so that the merge itself touches nothing.
pub(super) type SecretFileReader<'a> = &'a dyn Fn(&Path) -> io::Result<String>;

/// Whether keys stand below this one.
fn is_section(name: &str) -> bool {
    KEYS.iter().any(|key| key.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')))
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

pub(super) struct ConfigMerge<'a> {
    pub settings: BTreeMap<&'static str, RawSetting>,
    pub secrets: BTreeMap<&'static str, (SecretString, ConfigSource)>,
    pub(super) api_keys: Vec<RawListedSecret>,
    pub(super) access_tokens: Vec<RawListedSecret>,
    pub(super) person_tokens: Vec<RawPersonToken>,
    pub refused: Vec<String>,
    /// A name that this process will have again when it is started anew.
    pub host: Option<String>,
    read: SecretFileReader<'a>,
}

impl<'a> ConfigMerge<'a> {
    /// Every layer, one above the other; nothing is understood yet.
    pub fn from_layers(
        file: Option<(&Path, &str)>,
        environment: impl IntoIterator<Item = (String, String)>,
        flags: Vec<FlagValue>,
        read: SecretFileReader<'a>,
    ) -> Self {
        let mut merge = Self {
            settings: BTreeMap::new(),
            secrets: BTreeMap::new(),
            api_keys: Vec::new(),
            access_tokens: Vec::new(),
            person_tokens: Vec::new(),
            refused: Vec::new(),
            host: None,
            read,
        };
        merge.add_defaults();
        if let Some((path, text)) = file {
            merge.add_file(path, text);
        }
        let environment: BTreeMap<String, String> = environment.into_iter().collect();
        merge.host = stable_host(&environment);
        merge.add_environment(
            environment.into_iter().filter(|(name, _)| name.starts_with("TIDINGS_")).collect(),
        );
        for FlagValue { name, flag, text } in flags {
            let source = ConfigSource::Flag(flag);
            // On a command line only the file of a secret is named, since every process can see the line.
            if keys::find_key(name).is_some_and(|key| key.form == KeyForm::Secret) {
                let read = merge.read_secret(Path::new(&text));
                merge.add_secret(name, read, source);
            } else {
                merge.settings.insert(name, RawSetting { text, source });
            }
        }
        merge
    }

    fn add_defaults(&mut self) {
        for key in KEYS {
            if let Some(default) = key.default {
                self.settings
                    .insert(key.name, RawSetting { text: default.to_owned(), source: ConfigSource::Default });
            }
        }
    }

    fn add_file(&mut self, path: &Path, text: &str) {
        let name = path.display().to_string();
        match parse_yaml(SourceText { file: &name, text }) {
            Ok(TreeNode { what: TreeValue::Map(map), .. }) => self.add_map(&name, path, "", map),
            Ok(TreeNode { what: TreeValue::Nothing, .. }) => {}
            Ok(TreeNode { at, what }) => {
                let help = no_map_help(&what);
                self.refused.push(format!("{name}:{at}: a configuration must be a map of keys{help}"));
            }
            // The line, and what was probably meant, would show what stands there, which may be a secret.
            Err(TextProblem { line, column, what, .. }) => {
                self.refused.push(format!("{name}:{line}:{column}: {what}"));
            }
        }
    }

    /// One level of the file; `above` is the path down to it.
    fn add_map(&mut self, file: &str, path: &Path, above: &str, map: Vec<(TreeKey, TreeNode)>) {
        for (TreeKey { name: word, at }, node) in map {
            let full = if above.is_empty() { word.clone() } else { format!("{above}.{word}") };
            let source = ConfigSource::File(file.to_owned(), node.at);
            match (keys::find_key(&full), node.what) {
                (Some(key), what) if let Some(form) = SecretListForm::of_key(key) => {
                    let place = |at: TreePlace| ConfigSource::File(file.to_owned(), at);
                    match what {
                        TreeValue::List(list) => {
                            let read = |from: &str| self.find_secret(path_beside(path, from).into());
                            let reading = form.read_list((&place, &read), list);
                            self.add_listed_secrets(key, reading);
                        }
                        _ => self.refuse(&source, format!("`{full}` must be {}", form.describe())),
                    }
                }
                (Some(key), what) if key.form == KeyForm::PersonTokens => match what {
                    TreeValue::List(list) => {
                        let place = |at: TreePlace| ConfigSource::File(file.to_owned(), at);
                        let reading = read_person_tokens(&place, &|text| path_beside(path, text), list);
                        self.add_person_tokens(reading);
                    }
                    _ => self.refuse(&source, format!("`{full}` must be {}", describe_form())),
                },
                (Some(key), what) if key.form == KeyForm::Secret => match what {
                    // A number would have lost its leading zeros by now, and then it is another secret.
                    TreeValue::Text(text) => self.add_secret(key.name, Ok(text), source),
                    TreeValue::List(list) if key.name == keys::MAIL_WAYS => match lines_of(list) {
                        Some(text) => self.add_secret(key.name, Ok(text), source),
                        None => self.refuse(&source, format!("`{full}` must be a list of texts: quote them")),
                    },
                    _ => self.refuse(&source, format!("`{full}` must be a text: quote it")),
                },
                (Some(key), what) => match value_as_text(key, what) {
                    Ok(text) => {
                        let is_path = match key.form {
                            KeyForm::Path => true,
                            KeyForm::PathOrNone => text != NO_FOLDER,
                            _ => false,
                        };
                        let text = if is_path { path_beside(path, &text) } else { text };
                        self.settings.insert(key.name, RawSetting { text, source });
                    }
                    Err(what) => self.refuse(&source, format!("`{full}` must be {what}")),
                },
                (None, TreeValue::Text(from)) if secret_in_file(&full).is_some() => {
                    let read = self.read_secret(Path::new(&path_beside(path, &from)));
                    self.add_secret(secret_in_file(&full).unwrap_or_default(), read, source);
                }
                (None, TreeValue::Map(map)) if is_section(&full) => {
                    self.add_map(file, path, &full, map);
                }
                (None, what @ TreeValue::Text(_)) if is_section(&full) => {
                    self.refuse(&source, format!("`{full}` must be a map of keys{}", no_map_help(&what)));
                }
                (None, _) => {
                    let what = unknown_key(&full, KEYS.iter().map(|key| key.name));
                    self.refused.push(format!("{file}:{at}: {what}"));
                }
            }
        }
    }

    /// A secret from the file or from the environment; it has one place there.
    fn add_secret(&mut self, name: &'static str, secret: Result<String, String>, source: ConfigSource) {
        let before = self.secrets.get(name).map(|(_, before)| before);
        if before.is_some_and(|before| before.is_same_layer(&source)) {
            return self.refuse(&source, format!("set `{name}` or `{name}{FILE_SUFFIX}`, not both"));
        }
        match secret {
            Ok(secret) => {
                self.secrets.insert(name, (SecretString::from(secret), source));
            }
            Err(why) => self.refuse(&source, why),
        }
    }

    /// What a file holds, and which that is.
    fn find_secret(&self, path: PathBuf) -> Result<(PathBuf, String), String> {
        let text = self.read_secret(&path)?;
        Ok((path, text))
    }

    pub(super) fn read_secret(&self, path: &Path) -> Result<String, String> {
        let read = (self.read)(path).map_err(|error| format!("{}: {error}", path.display()));
        read.map(|text| text.trim_end_matches(['\n', '\r']).to_owned())
    }

    fn add_environment(&mut self, mut given: BTreeMap<String, String>) {
        let own = given.remove(API_KEY_VARIABLE);
        let from = given.remove(API_KEY_FILE_VARIABLE);
        if own.is_some() || from.is_some() {
            self.api_keys.clear();
        }
        match (own, from) {
            (Some(_), Some(_)) => {
                self.refused.push(format!(
                    "{API_KEY_VARIABLE} and {API_KEY_FILE_VARIABLE} are both set: use one of them"
                ));
            }
            (Some(key), None) => {
                let source = ConfigSource::Environment(API_KEY_VARIABLE.to_owned());
                self.api_keys.push(RawListedSecret::new(key, None, source));
            }
            (None, Some(from)) => {
                let source = ConfigSource::Environment(API_KEY_FILE_VARIABLE.to_owned());
                match self.find_secret(from.into()) {
                    Ok((file, key)) => self.api_keys.push(RawListedSecret::new(key, Some(file), source)),
                    Err(why) => self.refuse(&source, why),
                }
            }
            (None, None) => {}
        }
        for (name, text) in given {
            let source = ConfigSource::Environment(name.clone());
            let in_file = name.strip_suffix(FILE_SUFFIX_VARIABLE).and_then(|name| {
                KEYS.iter().find(|key| key.form == KeyForm::Secret && key.variable() == name)
            });
            if let Some(key) = in_file {
                let read = self.read_secret(Path::new(&text));
                self.add_secret(key.name, read, source);
            } else if let Some(key) = KEYS.iter().find(|key| key.variable() == name) {
                match key.form {
                    KeyForm::Secret => self.add_secret(key.name, Ok(text), source),
                    KeyForm::AccessTokens => self.add_access_tokens(&text, &source),
                    KeyForm::PersonTokens => self.add_person_tokens_of_environment(&text, &source),
                    KeyForm::Map => match map_of_text(key, &text) {
                        Ok(text) => drop(self.settings.insert(key.name, RawSetting { text, source })),
                        Err(what) => self.refuse(&source, format!("{}: {what}", key.name)),
                    },
                    _ => drop(self.settings.insert(key.name, RawSetting { text, source })),
                }
            } else if let Some(near) = nearest_variable(&name) {
                // Others are left alone: Kubernetes sets TIDINGS_PORT and the like for a service of that name.
                self.refused.push(format!("environment: unknown variable {name}; did you mean {near}?"));
            }
        }
    }

    /// The list as the environment has it, in place of the file's. What is no list is not shown: it may hold a secret.
    fn add_access_tokens(&mut self, text: &str, source: &ConfigSource) {
        self.access_tokens.clear();
        let file = source.to_string();
        match (parse_yaml(SourceText { file: &file, text }), keys::find_key(ACCESS_TOKENS)) {
            (Ok(TreeNode { what: TreeValue::List(list), .. }), Some(key))
                if let Some(form) = SecretListForm::of_key(key) =>
            {
                let place = |_: TreePlace| source.clone();
                let read = |from: &str| self.find_secret(from.into());
                let reading = form.read_list((&place, &read), list);
                self.add_listed_secrets(key, reading);
            }
            _ => self.refuse(source, "is not a list, such as `[{role: read, token_file: read-token}]`"),
        }
    }

    /// The same of the logins.
    fn add_person_tokens_of_environment(&mut self, text: &str, source: &ConfigSource) {
        self.person_tokens.clear();
        let file = source.to_string();
        match parse_yaml(SourceText { file: &file, text }) {
            Ok(TreeNode { what: TreeValue::List(list), .. }) => {
                let reading = read_person_tokens(&|_| source.clone(), &str::to_owned, list);
                self.add_person_tokens(reading);
            }
            _ => self.refuse(source, format!("is not {}", describe_form())),
        }
    }

    fn add_person_tokens(&mut self, PersonTokenReading { items, refused }: PersonTokenReading) {
        self.person_tokens.extend(items);
        self.refused.extend(refused);
    }

    fn add_listed_secrets(
        &mut self,
        key: &ConfigKey,
        SecretListReading { items, refused }: SecretListReading,
    ) {
        let list = if key.name == ACCESS_TOKENS { &mut self.access_tokens } else { &mut self.api_keys };
        list.extend(items);
        self.refused.extend(refused);
    }

    /// The value of a key, understood; a value that is not is refused with its place.
    pub fn take<T>(&mut self, name: &str, parse: impl Fn(&str) -> Result<T, String>) -> Option<T> {
        let setting = self.settings.get(name)?;
        match parse(&setting.text) {
            Ok(value) => Some(value),
            Err(what) => {
                // Of a map it was said which pair is wrong; the others may hold a secret.
                let is_map = keys::find_key(name).is_some_and(|key| key.form == KeyForm::Map);
                let given = if is_map { String::new() } else { format!("`{}` ", setting.text) };
                self.refused.push(format!("{}: {name}: {given}{what}", setting.source));
                None
            }
        }
    }

    pub fn take_text(&mut self, name: &str) -> Option<String> {
        self.take(name, |text| Ok(text.to_owned()))
    }

    pub fn take_list(&mut self, name: &str) -> Vec<String> {
        let items = self.take_text(name).unwrap_or_default();
        items.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect()
    }

    pub fn refuse(&mut self, source: &ConfigSource, what: impl fmt::Display) {
        self.refused.push(format!("{source}: {what}"));
    }

    /// Refuses a key that has no effect.
    pub fn refuse_without(&mut self, name: &str, needed: &str) {
        if let Some(source) = self.source(name).filter(|source| **source != ConfigSource::Default).cloned() {
            self.refuse(&source, format!("`{name}` has no effect without `{needed}`"));
        }
    }

    pub fn sources(&self) -> BTreeMap<&'static str, ConfigSource> {
        let of = |key: &ConfigKey| {
            let source = match key.name {
                API_KEYS => self.api_keys.first().map(|first| &first.source),
                ACCESS_TOKENS => self.access_tokens.first().map(|first| &first.source),
                PERSON_TOKENS => self.person_tokens.first().map(|first| &first.source),
                name => self.source(name),
            };
            (key.name, source.cloned().unwrap_or(ConfigSource::Default))
        };
        KEYS.iter().map(of).collect()
    }

    /// Where the value of a key comes from, if it has one.
    pub fn source(&self, name: &str) -> Option<&ConfigSource> {
        let setting = self.settings.get(name).map(|setting| &setting.source);
        setting.or_else(|| self.secrets.get(name).map(|(_, source)| source))
    }
}

/// The secret that a name of the file says is kept elsewhere.
fn secret_in_file(name: &str) -> Option<&'static str> {
    let key = keys::find_key(name.strip_suffix(FILE_SUFFIX)?)?;
    (key.form == KeyForm::Secret).then_some(key.name)
}
