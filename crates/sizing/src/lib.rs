//! How large a house has to be: pure arithmetic, from what is asked ([`SizeQuestion`]) and from what was measured
//! ([`measured`]) to partitions, processes and disks ([`HouseSize`]). `table` and `chart_values` are how it is shown.
//!
//! It answers with what a house needs, not with what it can do at most: peaks take half of each processor and each disk
//! that it asks for ([`question::RESERVE`]).

pub mod chart_values;
pub mod engine_size;
pub mod house_size;
pub mod measured;
pub mod number_text;
pub mod question;
pub mod room_size;
pub mod table;

pub use house_size::{HouseSize, compute_size};
pub use question::SizeQuestion;

#[cfg(test)]
mod tests;
