//! Mail over a real server (aiosmtpd), with each of its moods, and signatures that a checker agrees with which nobody
//! here wrote (dkimpy). Pushes to a service for browsers that nobody here wrote either (web-push-testing), and to fakes of
//! Apple's and Google's, of which there is none to be had. Calls of hooks, whose signatures the library of Standard Webhooks
//! checks. Mails for fakes of providers, whose signatures of Amazon's sort botocore checks.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test that cannot go on has failed")]

mod apple;
mod browsers;
mod conformance;
mod devices;
mod fake;
mod google;
mod hooks;
mod intake;
mod mail_outcomes;
mod mail_setup;
mod providers;
mod signatures;
