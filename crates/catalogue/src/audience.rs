//! Audiences: who may care about what a kind tells.

use std::collections::BTreeMap;

use expression::OTHER;
use model::{FieldType, SubjectType, place::WITHIN_KM_MAX};
use source_text::{
    did_you_mean, list_choices,
    units::parse_distance_km,
    yaml::{TreeNode, TreePlace, TreeValue},
};

use crate::{
    format::AUDIENCE,
    tree_reader::{MapFields, TreeReader},
};

/// The audience of a kind.
#[derive(Clone, PartialEq, Debug)]
pub enum Audience {
    /// The followers of the subjects that these fields refer to; `subject` is the subject itself.
    FollowersOf(Vec<String>),
    /// Who has chosen to be told of these, of this kind there or of all.
    SubscribersOf(Vec<String>),
    /// The people within so many kilometres of the place in this field.
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

/// The word for the subject itself among the fields of an audience, and for a thread.
pub const SUBJECT: &str = "subject";

/// Audiences that are a word alone.
const WORDS: [&str; 2] = ["listed", "everyone"];
const WITHIN: &str = "within";

const RULE: &str = "an audience is `{followers_of: FIELD}`, `{subscribers_of: FIELD}`, `{near: FIELD, within: 40 km}`, `{person: FIELD}`, `{mutual: [FIELD, FIELD]}`, `listed` or `everyone`";
const DISTANCE: &str = "write it like `40 km` or `500 m`";

/// A field's name and where it stands.
type FieldMention = (String, TreePlace);

/// An audience as it is written, with the places of its fields.
pub(crate) enum AudienceDraft {
    FollowersOf(Vec<FieldMention>),
    SubscribersOf(Vec<FieldMention>),
    Near { field: FieldMention, within_km: f64 },
    Person(FieldMention),
    Mutual([FieldMention; 2]),
    Listed,
    Everyone,
}

impl Audience {
    /// Whether it is two persons who are told of each other.
    pub fn is_mutual(&self) -> bool {
        matches!(self, Self::Mutual(..))
    }
}

pub(crate) fn read_audience(reader: &mut TreeReader<'_>, node: &TreeNode) -> Option<AudienceDraft> {
    match &node.what {
        TreeValue::Text(word) => return read_single_word(reader, node.at, word),
        TreeValue::Map(map) => {
            if let Some((key, _)) = map.iter().find(|(key, _)| WORDS.contains(&key.name.as_str())) {
                let help = format!("write `to: {}`", key.name);
                reader.problem_with(key.at, format!("`{}` takes no value", key.name), Some(help));
                return None;
            }
        }
        other => {
            let what = format!("`to` must be a map or a word, not {}", other.sort_name());
            reader.problem_with(node.at, what, Some(RULE.to_string()));
            return None;
        }
    }
    let fields = reader.fields(node, node.at, &AUDIENCE)?;
    let written: Vec<(&str, &TreeNode)> =
        AUDIENCE.ways().filter_map(|(sort, _)| Some((sort, fields.get(sort)?))).collect();
    if let Some(within) = fields.get(WITHIN).filter(|_| fields.get("near").is_none() && !fields.strange) {
        reader.problem(within.at, "`within` goes with `near` only");
        return None;
    }
    match written[..] {
        [("followers_of", node)] => {
            read_mentions(reader, node, "`followers_of`").map(AudienceDraft::FollowersOf)
        }
        [("subscribers_of", node)] => {
            read_mentions(reader, node, "`subscribers_of`").map(AudienceDraft::SubscribersOf)
        }
        [("near", node)] => read_near(reader, &fields, node),
        [("person", node)] => Some(AudienceDraft::Person(read_mention(reader, node, "`person`")?)),
        [("mutual", node)] => read_mutual(reader, node),
        // What is there instead has its message.
        [] if fields.strange => None,
        [] => {
            reader.problem_with(node.at, "`to` names no audience", Some(RULE.to_string()));
            None
        }
        _ => {
            reader.problem_with(node.at, "`to` takes one audience", Some(RULE.to_string()));
            None
        }
    }
}

fn read_single_word(reader: &mut TreeReader<'_>, at: TreePlace, word: &str) -> Option<AudienceDraft> {
    match word {
        "listed" => Some(AudienceDraft::Listed),
        "everyone" => Some(AudienceDraft::Everyone),
        other => {
            let help = did_you_mean(other, WORDS).unwrap_or_else(|| RULE.to_string());
            reader.problem_with(at, format!("there is no audience `{other}`"), Some(help));
            None
        }
    }
}

fn read_mention(reader: &mut TreeReader<'_>, node: &TreeNode, what: &str) -> Option<FieldMention> {
    reader.text(node, what).map(|text| (text.to_string(), node.at))
}

fn read_mentions(reader: &mut TreeReader<'_>, node: &TreeNode, what: &str) -> Option<Vec<FieldMention>> {
    let texts = reader.texts(node, what);
    if texts.is_empty() {
        if node.is_empty() {
            reader.problem(node.at, format!("{what} names no field"));
        }
        return None;
    }
    Some(texts.into_iter().map(|(text, at)| (text.to_string(), at)).collect())
}

fn read_near(reader: &mut TreeReader<'_>, fields: &MapFields<'_>, node: &TreeNode) -> Option<AudienceDraft> {
    let field = read_mention(reader, node, "`near`");
    let within_km = fields.need(reader, WITHIN).and_then(|node| read_radius(reader, node));
    Some(AudienceDraft::Near { field: field?, within_km: within_km? })
}

fn read_radius(reader: &mut TreeReader<'_>, node: &TreeNode) -> Option<f64> {
    if let TreeValue::Number(number) = node.what {
        reader.problem_with(node.at, format!("`within` has no unit: {number}"), Some(DISTANCE.to_string()));
        return None;
    }
    let text = reader.text(node, "`within`")?;
    let Some(km) = parse_distance_km(text) else {
        reader.problem_with(node.at, format!("`{text}` is not a distance"), Some(DISTANCE.to_string()));
        return None;
    };
    if km <= 0.0 || km > WITHIN_KM_MAX {
        reader.problem(node.at, format!("`within` must be more than 0 and at most {WITHIN_KM_MAX} km"));
        return None;
    }
    Some(km)
}

fn read_mutual(reader: &mut TreeReader<'_>, node: &TreeNode) -> Option<AudienceDraft> {
    let TreeValue::List(list) = &node.what else {
        let help = "write `{mutual: [FIELD, FIELD]}`".to_string();
        reader.problem_with(node.at, "`mutual` needs two fields", Some(help));
        return None;
    };
    let [one, other] = &list[..] else {
        reader.problem(node.at, format!("`mutual` needs two fields, not {}", list.len()));
        return None;
    };
    let (one, other) = (read_mention(reader, one, "`mutual`"), read_mention(reader, other, "`mutual`"));
    let (one, other) = (one?, other?);
    if one.0 == other.0 {
        let what = format!("`{}` is given twice; the two parties need two different fields", other.0);
        reader.problem(other.1, what);
    }
    Some(AudienceDraft::Mutual([one, other]))
}

impl AudienceDraft {
    /// Whether the change names the persons, with a score each.
    pub fn is_listed(&self) -> bool {
        matches!(self, Self::Listed)
    }

