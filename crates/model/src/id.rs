//! Names and keys. A name is checked once, when it is made, and is then cheap to copy about.

use std::{borrow::Borrow, fmt, sync::Arc};

use sha2::{Digest, Sha256};

use crate::limits::ID_BYTES_MAX;

/// Bytes as hexadecimal digits, all at once: pages have them by the hundred.
pub fn write_hex(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or_default();
    f.write_str(&bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect::<String>())
}

/// Why a text is no name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadName {
    #[error("{what} is empty")]
    Empty { what: &'static str },
    #[error("{what} has {bytes} bytes, more than {ID_BYTES_MAX}")]
    Long { what: &'static str, bytes: usize },
    #[error("{what} has a control character, or a space at its start or end")]
    Character { what: &'static str },
    #[error("`{text}` is not of the form type:id")]
    Form { text: String },
}

fn check_name(text: &str, what: &'static str) -> Result<Arc<str>, BadName> {
    if text.is_empty() {
        return Err(BadName::Empty { what });
    }
    if text.len() > ID_BYTES_MAX {
        return Err(BadName::Long { what, bytes: text.len() });
    }
    if text.chars().any(char::is_control) || text.trim() != text {
        return Err(BadName::Character { what });
    }
    Ok(text.into())
}

macro_rules! names {
    ($($(#[$doc:meta])* $name:ident = $what:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Checks the text: 1 to 128 bytes, no control characters.
            pub fn new(text: &str) -> Result<Self, BadName> {
                check_name(text, $what).map(Self)
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl std::str::FromStr for $name {
            type Err = BadName;
            fn from_str(text: &str) -> Result<Self, BadName> {
                Self::new(text)
            }
        }
    )*};
}

names! {
    /// Whose events and persons these are; part of every key.
    Tenant = "tenant";
    /// Somebody who may be told something.
    Person = "person";
    /// A type of notification, by its name in the catalogue.
    Kind = "kind";
    /// A plan, by its name in the catalogue.
    PlanName = "plan";
}

/// What an event is about: `type:id`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubjectRef {
    text: Arc<str>,
    colon: usize,
}

impl SubjectRef {
    pub fn new(text: &str) -> Result<Self, BadName> {
        let text = check_name(text, "subject")?;
        match text.find(':') {
            Some(colon) if colon > 0 && colon + 1 < text.len() => Ok(Self { text, colon }),
            _ => Err(BadName::Form { text: text.to_string() }),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The type before the colon.
    pub fn kind(&self) -> &str {
        &self.text[..self.colon]
    }

    /// The id after the colon.
    pub fn id(&self) -> &str {
        &self.text[self.colon + 1..]
    }
}

impl fmt::Display for SubjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for SubjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::str::FromStr for SubjectRef {
    type Err = BadName;
    fn from_str(text: &str) -> Result<Self, BadName> {
        Self::new(text)
    }
}

macro_rules! keys {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub [u8; 16]);

        impl $name {
            /// 32 hexadecimal digits.
            pub fn parse(text: &str) -> Option<Self> {
                let mut bytes = [0; 16];
                if text.len() != 32 || !text.is_ascii() {
                    return None;
                }
                for (i, byte) in bytes.iter_mut().enumerate() {
                    *byte = u8::from_str_radix(&text[2 * i..2 * i + 2], 16).ok()?;
                }
                Some(Self(bytes))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write_hex(f, &self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    )*};
}

keys! {
    /// Which event: a hash of tenant, source and the source's own id.
    EventKey;
    /// Which Ready: a hash of all that makes it that one and no other.
    ReadyId;
}

impl EventKey {
    /// A pure function of the event, so a redelivered or replayed event has the same key.
    pub fn from_source_id(tenant: &Tenant, source: &str, id: &str) -> Self {
        Self(hash_parts(&[b"event", tenant.as_str().as_bytes(), source.as_bytes(), id.as_bytes()]))
    }
}

/// The first half of a SHA-256 over length-prefixed parts: upstream chooses ids, so collisions must be
/// out of reach for somebody who looks for them.
pub(crate) fn hash_parts(parts: &[&[u8]]) -> [u8; 16] {
    let mut sha = Sha256::new();
    for part in parts {
        sha.update((part.len() as u64).to_be_bytes());
        sha.update(part);
    }
    let mut out = [0; 16];
    out.copy_from_slice(&sha.finalize()[..16]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked_when_made() {
        let check = |text: &str, good: bool| assert_eq!(Person::new(text).is_ok(), good, "{text:?}");
        check("ann", true);
        check("ann smith", true);
        check("änn", true);
        check("", false);
        check(" ann", false);
        check("a\nb", false);
        check("a\0b", false);
        check(&"x".repeat(128), true);
        check(&"x".repeat(129), false);
    }

    #[test]
    fn a_subject_has_a_type_and_an_id() {
        let subject = SubjectRef::new("work:a:b").unwrap();
        assert_eq!((subject.kind(), subject.id()), ("work", "a:b"));
        for bad in ["work", ":1", "work:", ""] {
            assert!(SubjectRef::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn keys_do_not_run_into_each_other() {
        let tenant = Tenant::new("t").unwrap();
        assert_ne!(
            EventKey::from_source_id(&tenant, "ab", "c"),
            EventKey::from_source_id(&tenant, "a", "bc")
        );
        let key = EventKey::from_source_id(&tenant, "a", "b");
        assert_eq!(EventKey::parse(&key.to_string()), Some(key));
        assert_eq!(EventKey::parse("zz"), None);
    }
}
