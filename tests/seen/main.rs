//! What people see: mails as mailboxes, filters and linters take them, and what browsers show.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod bell;
mod house;
mod judges;
mod mailbox;
mod mails;
mod pages;
mod pushes;
mod readme;
mod sink;
