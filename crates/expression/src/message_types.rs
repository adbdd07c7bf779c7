//! The messages of a catalogue, as far as texts are checked against them.

use std::collections::BTreeMap;

/// The one function of texts.
pub const SAY: &str = "say";

/// What a message does with a value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum MessageArgument {
    /// It is written, or a word is chosen by it.
    Any,
    /// A plural is chosen by it.
    Number,
}

/// The messages that texts may say, each with the values it takes.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct MessageTypes {
    pub messages: BTreeMap<String, BTreeMap<String, MessageArgument>>,
    /// Some of them could not be read, which has been said: of a call nothing can be.
    pub is_partial: bool,
}
