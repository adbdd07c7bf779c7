//! Houses of real processes on real engines: several processes of each room under kills, and what becomes of
//! a house when its engines go away, come back, are slow or hold nonsense.
//!
//! Most of the time is spent waiting. Tests begin in the order of their names, two at a time on a small machine, and
//! the names are such that the longest begin first and that not all engines run at once.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(
    clippy::print_stdout,
    reason = "who waits for minutes wants to know for what, and how long each thing took"
)]

mod brokers;
mod catalogues;
mod engine_faults;
mod erasure;
mod feeds;
mod house;
mod input;
mod kills;
mod migrations;
mod nodes;
mod nonsense;
mod outbox_mails;
mod process;
mod restore;
mod slots;
mod upstream;
mod windows;

fn env_number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// A small generator, so that a seed is a run.
struct RealLuck(u64);

impl RealLuck {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}
