//! YAML with places: the file becomes a tree in which every key and value knows its line and column, so
//! that all problems of a file can be reported at once and not only the first.

use std::fmt;

use serde::{Deserialize, Deserializer, de};
use serde_saphyr::{Location, Spanned};

use crate::{
    problem::{SourceText, TextProblem},
    yaml_slip::find_slip,
    yaml_words::describe_parser_error,
};

/// Levels of a file.
const DEPTH_MAX: usize = 16;

/// A value and where it stands.
#[derive(Clone, Debug)]
pub struct TreeNode {
    pub what: TreeValue,
    pub at: TreePlace,
}

#[derive(Clone, Debug)]
pub enum TreeValue {
    Nothing,
    Flag(bool),
    Number(TreeNumber),
    Text(String),
    List(Vec<TreeNode>),
    Map(Vec<(TreeKey, TreeNode)>),
}

/// A number, no digit of it lost.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum TreeNumber {
    Signed(i64),
    Unsigned(u64),
    Float(f64),
}

/// A key of a map and where it stands.
#[derive(Clone, Debug)]
pub struct TreeKey {
    pub name: String,
    pub at: TreePlace,
}

/// A place in the file; the bytes are those of a scalar as it is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TreePlace {
    /// Line and column count from 1.
    pub line: usize,
    pub column: usize,
    pub start: usize,
    pub len: usize,
}

impl fmt::Display for TreePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

impl TreeNumber {
    #[allow(clippy::cast_precision_loss, reason = "bounds here are far below 2^53")]
    pub fn to_f64(self) -> f64 {
        match self {
            Self::Signed(number) => number as f64,
            Self::Unsigned(number) => number as f64,
            Self::Float(number) => number,
        }
    }
}

impl fmt::Display for TreeNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Signed(number) => number.fmt(f),
            Self::Unsigned(number) => number.fmt(f),
            Self::Float(number) => number.fmt(f),
        }
    }
}

impl TreeNode {
    /// Whether it is a list without anything in it.
    pub fn is_empty(&self) -> bool {
        matches!(&self.what, TreeValue::List(list) if list.is_empty())
    }
}

impl TreeValue {
    /// What it is, for a message.
    pub fn sort_name(&self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Flag(_) => "a flag",
            Self::Number(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
        }
    }
}

/// Reads a file. What is no YAML, or has a key twice, is a problem. Its `what` says no value of the file;
/// its help and its excerpt do, and are not for texts that may hold secrets.
pub fn parse_yaml(source: SourceText<'_>) -> Result<TreeNode, TextProblem> {
    let error = match read_raw(source.text) {
        Ok(raw) => return Ok(raw.into_node()),
        Err(error) => error,
    };
    let at = error.location().map(TreePlace::from).unwrap_or_default();
    // The parser notices a slip where it cannot go on, which may be lines later.
    let fails = |text: &str| {
        read_raw(text).err().map(|error| error.location().map_or(1, |at| TreePlace::from(at).line))
    };
    let said = error.without_snippet().to_string();
    let twice = said.split_once("duplicate mapping key: ").map(|(_, key)| key);
    if let Some(slip) = twice.is_none().then(|| find_slip(source.text, at.line.max(1), &fails)).flatten() {
        return Err(source.problem(slip.line, slip.column, slip.what).with_help(slip.help));
    }
    let (what, help) = describe_parser_error(&said);
    // The crate has its own options behind the key.
    let key = twice.map(|key| key.split(", set DuplicateKeyPolicy").next().unwrap_or(key));
    let what = key.map_or_else(|| what.to_owned(), |key| format!("{what}: {key}"));
    Err(source.problem(at.line.max(1), at.column.max(1), what).with_help(help.to_owned()))
}

fn read_raw(text: &str) -> Result<RawTree, serde_saphyr::Error> {
    // `on`, `yes` and `no` are words here, as in YAML 1.2.
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_depth: DEPTH_MAX },
        strict_booleans: true,
        emit_comments: false,
    };
    serde_saphyr::from_str_with_options(text, options)
}

impl From<Location> for TreePlace {
    fn from(location: Location) -> Self {
        let number = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let span = location.span();
        Self {
            line: number(location.line()).max(1),
            column: number(location.column()).max(1),
            start: span.byte_offset().map_or(0, number),
            len: span.byte_len().map_or(0, number),
        }
    }
}

/// What serde sees.
struct RawTree(Spanned<RawTreeValue>);

enum RawTreeValue {
    Leaf(TreeValue),
    List(Vec<RawTree>),
    Map(Vec<(Spanned<String>, RawTree)>),
}

impl RawTree {
    fn into_node(self) -> TreeNode {
        let at = self.0.referenced.into();
        let what = match self.0.value {
            RawTreeValue::Leaf(leaf) => leaf,
            RawTreeValue::List(list) => TreeValue::List(list.into_iter().map(Self::into_node).collect()),
            RawTreeValue::Map(map) => TreeValue::Map(
                map.into_iter()
                    .map(|(key, value)| {
                        (TreeKey { name: key.value, at: key.referenced.into() }, value.into_node())
                    })
                    .collect(),
            ),
        };
        TreeNode { what, at }
    }
}

impl<'de> Deserialize<'de> for RawTree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Spanned::deserialize(deserializer).map(Self)
    }
}

impl<'de> Deserialize<'de> for RawTreeValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> de::Visitor<'de> for TreeVisitor {
    type Value = RawTreeValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a number, a flag, a list or a map")
    }

    fn visit_unit<E>(self) -> Result<RawTreeValue, E> {
        Ok(RawTreeValue::Leaf(TreeValue::Nothing))
    }

    fn visit_none<E>(self) -> Result<RawTreeValue, E> {
        Ok(RawTreeValue::Leaf(TreeValue::Nothing))
    }

    fn visit_bool<E>(self, flag: bool) -> Result<RawTreeValue, E> {
        Ok(RawTreeValue::Leaf(TreeValue::Flag(flag)))
    }

    fn visit_i64<E>(self, number: i64) -> Result<RawTreeValue, E> {
        Ok(RawTreeValue::Leaf(TreeValue::Number(TreeNumber::Signed(number))))
    }

    fn visit_u64<E>(self, number: u64) -> Result<RawTreeValue, E> {
        Ok(RawTreeValue::Leaf(TreeValue::Number(TreeNumber::Unsigned(number))))
    }

    fn visit_f64<E>(self, number: f64) -> Result<RawTreeValue, E> {
        Ok(RawTreeValue::Leaf(TreeValue::Number(TreeNumber::Float(number))))
    }

    fn visit_str<E>(self, text: &str) -> Result<RawTreeValue, E> {
        Ok(RawTreeValue::Leaf(TreeValue::Text(text.to_string())))
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut access: A) -> Result<RawTreeValue, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = access.next_element()? {
            list.push(item);
        }
        Ok(RawTreeValue::List(list))
    }

    fn visit_map<A: de::MapAccess<'de>>(self, mut access: A) -> Result<RawTreeValue, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = access.next_entry()? {
            map.push(entry);
        }
        Ok(RawTreeValue::Map(map))
    }
}
