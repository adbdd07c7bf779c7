//! The real process, killed under load between two effects, and started again: nothing that was
//! acknowledged is lost, and no mail leaves twice.
//!
//! `TIDINGS_KILLS` says how often (5; `make soak` says 50), `TIDINGS_SEED` repeats a run. Each kill is at a
//! named point (`runtime::crash`): the process stands still there, says so, and is killed for real. A run
//! that did not come to its point is a failure.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod bench;
mod bundles;
mod doors;
mod drain;
mod full_disk;
mod hooks;
mod house;
mod lives;
mod load;
mod mails;
mod moves;
mod pushes;
mod returns;
mod slices;

use std::time::Duration;

use house::KillHouse;
use load::KillLoad;
use runtime::{clock::SteadyStopwatch, crash_point};

/// Kills in a usual run: each point once, and one more.
const KILLS: usize = 5;
/// How long anything may take to come about, the process to its point among it.
const PATIENCE: Duration = Duration::from_secs(180);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(50);

/// Waits until this is so; says whether it came to that.
fn wait_until(mut is_so: impl FnMut() -> bool) -> bool {
    let watch = SteadyStopwatch::start();
    while !is_so() {
        if watch.elapsed() > PATIENCE {
            return false;
        }
        std::thread::park_timeout(LOOK);
    }
    true
}

#[test]
fn soak_killed_between_two_effects_it_loses_nothing_and_tells_nothing_twice() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let kills = number("TIDINGS_KILLS").map_or(KILLS, |kills| usize::try_from(kills).unwrap());
    let seed = number("TIDINGS_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    println!("{kills} kills, TIDINGS_SEED={seed}");
    let mut luck = KillLuck(seed);
    for kill in 0..kills {
        let point = crash_point::ALL[kill % crash_point::ALL.len()];
        // How often each point is passed under this load bounds how late it can be stopped at.
        let passes = if point == crash_point::STORED { KillLoad::EVENTS / 2 } else { KillLoad::PERSONS / 2 };
        let nth = 1 + luck.below(passes);
        println!("kill {}: {point}, pass {nth}", kill + 1);
        let dir = tempfile::tempdir().unwrap();
        let told = run_round(dir.path(), point, nth);
        assert_eq!(told, Ok(()), "seed {seed}, kill {}, {point}:{nth}", kill + 1);
    }
}

/// One life that ends by a kill, and one after it.
fn run_round(dir: &std::path::Path, point: &str, nth: u64) -> Result<(), String> {
    let mut load = KillLoad::default();
    let first = KillHouse::start(dir, Some(&format!("{point}:{nth}")))?;
    load.send_facts(&first);
    load.publish(&first);
    // Killed while it is asked to move on: the request ends with the process.
    let stopped = std::thread::scope(|scope| {
        scope.spawn(|| {
            first.await_all_read();
            first.move_clock("morning");
        });
        let stopped = first.has_stopped_within(PATIENCE);
        first.kill();
        stopped
    });
    if !stopped {
        let hint = "was the process built with --features tests/faults?";
        return Err(format!(
            "it never came to `{point}` for the {nth}th time ({hint}): {}",
            first.drain_log()
        ));
    }

    let second = KillHouse::start(dir, None)?;
    // What was not acknowledged is said again by whoever said it.
    load.send_facts(&second);
    load.publish(&second);
    if !load.is_acknowledged() {
        return Err("not everything was acknowledged after the restart".into());
    }
    // To the morning; past every claim's deadline and every second try; and a morning more.
    for to in ["morning", "hour", "hour", "morning", "hour"] {
        second.await_all_read();
        second.move_clock(to);
    }
    second.await_all_read();
    load.check_mails(&second, dir)
}

/// A small generator, so that a seed is a run.
struct KillLuck(u64);

impl KillLuck {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}
