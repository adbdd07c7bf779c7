//! The attributes of one change in JSON: each is taken out and read, and what is left are fields.

use std::borrow::Cow;

use model::UtcMillis;
use serde_json::{Map, Value};

use crate::{
    cloud_change::{BOTH_SUBJECTS, CloudChange, CloudPerson},
    codec::{LIST_MAX, shorten_text},
};

const EMPTY: &str = "it is empty";
const NO_TEXT: &str = "it is not a text";

/// The attributes that have not been read yet.
pub(crate) struct ChangeAttributes(pub(crate) Map<String, Value>);

/// Which attribute, and what is wrong with it. Within a list it is a path, such as `persons/3/score`.
type AttributeError = (Cow<'static, str>, String);

fn fail_attribute<T>(
    name: impl Into<Cow<'static, str>>,
    reason: impl Into<String>,
) -> Result<T, AttributeError> {
    Err((name.into(), reason.into()))
}

impl ChangeAttributes {
    pub(crate) fn into_change(mut self) -> Result<CloudChange, AttributeError> {
        let versioned = match self.take_text("specversion")? {
            None => false,
            Some(version) if version == "1.0" => true,
            Some(_) => return fail_attribute("specversion", "only 1.0 is supported"),
        };
        let (id, source) = (self.take_required("id")?, self.take_required("source")?);
        let what = self.take_required("type")?;
        let subject = self.take_text("subject")?;
        let subjects = self.take_list("subjects", read_subject)?;
        if subject.is_some() && !subjects.is_empty() {
            return fail_attribute("subjects", BOTH_SUBJECTS);
        }
        let persons = self.take_list("persons", read_person)?;
        let time = self.take_time()?;
        let actor = self.take_text("actor")?;
        let (actor_name, actor_kind) = (self.take_text("actorname")?, self.take_text("actorkind")?);
        let version = self.take_version()?;
        self.check_json_only()?;
        let data = self.take_data(versioned)?;
        Ok(CloudChange {
            id,
            source,
            what,
            subject,
            subjects,
            persons,
            time,
            data,
            actor,
            actor_name,
            actor_kind,
            version,
        })
    }

    /// Takes an attribute; null is as good as missing.
    fn take_attribute(&mut self, name: &str) -> Option<Value> {
        self.0.shift_remove(name).filter(|value| !value.is_null())
    }

    fn take_text(&mut self, name: &'static str) -> Result<Option<String>, AttributeError> {
        match self.take_attribute(name) {
            None => Ok(None),
            Some(Value::String(text)) if !text.is_empty() => Ok(Some(text)),
            Some(Value::String(_)) => fail_attribute(name, EMPTY),
            Some(_) => fail_attribute(name, NO_TEXT),
        }
    }

    fn take_required(&mut self, name: &'static str) -> Result<String, AttributeError> {
        self.take_text(name)?.ok_or_else(|| (name.into(), format!("`{name}` is missing")))
    }

    /// A list of what the items are read as; an empty one is as good as missing.
    fn take_list<T>(
        &mut self,
        name: &'static str,
        item: fn(Value) -> Result<T, ListItemError>,
    ) -> Result<Vec<T>, AttributeError> {
        match self.take_attribute(name) {
            None => Ok(Vec::new()),
            Some(Value::Array(items)) if items.len() > LIST_MAX => {
                fail_attribute(name, format!("it has {} items, more than {LIST_MAX}", items.len()))
            }
            Some(Value::Array(items)) => {
                let read =
                    |(i, value)| item(value).map_err(|(at, why)| (format!("{name}/{i}{at}").into(), why));
                items.into_iter().enumerate().map(read).collect()
            }
            Some(_) => fail_attribute(name, "it is not a list"),
        }
    }

    fn take_time(&mut self) -> Result<Option<UtcMillis>, AttributeError> {
        match self.take_text("time")? {
            None => Ok(None),
            Some(text) => match UtcMillis::parse(&text) {
                Some(time) => Ok(Some(time)),
                None => fail_attribute("time", "it is not a time, such as 2026-11-21T09:00:00Z (RFC 3339)"),
            },
        }
    }

    /// CloudEvents' own whole numbers have 32 bits; longer ones travel as text.
    fn take_version(&mut self) -> Result<Option<i64>, AttributeError> {
        let version = match self.take_attribute("version") {
            None => return Ok(None),
            Some(Value::Number(number)) => number.as_i64(),
            Some(Value::String(digits)) => digits.parse().ok(),
            Some(_) => None,
        };
        version.map(Some).ok_or_else(|| ("version".into(), "it is not a whole number of 64 bits".to_owned()))
    }

    fn check_json_only(&mut self) -> Result<(), AttributeError> {
        if self.take_attribute("data_base64").is_some() {
            return fail_attribute("data_base64", "only JSON is supported");
        }
        let is_json = |text: &str| {
            let essence = text.split(';').next().unwrap_or(text).trim().to_ascii_lowercase();
            essence == "application/json" || essence.ends_with("+json")
        };
        self.take_text("dataschema")?;
        match self.take_text("datacontenttype")? {
            Some(text) if !is_json(&text) => fail_attribute("datacontenttype", "only JSON is supported"),
            _ => Ok(()),
        }
    }

    fn take_data(mut self, versioned: bool) -> Result<Map<String, Value>, AttributeError> {
        match self.take_attribute("data") {
            None => Ok(self.0),
            Some(Value::Object(data)) if versioned => Ok(data),
            Some(Value::Object(data)) => match self.0.keys().next() {
                None => Ok(data),
                Some(other) => {
                    let other = shorten_text(other);
                    fail_attribute(
                        "data",
                        format!("the fields are in `data`, so `{other}` cannot stand beside it"),
                    )
                }
            },
            Some(_) => fail_attribute("data", "it is not an object"),
        }
    }
}

/// Where within an item of a list, and what is wrong there.
type ListItemError = (Cow<'static, str>, String);

fn read_subject(item: Value) -> Result<String, ListItemError> {
    match item {
        Value::String(text) if !text.is_empty() => Ok(text),
        Value::String(_) => fail_attribute("", EMPTY),
        _ => fail_attribute("", NO_TEXT),
    }
}

/// A person's id alone, or in an object with a score.
fn read_person(item: Value) -> Result<CloudPerson, ListItemError> {
    let mut parts = match item {
        Value::Object(parts) => parts,
        Value::String(person) if !person.is_empty() => return Ok(CloudPerson { person, score: None }),
        Value::String(_) => return fail_attribute("", EMPTY),
        _ => {
            return fail_attribute("", r#"it is neither a person's id nor {"person": "ann", "score": 0.93}"#);
        }
    };
    let person = match parts.shift_remove("person") {
        Some(Value::String(person)) if !person.is_empty() => person,
        Some(Value::String(_)) => return fail_attribute("/person", EMPTY),
        Some(Value::Null) | None => return fail_attribute("/person", "`person` is missing"),
        Some(_) => return fail_attribute("/person", NO_TEXT),
    };
    let score = match parts.shift_remove("score") {
        Some(Value::Null) | None => None,
        Some(Value::Number(score)) => score.as_f64(),
        Some(_) => return fail_attribute("/score", "it is not a number"),
    };
    match parts.keys().next() {
        None => Ok(CloudPerson { person, score }),
        Some(other) => fail_attribute(
            "",
            format!("an object of `persons` has `person` and `score` alone, not `{}`", shorten_text(other)),
        ),
    }
}
