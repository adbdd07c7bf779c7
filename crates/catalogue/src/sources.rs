//! Sources: topics of others, and what their records mean here: an event, or a fact about a person.

use std::{collections::BTreeMap, fmt};

use model::{
    hook::Hook,
    person::{mutes, profile},
};

use crate::{
    hash::Canonical,
    inline::Inline,
    language::{Scope, check_source, source_scope},
    limits::SOURCES_MAX,
    problem::{did_you_mean, one_of},
    read::{Fields, Reader},
    row::Expression,
    subjects::SubjectType,
    yaml::{At, Key, Node},
};

/// A topic of others, and what its records mean.
#[derive(Clone, PartialEq, Debug)]
pub struct SourceDef {
    pub name: String,
    /// As it is called in the log, without any prefix.
    pub topic: String,
    pub format: Format,
    /// `None` for `CloudEvents` that are taken as they are.
    pub tells: Option<Tells>,
}

/// How a topic's records are written.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Format {
    Json,
    Avro,
    CloudEvents,
    Debezium,
}

/// What records mean.
#[derive(Clone, PartialEq, Debug)]
pub struct Tells {
    pub what: Telling,
    /// The event that is told of records for which `when` does not hold.
    pub(crate) otherwise: Option<String>,
    pub(crate) when: Option<Expression>,
    /// Attributes by their names: `subject`, `person` and their like.
    pub(crate) attributes: BTreeMap<&'static str, Expression>,
    /// `None`: the fields of the row that the subject declares.
    pub(crate) data: Option<BTreeMap<String, Expression>>,
    /// The fields that the subject declares.
    pub(crate) declared: Vec<String>,
    /// Whether rows count that were there when their source was first read.
    pub(crate) snapshot: bool,
}

/// Which sort of thing is told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Telling {
    /// A change of this type.
    Event(String),
    Follow,
    Mute,
    Profile,
}

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
const OWN_FIELDS: [&str; 10] = [
    profile::ZONE,
    profile::EMAIL,
    profile::NAME,
    profile::LANGUAGE,
    profile::EMAIL_OFF,
    profile::EMAIL_PLAN,
    profile::PUSH_OFF,
    profile::PUSH_PLAN,
    profile::PLACE,
    profile::QUIET,
];

const KEYS: [&str; 14] = [
    "topic",
    "format",
    "tells",
    "otherwise",
    "when",
    "subject",
    "person",
    "id",
    "time",
    "version",
    "actor",
    "persons",
    "data",
    "snapshot",
];
/// Facts, each by its word; everything else is an event.
const FACTS: [&str; 3] = ["follow", "mute", "profile"];
const TOPIC_BYTES_MAX: usize = 249;
/// Topics of the house, by the names it knows them by.
const OWN: [&str; 12] = [
    "changes",
    "events",
    "slices",
    "inbox",
    "pending",
    "windows",
    "ready",
    "returns",
    "quarantine",
    "replays",
    "house",
    "erasures",
];

impl Format {
    const ALL: [Self; 4] = [Self::Json, Self::Avro, Self::CloudEvents, Self::Debezium];

    fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Avro => "avro",
            Self::CloudEvents => "cloudevents",
            Self::Debezium => "debezium",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl SourceDef {
    /// What the catalogue's hash is made of.
    pub(crate) fn write(&self, text: &mut Canonical) {
        text.line("source", &self.name);
        text.line("topic", &self.topic);
        text.line("format", self.format.name());
        let Some(tells) = &self.tells else { return };
        text.line("tells", &format!("{:?}", tells.what));
        text.line("otherwise", tells.otherwise.as_deref().unwrap_or_default());
        text.line("snapshot", if tells.snapshot { "true" } else { "false" });
        text.line("when", tells.when.as_ref().map(|when| when.text.as_str()).unwrap_or_default());
        for (name, expression) in &tells.attributes {
            text.line(name, &expression.text);
        }
        for (name, expression) in tells.data.iter().flatten() {
            text.line(name, &expression.text);
        }
    }
}

impl Telling {
    /// The attributes that it has, those that must be there first, and how many these are.
    fn attributes(&self) -> (&'static [&'static str], usize) {
        match self {
            Self::Event(_) => (&["subject", "id", "time", "version", "actor", "persons"], 1),
            Self::Follow => (&["person", "subject", "time", "version"], 2),
            Self::Mute | Self::Profile => (&["person", "time", "version"], 1),
        }
    }
}

/// A source as it is written.
pub(crate) struct Written {
    name: String,
    topic: String,
    format: Format,
    tells: Option<WrittenTells>,
}

