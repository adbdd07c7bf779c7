//! The hash of an API key: what the settings may hold in place of the key, and all that is kept of one.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// What a hash begins with, wherever a key could stand.
pub const HASH_PREFIX: &str = "sha256:";
/// And how many digits follow.
pub const HASH_DIGITS: usize = 64;

/// The SHA-256 of a key. Nobody finds the key from it, if that is as long and as random as one that we make.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyHash([u8; 32]);

impl KeyHash {
    /// That of a key.
    pub fn from_key(key: &str) -> Self {
        Self(Sha256::digest(key).into())
    }

    /// `sha256:` and its digits.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("a hash must be `{HASH_PREFIX}` and {HASH_DIGITS} hexadecimal digits");
        let digits = text.strip_prefix(HASH_PREFIX).filter(|digits| digits.len() == HASH_DIGITS);
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.ok_or_else(wrong)?.as_bytes().chunks(2)) {
            for digit in pair {
                let digit = char::from(*digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
                *byte = *byte << 4 | digit.ok_or_else(wrong)?;
            }
        }
        Ok(Self(bytes))
    }

    pub fn bytes(self) -> [u8; 32] {
        self.0
    }
}

impl fmt::Display for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HASH_PREFIX)?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Not shown: a key that somebody made up could be guessed from it.
impl fmt::Debug for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyHash(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_read_as_it_is_written() {
        let hash = KeyHash::from_key("correct-horse-battery");
        assert_eq!(KeyHash::parse(&hash.to_string()), Ok(hash));
        assert_eq!(KeyHash::parse(&format!("sha256:{}", "AB".repeat(32))), Ok(KeyHash([0xab; 32])));
        assert_eq!(format!("{hash:?}"), "KeyHash(..)");
        for wrong in ["", "sha256:", "sha256:abcd", &"a".repeat(64), &format!("sha256:{}", "g".repeat(64))] {
            assert!(KeyHash::parse(wrong).is_err(), "{wrong}");
        }
        assert!(KeyHash::parse(&format!("sha256:{}", "ä".repeat(32))).is_err());
    }
}
