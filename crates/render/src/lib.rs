//! Mails from layouts and facts.
//!
//! # Tour
//!
//! A [`Renderer`] compiles the layouts and texts of a catalogue once and then makes a [`Rendered`] from a
//! [`MailInput`], again and again; the same input gives the same bytes. [`layout`] is how MJML and template
//! tags become one HTML template; [`values`] is what texts see, cleaned by [`clean`] of whatever upstream
//! could have put into it; [`filters`] are the words of texts; [`why`] says why the
//! reader gets something; [`check`] renders everything with example
//! data, for `tidings check`, and [`trial`] makes the messages that a reader would get and judges them, with what [`marks`]
//! say of their values.
//!
//! Where a value may stand decides how it is written: in HTML it is escaped, in an address it is a web
//! address or nothing, in a style it cannot stand at all, and a headline is one line.

mod check;
mod clean;
mod filters;
mod input;
mod layout;
mod limits;
mod marks;
mod renderer;
mod trial;
mod values;
mod why;

#[cfg(test)]
mod tests;

pub use input::{ItemInput, MailInput, RenderError, Rendered, RenderedPush, SectionInput};
pub use renderer::Renderer;
pub use trial::{FormSheet, MailForm, TrialFinding, TrialRun, TrialSort};
