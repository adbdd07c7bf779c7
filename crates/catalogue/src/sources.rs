//! Sources: topics of others, and what their records mean here: an event, or a fact about a person.

use std::collections::BTreeMap;

use expression::{SourceExpression, TextScope, check_source, source_scope};
use model::{SubjectType, hook::Hook, person::profile};
use source_rules::{SourceDef, StatementRule, StatementSort};
use source_text::{
    did_you_mean, list_choices, suggest_name,
    yaml::{TreeKey, TreeNode, TreePlace},
};

use crate::{
    format::{SOURCE, words::SourceFormat},
    inline_text::InlineText,
    limits::SOURCES_MAX,
    tree_reader::{MapFields, TreeReader},
};

/// The fields of a profile that may be stated from outside.
pub const PROFILE_FIELDS: [&str; OWN_FIELDS.len() + 3 * Hook::ALL.len()] = {
    let mut all = [""; OWN_FIELDS.len() + 3 * Hook::ALL.len()];
    let mut at = 0;
    while at < OWN_FIELDS.len() {
        all[at] = OWN_FIELDS[at];
        at += 1;
    }
    let mut of = 0;
    while of < Hook::ALL.len() {
        let hook = Hook::ALL[of];
        all[at] = hook.name();
        all[at + 1] = hook.off();
        all[at + 2] = hook.plan();
        at += 3;
        of += 1;
    }
    all
};

/// Beside those of hooks.
const OWN_FIELDS: [&str; 13] = [
    profile::ZONE,
    profile::EMAIL,
    profile::NAME,
    profile::LANGUAGE,
    profile::EMAIL_OFF,
    profile::EMAIL_PLAN,
    profile::PUSH_OFF,
    profile::PUSH_PLAN,
    profile::PLACE,
    profile::IP_ADDRESS,
    profile::QUIET,
    profile::QUIET_UNTIL,
    profile::HOUR,
];

/// Facts, each by its word; everything else is an event.
const FACTS: [&str; 3] = ["follow", "mute", "profile"];
const TOPIC_BYTES_MAX: usize = 249;
/// Topics of the house, by the names it knows them by.
const OWN: [&str; 13] = [
    "changes",
    "events",
    "slices",
    "inbox",
    "pending",
    "windows",
    "ready-urgent",
    "ready",
    "returns",
    "quarantine",
    "replays",
    "house",
    "erasures",
];

/// A source as it is written.
pub(crate) struct SourceDraft {
    name: String,
    topic: String,
    format: SourceFormat,
    tells: Option<StatementDraft>,
}

