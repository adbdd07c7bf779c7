//! Authentication: a service shows an API key, which names its tenant and what it may do for it.

use std::{
    collections::BTreeSet,
    fmt,
    sync::{Arc, PoisonError, RwLock},
};

use axum::http::{HeaderMap, HeaderValue, header};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use house_facts::KeyScope;
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
    scopes: BTreeSet<KeyScope>,
}

impl ApiKey {
    /// One that may do everything for its tenant.
    pub fn new(secret: &SecretString, tenant: Tenant) -> Self {
        Self::from_digest(Sha256::digest(secret.expose_secret()).into(), tenant, KeyScope::ALL.into())
    }

    /// The key with this SHA-256.
    pub fn from_digest(digest: [u8; 32], tenant: Tenant, scopes: BTreeSet<KeyScope>) -> Self {
        Self { digest, tenant, scopes }
    }

    pub fn tenant(&self) -> &Tenant {
        &self.tenant
    }

    /// Whether it may do this; what is said if not names the scope.
    pub fn check_scope(&self, scope: KeyScope) -> Result<(), HttpProblem> {
        if self.scopes.contains(&scope) {
            return Ok(());
        }
        let why = format!("this API key does not have the scope `{scope}`, which this path needs");
        Err(HttpProblem::new(ProblemType::MissingScope, why))
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiKey").field("tenant", &self.tenant).finish_non_exhaustive()
    }
}

/// The keys there are now: whoever has this list sees at once what another has replaced it with.
#[derive(Clone, Debug, Default)]
pub struct ApiKeyList(Arc<RwLock<Option<Arc<[ApiKey]>>>>);

impl ApiKeyList {
    /// `None` where no key is needed.
    pub fn new(keys: Option<Vec<ApiKey>>) -> Self {
        Self(Arc::new(RwLock::new(keys.map(Into::into))))
    }

    pub fn replace(&self, keys: Option<Vec<ApiKey>>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = keys.map(Into::into);
    }

    /// As they are now; `None` where no key is needed.
    pub fn current(&self) -> Option<Arc<[ApiKey]>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The key that a request shows. Hashes are compared, and all of them, so the time that takes says nothing about a
    /// key.
    pub fn find(&self, headers: &HeaderMap) -> Option<ApiKey> {
        let digest: [u8; 32] = Sha256::digest(bearer_token(headers)?).into();
        let keys = self.current()?;
        let found = keys.iter().fold(None, |found, key| if key.digest == digest { Some(key) } else { found });
        found.cloned()
    }
}

impl From<Option<Vec<ApiKey>>> for ApiKeyList {
    fn from(keys: Option<Vec<ApiKey>>) -> Self {
        Self::new(keys)
    }
}

/// Who may ask, and for whom.
#[derive(Clone, Debug)]
pub struct TenantAccess {
    /// With keys, each request needs one, and it says for which tenant. Without, it is for the configured tenant, and
    /// only the machine itself may reach the port.
    pub keys: ApiKeyList,
    pub tenant: Tenant,
}

impl TenantAccess {
    /// Whether there can be requests now for others than a tenant.
    pub fn has_others(&self, tenant: &Tenant) -> bool {
        match self.keys.current() {
            Some(keys) => keys.iter().any(|key| key.tenant() != tenant),
            None => self.tenant != *tenant,
        }
    }

    /// For whom a request is that does something of this scope.
    pub fn authenticate(&self, headers: &HeaderMap, scope: KeyScope) -> Result<Tenant, HttpProblem> {
        if self.keys.current().is_none() {
            return check_same_origin(headers).map(|()| self.tenant.clone());
        }
        let key = self.keys.find(headers).ok_or_else(|| describe_missing_key(headers))?;
        key.check_scope(scope)?;
        Ok(key.tenant)
    }

    /// The same of a provider of mail, which can show a key as the password of an address, `https://tidings:KEY@host/`.
    /// Whose mails it tells of their words say.
    pub fn authenticate_provider(&self, headers: &HeaderMap) -> Result<Tenant, HttpProblem> {
        self.authenticate(&basic_as_bearer(headers), KeyScope::Returns)
    }
}

