//! The words of a catalogue and what each means: the reader looks them up here, and the table lists them.

use model::{
    Channel,
    hook::Hook,
    plan::{FirstRule, OncePer, OnlineRule, QuietAction, TooFewRule},
};

use crate::statement_rule::SourceFormat;

/// Words with their meanings.
type WordTable<T, const N: usize> = [(&'static str, T); N];

pub(crate) const FIRST: WordTable<FirstRule, 3> =
    [("gathered", FirstRule::Gathered), ("alone", FirstRule::Alone), ("both", FirstRule::Both)];
pub(crate) const BELOW: WordTable<TooFewRule, 2> =
    [("carried", TooFewRule::Carried), ("ended", TooFewRule::Ended)];
pub(crate) const ONCE_PER: WordTable<OncePer, 3> =
    [("event", OncePer::Event), ("mail", OncePer::Mail), ("subject", OncePer::Subject)];
pub(crate) const ONLINE: WordTable<OnlineRule, 2> = [("hold", OnlineRule::Hold), ("ended", OnlineRule::End)];
pub(crate) const THEN: WordTable<QuietAction, 3> =
    [("hold", QuietAction::Hold), ("silent", QuietAction::Silent), ("ended", QuietAction::End)];
/// Whether the product is asked if the app is connected.
pub(crate) const ASK: WordTable<bool, 1> = [("live", true)];
/// Whether the person who did it is told.
pub(crate) const ACTOR: WordTable<bool, 2> = [("told", true), ("left_out", false)];
/// Whether a message goes out again that may have been sent.
pub(crate) const UNSURE: WordTable<bool, 2> = [("again", true), ("later", false)];
/// What of a mail can be counted.
pub(crate) const COUNTS: [&str; 2] = ["followed", "opened"];

pub(crate) static CHANNELS: [&str; Channel::ALL.len()] = {
    let mut names = [""; Channel::ALL.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = Channel::ALL[at].name();
        at += 1;
    }
    names
};
pub(super) static HOOKS: [&str; Hook::ALL.len()] = {
    let mut names = [""; Hook::ALL.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = Hook::ALL[at].name();
        at += 1;
    }
    names
};
pub(crate) static FORMATS: [&str; SourceFormat::ALL.len()] = {
    let mut names = [""; SourceFormat::ALL.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = SourceFormat::ALL[at].name();
        at += 1;
    }
    names
};

/// The words alone.
pub(super) const fn list_words<T, const N: usize>(table: &WordTable<T, N>) -> [&'static str; N] {
    let mut words = [""; N];
    let mut at = 0;
    while at < N {
        words[at] = table[at].0;
        at += 1;
    }
    words
}

pub(super) static FIRST_WORDS: [&str; 3] = list_words(&FIRST);
pub(super) static BELOW_WORDS: [&str; 2] = list_words(&BELOW);
pub(super) static ONCE_PER_WORDS: [&str; 3] = list_words(&ONCE_PER);
pub(super) static ONLINE_WORDS: [&str; 2] = list_words(&ONLINE);
pub(super) static THEN_WORDS: [&str; 3] = list_words(&THEN);
pub(super) static ASK_WORDS: [&str; 1] = list_words(&ASK);
pub(super) static ACTOR_WORDS: [&str; 2] = list_words(&ACTOR);
pub(super) static UNSURE_WORDS: [&str; 2] = list_words(&UNSURE);
