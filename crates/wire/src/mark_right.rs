//! The right to say that a person read what one message told, as a push carries it: whoever taps the push has no other. It opens
//! nothing, and says nothing of anything else.
//!
//! It is text of URL-safe base64: a version, whose message it is and of which days its entries are, and the first half of an
//! HMAC-SHA256.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use model::{Channel, Day, Person, ReadyId, Tenant};

use crate::token::{LinkSecret, split_name};

/// Characters of a right, at most: two names and a channel of full length.
const CHARS_MAX: usize = 512;
const VERSION: u8 = 1;
/// Half of the whole: a push has little room, and still nobody guesses it.
const PROOF_BYTES: usize = 16;
const DOMAIN: &[u8] = b"tidings mark\0";

/// What was told to whom.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MarkRight {
    pub tenant: Tenant,
    pub person: Person,
    pub channel: Channel,
    pub ready: ReadyId,
    /// The days of its entries: the first, and how many follow.
    pub first: Day,
    pub more: u8,
}

impl MarkRight {
    /// The days on which its entries may be.
    pub fn days(&self) -> impl Iterator<Item = Day> + use<> {
        let first = self.first;
        (0..=i32::from(self.more)).map(move |day| first.plus(day))
    }
}

/// The text of a right.
pub fn sign_mark(right: &MarkRight, secret: &LinkSecret) -> String {
    let MarkRight { tenant, person, channel, ready, first, more } = right;
    let mut bytes = vec![VERSION];
    for name in [tenant.as_str(), person.as_str(), channel.name()] {
        // Names have at most 128 bytes, so that their length is a byte.
        bytes.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
        bytes.extend_from_slice(name.as_bytes());
    }
    bytes.extend_from_slice(&ready.0);
    bytes.extend_from_slice(&first.0.to_be_bytes());
    bytes.push(*more);
    let proof = secret.sign_bytes(DOMAIN, &bytes);
    bytes.extend_from_slice(&proof[..PROOF_BYTES]);
    URL_SAFE_NO_PAD.encode(bytes)
}

/// What a text gives a right to, if it was signed with this secret. Nothing is read of one that was not.
pub fn read_mark(text: &str, secret: &LinkSecret) -> Option<MarkRight> {
    if text.len() > CHARS_MAX {
        return None;
    }
    let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    let (said, proof) = bytes.split_at_checked(bytes.len().checked_sub(PROOF_BYTES)?)?;
    secret.is_signed(DOMAIN, said, proof).then_some(())?;
    let (&VERSION, rest) = said.split_first()? else { return None };
    let (tenant, rest) = split_name(rest)?;
    let (person, rest) = split_name(rest)?;
    let (channel, rest) = split_name(rest)?;
    let (ready, rest) = rest.split_first_chunk()?;
    let (first, rest) = rest.split_first_chunk()?;
    let [more] = rest else { return None };
    Some(MarkRight {
        tenant: Tenant::new(tenant).ok()?,
        person: Person::new(person).ok()?,
        channel: Channel::parse(channel)?,
        ready: ReadyId(*ready),
        first: Day(i32::from_be_bytes(*first)),
        more: *more,
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

    fn right(tenant: &str, person: &str) -> MarkRight {
        MarkRight {
            tenant: Tenant::new(tenant).unwrap(),
            person: Person::new(person).unwrap(),
            channel: Channel::Push,
            ready: ReadyId([9; 16]),
            first: Day(20_780),
            more: 2,
        }
    }

    #[test]
    fn a_right_is_read_back_and_fits_into_a_push() {
        let long = "ß".repeat(64);
        for right in [right("main", "ann"), right(&long, &long), right("a b", "c/d?e")] {
            let text = sign_mark(&right, &secret(1));
            assert_eq!(read_mark(&text, &secret(1)), Some(right.clone()), "{right:?}");
            assert_eq!(read_mark(&text, &secret(2)), None, "{right:?}");
            assert!(text.len() <= CHARS_MAX, "{}", text.len());
        }
        let of = right("main", "ann").days().map(|Day(day)| day).collect::<Vec<_>>();
        assert_eq!(of, [20_780, 20_781, 20_782]);
    }

    #[test]
    fn a_changed_right_is_none() {
        let text = sign_mark(&right("main", "ann"), &secret(1));
        let bytes = URL_SAFE_NO_PAD.decode(&text).unwrap();
        let check = |text: &str| assert_eq!(read_mark(text, &secret(1)), None, "{text}");
        for text in ["", "a", "====", &text[1..], &"A".repeat(1 << 20)] {
            check(text);
        }
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            check(&URL_SAFE_NO_PAD.encode(changed));
            check(&URL_SAFE_NO_PAD.encode(&bytes[..at]));
        }
        // What another use of the same secret signed is no right to mark.
        let link = crate::token::sign_token(
            &crate::token::LinkToken {
                tenant: Tenant::new("main").unwrap(),
                person: Person::new("ann").unwrap(),
                plan: model::PlanName::new("daily").unwrap(),
                channel: Channel::Push,
                day: None,
            },
            &secret(1),
        );
        check(&link);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(text in ".{0,200}", said in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(read_mark(&text, &secret(1)), None);
            let proof = secret(1).sign_bytes(DOMAIN, &said);
            let _read = read_mark(&URL_SAFE_NO_PAD.encode([&said[..], &proof[..PROOF_BYTES]].concat()), &secret(1));
        }
    }
}
