//! What a person asks to change.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// The word by which a choice is taken back.
pub const UNSET: &str = "default";

/// A text that is stated, or that there is to be none.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct StatedText(pub Option<String>);

/// A change of a sheet. What is not named stays as it is.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SheetChange {
    /// One of the sheet's `languages`; null if the person states none.
    #[serde(deserialize_with = "read_stated", skip_serializing_if = "Option::is_none")]
    pub language: Option<StatedText>,
    /// A full hour, `18:00`, or null.
    #[serde(deserialize_with = "read_stated", skip_serializing_if = "Option::is_none")]
    pub hour: Option<StatedText>,
    /// `22:00-08:00`, or null.
    #[serde(deserialize_with = "read_stated", skip_serializing_if = "Option::is_none")]
    pub quiet: Option<StatedText>,
    /// `2026-12-24`, a date that is not over, or null.
    #[serde(deserialize_with = "read_stated", skip_serializing_if = "Option::is_none")]
    pub quiet_until: Option<StatedText>,
    /// By the channel's name.
    pub channels: BTreeMap<String, ChannelChange>,
    /// What is about more counts first, whatever their order.
    pub choices: Vec<ChoiceChange>,
}

/// A change of a channel as a whole.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ChannelChange {
    pub off: Option<bool>,
    /// One of the channel's `plans`, or null.
    #[serde(deserialize_with = "read_stated", skip_serializing_if = "Option::is_none")]
    pub plan: Option<StatedText>,
}

/// A choice, with the fields of a `tidings.preference`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ChoiceChange {
    /// `on`, `digest`, `off` or `default`.
    pub choice: String,
    /// For this channel alone.
    pub channel: Option<String>,
    pub category: Option<String>,
    pub kind: Option<String>,
    pub subject: Option<String>,
    pub thread: Option<String>,
    pub actor: Option<String>,
    pub all: bool,
}

/// A field that is null says something else than one that is not there.
fn read_stated<'de, D: Deserializer<'de>>(given: D) -> Result<Option<StatedText>, D::Error> {
    StatedText::deserialize(given).map(Some)
}

/// What is wrong with a change: where in it, as a JSON pointer, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SheetRefusal {
    pub at: String,
    pub reason: String,
}
