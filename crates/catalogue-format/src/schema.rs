//! The JSON Schema of a catalogue, for editors: made of the table by which catalogues are read. What it refuses the reader
//! refuses too; the reader also knows what the parts of a catalogue say of each other.

use serde_json::{Map, Value, json};

use crate::{
    CATALOGUE, FIRST_VERSION, FormatKey, FormatValue, KeyCombination, LENGTH, MapFormat, NamedValues,
    TextForm, limits::NAME_BYTES_MAX,
};

/// What the schema is called where it lies beside a catalogue.
pub const FILE: &str = "catalogue.schema.json";

/// The whole schema, in the dialect of 2020-12.
pub fn catalogue_schema() -> Value {
    let mut parts = Map::new();
    let root = map_schema(&CATALOGUE, &mut parts);
    let mut schema = Map::new();
    schema.insert("$schema".to_owned(), "https://json-schema.org/draft/2020-12/schema".into());
    schema.insert("title".to_owned(), "Catalogue of Tidings".into());
    schema.extend(root);
    schema.insert("$defs".to_owned(), Value::Object(parts));
    Value::Object(schema)
}

/// The schema as it lies in a file.
pub fn write_schema() -> String {
    format!("{:#}\n", catalogue_schema())
}

fn map_schema(map: &MapFormat, parts: &mut Map<String, Value>) -> Map<String, Value> {
    let properties: Map<String, Value> =
        map.keys().map(|key| (key.name.to_owned(), key_schema(key, parts))).collect();
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("description".to_owned(), strip_links(map.doc).into());
    schema.insert("properties".to_owned(), Value::Object(properties));
    match map.names {
        None => {
            schema.insert("additionalProperties".to_owned(), false.into());
        }
        Some(named) => schema.extend(named_schema(named, parts)),
    }
    let needed = map.needed();
    if !needed.is_empty() {
        schema.insert("required".to_owned(), needed.into());
    }
    if map.combinations.len() > 1 {
        let combinations = map.combinations.iter().map(|one| combination_schema(map, one, parts));
        let combinations: Vec<Value> = combinations.collect();
        schema.insert("anyOf".to_owned(), combinations.into());
    }
    schema
}

/// What must be there and what must not, beside what is said of each key.
fn combination_schema(map: &MapFormat, one: &KeyCombination, parts: &mut Map<String, Value>) -> Value {
    let mut properties: Map<String, Value> = map
        .key_names()
        .filter(|name| !one.has(name))
        .map(|name| (name.to_owned(), Value::Bool(false)))
        .collect();
    if let Some((key, value)) = &one.chosen_by {
        properties.insert((*key).to_owned(), Value::Object(value_schema(value, parts)));
    }
    json!({"required": one.needs, "properties": properties})
}

fn key_schema(key: &FormatKey, parts: &mut Map<String, Value>) -> Value {
    let mut schema = value_schema(&key.value, parts);
    let mut says = strip_links(key.doc);
    if key.since != FIRST_VERSION {
        says += &format!(" Since {}.", key.since);
    }
    schema.insert("description".to_owned(), says.into());
    if let Some(default) = key.default {
        schema.insert("default".to_owned(), literal(&key.value, default));
    }
    Value::Object(schema)
}

fn value_schema(value: &FormatValue, parts: &mut Map<String, Value>) -> Map<String, Value> {
    let schema = match value {
        FormatValue::Text(form) => return text_schema(form),
        FormatValue::Length { .. } => return text_schema(&LENGTH),
        FormatValue::Flag => json!({"type": "boolean"}),
        FormatValue::Number { least, most } => json!({"type": "integer", "minimum": least, "maximum": most}),
        FormatValue::Words(words) => json!({"enum": words}),
        FormatValue::Some(of) => {
            let one = value_schema(of, parts);
            json!({"anyOf": [one, {"type": "array", "items": one}]})
        }
        FormatValue::List { of, least, most } => {
            let items = value_schema(of, parts);
            json!({"type": "array", "items": items, "minItems": least, "maxItems": most})
        }
        FormatValue::Map(map) => {
            if !parts.contains_key(map.id) {
                // Before its keys, so that parts stand in the order in which they are named.
                parts.insert(map.id.to_owned(), Value::Null);
                let part = map_schema(map, parts);
                parts.insert(map.id.to_owned(), Value::Object(part));
            }
            json!({"$ref": format!("#/$defs/{}", map.id)})
        }
        FormatValue::Named(named) => {
            let mut schema = named_schema(named, parts);
            schema.insert("type".to_owned(), "object".into());
            return schema;
        }
        FormatValue::Either(values) => {
            let values: Vec<Value> =
                values.iter().map(|value| Value::Object(value_schema(value, parts))).collect();
            json!({ "anyOf": values })
        }
    };
    match schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}

fn text_schema(form: &TextForm) -> Map<String, Value> {
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "string".into());
    if !form.pattern.is_empty() {
        schema.insert("pattern".to_owned(), form.pattern.into());
    }
    schema
}

fn named_schema(named: &NamedValues, parts: &mut Map<String, Value>) -> Map<String, Value> {
    let mut schema = Map::new();
    let names = json!({"pattern": named.name.pattern, "maxLength": NAME_BYTES_MAX});
    schema.insert("propertyNames".to_owned(), names);
    schema.insert("additionalProperties".to_owned(), Value::Object(value_schema(&named.value, parts)));
    schema
}

/// A default as the value that it is.
pub fn literal(value: &FormatValue, default: &str) -> Value {
    match value {
        FormatValue::Flag => (default == "true").into(),
        FormatValue::Number { .. } => default.parse::<u16>().map_or(Value::Null, Value::from),
        _ => default.into(),
    }
}

/// `[this](there)` becomes `this`: an editor has nowhere to go.
fn strip_links(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, (name, after))) =
        rest.split_once('[').and_then(|(before, link)| Some((before, link.split_once("](")?)))
    {
        plain += before;
        plain += name;
        rest = after.split_once(')').map_or("", |(_, rest)| rest);
    }
    plain + rest
}
