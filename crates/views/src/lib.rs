//! The views of a house, shared by the command line, the pages, clients and scenarios.
//!
//! [`days`] is what was kept for a person, [`person`] all that is known of one, [`explain`] why somebody was told or
//! not, [`preview`] a message before it is sent, [`open_windows`] what gathers and [`release`] ends it by hand, [`shares`] how much was
//! told, [`suppressions`] and [`devices`] how somebody is reached, [`unclear_messages`] what nobody knows the end of. [`display`] is how
//! instants and numbers look.

pub mod devices;
pub mod display;
pub mod explain;
pub mod open_windows;
pub mod person;
pub mod preview;
pub mod release;
pub mod shares;
pub mod suppressions;
pub mod unclear_messages;

pub use room::days;