    /// Follows every field. What is wrong is noted, and an audience comes of it all the same.
    pub fn resolve(&self, reader: &mut TreeReader<'_>, subject: &SubjectType) -> Audience {
        match self {
            Self::FollowersOf(named) => Audience::FollowersOf(resolve_mentions(
                reader,
                subject,
                named,
                "only a subject that a field refers to can be followed",
            )),
            Self::SubscribersOf(named) => Audience::SubscribersOf(resolve_mentions(
                reader,
                subject,
                named,
                "only a subject that a field refers to can be chosen",
            )),
            Self::Near { field, within_km } => {
                check_field_type(reader, subject, field, &FieldType::Place, "`near` needs a place");
                Audience::Near { field: field.0.clone(), within_km: *within_km }
            }
            Self::Person(field) => {
                check_field_type(reader, subject, field, &FieldType::Person, "this audience needs a person");
                Audience::Person(field.0.clone())
            }
            Self::Mutual([one, other]) => {
                for field in [one, other] {
                    check_field_type(reader, subject, field, &FieldType::Person, "`mutual` needs a person");
                }
                if subject.fields.get(OTHER).is_some_and(|field| field.target().is_some()) {
                    let what = "in the texts of this kind, `other` is the other party";
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

/// Each field once, and each refers to subjects.
fn resolve_mentions(
    reader: &mut TreeReader<'_>,
    subject: &SubjectType,
    named: &[FieldMention],
    needed: &str,
) -> Vec<String> {
    let mut fields: Vec<String> = Vec::new();
    for (field, at) in named {
        if fields.contains(field) {
            reader.problem(*at, format!("`{field}` is given twice"));
        }
        check_reference(reader, subject, field, *at, needed);
        fields.push(field.clone());
    }
    fields
}

/// Whether a field is `subject` or refers to others; if not, that is noted.
pub(crate) fn check_reference(
    reader: &mut TreeReader<'_>,
    subject: &SubjectType,
    field: &str,
    at: TreePlace,
    needed: &str,
) -> bool {
    let references = subject.fields.iter().filter(|(_, field)| field.target().is_some());
    let references: Vec<&str> = references.map(|(name, _)| name.as_str()).chain([SUBJECT]).collect();
    if references.contains(&field) {
        return true;
    }
    if let Some(found) = subject.fields.get(field) {
        reader.problem(at, format!("`{field}` is {found}, but {needed}"));
    } else {
        let help = did_you_mean(field, references.iter().copied())
            .unwrap_or_else(|| format!("use {}", list_choices(references.iter().copied())));
        reader.problem_with(at, format!("`{}` has no field `{field}`", subject.name), Some(help));
    }
    false
}

fn check_field_type(
    reader: &mut TreeReader<'_>,
    subject: &SubjectType,
    (field, at): &FieldMention,
    wanted: &FieldType,
    needed: &str,
) {
    match subject.fields.get(field) {
        Some(found) if found == wanted => {}
        Some(found) => reader.problem(*at, format!("`{field}` is {found}, but {needed}")),
        None => {
            let fitting = fields_of_type(&subject.fields, wanted);
            let help = did_you_mean(field, fitting.iter().copied()).unwrap_or_else(|| {
                if fitting.is_empty() {
                    format!("no field of `{}` is a {wanted}", subject.name)
                } else {
                    format!("use {}", list_choices(fitting.iter().copied()))
                }
            });
            reader.problem_with(*at, format!("`{}` has no field `{field}`", subject.name), Some(help));
        }
    }
}

/// The fields of a type.
fn fields_of_type<'s>(fields: &'s BTreeMap<String, FieldType>, wanted: &FieldType) -> Vec<&'s str> {
    fields.iter().filter(|(_, found)| *found == wanted).map(|(name, _)| name.as_str()).collect()
}
