//! Audiences: who may care about what a kind tells.

use std::collections::BTreeMap;

use model::place::WITHIN_KM_MAX;

use crate::{
    problem::{did_you_mean, one_of},
    read::{Fields, Reader},
    subjects::{FieldType, SubjectType},
    units::distance_km,
    yaml::{At, Node, What},
};

/// Who may care.
#[derive(Clone, PartialEq, Debug)]
pub enum Audience {
    /// Whoever follows what these fields refer to; `subject` is the subject itself.
    FollowersOf(Vec<String>),
    /// Whoever is within so many kilometres of the place in this field.
    Near { field: String, within_km: f64 },
    /// The one person whom this field names.
    Person(String),
    /// The two persons whom these fields name, each told of the other.
    Mutual(String, String),
    /// The persons whom the change itself lists.
    Listed,
    /// Everybody who has a profile.
    Everyone,
}

/// The name by which a text chooses among its variants.
pub const VARIANT: &str = "variant";

/// The word for the subject itself among the fields of an audience, and for a thread.
pub const SUBJECT: &str = "subject";
/// What the sentence of a mutual kind calls the other party.
pub const OTHER: &str = "other";

/// Audiences that are a word alone.
const WORDS: [&str; 2] = ["listed", "everyone"];
/// Audiences that are a key of a map.
const SORTS: [&str; 4] = ["followers_of", "near", "person", "mutual"];
const WITHIN: &str = "within";
const KEYS: [&str; 5] = ["followers_of", "near", WITHIN, "person", "mutual"];

const RULE: &str = "an audience is `{followers_of: FIELD}`, `{near: FIELD, within: 40 km}`, `{person: FIELD}`, `{mutual: [FIELD, FIELD]}`, `listed` or `everyone`";
const DISTANCE: &str = "write it like `40 km` or `500 m`";

/// A field's name and where it stands.
type Named = (String, At);

/// An audience as it is written, with the places of its fields.
pub(crate) enum Written {
    FollowersOf(Vec<Named>),
    Near { field: Named, within_km: f64 },
    Person(Named),
    Mutual([Named; 2]),
    Listed,
    Everyone,
}

impl Audience {
    /// Whether it is two persons who are told of each other.
    pub fn is_mutual(&self) -> bool {
        matches!(self, Self::Mutual(..))
    }
}

pub(crate) fn read(reader: &mut Reader<'_>, node: &Node) -> Option<Written> {
    match &node.what {
        What::Text(word) => return alone(reader, node.at, word),
        What::Map(map) => {
            if let Some((key, _)) = map.iter().find(|(key, _)| WORDS.contains(&key.name.as_str())) {
                let help = format!("write `to: {}`", key.name);
                reader.problem_with(key.at, format!("`{}` is a word alone", key.name), Some(help));
                return None;
            }
        }
        other => {
            let what = format!("`to` must be a map or a word, this is {}", other.sort());
            reader.problem_with(node.at, what, Some(RULE.to_string()));
            return None;
        }
    }
    let fields = reader.fields(node, node.at, "`to`", &KEYS)?;
    let written: Vec<(&str, &Node)> =
        SORTS.into_iter().filter_map(|sort| Some((sort, fields.get(sort)?))).collect();
    if let Some(within) = fields.get(WITHIN).filter(|_| fields.get("near").is_none() && !fields.strange) {
        reader.problem(within.at, "`within` belongs to `near`");
        return None;
    }
    match written[..] {
        [("followers_of", node)] => followed(reader, node),
        [("near", node)] => near(reader, &fields, node),
        [("person", node)] => Some(Written::Person(named(reader, node, "`person`")?)),
        [("mutual", node)] => mutual(reader, node),
        // What is there instead has its message.
        [] if fields.strange => None,
        [] => {
            reader.problem_with(node.at, "`to` names no audience", Some(RULE.to_string()));
            None
        }
        _ => {
            reader.problem_with(node.at, "one audience at a time", Some(RULE.to_string()));
            None
        }
    }
}

fn alone(reader: &mut Reader<'_>, at: At, word: &str) -> Option<Written> {
    match word {
        "listed" => Some(Written::Listed),
        "everyone" => Some(Written::Everyone),
        other => {
            let help = did_you_mean(other, WORDS).unwrap_or_else(|| RULE.to_string());
            reader.problem_with(at, format!("there is no audience `{other}`"), Some(help));
            None
        }
    }
}

fn named(reader: &mut Reader<'_>, node: &Node, what: &str) -> Option<Named> {
    reader.text(node, what).map(|text| (text.to_string(), node.at))
}

fn followed(reader: &mut Reader<'_>, node: &Node) -> Option<Written> {
    let texts = reader.texts(node, "`followers_of`");
    if texts.is_empty() {
        if node.is_empty() {
            reader.problem(node.at, "`followers_of` names no field");
        }
        return None;
    }
    Some(Written::FollowersOf(texts.into_iter().map(|(text, at)| (text.to_string(), at)).collect()))
}

fn near(reader: &mut Reader<'_>, fields: &Fields<'_>, node: &Node) -> Option<Written> {
    let field = named(reader, node, "`near`");
    let within_km = fields.need(reader, WITHIN).and_then(|node| within(reader, node));
    Some(Written::Near { field: field?, within_km: within_km? })
}

