//! A person's own token: a tenant's login signs who somebody is, and their browser or app shows it.
//!
//! It is a JWT by EdDSA (Ed25519) or ES256 (P-256). The claims `iss`, `aud`, `sub` and `exp` are needed, and `sub` is the
//! person. Nothing of it is kept: whoever has the key of a tenant's login speaks for its persons, and a token is good for a
//! day at most. What is in the header beside `alg` and `kid` counts for nothing: a token does not bring its own key.

use std::{fmt, time::Duration};

use jsonwebtoken::{
    Algorithm, DecodingKey, Validation,
    dangerous::insecure_decode_claims,
    decode, decode_header,
    jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, KeyOperations, PublicKeyUse},
};
use model::{Person, UtcMillis};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use crate::limits::{
    PERSON_KEY_SET_BYTES_MAX, PERSON_KEYS_MAX, PERSON_TOKEN_BYTES_MAX, PERSON_TOKEN_LEEWAY_MS,
    PERSON_TOKEN_LIFE_MS_MAX,
};

/// Bytes of a public key: one of Ed25519, and an uncompressed point of P-256.
const ED25519_KEY_BYTES: usize = 32;
const P256_POINT_BYTES: usize = 65;

const EXP_FLAW: TokenFlaw = TokenFlaw("the `exp` of the token is not a number of seconds since 1970");
const NBF_FLAW: TokenFlaw = TokenFlaw("the `nbf` of the token is not a number of seconds since 1970");
const IAT_FLAW: TokenFlaw = TokenFlaw("the `iat` of the token is not a number of seconds since 1970");

/// The public keys of a tenant's login.
pub struct PersonKeySet(Vec<TokenKey>);

/// One of them.
struct TokenKey {
    id: Option<String>,
    algorithm: Algorithm,
    key: DecodingKey,
}

/// Why a token is invalid, without a word of what stands in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TokenFlaw(pub &'static str);

/// What a token says, before anybody has verified it: by that its keys are found, and nothing else.
pub struct ClaimedToken<'a> {
    text: &'a str,
    algorithm: Algorithm,
    key_id: Option<String>,
    claims: TokenClaims,
}

/// Whose token it is, and until when it is taken: for a tolerance longer than its `exp` says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TokenHolder {
    pub person: Person,
    pub expires: UtcMillis,
}

/// The claims as they stand there. One that is given twice is refused when they are read, and one that is not known is left
/// alone.
#[derive(Deserialize)]
struct RawClaims {
    iss: Option<Value>,
    aud: Option<Value>,
    sub: Option<Value>,
    exp: Option<Value>,
    nbf: Option<Value>,
    iat: Option<Value>,
}

struct TokenClaims {
    iss: String,
    aud: TokenAudience,
    sub: String,
    exp: f64,
    nbf: Option<f64>,
    iat: Option<f64>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum TokenAudience {
    One(String),
    Several(Vec<String>),
}

/// Neither the token nor what it says.
impl fmt::Debug for ClaimedToken<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClaimedToken").field("algorithm", &self.algorithm).finish_non_exhaustive()
    }
}

impl PersonKeySet {
    /// Those of a JWK set that sign by EdDSA (Ed25519) or ES256 (P-256); at least one.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        if bytes.len() > PERSON_KEY_SET_BYTES_MAX {
            return Err(format!("it has more than {PERSON_KEY_SET_BYTES_MAX} bytes"));
        }
        // What the reader says of the text could show a part of it.
        let set: Value = serde_json::from_slice(bytes).map_err(|_| "it is no JSON".to_owned())?;
        let keys = set["keys"].as_array().ok_or("it is no JWK set: it has no list `keys`")?;
        if keys.len() > PERSON_KEYS_MAX {
            return Err(format!("it has more than {PERSON_KEYS_MAX} keys"));
        }
        // Key by key, since one of a sort that nobody here knows must not hide the others.
        let keys: Vec<TokenKey> = keys.iter().filter_map(TokenKey::from_json).collect();
        if keys.is_empty() {
            return Err("it has no key that tokens may be signed with: one of Ed25519 or P-256".to_owned());
        }
        Ok(Self(keys))
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Whether there is a key that a token can be by.
    pub fn has_key_of(&self, token: &ClaimedToken<'_>) -> bool {
        self.list_keys_of(token).next().is_some()
    }

    /// A token that names its key is by that one; one that names none may be by any.
    fn list_keys_of<'a>(&'a self, token: &'a ClaimedToken<'_>) -> impl Iterator<Item = &'a TokenKey> {
        let ClaimedToken { algorithm, key_id, .. } = token;
        self.0
            .iter()
            .filter(move |key| key.algorithm == *algorithm && (key_id.is_none() || key.id == *key_id))
    }
}

impl fmt::Debug for PersonKeySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|key| (&key.id, key.algorithm))).finish()
    }
}

impl TokenKey {
    /// The key, if it is one of ours and made for signatures.
    fn from_json(json: &Value) -> Option<Self> {
        let jwk = Jwk::deserialize(json).ok()?;
        let (algorithm, bytes) = match &jwk.algorithm {
            AlgorithmParameters::OctetKeyPair(pair) if pair.curve == EllipticCurve::Ed25519 => {
                (Algorithm::EdDSA, ED25519_KEY_BYTES)
            }
            AlgorithmParameters::EllipticCurve(point) if point.curve == EllipticCurve::P256 => {
                (Algorithm::ES256, P256_POINT_BYTES)
            }
            _ => return None,
        };
        let common = &jwk.common;
        let is_other = common.key_algorithm.is_some_and(|own| own != KeyAlgorithm::from(algorithm));
        let may_verify = common.key_operations.as_ref();
        let is_for_else = common.public_key_use.as_ref().is_some_and(|of| *of != PublicKeyUse::Signature)
            || may_verify.is_some_and(|operations| !operations.contains(&KeyOperations::Verify));
        let key = DecodingKey::from_jwk(&jwk).ok()?;
        let is_whole = key.try_get_as_bytes().is_ok_and(|key| key.len() == bytes);
        (is_whole && !is_other && !is_for_else).then_some(Self { id: jwk.common.key_id, algorithm, key })
    }
}

