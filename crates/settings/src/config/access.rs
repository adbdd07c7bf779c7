//! Who may ask: the keys of tenants, the tokens of roles, and the logins of persons.

use std::{collections::BTreeSet, path::PathBuf};

use house_facts::{AccessRole, KeyScope};
use model::Tenant;
use secrecy::{ExposeSecret as _, SecretString};

use super::{
    AccessTokenConfig, ApiKeyConfig, PersonTokenConfig,
    key_hash::{HASH_PREFIX, KeyHash},
    keys::{ACCESS_TOKENS_MAX, API_KEY_CHARS_MIN, PERSON_TOKENS, PERSON_TOKENS_MAX},
    merge::ConfigMerge,
    secret_list::{RawListedSecret, check_access_token, lines_of_secret},
};

impl ConfigMerge<'_> {
    /// The keys, several of one item where its file has several lines: the new one and the old ones, for as long as
    /// somebody shows those. Only their hashes are kept.
    pub(super) fn resolve_api_keys(&mut self, own: Option<&Tenant>) -> Vec<ApiKeyConfig> {
        let mut keys: Vec<ApiKeyConfig> = Vec::new();
        let mut refused = Vec::new();
        for RawListedSecret { word, secret, scopes, source, .. } in &self.api_keys {
            let tenant = match (word, own) {
                (Some(tenant), _) => Tenant::new(tenant),
                (None, Some(own)) => Ok(own.clone()),
                (None, None) => continue,
            };
            let (tenant, scopes) = match (tenant, parse_scopes(scopes.as_deref())) {
                (Ok(tenant), Ok(scopes)) => (tenant, scopes),
                (tenant, scopes) => {
                    let tenant = tenant.err().map(|why| why.to_string());
                    let wrong = tenant.into_iter().chain(scopes.err());
                    refused.extend(wrong.map(|why| format!("{source}: {why}")));
                    continue;
                }
            };
            let lines: Vec<&str> = lines_of_secret(secret).collect();
            if lines.is_empty() {
                refused.push(format!("{source}: an API key is empty"));
            }
            for line in lines {
                let hash = match hash_key(line) {
                    Ok(hash) => hash,
                    Err(why) => {
                        refused.push(format!("{source}: {why}"));
                        continue;
                    }
                };
                match keys.iter().find(|other| other.hash == hash) {
                    Some(other) if other.tenant != tenant => {
                        let why = "two tenants have this API key: each needs its own";
                        refused.push(format!("{source}: {why}"));
                    }
                    Some(other) if other.scopes != scopes => {
                        refused.push(format!("{source}: this API key is there already, with other scopes"));
                    }
                    Some(_) => {}
                    None => {
                        let scopes = scopes.clone();
                        keys.push(ApiKeyConfig { tenant: tenant.clone(), hash, scopes });
                    }
                }
            }
        }
        self.refused.extend(refused);
        keys
    }

    /// The files that keys were read from.
    pub(super) fn list_api_key_files(&self) -> BTreeSet<PathBuf> {
        self.api_keys.iter().filter_map(|key| key.file.clone()).collect()
    }

    /// The tokens, several of one item where its file has several lines: the new one and the old ones, for as long as
    /// somebody shows those.
    pub(super) fn resolve_access_tokens(&mut self, api_keys: &[ApiKeyConfig]) -> Vec<AccessTokenConfig> {
        let mut tokens: Vec<AccessTokenConfig> = Vec::new();
        let keys: BTreeSet<KeyHash> = api_keys.iter().map(|key| key.hash).collect();
        let mut refused = Vec::new();
        for RawListedSecret { word, secret, source, .. } in &self.access_tokens {
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
                } else if keys.contains(&KeyHash::from_key(line)) {
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

    pub(super) fn resolve_person_tokens(&mut self, own: Option<&Tenant>) -> Vec<PersonTokenConfig> {
        let mut logins: Vec<PersonTokenConfig> = Vec::new();
        let mut refused = Vec::new();
        for raw in &self.person_tokens {
            let source = &raw.source;
            match raw.resolve(own) {
                Err(why) => refused.push(format!("{source}: {why}")),
                Ok(None) => {}
                // By both a token says which tenant it is for.
                Ok(Some(login))
                    if logins.iter().any(|other| {
                        (&other.issuer, &other.audience) == (&login.issuer, &login.audience)
                    }) =>
                {
                    refused.push(format!(
                        "{source}: this `issuer` is there already with the same `audience`: each login needs one of its own"
                    ));
                }
                Ok(Some(login)) => logins.push(login),
            }
        }
        if logins.len() > PERSON_TOKENS_MAX {
            refused.push(format!("`{PERSON_TOKENS}` has more than {PERSON_TOKENS_MAX} logins"));
        }
        self.refused.extend(refused);
        logins
    }
}

/// What a key is for; everything unless it is said.
fn parse_scopes(scopes: Option<&[String]>) -> Result<BTreeSet<KeyScope>, String> {
    match scopes {
        None => Ok(KeyScope::ALL.into()),
        Some([]) => Err("`scopes` is empty: such a key opens nothing".to_owned()),
        Some(scopes) => scopes.iter().map(|scope| scope.parse::<KeyScope>()).collect(),
    }
}

/// A line is a key or the hash of one. A hash is never a key, or whoever reads the settings had one.
fn hash_key(line: &str) -> Result<KeyHash, String> {
    if line.starts_with(HASH_PREFIX) {
        return KeyHash::parse(line);
    }
    if line.chars().count() < API_KEY_CHARS_MIN {
        return Err(format!("an API key must have at least {API_KEY_CHARS_MIN} characters"));
    }
    Ok(KeyHash::from_key(line))
}

/// Whether two keys open the same door: white space around them counts for nothing.
fn is_same_key(one: &SecretString, other: &SecretString) -> bool {
    one.expose_secret().trim() == other.expose_secret().trim()
}
