//! The intake: admits what upstream services say, or refuses it with a reason.
//!
//! Two ways in, one desk: records of the topic `changes`, and HTTP. Whatever comes is a CloudEvent of one of
//! three sorts. A *change* updates its subject and becomes an event; a *fact* says what is true of a person
//! (`tidings.follow`, `tidings.profile`, `tidings.preference` and their like) or that they are to be erased; *feedback* says what a person did
//! (`tidings.read`, `tidings.snoozed` and their like). A change may be taken back (`tidings.revoke`). All of it is stored, then announced, then acknowledged, and all of
//! it may be repeated.
//!
//! # Tour
//!
//! [`read`] is what a record says. [`decide`] judges it by [`admission`], with [`change`], [`profile`], [`device`], [`preference`]
//! [`feedback`] and [`revoke`] for the parts that each sort has of its own; [`fact_data`] reads what they have in common, and
//! [`admission_error`] is why one is not admitted, [`admission_rules`] what it is judged by. [`source`] makes the same of rows of others. [`facts`] is what has to be
//! known of what was admitted, [`load`] asks for it, [`effects`] turns it into writes and records; [`moves`] says how crowds
//! follow a person's place, `order` which of one moment comes first, [`note`] what was probably meant otherwise.
//! [`mod@apply`] is the desk of both ways, which stores and then announces; [`ingest_error`] is why it cannot.
//!
//! [`request_headers`] and [`answer`] are the HTTP way without its waiting: what headers say, and what is said; `description` describes it for clients; `quota` how
//! much of the house one tenant may take. [`returns`] is what comes back of mails, by HTTP from providers and as mails.
//! [`mod@run`] is the topic way, [`http`] the other.

pub mod config;
mod deps;

mod actor;
pub mod admission;
pub mod admission_error;
pub mod admission_rules;
pub mod change;
pub mod device;
mod fact_data;
pub mod feedback;
pub mod preference;
pub mod profile;
mod read;
pub mod revoke;
pub mod source;

mod decide;
mod effects;
mod facts;
mod load;
pub mod moves;
pub mod note;
mod order;

pub mod answer;
mod description;
mod quota;
pub mod request_headers;
pub mod returns;

mod apply;
mod ingest_error;
pub mod metrics;

pub mod http;
pub mod run;

#[cfg(test)]
mod tests;

pub use apply::apply_return_mail;
pub use config::Config;
pub use deps::Deps;
pub use effects::STILL_RUNNING;
pub use http::{DiskGauge, HttpIntake, api_router, router};
pub use ingest_error::IngestError;
pub use metrics::IngestMetrics;
pub use returns::ReturnPaths;
pub use run::{run, subscriptions};
