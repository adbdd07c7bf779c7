//! Who may ask: the keys of tenants, and the tokens of roles.

use std::collections::BTreeSet;

use model::{AccessRole, Tenant};
use secrecy::{ExposeSecret as _, SecretString};

use super::{
    AccessTokenConfig, ApiKeyConfig,
    keys::{ACCESS_TOKENS_MAX, API_KEY_CHARS_MIN},
    merge::ConfigMerge,
    secret_list::{RawListedSecret, check_access_token, lines_of_secret},
};

impl ConfigMerge<'_> {
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

/// Whether two keys open the same door: white space around them counts for nothing.
fn is_same_key(one: &SecretString, other: &SecretString) -> bool {
    one.expose_secret().trim() == other.expose_secret().trim()
}
