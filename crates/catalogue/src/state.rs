//! From what an upstream service states, as JSON, to typed cells.

use model::{
    FieldType, GeoPoint, Person, SubjectRef, UtcMillis, Value, ValueCell, VersionedState,
    limits::{ID_BYTES_MAX, REFS_MAX, TEXT_BYTES_MAX},
};
use serde_json::{Map, Value as Json};

use source_text::{did_you_mean, units::is_web_url};

use crate::Catalogue;

/// A value that is not what its field was declared to be, or a subject of no declared type.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SubjectFieldError {
    #[error("{subject}: there is no subject type `{found}`{}", help.as_ref().map(|help| format!(", {help}")).unwrap_or_default())]
    Subject { subject: SubjectRef, found: String, help: Option<String> },
    #[error("{subject}: field `{field}` must be {expected}, not {found}")]
    Field { subject: SubjectRef, field: String, expected: String, found: String },
}

impl Catalogue {
    /// The stated fields as cells of one version. `null` is a removal; fields that are not declared are
    /// none of our business.
    pub fn state(
        &self,
        subject: &SubjectRef,
        data: &Map<String, Json>,
        version: i64,
    ) -> Result<VersionedState, SubjectFieldError> {
        let Some(declared) = self.subjects.get(subject.kind()) else {
            let found = subject.kind().to_string();
            let help = did_you_mean(&found, self.subjects.keys().map(String::as_str));
            return Err(SubjectFieldError::Subject { subject: subject.clone(), found, help });
        };
        let mut state = VersionedState::default();
        for (name, json) in data {
            let Some(field) = declared.fields.get(name) else { continue };
            let value = match json {
                Json::Null => None,
                json => Some(typed_value(field, json).map_err(|found| SubjectFieldError::Field {
                    subject: subject.clone(),
                    field: name.clone(),
                    expected: describe_expected(field),
                    found,
                })?),
            };
            state.set(name, ValueCell { version, value });
        }
        Ok(state)
    }
}

/// The typed value, or what was found instead.
fn typed_value(field: &FieldType, json: &Json) -> Result<Value, String> {
    let found = || describe_json(json);
    match field {
        FieldType::Text => json_text(json).map(Value::from_text),
        FieldType::Url => match json_text(json)? {
            url if is_web_url(url) => Ok(Value::from_text(url)),
            _ => Err(found()),
        },
        FieldType::Number => json.as_f64().filter(|n| n.is_finite()).map(Value::Number).ok_or_else(found),
        FieldType::Flag => json.as_bool().map(Value::Flag).ok_or_else(found),
        FieldType::Time => json.as_str().and_then(UtcMillis::parse).map(Value::Time).ok_or_else(found),
        FieldType::Ref(target) => parse_reference(target, json).map(Value::Ref),
        FieldType::Refs(target) => {
            let list = json.as_array().ok_or_else(found)?;
            if list.len() > REFS_MAX {
                return Err(format!("a list of {}", list.len()));
            }
            list.iter().map(|one| parse_reference(target, one)).collect::<Result<_, _>>().map(Value::Refs)
        }
        FieldType::Place => match parse_place(json) {
            Ok(place) => Ok(Value::Place(place)),
            Err(PlaceParseError::Form) => Err(found()),
            Err(off @ PlaceParseError::OffGlobe { .. }) => Err(off.to_string()),
        },
        FieldType::Person => {
            let person = json.as_str().and_then(|text| Person::new(text).ok());
            person.map(|person| Value::from_text(person.as_str())).ok_or_else(found)
        }
    }
}

fn json_text(json: &Json) -> Result<&str, String> {
    match json.as_str() {
        Some(text) if text.len() > TEXT_BYTES_MAX => Err(format!("a text of {} bytes", text.len())),
        Some(text) => Ok(text),
        None => Err(describe_json(json)),
    }
}

fn parse_reference(target: &str, json: &Json) -> Result<SubjectRef, String> {
    let reference = json.as_str().and_then(|text| SubjectRef::new(text).ok());
    reference.filter(|to| to.kind() == target).ok_or_else(|| describe_json(json))
}

/// Why something is no place.
#[derive(Clone, Copy, PartialEq, Debug, thiserror::Error)]
pub enum PlaceParseError {
    #[error("neither two degrees nor a map of them")]
    Form,
    #[error("the {name} {degrees}, outside of -{most} to {most}")]
    OffGlobe { name: &'static str, degrees: f64, most: f64 },
}

/// A place from outside: degrees north and east, as `{"lat": 52.5, "lon": 13.4}` or as the text `52.5,13.4`.
pub fn parse_place(json: &Json) -> Result<GeoPoint, PlaceParseError> {
    let degrees = match json {
        Json::String(text) => text.split_once(',').and_then(|(lat, lon)| {
            let degrees = |text: &str| text.trim().parse().ok().filter(|degrees: &f64| degrees.is_finite());
            Some((degrees(lat)?, degrees(lon)?))
        }),
        Json::Object(map) => {
            let degrees = |name: &str| map.get(name)?.as_f64();
            degrees("lat").zip(degrees("lon"))
        }
        _ => None,
    };
    let (lat, lon) = degrees.ok_or(PlaceParseError::Form)?;
    let (name, degrees, most) =
        if (-90.0..=90.0).contains(&lat) { ("longitude", lon, 180.0) } else { ("latitude", lat, 90.0) };
    GeoPoint::new(lat, lon).ok_or(PlaceParseError::OffGlobe { name, degrees, most })
}

/// What a field must be, with an example where the word alone does not say it.
fn describe_expected(field: &FieldType) -> String {
    match field {
        FieldType::Text => format!("a text of at most {TEXT_BYTES_MAX} bytes"),
        FieldType::Url => "an absolute URL, http or https".to_string(),
        FieldType::Number => "a number".to_string(),
        FieldType::Flag => "true or false".to_string(),
        FieldType::Time => "a time like `2026-11-27T18:00:00Z`".to_string(),
        FieldType::Ref(target) => format!("a reference like `{target}:7`"),
        FieldType::Refs(target) => format!("a list of at most {REFS_MAX} references like `{target}:7`"),
        FieldType::Person => format!("a person's id, a text of 1 to {ID_BYTES_MAX} bytes"),
        FieldType::Place => "a place like {\"lat\": 52.5, \"lon\": 13.4} or \"52.5,13.4\"".to_string(),
    }
}

/// Characters of a wrong value that a message quotes.
const QUOTE_CHARS: usize = 60;

fn describe_json(json: &Json) -> String {
    match json {
        Json::String(text) => {
            let mut quote: String = text.chars().take(QUOTE_CHARS).collect();
            if quote.len() < text.len() {
                quote.push('…');
            }
            format!("the text {quote:?}")
        }
        Json::Array(list) => format!("a list of {}", list.len()),
        Json::Object(_) => "a map".to_string(),
        other => other.to_string(),
    }
}
