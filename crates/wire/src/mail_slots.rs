//! The slots of a mail, as their addresses have them: whose mail it is and which list its slots show, and no person. Whoever has the
//! mail has its addresses, also if it was forwarded to them, and sees the same list.
//!
//! It is text of URL-safe base64: a version, what it is for, and the first half of an HMAC-SHA256. The place is no part of it:
//! it stands behind it, so that all slots of a mail have one text.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use model::{ReadyId, Tenant};

use crate::token::{LinkSecret, split_name};

/// The path under which slots are shown: their text, a place and what is asked of it stand behind it.
pub const PATH: &str = "s";
/// Characters of a text, at most: two names of full length.
pub const CHARS_MAX: usize = 400;
const VERSION: u8 = 1;
/// Half of the whole: a mail has it twice for each slot, and still nobody guesses it.
const PROOF_BYTES: usize = 16;
const DOMAIN: &[u8] = b"tidings slots\0";

/// Which slots of which mail.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MailSlots {
    pub tenant: Tenant,
    pub ready: ReadyId,
    /// The list, by its name in the catalogue.
    pub list: String,
}

/// The text for the slots of a mail; the same slots have the same text. `None` if no list is called so.
pub fn sign_slots(slots: &MailSlots, secret: &LinkSecret) -> Option<String> {
    let MailSlots { tenant, ready, list } = slots;
    let mut bytes = vec![VERSION];
    for name in [tenant.as_str(), list.as_str()] {
        bytes.push(u8::try_from(name.len()).ok()?);
        bytes.extend_from_slice(name.as_bytes());
    }
    bytes.extend_from_slice(&ready.0);
    let proof = secret.sign_bytes(DOMAIN, &bytes);
    bytes.extend_from_slice(&proof[..PROOF_BYTES]);
    Some(URL_SAFE_NO_PAD.encode(bytes)).filter(|text| text.len() <= CHARS_MAX)
}

/// Whose slots a text is for, if it was signed with this secret. Nothing is read of one that was not.
pub fn read_slots(text: &str, secret: &LinkSecret) -> Option<MailSlots> {
    if text.len() > CHARS_MAX {
        return None;
    }
    let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    let (said, proof) = bytes.split_at_checked(bytes.len().checked_sub(PROOF_BYTES)?)?;
    secret.is_signed(DOMAIN, said, proof).then_some(())?;
    let (&VERSION, rest) = said.split_first()? else { return None };
    let (tenant, rest) = split_name(rest)?;
    let (list, ready) = split_name(rest)?;
    Some(MailSlots {
        tenant: Tenant::new(tenant).ok()?,
        ready: ReadyId(ready.try_into().ok()?),
        list: list.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::token::SECRET_BYTES;

    fn secret(n: u8) -> LinkSecret {
        LinkSecret::new([n; SECRET_BYTES])
    }

    fn slots(tenant: &str, list: &str) -> MailSlots {
        MailSlots { tenant: Tenant::new(tenant).unwrap(), ready: ReadyId([9; 16]), list: list.to_owned() }
    }

    #[test]
    fn an_address_is_read_back_and_is_short() {
        let long = "ß".repeat(64);
        for (slots, most) in
            [(slots("main", "products"), 64), (slots(&long, &long), CHARS_MAX), (slots("a b", ""), 64)]
        {
            let text = sign_slots(&slots, &secret(1)).unwrap();
            assert_eq!(read_slots(&text, &secret(1)), Some(slots.clone()), "{slots:?}");
            assert_eq!(read_slots(&text, &secret(2)), None, "{slots:?}");
            assert!(text.len() <= most, "{}: {text}", text.len());
        }
        assert_eq!(sign_slots(&slots("main", &"a".repeat(256)), &secret(1)), None);
    }

    #[test]
    fn an_address_of_today_is_read_for_ever() {
        let text = "AQRtYWluCHByb2R1Y3RzCQkJCQkJCQkJCQkJCQkJCUrf8EN83fRlF29bs3LM2pM";
        assert_eq!(sign_slots(&slots("main", "products"), &secret(7)).as_deref(), Some(text));
        assert_eq!(read_slots(text, &secret(7)), Some(slots("main", "products")));
    }

    #[test]
    fn a_changed_address_is_none() {
        let text = sign_slots(&slots("main", "products"), &secret(1)).unwrap();
        let bytes = URL_SAFE_NO_PAD.decode(&text).unwrap();
        let check = |text: &str| assert_eq!(read_slots(text, &secret(1)), None, "{text}");
        for text in ["", "a", "====", &text[1..], &"A".repeat(1 << 20)] {
            check(text);
        }
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << bit;
                check(&URL_SAFE_NO_PAD.encode(changed));
            }
            check(&URL_SAFE_NO_PAD.encode(&bytes[..at]));
        }
        // What another use of the same secret signed says nothing of slots.
        let said = &bytes[..bytes.len() - PROOF_BYTES];
        let other = secret(1).sign_bytes(b"tidings mark\0", said);
        check(&URL_SAFE_NO_PAD.encode([said, &other[..PROOF_BYTES]].concat()));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(text in ".{0,200}", said in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(read_slots(&text, &secret(1)), None);
            let proof = secret(1).sign_bytes(DOMAIN, &said);
            let _read = read_slots(&URL_SAFE_NO_PAD.encode([&said[..], &proof[..PROOF_BYTES]].concat()), &secret(1));
        }
    }
}
