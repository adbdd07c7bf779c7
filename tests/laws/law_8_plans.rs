//! Law 8, and what windows never do, under whatever plans a catalogue lets pass: every way to close beside every knob,
//! on several channels, with every outcome of a message. Nothing that comes is lost, told twice, told early, in quiet hours or over
//! a cap; turns while nothing comes are bounded; and how records are cut into turns changes no message.

use std::{
    sync::atomic::{AtomicU64, AtomicUsize, Ordering},
    thread,
};

use crate::{
    random_lives::shrinking::{LifeVerdict, live_seed},
    seeds::first_seed,
};

/// Catalogues of a run of the gate, the same every time, so that it fails for what was changed. `TIDINGS_CATALOGUES` names
/// another number, which all cores share, and draws others with every run.
const CATALOGUES: usize = 2_000;
const FIRST_SEED: u64 = 1;
/// Of a hundred that are drawn so many may be refused: what always is refused tells nothing of the rest.
const REFUSED_MAX: usize = 50;

#[test]
fn law_8_whatever_a_plan_says() {
    let given: Option<usize> = std::env::var("TIDINGS_CATALOGUES").ok().and_then(|text| text.parse().ok());
    let (many, threads) = match given {
        Some(many) => (many, thread::available_parallelism().map_or(1, usize::from)),
        None => (CATALOGUES, 1),
    };
    let is_drawn = given.is_some() || std::env::var_os("TIDINGS_SEED").is_some();
    let seed = AtomicU64::new(if is_drawn { first_seed() } else { FIRST_SEED });
    let [lived, refused, messages] = [const { AtomicUsize::new(0) }; 3];
    let works = || {
        while lived.load(Ordering::Relaxed) < many {
            match live_seed(seed.fetch_add(1, Ordering::Relaxed)) {
                LifeVerdict::Held(told) => {
                    lived.fetch_add(1, Ordering::Relaxed);
                    messages.fetch_add(told, Ordering::Relaxed);
                }
                LifeVerdict::Refused => {
                    refused.fetch_add(1, Ordering::Relaxed);
                }
                LifeVerdict::Broken(story) => {
                    // The others stop too.
                    lived.fetch_add(many, Ordering::Relaxed);
                    return Some(story);
                }
            }
        }
        None
    };
    let broken = thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(works)).collect();
        all.into_iter().find_map(|one| one.join().unwrap())
    });
    if let Some(story) = broken {
        panic!("{story}");
    }
    let [lived, refused, messages] = [lived, refused, messages].map(AtomicUsize::into_inner);
    let share = refused * 100 / (lived + refused).max(1);
    println!("{lived} catalogues, {share} % of those drawn refused, {messages} messages");
    assert!(share <= REFUSED_MAX || lived < 100, "{share} of 100 catalogues were refused");
    assert!(messages > lived, "hardly anything was told");
}
