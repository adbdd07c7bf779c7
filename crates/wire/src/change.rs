//! `change`: what an upstream service puts on the topic `changes`: Avro if it begins as Avro does,
//! otherwise one CloudEvents object in JSON.

use std::{fmt, sync::LazyLock};

use model::Millis;
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error as _, MapAccess, Visitor},
};
use serde_json::{Map, Number, Value, json};

use crate::{
    cell::PlaceDto,
    cloud::{BOTH_SUBJECTS, Cloud, CloudPerson, ITEM_BYTES_MAX, parse},
    codec::{Codec, LIST_MAX, Undecodable, WireError, is_single_object},
    finite, list,
    parts::Text,
};

pub(crate) static CODEC: LazyLock<Codec> = LazyLock::new(|| Codec::new("change", &SCHEMAS));

/// Ours first, then all that were ours before.
const SCHEMAS: [&str; 2] =
    [include_str!("../../../schemas/change.avsc"), include_str!("../../../schemas/old/change.1.avsc")];

#[derive(Serialize, Deserialize)]
#[serde(rename = "change")]
pub(crate) struct ChangeDto<'a> {
    id: Text<'a>,
    source: Text<'a>,
    r#type: Text<'a>,
    subject: Option<Text<'a>>,
    #[serde(with = "list")]
    subjects: Vec<Text<'a>>,
    #[serde(with = "list")]
    persons: Vec<PersonDto<'a>>,
    time: Option<i64>,
    actor: Option<Text<'a>>,
    version: Option<i64>,
    data: Fields<'a>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "listed_person")]
struct PersonDto<'a> {
    person: Text<'a>,
    #[serde(with = "finite::optional")]
    score: Option<f64>,
}

/// A map as a list of pairs: the order stays, and a name that comes twice is seen.
struct Fields<'a>(Vec<(Text<'a>, FieldDto<'a>)>);

/// The order of the variants is the order of the union.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum FieldDto<'a> {
    Removed,
    Flag(bool),
    Whole(i64),
    Number(#[serde(with = "finite")] f64),
    Text(Text<'a>),
    Texts(#[serde(with = "list")] Vec<Text<'a>>),
    Place(PlaceDto),
}

/// Writes a change in Avro. What Avro's schema has no place for, such as nested objects, cannot be written.
pub fn encode(cloud: &Cloud) -> Result<Vec<u8>, WireError> {
    let bytes = CODEC.encode(&ChangeDto::of(cloud).map_err(|reason| CODEC.unfit(&reason))?)?;
    match bytes.len() {
        fits if fits <= ITEM_BYTES_MAX => Ok(bytes),
        more => Err(CODEC.unfit(&format!("{more} bytes, more than {ITEM_BYTES_MAX}"))),
    }
}

/// Reads a change in either form.
pub fn decode(bytes: &[u8]) -> Result<Cloud, Undecodable> {
    if bytes.len() > ITEM_BYTES_MAX {
        return Err(Undecodable::new(format!("{} bytes, more than {ITEM_BYTES_MAX}", bytes.len())));
    }
    if is_single_object(bytes) {
        return CODEC.decode::<ChangeDto<'_>>(bytes)?.cloud();
    }
    parse(bytes).map_err(|error| match is_no_json(bytes) {
        true => Undecodable::new("it is neither json nor avro"),
        false => Undecodable::new(error),
    })
}

/// Whether it is a text of another sort: where it stops being JSON says nothing to anybody.
fn is_no_json(bytes: &[u8]) -> bool {
    let text = str::from_utf8(bytes).unwrap_or("{").trim_start();
    !text.starts_with(['{', '[', '"']) && serde_json::from_str::<serde::de::IgnoredAny>(text).is_err()
}

impl<'a> ChangeDto<'a> {
    pub(crate) fn of(cloud: &'a Cloud) -> Result<Self, String> {
        let text = |text: &'a Option<String>| text.as_deref().map(Text::Borrowed);
        let field = |(name, value): (&'a String, &'a Value)| {
            let value = FieldDto::of(value)
                .ok_or_else(|| format!("`{name}` is neither simple, a list of texts nor a place"));
            Ok((Text::Borrowed(name.as_str()), value?))
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
            persons: cloud.persons.iter().map(PersonDto::of).collect(),
            time: cloud.time.map(|time| time.0),
            actor: text(&cloud.actor),
            version: cloud.version,
            data: Fields(cloud.data.iter().map(field).collect::<Result<_, String>>()?),
        })
    }

    fn cloud(self) -> Result<Cloud, Undecodable> {
        let owned = |text: Text<'_>| text.into_owned();
        let mut data = Map::new();
        for (name, field) in self.data.0 {
            if let Some(_twice) = data.insert(name.clone().into_owned(), field.json()) {
                return Err(Undecodable::new(format!("`{name}` is given twice")));
            }
        }
        for (name, text) in [("id", &self.id), ("source", &self.source), ("type", &self.r#type)] {
            if text.is_empty() {
                return Err(Undecodable::new(format!("`{name}` is empty")));
            }
        }
        if self.subject.is_some() && !self.subjects.is_empty() {
            return Err(Undecodable::new(BOTH_SUBJECTS));
        }
        Ok(Cloud {
            id: owned(self.id),
            source: owned(self.source),
            what: owned(self.r#type),
            subject: self.subject.map(owned),
            subjects: self.subjects.into_iter().map(owned).collect(),
            persons: self.persons.into_iter().map(PersonDto::cloud).collect(),
            time: self.time.map(Millis),
            data,
            actor: self.actor.map(owned),
            version: self.version,
        })
    }
}

impl<'a> PersonDto<'a> {
    fn of(listed: &'a CloudPerson) -> Self {
        Self { person: listed.person.as_str().into(), score: listed.score }
    }

    fn cloud(self) -> CloudPerson {
        CloudPerson { person: self.person.into_owned(), score: self.score }
    }
}

impl<'a> FieldDto<'a> {
    fn of(value: &'a Value) -> Option<Self> {
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
                let texts = items.iter().map(|item| item.as_str().map(Text::Borrowed));
                Self::Texts(texts.collect::<Option<_>>()?)
            }
            Value::Object(object) if object.len() == 2 => {
                let degrees = |name: &str| object.get(name).and_then(Value::as_f64);
                Self::Place(PlaceDto { lat: degrees("lat")?, lon: degrees("lon")? })
            }
            Value::Object(_) => return None,
        })
    }

    fn json(self) -> Value {
        match self {
            Self::Removed => Value::Null,
            Self::Flag(flag) => Value::Bool(flag),
            Self::Whole(whole) => Value::Number(whole.into()),
            // Always a number: only finite ones are read.
            Self::Number(number) => Number::from_f64(number).map_or(Value::Null, Value::Number),
            Self::Text(text) => Value::String(text.into_owned()),
            Self::Texts(texts) => texts.into_iter().map(Text::into_owned).collect(),
            Self::Place(PlaceDto { lat, lon }) => json!({"lat": lat, "lon": lon}),
        }
    }
}

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.len() > LIST_MAX {
            return Err(serde::ser::Error::custom(format!("more than {LIST_MAX} fields")));
        }
        serializer.collect_map(self.0.iter().map(|(name, field)| (name, field)))
    }
}

impl<'de> Deserialize<'de> for Fields<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor).map(Fields)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Vec<(Text<'static>, FieldDto<'static>)>;

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
