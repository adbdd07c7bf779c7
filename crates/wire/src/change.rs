//! `change`: what an upstream service puts on the topic `changes`: Avro if it begins as Avro does,
//! otherwise one CloudEvents object in JSON.

use std::{fmt, sync::LazyLock};

use model::UtcMillis;
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error as _, MapAccess, Visitor},
};
use serde_json::{Map, Number, Value, json};

use crate::{
    cell::PlaceDto,
    cloud_change::{BOTH_SUBJECTS, CloudChange, CloudPerson, ITEM_BYTES_MAX},
    cloud_event::parse_change,
    codec::{DecodeError, LIST_MAX, RecordCodec, WireError, is_single_object},
    finite, list,
    record_parts::WireText,
};

pub(crate) static CODEC: LazyLock<RecordCodec> = LazyLock::new(|| RecordCodec::new("change", &SCHEMAS));

/// Ours first, then all that were ours before.
const SCHEMAS: [&str; 3] = [
    include_str!("../../../schemas/change.avsc"),
    include_str!("../../../schemas/old/change.2.avsc"),
    include_str!("../../../schemas/old/change.1.avsc"),
];

#[derive(Serialize, Deserialize)]
#[serde(rename = "change")]
pub(crate) struct ChangeDto<'a> {
    id: WireText<'a>,
    source: WireText<'a>,
    r#type: WireText<'a>,
    subject: Option<WireText<'a>>,
    #[serde(with = "list")]
    subjects: Vec<WireText<'a>>,
    #[serde(with = "list")]
    persons: Vec<ChangePersonDto<'a>>,
    time: Option<i64>,
    actor: Option<WireText<'a>>,
    actorname: Option<WireText<'a>>,
    actorkind: Option<WireText<'a>>,
    version: Option<i64>,
    data: DataFields<'a>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "listed_person")]
struct ChangePersonDto<'a> {
    person: WireText<'a>,
    #[serde(with = "finite::optional")]
    score: Option<f64>,
}

/// A map as a list of pairs: the order stays, and a name that comes twice is seen.
struct DataFields<'a>(Vec<(WireText<'a>, DataFieldDto<'a>)>);

