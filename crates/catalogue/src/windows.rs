//! Which of a plan's windows an entry belongs to, and the instant that it is about.

use std::{borrow::Cow, sync::Arc};

use model::{
    Actor, Kind, SubjectRef, UtcMillis, Value, VersionedState,
    limits::ID_BYTES_MAX,
    plan::{CloseRule, KeyPart, Plan},
    window::WindowTarget,
};
use xxhash_rust::xxh3::xxh3_64;

use crate::{Catalogue, KindDef};

/// Between the parts of a key. A part that holds one is written so that it does not look like two.
const BETWEEN: char = '/';

/// What is told, as far as windows depend on it.
#[derive(Clone, Copy, Debug)]
pub struct WindowEntry<'a> {
    pub kind: &'a Kind,
    pub subject: &'a SubjectRef,
    pub actor: Option<&'a Actor>,
    /// The subject as it is known.
    pub state: &'a VersionedState,
}

impl WindowEntry<'_> {
    /// The window of a plan that this belongs to.
    pub fn window_target(&self, plan: &Plan) -> WindowTarget {
        WindowTarget { plan: plan.name.clone(), key: self.key(plan), aim: self.aim(plan) }
    }

    fn key(&self, plan: &Plan) -> Arc<str> {
        join_key(plan.key.iter().map(|part| self.key_part(part)))
    }

    fn key_part(&self, part: &KeyPart) -> Cow<'_, str> {
        match part {
            KeyPart::Kind => Cow::Borrowed(self.kind.as_str()),
            KeyPart::Subject => Cow::Borrowed(self.subject.as_str()),
            KeyPart::Actor => self.actor.map_or(Cow::Borrowed(""), |actor| actor.id.to_string().into()),
            KeyPart::Field(name) => {
                self.state.get(name).map_or(Cow::Borrowed(""), |value| value.to_string().into())
            }
        }
    }

    fn aim(&self, plan: &Plan) -> Option<UtcMillis> {
        let CloseRule::Before { field, .. } = &plan.close else { return None };
        match self.state.get(field) {
            Some(Value::Time(at)) => Some(*at),
            _ => None,
        }
    }
}

/// Parts as one key: other parts make another one.
pub(crate) fn join_key<'a>(parts: impl Iterator<Item = Cow<'a, str>>) -> Arc<str> {
    let parts: Vec<String> = parts.map(|part| escape_part(&part)).collect();
    let key = parts.join(&BETWEEN.to_string());
    if key.len() <= ID_BYTES_MAX {
        return key.into();
    }
    // Long ones are told apart by all of it, and begin so that a person recognises them.
    let hash = format!("~{:016x}", xxh3_64(key.as_bytes()));
    let end = key.floor_char_boundary(ID_BYTES_MAX - hash.len());
    format!("{}{hash}", &key[..end]).into()
}

fn escape_part(part: &str) -> String {
    part.replace('%', "%25").replace(BETWEEN, "%2F")
}

impl Catalogue {
    /// The plans that a kind offers, on any channel.
    fn offered_plans<'a>(&'a self, kind: &'a KindDef) -> impl Iterator<Item = &'a Plan> {
        kind.plans.iter().filter_map(|name| self.plans.by_name.get(name))
    }

    /// The fields of a kind's subject by which its plans tell windows apart, or that say when they close.
    pub fn window_fields<'a>(&'a self, kind: &'a KindDef) -> impl Iterator<Item = &'a str> {
        self.offered_plans(kind).flat_map(|plan| {
            let aim = match &plan.close {
                CloseRule::Before { field, .. } => Some(field.as_str()),
                _ => None,
            };
            let parts = plan.key.iter().filter_map(|part| match part {
                KeyPart::Field(field) => Some(field.as_str()),
                _ => None,
            });
            parts.chain(aim)
        })
    }

    /// The windows that a thing belongs to, of the plans that its kind offers. Those of plans that have only one
    /// for each person and no instant of their own go without saying.
    pub fn windows_of(&self, kind: &KindDef, thing: &WindowEntry<'_>) -> Vec<WindowTarget> {
        let told_apart =
            |plan: &&Plan| !plan.key.is_empty() || matches!(plan.close, CloseRule::Before { .. });
        self.offered_plans(kind).filter(told_apart).map(|plan| thing.window_target(plan)).collect()
    }
}