/// What is said to a request without a key that there is.
pub(crate) fn describe_missing_key(headers: &HeaderMap) -> HttpProblem {
    let detail = match bearer_token(headers) {
        Some(_) => "there is no such API key",
        None => "an API key is needed: `Authorization: Bearer <key>`",
    };
    HttpProblem::from_text(ProblemType::Unauthorized, detail)
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

/// Compares in a time that says nothing about where two secrets differ.
pub fn is_same_secret(given: &str, secret: &str) -> bool {
    let (given, secret) = (given.as_bytes(), secret.as_bytes());
    let differ = given.iter().zip(secret).fold(0, |differ, (a, b)| differ | (a ^ b));
    given.len() == secret.len() && differ == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenant(name: &str) -> Tenant {
        Tenant::new(name).unwrap()
    }

    fn headers(given: &str) -> HeaderMap {
        HeaderMap::from_iter([(header::AUTHORIZATION, given.parse().unwrap())])
    }

    fn key(secret: &str, of: &str, scopes: &[KeyScope]) -> ApiKey {
        ApiKey::from_digest(Sha256::digest(secret).into(), tenant(of), scopes.iter().copied().collect())
    }

    #[test]
    fn a_key_never_shows_itself() {
        let key = ApiKey::new(&SecretString::from("correct-horse"), tenant("main"));
        assert_eq!(format!("{key:?}"), "ApiKey { tenant: main, .. }");
        let access = TenantAccess { keys: Some(vec![key]).into(), tenant: tenant("main") };
        for given in ["Bearer wrong-horse", "Basic d3Jvbmc6aG9yc2U=", "wrong-horse", ""] {
            let problem = access.authenticate(&headers(given), KeyScope::Changes).unwrap_err();
            assert_eq!(problem.kind, ProblemType::Unauthorized);
            assert!(!problem.body().contains("horse") && !format!("{problem:?}").contains("horse"));
        }
    }

    #[test]
    fn a_key_opens_what_its_scopes_name() {
        use KeyScope::{Changes, Facts, Feedback, Read, Returns};
        let keys = vec![
            ApiKey::new(&SecretString::from("whole"), tenant("a")),
            key("sends", "a", &[Changes, Facts]),
            key("reads", "b", &[Read]),
            key("idle", "b", &[]),
        ];
        let access = TenantAccess { keys: Some(keys).into(), tenant: tenant("main") };
        let check = |secret: &str, opens: &[KeyScope]| {
            for scope in KeyScope::ALL {
                let answer = access.authenticate(&headers(&format!("Bearer {secret}")), scope);
                let Err(problem) = answer else {
                    assert!(opens.contains(&scope), "{secret} opens {scope}");
                    continue;
                };
                assert!(!opens.contains(&scope), "{secret} does not open {scope}");
                assert_eq!(problem.kind, ProblemType::MissingScope);
                assert!(problem.detail.contains(&format!("`{scope}`")), "{problem:?}");
            }
        };
        check("whole", &[Changes, Facts, Feedback, Returns, Read]);
        check("sends", &[Changes, Facts]);
        check("reads", &[Read]);
        check("idle", &[]);
    }

    #[test]
    fn keys_that_are_replaced_count_at_once() {
        let list = ApiKeyList::new(Some(vec![key("old", "a", &KeyScope::ALL)]));
        let access = TenantAccess { keys: list.clone(), tenant: tenant("main") };
        let find = |secret: &str| {
            let found = access.authenticate(&headers(&format!("Bearer {secret}")), KeyScope::Read);
            found.ok().map(|tenant| tenant.to_string())
        };
        let check =
            |secret: &str, whose: Option<&str>| assert_eq!(find(secret).as_deref(), whose, "{secret}");
        check("old", Some("a"));
        check("new", None);
        assert!(!access.has_others(&tenant("a")));
        list.replace(Some(vec![key("old", "a", &KeyScope::ALL), key("new", "b", &KeyScope::ALL)]));
        check("old", Some("a"));
        check("new", Some("b"));
        assert!(access.has_others(&tenant("a")) && access.has_others(&tenant("b")));
        list.replace(Some(vec![key("new", "b", &KeyScope::ALL)]));
        check("old", None);
        // Without a key is not without keys.
        list.replace(Some(vec![]));
        check("new", None);
        list.replace(None);
        check("new", Some("main"));
    }
}
