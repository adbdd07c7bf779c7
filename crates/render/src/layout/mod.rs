//! Layouts: MJML with template tags becomes HTML with the same tags, once.
//!
//! MJML is about elements and knows nothing of tags, so [`scan`] takes every tag out and leaves a word in
//! its place: between elements the word stands in an `mj-raw`, which is what lets an author write
//! `{% for %}` around sections. [`compile_layout`] lets mrml make HTML of that and puts the tags back.
//! [`inline_styles`] writes into elements what a style says of them. [`mirror`] turns it for languages that are written from right to left.
//! [`elements`] lists what a layout is made of.

mod compile;
mod elements;
mod inline_styles;
mod mirror;
mod scan;
mod tag;

pub use compile::{HtmlLayout, LayoutLanguage, compile_layout};
pub use tag::TemplateTag;
