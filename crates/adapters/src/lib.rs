//! Which engines and couriers a process stands on: [`engine_setup`] opens either kind by the configuration, [`courier_setup`] says how
//! messages leave the house, [`trace_setup`] how traces do.

pub mod courier_setup;
pub mod engine_setup;
pub mod metrics;
pub mod trace_setup;
