//! What a command has around it.
//!
//! [`failure`] knows the exit codes, [`terminal`] writes, [`datadir`] is the directory on which a house stands and [`disks`] how full
//! it is, told by [`metrics`]; [`client`] talks to a running house and [`feed`] publishes files to it.

pub mod client;
pub mod datadir;
pub mod disks;
pub mod failure;
pub mod feed;
pub mod metrics;
pub mod terminal;
