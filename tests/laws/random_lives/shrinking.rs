//! One life from its seed, and if a law does not hold in it, the same made small and told.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use catalogue::Catalogue;

use super::{
    life::{DecidedMessage, LifeTrial, RandomLife, TurnCutting},
    oracle::BrokenLaw,
    plans::RandomCatalogue,
    script::{self, ScriptStep},
};
use crate::{catalogue_text, seeds::LawDice};

/// Lives that are tried for a smaller story.
const TRIES_MAX: usize = 400;

/// What a seed came to.
pub enum LifeVerdict {
    /// So many messages were told.
    Held(usize),
    /// The catalogue makes no sense.
    Refused,
    Broken(String),
}

/// Draws a catalogue and a life, and lives it.
pub fn live_seed(seed: u64) -> LifeVerdict {
    let (drawn, trial, portions) = draw_life(seed);
    let Ok(catalogue) = catalogue_text::read_catalogue(&drawn.text()) else { return LifeVerdict::Refused };
    match attempt_life(&catalogue, &trial, portions) {
        Ok(messages) => LifeVerdict::Held(messages),
        Err(broken) => {
            LifeVerdict::Broken(describe_failure(seed, shrink_failure(drawn, trial, portions, broken)))
        }
    }
}

/// What a seed stands for: a catalogue, a life, and for some of them after how many turns the process dies.
pub fn draw_life(seed: u64) -> (RandomCatalogue, LifeTrial, Option<usize>) {
    let mut dice = LawDice::new(seed);
    let drawn = RandomCatalogue::new(&mut dice);
    let trial = LifeTrial {
        home: script::draw_home(&mut dice),
        luck: dice.next(),
        steps: script::draw_script(&mut dice),
    };
    (drawn, trial, dice.once_in_a_hundred(15).then(|| 3 + dice.below(20)))
}

/// Lives it once, and where portions are tried once more, otherwise cut.
pub fn attempt_life(
    catalogue: &Arc<Catalogue>,
    trial: &LifeTrial,
    portions: Option<usize>,
) -> Result<usize, BrokenLaw> {
    let once = |way: TurnCutting| -> Result<Vec<DecidedMessage>, BrokenLaw> {
        let mut life = RandomLife::new(catalogue.clone(), trial, way);
        let lived = catch_unwind(AssertUnwindSafe(|| life.run()));
        lived.unwrap_or_else(|_| Err(BrokenLaw { why: "panics".to_owned(), story: life.story.clone() }))?;
        Ok(life.messages)
    };
    let told = once(TurnCutting { at_once: false, restarts: 0 })?;
    let Some(restarts) = portions else { return Ok(told.len()) };
    let again = once(TurnCutting { at_once: true, restarts })?;
    let differs = told.iter().zip(&again).find(|(one, other)| one != other);
    let (one, other) = match differs {
        Some((one, other)) => (Some(one), Some(other)),
        None if told.len() == again.len() => return Ok(told.len()),
        None => (told.get(again.len()), again.get(told.len())),
    };
    let why = format!("in other portions there are other messages: {one:?}\nand not {other:?}");
    Err(BrokenLaw { why, story: Vec::new() })
}

/// The smallest life that breaks in the same way, as far as that is cheap.
struct SmallestFailure {
    drawn: RandomCatalogue,
    trial: LifeTrial,
    broken: BrokenLaw,
}

fn shrink_failure(
    drawn: RandomCatalogue,
    trial: LifeTrial,
    portions: Option<usize>,
    broken: BrokenLaw,
) -> SmallestFailure {
    let mut small = SmallestFailure { drawn, trial, broken };
    let mut tries = 0;
    let mut holds = |drawn: &RandomCatalogue, steps: Vec<ScriptStep>, small: &mut SmallestFailure| -> bool {
        tries += 1;
        let Ok(catalogue) = catalogue_text::read_catalogue(&drawn.text()) else { return false };
        let trial = LifeTrial { steps, ..small.trial.clone() };
        match attempt_life(&catalogue, &trial, portions) {
            Err(broken) if tries < TRIES_MAX && is_same_failure(&broken.why, &small.broken.why) => {
                *small = SmallestFailure { drawn: drawn.clone(), trial, broken };
                true
            }
            _ => false,
        }
    };
    loop {
        let before = small.trial.steps.len();
        let mut many = before.div_ceil(2);
        while many > 0 {
            let mut at = 0;
            while at < small.trial.steps.len() {
                let mut steps = small.trial.steps.clone();
                steps.drain(at..(at + many).min(steps.len()));
                let drawn = small.drawn.clone();
                if !holds(&drawn, steps, &mut small) {
                    at += many;
                }
            }
            many /= 2;
        }
        let mut less = false;
        while let Some(drawn) = small.drawn.shrink().into_iter().find(|drawn| {
            let steps = small.trial.steps.clone();
            holds(drawn, steps, &mut small)
        }) {
            small.drawn = drawn;
            less = true;
        }
        if !less && small.trial.steps.len() == before {
            break;
        }
    }
    // Once more, for the story.
    if let Ok(catalogue) = catalogue_text::read_catalogue(&small.drawn.text()) {
        let mut life = RandomLife::new(catalogue, &small.trial, TurnCutting { at_once: false, restarts: 0 })
            .with_story();
        let told = catch_unwind(AssertUnwindSafe(|| life.run()));
        small.broken.story = match told {
            Ok(Err(broken)) => broken.story,
            _ => life.story,
        };
    }
    small
}

/// Whether two lives break in the same way: by the words, without what they are about.
fn is_same_failure(one: &str, other: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        let plain = text
            .split_whitespace()
            .filter(|word| word.chars().all(|c| c.is_ascii_lowercase() || ",:;".contains(c)));
        plain.take(6).map(str::to_owned).collect()
    };
    words(one) == words(other)
}

fn describe_failure(seed: u64, small: SmallestFailure) -> String {
    let SmallestFailure { drawn, trial, broken } = small;
    let story = broken.story.join("\n");
    let BrokenLaw { why, .. } = broken;
    format!(
        "TIDINGS_SEED={seed} TIDINGS_CATALOGUES=1 repeats this:\n{}\n{} in {}:\n{story}\n{why}\n",
        drawn.text(),
        trial.steps.len(),
        trial.home,
    )
}
