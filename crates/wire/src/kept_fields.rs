//! What entries keep of their events, as serde sees it.

use model::{KeptFields, UtcMillis, Value};
use serde::{Deserialize, Serialize};

use crate::{codec::DecodeError, finite, record_parts::WireText};

#[derive(Serialize, Deserialize)]
#[serde(rename = "kept_field")]
pub(crate) struct KeptFieldDto<'a> {
    name: WireText<'a>,
    value: KeptValueDto<'a>,
}

/// The order of the variants is the order of the union.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KeptValueDto<'a> {
    Text(WireText<'a>),
    Number(#[serde(with = "finite")] f64),
    Flag(bool),
    Time(i64),
}

/// All that is kept; what no kind keeps is not written.
pub(crate) fn split_kept(kept: &KeptFields) -> Vec<KeptFieldDto<'_>> {
    kept.iter().filter_map(|(name, value)| KeptFieldDto::from_field(name, value)).collect()
}

pub(crate) fn join_kept(fields: Vec<KeptFieldDto<'_>>) -> Result<KeptFields, DecodeError> {
    let mut kept = KeptFields::new();
    for KeptFieldDto { name, value } in fields {
        if kept.insert(name.as_ref().into(), value.model()).is_some() {
            return Err(DecodeError::new(format!("`{name}` is kept twice")));
        }
    }
    Ok(kept)
}

impl<'a> KeptFieldDto<'a> {
    fn from_field(name: &'a str, value: &'a Value) -> Option<Self> {
        let value = match value {
            Value::Text(text) => KeptValueDto::Text(WireText::Borrowed(text)),
            Value::Number(number) => KeptValueDto::Number(*number),
            Value::Flag(flag) => KeptValueDto::Flag(*flag),
            Value::Time(at) => KeptValueDto::Time(at.0),
            Value::Ref(_) | Value::Refs(_) | Value::Place(_) => return None,
        };
        Some(Self { name: name.into(), value })
    }
}

impl KeptValueDto<'_> {
    fn model(self) -> Value {
        match self {
            Self::Text(text) => Value::from_text(&text),
            Self::Number(number) => Value::Number(number),
            Self::Flag(flag) => Value::Flag(flag),
            Self::Time(at) => Value::Time(UtcMillis(at)),
        }
    }
}
