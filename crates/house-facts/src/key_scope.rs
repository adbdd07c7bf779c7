//! What an API key may do for its tenant.

use std::{fmt, str::FromStr};

/// What a key may be for: the path that it opens, or all those by which something is read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum KeyScope {
    /// Says what happened.
    Changes,
    /// Says what is true of a person.
    Facts,
    /// Says what a person did with what they were told.
    Feedback,
    /// Says what came back of mails, as their provider does.
    Returns,
    /// Reads what is kept for the tenant's persons, and what is counted.
    Read,
}

impl KeyScope {
    pub const ALL: [Self; 5] = [Self::Changes, Self::Facts, Self::Feedback, Self::Returns, Self::Read];

    pub fn name(self) -> &'static str {
        match self {
            Self::Changes => "changes",
            Self::Facts => "facts",
            Self::Feedback => "feedback",
            Self::Returns => "returns",
            Self::Read => "read",
        }
    }
}

impl fmt::Display for KeyScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for KeyScope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|scope| scope.name() == text);
        found.ok_or_else(|| {
            let names = Self::ALL.map(|scope| format!("`{scope}`")).join(", ");
            format!("`{text}` is not a scope: one of {names}")
        })
    }
}
