//! By which Amazon sees who asks: Signature Version 4, over the method, the path, some headers and the body.

use std::fmt;

use aws_lc_rs::{
    digest::{SHA256, digest},
    hmac::{self, HMAC_SHA256},
};
use chrono::DateTime;
use secrecy::{ExposeSecret as _, SecretString};

/// Who we are there.
pub(super) struct SigV4Signer {
    pub key_id: String,
    pub secret: SecretString,
    pub region: String,
    pub service: &'static str,
}

// A key's id is no secret, and nobody needs it in a log.
impl fmt::Debug for SigV4Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigV4Signer").field("region", &self.region).finish_non_exhaustive()
    }
}

/// What is signed of a request.
pub(super) struct SigV4Request<'a> {
    pub path: &'a str,
    /// Names in lower case, in order, with their values.
    pub headers: &'a [(&'a str, &'a str)],
    pub body: &'a [u8],
}

/// An instant as it is written there: `20261121T080000Z`. None where there is no such year.
pub(super) fn format_date(now: i64) -> Option<String> {
    Some(DateTime::from_timestamp_millis(now)?.format("%Y%m%dT%H%M%SZ").to_string())
}

impl SigV4Signer {
    /// The value of the header that says so, for a request of this instant.
    pub fn authorize_request(&self, asked: &SigV4Request<'_>, date: &str) -> String {
        let headers: String = asked.headers.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
        let names: Vec<&str> = asked.headers.iter().map(|(name, _)| *name).collect();
        let names = names.join(";");
        let canonical = format!("POST\n{}\n\n{headers}\n{names}\n{}", asked.path, hash_hex(asked.body));
        let day = date.split('T').next().unwrap_or_default();
        let scope = format!("{day}/{}/{}/aws4_request", self.region, self.service);
        let text = format!("AWS4-HMAC-SHA256\n{date}\n{scope}\n{}", hash_hex(canonical.as_bytes()));
        let first = format!("AWS4{}", self.secret.expose_secret());
        let mut key = first.into_bytes();
        for part in [day, self.region.as_str(), self.service, "aws4_request", text.as_str()] {
            key = hmac::sign(&hmac::Key::new(HMAC_SHA256, &key), part.as_bytes()).as_ref().to_vec();
        }
        let signature = encode_hex(&key);
        format!(
            "AWS4-HMAC-SHA256 Credential={}/{scope}, SignedHeaders={names}, Signature={signature}",
            self.key_id
        )
    }
}

fn hash_hex(bytes: &[u8]) -> String {
    encode_hex(digest(&SHA256, bytes).as_ref())
}

fn encode_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `post-vanilla` and `post-x-www-form-urlencoded` of Amazon's own suite.
    #[test]
    fn a_signature_is_that_of_the_suite() {
        let signer = SigV4Signer {
            key_id: "AKIDEXAMPLE".to_owned(),
            secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".to_owned().into(),
            region: "us-east-1".to_owned(),
            service: "service",
        };
        let date = format_date(1_440_938_160_000).unwrap();
        let check = |headers: &[(&str, &str)], body: &[u8], signature: &str| {
            let text = signer.authorize_request(&SigV4Request { path: "/", headers, body }, &date);
            assert!(text.starts_with(
                "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
            ));
            assert!(text.ends_with(signature), "{text}");
        };
        let (host, at) = (("host", "example.amazonaws.com"), ("x-amz-date", date.as_str()));
        check(&[host, at], b"", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b");
        let form = ("content-type", "application/x-www-form-urlencoded");
        check(
            &[form, host, at],
            b"Param1=value1",
            "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
        );
    }
}
