//! The tests of the whole house, and what they share. The laws are in `laws/`, the scenarios' harness is in
//! `integration/`, the killed process in `kill/`.

pub mod scenarios;
