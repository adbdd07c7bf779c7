//! Who may ask for what is of one person: a service with an API key, or the person with a token of their tenant's login.
//!
//! [`PersonAccess`] is what handlers are given. Its keys are those that are there at the moment; who fetches them does so
//! elsewhere, and is told here when a token names a key that nobody knows.

use std::{
    fmt,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
};

use axum::http::{HeaderMap, HeaderValue, header};
use house_facts::KeyScope;
use model::{Person, Tenant, UtcMillis};
use tokio::sync::Notify;

use crate::{
    api_key::{TenantAccess, bearer_token, describe_missing_key},
    limits::PERSON_KEYS_RETRY_SECS,
    origin::check_same_origin,
    person_token::{ClaimedToken, PersonKeySet, TokenFlaw, TokenHolder},
    problem::{HttpProblem, ProblemType},
};

/// A tenant's login, and the keys that it signs with.
pub struct PersonIssuer {
    pub tenant: Tenant,
    /// As tokens say it in `iss` and in `aud`. No two issuers have both alike.
    pub issuer: String,
    pub audience: String,
    /// The sites whose scripts may show its tokens.
    pub origins: Vec<String>,
    /// Nothing until they were read for the first time.
    keys: RwLock<Option<Arc<PersonKeySet>>>,
    /// Whether a token was by a key that is not among them.
    is_key_missed: AtomicBool,
}

impl PersonIssuer {
    /// One without keys yet.
    pub fn new(tenant: Tenant, issuer: String, audience: String, origins: Vec<String>) -> Self {
        let (keys, is_key_missed) = Default::default();
        Self { tenant, issuer, audience, origins, keys, is_key_missed }
    }

    pub fn keys(&self) -> Option<Arc<PersonKeySet>> {
        self.keys.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// From here on these keys count, and no others.
    pub fn replace_keys(&self, keys: Arc<PersonKeySet>) {
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = Some(keys);
    }

    /// Whether a token has named a key that is not there.
    pub fn has_missed_key(&self) -> bool {
        self.is_key_missed.load(Ordering::Acquire)
    }

    /// The same, since this was asked last.
    pub fn take_missed_key(&self) -> bool {
        self.is_key_missed.swap(false, Ordering::AcqRel)
    }
}

impl fmt::Debug for PersonIssuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tenant, issuer, audience, origins, .. } = self;
        let mut shown = f.debug_struct("PersonIssuer");
        shown.field("tenant", tenant).field("issuer", issuer).field("audience", audience);
        shown.field("origins", origins).finish_non_exhaustive()
    }
}

/// Whose token was shown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifiedPerson {
    pub tenant: Tenant,
    pub person: Person,
    /// Until when the token is taken, for what goes on after the answer has begun.
    pub expires: UtcMillis,
}

/// Verifies tokens with the keys that there are now. Cheap to clone: all clones are the same one.
#[derive(Clone, Debug, Default)]
pub struct PersonAccess(Arc<PersonAccessState>);

#[derive(Debug, Default)]
struct PersonAccessState {
    issuers: RwLock<Arc<[Arc<PersonIssuer>]>>,
    key_missed: Notify,
}

impl PersonAccess {
    pub fn new(issuers: Vec<Arc<PersonIssuer>>) -> Self {
        let access = Self::default();
        access.replace(issuers);
        access
    }

    /// From here on these issuers count, and no others.
    pub fn replace(&self, issuers: Vec<Arc<PersonIssuer>>) {
        *self.0.issuers.write().unwrap_or_else(PoisonError::into_inner) = issuers.into();
    }

