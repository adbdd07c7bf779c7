//! The YAML of a configuration, as a tree in which every key and value knows its place.

use std::fmt;

use catalogue::yaml_slip::find_slip;
use serde::{Deserialize, Deserializer, de};
use serde_saphyr::{Location, Spanned};

/// A value and where it stands.
pub struct ConfigNode {
    pub what: ConfigNodeValue,
    pub at: ConfigPosition,
}

pub enum ConfigNodeValue {
    Text(String),
    /// A number, a flag or nothing, as text: what it must be is known to whoever asked for it.
    Plain(String),
    List(Vec<ConfigNode>),
    Map(Vec<(String, ConfigPosition, ConfigNode)>),
}

/// Line and column, both from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConfigPosition {
    pub line: u64,
    pub column: u64,
}

impl fmt::Display for ConfigPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

impl From<Location> for ConfigPosition {
    fn from(location: Location) -> Self {
        Self { line: location.line().max(1), column: location.column().max(1) }
    }
}

/// Reads a file; what is no YAML is refused with its place. An empty file is an empty map.
pub fn parse_yaml(text: &str) -> Result<ConfigNode, (ConfigPosition, String)> {
    let error = match read_yaml(text) {
        Ok(raw) => return Ok(raw.into_node()),
        Err(error) => error,
    };
    let at = error.location().map_or(ConfigPosition { line: 1, column: 1 }, ConfigPosition::from);
    let what = error.without_snippet().to_string();
    let line = |at: ConfigPosition| usize::try_from(at.line).unwrap_or(usize::MAX);
    let fails =
        |text: &str| read_yaml(text).err().map(|error| error.location().map_or(1, |at| line(at.into())));
    let is_twice = what.contains("duplicate mapping key");
    if let Some(slip) = (!is_twice).then(|| find_slip(text, line(at), &fails)).flatten() {
        let at = ConfigPosition { line: slip.line as u64, column: slip.column as u64 };
        // What was probably meant would show what stands there, which may be a secret.
        return Err((at, slip.what));
    }
    // The crate says its place and its own options in the text; ours stands in front already.
    let what = what.split(" at line ").next().unwrap_or(&what);
    let what = what.split(", set DuplicateKeyPolicy").next().unwrap_or(what);
    Err((at, what.replace("duplicate mapping key: ", "this key is there twice: ")))
}

fn read_yaml(text: &str) -> Result<RawConfigNode, serde_saphyr::Error> {
    let options = serde_saphyr::options! { strict_booleans: true, emit_comments: false };
    serde_saphyr::from_str_with_options(text, options)
}

struct RawConfigNode(Spanned<RawConfigValue>);

enum RawConfigValue {
    Text(String),
    Plain(String),
    List(Vec<RawConfigNode>),
    Map(Vec<(Spanned<String>, RawConfigNode)>),
}

impl RawConfigNode {
    fn into_node(self) -> ConfigNode {
        let at = self.0.referenced.into();
        let what = match self.0.value {
            RawConfigValue::Text(text) => ConfigNodeValue::Text(text),
            RawConfigValue::Plain(text) => ConfigNodeValue::Plain(text),
            RawConfigValue::List(list) => {
                ConfigNodeValue::List(list.into_iter().map(Self::into_node).collect())
            }
            RawConfigValue::Map(map) => ConfigNodeValue::Map(
                map.into_iter()
                    .map(|(key, value)| (key.value, key.referenced.into(), value.into_node()))
                    .collect(),
            ),
        };
        ConfigNode { what, at }
    }
}

impl<'de> Deserialize<'de> for RawConfigNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Spanned::deserialize(deserializer).map(Self)
    }
}

impl<'de> Deserialize<'de> for RawConfigValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ConfigValueVisitor)
    }
}

struct ConfigValueVisitor;

impl<'de> de::Visitor<'de> for ConfigValueVisitor {
    type Value = RawConfigValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a number, a flag, a list or a map")
    }

    fn visit_unit<E>(self) -> Result<RawConfigValue, E> {
        Ok(RawConfigValue::Plain(String::new()))
    }

    fn visit_none<E>(self) -> Result<RawConfigValue, E> {
        Ok(RawConfigValue::Plain(String::new()))
    }

    fn visit_bool<E>(self, flag: bool) -> Result<RawConfigValue, E> {
        Ok(RawConfigValue::Plain(flag.to_string()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<RawConfigValue, E> {
        Ok(RawConfigValue::Plain(number.to_string()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<RawConfigValue, E> {
        Ok(RawConfigValue::Plain(number.to_string()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<RawConfigValue, E> {
        Ok(RawConfigValue::Plain(number.to_string()))
    }

    fn visit_str<E>(self, text: &str) -> Result<RawConfigValue, E> {
        Ok(RawConfigValue::Text(text.to_owned()))
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut access: A) -> Result<RawConfigValue, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = access.next_element()? {
            list.push(item);
        }
        Ok(RawConfigValue::List(list))
    }

    fn visit_map<A: de::MapAccess<'de>>(self, mut access: A) -> Result<RawConfigValue, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = access.next_entry()? {
            map.push(entry);
        }
        Ok(RawConfigValue::Map(map))
    }
}
