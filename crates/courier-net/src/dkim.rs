//! DKIM (RFC 6376): whose mail this is, provable by whoever receives it.
//!
//! Both canonical forms are the relaxed ones, which survive what servers do to mails on their way. Headers that must
//! not be added later are signed once more than they are there. Nothing is random: the same mail has the same
//! signature.

mod canonical;
pub mod folder;
mod key;

use std::{fmt, sync::Arc};

use aws_lc_rs::digest::{Context, SHA256};
use base64::{Engine as _, prelude::BASE64_STANDARD};

pub use key::{DkimKey, DkimKeyError};

/// How long a signature holds. Whoever got a mail later than that has it from somebody else.
const LIFE_SECONDS: i64 = 7 * 86_400;
/// Characters of a line of the signature.
const LINE: usize = 70;

/// Headers that are signed, each with whether nobody may add one more: a second one would be shown, or acted on.
const SIGNED: [(&str, bool); 20] = [
    ("from", true),
    ("to", true),
    ("cc", true),
    ("reply-to", true),
    ("sender", true),
    ("subject", true),
    ("date", true),
    ("message-id", true),
    ("references", true),
    ("in-reply-to", false),
    ("mime-version", true),
    ("content-type", true),
    ("content-transfer-encoding", true),
    ("list-unsubscribe", true),
    ("list-unsubscribe-post", true),
    ("list-id", false),
    ("auto-submitted", false),
    ("feedback-id", false),
    ("precedence", false),
    ("x-tidings-ready", false),
];

/// The keys of a house, of several domains and several kinds.
#[derive(Clone, Default)]
pub struct DkimSigner {
    keys: Vec<Arc<DkimKey>>,
}

impl fmt::Debug for DkimSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.keys.iter().map(|key| key.name())).finish()
    }
}

impl DkimSigner {
    pub fn new(keys: Vec<DkimKey>) -> Self {
        Self { keys: keys.into_iter().map(Arc::new).collect() }
    }

    /// The keys, for operators.
    pub fn keys(&self) -> impl Iterator<Item = &DkimKey> {
        self.keys.iter().map(|key| &**key)
    }

    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The mail with a signature of each kind of key that its sender's domain has: of each the newest that is in use.
    /// Instants are seconds since 1970.
    pub fn sign_mail(&self, mut mail: Vec<u8>, domain: &str, at: i64) -> Result<Vec<u8>, DkimKeyError> {
        let keys = self.keys_of(domain, at);
        if keys.is_empty() {
            return Ok(mail);
        }
        let (headers, body) = canonical::split_mail(&mail);
        let mut sum = Context::new(&SHA256);
        canonical::canonical_body(body, |piece| sum.update(piece));
        let body = BASE64_STANDARD.encode(sum.finish());
        let headers = canonical::canonical_headers(headers);
        let signatures = keys.into_iter().map(|key| build_signature(key, &headers, &body, at));
        let signatures = signatures.collect::<Result<String, _>>()?;
        mail.splice(0..0, signatures.into_bytes());
        Ok(mail)
    }

    /// Whether it has a key for mails of a domain by then.
    pub fn signs_for(&self, domain: &str, at: i64) -> bool {
        !self.keys_of(domain, at).is_empty()
    }

    fn keys_of(&self, domain: &str, at: i64) -> Vec<&DkimKey> {
        let mut keys: Vec<&DkimKey> = Vec::new();
        let own = self.keys.iter().map(|key| &**key).filter(|key| key.signs_for(domain) && key.since <= at);
        for key in own {
            match keys.iter_mut().find(|other| other.algorithm() == key.algorithm()) {
                // A domain's own key before one of the domain above.
                Some(other) if (other.domain.len(), other.since) < (key.domain.len(), key.since) => {
                    *other = key;
                }
                Some(_) => {}
                None => keys.push(key),
            }
        }
        keys
    }
}

/// The header of a signature, with its line end.
fn build_signature(
    key: &DkimKey,
    headers: &[(String, String)],
    body: &str,
    at: i64,
) -> Result<String, DkimKeyError> {
    let names = signed_header_names(headers);
    let (domain, selector, algorithm) = (&key.domain, &key.selector, key.algorithm());
    let listed = names.join(":\r\n\t ");
    let expires = at + LIFE_SECONDS;
    let before = format!(
        "v=1; a={algorithm}; c=relaxed/relaxed; d={domain}; s={selector};\r\n\t t={at}; x={expires}; bh={body};\r\n\t \
         h={listed};\r\n\t b="
    );
    let mut text = String::new();
    let mut left: Vec<&(String, String)> = headers.iter().collect();
    for name in &names {
        // Of several the last comes first, and what is not there any more counts as nothing.
        if let Some(place) = left.iter().rposition(|(other, _)| other == name) {
            let (name, value) = left.remove(place);
            text.push_str(&format!("{name}:{value}\r\n"));
        }
    }
    text.push_str(&format!("dkim-signature:{}", canonical::canonical_value(&before)));
    let sum = BASE64_STANDARD.encode(key.sign(text.as_bytes())?);
    let lines: Vec<&str> =
        (0..sum.len()).step_by(LINE).map(|from| &sum[from..sum.len().min(from + LINE)]).collect();
    Ok(format!("DKIM-Signature: {before}{}\r\n", lines.join("\r\n\t ")))
}

/// The headers that a signature covers, as often as it covers them.
fn signed_header_names(headers: &[(String, String)]) -> Vec<&'static str> {
    let mut names = Vec::new();
    for (name, is_sealed) in SIGNED {
        let there = headers.iter().filter(|(other, _)| other == name).count();
        names.extend(std::iter::repeat_n(name, there + usize::from(is_sealed)));
    }
    names
}
