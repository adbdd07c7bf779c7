//! x
mod args;
mod calendar;
mod head;
mod lines;
mod parse;
pub mod scenario;
mod token;
mod value;
mod verb;
mod word;
pub use parse::{parse, parse_with, load};
