//! Every catalogue that there is: the examples, those of the tests, and the samples here.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Map, Value};
use source_text::{
    SourceText, TextProblems,
    yaml::{TreeNode, TreeNumber, TreeValue, parse_yaml},
};

use crate::{
    Catalogue,
    tests::{GOOD, MJML, parse_with, wide_catalogue},
};

/// One catalogue as JSON.
pub struct CorpusCatalogue {
    pub file: String,
    pub json: Value,
    source: TemplateSource,
}

/// Where its templates are.
enum TemplateSource {
    Folder(PathBuf),
    /// Those of a sample here.
    Sample(&'static str),
    /// There are none of its own.
    Nothing,
}

impl CorpusCatalogue {
    /// Reads it from JSON, which is YAML too.
    pub fn read(&self, json: &Value) -> Result<Catalogue, TextProblems> {
        let text = json.to_string();
        match &self.source {
            TemplateSource::Sample(mjml) => parse_with(&text, mjml),
            TemplateSource::Folder(folder) => Catalogue::parse(&text, &self.file, &|name| {
                // Some are put together by their test.
                Ok(fs::read_to_string(folder.join(name)).unwrap_or_default())
            }),
            TemplateSource::Nothing => Catalogue::parse(&text, &self.file, &|_| Ok(String::new())),
        }
    }
}

pub fn list_corpus() -> Vec<CorpusCatalogue> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut corpus = Vec::new();
    for folder in ["examples", "tests", "crates/cli/scaffold"] {
        collect(&root.join(folder), &mut corpus);
    }
    for (file, text, mjml) in [("good", GOOD, MJML), ("wide", wide_catalogue::WIDE, wide_catalogue::MJML)] {
        let json = yaml_as_json(text).unwrap();
        corpus.push(CorpusCatalogue { file: file.to_owned(), json, source: TemplateSource::Sample(mjml) });
    }
    let json = yaml_as_json(RARE).unwrap();
    corpus.push(CorpusCatalogue { file: "rare".to_owned(), json, source: TemplateSource::Nothing });
    corpus
}

fn collect(folder: &Path, corpus: &mut Vec<CorpusCatalogue>) {
    let mut items: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|item| item.unwrap().path()).collect();
    items.sort();
    for path in items {
        if path.is_dir() && !path.ends_with("node_modules") {
            collect(&path, corpus);
        } else if path.ends_with("catalogue.yaml") {
            let text = fs::read_to_string(&path).unwrap();
            let json = yaml_as_json(&text).unwrap();
            let source = TemplateSource::Folder(folder.to_owned());
            corpus.push(CorpusCatalogue { file: path.display().to_string(), json, source });
        }
    }
}

/// A YAML file as JSON, if it is one.
pub fn yaml_as_json(text: &str) -> Option<Value> {
    Some(node_as_json(parse_yaml(SourceText { file: "catalogue.yaml", text }).ok()?))
}

fn node_as_json(node: TreeNode) -> Value {
    match node.what {
        TreeValue::Nothing => Value::Null,
        TreeValue::Flag(flag) => flag.into(),
        TreeValue::Number(TreeNumber::Signed(number)) => number.into(),
        TreeValue::Number(TreeNumber::Unsigned(number)) => number.into(),
        TreeValue::Number(TreeNumber::Float(number)) => number.into(),
        TreeValue::Text(text) => text.into(),
        TreeValue::List(list) => list.into_iter().map(node_as_json).collect(),
        TreeValue::Map(map) => {
            map.into_iter().map(|(key, node)| (key.name, node_as_json(node))).collect::<Map<_, _>>().into()
        }
    }
}

/// What no other catalogue has.
const RARE: &str = r#"
catalogue: rare
subjects:
  thing: {name: text, at: place, when: time, owner: person}
kinds:
  happened:
    on: thing.happened
    to: {person: owner}
    actor: told
    unsure: later
    says: '{{ subject.name }}'
    plans: [now, then, later]
plans:
  now:
    channel: push
    close: {before: when, by: 1h}
    look_back: 2d
    headline: x
    body: y
    longer: z
    image: 'https://example.com/'
    opens: 'https://example.com/'
    sections: [{title: t, kinds: happened, most: 3}]
  then:
    channel: webhook
    close: {before: when}
    look_back: 2d
    headline: x
    body: y
    sections: [{title: t, kinds: happened, most: 3}]
  later:
    channel: email
    close: at_once
    look_back: 2d
    count: [followed]
    headline: x
    preheader: y
    from: a@example.com
    template: a.mjml
    text: a.txt
    sections: [{title: t, kinds: happened, most: 3}]
caps:
  few: {most: 3, per: day, zone: person, channel: push, kinds: [happened], tenants: [free]}
sources:
  things:
    topic: other.things
    format: json
    tells: thing.happened
    otherwise: thing.changed
    when: row.good
    subject: '"thing:" ~ row.id'
    id: row.id
    time: row.at
    version: row.version
    actor: row.by
    persons: row.persons
    data: {name: row.name}
    snapshot: true
  follows: {topic: other.follows, format: json, tells: follow, person: row.person, subject: '"thing:" ~ row.id'}
  mutes: {topic: other.mutes, format: avro, tells: mute, person: row.person, data: {kind: row.kind}}
  events: {topic: other.events, format: cloudevents}
"#;
