//! What a source makes of one record of others: expressions over a row become attributes and data.
//!
//! A column that is null is as good as missing: it is nothing, asked for with `not` or `is none`, and
//! what is made of nothing is an error and never the text `none`. Only in `data` the two differ: null takes
//! a field's value away, and what is missing is not stated.

use std::{collections::BTreeMap, fmt, sync::Arc};

use minijinja::{Environment, Error, ErrorKind, UndefinedBehavior, Value};
use model::{Day, UtcMillis};
use serde_json::{Map, Value as Json};

use crate::{
    language::{self, TextReads},
    limits::{CONDITION_FUEL, RECURSION_MAX},
    sources::{StatementRule, StatementSort},
};

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

/// One thing that is said: what, and the attributes of a change that says it.
#[derive(Clone, PartialEq, Debug)]
pub struct RowStatement {
    pub what: StatementSort,
    /// Of a follow and of a mute, whether it begins.
    pub on: bool,
    pub attributes: Map<String, Json>,
}

/// Why a record says nothing that can be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct RowError(String);

/// An expression that has been checked.
#[derive(Clone)]
pub(crate) struct SourceExpression {
    pub text: String,
    env: Arc<Environment<'static>>,
    reads: Arc<TextReads>,
}

const TEMPLATE: &str = "expression";
const RESULT: &str = "it";

/// How a null is written where it must be told from what is missing: no text of others has this character.
const NULL: &str = "\u{FDD0}";

impl StatementRule {
    /// What a record says.
    pub fn tell(&self, row: SourceRow<'_>) -> Result<Vec<RowStatement>, RowError> {
        let is_event = matches!(self.what, StatementSort::Event(_));
        match row.change {
            RowChange::Read if !self.snapshot => return Ok(Vec::new()),
            RowChange::Empty if is_event => return Ok(Vec::new()),
            RowChange::Empty => {
                return Err(RowError(
                    "the table was emptied at once, and which facts ended is not said".to_string(),
                ));
            }
            _ => {}
        }
        let holds = self.holds(row)?;
        match &self.what {
            StatementSort::Event(_) if holds => {
                Ok(vec![self.build_statement(row, self.what.clone(), true)?])
            }
            StatementSort::Event(_) => {
                let other = self
                    .otherwise
                    .clone()
                    .map(|other| self.build_statement(row, StatementSort::Event(other), true));
                Ok(other.transpose()?.into_iter().collect())
            }
            StatementSort::Profile if holds => {
                Ok(vec![self.build_statement(row, StatementSort::Profile, true)?])
            }
            StatementSort::Profile => Ok(Vec::new()),
            StatementSort::Follow | StatementSort::Mute => self.tell_moved(row, holds),
        }
    }

    /// A fact that begins or has ended; one whose person or subject has become another ends as well.
    fn tell_moved(&self, row: SourceRow<'_>, holds: bool) -> Result<Vec<RowStatement>, RowError> {
        let now = self.build_statement(row, self.what.clone(), holds)?;
        if row.change != RowChange::Update {
            return Ok(vec![now]);
        }
        let Some(before) = row.before else {
            self.check_stays(row, &now)?;
            return Ok(vec![now]);
        };
        let was =
            self.build_statement(SourceRow { row: before, before: None, ..row }, self.what.clone(), false)?;
        let data = |said: &RowStatement| said.attributes.get("data").cloned().unwrap_or_default();
        if data(&was) == data(&now) {
            return Ok(vec![now]);
        }
        // It ended when the other began.
        let mut ended = RowStatement { on: false, ..now.clone() };
        ended.attributes.insert("data".to_string(), data(&was));
        Ok(vec![ended, now])
    }

    /// Refuses an update of a table that may have made it a fact of somebody else, or of something else: the row that
    /// it was is not said, and what was true before would never end. What its key alone decides cannot have moved.
    fn check_stays(&self, row: SourceRow<'_>, now: &RowStatement) -> Result<(), RowError> {
        // Other formats have no row before: each record is a statement of its own.
        if !row.source.is_object() {
            return Ok(());
        }
        let by_key = self.build_statement(SourceRow { row: row.key, ..row }, self.what.clone(), false);
        if by_key.is_ok_and(|by_key| by_key.attributes.get("data") == now.attributes.get("data")) {
            return Ok(());
        }
        let help = "in PostgreSQL the table needs REPLICA IDENTITY FULL, or make both of its key";
        Err(RowError(format!("whose it was, and of what, this update does not say: {help}")))
    }

    fn holds(&self, row: SourceRow<'_>) -> Result<bool, RowError> {
        let Some(when) = &self.when else { return Ok(row.change != RowChange::Delete) };
        // A row that is gone was as it was, and what was true of it is not told once more: only a `when` that
        // asks for `change` has thought of it.
        let is_fact = !matches!(self.what, StatementSort::Event(_));
        if row.change == RowChange::Delete && (is_fact || !when.reads.roots.contains("change")) {
            return Ok(false);
        }
        if row.change == RowChange::Update && row.before.is_none() && when.reads.roots.contains("before") {
            let help = "in PostgreSQL the table needs REPLICA IDENTITY FULL";
            return Err(RowError(format!(
                "`when` asks for the row before, which this update does not say: {help}"
            )));
        }
        match when.value(row, NullMeaning::Nothing) {
            Ok(value) => Ok(value.is_true()),
            // What is not there is not so.
            Err(error) if error.kind() == ErrorKind::UndefinedError => Ok(false),
            Err(error) => Err(row_error("when", when, &error)),
        }
    }

