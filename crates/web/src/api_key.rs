//! Authentication: a service shows an API key, which names its tenant.

use std::fmt;

use axum::http::{HeaderMap, HeaderValue, header};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use model::Tenant;
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};

use crate::{
    origin::check_same_origin,
    problem::{HttpProblem, ProblemType},
};

/// A key by which a service shows whose data it speaks of. Only its hash is kept.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey {
    digest: [u8; 32],
    tenant: Tenant,
}

impl ApiKey {
    pub fn new(secret: &SecretString, tenant: Tenant) -> Self {
        Self { digest: Sha256::digest(secret.expose_secret()).into(), tenant }
    }

    pub fn tenant(&self) -> &Tenant {
        &self.tenant
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiKey").field("tenant", &self.tenant).finish_non_exhaustive()
    }
}

/// Who may ask, and for whom.
#[derive(Clone, Debug)]
pub struct TenantAccess {
    /// With keys, each request needs one, and it says for which tenant. Without, it is for the configured tenant, and
    /// only the machine itself may reach the port.
    pub keys: Option<Vec<ApiKey>>,
    pub tenant: Tenant,
}

impl TenantAccess {
    /// For whom there can be requests.
    pub fn known_tenants(&self) -> Vec<Tenant> {
        match &self.keys {
            Some(keys) => keys.iter().map(|key| key.tenant().clone()).collect(),
            None => vec![self.tenant.clone()],
        }
    }

    /// For whom a request is.
    pub fn authenticate(&self, headers: &HeaderMap) -> Result<&Tenant, HttpProblem> {
        match &self.keys {
            Some(keys) => authenticate_tenant(headers, keys),
            None => check_same_origin(headers).map(|()| &self.tenant),
        }
    }

    /// The same of a provider of mail, which can show a key as the password of an address, `https://tidings:KEY@host/`.
    /// Whose mails it tells of their words say.
    pub fn authenticate_provider(&self, headers: &HeaderMap) -> Result<&Tenant, HttpProblem> {
        self.authenticate(&basic_as_bearer(headers))
    }
}

/// For whom a request with a key is. Hashes are compared, and all of them, so the time that takes says nothing about a
/// key.
fn authenticate_tenant<'a>(headers: &HeaderMap, keys: &'a [ApiKey]) -> Result<&'a Tenant, HttpProblem> {
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    let bearer = match (given.next().and_then(|value| value.to_str().ok()), given.next()) {
        (Some(text), None) => split_scheme(text, "bearer"),
        _ => None,
    };
    let Some(secret) = bearer else {
        return Err(HttpProblem::from_text(
            ProblemType::Unauthorized,
            "an API key is needed: `Authorization: Bearer <key>`",
        ));
    };
    let digest: [u8; 32] = Sha256::digest(secret.trim()).into();
    let mut found = None;
    for key in keys {
        if key.digest == digest {
            found = Some(&key.tenant);
        }
    }
    found.ok_or(HttpProblem::from_text(ProblemType::Unauthorized, "there is no such API key"))
}

/// Headers in which a password is a token.
fn basic_as_bearer(headers: &HeaderMap) -> HeaderMap {
    let mut headers = headers.clone();
    let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let basic = given.and_then(|text| split_scheme(text, "basic"));
    let decoded = basic.and_then(|text| String::from_utf8(STANDARD.decode(text.trim()).ok()?).ok());
    let bearer =
        decoded.and_then(|text| HeaderValue::from_str(&format!("Bearer {}", text.split_once(':')?.1)).ok());
    if let Some(bearer) = bearer {
        headers.insert(header::AUTHORIZATION, bearer);
    }
    headers
}

/// What stands behind a scheme of authentication, if it is this one.
fn split_scheme<'a>(text: &'a str, scheme: &str) -> Option<&'a str> {
    text.split_once(' ').filter(|(given, _)| given.eq_ignore_ascii_case(scheme)).map(|(_, rest)| rest)
}

/// The token that a request shows, if it shows one and not several.
pub fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    match (given.next(), given.next()) {
        (Some(value), None) => split_scheme(value.to_str().ok()?, "bearer").map(str::trim),
        _ => None,
    }
}

/// Whether a request shows one of some keys. All are looked at, so that the time says nothing.
pub fn shows_one(headers: &HeaderMap, keys: &[SecretString]) -> bool {
    let given = bearer_token(headers).unwrap_or_default();
    keys.iter().fold(false, |shown, key| shown | is_same_secret(given, key.expose_secret()))
}

/// Compares in a time that says nothing about where two secrets differ.
pub fn is_same_secret(given: &str, secret: &str) -> bool {
    let (given, secret) = (given.as_bytes(), secret.as_bytes());
    let differ = given.iter().zip(secret).fold(0, |differ, (a, b)| differ | (a ^ b));
    given.len() == secret.len() && differ == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_never_shows_itself() {
        let key = ApiKey::new(&SecretString::from("correct-horse"), Tenant::new("main").unwrap());
        assert_eq!(format!("{key:?}"), "ApiKey { tenant: main, .. }");
        let access = TenantAccess { keys: Some(vec![key]), tenant: Tenant::new("main").unwrap() };
        for given in ["Bearer wrong-horse", "Basic d3Jvbmc6aG9yc2U=", "wrong-horse", ""] {
            let headers = HeaderMap::from_iter([(header::AUTHORIZATION, given.parse().unwrap())]);
            let problem = access.authenticate(&headers).unwrap_err();
            assert_eq!(problem.kind, ProblemType::Unauthorized);
            assert!(!problem.body().contains("horse") && !format!("{problem:?}").contains("horse"));
        }
    }
}
