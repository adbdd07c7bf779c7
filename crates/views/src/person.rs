//! Everything that is known about one person, for support: who they are, what they follow and mute, what they will get
//! and got, and what became of every entry.
//!
//! [`load_facts`] reads, [`build_dossier`] decides what is said; only the first reads anything. Addresses and tokens are masked here
//! already, so that no view can forget to.

mod dossier;
mod load;
mod preferences;
#[cfg(test)]
mod tests;

use catalogue::Catalogue;
use courier::outbox::OutboxCourier;
use model::Day;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use dossier::build_dossier;
pub use load::{DossierFacts, load_facts};

pub use crate::preview::describe_unknown_person;

use crate::{
    days::DayEntries,
    open_windows::OpenWindow,
    preview::{LookupContext, PreviewStudio},
    suppressions::SuppressionLine,
};

/// How far back days are shown.
pub const DAYS_SHOWN: i32 = 7;
/// Entries of each of them, the newest; and of a day that is asked for alone.
pub const ENTRIES_LISTED: usize = 50;
pub const ENTRIES_OF_DAY_MAX: usize = 3_000;
/// The newest follows, preferences and messages that are listed; of more only the number is said.
pub const FOLLOWS_LISTED: usize = 30;
pub const PREFERENCES_LISTED: usize = 30;
pub const GOT_LISTED: usize = 20;
/// Follows that are read at most, so that somebody who follows everything keeps nobody waiting.
pub const FOLLOWS_READ_MAX: usize = 100_000;

/// Where to look.
#[derive(Clone, Copy)]
pub struct DossierSources<'a> {
    pub at: LookupContext<'a>,
    /// Without it nobody knows what subjects are called and what still waits.
    pub catalogue: Option<&'a Catalogue>,
    /// What the next messages are made with.
    pub studio: Option<&'a PreviewStudio>,
    /// For what messages said, where they lie there.
    pub outbox: Option<&'a OutboxCourier>,
    /// This day alone, instead of the last ones.
    pub day: Option<Day>,
}

/// All that is said of a person. Instants are in UTC.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct PersonDossier {
    pub person: String,
    /// When it was looked.
    pub at: String,
    /// The zone that their times are in: the one of the profile, or else UTC.
    pub zone: String,
    /// While there is a canary: whether they have it (`canary`) or not (`base`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub catalogue: Option<String>,
    /// What could not be found out, and why.
    pub unknown: Vec<String>,
    pub profile: Vec<DossierField>,
    pub erased: Option<DossierErasure>,
    /// What keeps mails from the address that they have.
    pub suppressions: Vec<SuppressionLine>,
    pub follows: DossierFollows,
    pub preferences: DossierPreferences,
    pub devices: Vec<DossierDevice>,
    /// Where they were seen last.
    pub seen: Vec<DossierSighting>,
    /// The open windows, the soonest first, each with the message that it would be now.
    pub coming: Vec<DossierWindow>,
    /// Messages that did not go out and are tried again.
    pub again: Vec<DossierRetry>,
    /// The last messages, the newest first.
    pub got: Vec<DossierMessage>,
    /// Newest first; days without entries are left out.
    pub days: Vec<DossierDay>,
}

/// A field of the profile.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct DossierField {
    pub field: String,
    pub value: String,
}

/// That the person was erased.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct DossierErasure {
    /// `running`, `erased`, or `welcome` where they may come back.
    pub state: String,
    /// When it was asked for last.
    pub asked: Option<String>,
}

/// What they follow: the newest, and how many there are.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct DossierFollows {
    pub newest: Vec<DossierFollow>,
    pub count: usize,
    /// There are more than were counted.
    pub is_cut: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct DossierFollow {
    pub subject: String,
    /// What it is called, if it says.
    pub name: Option<String>,
    /// Since when, unless the source's versions are no instants.
    pub since: Option<String>,
}

/// How they want to be told: the newest, and how many there are.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct DossierPreferences {
    pub newest: Vec<DossierPreference>,
    pub count: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct DossierPreference {
    /// `on`, `digest` or `off`.
    pub choice: String,
    /// All unless it is there.
    pub channel: Option<String>,
    /// `kind`, `category`, `actor`, `subject`, `thread`, `about` (a kind about a subject) or `all`.
    pub sort: String,
    pub of: String,
    pub name: Option<String>,
    pub since: Option<String>,
}

impl DossierPreference {
    /// Of what and how they want to be told, such as `maker Mira Okafor: off`.
    pub fn describe(&self) -> String {
        let channel = self.channel.as_ref().map(|channel| format!(" by {channel}")).unwrap_or_default();
        format!("{}: {}{channel}", self.describe_scope(), self.choice)
    }

    fn describe_scope(&self) -> String {
        let Self { sort, of, name, .. } = self;
        let called = || match (name, of.split_once(':')) {
            (Some(name), Some((sort, _))) => format!("{sort} {name}"),
            _ => of.clone(),
        };
        match sort.as_str() {
            "subject" => called(),
            "thread" => format!("everything about {}", called()),
            "actor" => format!("what {of} does"),
            "about" => of.replacen(' ', " about ", 1),
            "all" => "everything".to_owned(),
            sort => format!("{sort} {of}"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct DossierDevice {
    pub device: String,
    pub platform: String,
    /// The end of it: enough to tell two apart.
    pub token: String,
    pub since: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct DossierSighting {
    pub surface: String,
    pub at: String,
}

/// An open window.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct DossierWindow {
    pub window: OpenWindow,
    pub channel: Option<String>,
    /// Nothing where nothing would be told now, or nobody knows.
    pub message: Option<DossierPreview>,
}

/// The message that a window would be now.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct DossierPreview {
    pub headline: String,
    pub entries: usize,
    /// What has to be said beside it, such as why it would not go out.
    pub remarks: Vec<String>,
}

/// A message that is tried again.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct DossierRetry {
    pub plan: String,
    pub channel: String,
    pub entries: usize,
    pub at: String,
}

/// A message that took entries.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct DossierMessage {
    pub ready: String,
    pub channel: String,
    /// Where it was noted as it left, since it may come back.
    pub plan: Option<String>,
    /// What stood above it, where the outbox still has it.
    pub headline: Option<String>,
    /// The newest thing in it.
    pub about: String,
    pub entries: usize,
    /// What became of it, in words.
    pub outcome: String,
    pub at: Option<String>,
    /// The mail in the outbox.
    pub mail: Option<String>,
}

/// A day, with the newest of its entries.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct DossierDay {
    #[serde(flatten)]
    pub day: DayEntries,
    /// How many are older than those.
    pub more: usize,
}