impl TokenClaims {
    fn from_raw(RawClaims { iss, aud, sub, exp, nbf, iat }: RawClaims) -> Result<Self, TokenFlaw> {
        const NO_LIST: TokenFlaw = TokenFlaw("the `aud` of the token is neither text nor a list of texts");
        Ok(Self {
            iss: read_claim(
                iss.ok_or(TokenFlaw("the token has no `iss`"))?,
                TokenFlaw("the `iss` of the token is not text"),
            )?,
            aud: read_claim(aud.ok_or(TokenFlaw("the token has no `aud`"))?, NO_LIST)?,
            sub: read_claim(
                sub.ok_or(TokenFlaw("the token has no `sub`"))?,
                TokenFlaw("the `sub` of the token is not text"),
            )?,
            exp: read_claim(exp.ok_or(TokenFlaw("the token has no `exp`"))?, EXP_FLAW)?,
            nbf: nbf.map(|nbf| read_claim(nbf, NBF_FLAW)).transpose()?,
            iat: iat.map(|iat| read_claim(iat, IAT_FLAW)).transpose()?,
        })
    }
}

/// What is wrong with it is said without its value.
fn read_claim<T: DeserializeOwned>(claim: Value, flaw: TokenFlaw) -> Result<T, TokenFlaw> {
    serde_json::from_value(claim).map_err(|_| flaw)
}

impl<'a> ClaimedToken<'a> {
    pub fn parse(text: &'a str) -> Result<Self, TokenFlaw> {
        const UNREADABLE: TokenFlaw = TokenFlaw("the token cannot be read");
        if text.len() > PERSON_TOKEN_BYTES_MAX {
            return Err(TokenFlaw("the token is too long"));
        }
        let header = decode_header(text).map_err(|_| UNREADABLE)?;
        if !matches!(header.alg, Algorithm::EdDSA | Algorithm::ES256) {
            return Err(TokenFlaw("the token is not signed by EdDSA or ES256"));
        }
        if header.crit.is_some() {
            return Err(TokenFlaw("the token needs what is not understood here (`crit`)"));
        }
        let claims: RawClaims = insecure_decode_claims(text)
            .map_err(|_| TokenFlaw("the claims of the token cannot be read, or it has one of them twice"))?;
        let claims = TokenClaims::from_raw(claims)?;
        Ok(Self { text, algorithm: header.alg, key_id: header.kid, claims })
    }

    /// Whether it says that it is by this issuer, and for this audience.
    pub fn is_from(&self, issuer: &str, audience: &str) -> bool {
        let is_for = match &self.claims.aud {
            TokenAudience::One(one) => one == audience,
            TokenAudience::Several(several) => several.iter().any(|one| one == audience),
        };
        is_for && self.claims.iss == issuer
    }

    /// Whose it is, if it is by one of these keys and good at this time.
    pub fn verify(&self, keys: &PersonKeySet, now: UtcMillis) -> Result<TokenHolder, TokenFlaw> {
        // Only the signature is its business: what it knows of time it would ask the machine.
        let mut validation = Validation::new(self.algorithm);
        validation.required_spec_claims.clear();
        (validation.validate_exp, validation.validate_nbf, validation.validate_aud) = (false, false, false);
        let mut candidates = keys.list_keys_of(self).peekable();
        if candidates.peek().is_none() {
            return Err(TokenFlaw("the token is by a key that is not known"));
        }
        // The claims were read from the same bytes.
        let is_signed = candidates.any(|one| decode::<RawClaims>(self.text, &one.key, &validation).is_ok());
        if !is_signed {
            return Err(TokenFlaw("the signature of the token is wrong"));
        }
        let expires = self.check_times(now)?;
        let person = Person::new(&self.claims.sub)
            .map_err(|_| TokenFlaw("the `sub` of the token is not a person's id"))?;
        Ok(TokenHolder { person, expires })
    }

    /// Until when it is taken, if that is ahead and not too far.
    fn check_times(&self, now: UtcMillis) -> Result<UtcMillis, TokenFlaw> {
        let TokenClaims { exp, nbf, iat, .. } = &self.claims;
        let latest = now.plus(PERSON_TOKEN_LEEWAY_MS);
        let stated = read_seconds(*exp).ok_or(EXP_FLAW)?;
        let expires = stated.plus(PERSON_TOKEN_LEEWAY_MS);
        if expires <= now {
            return Err(TokenFlaw("the token has expired"));
        }
        if stated > latest.plus(PERSON_TOKEN_LIFE_MS_MAX) {
            return Err(TokenFlaw("the token is good for longer than a day"));
        }
        for (begins, flaw) in [(nbf, NBF_FLAW), (iat, IAT_FLAW)] {
            if let Some(begins) = begins
                && read_seconds(*begins).ok_or(flaw)? > latest
            {
                return Err(TokenFlaw("the token is not good yet"));
            }
        }
        Ok(expires)
    }
}

/// Seconds since 1970, which may have a fraction.
fn read_seconds(seconds: f64) -> Option<UtcMillis> {
    let since = Duration::try_from_secs_f64(seconds).ok()?;
    // So far from its ends that nothing is added to it beyond them.
    let millis = i64::try_from(since.as_millis()).ok().filter(|millis| *millis < i64::MAX / 2)?;
    Some(UtcMillis(millis))
}

#[cfg(test)]
mod tests;
