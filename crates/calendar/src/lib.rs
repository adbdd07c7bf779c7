//! Dates and times as they stand on a wall, and the dates on which something comes again and again.
//!
//! # Tour
//!
//! [`local_time`] has dates, times and days of the week, of whatever zone. [`closing_dates`] says on which dates the windows of
//! a calendar close, how far apart these may lie, and by what number each closing is known. [`cron_line`] reads a line of cron.
//! Nothing here knows a zone or an instant: that is `model::civil_time`.

pub mod closing_dates;
pub mod cron_line;
pub mod local_time;
