//! The cells of a subject's or a person's state, as serde sees them.

use std::borrow::Cow;

use model::{GeoPoint, SubjectRef, UtcMillis, Value, ValueCell, VersionedState};
use serde::{Deserialize, Serialize};

use crate::{codec::DecodeError, finite, list, record_parts::WireText};

#[derive(Serialize, Deserialize)]
#[serde(rename = "cell")]
pub(crate) struct CellDto<'a> {
    name: WireText<'a>,
    version: i64,
    value: CellValueDto<'a>,
}

/// The order of the variants is the order of the union.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum CellValueDto<'a> {
    Removed,
    Text(WireText<'a>),
    Number(#[serde(with = "finite")] f64),
    Flag(bool),
    Time(i64),
    Reference(ReferenceDto<'a>),
    References(ReferencesDto<'a>),
    Place(PlaceDto),
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "reference")]
struct ReferenceDto<'a> {
    #[serde(rename = "ref")]
    to: WireText<'a>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "references")]
struct ReferencesDto<'a> {
    #[serde(with = "list")]
    refs: Vec<WireText<'a>>,
}

#[derive(Serialize, Deserialize, Clone, Copy)]
#[serde(rename = "place")]
pub(crate) struct PlaceDto {
    #[serde(with = "finite")]
    pub(crate) lat: f64,
    #[serde(with = "finite")]
    pub(crate) lon: f64,
}

/// All cells of a state, sorted by name.
pub(crate) fn state_cells(state: &VersionedState) -> Vec<CellDto<'_>> {
    let cells = state.cells.iter();
    cells.map(|(name, cell)| CellDto::from_cell(name, cell)).collect()
}

/// The state that these cells make; a name that comes twice is an error, whichever would win.
pub(crate) fn to_state(cells: Vec<CellDto<'_>>) -> Result<VersionedState, DecodeError> {
    let mut state = VersionedState::default();
    for cell in cells {
        let value = cell.value.model()?;
        if state.cells.insert(cell.name.as_ref().into(), ValueCell { version: cell.version, value }).is_some()
        {
            return Err(DecodeError::new(format!("cell `{}` is given twice", cell.name)));
        }
    }
    Ok(state)
}

impl<'a> CellDto<'a> {
    fn from_cell(name: &'a str, cell: &'a ValueCell) -> Self {
        Self {
            name: name.into(),
            version: cell.version,
            value: CellValueDto::from_value(cell.value.as_ref()),
        }
    }
}

impl<'a> CellValueDto<'a> {
    fn from_value(value: Option<&'a Value>) -> Self {
        let text = |subject: &'a SubjectRef| Cow::Borrowed(subject.as_str());
        match value {
            None => Self::Removed,
            Some(Value::Text(text)) => Self::Text(Cow::Borrowed(text)),
            Some(Value::Number(number)) => Self::Number(*number),
            Some(Value::Flag(flag)) => Self::Flag(*flag),
            Some(Value::Time(at)) => Self::Time(at.0),
            Some(Value::Ref(to)) => Self::Reference(ReferenceDto { to: text(to) }),
            Some(Value::Refs(refs)) => {
                Self::References(ReferencesDto { refs: refs.iter().map(text).collect() })
            }
            Some(Value::Place(GeoPoint { lat, lon })) => Self::Place(PlaceDto { lat: *lat, lon: *lon }),
        }
    }

    fn model(self) -> Result<Option<Value>, DecodeError> {
        Ok(Some(match self {
            Self::Removed => return Ok(None),
            Self::Text(text) => Value::Text(text.as_ref().into()),
            Self::Number(number) => Value::Number(number),
            Self::Flag(flag) => Value::Flag(flag),
            Self::Time(at) => Value::Time(UtcMillis(at)),
            Self::Reference(one) => Value::Ref(SubjectRef::new(&one.to)?),
            Self::References(many) => {
                let refs = many.refs.iter().map(|one| SubjectRef::new(one));
                Value::Refs(refs.collect::<Result<_, _>>()?)
            }
            Self::Place(PlaceDto { lat, lon }) => Value::Place(GeoPoint { lat, lon }),
        }))
    }
}
