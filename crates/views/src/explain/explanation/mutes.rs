//! Which of a person's mutes stands against an entry.

use std::collections::BTreeSet;

use catalogue::truth::find_mutes;
use model::{EntryReason, EntryView};

use super::ExplanationBuilder;

impl ExplanationBuilder<'_> {
    /// Names the mutes that match these reasons now. The person may have ended since what counted then.
    pub(super) fn describe_mutes(&self, entry: &EntryView, reasons: &BTreeSet<EntryReason>) -> String {
        let told = self.tellable_entry(entry, reasons);
        let of = |reason: &EntryReason| {
            let kind = self.catalogue.kinds.get(&reason.kind);
            find_mutes(&self.gathered.world, self.reader, &told, reason, kind)
        };
        let named: BTreeSet<String> = reasons.iter().flat_map(of).map(|name| describe_mute(&name)).collect();
        if named.is_empty() {
            return "muted at that time".to_owned();
        }
        format!("muted: {}", named.into_iter().collect::<Vec<_>>().join(" and "))
    }
}

/// A mute by its name, for people: kinds are words of the catalogue, the rest has names of its own.
fn describe_mute(name: &str) -> String {
    match name.split_once(' ') {
        Some(("kind", kind)) => format!("the kind `{kind}`"),
        _ => format!("the {name}"),
    }
}
