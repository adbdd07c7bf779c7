//! The composition root: the house, its command line and its page.

pub mod cli;
pub mod config;
pub mod datadir;
pub mod days;
pub mod failure;
pub mod house;
pub mod quarantine;
pub mod say;
