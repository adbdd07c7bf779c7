//! What a record may weigh.

/// What a value and a key may weigh, as every engine has it.
pub const VALUE_MOST: usize = 1 << 20;
pub const KEY_MOST: usize = 32 << 10;
