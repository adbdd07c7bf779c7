//! What of a person's days is one item of their feed. Pure: bundles are made of the rows whenever somebody reads, so another
//! rule needs nothing to be written again.
//!
//! [`listing`] says which entries a feed lists, and what those of one bundle have in common. [`bundle`] makes bundles of
//! them: what one visit showed stays together, and what comes later is a new one. [`page`] cuts pages for a reader whose
//! [`cursor`] says where they are, while entries arrive and are read. [`visit`] names what a page showed, so that what comes
//! later is not marked with it. [`rule`] is another key than the catalogue's, where a client asks for one. [`counts`] says
//! how many are new and unread, and [`actors`] who did what a bundle tells.

pub mod actors;
pub mod bundle;
pub mod counts;
pub mod cursor;
pub mod listing;
pub mod page;
pub mod rule;
pub mod visit;

#[cfg(test)]
mod tests;

pub use bundle::{BundleId, BundleName, BundlePlace, FeedBundle, FeedEntry};
