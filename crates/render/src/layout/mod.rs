//! Layouts: MJML with template tags becomes HTML with the same tags, once.
//!
//! MJML is about elements and knows nothing of tags, so [`scan`] takes every tag out and leaves a word in
//! its place: between elements the word stands in an `mj-raw`, which is what lets an author write
//! `{% for %}` around sections. [`compile_layout`] lets mrml make HTML of that and puts the tags back.
//! [`inline`] writes into elements what a style says of them. [`elements`] lists what a layout is made of.

mod compile;
mod elements;
mod inline_styles;
mod scan;
mod tag;

pub use compile::{HtmlLayout, compile_layout};
pub use tag::TemplateTag;
