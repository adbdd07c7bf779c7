//! Which of a person's mutes stands against an entry, by the rule of [`catalogue::truth`].

use std::collections::BTreeSet;

use model::{Because, EntryView, Reason, Value, person::mutes};

use super::Telling;

impl Telling<'_> {
    /// Names the mutes that match these reasons now. The person may have ended since what counted then.
    pub(super) fn muted(&self, entry: &EntryView, reasons: &BTreeSet<Reason>) -> String {
        let subject = &self.event.subject;
        let state = self.gathered.world.state(self.reader.tenant, subject);
        let mut named = BTreeSet::new();
        let mut name = |flag: String, what: String| {
            if self.reader.mutes.get(&flag).and_then(Value::as_flag) == Some(true) {
                named.insert(what);
            }
        };
        for reason in reasons {
            name(mutes::kind(&reason.kind), format!("the kind `{}`", reason.kind));
            let party = match &reason.because {
                Because::Mutual(other) => Some(other),
                _ => None,
            };
            for person in entry.actor().into_iter().chain(party) {
                name(mutes::actor(person), format!("the actor {person}"));
            }
            let kind = self.catalogue.kinds.get(&reason.kind);
            for of in kind.map_or(&[][..], |kind| kind.threads(subject, state)) {
                name(mutes::thread(of), format!("the thread {of}"));
            }
        }
        name(mutes::subject(subject), format!("the subject {subject}"));
        if named.is_empty() {
            return "muted at that time".to_owned();
        }
        format!("muted: {}", named.into_iter().collect::<Vec<_>>().join(" and "))
    }
}
