//! A process with rooms, around its current house.
//!
//! [`context`] is what stays while houses come and go, and opens one anew after a disk was full or an engine away; [`start`] is what
//! comes before the first, [`supervision`] what follows until the last is closed, [`demo`] fills an empty one, [`reload`] reads catalogue and couriers anew, [`addresses`] the database of IP addresses, [`api_keys`] the keys of services
//! and [`person_keys`] those of the logins of persons. [`metrics_reference`] lists what all of
//! it counts.

pub mod addresses;
pub mod api_keys;
pub mod context;
pub mod demo;
pub mod metrics;
pub mod metrics_reference;
pub mod person_keys;
pub mod reload;
pub mod start;
pub mod supervision;