    fn build_statement(
        &self,
        row: SourceRow<'_>,
        what: StatementSort,
        on: bool,
    ) -> Result<RowStatement, RowError> {
        let mut attributes = Map::new();
        let mut data = match &self.data {
            Some(data) => evaluate_fields(data, row)?,
            None => self
                .declared
                .iter()
                .filter_map(|name| Some((name.clone(), row.row.get(name)?.clone())))
                .collect(),
        };
        for (name, expression) in &self.attributes {
            let value = match expression.value(row, NullMeaning::Nothing) {
                Ok(value) if value.is_undefined() => None,
                Ok(value) => Some(json_value(name, expression, &value)?),
                Err(error) if error.kind() == ErrorKind::UndefinedError => None,
                Err(error) => return Err(row_error(name, expression, &error)),
            };
            let Some(value) = value else {
                // The others have something that holds without them.
                if ["subject", "person"].contains(name) {
                    return Err(RowError(format!(
                        "`{name}`: `{}` is nothing in this record",
                        expression.text
                    )));
                }
                continue;
            };
            match (*name, &self.what) {
                ("person", _) => data.insert("person".to_string(), id_text(value)),
                ("subject", StatementSort::Follow) => data.insert("target".to_string(), id_text(value)),
                ("time", _) => attributes.insert("time".to_string(), time_text(value)),
                ("persons" | "version", _) => attributes.insert((*name).to_string(), value),
                _ => attributes.insert((*name).to_string(), id_text(value)),
            };
        }
        attributes.insert("data".to_string(), Json::Object(data));
        Ok(RowStatement { what, on, attributes })
    }
}

fn evaluate_fields(
    data: &BTreeMap<String, SourceExpression>,
    row: SourceRow<'_>,
) -> Result<Map<String, Json>, RowError> {
    let mut fields = Map::new();
    for (name, expression) in data {
        let nothing = match expression.value(row, NullMeaning::Nothing) {
            Ok(value) if !value.is_undefined() => {
                fields.insert(name.clone(), json_value(name, expression, &value)?);
                continue;
            }
            Ok(_) => None,
            Err(error) if error.kind() == ErrorKind::UndefinedError => None,
            Err(error) => Some(error),
        };
        if let Some(error) = nothing {
            return Err(row_error(name, expression, &error));
        }
        // Nothing, since something is null or since something is missing? With nulls for values only the
        // second is nothing still.
        let is_null = expression.value(row, NullMeaning::Said).is_ok_and(|value| !value.is_undefined());
        if is_null {
            fields.insert(name.clone(), Json::Null);
        }
    }
    Ok(fields)
}

fn row_error(name: &str, expression: &SourceExpression, error: &Error) -> RowError {
    RowError(format!("`{name}`: `{}`: {error}", expression.text))
}

fn json_value(name: &str, expression: &SourceExpression, value: &Value) -> Result<Json, RowError> {
    serde_json::to_value(value).map_err(|error| RowError(format!("`{name}`: `{}`: {error}", expression.text)))
}

/// Ids of others are numbers as often as texts.
fn id_text(value: Json) -> Json {
    match value {
        Json::Number(number) if !number.is_f64() => Json::String(number.to_string()),
        other => other,
    }
}

/// A time as a change states it, from one or from milliseconds.
fn time_text(value: Json) -> Json {
    value.as_i64().map_or(value, |ms| UtcMillis(ms).to_string().into())
}

/// What a null is to an expression.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NullMeaning {
    Nothing,
    Said,
}

impl SourceExpression {
    pub fn compile(text: &str, reads: TextReads) -> Result<Self, String> {
        let mut env = Environment::empty();
        language::install_words(&mut env);
        install_source_words(&mut env);
        env.set_fuel(Some(CONDITION_FUEL));
        env.set_recursion_limit(RECURSION_MAX);
        env.set_undefined_behavior(UndefinedBehavior::SemiStrict);
        let template = format!("{{% set {RESULT} = ({text}\n) %}}");
        env.add_template_owned(TEMPLATE, template).map_err(|error| error.to_string())?;
        Ok(Self { text: text.to_string(), env: Arc::new(env), reads: Arc::new(reads) })
    }

    fn value(&self, row: SourceRow<'_>, nulls: NullMeaning) -> Result<Value, Error> {
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
        || Error::new(ErrorKind::InvalidOperation, "it is no time: neither a whole number nor a text");
    at.map(|at| Value::from(UtcMillis(at).to_string())).ok_or_else(error)
}

/// A text as a number; what is a number or nothing stays.
fn to_number(value: Value) -> Result<Value, Error> {
    let Some(text) = value.as_str().filter(|text| *text != NULL) else { return Ok(value) };
    let text = text.trim();
    let whole = text.parse::<i64>().map(Value::from).ok();
    let number = || text.parse::<f64>().ok().filter(|number| number.is_finite()).map(Value::from);
    let error = || Error::new(ErrorKind::InvalidOperation, "it is no number");
    whole.or_else(number).ok_or_else(error)
}
