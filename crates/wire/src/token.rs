//! A token: the right to say one thing for one person without signing in, as the link of a mail carries it.
//!
//! It is text of URL-safe base64: a version, whose and what it is for, and an HMAC-SHA256 of all before it. Only a
//! holder of the secret can make one, or turn one person's into another's (law 12: the tenant is in it). It does not
//! expire: a mail is opened years later, and "no more mail" must work then too. The same right is the same text.

use std::fmt;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, Mac as _, digest::Key};
use model::{Channel, Day, Person, PlanName, Tenant, actor::AnonymousHash};
use sha2::Sha256;

/// Bytes of the secret.
pub const SECRET_BYTES: usize = 32;
/// Secrets of before that are still read.
pub const OLD_SECRETS_MAX: usize = 4;
/// Characters of a token, at most: three names and a channel of full length.
pub const TOKEN_CHARS_MAX: usize = 800;

/// The forms below. Another form is another number, and old links go on being read: the first one had no day.
const DAYLESS: u8 = 1;
const VERSION: u8 = 2;
/// Bytes of the HMAC.
const PROOF_BYTES: usize = 32;
/// A prefix that distinguishes these signatures from all others made with this secret.
const DOMAIN: &[u8] = b"tidings link\0";
const ANONYMOUS: &[u8] = b"tidings anonymous\0";
const OFFER: &[u8] = b"tidings offer\0";

/// What a link may speak for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinkToken {
    pub tenant: Tenant,
    pub person: Person,
    /// The plan whose message carried it.
    pub plan: PlanName,
    pub channel: Channel,
    /// The day of that message, by which it is known how old the right is; older links do not say it.
    pub day: Option<Day>,
}

/// What tokens are signed with, and what they were signed with before.
#[derive(Clone)]
pub struct LinkSecret {
    own: [u8; SECRET_BYTES],
    /// Read and not signed with: the links of mails that were sent go on.
    old: Vec<[u8; SECRET_BYTES]>,
}

impl LinkSecret {
    pub fn new(bytes: [u8; SECRET_BYTES]) -> Self {
        Self { own: bytes, old: Vec::new() }
    }

    /// 64 hexadecimal digits, and a line of such for each secret of before.
    pub fn parse(text: &str) -> Option<Self> {
        let mut lines =
            text.split('\n').map(|line| Self::parse_line(line.strip_suffix('\r').unwrap_or(line)));
        let own = lines.next()??;
        let old: Vec<_> = lines.collect::<Option<_>>()?;
        (old.len() <= OLD_SECRETS_MAX).then_some(Self { own, old })
    }

    fn parse_line(text: &str) -> Option<[u8; SECRET_BYTES]> {
        let mut bytes = [0; SECRET_BYTES];
        if text.len() != 2 * SECRET_BYTES || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            *byte = u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?;
        }
        Some(bytes)
    }

    /// The proof that we said something, for one use of it: each has a domain of its own.
    pub(crate) fn sign_bytes(&self, domain: &[u8], of: &[u8]) -> [u8; PROOF_BYTES] {
        compute_proof(&self.own, domain, of).finalize().into_bytes().into()
    }

    /// What is kept of somebody without an account: the same text gives the same, and without the secret nobody finds the text.
    pub fn hash_anonymous(&self, tenant: &Tenant, text: &str) -> AnonymousHash {
        let of = [tenant.as_str().as_bytes(), b"\0", text.as_bytes()].concat();
        let proof = self.sign_bytes(ANONYMOUS, &of);
        let mut hash = [0; 16];
        hash.copy_from_slice(&proof[..16]);
        AnonymousHash(hash)
    }

    /// Whether this is the beginning of that proof, now or before. Compared in a time that says nothing about where the two
    /// differ.
    pub(crate) fn is_signed(&self, domain: &[u8], of: &[u8], given: &[u8]) -> bool {
        let all = std::iter::once(&self.own).chain(&self.old);
        all.fold(false, |signed, secret| {
            signed | compute_proof(secret, domain, of).verify_truncated_left(given).is_ok()
        })
    }
}

fn compute_proof(secret: &[u8; SECRET_BYTES], domain: &[u8], of: &[u8]) -> Hmac<Sha256> {
    // A key is a whole block; HMAC itself fills a shorter one up with zeros.
    let mut key = Key::<Hmac<Sha256>>::default();
    for (byte, own) in key.iter_mut().zip(secret) {
        *byte = *own;
    }
    let mut hmac = Hmac::<Sha256>::new(&key);
    hmac.update(domain);
    hmac.update(of);
    hmac
}

