//! The language of conditions and texts: minijinja's, less what a text has no use for, and typed. Every
//! path is followed through the declared subjects before anything is compiled.
//!
//! [`types`] says what there is, [`words`] lists filters and tests with their types, [`check`] walks a
//! text, [`scope`] says what a text of each sort may read, [`growth`] how large it can make a value.

mod check;
mod expression;
mod growth;
mod scope;
mod types;
mod words;

pub use check::{TextFinding, TextReads, check_expression, check_source, check_text};
pub use scope::{condition_scope, says_scope, source_scope};
pub(crate) use scope::{headline_scope, mail_scope};
pub use types::{TextScope, TextValueType};
pub use words::{FILTERS, FilterInput, FilterOutput, SOURCE_FILTERS, TESTS, TextFilter, install_words};
