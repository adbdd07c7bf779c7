//! What a record of others means: a rule of a catalogue that was checked, and what it makes of a record. Pure.
//!
//! [`rule`] is a source with its rule, as the catalogue reads it; [`row`] makes statements of a record by it.

pub mod row;
pub mod rule;

pub use row::{RowError, RowStatement};
pub use rule::{SourceDef, StatementRule, StatementSort};
