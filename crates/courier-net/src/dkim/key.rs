//! Keys: RSA, which everybody can check, and Ed25519, which is small and quick and not yet checked by all.

use std::fmt;

use aws_lc_rs::{
    encoding::AsDer as _,
    rand::SystemRandom,
    rsa::KeySize,
    signature::{Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair},
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use rustls::pki_types::{PrivateKeyDer, pem::PemObject as _};

/// Why a key cannot be used. It never says anything of the key itself.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct DkimKeyError(&'static str);

/// A key and where its public half stands in the DNS.
pub struct DkimKey {
    pub(super) domain: String,
    pub(super) selector: String,
    /// From this instant on, in seconds since 1970.
    pub(super) since: i64,
    secret: DkimPrivateKey,
}

enum DkimPrivateKey {
    Rsa(Box<RsaKeyPair>),
    Ed25519(Box<Ed25519KeyPair>),
}

impl fmt::Debug for DkimKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

impl DkimKey {
    /// Reads a private key in PEM.
    pub fn read(domain: &str, selector: &str, since: i64, pem: &str) -> Result<Self, DkimKeyError> {
        if !is_dns_name(domain) || !is_dns_name(selector) {
            return Err(DkimKeyError("its domain or selector is not a DNS name"));
        }
        let der = PrivateKeyDer::from_pem_slice(pem.as_bytes());
        let secret = match der.map_err(|_| DkimKeyError("not a private key in PEM"))? {
            PrivateKeyDer::Pkcs8(der) => parse_pkcs8(der.secret_pkcs8_der())?,
            PrivateKeyDer::Pkcs1(der) => check_rsa(RsaKeyPair::from_der(der.secret_pkcs1_der()))?,
            _ => return Err(DkimKeyError("neither RSA nor Ed25519")),
        };
        let (domain, selector) = (domain.to_ascii_lowercase(), selector.to_owned());
        Ok(Self { domain, selector, since, secret })
    }

    /// A new key in PEM, of the kind that this names.
    pub fn generate_pem(algorithm: &str) -> Result<String, DkimKeyError> {
        let failed = |_| DkimKeyError("no key could be made");
        let der = match algorithm {
            "rsa" => {
                let pair = RsaKeyPair::generate(KeySize::Rsa2048).map_err(failed)?;
                pair.as_der().map_err(failed)?.as_ref().to_vec()
            }
            "ed25519" => {
                Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).map_err(failed)?.as_ref().to_vec()
            }
            _ => return Err(DkimKeyError("neither RSA nor Ed25519")),
        };
        let text = BASE64_STANDARD.encode(der);
        let lines: Vec<&str> =
            (0..text.len()).step_by(64).map(|from| &text[from..text.len().min(from + 64)]).collect();
        Ok(format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", lines.join("\n")))
    }

    /// From when on it is used, in seconds since 1970.
    pub fn since(&self) -> i64 {
        self.since
    }

    pub(super) fn name(&self) -> String {
        format!("{}._domainkey.{} ({})", self.selector, self.domain, self.algorithm())
    }

    /// The name and the text of the record that has to stand in the DNS.
    pub fn dns_record(&self) -> Result<(String, String), DkimKeyError> {
        let (kind, public) = match &self.secret {
            DkimPrivateKey::Rsa(pair) => {
                let der = pair
                    .public_key()
                    .as_der()
                    .map_err(|_| DkimKeyError("its public half cannot be written"))?;
                let der: &[u8] = der.as_ref();
                ("rsa", BASE64_STANDARD.encode(der))
            }
            DkimPrivateKey::Ed25519(pair) => ("ed25519", BASE64_STANDARD.encode(pair.public_key())),
        };
        let name = format!("{}._domainkey.{}", self.selector, self.domain);
        Ok((name, format!("v=DKIM1; k={kind}; p={public}")))
    }

    /// Whether it signs mails from a domain: its own, or one below it, which receivers take as aligned.
    pub(super) fn signs_for(&self, domain: &str) -> bool {
        let domain = domain.to_ascii_lowercase();
        domain == self.domain || domain.strip_suffix(&self.domain).is_some_and(|above| above.ends_with('.'))
    }

    pub(super) fn algorithm(&self) -> &'static str {
        match self.secret {
            DkimPrivateKey::Rsa(_) => "rsa-sha256",
            DkimPrivateKey::Ed25519(_) => "ed25519-sha256",
        }
    }

    pub(super) fn sign(&self, text: &[u8]) -> Result<Vec<u8>, DkimKeyError> {
        match &self.secret {
            DkimPrivateKey::Rsa(pair) => {
                let mut sum = vec![0; pair.public_modulus_len()];
                let signed = pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), text, &mut sum);
                signed.map_err(|_| DkimKeyError("it does not sign"))?;
                Ok(sum)
            }
            // Of the hash, not of the text (RFC 8463).
            DkimPrivateKey::Ed25519(pair) => {
                let hash = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, text);
                Ok(pair.sign(hash.as_ref()).as_ref().to_vec())
            }
        }
    }
}

fn is_dns_name(text: &str) -> bool {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    text.split('.').all(|label| !label.is_empty() && label.bytes().all(good))
}

fn parse_pkcs8(der: &[u8]) -> Result<DkimPrivateKey, DkimKeyError> {
    // Without its public half too, as openssl writes it.
    if let Ok(pair) = Ed25519KeyPair::from_pkcs8_maybe_unchecked(der) {
        return Ok(DkimPrivateKey::Ed25519(Box::new(pair)));
    }
    check_rsa(RsaKeyPair::from_pkcs8(der))
}

fn check_rsa<E>(pair: Result<RsaKeyPair, E>) -> Result<DkimPrivateKey, DkimKeyError> {
    let pair = pair.map_err(|_| DkimKeyError("neither RSA of at least 2048 bits nor Ed25519"))?;
    if pair.public_modulus_len() < 256 {
        return Err(DkimKeyError("RSA of less than 2048 bits, which receivers do not take"));
    }
    Ok(DkimPrivateKey::Rsa(Box::new(pair)))
}
