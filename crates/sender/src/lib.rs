//! The sender: checks once more, claims, renders, hands over, records, reports.
//!
//! It reads `ready` and keeps nothing: the journal decides whether a Ready is sent, and what became of it
//! goes to the person's inbox, where the owner marks, issues again or goes on.
//!
//! # Tour
//!
//! [`read`] is what a turn read, [`facts`] what it needs to know, and `load` asks for it. [`decide`] says what is done about
//! a Ready: [`journal`] reads what, if anything, already became of it, [`check`] asks again whether each entry still holds,
//! and [`left_out_entries`] are those that do not; [`badge`] counts what the icon of an app shows, and [`renewal`] puts a push into
//! other words of which a part was revoked. [`message`] makes the mail, with the [`links`] by which its reader ends it
//! and the [`returns`] by which what comes back of it finds its person. [`mod@apply`] claims, hands over and records, with
//! the gate in the courier's protocol; [`report`] says what became of it. [`mod@run`] is the story of a turn, with those that
//! are under way and those that no turn waits for; [`batch_limit`] is how many are read, so that they find a place, and
//! [`place_table`] whose turn it is.
//! [`tokens`] tell claims apart, [`sightings`] how long those of others have stood, and [`tally`] sums up what happens to
//! many.

pub mod config;
mod deps;
pub mod links;
pub mod returns;

mod badge;
mod batch_limit;
pub mod facts;
pub mod journal;
mod left_out_entries;
mod load;
mod place_table;
mod read;
mod renewal;
mod sightings;
mod tally;
mod tokens;

pub mod check;
mod decide;
pub mod message;
pub mod report;

mod apply;
pub mod metrics;
pub mod run;

#[cfg(test)]
mod tests;

pub use config::Config;
pub use deps::Deps;
pub use links::MailLinks;
pub use returns::ReturnAddresses;
pub use run::run;
