//! Runs of a property: each from a seed that is printed when it fails, and `TIDINGS_SEED` repeats it.

use std::{
    fmt::Debug,
    future::Future,
    hash::{BuildHasher as _, Hasher as _, RandomState},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
};

use proptest::{
    strategy::{Strategy, ValueTree as _},
    test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner},
};

/// How often the quick runs of the gate are multiplied; a soak says so.
pub fn run_multiplier() -> u32 {
    std::env::var("TIDINGS_TIMES").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// The seed that is to be repeated, or one of its own for every run.
pub fn first_seed() -> u64 {
    let given = std::env::var("TIDINGS_SEED").ok().and_then(|text| text.parse().ok());
    given.unwrap_or_else(|| RandomState::new().build_hasher().finish() >> 16)
}

/// Checks a property of drawn values; what fails is made small.
pub fn check_values<S: Strategy<Value: Debug>>(
    cases: u32,
    values: S,
    check: impl Fn(S::Value) -> Result<(), TestCaseError>,
) {
    let seed = first_seed();
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_be_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let config = Config { cases: cases * run_multiplier(), failure_persistence: None, ..Config::default() };
    if let Err(failure) = TestRunner::new_with_rng(config, rng).run(&values, check) {
        panic!("TIDINGS_SEED={seed} repeats this:\n{failure}");
    }
}

/// One value, drawn in the middle of a schedule.
pub fn draw_value<S: Strategy>(dice: &mut LawDice, values: S) -> S::Value {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&dice.next().to_be_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    values.new_tree(&mut TestRunner::new_with_rng(Config::default(), rng)).unwrap().current()
}

/// Runs schedules, each from a seed of its own; the first is the one to be repeated.
pub fn run_schedules(cases: u32, check: impl Fn(LawDice)) {
    let first = first_seed();
    for seed in (first..).take((cases * run_multiplier()) as usize) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| check(LawDice(seed)))) {
            println!("TIDINGS_SEED={seed} repeats this");
            resume_unwind(panic);
        }
    }
}

/// The same for what waits, on a runtime with one thread, so that the seed decides as much as it can.
pub fn run_waiting_schedules<F: Future<Output = ()>>(cases: u32, check: impl Fn(LawDice) -> F) {
    run_schedules(cases, |dice| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(check(dice));
    });
}

/// Draws everything that a schedule leaves open (splitmix64).
#[derive(Clone, Debug)]
pub struct LawDice(u64);

impl LawDice {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `most`.
    pub fn below(&mut self, most: usize) -> usize {
        usize::try_from(self.next() % (most.max(1) as u64)).unwrap()
    }

    /// A number of milliseconds from a stretch.
    pub fn ms(&mut self, from: i64, to: i64) -> i64 {
        from + i64::try_from(self.next() % u64::try_from(to - from).unwrap()).unwrap()
    }

    /// Whether something that happens so many times in a hundred happens now.
    pub fn once_in_a_hundred(&mut self, times: usize) -> bool {
        self.below(100) < times
    }

    pub fn pick<T: Clone>(&mut self, some: &[T]) -> T {
        some[self.below(some.len())].clone()
    }

    pub fn shuffle<T>(&mut self, some: &mut [T]) {
        for at in (1..some.len()).rev() {
            some.swap(at, self.below(at + 1));
        }
    }
}
