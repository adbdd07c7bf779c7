//! Lists of secrets, each with a word beside it: the keys of tenants, and the tokens of roles.

use std::{collections::BTreeSet, path::Path};

use model::{AccessRole, Tenant};
use secrecy::{ExposeSecret as _, SecretString};
use source_text::yaml::{TreeKey, TreeNode, TreeValue};

use super::{
    AccessTokenConfig, ApiKeyConfig,
    file::scalar_text,
    keys::{ACCESS_TOKEN_CHARS_MAX, ACCESS_TOKENS_MAX, API_KEY_CHARS_MIN, ConfigKey, KeyForm},
    merge::{ConfigMerge, ConfigSource},
    parse::{path_beside, unknown_key},
};

/// How the items of a list are written.
#[derive(Debug)]
pub(super) struct SecretListForm {
    /// What an item is called.
    noun: &'static str,
    word: &'static str,
    secret: &'static str,
    secret_file: &'static str,
}

const API_KEY_LIST: SecretListForm =
    SecretListForm { noun: "an API key", word: "tenant", secret: "key", secret_file: "key_file" };
const ACCESS_TOKEN_LIST: SecretListForm =
    SecretListForm { noun: "an access token", word: "role", secret: "token", secret_file: "token_file" };

/// An item before it is understood.
pub(super) struct RawListedSecret {
    pub word: Option<String>,
    pub secret: SecretString,
    pub source: ConfigSource,
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

impl ConfigMerge<'_> {
    /// Reads a list. `place` makes the source of what stands at a place, `path` is the file from which paths are meant.
    pub(super) fn read_secret_list(
        &mut self,
        form: &SecretListForm,
        (place, path): (&dyn Fn(&TreeNode) -> ConfigSource, &Path),
        list: Vec<TreeNode>,
    ) -> Vec<RawListedSecret> {
        list.into_iter().filter_map(|node| self.read_listed_secret(form, (place, path), node)).collect()
    }

    fn read_listed_secret(
        &mut self,
        form: &SecretListForm,
        (place, path): (&dyn Fn(&TreeNode) -> ConfigSource, &Path),
        node: TreeNode,
    ) -> Option<RawListedSecret> {
        let SecretListForm { noun, word: own_word, secret, secret_file } = form;
        let source = place(&node);
        let TreeValue::Map(map) = node.what else {
            let what = format!(
                "{noun} must be `{{{own_word}: ..., {secret}: ...}}` or `{{{own_word}: ..., {secret_file}: ...}}`"
            );
            self.refuse(&source, what);
            return None;
        };
        let (mut word, mut given, mut from) = (None, None, None);
        for (TreeKey { name, at }, node) in map {
            let here = place(&TreeNode { what: TreeValue::Nothing, at });
            let value = place(&node);
            match node.what {
                what if name == *own_word && !matches!(what, TreeValue::List(_) | TreeValue::Map(_)) => {
                    word = scalar_text(what);
                }
                TreeValue::Text(text) if name == *secret => given = Some(SecretString::from(text)),
                TreeValue::Text(text) if name == *secret_file => from = Some(text),
                // A number would have lost its leading zeros by now, and then it is another secret.
                _ if [own_word, secret, secret_file].contains(&&name.as_str()) => {
                    self.refuse(&value, format!("`{name}` must be a text: quote it"));
                }
                _ => self.refuse(&here, unknown_key(&name, [*own_word, *secret, *secret_file])),
            }
        }
        match (given, from) {
            (Some(secret), None) => Some(RawListedSecret { word, secret, source }),
            (None, Some(from)) => match self.read_secret(Path::new(&path_beside(path, &from))) {
                Ok(secret) => Some(RawListedSecret { word, secret: SecretString::from(secret), source }),
                Err(why) => {
                    self.refuse(&source, why);
                    None
                }
            },
            (Some(_), Some(_)) => {
                self.refuse(&source, format!("{noun} takes `{secret}` or `{secret_file}`, not both"));
                None
            }
            (None, None) => {
                self.refuse(&source, format!("{noun} needs `{secret}` or `{secret_file}`"));
                None
            }
        }
    }

    pub(super) fn resolve_api_keys(&mut self, own: Option<&Tenant>) -> Vec<ApiKeyConfig> {
        let mut keys: Vec<ApiKeyConfig> = Vec::new();
        for RawListedSecret { word, secret: key, source } in &self.api_keys {
            let tenant = match (word, own) {
                (Some(tenant), _) => Tenant::new(tenant),
                (None, Some(own)) => Ok(own.clone()),
                (None, None) => continue,
            };
            match tenant {
                Ok(_) if key.expose_secret().chars().count() < API_KEY_CHARS_MIN => {
                    self.refused.push(format!(
                        "{source}: an API key must have at least {API_KEY_CHARS_MIN} characters"
                    ));
                }
                Ok(tenant)
                    if keys.iter().any(|other| other.tenant != tenant && is_same_key(&other.key, key)) =>
                {
                    self.refused.push(format!("{source}: two tenants have this API key: each needs its own"));
                }
                Ok(tenant) => keys.push(ApiKeyConfig { tenant, key: key.clone() }),
                Err(error) => self.refused.push(format!("{source}: {error}")),
            }
        }
        keys
    }

    /// The tokens, several of one item where its file has several lines: the new one and the old ones, for as long as
    /// somebody shows those.
    pub(super) fn resolve_access_tokens(&mut self, api_keys: &[ApiKeyConfig]) -> Vec<AccessTokenConfig> {
        let mut tokens: Vec<AccessTokenConfig> = Vec::new();
        let keys: BTreeSet<&str> = api_keys.iter().map(|key| key.key.expose_secret().trim()).collect();
        let mut refused = Vec::new();
        for RawListedSecret { word, secret, source } in &self.access_tokens {
            let role = match word.as_deref().map(str::parse::<AccessRole>) {
                Some(Ok(role)) => role,
                Some(Err(why)) => {
                    refused.push(format!("{source}: role: {why}"));
                    continue;
                }
                None => {
                    refused.push(format!("{source}: an access token needs a `role`"));
                    continue;
                }
            };
            let lines: Vec<&str> = lines_of_secret(secret).collect();
            if lines.is_empty() {
                refused.push(format!("{source}: an access token is empty"));
            }
            for line in lines {
                let token = SecretString::from(line);
                let same = tokens.iter().find(|other| is_same_key(&other.token, &token));
                if let Err(why) = check_access_token(line) {
                    refused.push(format!("{source}: {why}"));
                } else if keys.contains(line) {
                    refused
                        .push(format!("{source}: this access token is an API key, too: each needs its own"));
                } else if same.is_some_and(|other| other.role != role) {
                    refused.push(format!("{source}: two roles have this access token: each needs its own"));
                } else if same.is_none() {
                    tokens.push(AccessTokenConfig { role, token });
                }
            }
        }
        if tokens.len() > ACCESS_TOKENS_MAX {
            refused.push(format!("`access_tokens` has more than {ACCESS_TOKENS_MAX} tokens"));
        }
        self.refused.extend(refused);
        tokens
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

/// Whether two keys open the same door: white space around them counts for nothing.
fn is_same_key(one: &SecretString, other: &SecretString) -> bool {
    one.expose_secret().trim() == other.expose_secret().trim()
}
