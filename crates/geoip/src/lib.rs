//! Where IP addresses are, as far as one can say. An address is asked for and forgotten: nothing here keeps one.
//!
//! [`database`] is a file in the format of MaxMind, [`places`] the one that a process uses now, which may be replaced
//! while it runs. [`writer`] makes such files, for scenarios and tests.

pub mod database;
pub mod places;
pub mod writer;

#[cfg(test)]
mod tests;

pub use database::{AddressDatabase, FileStamp};
pub use ipnetwork::IpNetwork;
pub use places::AddressPlaces;
pub use writer::DatabaseWriter;
