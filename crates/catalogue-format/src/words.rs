//! The words of a catalogue and what each means: the reader looks them up here, and the table lists them.

use std::fmt;

use model::{
    Channel,
    hook::Hook,
    plan::{FirstRule, OncePer, OnlineRule, QuietAction, TooFewRule},
};
use preferences::PreferenceChoice;

/// Words with their meanings.
pub type WordTable<T, const N: usize> = [(&'static str, T); N];

pub const FIRST: WordTable<FirstRule, 3> =
    [("gathered", FirstRule::Gathered), ("alone", FirstRule::Alone), ("both", FirstRule::Both)];
pub const BELOW: WordTable<TooFewRule, 2> = [("carried", TooFewRule::Carried), ("ended", TooFewRule::Ended)];
pub const ONCE_PER: WordTable<OncePer, 3> =
    [("event", OncePer::Event), ("mail", OncePer::Mail), ("subject", OncePer::Subject)];
pub const ONLINE: WordTable<OnlineRule, 2> = [("hold", OnlineRule::Hold), ("ended", OnlineRule::End)];
pub const THEN: WordTable<QuietAction, 3> =
    [("hold", QuietAction::Hold), ("silent", QuietAction::Silent), ("ended", QuietAction::End)];
/// Whether the product is asked if the app is connected.
pub const ASK: WordTable<bool, 1> = [("live", true)];
/// Whether the person who did it is told.
pub const ACTOR: WordTable<bool, 2> = [("told", true), ("left_out", false)];
/// Whether a message goes out again that may have been sent.
pub const UNSURE: WordTable<bool, 2> = [("again", true), ("later", false)];
/// How somebody is told who has not chosen.
pub const CHOICE: WordTable<PreferenceChoice, 3> =
    [("on", PreferenceChoice::On), ("digest", PreferenceChoice::Digest), ("off", PreferenceChoice::Off)];
/// What of a mail can be counted.
pub const COUNTS: [&str; 2] = ["followed", "opened"];

pub static CHANNELS: [&str; Channel::ALL.len()] = {
    let mut names = [""; Channel::ALL.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = Channel::ALL[at].name();
        at += 1;
    }
    names
};
pub static HOOKS: [&str; Hook::ALL.len()] = {
    let mut names = [""; Hook::ALL.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = Hook::ALL[at].name();
        at += 1;
    }
    names
};
pub static FORMATS: [&str; SourceFormat::ALL.len()] = {
    let mut names = [""; SourceFormat::ALL.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = SourceFormat::ALL[at].name();
        at += 1;
    }
    names
};

/// The words alone.
pub const fn list_words<T, const N: usize>(table: &WordTable<T, N>) -> [&'static str; N] {
    let mut words = [""; N];
    let mut at = 0;
    while at < N {
        words[at] = table[at].0;
        at += 1;
    }
    words
}

pub static FIRST_WORDS: [&str; 3] = list_words(&FIRST);
pub static BELOW_WORDS: [&str; 2] = list_words(&BELOW);
pub static ONCE_PER_WORDS: [&str; 3] = list_words(&ONCE_PER);
pub static ONLINE_WORDS: [&str; 2] = list_words(&ONLINE);
pub static THEN_WORDS: [&str; 3] = list_words(&THEN);
pub static ASK_WORDS: [&str; 1] = list_words(&ASK);
pub static ACTOR_WORDS: [&str; 2] = list_words(&ACTOR);
pub static UNSURE_WORDS: [&str; 2] = list_words(&UNSURE);
pub static CHOICE_WORDS: [&str; 3] = list_words(&CHOICE);
/// Which of the days of the week of a month.
pub const NTH_WORDS: [&str; 4] = ["first", "second", "third", "fourth"];

/// How a topic's records are written.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SourceFormat {
    Json,
    Avro,
    CloudEvents,
    Debezium,
}

impl SourceFormat {
    pub const ALL: [Self; 4] = [Self::Json, Self::Avro, Self::CloudEvents, Self::Debezium];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Avro => "avro",
            Self::CloudEvents => "cloudevents",
            Self::Debezium => "debezium",
        }
    }

    /// What expressions over its records read beside what every source has.
    pub const fn own_names(self) -> &'static [&'static str] {
        match self {
            Self::Debezium => &["before", "source"],
            Self::CloudEvents => &["event"],
            Self::Json | Self::Avro => &[],
        }
    }
}

impl fmt::Display for SourceFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
