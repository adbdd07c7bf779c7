//! One life from its seed, and if a law does not hold in it, the same made small and told.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use catalogue::Catalogue;

use super::{
    life::{Life, Message, Trial, Way},
    oracle::Broken,
    plans::Drawn,
    script::{self, Step},
};
use crate::{seeds::Dice, texts};

/// Lives that are tried for a smaller story.
const TRIES_MAX: usize = 400;

/// What a seed came to.
pub enum Lived {
    /// So many messages were told.
    Held(usize),
    /// The catalogue makes no sense.
    Refused,
    Broken(String),
}

/// Draws a catalogue and a life, and lives it.
pub fn live(seed: u64) -> Lived {
    let (drawn, trial, portions) = draw(seed);
    let Ok(catalogue) = texts::read(&drawn.text()) else { return Lived::Refused };
    match attempt(&catalogue, &trial, portions) {
        Ok(messages) => Lived::Held(messages),
        Err(broken) => Lived::Broken(told(seed, smaller(drawn, trial, portions, broken))),
    }
}

/// What a seed stands for: a catalogue, a life, and for some of them after how many turns the process dies.
pub fn draw(seed: u64) -> (Drawn, Trial, Option<usize>) {
    let mut dice = Dice::new(seed);
    let drawn = Drawn::new(&mut dice);
    let trial = Trial { home: script::home(&mut dice), luck: dice.next(), steps: script::script(&mut dice) };
    (drawn, trial, dice.once_in_a_hundred(15).then(|| 3 + dice.below(20)))
}

/// Lives it once, and where portions are tried once more, otherwise cut.
pub fn attempt(catalogue: &Arc<Catalogue>, trial: &Trial, portions: Option<usize>) -> Result<usize, Broken> {
    let once = |way: Way| -> Result<Vec<Message>, Broken> {
        let mut life = Life::new(catalogue.clone(), trial, way);
        let lived = catch_unwind(AssertUnwindSafe(|| life.run()));
        lived.unwrap_or_else(|_| Err(Broken { why: "panics".to_owned(), story: life.story.clone() }))?;
        Ok(life.messages)
    };
    let told = once(Way { at_once: false, restarts: 0 })?;
    let Some(restarts) = portions else { return Ok(told.len()) };
    let again = once(Way { at_once: true, restarts })?;
    let differs = told.iter().zip(&again).find(|(one, other)| one != other);
    let (one, other) = match differs {
        Some((one, other)) => (Some(one), Some(other)),
        None if told.len() == again.len() => return Ok(told.len()),
        None => (told.get(again.len()), again.get(told.len())),
    };
    let why = format!("in other portions there are other messages: {one:?}\nand not {other:?}");
    Err(Broken { why, story: Vec::new() })
}

/// The smallest life that breaks in the same way, as far as that is cheap.
struct Small {
    drawn: Drawn,
    trial: Trial,
    broken: Broken,
}

fn smaller(drawn: Drawn, trial: Trial, portions: Option<usize>, broken: Broken) -> Small {
    let mut small = Small { drawn, trial, broken };
    let mut tries = 0;
    let mut holds = |drawn: &Drawn, steps: Vec<Step>, small: &mut Small| -> bool {
        tries += 1;
        let Ok(catalogue) = texts::read(&drawn.text()) else { return false };
        let trial = Trial { steps, ..small.trial.clone() };
        match attempt(&catalogue, &trial, portions) {
            Err(broken) if tries < TRIES_MAX && is_same(&broken.why, &small.broken.why) => {
                *small = Small { drawn: drawn.clone(), trial, broken };
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
        while let Some(drawn) = small.drawn.smaller().into_iter().find(|drawn| {
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
    if let Ok(catalogue) = texts::read(&small.drawn.text()) {
        let mut life = Life::new(catalogue, &small.trial, Way { at_once: false, restarts: 0 }).aloud();
        let told = catch_unwind(AssertUnwindSafe(|| life.run()));
        small.broken.story = match told {
            Ok(Err(broken)) => broken.story,
            _ => life.story,
        };
    }
    small
}

/// Whether two lives break in the same way: by the words, without what they are about.
fn is_same(one: &str, other: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        let plain = text
            .split_whitespace()
            .filter(|word| word.chars().all(|c| c.is_ascii_lowercase() || ",:;".contains(c)));
        plain.take(6).map(str::to_owned).collect()
    };
    words(one) == words(other)
}

fn told(seed: u64, small: Small) -> String {
    let Small { drawn, trial, broken } = small;
    let story = broken.story.join("\n");
    let Broken { why, .. } = broken;
    format!(
        "TIDINGS_SEED={seed} TIDINGS_CATALOGUES=1 repeats this:\n{}\n{} in {}:\n{story}\n{why}\n",
        drawn.text(),
        trial.steps.len(),
        trial.home,
    )
}
