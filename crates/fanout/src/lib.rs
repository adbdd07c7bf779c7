//! The fan-out: finds who cares about an event, and writes one row per person and reason into their day.
//!
//! It reads `events`, stores rows in days, and then announces on `pending` whose days have new rows. All of
//! it may be repeated: rows are a function of the event and of who was found, so writing them again
//! changes nothing, and an announcement only wakes. Memory never holds more than one slice of an audience.
//!
//! # Tour
//!
//! [`read`] makes events of records; [`reach`] says which followers an event is for; [`resolve`] turns a
//! slice of these followers into rows and announcements; [`mod@run`] is the only place that waits.

pub mod config;

pub mod reach;
pub mod read;
pub mod resolve;

pub mod metrics;
pub mod run;

#[cfg(test)]
mod tests;

pub use config::Config;
pub use metrics::FanoutMetrics;
pub use run::{Ports, run};
