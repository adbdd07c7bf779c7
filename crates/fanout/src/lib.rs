//! The fan-out: finds who cares about an event, and writes one row per person and reason into their day.
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
//! [`read`] makes events and slices of records; [`reach`] says whom an event is for; [`search`] goes through
//! the crowds of a slice; `whereabouts` sees who moved away from theirs; [`recipient_sheet`] turns those who were found into rows and announcements; [`mod@run`] is
//! the only place that waits.

pub mod config;

mod load;
mod newer_edition;
pub mod reach;
pub mod read;
pub mod recipient_sheet;
mod records;
pub mod search;
mod whereabouts;

pub mod metrics;
pub mod run;

#[cfg(test)]
mod tests;

pub use config::{Config, FanoutSizes};
pub use metrics::FanoutMetrics;
pub use run::{Deps, run, run_with};
