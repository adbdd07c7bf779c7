//! The expressions of sources: compiled once, evaluated over one record of others.
//!
//! A column that is null is as good as missing: it is nothing, asked for with `not` or `is none`, and
//! what is made of nothing is an error and never the text `none`.

use std::{collections::BTreeMap, fmt, sync::Arc};

use minijinja::{Environment, Error, ErrorKind, Value};
use model::{Day, UtcMillis};
use serde_json::Value as Json;

use crate::{check::TextReads, words::bounded_environment};

/// What happened to a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowChange {
    Insert,
    Update,
    Delete,
    /// It was there when its source was first read.
    Read,
    /// All rows went at once, and nobody says which.
    Empty,
}

/// One record of others.
#[derive(Clone, Copy, Debug)]
pub struct SourceRow<'a> {
    pub change: RowChange,
    pub row: &'a Json,
    pub before: Option<&'a Json>,
    pub key: &'a Json,
    pub source: &'a Json,
    pub event: &'a Json,
    pub topic: &'a str,
    pub partition: u32,
    pub offset: u64,
    pub appended: UtcMillis,
}

/// An expression that has been checked.
#[derive(Clone)]
pub struct SourceExpression {
    pub text: String,
    env: Arc<Environment<'static>>,
    pub reads: Arc<TextReads>,
}

const TEMPLATE: &str = "expression";
const RESULT: &str = "it";

/// How a null is written where it must be told from what is missing: no text of others has this character.
const NULL: &str = "\u{FDD0}";

/// What a null is to an expression.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum NullMeaning {
    Nothing,
    Said,
}

impl SourceExpression {
    pub fn compile(text: &str, reads: TextReads) -> Result<Self, String> {
        let mut env = bounded_environment();
        install_source_words(&mut env);
        let template = format!("{{% set {RESULT} = ({text}\n) %}}");
        env.add_template_owned(TEMPLATE, template).map_err(|error| error.to_string())?;
        Ok(Self { text: text.to_string(), env: Arc::new(env), reads: Arc::new(reads) })
    }

    pub fn value(&self, row: SourceRow<'_>, nulls: NullMeaning) -> Result<Value, Error> {
        let rendered = self.env.get_template(TEMPLATE)?.render_captured(self.roots(row, nulls))?;
        Ok(rendered.state().lookup(RESULT).unwrap_or(Value::UNDEFINED))
    }

    /// The names that the expression reads, and no others.
    fn roots(&self, row: SourceRow<'_>, nulls: NullMeaning) -> Value {
        let of = |name: &str| match name {
            "row" => script_value(row.row, nulls),
            // An empty row rather than none, so that `not before.published` holds of a new one.
            "before" => row.before.map_or_else(
                || Value::from(BTreeMap::<String, Value>::new()),
                |before| script_value(before, nulls),
            ),
            "key" => script_value(row.key, nulls),
            "source" => script_value(row.source, nulls),
            "event" => script_value(row.event, nulls),
            "change" => Value::from(change_word(row.change)),
            "record" => Value::from(BTreeMap::from([
                ("topic", Value::from(row.topic)),
                ("partition", Value::from(row.partition)),
                ("offset", Value::from(row.offset)),
                ("appended", Value::from(row.appended.0)),
            ])),
            _ => Value::UNDEFINED,
        };
        self.reads.roots.iter().map(|name| (name.clone(), of(name))).collect::<BTreeMap<_, _>>().into()
    }
}

impl PartialEq for SourceExpression {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl fmt::Debug for SourceExpression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SourceExpression({:?})", self.text)
    }
}

fn change_word(change: RowChange) -> &'static str {
    match change {
        RowChange::Insert => "insert",
        RowChange::Update => "update",
        RowChange::Delete => "delete",
        RowChange::Read => "read",
        RowChange::Empty => "empty",
    }
}

fn script_value(json: &Json, nulls: NullMeaning) -> Value {
    match json {
        Json::Null if nulls == NullMeaning::Said => Value::from(NULL),
        Json::Null => Value::UNDEFINED,
        Json::Array(items) => items.iter().map(|item| script_value(item, nulls)).collect(),
        Json::Object(fields) => {
            let fields = fields.iter().filter(|(_, field)| nulls == NullMeaning::Said || !field.is_null());
            fields
                .map(|(name, field)| (name.clone(), script_value(field, nulls)))
                .collect::<BTreeMap<_, _>>()
                .into()
        }
        Json::Bool(flag) => Value::from(*flag),
        Json::Number(number) => {
            let whole = number.as_i64().map(Value::from).or_else(|| number.as_u64().map(Value::from));
            whole.or_else(|| number.as_f64().map(Value::from)).unwrap_or_default()
        }
        Json::String(text) => Value::from(text.as_str()),
    }
}

/// The words that only sources have.
fn install_source_words(env: &mut Environment<'_>) {
    env.add_test("none", |value: &Value| value.is_none() || value.is_undefined());
    env.add_filter("seconds", |value: Value| to_instant(value, |n| n.checked_mul(1_000)));
    env.add_filter("millis", |value: Value| to_instant(value, Some));
    env.add_filter("micros", |value: Value| to_instant(value, |n| Some(n.div_euclid(1_000))));
    env.add_filter("nanos", |value: Value| to_instant(value, |n| Some(n.div_euclid(1_000_000))));
    env.add_filter("days", |value: Value| {
        to_instant(value, |n| i32::try_from(n).ok().map(|day| Day(day).start().0))
    });
    env.add_filter("number", to_number);
}

/// A number as a time; what is a text or nothing stays.
fn to_instant(value: Value, millis: impl Fn(i64) -> Option<i64>) -> Result<Value, Error> {
    if value.is_undefined() || value.as_str().is_some() {
        return Ok(value);
    }
    let at = value.as_i64().and_then(millis);
    let error =
        || Error::new(ErrorKind::InvalidOperation, "it is not a time: neither a whole number nor a text");
    at.map(|at| Value::from(UtcMillis(at).to_string())).ok_or_else(error)
}

/// A text as a number; what is a number or nothing stays.
fn to_number(value: Value) -> Result<Value, Error> {
    let Some(text) = value.as_str().filter(|text| *text != NULL) else { return Ok(value) };
    let text = text.trim();
    let whole = text.parse::<i64>().map(Value::from).ok();
    let number = || text.parse::<f64>().ok().filter(|number| number.is_finite()).map(Value::from);
    let error = || Error::new(ErrorKind::InvalidOperation, "it is not a number");
    whole.or_else(number).ok_or_else(error)
}
