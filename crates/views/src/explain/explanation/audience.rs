//! The explanation if there is no entry: whether the person is in the audience now, and if not, why.

use std::collections::BTreeMap;

use catalogue::{Audience, KindDef};
use fanout::reach;
use model::{
    Actor, EntryKey, SubjectRef, Value, VersionedState,
    person::{
        notes,
        profile::{self, PlaceOrigin},
    },
};
use preferences::{PreferenceChoice, PreferenceScope, ReadingPlace};
use source_text::did_you_mean;

use super::{super::StepBearing, ExplanationBuilder};

impl ExplanationBuilder<'_> {
    /// There is no entry: why the person was not found.
    pub(super) fn explain_no_entry(&mut self, key: EntryKey) -> String {
        if self.gathered.life.is_over(key.day(), self.now) {
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
            Audience::SubscribersOf(fields) => self.check_subscriptions(kind, fields),
            Audience::Near { within_km, .. } => match self.distance(kind) {
                Some((km, far, how)) if km <= *within_km => {
                    (true, format!("they are {far} away{how}, within {within_km} km"))
                }
                Some((_, far, how)) => {
                    (false, format!("they are {far} away{how}, not within {within_km} km"))
                }
                None if profile::find_place(self.reader.profile).is_none() => {
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
        let own =
            self.event.actor.as_ref().and_then(Actor::person) == Some(self.reader.person) && !kind.actor_told;
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

    fn check_subscriptions(&self, kind: &KindDef, fields: &[String]) -> (bool, String) {
        let known = self.subject();
        let targets: Vec<&SubjectRef> =
            fields.iter().flat_map(|field| reach::target_refs(self.event, field, known)).collect();
        if targets.is_empty() {
            return (false, format!("{} names nothing to subscribe to", fields.join(", ")));
        }
        let has_word = |target: &SubjectRef| {
            let scopes = [PreferenceScope::About(&kind.name, target), PreferenceScope::Subject(target)];
            let said = self.reader.preferences;
            let of = |place| scopes.iter().find_map(|scope| scope.choice_in(said, place));
            ReadingPlace::ALL.into_iter().filter_map(of).any(|(choice, _)| choice != PreferenceChoice::Off)
        };
        match targets.iter().find(|target| has_word(target)) {
            Some(target) => (true, format!("they subscribed to {target}")),
            None => {
                let names: Vec<&str> = targets.iter().map(|target| target.as_str()).collect();
                (false, format!("they did not subscribe to {}", names.join(", ")))
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

    /// How far away they are, in kilometres and in words, and how one knows.
    pub(super) fn distance(&self, kind: &KindDef) -> Option<(f64, String, &'static str)> {
        let Audience::Near { field, .. } = &kind.to else { return None };
        let (here, there) = (profile::find_place(self.reader.profile)?, self.value(field)?.as_place()?);
        let km = here.at.distance_km(there);
        let (far, how) = match here.origin {
            PlaceOrigin::Stated => (format!("{km:.1} km"), ""),
            PlaceOrigin::Address => (describe_guess(km), ", by their IP address"),
        };
        Some((km, far, how))
    }
}

/// A distance from a place that is known to a tenth of a degree, some eleven kilometres: no more digits than that has.
fn describe_guess(km: f64) -> String {
    const LEAST_KM: f64 = 11.0;
    if km < LEAST_KM {
        return format!("less than {LEAST_KM} km");
    }
    let step = if km < 100.0 {
        1.0
    } else if km < 1_000.0 {
        10.0
    } else {
        100.0
    };
    let digits = format!("{:.0}", (km / step).round() * step);
    match digits.len().checked_sub(3).filter(|thousands| *thousands > 0) {
        Some(at) => format!("about {},{} km", &digits[..at], &digits[at..]),
        None => format!("about {digits} km"),
    }
}

#[cfg(test)]
mod tests {
    use super::describe_guess;

    #[test]
    fn a_guessed_distance_has_no_more_digits_than_are_known() {
        let check = |km: f64, expected: &str| assert_eq!(describe_guess(km), expected, "{km}");
        check(0.0, "less than 11 km");
        check(10.9, "less than 11 km");
        check(33.4, "about 33 km");
        check(877.7, "about 880 km");
        check(999.0, "about 1,000 km");
        check(1_391.0, "about 1,400 km");
        check(20_015.0, "about 20,000 km");
    }
}
