//! The nouns of Tidings and the pure rules over them.
//!
//! Each word has one meaning, here and everywhere: `docs/glossary.md`.
//!
//! # Tour
//!
//! First the nouns, which know no rule. [`id`], [`time`], [`day_life`], [`local_time`] (of the crate [`calendar`]), [`value`] and [`subject_type`] are the small change. [`event`] is
//! what comes in and whether it is in time; [`crowd`] and [`place`] are where those are found who may care; [`entry`] and
//! [`mark`] are the rows of a day ([`day_row`]), with [`key_list`] where a mark covers much; [`actor`] and [`kept_fields`] are
//! what an entry keeps of its event. [`plan`] holds the rules of a channel, as the catalogue
//! states them. [`person`] is all that is remembered of somebody between turns ([`habit`] when they come); [`profile`],
//! [`notes`] name the fields of what is known of them. [`ready`] and [`delivery`] are what leaves and what
//! becomes of it, [`returns`] what others send back later. [`partition`]
//! says who owns a person, [`limits`] how much of anything there may be.
//! [`trace`] is carried along and decides nothing.
//!
//! Then the rules. [`fold`] is the only reader of a day, with [`attention`] for what the person did; and [`civil_time`] turns local times into instants, on the dates of
//! [`closing_dates`]. [`window`] is
//! the one function that decides. What it decides with stands below it: [`due_time`] when a window closes, [`hold`] what
//! keeps it from being told, [`window_opening`] how it opens, [`closing`] what it tells and [`leftovers`] what it leaves,
//! [`escalation`] how another channel tells it next, [`delivery_report`] what a report does, [`badge`] what devices show.

pub use calendar::{closing_dates, local_time};

pub mod day_life;
pub mod id;
pub mod subject_type;
pub mod time;
pub mod value;
pub mod world;

pub mod notes;
pub mod profile;

pub mod crowd;
pub mod event;
pub mod place;

pub mod actor;
pub mod attention;
pub mod day_row;
pub mod entry;
pub mod kept_fields;
pub mod key_list;
pub mod mark;

pub mod plan;

pub mod delivery;
pub mod device;
pub mod habit;
pub mod hook;
mod message_history;
pub mod person;
pub mod ready;
pub mod returns;

pub mod badge;
pub mod civil_time;
mod closing;
pub mod closing_candidate;
mod delivery_report;
mod due_time;
mod escalation;
pub mod fold;
pub mod hold;
mod leftovers;
mod sorted_closing;
pub mod step_context;
pub mod window;
mod window_opening;

#[cfg(test)]
mod tests;

pub mod fault;
pub mod limits;
pub mod partition;
pub mod trace;

pub use actor::{Actor, ActorId};
pub use attention::EntryAttention;
pub use crowd::{Crowd, CrowdEnrolment, Slice};
pub use day_life::DayLife;
pub use day_row::DayRow;
pub use entry::{AudienceMatch, Entry, EntryKey, EntryReason, PersonScore};
pub use event::{Event, Fact, FollowFact, ListedPerson};
pub use fold::{DayView, EntryView, Fate};
pub use id::{EventKey, Kind, Person, PlanName, ReadyId, SubjectRef, Tenant};
pub use kept_fields::KeptFields;
pub use key_list::{DayKeyList, KeyList, KeyListId};
pub use mark::{Channel, EndReason, Mark, MarkAction};
pub use subject_type::{FieldType, SubjectType};
pub use time::{Day, UtcMillis};
pub use value::{GeoPoint, Value, ValueCell, VersionedState};
pub use world::WorldSnapshot;
