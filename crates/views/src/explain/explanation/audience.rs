//! The explanation if there is no entry: whether the person is in the audience now, and if not, why.

use std::collections::BTreeMap;

use catalogue::{Audience, KindDef};
use fanout::reach;
use model::{
    EntryKey, SubjectRef, Value, VersionedState,
    person::{notes, profile},
};
use source_text::did_you_mean;

use super::{super::StepBearing, ExplanationBuilder};

impl ExplanationBuilder<'_> {
    /// There is no entry: why the person was not found.
    pub(super) fn explain_no_entry(&mut self, key: EntryKey) -> String {
        if key.day().expires_at() <= self.now {
            self.add_step(
                StepBearing::Against,
                format!("its day, {}, was archived or has expired", key.day()),
            );
            return "the day has expired".to_owned();
        }
        if self.gathered.notes.flag(notes::ERASED) {
            self.add_step(StepBearing::Against, "the person was erased");
            return "erased".to_owned();
        }
        let (event, catalogue) = (self.event, self.catalogue);
        let mut kinds = reach::kinds_of_event(event, catalogue).peekable();
        if kinds.peek().is_none() {
            let near = did_you_mean(&event.what, catalogue.kinds.values().map(|kind| kind.on.as_str()));
            let near = near.map(|near| format!(": {near}")).unwrap_or_default();
            self.add_step(StepBearing::Against, format!("no kind is on `{}`{near}", event.what));
            return "no kind".to_owned();
        }
        let mut meant = false;
        for kind in kinds {
            meant |= self.check_kind(kind);
        }
        let is_gone = self.gathered.gone.contains(&key.day());
        if !meant {
            if is_gone {
                let text = format!("its day, {}, is gone: it is not known what was told then", key.day());
                self.add_step(StepBearing::Note, text);
            }
            return "not in the audience".to_owned();
        }
        match self.gathered.unread {
            // Whoever had an entry would have none any more.
            _ if is_gone => {
                self.add_step(
                    StepBearing::Against,
                    format!("its day, {}, was archived or has expired", key.day()),
                );
                return "no entry".to_owned();
            }
            0 => {
                let why = self.gathered.told_by.absence_reason(self.event);
                let why =
                    why.as_deref().unwrap_or("they are in the audience now, but were not when it was told");
                self.add_step(StepBearing::Note, why);
            }
            n => self.add_step(
                StepBearing::Note,
                format!("they are in the audience, and fan-out has {n} records still to read"),
            ),
        }
        if notes::is_full(&self.gathered.notes, key.day()) {
            self.add_step(StepBearing::Note, "their day was full; later entries were only counted");
        }
        "no entry".to_owned()
    }

    /// Whether the person is in the audience of a kind now, with the reason.
    fn check_kind(&mut self, kind: &KindDef) -> bool {
        let name = &kind.name;
        let (found, text) = match &kind.to {
            Audience::FollowersOf(fields) => self.check_follows(fields),
            Audience::Near { within_km, .. } => match self.distance(kind) {
                Some(km) if km <= *within_km => {
                    (true, format!("they are {km:.1} km away, within {within_km} km"))
                }
                Some(km) => (false, format!("they are {km:.1} km away, not within {within_km} km")),
                None if self.reader.profile.get(profile::PLACE).is_none() => {
                    (false, "their place is not known".to_owned())
                }
                None => (false, "its place is not known".to_owned()),
            },
            Audience::Person(field) => self.check_naming(&[field.as_str()]),
            Audience::Mutual(one, other) => self.check_naming(&[one.as_str(), other.as_str()]),
            Audience::Listed => {
                let listed = self.event.persons.iter().any(|listed| listed.person == *self.reader.person);
                (listed, format!("the change {} them", if listed { "lists" } else { "does not list" }))
            }
            Audience::Everyone => (true, "it is for everyone".to_owned()),
        };
        let own = self.event.actor.as_ref() == Some(self.reader.person) && !kind.actor_told;
        let (found, text) =
            if found && own { (false, "they did it themselves".to_owned()) } else { (found, text) };
        self.add_step(
            if found { StepBearing::For } else { StepBearing::Against },
            format!("`{name}`: {text}"),
        );
        found
    }

    fn check_follows(&self, fields: &[String]) -> (bool, String) {
        let known = self.subject();
        let targets: Vec<&SubjectRef> =
            fields.iter().flat_map(|field| reach::target_refs(self.event, field, known)).collect();
        if targets.is_empty() {
            return (false, format!("{} names nobody to follow", fields.join(", ")));
        }
        let reader = self.reader;
        let followed =
            targets.iter().find(|target| self.gathered.world.follows(reader.tenant, reader.person, target));
        match followed {
            Some(target) => (true, format!("they follow {target}")),
            None => {
                let names: Vec<&str> = targets.iter().map(|target| target.as_str()).collect();
                (false, format!("they do not follow {}", names.join(", ")))
            }
        }
    }

    fn check_naming(&self, fields: &[&str]) -> (bool, String) {
        let person = self.reader.person.as_str();
        let field = fields.iter().find(|field| self.value(field).and_then(Value::as_text) == Some(person));
        match field {
            Some(field) => (true, format!("`{field}` names them")),
            None => (false, format!("`{}` does not name them", fields.join("`, `"))),
        }
    }

    /// The subject as it is stored.
    fn subject(&self) -> &VersionedState {
        static NOTHING: VersionedState = VersionedState { cells: BTreeMap::new() };
        self.gathered.world.state(self.reader.tenant, &self.event.subject).unwrap_or(&NOTHING)
    }

    fn value(&self, field: &str) -> Option<&Value> {
        reach::field_cell(self.event, field, self.subject())?.value.as_ref()
    }

    pub(super) fn distance(&self, kind: &KindDef) -> Option<f64> {
        let Audience::Near { field, .. } = &kind.to else { return None };
        let (here, there) = (self.reader.profile.place(profile::PLACE)?, self.value(field)?.as_place()?);
        Some(here.distance_km(there))
    }
}
