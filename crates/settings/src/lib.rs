//! What can be set, and how what was set is put together.

pub mod config;
pub mod version;
