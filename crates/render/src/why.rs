//! Why the reader gets something, in their words; with whom, and how far from them.

use std::collections::{BTreeMap, BTreeSet};

use catalogue::{Audience, Catalogue};
use model::{Because, Person, Place, State, SubjectRef, Value, person::profile};

use crate::{clean, filters, input::ItemInput, values::Views};

#[cfg(test)]
mod tests;

/// What reasons are said with.
#[derive(Clone, Copy)]
pub struct Telling<'a> {
    pub catalogue: &'a Catalogue,
    pub persons: &'a BTreeMap<Person, State>,
    /// Where the reader is.
    pub place: Option<Place>,
}

impl Telling<'_> {
    /// Every reason, those of one sort together: `you follow Mira Holm and Jon Vik, it is 12 km from you, and it
    /// was picked for you`.
    pub fn why(&self, item: &ItemInput<'_>, views: &Views<'_>) -> String {
        let (mut followed, mut others) = (Vec::new(), Vec::new());
        let (mut near, mut named, mut listed, mut everyone) = (false, false, false, false);
        for reason in item.reasons {
            match &reason.because {
                Because::Follows(target) => add(&mut followed, called(target, item, views)),
                Because::Mutual(other) => {
                    let name = self.name(other).unwrap_or_else(|| "somebody else".to_owned());
                    add(&mut others, name);
                }
                Because::Near => near = true,
                Because::Named => named = true,
                Because::Listed(_) => listed = true,
                Because::Everyone => everyone = true,
            }
        }
        let follows = !followed.is_empty();
        let mutual = !others.is_empty();
        // A reason that stands alone is said shorter than one in a row of clauses.
        let alone = [follows, near, named, mutual, listed, everyone].iter().filter(|is| **is).count() < 2;
        let word = |short: &str, clause: &str| if alone { short } else { clause }.to_owned();
        let clauses = [
            follows.then(|| format!("you follow {}", filters::and(&followed))),
            near.then(|| format!("it is {}", filled(self.distance(item), "near you"))),
            named.then(|| "it is for you".to_owned()),
            mutual.then(|| word("", "it is about ") + &format!("you and {}", filters::and(&others))),
            listed.then(|| word("picked for you", "it was picked for you")),
            everyone.then(|| "it is for everyone".to_owned()),
        ];
        joined(&clauses.into_iter().flatten().collect::<Vec<_>>(), followed.len() > 1)
    }

    /// The other party, of something that is between two; nothing if there is none, or none with a name.
    pub fn other(&self, item: &ItemInput<'_>) -> Option<String> {
        item.reasons.iter().find_map(|reason| match &reason.because {
            Because::Mutual(other) => self.name(other),
            Because::Follows(_) | Because::Near | Because::Named | Because::Listed(_) | Because::Everyone => {
                None
            }
        })
    }

    /// How far something is that is told for being near: `12 km from you`; nothing if nobody knows.
    pub fn distance(&self, item: &ItemInput<'_>) -> String {
        let near = item.reasons.iter().filter(|reason| reason.because == Because::Near);
        let fields: BTreeSet<&str> = near.filter_map(|reason| self.field(&reason.kind)).collect();
        let far = |field: &str| match (self.place, item.state.get(field)) {
            (Some(reader), Some(Value::Place(place))) => Some(reader.distance_km(*place)),
            _ => None,
        };
        let nearest = fields.into_iter().filter_map(far).min_by(f64::total_cmp);
        match nearest.map(f64::round) {
            None => String::new(),
            Some(km) if km < 1.0 => "less than 1 km from you".to_owned(),
            Some(km) => format!("{km} km from you"),
        }
    }

    /// The place by which a kind finds who is near.
    fn field(&self, kind: &model::Kind) -> Option<&str> {
        match &self.catalogue.kinds.get(kind)?.to {
            Audience::Near { field, .. } => Some(field),
            Audience::FollowersOf(_)
            | Audience::Person(_)
            | Audience::Mutual(..)
            | Audience::Listed
            | Audience::Everyone => None,
        }
    }

    fn name(&self, person: &Person) -> Option<String> {
        let name = clean::line(self.persons.get(person)?.text(profile::NAME)?, usize::MAX);
        (!name.is_empty()).then_some(name)
    }
}

/// Clauses in a row; `apart` by a comma too if one of them has an `and` of its own.
fn joined(clauses: &[String], apart: bool) -> String {
    match clauses {
        [one, last] if !apart => format!("{one} and {last}"),
        [most @ .., last] if !most.is_empty() => format!("{}, and {last}", most.join(", ")),
        _ => clauses.concat(),
    }
}

fn filled(text: String, other: &str) -> String {
    if text.is_empty() { other.to_owned() } else { text }
}

fn add(names: &mut Vec<String>, name: String) {
    if !names.contains(&name) {
        names.push(name);
    }
}

/// What is followed, by its name: `Mira Holm`, or `this author` of whom nothing is known.
fn called(target: &SubjectRef, item: &ItemInput<'_>, views: &Views<'_>) -> String {
    let state = if target == item.subject { Some(item.state) } else { views.related.get(target) };
    let name = state.map(|state| views.name(target, state)).filter(|name| !name.is_empty());
    name.unwrap_or_else(|| format!("this {}", clean::value(target.kind())))
}
