//! The shell around the rooms: what touches the machine and is the same everywhere.
//!
//! [`clock`] is the only place that reads a clock; [`shutdown`] says when to stop; [`retry`] spaces tries; [`room`] knows
//! what a machine may run out of; `files` rewrites those of an embedded database; [`quiet`] knows when everything has settled, [`standstill`] what cannot go on;
//! [`crash`] names the points at which a test kills the
//! process; [`metrics`] and [`log`] tell what happens.

pub mod clock;
pub mod crash;
#[cfg(feature = "fjall")]
pub mod files;
pub mod log;
pub mod metrics;
pub mod quiet;
pub mod retry;
pub mod room;
pub mod shutdown;
pub mod standstill;
#[cfg(feature = "faults")]
pub mod trial;

pub use clock::Clock;
pub use quiet::Quiet;
pub use shutdown::Shutdown;
