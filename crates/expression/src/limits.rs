//! How long an expression may be, and how long it may run.

/// Words of one `{{ }}` or `{% %}`: the parser nests as deep as an expression is long.
pub const TAG_WORDS_MAX: usize = 400;
/// Values that one value is put together from: a text that is put together from itself is soon as large as memory.
pub const PARTS_MAX: u64 = 100;

/// Steps of one condition, and of one value of a source.
pub const CONDITION_FUEL: u64 = 10_000;
/// Levels of loops and the like in one text.
pub const RECURSION_MAX: usize = 64;
