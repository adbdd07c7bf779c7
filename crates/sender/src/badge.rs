//! The number on the icon of an app: how many bundles of the person's feed are new, by the rules by which the feed counts them.
//! What was told last is noted of the person, so that no push without words is sent that would change nothing.

use std::collections::BTreeMap;

use catalogue::Catalogue;
use courier::PushPayload;
use feed_bundles::{counts::FeedCounts, listing::FeedRules};
use model::{Channel, ReadyId, UtcMillis, Value, VersionedState, WorldSnapshot, ready::Ready};

use crate::{config::WITHDRAWN_MAX, facts::SenderFacts};

/// The note of what was told last.
const TOLD: &str = "icon";

/// What devices are told beside words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct IconNews {
    pub number: u32,
    /// Pushes of which all that they told was revoked, the newest first.
    pub withdrawn: Vec<ReadyId>,
}

impl IconNews {
    pub fn find(
        ready: &Ready,
        facts: &SenderFacts,
        (world, catalogue): (&WorldSnapshot, &Catalogue),
        now: UtcMillis,
    ) -> Self {
        let rules = FeedRules { catalogue, reader: facts.reader(ready), world, now };
        let counts = FeedCounts::count_feed(rules, [&facts.view]);
        let number = u32::try_from(counts.all.new.number()).unwrap_or(u32::MAX);
        Self { number, withdrawn: list_withdrawn_pushes(facts) }
    }

    /// Whether the devices were told the same before.
    pub fn is_known(&self, facts: &SenderFacts) -> bool {
        facts.notes.text(TOLD) == Some(&*note_text(self.number, self.withdrawn.len()))
    }
}

/// Notes what a push told; nothing if it told no number, or the one that was told before. Pushes with words take none away, so
/// the next one without words still has to.
pub(crate) fn note_told(push: &PushPayload, facts: &SenderFacts, now: UtcMillis) -> Option<VersionedState> {
    let withdrawn = if push.wordless { push.withdrawn.len() } else { 0 };
    let text = note_text(push.badge?, withdrawn);
    let is_new = facts.notes.text(TOLD) != Some(&*text);
    is_new.then(|| VersionedState::from_values(now.0, [(TOLD, Some(Value::from_text(&text)))]))
}

fn note_text(number: u32, withdrawn: usize) -> String {
    format!("{number} {withdrawn}")
}

fn list_withdrawn_pushes(facts: &SenderFacts) -> Vec<ReadyId> {
    let mut pushes: BTreeMap<ReadyId, (UtcMillis, bool)> = BTreeMap::new();
    for (_, entry) in facts.view.entries() {
        for (id, at) in entry.tellers(Channel::Push) {
            let (_, is_withdrawn) = pushes.entry(id).or_insert((at, true));
            *is_withdrawn &= entry.is_withdrawn();
        }
    }
    let mut withdrawn: Vec<(UtcMillis, ReadyId)> =
        pushes.into_iter().filter(|(_, (_, all))| *all).map(|(id, (at, _))| (at, id)).collect();
    withdrawn.sort_unstable_by(|a, b| b.cmp(a));
    withdrawn.truncate(WITHDRAWN_MAX);
    withdrawn.into_iter().map(|(_, id)| id).collect()
}
