//! Tests on a real Kafka, which `engines` finds or starts.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test that cannot go on has failed")]

mod cluster;
mod conformance;
mod kafka_only;
