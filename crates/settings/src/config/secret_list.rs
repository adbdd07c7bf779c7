//! Lists of secrets, each with a word beside it: the keys of tenants, and the tokens of roles.

use std::path::PathBuf;

use secrecy::{ExposeSecret as _, SecretString};
use source_text::{
    list_choices,
    yaml::{TreeKey, TreeNode, TreePlace, TreeValue},
};

use super::{
    file::scalar_text,
    key_hash::{HASH_DIGITS, HASH_PREFIX},
    keys::{ACCESS_TOKEN_CHARS_MAX, API_KEY_CHARS_MIN, ConfigKey, KeyForm},
    parse::unknown_key,
    source::ConfigSource,
};

/// How the items of a list are written.
#[derive(Debug)]
pub(super) struct SecretListForm {
    /// What an item is called.
    noun: &'static str,
    word: &'static str,
    secret: &'static str,
    secret_file: &'static str,
    /// What the hash of the secret stands at, and the list of what it is for, where there may be such.
    hash: Option<&'static str>,
    scopes: Option<&'static str>,
}

const API_KEY_LIST: SecretListForm = SecretListForm {
    noun: "an API key",
    word: "tenant",
    secret: "key",
    secret_file: "key_file",
    hash: Some("hash"),
    scopes: Some("scopes"),
};
const ACCESS_TOKEN_LIST: SecretListForm = SecretListForm {
    noun: "an access token",
    word: "role",
    secret: "token",
    secret_file: "token_file",
    hash: None,
    scopes: None,
};

/// An item before it is understood.
pub(super) struct RawListedSecret {
    pub word: Option<String>,
    pub secret: SecretString,
    /// What it is for, if that is said.
    pub scopes: Option<Vec<String>>,
    /// The file that the secret was in.
    pub file: Option<PathBuf>,
    pub source: ConfigSource,
}

impl RawListedSecret {
    /// One that stands alone in the environment, or in a file that this names.
    pub fn new(secret: String, file: Option<PathBuf>, source: ConfigSource) -> Self {
        Self { word: None, secret: SecretString::from(secret), scopes: None, file, source }
    }
}

impl SecretListForm {
    /// The form of a key's list, if it has one.
    pub fn of_key(key: &ConfigKey) -> Option<&'static Self> {
        match key.form {
            KeyForm::ApiKeys => Some(&API_KEY_LIST),
            KeyForm::AccessTokens => Some(&ACCESS_TOKEN_LIST),
            _ => None,
        }
    }

    pub fn describe(&self) -> String {
        format!("a list of `{{{}: ..., {}: ...}}`", self.word, self.secret)
    }
}

/// What a list holds, and what is wrong with the rest of it.
#[derive(Default)]
pub(super) struct SecretListReading {
    pub items: Vec<RawListedSecret>,
    pub refused: Vec<String>,
}

/// How the source of what stands at a place is called, and how a file with a secret is found and read.
type ListSurroundings<'a> =
    (&'a dyn Fn(TreePlace) -> ConfigSource, &'a dyn Fn(&str) -> Result<(PathBuf, String), String>);

impl SecretListForm {
    /// Reads a list. What is no item is refused with its place, and without what stands there.
    pub fn read_list(&self, surroundings: ListSurroundings<'_>, list: Vec<TreeNode>) -> SecretListReading {
        let mut reading = SecretListReading::default();
        for node in list {
            let source = surroundings.0(node.at);
            match self.read_item(surroundings, node, &mut reading.refused) {
                Ok(item) => reading.items.push(item),
                Err(why) => reading.refused.push(format!("{source}: {why}")),
            }
        }
        reading
    }

    /// One item; what else is wrong in it is refused beside it.
    fn read_item(
        &self,
        (place, read): ListSurroundings<'_>,
        node: TreeNode,
        refused: &mut Vec<String>,
    ) -> Result<RawListedSecret, String> {
        let Self { noun, word: own_word, secret, secret_file, .. } = self;
        let source = place(node.at);
        let TreeValue::Map(map) = node.what else {
            return Err(format!(
                "{noun} must be `{{{own_word}: ..., {secret}: ...}}` or `{{{own_word}: ..., {secret_file}: ...}}`"
            ));
        };
        let (mut word, mut scopes) = (None, None);
        let (mut given, mut hash, mut from) = (None, None, None);
        for (TreeKey { name, at }, node) in map {
            match node.what {
                what if name == *own_word && !matches!(what, TreeValue::List(_) | TreeValue::Map(_)) => {
                    word = scalar_text(what);
                }
                TreeValue::Text(text) if name == *secret => given = Some(text),
                TreeValue::Text(text) if name == *secret_file => from = Some(text),
                TreeValue::Text(text) if self.hash == Some(&name) => hash = Some(text),
                TreeValue::List(list) if self.scopes == Some(&name) => {
                    scopes = Some(list.into_iter().filter_map(|node| scalar_text(node.what)).collect());
                }
                _ if self.scopes == Some(&name) => {
                    refused.push(format!("{}: `{name}` must be a list", place(node.at)));
                }
                // A number would have lost its leading zeros by now, and then it is another secret.
                _ if self.list_names().any(|known| known == name) => {
                    refused.push(format!("{}: `{name}` must be a text: quote it", place(node.at)));
                }
                _ => {
                    let what = unknown_key(&name, self.list_names());
                    refused.push(format!("{}: {what}", place(at)));
                }
            }
        }
        if let Some(hash) = &hash
            && !hash.starts_with(HASH_PREFIX)
        {
            return Err(format!("`hash` must be `{HASH_PREFIX}` and {HASH_DIGITS} hexadecimal digits"));
        }
        let (file, text) = match (given, from, hash) {
            (Some(text), None, None) | (None, None, Some(text)) => (None, text),
            (None, Some(from), None) => read(&from).map(|(file, text)| (Some(file), text))?,
            (None, None, None) => return Err(format!("{noun} needs {}", self.list_ways())),
            _ => return Err(format!("{noun} takes {}, not both", self.list_ways())),
        };
        Ok(RawListedSecret { word, secret: SecretString::from(text), scopes, file, source })
    }

    /// What an item may have.
    fn list_names(&self) -> impl Iterator<Item = &'static str> {
        [self.word, self.secret, self.secret_file].into_iter().chain(self.hash).chain(self.scopes)
    }

    /// By what a secret may be given.
    fn list_ways(&self) -> String {
        list_choices([self.secret, self.secret_file].into_iter().chain(self.hash))
    }
}

/// The lines of a secret that are something.
pub(super) fn lines_of_secret(secret: &SecretString) -> impl Iterator<Item = &str> {
    secret.expose_secret().lines().map(str::trim).filter(|line| !line.is_empty())
}

/// Whether a token can stand in a header, and cannot be guessed by its length.
pub(super) fn check_access_token(token: &str) -> Result<(), String> {
    if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("an access token may have only letters, digits and signs of ASCII".to_owned());
    }
    match token.len() {
        ..API_KEY_CHARS_MIN => {
            Err(format!("an access token must have at least {API_KEY_CHARS_MIN} characters"))
        }
        API_KEY_CHARS_MIN..=ACCESS_TOKEN_CHARS_MAX => Ok(()),
        _ => Err(format!("an access token must have at most {ACCESS_TOKEN_CHARS_MAX} characters")),
    }
}
