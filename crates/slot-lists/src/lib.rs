//! What the slots of a mail show. A mail is sent with places, and what stands there is chosen when it is opened: one list for all
//! of its places. Pure.
//!
//! # Tour
//!
//! [`list`] is a list and what may be done with it at an instant: serve it, keep it for longer, or make the next one. [`selection`]
//! chooses its things among candidates of several sources, and [`list::SlotList::follow_with`] gives those of a next list their
//! places. Between two openings a thing may go and another one come, but none ever moves: so whoever is shown a part of one list and
//! a part of the next is shown nothing twice. [`codec`] is a list as bytes.

pub mod codec;
pub mod list;
pub mod selection;

#[cfg(test)]
mod tests;

pub use list::{ListLife, ListStep, SlotList, SlotThing};
