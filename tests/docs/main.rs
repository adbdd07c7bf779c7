//! The how-to pages of `docs/`, followed by a reader who does what they say: each block is run on a machine of its own and
//! has to print what the page shows. [`tests::markdown`] has the rules for those who write pages.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::print_stdout, reason = "what could not be followed here is said")]

mod commands;
mod generated;
mod machine;
mod pages;
mod sizes;
