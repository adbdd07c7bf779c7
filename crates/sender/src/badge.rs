//! What devices are told without words: the number on the icon of an app, which is how many bundles of the person's feed are new, by
//! the rules by which the feed counts them; and which pushes are to go from the screen. What was told last is noted of the
//! person, so that no push without words is sent that would change nothing.

use std::collections::BTreeMap;

use catalogue::Catalogue;
use courier::PushPayload;
use feed_bundles::{counts::FeedCounts, listing::FeedRules};
use model::{
    Channel, DayView, ReadyId, UtcMillis, Value, VersionedState, WorldSnapshot, limits::REVOCABLE_MS,
    ready::Ready,
};

use crate::{config::WITHDRAWN_MAX, facts::SenderFacts};

/// The note of what was told last.
const TOLD: &str = "icon";

/// What devices are told beside words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct IconNews {
    /// Nothing where the plan's pushes have none.
    pub number: Option<u32>,
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
        let count = || {
            let rules = FeedRules { catalogue, reader: facts.reader(ready), world, now };
            let counts = FeedCounts::count_feed(rules, [&facts.view]);
            u32::try_from(counts.all.new.number()).unwrap_or(u32::MAX)
        };
        Self { number: ready.badge.then(count), withdrawn: list_withdrawn_pushes(&facts.view) }
    }

    /// Whether the devices were told the same before, or there is nothing to tell.
    pub fn is_known(&self, facts: &SenderFacts) -> bool {
        let is_nothing = self.number.is_none() && self.withdrawn.is_empty();
        is_nothing || facts.notes.text(TOLD) == Some(&*note_text(self.number, &self.withdrawn))
    }
}

/// Notes what a push told; nothing if it told no number and took none away, or what was told before. Pushes with words take none
/// away, so the next one without words still has to.
pub(crate) fn note_told(push: &PushPayload, facts: &SenderFacts, now: UtcMillis) -> Option<VersionedState> {
    if push.badge.is_none() && !push.wordless {
        return None;
    }
    let withdrawn = if push.wordless { &push.withdrawn[..] } else { &[][..] };
    let text = note_text(push.badge, withdrawn);
    let is_new = facts.notes.text(TOLD) != Some(&*text);
    is_new.then(|| VersionedState::from_values(now.0, [(TOLD, Some(Value::from_text(&text)))]))
}

/// The number, how many were taken away, and the newest of them: old ones are forgotten while others come.
fn note_text(number: Option<u32>, withdrawn: &[ReadyId]) -> String {
    let number = number.map_or_else(|| "-".to_owned(), |number| number.to_string());
    let newest = withdrawn.first().map_or_else(String::new, |newest| format!(" {newest}"));
    format!("{number} {}{newest}", withdrawn.len())
}

/// A push, by what is left of what it told.
struct ToldPush {
    at: UtcMillis,
    has_revoked: bool,
    has_others: bool,
}

/// What pushes told, and what counted as told by a push: that other Readys told it nobody can see here.
fn find_told_pushes(view: &DayView) -> BTreeMap<ReadyId, ToldPush> {
    let mut pushes = BTreeMap::new();
    for (_, entry) in view.entries() {
        for (id, at) in entry.tellers(Channel::Push) {
            let push = pushes.entry(id).or_insert(ToldPush { at, has_revoked: false, has_others: false });
            push.has_revoked |= entry.is_withdrawn();
            push.has_others |= !entry.is_withdrawn();
        }
    }
    pushes
}

fn list_newest(pushes: impl Iterator<Item = (UtcMillis, ReadyId)>, most: usize) -> Vec<ReadyId> {
    let mut pushes: Vec<(UtcMillis, ReadyId)> = pushes.collect();
    pushes.sort_unstable_by(|a, b| b.cmp(a));
    pushes.truncate(most);
    pushes.into_iter().map(|(_, id)| id).collect()
}

fn list_withdrawn_pushes(view: &DayView) -> Vec<ReadyId> {
    let pushes = find_told_pushes(view).into_iter();
    let whole = pushes.filter(|(_, push)| push.has_revoked && !push.has_others);
    list_newest(whole.map(|(id, push)| (push.at, id)), WITHDRAWN_MAX)
}

/// Pushes of which a part was revoked, the newest first, as long as they may still be on a screen.
pub(crate) fn list_partly_withdrawn(view: &DayView, now: UtcMillis) -> Vec<ReadyId> {
    let pushes = find_told_pushes(view).into_iter();
    let part = pushes.filter(|(_, push)| push.has_revoked && push.has_others);
    let recent = part.filter(|(_, push)| now.since(push.at) <= REVOCABLE_MS);
    list_newest(recent.map(|(id, push)| (push.at, id)), WITHDRAWN_MAX)
}
