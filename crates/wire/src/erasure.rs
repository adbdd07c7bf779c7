//! `erasure`: how far the erasure of a person is, and in the end its receipt, on the topic `erasures`.

use std::sync::LazyLock;

use model::{
    Millis, Person, Tenant,
    erase::{Counts, Erasure, Holding, Line, Progress, Receipt},
};
use serde::{Deserialize, Serialize};

use crate::{
    codec::{Codec, Undecodable, WireError},
    list,
    parts::Text,
};

pub(crate) static CODEC: LazyLock<Codec> = LazyLock::new(|| Codec::new("erasure", &SCHEMAS));

/// Ours first, then all that were ours before.
const SCHEMAS: [&str; 1] = [include_str!("../../../schemas/erasure.avsc")];

#[derive(Serialize, Deserialize)]
#[serde(rename = "erasure")]
pub(crate) struct ErasureDto<'a> {
    tenant: Text<'a>,
    person: Text<'a>,
    asked: i64,
    at: i64,
    state: StateDto,
    step: Text<'a>,
    #[serde(with = "list")]
    places: Vec<PlaceDto<'a>>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "erasure_state", rename_all = "snake_case")]
enum StateDto {
    Asked,
    Working,
    Lifted,
    Done,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "erased_place")]
struct PlaceDto<'a> {
    place: Text<'a>,
    removed: i64,
    stays: Option<Text<'a>>,
    until: Option<i64>,
}

pub fn encode(erasure: &Erasure) -> Result<Vec<u8>, WireError> {
    CODEC.encode(&ErasureDto::of(erasure))
}

pub fn decode(bytes: &[u8]) -> Result<Erasure, Undecodable> {
    CODEC.decode::<ErasureDto<'_>>(bytes)?.model()
}

impl<'a> ErasureDto<'a> {
    pub(crate) fn of(erasure: &'a Erasure) -> Self {
        let removed = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        let (state, step, places) = match &erasure.progress {
            Progress::Asked => (StateDto::Asked, "", Vec::new()),
            Progress::Lifted => (StateDto::Lifted, "", Vec::new()),
            Progress::Working { step, removed: counts } => {
                let place = |(holding, count): (&Holding, &u64)| PlaceDto {
                    place: holding.name().into(),
                    removed: removed(*count),
                    stays: None,
                    until: None,
                };
                (StateDto::Working, step.as_str(), counts.iter().map(place).collect())
            }
            Progress::Done(receipt) => {
                let place = |line: &'a Line| PlaceDto {
                    place: line.holding.name().into(),
                    removed: removed(line.removed),
                    stays: line.stays.as_deref().map(Text::Borrowed),
                    until: line.until.map(|until| until.0),
                };
                (StateDto::Done, "", receipt.lines.iter().map(place).collect())
            }
        };
        Self {
            tenant: erasure.tenant.as_str().into(),
            person: erasure.person.as_str().into(),
            asked: erasure.asked.0,
            at: erasure.at.0,
            state,
            step: step.into(),
            places,
        }
    }

    fn model(self) -> Result<Erasure, Undecodable> {
        let progress = match self.state {
            StateDto::Asked => Progress::Asked,
            StateDto::Lifted => Progress::Lifted,
            StateDto::Working => {
                let lines = lines(self.places)?;
                let removed: Counts = lines.into_iter().map(|line| (line.holding, line.removed)).collect();
                Progress::Working { step: self.step.into_owned(), removed }
            }
            StateDto::Done => Progress::Done(Receipt { lines: lines(self.places)? }),
        };
        Ok(Erasure {
            tenant: Tenant::new(&self.tenant)?,
            person: Person::new(&self.person)?,
            asked: Millis(self.asked),
            at: Millis(self.at),
            progress,
        })
    }
}

fn lines(places: Vec<PlaceDto<'_>>) -> Result<Vec<Line>, Undecodable> {
    let line = |place: PlaceDto<'_>| {
        let unknown =
            || Undecodable::new(format!("a place `{}` that this version does not know", place.place));
        let negative = |_| Undecodable::new(format!("{} things were removed", place.removed));
        Ok(Line {
            holding: Holding::parse(&place.place).ok_or_else(unknown)?,
            removed: u64::try_from(place.removed).map_err(negative)?,
            stays: place.stays.map(|stays| stays.into_owned()),
            until: place.until.map(Millis),
        })
    };
    places.into_iter().map(line).collect()
}
