//! The words for fates, as `expect fate` has them: one for each channel, with commas between.

use model::{EndReason, Fate, ReadyId};
use source_text::{did_you_mean, list_choices};

use crate::token::LineError;

/// Refuses a word that no entry can ever have.
pub(crate) fn check_fates(text: &str, column: usize) -> Result<(), LineError> {
    let known = list_fates();
    let names = || known.iter().map(String::as_str);
    match text.split(", ").find(|fate| !names().any(|name| name == *fate)) {
        None => Ok(()),
        Some(odd) => {
            let help = did_you_mean(odd, names()).unwrap_or_else(|| format!("use {}", list_choices(names())));
            Err(LineError::new(column, format!("there is no fate `{odd}`")).help(help))
        }
    }
}

/// Every fate there is.
fn list_fates() -> Vec<String> {
    let told = Fate::Told { ready: ReadyId([0; 16]) };
    let fates = [
        Fate::Waiting { carried: false },
        Fate::Waiting { carried: true },
        told,
        Fate::Read,
        Fate::Cleared,
        Fate::PutOff,
    ];
    fates
        .into_iter()
        .chain(EndReason::ALL.into_iter().map(Fate::Ended))
        .map(|fate| fate.to_string())
        .collect()
}
