//! Tokens by which we say who we are: signed with a key whose public half the other side has, and made anew in time.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use aws_lc_rs::{
    agreement::{ECDH_P256, PrivateKey},
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair},
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use rustls::pki_types::{PrivateKeyDer, pem::PemObject as _};
use serde_json::{Value, json};

/// A key that signs tokens: P-256 for ES256, or RSA for RS256.
pub struct JwtKey(JwtPrivateKey);

enum JwtPrivateKey {
    Ec(Box<EcdsaKeyPair>),
    Rsa(Box<RsaKeyPair>),
}

impl fmt::Debug for JwtKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.algorithm())
    }
}

impl JwtKey {
    /// Reads a private key for ES256: in PEM, or the 32 bytes of its number in base64 as tools for Web Push write it.
    pub fn read_es256(text: &str) -> Result<Self, String> {
        let pair = if text.contains("-----BEGIN") {
            let der = PrivateKeyDer::from_pem_slice(text.as_bytes());
            let der = der.map_err(|_| "not a private key in PEM")?;
            match EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der.secret_der()) {
                Ok(pair) => pair,
                Err(_) => {
                    EcdsaKeyPair::from_private_key_der(&ECDSA_P256_SHA256_FIXED_SIGNING, der.secret_der())
                        .map_err(|_| "not a key on P-256")?
                }
            }
        } else {
            key_from_number(&decode_base64(text.trim()).ok_or("neither PEM nor base64")?)?
        };
        Ok(Self(JwtPrivateKey::Ec(Box::new(pair))))
    }

    /// Reads a private key for RS256 in PEM.
    pub fn read_rs256(pem: &str) -> Result<Self, String> {
        let der = PrivateKeyDer::from_pem_slice(pem.as_bytes()).map_err(|_| "not a private key in PEM")?;
        let pair = RsaKeyPair::from_pkcs8(der.secret_der())
            .or_else(|_| RsaKeyPair::from_der(der.secret_der()))
            .map_err(|_| "not an RSA key of at least 2048 bits")?;
        Ok(Self(JwtPrivateKey::Rsa(Box::new(pair))))
    }

    /// A new key for ES256, in PEM.
    pub fn generate_pem() -> Result<String, String> {
        let pair = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
        let pair = pair.map_err(|_| "no key could be made")?;
        let text = base64::prelude::BASE64_STANDARD.encode(pair.as_ref());
        let lines: Vec<&str> =
            (0..text.len()).step_by(64).map(|from| &text[from..text.len().min(from + 64)]).collect();
        Ok(format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", lines.join("\n")))
    }

    /// Its public half in base64, as a browser wants it for `applicationServerKey`.
    pub fn public_base64(&self) -> String {
        match &self.0 {
            JwtPrivateKey::Ec(pair) => BASE64_URL_SAFE_NO_PAD.encode(pair.public_key()),
            JwtPrivateKey::Rsa(pair) => BASE64_URL_SAFE_NO_PAD.encode(pair.public_key()),
        }
    }

    fn algorithm(&self) -> &'static str {
        match self.0 {
            JwtPrivateKey::Ec(_) => "ES256",
            JwtPrivateKey::Rsa(_) => "RS256",
        }
    }

    /// A token that says this. `id` names the key, where there may be several.
    pub(super) fn issue_token(&self, id: Option<&str>, claims: &Value) -> Result<String, String> {
        let mut header = json!({"alg": self.algorithm(), "typ": "JWT"});
        if let Some(id) = id {
            header["kid"] = id.into();
        }
        let part = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
        let said = format!("{}.{}", part(&header), part(claims));
        let signed = self.sign(said.as_bytes())?;
        Ok(format!("{said}.{}", BASE64_URL_SAFE_NO_PAD.encode(signed)))
    }

    fn sign(&self, text: &[u8]) -> Result<Vec<u8>, String> {
        let (random, failed) = (SystemRandom::new(), |_| "the key does not sign".to_owned());
        match &self.0 {
            JwtPrivateKey::Ec(pair) => Ok(pair.sign(&random, text).map_err(failed)?.as_ref().to_vec()),
            JwtPrivateKey::Rsa(pair) => {
                let mut sum = vec![0; pair.public_modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, text, &mut sum).map_err(failed)?;
                Ok(sum)
            }
        }
    }
}

fn key_from_number(number: &[u8]) -> Result<EcdsaKeyPair, &'static str> {
    let wrong = "not the 32 bytes of a key on P-256";
    let private = PrivateKey::from_private_key(&ECDH_P256, number).map_err(|_| wrong)?;
    let public = private.compute_public_key().map_err(|_| wrong)?;
    EcdsaKeyPair::from_private_key_and_public_key(&ECDSA_P256_SHA256_FIXED_SIGNING, number, public.as_ref())
        .map_err(|_| wrong)
}

/// Base64 of either alphabet, with or without its padding.
pub(super) fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=').replace('+', "-").replace('/', "_");
    BASE64_URL_SAFE_NO_PAD.decode(text).ok()
}

