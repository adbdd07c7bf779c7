//! The digest: holds windows open per person and closes them at the right moment.
//!
//! It reads `pending` (rows were written into somebody's day) and `inbox` (facts, feedback, deliveries) of
//! the partitions it owns, keeps each person's record in `windows`, and puts what is due on `ready`; all of
//! it in one turn. Marks that a turn names are written to the store after the commit and repeated until
//! the store has them.
//!
//! # Tour
//!
//! [`memory`] is what a partition's owner remembers; [`read`] is what a turn read; [`facts`] is what was loaded for it, by
//! `load`, where `connection_need` says when somebody's connection matters and `profile_need` when their profile does.
//! [`decide`] is the pure decision over the three, and `closing` says which entries it has to tell; `newer_edition` keeps
//! it from ending what only another process knows. `records` and `apply` are what comes of it, and [`mod@run`] is the
//! story; [`run::forecast`] tells the same for a preview.

pub mod config;
mod deps;

pub mod memory;
pub mod read;

mod connection_need;
pub mod facts;
mod load;
mod newer_edition;
mod profile_need;

mod closing;
pub mod decide;

mod apply;
mod records;

pub mod metrics;
pub mod run;

#[cfg(test)]
mod tests;

pub use config::Config;
pub use deps::Deps;
pub use run::run;
