//! The intake: admits what upstream services say, or refuses it with a reason.
//!
//! Two ways in, one desk: records of the topic `changes`, and HTTP. Whatever comes is a CloudEvent of one of
//! three sorts. A *change* updates its subject and becomes an event; a *fact* says what is true of a person
//! (`tidings.follow`, `tidings.profile`, `tidings.mute` and their like) or that they are to be erased; *feedback* says what a person did
//! (`tidings.read`, `tidings.cleared`). All of it is stored, then announced, then acknowledged, and all of
//! it may be repeated.
//!
//! # Tour
//!
//! [`admission`] judges one CloudEvent, with [`change`], [`profile`], [`device`], [`mute`] and [`feedback`] for the parts
//! that each sort has of its own; [`fact_data`] reads what they have in common, and [`admission_error`] is why one is not admitted. [`source`] makes the same of rows of others. [`effects`] turns what was admitted into writes and records; [`moves`]
//! says how crowds follow a person's place, `order` which of one moment comes first, [`note`] what was probably meant otherwise. [`request_headers`] and [`answer`] are the HTTP way without its waiting: what headers
//! say, and what is said; `description` describes it for clients; `quota` how much of the house one tenant may take. [`returns`] is what comes back of mails, by HTTP from providers and as mails. [`mod@run`] is the topic way and the desk of both; [`http`] the other way.

pub mod config;

pub mod admission;
pub mod admission_error;
pub mod change;
pub mod device;
mod fact_data;
pub mod feedback;
pub mod mute;
pub mod profile;
pub mod source;

mod effects;
pub mod moves;
pub mod note;
mod order;

pub mod answer;
mod description;
mod quota;
pub mod request_headers;
pub mod returns;

pub mod metrics;

pub mod http;
pub mod run;

#[cfg(test)]
mod tests;

pub use config::Config;
pub use effects::{STILL_RUNNING, erasure_record};
pub use http::{DiskGauge, HttpIntake, api_router, router};
pub use metrics::IngestMetrics;
pub use returns::ReturnPaths;
pub use run::{Deps, IngestError, apply_return_mail, run, subscriptions};
