//! The fan-out: finds the audience of an event, and writes one row per person and reason into their day.
//!
//! It reads `events`, stores rows in days, and then announces on `pending` whose days have new rows. All of
//! it may be repeated: rows are a function of the event and of who was found, so writing them again
//! changes nothing, and an announcement only wakes.
//!
//! Whom an event names itself, and the first few of its crowds, are told in the event's own turn.
//! What is left of a large audience walks through the log: each turn of `slices` tells one slice of it and
//! writes the next one, both or neither (law 13). So memory never holds more than one slice, a restart goes on
//! at the slice, and since the two topics are read side by side, small events overtake.
//!
//! # Tour
//!
//! [`read`] makes events and slices of records; [`decide`] says whom an event is for, and who of a crowd, with [`reach`]
//! for the reasons. [`search`] goes through the crowds of a slice, and `load` asks the store for them and for the
//! [`facts`]; `whereabouts` sees who moved away from a cell. [`recipient_sheet`] turns those who were found into rows and
//! announcements, `records` and `apply` write them, `newer_edition` waits for what ours does not know; [`mod@run`] is the
//! story, in two loops.

pub mod config;
mod deps;

pub mod facts;
mod load;
pub mod read;

pub mod decide;
mod newer_edition;
pub mod reach;
pub mod recipient_sheet;
pub mod search;
mod whereabouts;

mod apply;
mod records;

pub mod metrics;
pub mod run;

#[cfg(test)]
mod tests;

pub use config::{Config, FanoutSizes};
pub use deps::Deps;
pub use metrics::FanoutMetrics;
pub use run::{run, run_with};
