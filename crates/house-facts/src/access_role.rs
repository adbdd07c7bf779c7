//! What a token may do in a house.

use std::{fmt, str::FromStr};

/// The roles of tokens; a later one may do all that an earlier one may.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum AccessRole {
    /// Reads what is counted and measured, and nothing else.
    Metrics,
    /// Looks at everything, and changes nothing.
    Read,
    /// Does everything.
    Operate,
}

impl AccessRole {
    pub const ALL: [Self; 3] = [Self::Metrics, Self::Read, Self::Operate];

    pub fn name(self) -> &'static str {
        match self {
            Self::Metrics => "metrics",
            Self::Read => "read",
            Self::Operate => "operate",
        }
    }
}

impl fmt::Display for AccessRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for AccessRole {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|role| role.name() == text);
        found.ok_or_else(|| {
            let names = Self::ALL.map(|role| format!("`{role}`")).join(", ");
            format!("`{text}` is not a role: one of {names}")
        })
    }
}
