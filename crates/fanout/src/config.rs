//! What can be set about the fan-out, and what is fixed.

use model::limits::SLICE_PERSONS_MAX;

/// The group under which it reads.
pub const GROUP: &str = "fanout";

/// Records handed to one turn, unless it is set otherwise.
pub const RECORDS_MAX: usize = 256;

/// Rows that are resolved, written and announced together: one slice's worth, whatever it is made of.
pub const SHEET_ROWS_MAX: usize = SLICE_PERSONS_MAX;

/// Followers asked for at first: most subjects have fewer, and several are asked at once.
pub const FIRST_PERSONS_MAX: usize = 256;
/// Subjects whose first followers are asked at once.
pub const ASKED_AT_ONCE: usize = 16;

/// Persons that one record of `pending` announces.
pub const ANNOUNCED_MAX: usize = 500;

const _: () = assert!(FIRST_PERSONS_MAX <= SHEET_ROWS_MAX);
const _: () = assert!(ANNOUNCED_MAX <= wire::LIST_MAX);

/// Settings of the fan-out.
#[derive(Clone, Debug)]
pub struct Config {
    /// Records handed to one turn at most.
    pub records_max: usize,
}