struct StatementDraft {
    what: (String, TreePlace),
    otherwise: Option<(String, TreePlace)>,
    when: Option<InlineText>,
    attributes: Vec<(&'static str, TreePlace, InlineText)>,
    data: Option<Vec<(TreeKey, InlineText)>>,
    data_at: TreePlace,
    snapshot: Option<bool>,
}

pub(crate) fn read_sources(reader: &mut TreeReader<'_>, node: &TreeNode) -> Vec<SourceDraft> {
    let Some(map) = reader.map(node, "sources") else { return Vec::new() };
    if map.len() > SOURCES_MAX {
        reader.problem(node.at, format!("{} sources, more than {SOURCES_MAX}", map.len()));
    }
    let source = |(key, node): &(TreeKey, TreeNode)| {
        reader.name(key, "a source");
        let fields = reader.fields(node, key.at, &SOURCE)?;
        read_source(reader, key, &fields)
    };
    map.iter().filter_map(source).collect()
}

fn read_source(reader: &mut TreeReader<'_>, key: &TreeKey, fields: &MapFields<'_>) -> Option<SourceDraft> {
    let topic = fields.need(reader, "topic").and_then(|node| read_topic(reader, node));
    let format = fields.need(reader, "format").and_then(|node| read_format(reader, node));
    let tells = fields.get("tells");
    let what = tells.and_then(|node| Some((reader.text(node, "`tells`")?.to_string(), node.at)));
    let written = read_tells(reader, fields);
    let (topic, format) = (topic?, format?);
    let tells = match (what, tells) {
        (Some(what), _) => Some(StatementDraft { what, ..written? }),
        (None, None) if format == SourceFormat::CloudEvents && !fields.strange => {
            for key in SOURCE.key_names().filter(|key| !["topic", "format", "tells"].contains(key)) {
                if let Some(node) = fields.get(key) {
                    reader.problem(
                        node.at,
                        format!("without `tells`, each record is taken as it is, and `{key}` has no effect"),
                    );
                }
            }
            None
        }
        _ => {
            fields.need(reader, "tells");
            return None;
        }
    };
    Some(SourceDraft { name: key.name.clone(), topic, format, tells })
}

fn read_topic(reader: &mut TreeReader<'_>, node: &TreeNode) -> Option<String> {
    let name = reader.text(node, "`topic`")?;
    let good = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if !(1..=TOPIC_BYTES_MAX).contains(&name.len()) || !name.chars().all(good) {
        let rule = format!("a topic's name has 1 to {TOPIC_BYTES_MAX} letters, digits, `.`, `_` or `-`");
        reader.problem_with(node.at, format!("`{name}` is not a topic"), Some(rule));
        return None;
    }
    if OWN.contains(&name) {
        let help = "a source is a topic of another service; `changes` is always read".to_string();
        reader.problem_with(node.at, format!("`{name}` is a topic of the house"), Some(help));
        return None;
    }
    Some(name.to_string())
}

fn read_format(reader: &mut TreeReader<'_>, node: &TreeNode) -> Option<SourceFormat> {
    let name = reader.text(node, "`format`")?;
    let found = SourceFormat::ALL.into_iter().find(|format| format.name() == name);
    if found.is_none() {
        let names = SourceFormat::ALL.map(SourceFormat::name);
        let help = did_you_mean(name, names).unwrap_or_else(|| format!("use {}", list_choices(names)));
        reader.problem_with(node.at, format!("there is no format `{name}`"), Some(help));
    }
    found
}

fn read_tells(reader: &mut TreeReader<'_>, fields: &MapFields<'_>) -> Option<StatementDraft> {
    let otherwise = fields.get("otherwise");
    let otherwise = otherwise.and_then(|node| Some((reader.text(node, "`otherwise`")?.to_string(), node.at)));
    let read = |key: &'static str, reader: &mut TreeReader<'_>| -> Option<Option<InlineText>> {
        match fields.get(key) {
            None => Some(None),
            // One that could not be read is not one that is not there.
            Some(node) => InlineText::read(reader, node, &format!("`{key}`")).map(Some),
        }
    };
    let when = read("when", reader);
    let mut attributes = Vec::new();
    for key in ["subject", "person", "id", "time", "version", "actor", "persons"] {
        if let Some(inline) = read(key, reader)? {
            attributes.push((key, inline.at, inline));
        }
    }
    let data = match fields.get("data") {
        None => None,
        Some(node) => {
            let map = reader.map(node, "`data`")?;
            let one = |(key, node): &(TreeKey, TreeNode)| {
                Some((key.clone(), InlineText::read(reader, node, "a field of `data`")?))
            };
            Some(map.iter().map(one).collect::<Option<Vec<_>>>()?)
        }
    };
    let snapshot = match fields.get("snapshot") {
        None => None,
        Some(node) => Some(reader.flag(node, "`snapshot`")?),
    };
    let data_at = fields.get("data").map_or(fields.at, |node| node.at);
    Some(StatementDraft {
        what: (String::new(), fields.at),
        otherwise,
        when: when?,
        attributes,
        data,
        data_at,
        snapshot,
    })
}

/// Follows what a source names and compiles its expressions.
pub(crate) fn resolve_source(
    reader: &mut TreeReader<'_>,
    written: SourceDraft,
    subjects: &BTreeMap<String, SubjectType>,
) -> Option<SourceDef> {
    let SourceDraft { name, topic, format, tells } = written;
    let tells = match tells {
        None => None,
        Some(tells) => Some(resolve_tells(reader, tells, format, subjects)?),
    };
    Some(SourceDef { name, topic, format, tells })
}

fn resolve_tells(
    reader: &mut TreeReader<'_>,
    written: StatementDraft,
    format: SourceFormat,
    subjects: &BTreeMap<String, SubjectType>,
) -> Option<StatementRule> {
    let scope = source_scope(subjects, format.own_names());
    let what = resolve_sort(reader, &written.what, subjects)?;
    let declared = declared_fields(&what, subjects);
    if let Some(other) = &written.otherwise {
        check_otherwise(reader, &what, other, subjects);
    }
    let (known, needed) = what.attributes();
    for (name, at, _) in &written.attributes {
        if !known.contains(name) {
            let help = format!("`tells: {}` has {}", written.what.0, list_choices(known.iter().copied()));
            reader.problem_with(*at, format!("`{name}` has no effect here"), Some(help));
        }
    }
    for name in &known[..needed] {
        if !written.attributes.iter().any(|(given, ..)| given == name) {
            reader.problem(written.what.1, format!("`tells: {}` needs `{name}`", written.what.0));
        }
    }
    check_data_fields(reader, &what, &written, &declared);
    let when = match &written.when {
        None => None,
        Some(inline) => Some(compile_expression(reader, inline, &scope, true)?),
    };
    let mut attributes = BTreeMap::new();
    for (name, _, inline) in &written.attributes {
        attributes
            .extend(compile_expression(reader, inline, &scope, false).map(|expression| (*name, expression)));
    }
    let data = written.data.map(|data| {
        let one = |(key, inline): (TreeKey, InlineText)| {
            Some((key.name, compile_expression(reader, &inline, &scope, false)?))
        };
        data.into_iter().filter_map(one).collect()
    });
    let snapshot = written.snapshot.unwrap_or(!matches!(what, StatementSort::Event(_)));
    let otherwise = written.otherwise.map(|(otherwise, _)| otherwise);
    Some(StatementRule { what, otherwise, when, attributes, data, declared, snapshot })
}

fn resolve_sort(
    reader: &mut TreeReader<'_>,
    (what, at): &(String, TreePlace),
    subjects: &BTreeMap<String, SubjectType>,
) -> Option<StatementSort> {
    match what.as_str() {
        "follow" => return Some(StatementSort::Follow),
        "mute" => return Some(StatementSort::Mute),
        "profile" => return Some(StatementSort::Profile),
        _ => {}
    }
    let Some((subject, _)) = what.split_once('.').filter(|(_, what)| !what.is_empty()) else {
        let help = did_you_mean(what, FACTS).unwrap_or_else(|| {
            format!("write an event such as `work.published`, or {}", list_choices(FACTS))
        });
        reader.problem_with(*at, format!("`{what}` cannot be told"), Some(help));
        return None;
    };
    if !subjects.contains_key(subject) {
        let help = did_you_mean(subject, subjects.keys().map(String::as_str));
        reader.problem_with(*at, format!("there is no subject `{subject}`"), help);
        return None;
    }
    Some(StatementSort::Event(what.clone()))
}

/// What is told otherwise is an event about the same subject.
fn check_otherwise(
    reader: &mut TreeReader<'_>,
    what: &StatementSort,
    (other, at): &(String, TreePlace),
    subjects: &BTreeMap<String, SubjectType>,
) {
    let subject = |what: &str| what.split_once('.').map(|(subject, _)| subject.to_string());
    match what {
        StatementSort::Event(what) if subject(what) == subject(other) => {}
        StatementSort::Event(_) => {
            let other = resolve_sort(reader, &(other.clone(), *at), subjects);
            if let Some(other) = other {
                let help = "it must be an event of the same subject".to_string();
                let found = match other {
                    StatementSort::Event(other) => other,
                    StatementSort::Follow | StatementSort::Mute | StatementSort::Profile => {
                        "a fact".to_string()
                    }
                };
                reader.problem_with(*at, format!("`otherwise` cannot be {found}"), Some(help));
            }
        }
        StatementSort::Follow | StatementSort::Mute | StatementSort::Profile => {
            reader.problem(*at, "`otherwise` is for events: a fact ends if `when` does not hold");
        }
    }
}

fn declared_fields(what: &StatementSort, subjects: &BTreeMap<String, SubjectType>) -> Vec<String> {
    let names = |names: &[&str]| names.iter().map(ToString::to_string).collect();
    match what {
        StatementSort::Event(what) => {
            let subject = what.split_once('.').and_then(|(subject, _)| subjects.get(subject));
            subject.map(|subject| subject.fields.keys().cloned().collect()).unwrap_or_default()
        }
        StatementSort::Follow => Vec::new(),
        StatementSort::Mute => names(&preferences::MUTABLE),
        StatementSort::Profile => names(&PROFILE_FIELDS),
    }
}

/// What stands in `data` must be declared; of a fact it must stand there.
fn check_data_fields(
    reader: &mut TreeReader<'_>,
    what: &StatementSort,
    written: &StatementDraft,
    declared: &[String],
) {
    let Some(data) = &written.data else {
        if matches!(what, StatementSort::Mute | StatementSort::Profile) {
            let names = list_choices(declared.iter().map(String::as_str));
            let help = format!("it has {names}");
            reader.problem_with(
                written.what.1,
                format!("`tells: {}` needs `data`", written.what.0),
                Some(help),
            );
        }
        return;
    };
    if *what == StatementSort::Follow {
        reader.problem(written.data_at, "a follow has `person` and `subject`, and no `data`");
        return;
    }
    for (key, _) in data {
        if !declared.contains(&key.name) {
            let help = suggest_name(&key.name, declared.iter().map(String::as_str));
            reader.problem_with(key.at, format!("there is no field `{}`", key.name), Some(help));
        }
    }
}

fn compile_expression(
    reader: &mut TreeReader<'_>,
    inline: &InlineText,
    scope: &TextScope<'_>,
    is_condition: bool,
) -> Option<SourceExpression> {
    match check_source(&inline.text, scope, is_condition) {
        Ok(reads) => match SourceExpression::compile(&inline.text, reads) {
            Ok(expression) => Some(expression),
            Err(error) => {
                reader.problem(inline.at, error);
                None
            }
        },
        Err(findings) => {
            for finding in &findings {
                reader.push(inline.problem(reader.source, finding));
            }
            None
        }
    }
}
