//! Why the reader gets something, in their words; with whom, and how far from them.

use std::collections::{BTreeMap, BTreeSet};

use catalogue::{Audience, Catalogue};
use languages::{MessageValue, ReaderLanguage};
use model::{AudienceMatch, GeoPoint, Person, SubjectRef, Value, VersionedState, person::profile};

use crate::{input::ItemInput, text_cleaning, values::MailViews};

#[cfg(test)]
mod tests;

/// What reasons are said with.
#[derive(Clone, Copy)]
pub struct ReasonTeller<'a> {
    pub catalogue: &'a Catalogue,
    pub language: &'a ReaderLanguage,
    pub persons: &'a BTreeMap<Person, VersionedState>,
    /// Where the reader is.
    pub place: Option<GeoPoint>,
}

impl ReasonTeller<'_> {
    /// Every reason, those of one sort together: `you follow Mira Holm and Jon Vik, it is 12 km from you, and it
    /// was picked for you`.
    pub fn reason_sentence(&self, item: &ItemInput<'_>, views: &MailViews<'_>) -> String {
        let (mut followed, mut others) = (Vec::new(), Vec::new());
        let (mut near, mut named, mut listed, mut everyone) = (false, false, false, false);
        for reason in item.reasons {
            match &reason.because {
                AudienceMatch::Follows(target) => {
                    add_name(&mut followed, self.followed_name(target, item, views));
                }
                AudienceMatch::Mutual(other) => {
                    let name =
                        self.name(other).unwrap_or_else(|| self.language.house_sentence("somebody", &[]));
                    add_name(&mut others, name);
                }
                AudienceMatch::Near => near = true,
                AudienceMatch::Named => named = true,
                AudienceMatch::Listed(_) => listed = true,
                AudienceMatch::Everyone => everyone = true,
            }
        }
        let follows = !followed.is_empty();
        let mutual = !others.is_empty();
        // A reason that stands alone is said shorter than one in a row of clauses.
        let alone = [follows, near, named, mutual, listed, everyone].iter().filter(|is| **is).count() < 2;
        let say = |name: &str| self.language.house_sentence(name, &[]);
        let with = |name: &str, value: &str, text: String| {
            self.language.house_sentence(name, &[(value, MessageValue::Sentence(text))])
        };
        let of_names = |name: &str, names: &[String]| with(name, "names", self.language.join_names(names));
        let clauses = [
            follows.then(|| of_names("follows", &followed)),
            near.then(|| with("near", "distance", fill_other(self.distance_words(item), &say("near-you")))),
            named.then(|| say("named")),
            mutual.then(|| of_names(if alone { "mutual" } else { "mutual-clause" }, &others)),
            listed.then(|| say(if alone { "listed" } else { "listed-clause" })),
            everyone.then(|| say("everyone")),
        ];
        let clauses: Vec<String> = clauses.into_iter().flatten().collect();
        self.language.join_clauses(&clauses, followed.len() > 1)
    }

    /// The other party, of something that is between two; nothing if there is none, or none with a name.
    pub fn other_party(&self, item: &ItemInput<'_>) -> Option<String> {
        item.reasons.iter().find_map(|reason| match &reason.because {
            AudienceMatch::Mutual(other) => self.name(other),
            AudienceMatch::Follows(_)
            | AudienceMatch::Near
            | AudienceMatch::Named
            | AudienceMatch::Listed(_)
            | AudienceMatch::Everyone => None,
        })
    }

    /// How far something is that is told for being near: `12 km from you`; nothing if nobody knows.
    pub fn distance_words(&self, item: &ItemInput<'_>) -> String {
        let near = item.reasons.iter().filter(|reason| reason.because == AudienceMatch::Near);
        let fields: BTreeSet<&str> = near.filter_map(|reason| self.place_field(&reason.kind)).collect();
        let far = |field: &str| match (self.place, item.state.get(field)) {
            (Some(reader), Some(Value::Place(place))) => Some(reader.distance_km(*place)),
            _ => None,
        };
        let nearest = fields.into_iter().filter_map(far).min_by(f64::total_cmp);
        match nearest.map(f64::round) {
            None => String::new(),
            Some(km) if km < 1.0 => self.language.house_sentence("distance-short", &[]),
            Some(km) => self.language.house_sentence("distance", &[("km", MessageValue::Number(km))]),
        }
    }

    /// The place by which a kind finds who is near.
    fn place_field(&self, kind: &model::Kind) -> Option<&str> {
        match &self.catalogue.kinds.get(kind)?.to {
            Audience::Near { field, .. } => Some(field),
            Audience::FollowersOf(_)
            | Audience::SubscribersOf(_)
            | Audience::Person(_)
            | Audience::Mutual(..)
            | Audience::Listed
            | Audience::Everyone => None,
        }
    }

    /// What is followed, by its name: `Mira Holm`, or `this author` of whom nothing is known.
    fn followed_name(&self, target: &SubjectRef, item: &ItemInput<'_>, views: &MailViews<'_>) -> String {
        let state = if target == item.subject { Some(item.state) } else { views.related.get(target) };
        let name = state.map(|state| views.name(target, state)).filter(|name| !name.is_empty());
        name.unwrap_or_else(|| {
            let sort = MessageValue::Text(text_cleaning::clean_value(target.kind()));
            self.language.house_sentence("unnamed", &[("sort", sort)])
        })
    }

    fn name(&self, person: &Person) -> Option<String> {
        let name = text_cleaning::clean_line(self.persons.get(person)?.text(profile::NAME)?, usize::MAX);
        (!name.is_empty()).then_some(name)
    }
}

fn fill_other(text: String, other: &str) -> String {
    if text.is_empty() { other.to_owned() } else { text }
}

fn add_name(names: &mut Vec<String>, name: String) {
    if !names.contains(&name) {
        names.push(name);
    }
}
