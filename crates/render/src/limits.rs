//! How much a mail may be.

/// Steps of one text.
pub const FUEL: u64 = 500_000;
/// Levels of loops and the like in one text.
pub const RECURSION_MAX: usize = 64;

/// Bytes of a rendered part. Far above what a mailbox shows (102 KB at the largest); a mail of nothing but
/// the longest values fits.
pub const PART_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Characters of a headline, which mailboxes cut much earlier.
pub const HEADLINE_CHARS_MAX: usize = 200;
/// Characters of a preheader.
pub const PREHEADER_CHARS_MAX: usize = 200;
/// Characters of what one item says.
pub const SAYS_CHARS_MAX: usize = 1_000;
/// Columns of the text part.
pub const TEXT_WIDTH: usize = 72;
/// Characters that a push says; a lock screen shows fewer.
pub const BODY_CHARS_MAX: usize = 240;
/// Characters of its longer words: what a provider takes is 4 KiB in all.
pub const LONGER_CHARS_MAX: usize = 1_000;