/// The order of the variants is the order of the union.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum DataFieldDto<'a> {
    Removed,
    Flag(bool),
    Whole(i64),
    Number(#[serde(with = "finite")] f64),
    Text(WireText<'a>),
    Texts(#[serde(with = "list")] Vec<WireText<'a>>),
    Place(PlaceDto),
}

/// Writes a change in Avro. What Avro's schema has no place for, such as nested objects, cannot be written.
pub fn encode(cloud: &CloudChange) -> Result<Vec<u8>, WireError> {
    let bytes = CODEC.encode(&ChangeDto::from_change(cloud).map_err(|reason| CODEC.unfit_error(&reason))?)?;
    match bytes.len() {
        fits if fits <= ITEM_BYTES_MAX => Ok(bytes),
        more => Err(CODEC.unfit_error(&format!("{more} bytes, more than {ITEM_BYTES_MAX}"))),
    }
}

/// Reads a change in either form.
pub fn decode(bytes: &[u8]) -> Result<CloudChange, DecodeError> {
    if bytes.len() > ITEM_BYTES_MAX {
        return Err(DecodeError::new(format!("{} bytes, more than {ITEM_BYTES_MAX}", bytes.len())));
    }
    if is_single_object(bytes) {
        return CODEC.decode::<ChangeDto<'_>>(bytes)?.into_change();
    }
    parse_change(bytes).map_err(|error| match is_no_json(bytes) {
        true => DecodeError::new("it is neither JSON nor Avro"),
        false => DecodeError::new(error),
    })
}

/// Whether it is a text of another sort: where it stops being JSON says nothing to anybody.
fn is_no_json(bytes: &[u8]) -> bool {
    let text = str::from_utf8(bytes).unwrap_or("{").trim_start();
    !text.starts_with(['{', '[', '"']) && serde_json::from_str::<serde::de::IgnoredAny>(text).is_err()
}

impl<'a> ChangeDto<'a> {
    pub(crate) fn from_change(cloud: &'a CloudChange) -> Result<Self, String> {
        let text = |text: &'a Option<String>| text.as_deref().map(WireText::Borrowed);
        let field = |(name, value): (&'a String, &'a Value)| {
            let value = DataFieldDto::from_value(value)
                .ok_or_else(|| format!("`{name}` is neither a simple value, a list of texts nor a place"));
            Ok((WireText::Borrowed(name.as_str()), value?))
        };
        if cloud.subject.is_some() && !cloud.subjects.is_empty() {
            return Err(BOTH_SUBJECTS.to_owned());
        }
        Ok(Self {
            id: cloud.id.as_str().into(),
            source: cloud.source.as_str().into(),
            r#type: cloud.what.as_str().into(),
            subject: text(&cloud.subject),
            subjects: cloud.subjects.iter().map(|subject| subject.as_str().into()).collect(),
            persons: cloud.persons.iter().map(ChangePersonDto::from_person).collect(),
            time: cloud.time.map(|time| time.0),
            actor: text(&cloud.actor),
            actorname: text(&cloud.actor_name),
            actorkind: text(&cloud.actor_kind),
            version: cloud.version,
            data: DataFields(cloud.data.iter().map(field).collect::<Result<_, String>>()?),
        })
    }

    fn into_change(self) -> Result<CloudChange, DecodeError> {
        let owned = |text: WireText<'_>| text.into_owned();
        let mut data = Map::new();
        for (name, field) in self.data.0 {
            if let Some(_twice) = data.insert(name.clone().into_owned(), field.into_json()) {
                return Err(DecodeError::new(format!("`{name}` is given twice")));
            }
        }
        for (name, text) in [("id", &self.id), ("source", &self.source), ("type", &self.r#type)] {
            if text.is_empty() {
                return Err(DecodeError::new(format!("`{name}` is empty")));
            }
        }
        if self.subject.is_some() && !self.subjects.is_empty() {
            return Err(DecodeError::new(BOTH_SUBJECTS));
        }
        Ok(CloudChange {
            id: owned(self.id),
            source: owned(self.source),
            what: owned(self.r#type),
            subject: self.subject.map(owned),
            subjects: self.subjects.into_iter().map(owned).collect(),
            persons: self.persons.into_iter().map(ChangePersonDto::into_person).collect(),
            time: self.time.map(UtcMillis),
            data,
            actor: self.actor.map(owned),
            actor_name: self.actorname.map(owned),
            actor_kind: self.actorkind.map(owned),
            version: self.version,
        })
    }
}

impl<'a> ChangePersonDto<'a> {
    fn from_person(listed: &'a CloudPerson) -> Self {
        Self { person: listed.person.as_str().into(), score: listed.score }
    }

    fn into_person(self) -> CloudPerson {
        CloudPerson { person: self.person.into_owned(), score: self.score }
    }
}

impl<'a> DataFieldDto<'a> {
    fn from_value(value: &'a Value) -> Option<Self> {
        Some(match value {
            Value::Null => Self::Removed,
            Value::Bool(flag) => Self::Flag(*flag),
            Value::Number(number) => match number.as_i64() {
                Some(whole) => Self::Whole(whole),
                None if number.is_f64() => Self::Number(number.as_f64()?),
                None => return None,
            },
            Value::String(text) => Self::Text(text.as_str().into()),
            Value::Array(items) => {
                let texts = items.iter().map(|item| item.as_str().map(WireText::Borrowed));
                Self::Texts(texts.collect::<Option<_>>()?)
            }
            Value::Object(object) if object.len() == 2 => {
                let degrees = |name: &str| object.get(name).and_then(Value::as_f64);
                Self::Place(PlaceDto { lat: degrees("lat")?, lon: degrees("lon")? })
            }
            Value::Object(_) => return None,
        })
    }

    fn into_json(self) -> Value {
        match self {
            Self::Removed => Value::Null,
            Self::Flag(flag) => Value::Bool(flag),
            Self::Whole(whole) => Value::Number(whole.into()),
            // Always a number: only finite ones are read.
            Self::Number(number) => Number::from_f64(number).map_or(Value::Null, Value::Number),
            Self::Text(text) => Value::String(text.into_owned()),
            Self::Texts(texts) => texts.into_iter().map(WireText::into_owned).collect(),
            Self::Place(PlaceDto { lat, lon }) => json!({"lat": lat, "lon": lon}),
        }
    }
}

impl Serialize for DataFields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.len() > LIST_MAX {
            return Err(serde::ser::Error::custom(format!("more than {LIST_MAX} fields")));
        }
        serializer.collect_map(self.0.iter().map(|(name, field)| (name, field)))
    }
}

impl<'de> Deserialize<'de> for DataFields<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(DataFieldsVisitor).map(DataFields)
    }
}

struct DataFieldsVisitor;

impl<'de> Visitor<'de> for DataFieldsVisitor {
    type Value = Vec<(WireText<'static>, DataFieldDto<'static>)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of fields")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            if fields.len() == LIST_MAX {
                return Err(A::Error::custom(format!("more than {LIST_MAX} fields")));
            }
            fields.push(field);
        }
        Ok(fields)
    }
}
