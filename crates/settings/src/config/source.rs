//! Where a value comes from.

use std::fmt;

use source_text::yaml::TreePlace;

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigSource {
    Default,
    File(String, TreePlace),
    Environment(String),
    Flag(&'static str),
}

impl ConfigSource {
    /// Whether two values of one key come from one layer, where neither can win.
    pub(super) fn is_same_layer(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

impl fmt::Display for ConfigSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path, at) => write!(f, "{path}:{at}"),
            Self::Environment(name) => write!(f, "environment {name}"),
            Self::Flag(flag) => write!(f, "flag {flag}"),
        }
    }
}
