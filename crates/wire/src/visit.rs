//! A visit: the token in a counted link of a mail. It is signed, so that the house cannot be used as an open redirect,
//! and it names no person, because a count needs none.
//!
//! It is text of URL-safe base64: a version, what it is, whose mail it was in, and the first half of an HMAC-SHA256.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use model::{PlanName, Tenant, UtcMillis};

use crate::token::{LinkSecret, split_name};

/// Characters of an address that a link leads to; a longer one is not counted.
pub const ADDRESS_CHARS_MAX: usize = 2_048;
/// Characters of a visit, at most.
const CHARS_MAX: usize = 3_600;

const VERSION: u8 = 1;
const OPENED: u8 = b'o';
const FOLLOWED: u8 = b'f';
/// Half of the whole: it is short, and still nobody guesses it.
const PROOF_BYTES: usize = 16;
const INSTANT_BYTES: usize = 8;
const DOMAIN: &[u8] = b"tidings visit\0";

/// What a link of a mail says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinkVisit {
    pub tenant: Tenant,
    pub plan: PlanName,
    /// When the mail was due.
    pub due: UtcMillis,
    pub what: LinkVisitAction,
}

/// What somebody does by it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LinkVisitAction {
    /// They see the mail, as far as a picture can say that.
    Opened,
    /// They follow a link to this address.
    Followed(String),
}

/// The text of a visit; `None` if its address is too long.
pub fn sign_visit(visit: &LinkVisit, secret: &LinkSecret) -> Option<String> {
    let (what, address) = match &visit.what {
        LinkVisitAction::Opened => (OPENED, ""),
        LinkVisitAction::Followed(address) => (FOLLOWED, address.as_str()),
    };
    if address.len() > ADDRESS_CHARS_MAX {
        return None;
    }
    let mut bytes = vec![VERSION, what];
    bytes.extend(visit.due.0.to_be_bytes());
    for name in [visit.tenant.as_str(), visit.plan.as_str()] {
        bytes.push(u8::try_from(name.len()).ok()?);
        bytes.extend_from_slice(name.as_bytes());
    }
    bytes.extend_from_slice(address.as_bytes());
    let proof = secret.sign_bytes(DOMAIN, &bytes);
    bytes.extend_from_slice(&proof[..PROOF_BYTES]);
    Some(URL_SAFE_NO_PAD.encode(bytes))
}

/// What a text says, if it was signed with this secret. Nothing is read of one that was not.
pub fn read_visit(text: &str, secret: &LinkSecret) -> Option<LinkVisit> {
    if text.len() > CHARS_MAX {
        return None;
    }
    let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    let (said, proof) = bytes.split_at_checked(bytes.len().checked_sub(PROOF_BYTES)?)?;
    secret.is_signed(DOMAIN, said, proof).then_some(())?;
    let ([VERSION, what], rest) = said.split_first_chunk()? else { return None };
    let (due, rest) = rest.split_first_chunk::<INSTANT_BYTES>()?;
    let (tenant, rest) = split_name(rest)?;
    let (plan, address) = split_name(rest)?;
    let what = match *what {
        OPENED if address.is_empty() => LinkVisitAction::Opened,
        FOLLOWED => LinkVisitAction::Followed(str::from_utf8(address).ok()?.to_owned()),
        _ => return None,
    };
    Some(LinkVisit {
        tenant: Tenant::new(tenant).ok()?,
        plan: PlanName::new(plan).ok()?,
        due: UtcMillis(i64::from_be_bytes(*due)),
        what,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::token;

    fn secret(n: u8) -> LinkSecret {
        LinkSecret::new([n; token::SECRET_BYTES])
    }

    fn visit(what: LinkVisitAction) -> LinkVisit {
        LinkVisit {
            tenant: Tenant::new("main").unwrap(),
            plan: PlanName::new("daily").unwrap(),
            due: UtcMillis(1_795_248_000_000),
            what,
        }
    }

    #[test]
    fn a_visit_is_read_back() {
        for what in
            [LinkVisitAction::Opened, LinkVisitAction::Followed("https://shop.example/ü?a=b#c".to_owned())]
        {
            let visit = visit(what);
            let text = sign_visit(&visit, &secret(1)).unwrap();
            assert_eq!(read_visit(&text, &secret(1)), Some(visit));
            assert_eq!(read_visit(&text, &secret(2)), None, "only its own secret");
        }
        let long = format!("https://shop.example/{}", "a".repeat(ADDRESS_CHARS_MAX));
        assert_eq!(sign_visit(&visit(LinkVisitAction::Followed(long)), &secret(1)), None);
    }

    #[test]
    fn it_is_no_other_right() {
        let text = sign_visit(&visit(LinkVisitAction::Opened), &secret(1)).unwrap();
        assert_eq!(token::read_token(&text, &secret(1)), None);
    }

    proptest! {
        #[test]
        fn what_is_not_whole_is_nothing(at in any::<prop::sample::Index>(), bit in 0_u8..8, address in "https://[a-z/?=&]{0,80}") {
            let text = sign_visit(&visit(LinkVisitAction::Followed(address)), &secret(1)).unwrap();
            let mut bytes = URL_SAFE_NO_PAD.decode(&text).unwrap();
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            prop_assert_eq!(read_visit(&URL_SAFE_NO_PAD.encode(&bytes), &secret(1)), None);
            prop_assert_eq!(read_visit(&URL_SAFE_NO_PAD.encode(&bytes[..at]), &secret(1)), None);
        }

        #[test]
        fn anything_may_be_read(text in ".{0,200}") {
            prop_assert_eq!(read_visit(&text, &secret(1)), None);
        }
    }
}
