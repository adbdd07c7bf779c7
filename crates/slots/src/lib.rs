//! The room that decides what the slots of a mail show: when it is opened, once for all of them, and the same on every process.
//!
//! A mail has the addresses of its slots and none of things. Whoever asks for one of them first chooses a list for all; the first
//! who writes it decides, and everybody shows what was written (docs/slots.md).
//!
//! # Tour
//!
//! [`http`] is the way in, and [`read`] says what an address asks. [`list_board`] keeps the lists that this process has seen and
//! lets one of many ask for a list; [`apply`] finds the list that stands, keeps it for longer, or puts another one in its place.
//! [`load`] asks the store what a list is made of, which [`facts`] has the types of, and [`decide`] chooses. [`mod@run`] is what
//! the room does while nobody asks.

pub mod config;
mod deps;

pub mod read;

mod facts;
mod list_board;

mod load;

mod decide;

mod apply;

pub mod http;
pub mod metrics;
pub mod run;

#[cfg(test)]
mod tests;

pub use deps::{Deps, SlotBoard};
pub use http::{find_picture, router};
pub use run::run;
