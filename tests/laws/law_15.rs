//! Law 15: while a catalogue is on trial each person is told by the one that they have, and by nothing of the other.
//! Each life is lived under one catalogue alone, and once more while another one is on trial: its messages are the same.

use std::{iter::successors, sync::Arc};

use catalogue::Catalogue;
use share_ratio::ShareRatio;

use crate::{
    catalogue_text,
    random_lives::{
        life::{DecidedMessage, LifeTrial, RandomLife, TurnCutting},
        shrinking::draw_life,
    },
};

/// Pairs of catalogues that fit each other and are lived.
const PAIRS: usize = 150;
const FIRST_SEED: u64 = 1;

#[test]
fn law_15_each_by_their_own_catalogue() {
    let (mut lived, mut told) = (0, 0);
    for seed in successors(Some(FIRST_SEED), |seed| Some(seed + 2)) {
        if lived == PAIRS {
            break;
        }
        let ((one, trial, _), (other, ..)) = (draw_life(seed), draw_life(seed + 1));
        let read = |text: &str| catalogue_text::read_catalogue(text).ok();
        let (Some(one), Some(other)) = (read(&one.text()), read(&other.text())) else { continue };
        let tried = |share| Catalogue::clone(&one).with_canary(Catalogue::clone(&other), share);
        // Two that do not fit, as a plan has another channel, are refused.
        let (Ok(nobody), Ok(everybody)) = (tried(ShareRatio::NONE), tried(ShareRatio::WHOLE)) else {
            continue;
        };
        for (alone, tried) in [(&one, nobody), (&other, everybody)] {
            let (alone, tried) = (live(alone.clone(), &trial), live(Arc::new(tried), &trial));
            assert_eq!(alone, tried, "seed {seed}");
            told += alone.len();
        }
        lived += 1;
    }
    println!("{lived} pairs of catalogues, {told} messages");
    assert!(told > lived, "hardly anything was told");
}

fn live(catalogue: Arc<Catalogue>, trial: &LifeTrial) -> Vec<DecidedMessage> {
    let mut life = RandomLife::new(catalogue, trial, TurnCutting { at_once: false, restarts: 0 });
    life.run().unwrap_or_else(|broken| panic!("{}", broken.why));
    life.messages
}
