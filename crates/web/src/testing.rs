//! A login for tests: it signs for persons, and shows its key.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, EncodingKey, crypto, jwk::Jwk};
use model::UtcMillis;
use serde_json::{Value, json};

/// What stands before the seed of a key of Ed25519 in PKCS #8.
const ED25519_HEAD: [u8; 16] = [48, 46, 2, 1, 0, 48, 5, 6, 3, 43, 101, 112, 4, 34, 4, 32];

/// A key of a login, always the same one of a number.
pub struct TestLogin {
    number: u8,
    key: EncodingKey,
}

impl TestLogin {
    pub const ISSUER: &str = "https://login.example";

    pub fn new(number: u8) -> Self {
        let document = [&ED25519_HEAD[..], &[number; 32]].concat();
        Self { number, key: EncodingKey::from_ed_der(&document) }
    }

    /// The set of keys that it shows.
    pub fn key_set(&self) -> String {
        let mut key =
            serde_json::to_value(Jwk::from_encoding_key(&self.key, Algorithm::EdDSA).unwrap()).unwrap();
        key["kid"] = self.number.to_string().into();
        json!({"keys": [key]}).to_string()
    }

    /// A token of a person, for ten minutes from now on.
    pub fn sign(&self, person: &str, now: UtcMillis) -> String {
        self.sign_claims(&json!({
            "iss": Self::ISSUER, "aud": "tidings", "sub": person, "exp": now.0 / 1_000 + 600,
        }))
    }

    pub fn sign_claims(&self, claims: &Value) -> String {
        let header = json!({"alg": "EdDSA", "kid": self.number.to_string()});
        let parts = [&header, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
        let message = parts.join(".");
        let signature = crypto::sign(message.as_bytes(), &self.key, Algorithm::EdDSA).unwrap();
        format!("{message}.{signature}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::person_token::{ClaimedToken, PersonKeySet};

    #[test]
    fn its_tokens_are_by_its_key() {
        let (one, two) = (TestLogin::new(1), TestLogin::new(2));
        let now = UtcMillis(1_800_000_000_000);
        let token = one.sign("ann", now);
        let verify = |login: &TestLogin| {
            let keys = PersonKeySet::parse(login.key_set().as_bytes()).unwrap();
            ClaimedToken::parse(&token).unwrap().verify(&keys, now)
        };
        assert_eq!(verify(&one).unwrap().person.as_str(), "ann");
        assert!(verify(&two).is_err());
    }
}
