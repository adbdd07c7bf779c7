//! A change as its source states it, whatever form it came in.

use model::UtcMillis;
use serde_json::{Map, Value};

use crate::quarantine::VALUE_BYTES_KEPT;

/// Bytes of one change: five thousand persons with long ids and scores have room.
pub const ITEM_BYTES_MAX: usize = 512 * 1024;

/// What is wrong with a change that has `subject` and `subjects`.
pub(crate) const BOTH_SUBJECTS: &str = "give either `subject` or `subjects`, not both";

// Whatever is put aside can be tried again.
const _: () = assert!(ITEM_BYTES_MAX <= VALUE_BYTES_KEPT);

/// A change as its source states it. Nothing in it has been looked up or admitted.
#[derive(Clone, PartialEq, Debug)]
pub struct CloudChange {
    pub id: String,
    pub source: String,
    /// What happened: the attribute `type`.
    pub what: String,
    pub subject: Option<String>,
    /// Several things that it is about, instead of one: the attribute `subjects`.
    pub subjects: Vec<String>,
    /// Persons whom the change itself names: the attribute `persons`.
    pub persons: Vec<CloudPerson>,
    pub time: Option<UtcMillis>,
    pub data: Map<String, Value>,
    /// The extension attribute `actor`.
    pub actor: Option<String>,
    /// What to call who did it: the extension attribute `actorname`.
    pub actor_name: Option<String>,
    /// Which sort of actor it is: the extension attribute `actorkind`.
    pub actor_kind: Option<String>,
    /// The extension attribute `version`.
    pub version: Option<i64>,
}

/// A person whom a change names, as its source states it.
#[derive(Clone, PartialEq, Debug)]
pub struct CloudPerson {
    pub person: String,
    /// How well it suits them, by the source's own measure: greater is better.
    pub score: Option<f64>,
}
