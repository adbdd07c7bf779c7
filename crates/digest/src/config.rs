//! What can be set about the digest.

/// The group under which it reads.
pub const GROUP: &str = "digest";

/// Settings of the digest.
#[derive(Clone, Debug)]
pub struct Config {
    /// Records handed to one turn at most.
    pub records_max: usize,
}
