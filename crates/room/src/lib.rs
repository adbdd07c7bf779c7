//! What every room is given and shares.
//!
//! [`Deps`] are the dependencies that no room is without; a room's own `Deps` hold them beside its own ports. [`records`]
//! builds the records that rooms write, so that each sort has one place, one key and one partition; [`quarantine`] is the
//! one way in which a room puts a record aside, [`pause_board`] says what an operator has stopped; [`world`] loads what
//! entries speak of, [`day_index`] says which of a person's days have entries, [`days`] what became of those, [`item_words`] says
//! who did what they tell, [`saved`] what outlives its day, [`open_streams`] who looks at their feed just now, and [`feedback`]
//! writes what a person did with them. [`catalogue_names`] finds names that somebody outside gives. It alone knows the log and the
//! forms of records, and nothing of any room.

pub mod catalogue_names;
pub mod day_index;
pub mod days;
pub mod feedback;
pub mod item_words;
pub mod open_streams;
pub mod quarantine;
pub mod records;
pub mod saved;

mod deps;
pub mod pause_board;
pub mod world;

#[cfg(feature = "testing")]
#[allow(clippy::unwrap_used, clippy::panic, reason = "only tests are built with it")]
pub mod testing;

pub use deps::Deps;