fn within(reader: &mut Reader<'_>, node: &Node) -> Option<f64> {
    if let What::Number(number) = node.what {
        reader.problem_with(node.at, format!("`within` has no unit: {number}"), Some(DISTANCE.to_string()));
        return None;
    }
    let text = reader.text(node, "`within`")?;
    let Some(km) = distance_km(text) else {
        reader.problem_with(node.at, format!("`{text}` is no distance"), Some(DISTANCE.to_string()));
        return None;
    };
    if km <= 0.0 || km > WITHIN_KM_MAX {
        reader.problem(node.at, format!("`within` is more than nothing and at most {WITHIN_KM_MAX} km"));
        return None;
    }
    Some(km)
}

fn mutual(reader: &mut Reader<'_>, node: &Node) -> Option<Written> {
    let What::List(list) = &node.what else {
        let help = "write `{mutual: [FIELD, FIELD]}`".to_string();
        reader.problem_with(node.at, "`mutual` names two fields", Some(help));
        return None;
    };
    let [one, other] = &list[..] else {
        reader.problem(node.at, format!("`mutual` names two fields, these are {}", list.len()));
        return None;
    };
    let (one, other) = (named(reader, one, "`mutual`"), named(reader, other, "`mutual`"));
    let (one, other) = (one?, other?);
    if one.0 == other.0 {
        let what = format!("`{}` is there twice; the two parties are two fields", other.0);
        reader.problem(other.1, what);
    }
    Some(Written::Mutual([one, other]))
}

impl Written {
    /// Whether the change names the persons, with a score each.
    pub fn is_listed(&self) -> bool {
        matches!(self, Self::Listed)
    }

    /// Follows every field. What is wrong is noted, and an audience comes of it all the same.
    pub fn resolve(&self, reader: &mut Reader<'_>, subject: &SubjectType) -> Audience {
        match self {
            Self::FollowersOf(named) => {
                let mut fields: Vec<String> = Vec::new();
                for (field, at) in named {
                    if fields.contains(field) {
                        reader.problem(*at, format!("`{field}` is there twice"));
                    }
                    refers(reader, subject, field, *at, "only what a field refers to can be followed");
                    fields.push(field.clone());
                }
                Audience::FollowersOf(fields)
            }
            Self::Near { field, within_km } => {
                typed(reader, subject, field, &FieldType::Place, "`near` needs a place");
                Audience::Near { field: field.0.clone(), within_km: *within_km }
            }
            Self::Person(field) => {
                typed(reader, subject, field, &FieldType::Person, "this audience needs a person");
                Audience::Person(field.0.clone())
            }
            Self::Mutual([one, other]) => {
                for field in [one, other] {
                    typed(reader, subject, field, &FieldType::Person, "`mutual` needs a person");
                }
                if subject.fields.get(OTHER).is_some_and(|field| field.target().is_some()) {
                    let what = "`other` is the other party in what this kind says";
                    let help = format!("the field `other` of `{}` needs another name", subject.name);
                    reader.problem_with(one.1, what, Some(help));
                }
                Audience::Mutual(one.0.clone(), other.0.clone())
            }
            Self::Listed => Audience::Listed,
            Self::Everyone => Audience::Everyone,
        }
    }
}

/// Whether a field is `subject` or refers to others; if not, that is noted.
pub(crate) fn refers(
    reader: &mut Reader<'_>,
    subject: &SubjectType,
    field: &str,
    at: At,
    needed: &str,
) -> bool {
    let references = subject.fields.iter().filter(|(_, field)| field.target().is_some());
    let references: Vec<&str> = references.map(|(name, _)| name.as_str()).chain([SUBJECT]).collect();
    if references.contains(&field) {
        return true;
    }
    if let Some(found) = subject.fields.get(field) {
        reader.problem(at, format!("`{field}` is {found}, {needed}"));
    } else {
        let help = did_you_mean(field, references.iter().copied())
            .unwrap_or_else(|| format!("it refers to others by {}", one_of(references.iter().copied())));
        reader.problem_with(at, format!("`{}` has no field `{field}`", subject.name), Some(help));
    }
    false
}

fn typed(
    reader: &mut Reader<'_>,
    subject: &SubjectType,
    (field, at): &Named,
    wanted: &FieldType,
    needed: &str,
) {
    match subject.fields.get(field) {
        Some(found) if found == wanted => {}
        Some(found) => reader.problem(*at, format!("`{field}` is {found}, {needed}")),
        None => {
            let fitting = fitting(&subject.fields, wanted);
            let help = did_you_mean(field, fitting.iter().copied()).unwrap_or_else(|| {
                if fitting.is_empty() {
                    format!("no field of `{}` is a {wanted}", subject.name)
                } else {
                    format!("a {wanted} is in {}", one_of(fitting.iter().copied()))
                }
            });
            reader.problem_with(*at, format!("`{}` has no field `{field}`", subject.name), Some(help));
        }
    }
}

/// The fields of a type.
fn fitting<'s>(fields: &'s BTreeMap<String, FieldType>, wanted: &FieldType) -> Vec<&'s str> {
    fields.iter().filter(|(_, found)| *found == wanted).map(|(name, _)| name.as_str()).collect()
}
