//! What a source makes of one record of others: expressions over a row become attributes and data.
//!
//! A column that is null is as good as missing. Only in `data` the two differ: null takes a field's value away, and what
//! is missing is not stated.

use std::collections::BTreeMap;

use expression::{NullMeaning, RowChange, SourceExpression, SourceRow};
use minijinja::{Error, ErrorKind, Value};
use model::UtcMillis;
use serde_json::{Map, Value as Json};

use crate::rule::{StatementRule, StatementSort};

/// One thing that is said: what, and the attributes of a change that says it.
#[derive(Clone, PartialEq, Debug)]
pub struct RowStatement {
    pub what: StatementSort,
    /// Of a follow and of a mute, whether it begins.
    pub on: bool,
    pub attributes: Map<String, Json>,
}

/// Why a record cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct RowError(String);

impl StatementRule {
    /// What a record says.
    pub fn tell(&self, row: SourceRow<'_>) -> Result<Vec<RowStatement>, RowError> {
        let is_event = matches!(self.what, StatementSort::Event(_));
        match row.change {
            RowChange::Read if !self.snapshot => return Ok(Vec::new()),
            RowChange::Empty if is_event => return Ok(Vec::new()),
            RowChange::Empty => {
                return Err(RowError(
                    "the table was truncated, and the record does not say which facts ended".to_string(),
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

    /// A fact that begins or ends. If its person or subject changed, the old fact ends as well.
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

    /// Refuses an update without the row before it if person or subject may have changed: the old fact would never end.
    /// A fact that the key alone decides cannot have changed.
    fn check_stays(&self, row: SourceRow<'_>, now: &RowStatement) -> Result<(), RowError> {
        // Other formats have no row before: each record is a statement of its own.
        if !row.source.is_object() {
            return Ok(());
        }
        let by_key = self.build_statement(SourceRow { row: row.key, ..row }, self.what.clone(), false);
        if by_key.is_ok_and(|by_key| by_key.attributes.get("data") == now.attributes.get("data")) {
            return Ok(());
        }
        let help = "in PostgreSQL, set REPLICA IDENTITY FULL for the table, or make person and subject its \
            key";
        Err(RowError(format!("the update does not say which person and subject the row had before: {help}")))
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
            let help = "in PostgreSQL, set REPLICA IDENTITY FULL for the table";
            return Err(RowError(format!(
                "`when` reads the row before the update, which the record does not have: {help}"
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
                        "`{name}`: `{}` has no value in this record",
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
