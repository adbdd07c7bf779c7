//! What is known of a subject or a person: named cells, each with its source's version.
//!
//! Merging is the same on every engine and in memory: the higher version wins, whatever came first.

use std::{cmp::Ordering, collections::BTreeMap, fmt, sync::Arc};

use crate::{id::SubjectRef, time::UtcMillis};

/// A value that an upstream service states.
#[derive(Clone, Debug)]
pub enum Value {
    Text(Arc<str>),
    Number(f64),
    Flag(bool),
    Time(UtcMillis),
    Ref(SubjectRef),
    Refs(Vec<SubjectRef>),
    Place(GeoPoint),
}

/// A point on the globe, in degrees.
#[derive(Clone, Copy, Debug)]
pub struct GeoPoint {
    pub lat: f64,
    pub lon: f64,
}

/// In a fixed order, so that rows have one: numbers by their value, and one is equal to itself.
impl Ord for Value {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Text(one), Self::Text(other)) => one.cmp(other),
            (Self::Number(one), Self::Number(other)) => one.total_cmp(other),
            (Self::Flag(one), Self::Flag(other)) => one.cmp(other),
            (Self::Time(one), Self::Time(other)) => one.cmp(other),
            (Self::Ref(one), Self::Ref(other)) => one.cmp(other),
            (Self::Refs(one), Self::Refs(other)) => one.cmp(other),
            (Self::Place(one), Self::Place(other)) => one.cmp(other),
            (one, other) => one.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Value {}

impl Ord for GeoPoint {
    fn cmp(&self, other: &Self) -> Ordering {
        self.lat.total_cmp(&other.lat).then(self.lon.total_cmp(&other.lon))
    }
}

impl PartialOrd for GeoPoint {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for GeoPoint {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for GeoPoint {}

impl Value {
    /// The place of its sort among the others.
    fn rank(&self) -> u8 {
        match self {
            Self::Text(_) => 0,
            Self::Number(_) => 1,
            Self::Flag(_) => 2,
            Self::Time(_) => 3,
            Self::Ref(_) => 4,
            Self::Refs(_) => 5,
            Self::Place(_) => 6,
        }
    }

    pub fn from_text(text: &str) -> Self {
        Self::Text(text.into())
    }

    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn as_flag(&self) -> Option<bool> {
        match self {
            Self::Flag(flag) => Some(*flag),
            _ => None,
        }
    }

    pub fn as_place(&self) -> Option<GeoPoint> {
        match self {
            Self::Place(place) => Some(*place),
            _ => None,
        }
    }

    /// The references this value holds: one, several or none.
    pub fn refs(&self) -> &[SubjectRef] {
        match self {
            Self::Ref(one) => std::slice::from_ref(one),
            Self::Refs(many) => many,
            _ => &[],
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Number(number) => write!(f, "{number}"),
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Time(at) => write!(f, "{at}"),
            Self::Ref(one) => write!(f, "{one}"),
            Self::Refs(many) => many
                .iter()
                .enumerate()
                .try_for_each(|(i, one)| write!(f, "{}{one}", if i > 0 { "," } else { "" })),
            Self::Place(GeoPoint { lat, lon }) => write!(f, "{lat},{lon}"),
        }
    }
}

/// One named value at one version; `None` is a removal, which is a value too and not a delete.
#[derive(Clone, PartialEq, Debug)]
pub struct ValueCell {
    pub version: i64,
    pub value: Option<Value>,
}

impl ValueCell {
    /// Whether this cell wins over the other. Equal versions are settled by the content, so that the
    /// winner does not depend on who came first: a removal wins, then the greater text.
    pub fn wins_over(&self, other: &Self) -> bool {
        let rank =
            |cell: &Self| (cell.version, cell.value.is_none(), cell.value.as_ref().map(ToString::to_string));
        rank(self) > rank(other)
    }
}

/// The latest state of a subject or of a person's profile.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct VersionedState {
    pub cells: BTreeMap<Arc<str>, ValueCell>,
}

impl VersionedState {
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.cells.get(name).and_then(|cell| cell.value.as_ref())
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(Value::as_text)
    }

    /// Whether a flag is up; one that is not there is not.
    pub fn flag(&self, name: &str) -> bool {
        self.get(name).and_then(Value::as_flag).unwrap_or(false)
    }

    pub fn place(&self, name: &str) -> Option<GeoPoint> {
        self.get(name).and_then(Value::as_place)
    }

    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Sets one cell if it wins over what is there.
    pub fn set(&mut self, name: &str, cell: ValueCell) {
        match self.cells.get_mut(name) {
            Some(old) => {
                if cell.wins_over(old) {
                    *old = cell;
                }
            }
            None => {
                self.cells.insert(name.into(), cell);
            }
        }
    }

    /// All cells of both, the newer of each; the order of merges does not matter.
    pub fn merge(&mut self, other: &Self) {
        for (name, cell) in &other.cells {
            self.set(name, cell.clone());
        }
    }

    /// The same state from a list; for sources and tests.
    pub fn from_values(
        version: i64,
        values: impl IntoIterator<Item = (impl AsRef<str>, Option<Value>)>,
    ) -> Self {
        let mut state = Self::default();
        for (name, value) in values {
            state.set(name.as_ref(), ValueCell { version, value });
        }
        state
    }
}
