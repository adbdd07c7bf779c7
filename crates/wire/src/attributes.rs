//! The attributes of one change in JSON: each is taken out and read, and what is left are fields.

use std::borrow::Cow;

use model::Millis;
use serde_json::{Map, Value};

use crate::{
    cloud::{BOTH_SUBJECTS, Cloud, CloudPerson},
    codec::{LIST_MAX, shortened},
};

const EMPTY: &str = "it is empty";
const NO_TEXT: &str = "it is not a text";

/// The attributes that have not been read yet.
pub(crate) struct Attributes(pub(crate) Map<String, Value>);

/// Which attribute, and what is wrong with it. Within a list it is a path, such as `persons/3/score`.
type Wrong = (Cow<'static, str>, String);

fn wrong<T>(name: impl Into<Cow<'static, str>>, reason: impl Into<String>) -> Result<T, Wrong> {
    Err((name.into(), reason.into()))
}

impl Attributes {
    pub(crate) fn cloud(mut self) -> Result<Cloud, Wrong> {
        let versioned = match self.text("specversion")? {
            None => false,
            Some(version) if version == "1.0" => true,
            Some(_) => return wrong("specversion", "only 1.0 is understood"),
        };
        let (id, source) = (self.needed("id")?, self.needed("source")?);
        let what = self.needed("type")?;
        let subject = self.text("subject")?;
        let subjects = self.list("subjects", subject_of)?;
        if subject.is_some() && !subjects.is_empty() {
            return wrong("subjects", BOTH_SUBJECTS);
        }
        let persons = self.list("persons", person_of)?;
        let time = self.time()?;
        let actor = self.text("actor")?;
        let version = self.version()?;
        self.json_only()?;
        let data = self.data(versioned)?;
        Ok(Cloud { id, source, what, subject, subjects, persons, time, data, actor, version })
    }

    /// Takes an attribute; null is as good as missing.
    fn take(&mut self, name: &str) -> Option<Value> {
        self.0.shift_remove(name).filter(|value| !value.is_null())
    }

    fn text(&mut self, name: &'static str) -> Result<Option<String>, Wrong> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) if !text.is_empty() => Ok(Some(text)),
            Some(Value::String(_)) => wrong(name, EMPTY),
            Some(_) => wrong(name, NO_TEXT),
        }
    }

    fn needed(&mut self, name: &'static str) -> Result<String, Wrong> {
        self.text(name)?.ok_or_else(|| (name.into(), "it is missing".to_owned()))
    }

    /// A list of what the items are read as; an empty one is as good as missing.
    fn list<T>(&mut self, name: &'static str, item: fn(Value) -> Result<T, Within>) -> Result<Vec<T>, Wrong> {
        match self.take(name) {
            None => Ok(Vec::new()),
            Some(Value::Array(items)) if items.len() > LIST_MAX => {
                wrong(name, format!("it has {} items, more than {LIST_MAX}", items.len()))
            }
            Some(Value::Array(items)) => {
                let read =
                    |(i, value)| item(value).map_err(|(at, why)| (format!("{name}/{i}{at}").into(), why));
                items.into_iter().enumerate().map(read).collect()
            }
            Some(_) => wrong(name, "it is not a list"),
        }
    }

    fn time(&mut self) -> Result<Option<Millis>, Wrong> {
        match self.text("time")? {
            None => Ok(None),
            Some(text) => match Millis::parse(&text) {
                Some(time) => Ok(Some(time)),
                None => wrong("time", "not a time as in 2026-11-21T09:00:00Z (RFC 3339)"),
            },
        }
    }

    /// CloudEvents' own whole numbers have 32 bits; longer ones travel as text.
    fn version(&mut self) -> Result<Option<i64>, Wrong> {
        let version = match self.take("version") {
            None => return Ok(None),
            Some(Value::Number(number)) => number.as_i64(),
            Some(Value::String(digits)) => digits.parse().ok(),
            Some(_) => None,
        };
        version.map(Some).ok_or_else(|| ("version".into(), "it is not a whole number of 64 bits".to_owned()))
    }

    fn json_only(&mut self) -> Result<(), Wrong> {
        if self.take("data_base64").is_some() {
            return wrong("data_base64", "only JSON is understood");
        }
        let is_json = |text: &str| {
            let essence = text.split(';').next().unwrap_or(text).trim().to_ascii_lowercase();
            essence == "application/json" || essence.ends_with("+json")
        };
        self.text("dataschema")?;
        match self.text("datacontenttype")? {
            Some(text) if !is_json(&text) => wrong("datacontenttype", "only JSON is understood"),
            _ => Ok(()),
        }
    }

    fn data(mut self, versioned: bool) -> Result<Map<String, Value>, Wrong> {
        match self.take("data") {
            None => Ok(self.0),
            Some(Value::Object(data)) if versioned => Ok(data),
            Some(Value::Object(data)) => match self.0.keys().next() {
                None => Ok(data),
                Some(other) => {
                    let other = shortened(other);
                    wrong("data", format!("the fields are in `data`, and there is `{other}` beside it"))
                }
            },
            Some(_) => wrong("data", "it is not an object"),
        }
    }
}

/// Where within an item of a list, and what is wrong there.
type Within = (Cow<'static, str>, String);

fn subject_of(item: Value) -> Result<String, Within> {
    match item {
        Value::String(text) if !text.is_empty() => Ok(text),
        Value::String(_) => wrong("", EMPTY),
        _ => wrong("", NO_TEXT),
    }
}

/// A person's id alone, or in an object with a score.
fn person_of(item: Value) -> Result<CloudPerson, Within> {
    let mut parts = match item {
        Value::Object(parts) => parts,
        Value::String(person) if !person.is_empty() => return Ok(CloudPerson { person, score: None }),
        Value::String(_) => return wrong("", EMPTY),
        _ => return wrong("", r#"it is neither a person's id nor as {"person": "ann", "score": 0.93}"#),
    };
    let person = match parts.shift_remove("person") {
        Some(Value::String(person)) if !person.is_empty() => person,
        Some(Value::String(_)) => return wrong("/person", EMPTY),
        Some(Value::Null) | None => return wrong("/person", "it is missing"),
        Some(_) => return wrong("/person", NO_TEXT),
    };
    let score = match parts.shift_remove("score") {
        Some(Value::Null) | None => None,
        Some(Value::Number(score)) => score.as_f64(),
        Some(_) => return wrong("/score", "it is not a number"),
    };
    match parts.keys().next() {
        None => Ok(CloudPerson { person, score }),
        Some(other) => wrong("", format!("there is `{}` beside `person` and `score`", shortened(other))),
    }
}
