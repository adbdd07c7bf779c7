//! The room that shows people their entries: bundles on the web, counts, what they did with them, and what is new at once.
//!
//! Nothing is written for a feed: its bundles are made of a person's days whenever somebody asks, so another rule needs
//! nothing to be written again. What was read is kept in memory for as long as the log says that nothing was added to it.
//!
//! # Tour
//!
//! [`http`] is the way in; [`request`] is what may be asked, and [`report`] what is answered. [`shelf`]
//! is what was read of a person, [`listed`] what their days list; [`shelf_cache`] keeps it, and [`live_board`] knows who waits to
//! hear of news, which [`noted_streams`] notes. [`load`] asks the store, [`facts`] has the types of what it says, and [`decide`]
//! makes a feed of it, as the crate `feed-bundles` has it. [`texts`] says each bundle in the person's words. [`entries`] are pages
//! for clients that poll. [`mark`] says which entries a mark is for, and [`apply`] writes it, also for whoever taps a push.
//! [`mod@run`] reads the log, as [`read`] understands it, and lets go of what is out of date.

pub mod config;
mod deps;

pub mod entries;
mod read;
pub mod report;
pub mod request;

mod decide;
mod facts;
mod kept_page;
mod listed;
mod live_board;
mod load;
mod mark;
mod noted_streams;
mod shelf;
mod shelf_cache;
mod texts;

mod apply;

pub mod http;
pub mod metrics;
pub mod run;

#[cfg(test)]
mod tests;

pub use apply::mark_told;
pub use config::Config;
pub use deps::{Deps, FeedBoard};
pub use http::{HttpFeed, api_router, router};
pub use run::run;
