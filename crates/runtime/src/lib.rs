//! The shell around the rooms: what touches the machine and is the same everywhere.
//!
//! [`clock`] is the only place that reads a clock; [`shutdown`] says when to stop; [`periodic`] repeats work until then; [`retry`] spaces tries; [`resource_limits`] knows
//! what a machine may run out of; `files` rewrites those of an embedded database; [`work_tracker`] knows when everything has settled, [`standstill`] what cannot go on;
//! [`crash_point`] names the points at which a test kills the
//! process; [`metrics`] and [`log`] tell what happens, [`trace_scope`] in which trace;
//! [`urgency`] says which work goes first.

pub mod clock;
pub mod crash_point;
#[cfg(feature = "fjall")]
pub mod file_rewrite;
pub mod log;
pub mod metrics;
pub mod periodic;
pub mod resource_limits;
pub mod retry;
pub mod shutdown;
#[cfg(feature = "faults")]
pub mod small_disk;
pub mod standstill;
pub mod trace_scope;
pub mod urgency;
pub mod work_tracker;

pub use clock::Clock;
pub use shutdown::ShutdownSignal;
pub use work_tracker::WorkTracker;
