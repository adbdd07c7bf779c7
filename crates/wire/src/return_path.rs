//! The address that a mail is sent back to: it names the mail's Ready, and proves that the mail was ours.
//!
//! It is the part before the @, in letters and digits of base32, for servers may change their case: a letter, the Ready,
//! and the beginning of an HMAC-SHA256 of it. Nobody else can make one, so nobody can have mails to somebody ended by
//! writing a bounce. Providers are given the same word beside a mail, and say it again in what they tell of it.

use model::ReadyId;

use crate::token::LinkSecret;

/// A prefix that distinguishes these signatures from all others made with this secret.
const DOMAIN: &[u8] = b"tidings return\0";
/// What the word begins with: another form begins with another letter.
const VERSION: char = 'b';
/// Bytes of the proof: a guess is right once in 2^80.
const PROOF_BYTES: usize = 10;
/// Characters of the word.
pub const CHARS: usize = 1 + (16 + PROOF_BYTES) * 8 / 5 + 1;
/// What mails have room for before the @.
const LOCAL_CHARS_MAX: usize = 64;

const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

const _: () = assert!(CHARS <= LOCAL_CHARS_MAX);

/// The word of a Ready.
pub fn sign_return_path(ready: ReadyId, secret: &LinkSecret) -> String {
    let proof = secret.sign_bytes(DOMAIN, &ready.0);
    let bytes = [&ready.0[..], &proof[..PROOF_BYTES]].concat();
    let mut text = String::from(VERSION);
    let (mut held, mut bits) = (0_u32, 0);
    for byte in bytes {
        (held, bits) = (held << 8 | u32::from(byte), bits + 8);
        while bits >= 5 {
            bits -= 5;
            text.push(encode_letter(held >> bits));
        }
    }
    if bits > 0 {
        text.push(encode_letter(held << (5 - bits)));
    }
    text
}

fn encode_letter(five: u32) -> char {
    char::from(ALPHABET[(five & 31) as usize])
}

/// The Ready that a word names, if it was signed with this secret.
pub fn read_return_path(text: &str, secret: &LinkSecret) -> Option<ReadyId> {
    let mut bytes = Vec::with_capacity(16 + PROOF_BYTES);
    let (mut held, mut bits) = (0_u32, 0);
    let digits =
        text.strip_prefix([VERSION, VERSION.to_ascii_uppercase()]).filter(|_| text.len() == CHARS)?;
    for digit in digits.bytes() {
        let five = ALPHABET.iter().position(|known| *known == digit.to_ascii_lowercase())?;
        (held, bits) = (held << 5 | u32::try_from(five).ok()?, bits + 5);
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(held >> bits & 0xff).ok()?);
        }
    }
    let (ready, proof) = bytes.split_first_chunk::<16>()?;
    secret.is_signed(DOMAIN, ready, proof).then_some(ReadyId(*ready))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::token::SECRET_BYTES;

    fn secret(n: u8) -> LinkSecret {
        LinkSecret::new([n; SECRET_BYTES])
    }

    #[test]
    fn a_word_of_today_is_read_for_ever() {
        let word = "bbeeqscijbeeqscijbeeqscijbew2e7r7w44zkqt3jq";
        assert_eq!(sign_return_path(ReadyId([9; 16]), &secret(7)), word);
        assert_eq!(read_return_path(word, &secret(7)), Some(ReadyId([9; 16])));
        assert_eq!(read_return_path(&word.to_uppercase(), &secret(7)), Some(ReadyId([9; 16])));
        assert_eq!(read_return_path(word, &secret(8)), None);
    }

    proptest! {
        #[test]
        fn what_is_signed_can_be_read(id in any::<[u8; 16]>()) {
            let word = sign_return_path(ReadyId(id), &secret(1));
            prop_assert_eq!(word.len(), CHARS);
            prop_assert!(word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()));
            prop_assert_eq!(read_return_path(&word, &secret(1)), Some(ReadyId(id)));
        }

        /// A letter more, less or other, and it names nobody.
        #[test]
        fn a_word_that_was_changed_is_none(
            id in any::<[u8; 16]>(),
            at in 0..CHARS,
            by in prop::sample::select(ALPHABET.to_vec()),
        ) {
            let word = sign_return_path(ReadyId(id), &secret(1));
            let mut changed = word.clone().into_bytes();
            changed[at] = by;
            let changed = String::from_utf8(changed).unwrap();
            // Of the last letter only some bits count.
            if changed != word && at + 1 < CHARS {
                prop_assert_eq!(read_return_path(&changed, &secret(1)), None);
            }
            prop_assert_eq!(read_return_path(&word[..at], &secret(1)), None);
            prop_assert_eq!(read_return_path(&format!("{word}a"), &secret(1)), None);
        }

        #[test]
        fn no_text_makes_it_panic(text in ".{0,80}", word in "b[a-z2-7]{42}") {
            prop_assert_eq!(read_return_path(&text, &secret(1)), None);
            prop_assert_eq!(read_return_path(&word, &secret(1)), None);
        }
    }
}