    pub fn issuers(&self) -> Arc<[Arc<PersonIssuer>]> {
        self.0.issuers.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether tokens are taken at all.
    pub fn has_issuers(&self) -> bool {
        !self.issuers().is_empty()
    }

    /// Whether scripts of other sites may ask at all.
    pub fn has_origins(&self) -> bool {
        self.issuers().iter().any(|issuer| !issuer.origins.is_empty())
    }

    /// Whether scripts of this site may show tokens.
    pub fn lists_origin(&self, origin: &str) -> bool {
        self.issuers().iter().any(|issuer| issuer.origins.iter().any(|listed| listed == origin))
    }

    /// The site that asks, if its scripts may.
    pub fn find_listed_origin(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let mut given = headers.get_all(header::ORIGIN).iter();
        match (given.next(), given.next()) {
            (Some(origin), None) if self.lists_origin(origin.to_str().ok()?) => Some(origin.clone()),
            _ => None,
        }
    }

    /// What a page of elsewhere is told: a site that may ask lacks nothing but its person's token.
    pub fn explain_refusal(&self, refusal: HttpProblem, headers: &HeaderMap) -> HttpProblem {
        match self.find_listed_origin(headers) {
            Some(_) => HttpProblem::from_text(
                ProblemType::Unauthorized,
                "a person's token is needed: `Authorization: Bearer <token>`",
            ),
            None => refusal,
        }
    }

    /// Returns when a token has named a key that is not there; one of the issuers knows of it.
    pub async fn wait_for_missed_key(&self) {
        self.0.key_missed.notified().await;
    }

    /// Whose token this is. By what it says of its issuer and of whom it is for the tenant is found, and with that the
    /// keys: a key never says for whom it speaks.
    pub fn verify(&self, token: &str, now: UtcMillis) -> Result<VerifiedPerson, HttpProblem> {
        let claimed = ClaimedToken::parse(token).map_err(describe_flaw)?;
        let issuers = self.issuers();
        let mut named = issuers.iter().filter(|issuer| claimed.is_from(&issuer.issuer, &issuer.audience));
        let issuer = match (named.next(), named.next()) {
            (Some(issuer), None) => issuer,
            (None, _) => {
                return Err(describe_flaw(TokenFlaw(
                    "no login is known by the `iss` and `aud` of the token",
                )));
            }
            (Some(_), Some(_)) => {
                return Err(describe_flaw(TokenFlaw("the token is for several audiences of this house")));
            }
        };
        let Some(keys) = issuer.keys() else { return Err(describe_lack_of_keys()) };
        if !keys.has_key_of(&claimed) {
            issuer.is_key_missed.store(true, Ordering::Release);
            self.0.key_missed.notify_one();
        }
        let TokenHolder { person, expires } = claimed.verify(&keys, now).map_err(describe_flaw)?;
        Ok(VerifiedPerson { tenant: issuer.tenant.clone(), person, expires })
    }
}

/// The client needs another token, and gets one from the login by itself.
fn describe_flaw(TokenFlaw(why): TokenFlaw) -> HttpProblem {
    HttpProblem::from_text(ProblemType::InvalidToken, why)
}

/// The token may be as good as any: a client that is told otherwise would sign its person out for what is our trouble.
fn describe_lack_of_keys() -> HttpProblem {
    HttpProblem::from_text(ProblemType::Busy, "the keys of this login could not be read yet")
        .with_retry(PERSON_KEYS_RETRY_SECS)
}

/// Who asks for what is of one person.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PersonCaller {
    /// A service, for any person of its tenant.
    Service(Tenant),
    /// A person, for themselves.
    Holder(VerifiedPerson),
}

impl PersonCaller {
    pub fn tenant(&self) -> &Tenant {
        match self {
            Self::Service(tenant) | Self::Holder(VerifiedPerson { tenant, .. }) => tenant,
        }
    }

    /// Whether it may ask for this person. What is said if not is the same whether or not there is such a person.
    pub fn check_person(&self, asked: &Person) -> Result<(), HttpProblem> {
        match self {
            Self::Holder(holder) if holder.person != *asked => Err(HttpProblem::from_text(
                ProblemType::Forbidden,
                "this token is not for the person of this path",
            )),
            Self::Service(_) | Self::Holder(_) => Ok(()),
        }
    }
}

/// The way in to what is of one person.
#[derive(Clone, Debug)]
pub struct PersonDoor {
    pub services: TenantAccess,
    pub persons: PersonAccess,
}

impl PersonDoor {
    /// Whether there can be requests now for others than a tenant.
    pub fn has_others(&self, tenant: &Tenant) -> bool {
        self.services.has_others(tenant)
            || self.persons.issuers().iter().any(|issuer| issuer.tenant != *tenant)
    }

    /// Who asks: a service with a key of this scope, or a person. Where no key is needed, who shows something is a person
    /// all the same: an invalid token must not be as good as none.
    pub fn authenticate(
        &self,
        headers: &HeaderMap,
        scope: KeyScope,
        now: UtcMillis,
    ) -> Result<PersonCaller, HttpProblem> {
        if let Some(key) = self.services.keys.find(headers) {
            key.check_scope(scope)?;
            return Ok(PersonCaller::Service(key.tenant().clone()));
        }
        let is_open = self.services.keys.current().is_none();
        let takes_tokens = self.persons.has_issuers();
        if is_open && !(takes_tokens && headers.contains_key(header::AUTHORIZATION)) {
            check_same_origin(headers).map_err(|refusal| self.persons.explain_refusal(refusal, headers))?;
            return Ok(PersonCaller::Service(self.services.tenant.clone()));
        }
        match bearer_token(headers) {
            Some(token) if takes_tokens && (is_open || looks_like_token(token)) => {
                self.persons.verify(token, now).map(PersonCaller::Holder)
            }
            None if takes_tokens => Err(HttpProblem::from_text(
                ProblemType::Unauthorized,
                "an API key or a person's token is needed: `Authorization: Bearer <key>`",
            )),
            _ => Err(describe_missing_key(headers)),
        }
    }
}

/// Whether it is a JWT and not a key: three parts, the first of which is JSON.
fn looks_like_token(text: &str) -> bool {
    text.starts_with("eyJ") && text.bytes().filter(|byte| *byte == b'.').count() == 2
}
