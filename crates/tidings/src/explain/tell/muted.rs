//! Which of a person's mutes stands against an entry.

use std::collections::BTreeSet;

use catalogue::truth::{Told, muting};
use model::{EntryView, Reason};

use super::Telling;

impl Telling<'_> {
    /// Names the mutes that match these reasons now. The person may have ended since what counted then.
    pub(super) fn muted(&self, entry: &EntryView, reasons: &BTreeSet<Reason>) -> String {
        let told = Told { subject: &self.event.subject, actor: entry.actor(), reasons };
        let of = |reason: &Reason| {
            let kind = self.catalogue.kinds.get(&reason.kind);
            muting(&self.gathered.world, self.reader, &told, reason, kind)
        };
        let named: BTreeSet<String> = reasons.iter().flat_map(of).map(|name| said(&name)).collect();
        if named.is_empty() {
            return "muted at that time".to_owned();
        }
        format!("muted: {}", named.into_iter().collect::<Vec<_>>().join(" and "))
    }
}

/// A mute by its name, for people: kinds are words of the catalogue, the rest has names of its own.
fn said(name: &str) -> String {
    match name.split_once(' ') {
        Some(("kind", kind)) => format!("the kind `{kind}`"),
        _ => format!("the {name}"),
    }
}
