//! The nouns of Tidings and the pure rules over them.
//!
//! Each word has one meaning, here and everywhere: `docs/glossary.md`.
//!
//! # Tour
//!
//! [`id`], [`time`] and [`value`] are the small change. [`event`] is what comes in and whether it is in
//! time; [`crowd`] and [`place`] are where those are found who may care; [`entry`] and [`mark`] are the two sorts of rows in a day, and [`fold`] is their only reader.
//! [`plan`] holds the rules of a channel, [`civil_time`] turns its local times into instants, [`person`] is
//! all that is remembered of somebody between turns ([`habit`] when they come, [`badge`] what their devices show), and
//! [`window`] is the one function that decides.
//! [`ready`] and [`delivery`] are what leaves and what becomes of it, [`returns`] what others send back later, [`erasure`] how somebody is forgotten. [`partition`] says who owns a person,
//! [`limits`] how much of anything there may be.

pub mod id;
mod message_history;
pub mod time;
pub mod value;
pub mod world;

pub mod crowd;
pub mod edition;
pub mod event;
pub mod place;

pub mod entry;
pub mod mark;

pub mod fold;

pub mod civil_time;
pub mod plan;

pub mod badge;
pub mod closing;
pub mod delivery;
mod delivery_report;
pub mod device;
mod due_time;
pub mod erasure;
mod escalation;
pub mod habit;
pub mod hold;
pub mod hook;
mod leftovers;
pub mod person;
pub mod ready;
pub mod returns;
pub mod window;

#[cfg(test)]
mod tests;

pub mod fault;
pub mod limits;
pub mod partition;

pub use crowd::{Crowd, CrowdEnrolment, Slice};
pub use entry::{AudienceMatch, DayRow, Entry, EntryKey, EntryReason, PersonScore};
pub use event::{Event, Fact, FollowFact, ListedPerson};
pub use fold::{DayView, EntryView, Fate};
pub use id::{EventKey, Kind, Person, PlanName, ReadyId, SubjectRef, Tenant};
pub use mark::{Channel, EndReason, Mark, MarkAction};
pub use time::{Day, UtcMillis};
pub use value::{GeoPoint, Value, ValueCell, VersionedState};
pub use world::WorldSnapshot;
