//! Mail over a real server (aiosmtpd), with each of its moods, and signatures that a checker agrees with which nobody
//! here wrote (dkimpy).

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test that cannot go on has failed")]

mod conformance;
mod moods;
mod post;
mod signatures;
