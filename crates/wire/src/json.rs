//! JSON read strictly: a name given twice is an error and not a surprise, and nesting is bounded.

use std::fmt;

use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Deserializer, Map, Number, Value};

use crate::codec::shorten_text;

/// Levels of lists and objects within each other.
pub const DEPTH_MAX: usize = 16;

/// Reads one value and nothing after it.
pub(crate) fn parse_strict(text: &str) -> Result<Value, serde_json::Error> {
    let mut deserializer = Deserializer::from_str(text);
    let value = StrictJsonSeed { levels: DEPTH_MAX }.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

/// Builds a value, with so many levels left.
#[derive(Clone, Copy)]
struct StrictJsonSeed {
    levels: usize,
}

impl StrictJsonSeed {
    fn one_level_deeper<E: Error>(self) -> Result<Self, E> {
        let levels = self.levels.checked_sub(1);
        let levels = levels.ok_or_else(|| E::custom(format!("nested deeper than {DEPTH_MAX} levels")))?;
        Ok(Self { levels })
    }
}

impl<'de> DeserializeSeed<'de> for StrictJsonSeed {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for StrictJsonSeed {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Bool(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Number(number.into()))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
        let number = Number::from_f64(number).ok_or_else(|| E::custom("a number is not finite"))?;
        Ok(Value::Number(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::String(text))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let deeper = self.one_level_deeper()?;
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(deeper)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let deeper = self.one_level_deeper()?;
        let mut fields = Map::new();
        while let Some(name) = map.next_key::<String>()? {
            if fields.contains_key(&name) {
                return Err(A::Error::custom(format!("`{}` is given twice", shorten_text(&name))));
            }
            let value = map.next_value_seed(deeper)?;
            fields.insert(name, value);
        }
        Ok(Value::Object(fields))
    }
}