struct WrittenTells {
    what: (String, At),
    otherwise: Option<(String, At)>,
    when: Option<Inline>,
    attributes: Vec<(&'static str, At, Inline)>,
    data: Option<Vec<(Key, Inline)>>,
    data_at: At,
    snapshot: Option<bool>,
}

pub(crate) fn read(reader: &mut Reader<'_>, node: &Node) -> Vec<Written> {
    let Some(map) = reader.map(node, "sources") else { return Vec::new() };
    if map.len() > SOURCES_MAX {
        reader.problem(node.at, format!("{} sources, more than {SOURCES_MAX}", map.len()));
    }
    let source = |(key, node): &(Key, Node)| {
        reader.name(key, "a source");
        let fields = reader.fields(node, key.at, "a source", &KEYS)?;
        source(reader, key, &fields)
    };
    map.iter().filter_map(source).collect()
}

fn source(reader: &mut Reader<'_>, key: &Key, fields: &Fields<'_>) -> Option<Written> {
    let topic = fields.need(reader, "topic").and_then(|node| topic(reader, node));
    let format = fields.need(reader, "format").and_then(|node| format(reader, node));
    let tells = fields.get("tells");
    let what = tells.and_then(|node| Some((reader.text(node, "`tells`")?.to_string(), node.at)));
    let written = tells_of(reader, fields);
    let (topic, format) = (topic?, format?);
    let tells = match (what, tells) {
        (Some(what), _) => Some(WrittenTells { what, ..written? }),
        (None, None) if format == Format::CloudEvents && !fields.strange => {
            for key in &KEYS[3..] {
                if let Some(node) = fields.get(key) {
                    reader.problem(
                        node.at,
                        format!("without `tells` each record is what it says, and `{key}` means nothing"),
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
    Some(Written { name: key.name.clone(), topic, format, tells })
}

fn topic(reader: &mut Reader<'_>, node: &Node) -> Option<String> {
    let name = reader.text(node, "`topic`")?;
    let good = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if !(1..=TOPIC_BYTES_MAX).contains(&name.len()) || !name.chars().all(good) {
        let rule = format!("a topic's name has 1 to {TOPIC_BYTES_MAX} letters, digits, `.`, `_` or `-`");
        reader.problem_with(node.at, format!("`{name}` is no topic"), Some(rule));
        return None;
    }
    if OWN.contains(&name) {
        let help = "a source is a topic of others; `changes` is read without one".to_string();
        reader.problem_with(node.at, format!("`{name}` is a topic of the house"), Some(help));
        return None;
    }
    Some(name.to_string())
}

fn format(reader: &mut Reader<'_>, node: &Node) -> Option<Format> {
    let name = reader.text(node, "`format`")?;
    let found = Format::ALL.into_iter().find(|format| format.name() == name);
    if found.is_none() {
        let names = Format::ALL.map(Format::name);
        let help = did_you_mean(name, names).unwrap_or_else(|| format!("a format is {}", one_of(names)));
        reader.problem_with(node.at, format!("there is no format `{name}`"), Some(help));
    }
    found
}

fn tells_of(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<WrittenTells> {
    let otherwise = fields.get("otherwise");
    let otherwise = otherwise.and_then(|node| Some((reader.text(node, "`otherwise`")?.to_string(), node.at)));
    let read = |key: &'static str, reader: &mut Reader<'_>| -> Option<Option<Inline>> {
        match fields.get(key) {
            None => Some(None),
            // One that could not be read is not one that is not there.
            Some(node) => Inline::read(reader, node, &format!("`{key}`")).map(Some),
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
            let one = |(key, node): &(Key, Node)| {
                Some((key.clone(), Inline::read(reader, node, "a field of `data`")?))
            };
            Some(map.iter().map(one).collect::<Option<Vec<_>>>()?)
        }
    };
    let snapshot = match fields.get("snapshot") {
        None => None,
        Some(node) => Some(reader.flag(node, "`snapshot`")?),
    };
    let data_at = fields.get("data").map_or(fields.at, |node| node.at);
    Some(WrittenTells {
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
pub(crate) fn resolve(
    reader: &mut Reader<'_>,
    written: Written,
    subjects: &BTreeMap<String, SubjectType>,
) -> Option<SourceDef> {
    let Written { name, topic, format, tells } = written;
    let tells = match tells {
        None => None,
        Some(tells) => Some(resolve_tells(reader, tells, format, subjects)?),
    };
    Some(SourceDef { name, topic, format, tells })
}

fn resolve_tells(
    reader: &mut Reader<'_>,
    written: WrittenTells,
    format: Format,
    subjects: &BTreeMap<String, SubjectType>,
) -> Option<Tells> {
    let scope = source_scope(subjects, format);
    let what = telling(reader, &written.what, subjects)?;
    let declared = declared(&what, subjects);
    if let Some(other) = &written.otherwise {
        otherwise(reader, &what, other, subjects);
    }
    let (known, needed) = what.attributes();
    for (name, at, _) in &written.attributes {
        if !known.contains(name) {
            let help = format!("`tells: {}` has {}", written.what.0, one_of(known.iter().copied()));
            reader.problem_with(*at, format!("`{name}` means nothing here"), Some(help));
        }
    }
    for name in &known[..needed] {
        if !written.attributes.iter().any(|(given, ..)| given == name) {
            reader.problem(written.what.1, format!("`tells: {}` needs `{name}`", written.what.0));
        }
    }
    fields(reader, &what, &written, &declared);
    let when = match &written.when {
        None => None,
        Some(inline) => Some(compile(reader, inline, &scope, true)?),
    };
    let mut attributes = BTreeMap::new();
    for (name, _, inline) in &written.attributes {
        attributes.extend(compile(reader, inline, &scope, false).map(|expression| (*name, expression)));
    }
    let data = written.data.map(|data| {
        let one = |(key, inline): (Key, Inline)| Some((key.name, compile(reader, &inline, &scope, false)?));
        data.into_iter().filter_map(one).collect()
    });
    let snapshot = written.snapshot.unwrap_or(!matches!(what, Telling::Event(_)));
    let otherwise = written.otherwise.map(|(otherwise, _)| otherwise);
    Some(Tells { what, otherwise, when, attributes, data, declared, snapshot })
}

fn telling(
    reader: &mut Reader<'_>,
    (what, at): &(String, At),
    subjects: &BTreeMap<String, SubjectType>,
) -> Option<Telling> {
    match what.as_str() {
        "follow" => return Some(Telling::Follow),
        "mute" => return Some(Telling::Mute),
        "profile" => return Some(Telling::Profile),
        _ => {}
    }
    let Some((subject, _)) = what.split_once('.').filter(|(_, what)| !what.is_empty()) else {
        let help = did_you_mean(what, FACTS)
            .unwrap_or_else(|| format!("it is an event such as `work.published`, or {}", one_of(FACTS)));
        reader.problem_with(*at, format!("`{what}` cannot be told"), Some(help));
        return None;
    };
    if !subjects.contains_key(subject) {
        let help = did_you_mean(subject, subjects.keys().map(String::as_str));
        reader.problem_with(*at, format!("there is no subject `{subject}`"), help);
        return None;
    }
    Some(Telling::Event(what.clone()))
}

/// What is told otherwise is an event about the same subject.
fn otherwise(
    reader: &mut Reader<'_>,
    what: &Telling,
    (other, at): &(String, At),
    subjects: &BTreeMap<String, SubjectType>,
) {
    let subject = |what: &str| what.split_once('.').map(|(subject, _)| subject.to_string());
    match what {
        Telling::Event(what) if subject(what) == subject(other) => {}
        Telling::Event(_) => {
            let other = telling(reader, &(other.clone(), *at), subjects);
            if let Some(other) = other {
                let help = "an event of the same subject".to_string();
                let found = match other {
                    Telling::Event(other) => other,
                    Telling::Follow | Telling::Mute | Telling::Profile => "a fact".to_string(),
                };
                reader.problem_with(*at, format!("`otherwise` cannot be {found}"), Some(help));
            }
        }
        Telling::Follow | Telling::Mute | Telling::Profile => {
            reader.problem(*at, "`otherwise` is for events: where `when` does not hold, a fact has ended");
        }
    }
}

fn declared(what: &Telling, subjects: &BTreeMap<String, SubjectType>) -> Vec<String> {
    let names = |names: &[&str]| names.iter().map(ToString::to_string).collect();
    match what {
        Telling::Event(what) => {
            let subject = what.split_once('.').and_then(|(subject, _)| subjects.get(subject));
            subject.map(|subject| subject.fields.keys().cloned().collect()).unwrap_or_default()
        }
        Telling::Follow => Vec::new(),
        Telling::Mute => names(&mutes::SORTS),
        Telling::Profile => names(&PROFILE_FIELDS),
    }
}

/// What stands in `data` must be declared; of a fact it must stand there.
fn fields(reader: &mut Reader<'_>, what: &Telling, written: &WrittenTells, declared: &[String]) {
    let Some(data) = &written.data else {
        if matches!(what, Telling::Mute | Telling::Profile) {
            let names = one_of(declared.iter().map(String::as_str));
            let help = format!("it has {names}");
            reader.problem_with(
                written.what.1,
                format!("`tells: {}` needs `data`", written.what.0),
                Some(help),
            );
        }
        return;
    };
    if *what == Telling::Follow {
        reader.problem(written.data_at, "a follow is its `person` and its `subject`, and has no `data`");
        return;
    }
    for (key, _) in data {
        if !declared.contains(&key.name) {
            let names = || declared.iter().map(String::as_str);
            let help =
                did_you_mean(&key.name, names()).unwrap_or_else(|| format!("there is {}", one_of(names())));
            reader.problem_with(key.at, format!("there is no field `{}`", key.name), Some(help));
        }
    }
}

fn compile(
    reader: &mut Reader<'_>,
    inline: &Inline,
    scope: &Scope<'_>,
    is_condition: bool,
) -> Option<Expression> {
    match check_source(&inline.text, scope, is_condition) {
        Ok(reads) => match Expression::compile(&inline.text, reads) {
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
