//! The composition root: the only crate that knows every other, the environment, and exit codes.
//!
//! # Tour
//!
//! [`house`] runs every room on the engines it is given; [`http`] is its door and its page; [`datadir`] is
//! the directory on which it stands, [`engines`] are the engines it has by its configuration, and [`process_house`] opens
//! and closes all of that together. [`config`] is what
//! can be set, [`cli`] the command line, [`commands`] what each command does; those that talk to a running
//! house go through [`client`] and [`feed`]. [`days`], [`devices`], [`entries`], [`open_windows`], [`preview`], [`shares`], [`unclear_messages`] and [`quarantine`]
//! are views that the command line, the page and clients have in common. [`erasure`] forgets a person. `sink` takes mails for
//! whoever tries them out. [`terminal`] writes, [`failure`] knows the exit codes.

pub mod engines;
pub mod house;
pub mod presence_service;
pub mod process_house;
pub mod return_intake;

pub mod archive;
mod courier_setup;
pub mod datadir;
pub mod days;
pub mod devices;
mod disks;
pub mod entries;
pub mod erasure;
pub mod explain;
pub mod http;
pub mod open_windows;
pub mod person;
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
pub mod unclear_messages;

pub mod cli;
pub mod client;
pub mod commands;
pub mod config;
pub mod failure;
pub mod feed;
pub mod terminal;

#[cfg(test)]
mod testing;
