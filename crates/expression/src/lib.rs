//! The language of conditions, texts and sources: minijinja's, less what a text has no use for, and typed. Every path is
//! followed through the declared subjects before anything is compiled.
//!
//! # Tour
//!
//! [`scope`] says what a text of each sort may read, and [`value_type`] which types there are; [`words`] lists filters and
//! tests with theirs. [`check`] walks a text and finds what does not exist or does not fit: [`expression_type`] is the
//! walk through its expressions, [`growth`] how large it can make a value, [`message_call`] and [`slot_call`] the two functions, with [`message_types`] that one may say, [`moment_check`] the one comparison that says
//! nothing.
//!
//! What was checked is compiled and evaluated: a [`condition`] over a subject as it is now, a [`source_expression`] over
//! one record of others. Texts are filled in by the crate `render`.

mod check;
mod condition;
mod expression_type;
mod growth;
mod limits;
mod message_call;
mod message_types;
mod moment_check;
mod scope;
mod slot_call;
mod source_expression;
mod value_type;
mod words;

#[cfg(test)]
mod tests;

pub use check::{TextFinding, TextReads, check_expression, check_source, check_text, read_text};
pub use condition::{ConditionFacts, KindCondition};
pub use message_types::{MessageArgument, MessageTypes, SAY};
pub use scope::{
    ACTOR, ACTORS, COUNT, DIRECTION, DUE, EVENT, KeptTypes, LANGUAGE, NOW, OTHER, OTHERS, PlanSubjectTypes,
    VARIANT, condition_scope, headline_scope, mail_scope, says_many_scope, says_scope, source_scope,
    title_scope,
};
pub use slot_call::{SLOT, SLOTS};
pub use source_expression::{NullMeaning, RowChange, SourceExpression, SourceRow};
pub use value_type::{TextScope, TextValueType};
pub use words::{FILTERS, FilterInput, FilterOutput, SOURCE_FILTERS, TESTS, TextFilter, install_words};