impl fmt::Debug for LinkSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LinkSecret(***)")
    }
}

/// The text of a token.
pub fn sign_token(token: &LinkToken, secret: &LinkSecret) -> String {
    let LinkToken { tenant, person, plan, channel, day } = token;
    let mut bytes = vec![if day.is_some() { VERSION } else { DAYLESS }];
    for name in [tenant.as_str(), person.as_str(), plan.as_str(), channel.name()] {
        // Names have at most 128 bytes, so that their length is a byte.
        bytes.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
        bytes.extend_from_slice(name.as_bytes());
    }
    if let Some(Day(day)) = day {
        bytes.extend_from_slice(&day.to_be_bytes());
    }
    let proof = secret.sign_bytes(DOMAIN, &bytes);
    bytes.extend_from_slice(&proof);
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The proof that a page of ours offered this, for a form that brings it back.
pub fn sign_offer(offer: &[u8], secret: &LinkSecret) -> String {
    URL_SAFE_NO_PAD.encode(secret.sign_bytes(OFFER, offer))
}

/// Whether a page of ours offered this.
pub fn is_offered(proof: &str, offer: &[u8], secret: &LinkSecret) -> bool {
    let given = URL_SAFE_NO_PAD.decode(proof).unwrap_or_default();
    given.len() == PROOF_BYTES && secret.is_signed(OFFER, offer, &given)
}

/// What a text speaks for, if it was signed with this secret. Nothing is read of one that was not.
pub fn read_token(text: &str, secret: &LinkSecret) -> Option<LinkToken> {
    if text.len() > TOKEN_CHARS_MAX {
        return None;
    }
    let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    let (said, proof) = bytes.split_at_checked(bytes.len().checked_sub(PROOF_BYTES)?)?;
    secret.is_signed(DOMAIN, said, proof).then_some(())?;
    let (version, rest) = said.split_first()?;
    let (tenant, rest) = split_name(rest)?;
    let (person, rest) = split_name(rest)?;
    let (plan, rest) = split_name(rest)?;
    let (channel, rest) = split_name(rest)?;
    let day = match (*version, rest) {
        (DAYLESS, []) => None,
        (VERSION, rest) => Some(Day(i32::from_be_bytes(rest.try_into().ok()?))),
        _ => return None,
    };
    Some(LinkToken {
        tenant: Tenant::new(tenant).ok()?,
        person: Person::new(person).ok()?,
        plan: PlanName::new(plan).ok()?,
        channel: Channel::parse(channel)?,
        day,
    })
}

/// The next name, and what is behind it.
pub(crate) fn split_name(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let (len, rest) = bytes.split_first()?;
    let (name, rest) = rest.split_at_checked(usize::from(*len))?;
    Some((str::from_utf8(name).ok()?, rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn secret(n: u8) -> LinkSecret {
        LinkSecret::new([n; SECRET_BYTES])
    }

    fn token(tenant: &str, person: &str, plan: &str) -> LinkToken {
        LinkToken {
            tenant: Tenant::new(tenant).unwrap(),
            person: Person::new(person).unwrap(),
            plan: PlanName::new(plan).unwrap(),
            channel: Channel::Email,
            day: Some(Day(20_780)),
        }
    }

    #[test]
    fn a_token_of_today_is_read_for_ever() {
        let text = "AQRtYWluA2Fubgxtb3JuaW5nX21haWwFZW1haWwMVAxF1FknzKbxfa8PdIiHnmteiphJNBR2UH557HvNfg";
        let dayless = LinkToken { day: None, ..token("main", "ann", "morning_mail") };
        assert_eq!(read_token(text, &secret(7)), Some(dayless.clone()));
        assert_eq!(sign_token(&dayless, &secret(7)), text);
        let text = "AgRtYWluA2Fubgxtb3JuaW5nX21haWwFZW1haWwAAFEsCu7dJwgdFAlXEb0SWNEQlywEL5XW66ZIx0xyRJ114k0";
        assert_eq!(sign_token(&token("main", "ann", "morning_mail"), &secret(7)), text);
        assert_eq!(read_token(text, &secret(7)), Some(token("main", "ann", "morning_mail")));
    }

    #[test]
    fn what_was_signed_before_is_read() {
        let lines = ["07".repeat(32), "01".repeat(32), "02".repeat(32)];
        let rotated = LinkSecret::parse(&lines.join("\n")).unwrap();
        let token = token("main", "ann", "daily");
        assert_eq!(sign_token(&token, &rotated), sign_token(&token, &secret(7)));
        for (n, expected) in [(7, true), (1, true), (2, true), (3, false)] {
            assert_eq!(read_token(&sign_token(&token, &secret(n)), &rotated).is_some(), expected, "{n}");
        }
    }

    #[test]
    fn what_is_signed_can_be_read_and_fits_into_an_address() {
        let long = "ß".repeat(64);
        for token in [token("main", "ann", "daily"), token(&long, &long, &long), token("a b", "c/d?e", "%")] {
            let text = sign_token(&token, &secret(1));
            assert_eq!(read_token(&text, &secret(1)), Some(token.clone()), "{token:?}");
            assert_eq!(read_token(&text, &secret(2)), None, "{token:?}");
            assert!(text.len() <= TOKEN_CHARS_MAX, "{}", text.len());
            assert!(text.bytes().all(|c| c.is_ascii_alphanumeric() || b"-_".contains(&c)), "{text}");
        }
    }

    #[test]
    fn names_do_not_run_into_each_other() {
        let one = sign_token(&token("ab", "c", "d"), &secret(1));
        assert_ne!(one, sign_token(&token("a", "bc", "d"), &secret(1)));
    }

    /// Signs bytes that no `sign_token` would make: only whoever has the secret can, and even then nothing breaks.
    fn forge_token(said: &[u8]) -> String {
        let proof = secret(1).sign_bytes(DOMAIN, said);
        URL_SAFE_NO_PAD.encode([said, &proof[..]].concat())
    }

    #[test]
    fn what_is_no_token_is_none() {
        let good = sign_token(&token("main", "ann", "daily"), &secret(1));
        let bytes = URL_SAFE_NO_PAD.decode(&good).unwrap();
        let check = |text: &str| assert_eq!(read_token(text, &secret(1)), None, "{text}");
        for text in ["", "a", "====", "../../admin", "\u{0}", "ä", &good[1..], &good[..good.len() - 1]] {
            check(text);
        }
        check(&format!("{good}="));
        check(&format!("{good}A"));
        check(&good.to_uppercase());
        check(&"A".repeat(1 << 20));
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut bytes = bytes.clone();
                bytes[at] ^= 1 << bit;
                check(&URL_SAFE_NO_PAD.encode(bytes));
            }
            check(&URL_SAFE_NO_PAD.encode(&bytes[..at]));
        }
        for said in [
            &b""[..],
            b"\x01",
            b"\x02\x01a\x01b\x01c\x05email",
            b"\x02\x01a\x01b\x01c\x05email\0\0\0",
            b"\x02\x01a\x01b\x01c\x05email\0\0\0\0\0",
            b"\x03\x01a\x01b\x01c\x05email",
            b"\x01\x01a\x01b\x01c\x05eMail",
            b"\x01\x01a\x01b\x01c\x05email\x00",
            b"\x01\x01a\x01b\x01c\xffemail",
            b"\x01\x00\x01b\x01c\x05email",
            b"\x01\x01\xff\x01b\x01c\x05email",
            b"\x01\x01\n\x01b\x01c\x05email",
        ] {
            check(&forge_token(said));
        }
        assert!(read_token(&forge_token(b"\x01\x01a\x01b\x01c\x05email"), &secret(1)).is_some());
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(text in ".{0,200}", bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(read_token(&text, &secret(1)), None);
            prop_assert_eq!(read_token(&URL_SAFE_NO_PAD.encode(&bytes), &secret(1)), None);
            let _read = read_token(&forge_token(&bytes), &secret(1));
        }
    }

    #[test]
    fn a_secret_is_64_digits_and_is_not_printed() {
        let check = |text: &str, good: bool| assert_eq!(LinkSecret::parse(text).is_some(), good, "{text}");
        check(&"0f".repeat(32), true);
        check(&"0F".repeat(32), true);
        check("", false);
        check(&"0f".repeat(31), false);
        check(&"0g".repeat(32), false);
        check(&format!("+1{}", "0f".repeat(31)), false);
        check(&"ß".repeat(32), false);
        let line = "0f".repeat(32);
        check(&[line.as_str(); 5].join("\n"), true);
        check(&[line.as_str(); 2].join("\r\n"), true);
        check(&[line.as_str(); 6].join("\n"), false);
        check(&format!("{line}\n"), false);
        check(&format!("{line}\n0f"), false);
        assert_eq!(format!("{:?}", secret(7)), "LinkSecret(***)");
    }
}
