//! The nouns of Tidings and the pure rules over them.
//!
//! # Words (one meaning each, here and everywhere)
//!
//! - *Change*: what an upstream service says happened.
//! - *Event*: an admitted change with its key; some events tell nobody and only change a subject.
//! - *Subject*: what an event is about, with its latest state.
//! - *Fact*: what is true of a person: what they follow, their profile, their place, what they mute.
//! - *Kind*: a type of notification, defined in the catalogue.
//! - *Edition*: a catalogue as the house took it up, numbered in the order in which it did.
//! - *Audience*: who may care. *Crowd*: a set of persons that can be listed. *Slice*: a part of a large audience.
//! - *Entry*: one event for one person.
//! - *Day*: the partition of a person's entries, by the event's own UTC time.
//! - *Mark*: a record in a day that says what became of entries.
//! - *Bundle*: entries said in one sentence.
//! - *Plan*: the rules by which a channel holds and releases entries.
//! - *Window*: a person's open stretch under a plan.
//! - *Act*: what somebody does to a window by hand: they release it or cancel it.
//! - *Ready*: what is due for one person on one channel.
//! - *Hook*: a channel that is a request to an address of the person's own.
//! - *Message*: one mail, push or call of a hook, rendered. *Headline*: a mail's subject line.
//! - *Delivery*: what became of a message.
//! - *Slip*: what the house keeps of a mail that left. *Return*: a bounce or a complaint that came back of one.
//! - *Stream*: mails of one sort; who complains about one is told no more of that one alone.
//! - *Suppression*: why nothing is sent to an address, because of what came back.
//! - *Feedback*: what the person did: read, cleared, opened, came online.
//! - *Holding*: a place where something of a person lies. *Erasure*: taking a person out of all of them. *Receipt*: what one removed, and what stays until when.
//! - *Fate*: why an entry was or was not told.
//! - *Turn*: one atomic commit of a room.
//! - *Look-back*: the days a digest reads.
//!
//! # Tour
//!
//! [`id`], [`time`] and [`value`] are the small change. [`event`] is what comes in and whether it is in
//! time; [`crowd`] and [`place`] are where those are found who may care; [`entry`] and [`mark`] are the two sorts of rows in a day, and [`fold`] is their only reader.
//! [`plan`] holds the rules of a channel, [`civil`] turns its local times into instants, [`person`] is
//! all that is remembered of somebody between turns ([`habit`] when they come, [`badge`] what their devices show), and
//! [`window`] is the one function that decides.
//! [`ready`] and [`delivery`] are what leaves and what becomes of it, [`returns`] what others send back later, [`erase`] how somebody is forgotten. [`partition`] says who owns a person,
//! [`limits`] how much of anything there may be.

pub mod id;
pub mod time;
mod told;
pub mod value;
pub mod world;

pub mod crowd;
pub mod edition;
pub mod event;
pub mod place;

pub mod entry;
pub mod mark;

pub mod fold;

pub mod civil;
pub mod plan;

pub mod badge;
pub mod closing;
pub mod delivery;
pub mod device;
mod due;
pub mod erase;
mod escalate;
pub mod habit;
pub mod hold;
pub mod hook;
mod leave;
pub mod person;
pub mod ready;
pub mod returns;
pub mod window;

#[cfg(test)]
mod tests;

pub mod fault;
pub mod limits;
pub mod partition;

pub use crowd::{Crowd, Enrolment, Slice};
pub use entry::{Because, Entry, EntryKey, Reason, Row, Score};
pub use event::{Event, Fact, Follow, Listed};
pub use fold::{DayView, EntryView, Fate};
pub use id::{EventKey, Kind, Person, PlanName, ReadyId, SubjectRef, Tenant};
pub use mark::{Channel, Mark, What, Why};
pub use time::{Day, Millis};
pub use value::{Cell, Place, State, Value};
pub use world::World;
