//! The digest: holds windows open per person and closes them at the right moment.
//!
//! It reads `pending` (rows were written into somebody's day) and `inbox` (facts, feedback, deliveries) of
//! the partitions it owns, keeps each person's record in `windows`, and puts what is due on `ready`; all of
//! it in one turn. Marks that a turn names are written to the store after the commit and repeated until
//! the store has them.
//!
//! # Tour
//!
//! [`memory`] is what a partition's owner remembers; [`read`] is what a turn read; [`facts`] is what was
//! loaded for it; [`mod@live`] says when somebody's connection matters, [`profile_need`] when their profile does; [`decide`] is the pure decision over the three, [`run::forecast`] the same for a preview; [`mod@run`] is the only place that waits.

pub mod config;

pub mod memory;
pub mod read;

mod connection_need;
pub mod facts;
mod newer_edition;
mod profile_need;

pub mod decide;

pub mod metrics;
pub mod run;

#[cfg(test)]
mod tests;

pub use config::Config;
pub use run::{Deps, run};
