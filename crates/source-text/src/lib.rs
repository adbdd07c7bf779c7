//! Texts that people write and that a program has to understand: catalogues, configurations, layouts, scenarios.
//!
//! # Tour
//!
//! [`yaml`] makes a tree of a YAML file in which every key and value knows its place; where the file is no YAML, it finds
//! the slip that is behind it. [`problem`] is what is wrong at a place, with the line and a caret below it, and
//! [`nearest_name`] what was probably meant; [`quote_text`] keeps what somebody wrote short. None of it knows what the text is about.

mod nearest_name;
pub mod problem;
mod quoted_text;
pub mod units;
pub mod yaml;
mod yaml_slip;
mod yaml_words;

pub use nearest_name::{did_you_mean, list_choices, nearest_name, suggest_name};
pub use problem::{SourceText, TextProblem, TextProblems, line_and_column};
pub use quoted_text::quote_text;
pub use yaml_slip::missing_blank;