/// A token, and from when until when it is used, in milliseconds.
#[derive(Clone)]
pub(super) struct PushServiceToken {
    pub text: Arc<str>,
    pub from: i64,
    pub until: i64,
}

impl PushServiceToken {
    /// A clock that was set back makes it useless too: it would be from the future.
    pub fn is_good(&self, now: i64) -> bool {
        (self.from..self.until).contains(&now)
    }
}

/// A token that is kept for as long as it is good.
#[derive(Default)]
pub(super) struct PushTokenCache(Mutex<Option<PushServiceToken>>);

impl fmt::Debug for PushTokenCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Kept")
    }
}

impl PushTokenCache {
    /// The token, made anew if need be.
    pub fn get_or_make(
        &self,
        now: i64,
        make: impl FnOnce() -> Result<PushServiceToken, String>,
    ) -> Result<Arc<str>, String> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*kept {
            Some(token) if token.is_good(now) => Ok(token.text.clone()),
            _ => {
                let token = make()?;
                let text = token.text.clone();
                *kept = Some(token);
                Ok(text)
            }
        }
    }

    /// The other side does not take this one any more: whether another one can be had, which is so if it is not this
    /// one that is kept, or if this one is not younger than `apart`.
    pub fn refuse(&self, text: &str, now: i64, apart: i64) -> bool {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_young = |token: &PushServiceToken| {
            *token.text == *text && (0..apart).contains(&now.saturating_sub(token.from))
        };
        if kept.as_ref().is_some_and(is_young) {
            return false;
        }
        if kept.as_ref().is_some_and(|token| *token.text == *text) {
            *kept = None;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};

    use super::*;

    #[test]
    fn a_token_is_signed_by_its_key() {
        let key = JwtKey::read_es256(&JwtKey::generate_pem().unwrap()).unwrap();
        let token = key.issue_token(Some("KEY"), &json!({"iss": "us", "iat": 1})).unwrap();
        let parts: Vec<&str> = token.split('.').collect();
        let [header, claims, signature] = parts[..] else { panic!("{token}") };
        let text = |part: &str| String::from_utf8(decode_base64(part).unwrap()).unwrap();
        assert_eq!(text(header), r#"{"alg":"ES256","typ":"JWT","kid":"KEY"}"#);
        assert_eq!(text(claims), r#"{"iss":"us","iat":1}"#);
        let public =
            UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, decode_base64(&key.public_base64()).unwrap());
        let said = format!("{header}.{claims}");
        public.verify(said.as_bytes(), &decode_base64(signature).unwrap()).unwrap();
        public.verify(b"another", &decode_base64(signature).unwrap()).unwrap_err();
    }

    #[test]
    fn keys_are_read_in_each_of_their_forms() {
        // The key of RFC 8291, section 5.
        let number = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw";
        let public =
            "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8";
        assert_eq!(JwtKey::read_es256(number).unwrap().public_base64(), public);
        assert_eq!(JwtKey::read_es256(&format!(" {number}=\n")).unwrap().public_base64(), public);
        let check = |text: &str, expected: &str| {
            assert_eq!(JwtKey::read_es256(text).unwrap_err(), expected, "{text}");
        };
        check("", "not the 32 bytes of a key on P-256");
        check("AAAA", "not the 32 bytes of a key on P-256");
        check(&"A".repeat(43), "not the 32 bytes of a key on P-256");
        check("no key!", "neither PEM nor base64");
        check("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "not a key on P-256");
        let rsa = crate::dkim::DkimKey::generate_pem("rsa").unwrap();
        check(&rsa, "not a key on P-256");
        assert_eq!(format!("{:?}", JwtKey::read_rs256(&rsa).unwrap()), "RS256");
        assert_eq!(
            JwtKey::read_rs256(&JwtKey::generate_pem().unwrap()).unwrap_err(),
            "not an RSA key of at least 2048 bits"
        );
        assert_eq!(JwtKey::read_rs256("words").unwrap_err(), "not a private key in PEM");
    }

    #[test]
    fn a_token_is_kept_for_as_long_as_it_is_good() {
        let (kept, made) = (PushTokenCache::default(), std::cell::Cell::new(0));
        let get = |now: i64| {
            let make = || {
                made.set(made.get() + 1);
                Ok(PushServiceToken { text: made.get().to_string().into(), from: now, until: now + 100 })
            };
            kept.get_or_make(now, make).unwrap().to_string()
        };
        assert_eq!([get(0), get(99), get(100), get(199)], ["1", "1", "2", "2"]);
        assert_eq!(get(50), "3", "the clock was set back");
        assert!(!kept.refuse("3", 60, 20), "it is too young for another one");
        assert_eq!(get(60), "3");
        assert!(kept.refuse("2", 60, 20), "that was an older one");
        assert_eq!(get(60), "3");
        assert!(kept.refuse("3", 70, 20));
        assert_eq!(get(71), "4");
        assert!(kept.get_or_make(500, || Err("no".to_owned())).is_err());
    }
}
