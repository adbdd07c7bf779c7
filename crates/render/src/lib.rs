//! Mails from layouts and facts.
//!
//! # Tour
//!
//! A [`MessageRenderer`] compiles the layouts and texts of a catalogue once and then makes a [`RenderedMail`] from a
//! [`MailInput`], again and again; the same input gives the same bytes: [`renderer`] compiles, [`messages`] makes. [`layout`] is how MJML and template
//! tags become one HTML template; [`roots`] is what texts see, made of [`values`] that [`text_cleaning`] rid of
//! whatever upstream could have put into them, in [`groups`] under one head, and with the [`links`] of a mail's foot and its [`slots`]; [`filters`] are the words of texts, [`messages_said`] the function that says a message in the reader's language, [`titles`] what stands above; [`reason_words`] says why the
//! reader gets something; [`check`] renders everything with example
//! data, for `tidings check`, and [`trial`] makes the messages that a reader would get and judges them, with what [`marks`]
//! say of their values.
//!
//! Where a value may stand decides how it is written: in HTML it is escaped, in an address it is a web
//! address or nothing, in a style it cannot stand at all, and a headline is one line.

mod check;
mod filters;
mod groups;
mod input;
mod layout;
mod limits;
mod links;
mod marks;
mod messages;
mod messages_said;
mod reason_words;
mod renderer;
mod roots;
mod slots;
mod text_cleaning;
mod titles;
mod trial;
mod values;

#[cfg(test)]
mod tests;

pub use input::{
    ItemInput, ItemWords, ListedItem, MailInput, RenderError, RenderedMail, RenderedPush, SectionInput,
};
pub use links::{find_mail_scope, less_query};
pub use renderer::{MessageRenderer, is_title_template};
pub use slots::PAGE as SLOT_PAGE;
pub use trial::{FormSheet, MailForm, ToldExample, TrialFinding, TrialRun, TrialSort, told_example};
