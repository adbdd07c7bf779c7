//! The shell around the rooms: what touches the machine and is the same everywhere.
//!
//! [`clock`] is the only place that reads a clock; [`shutdown`] says when to stop; [`retry`] spaces tries;
//! [`quiet`] knows when everything has settled; [`crash`] names the points at which a test kills the
//! process; [`metrics`] and [`log`] tell what happens.

pub mod clock;
pub mod crash;
pub mod log;
pub mod metrics;
pub mod quiet;
pub mod retry;
pub mod shutdown;
#[cfg(feature = "faults")]
pub mod trial;

pub use clock::Clock;
pub use quiet::Quiet;
pub use shutdown::Shutdown;
