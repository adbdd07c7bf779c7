//! The composition root: the only crate that knows every other, the environment, and exit codes.
//!
//! # Tour
//!
//! [`house`] runs every room on the engines it is given; [`http`] is its door and its page; [`datadir`] is
//! the directory on which it stands, [`engines`] are the engines it has by its configuration, and [`home`] opens
//! and closes all of that together. [`config`] is what
//! can be set, [`cli`] the command line, [`commands`] what each command does; those that talk to a running
//! house go through [`client`] and [`feed`]. [`days`], [`devices`], [`entries`], [`open`], [`preview`], [`shares`], [`unknown`] and [`quarantine`]
//! are views that the command line, the page and clients have in common. [`erase`] forgets a person. `sink` takes mails for
//! whoever tries them out. [`say`] writes, [`failure`] knows the exit codes.

pub mod engines;
pub mod home;
pub mod house;
pub mod intake;
pub mod live;

pub mod archive;
pub mod datadir;
pub mod days;
pub mod devices;
mod disks;
pub mod entries;
pub mod erase;
pub mod explain;
pub mod http;
pub mod open;
pub mod person;
mod post;
pub mod preview;
pub mod quarantine;
pub mod release;
pub mod repartition;
pub mod replay;
pub mod scenario;
pub mod shares;
mod sink;
pub mod state;
pub mod suppressions;
pub mod unknown;

pub mod cli;
pub mod client;
pub mod commands;
pub mod config;
pub mod failure;
pub mod feed;
pub mod say;

#[cfg(test)]
mod testing;
