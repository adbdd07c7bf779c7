//! `erasure`: how far the erasure of a person is, and in the end its receipt, on the topic `erasures`.

use std::sync::LazyLock;

use house_facts::erasure::{Erasure, ErasureProgress, Holding, HoldingCounts, Receipt, ReceiptLine};
use model::{Person, Tenant, UtcMillis};
use serde::{Deserialize, Serialize};

use crate::{
    codec::{DecodeError, RecordCodec, WireError},
    list,
    record_parts::WireText,
};

pub(crate) static CODEC: LazyLock<RecordCodec> = LazyLock::new(|| RecordCodec::new("erasure", &SCHEMAS));

/// Ours first, then all that were ours before.
const SCHEMAS: [&str; 1] = [include_str!("../../../schemas/erasure.avsc")];

#[derive(Serialize, Deserialize)]
#[serde(rename = "erasure")]
pub(crate) struct ErasureDto<'a> {
    tenant: WireText<'a>,
    person: WireText<'a>,
    asked: i64,
    at: i64,
    state: ErasureStateDto,
    step: WireText<'a>,
    #[serde(with = "list")]
    places: Vec<ErasedPlaceDto<'a>>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "erasure_state", rename_all = "snake_case")]
enum ErasureStateDto {
    Asked,
    Working,
    Lifted,
    Done,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "erased_place")]
struct ErasedPlaceDto<'a> {
    place: WireText<'a>,
    removed: i64,
    stays: Option<WireText<'a>>,
    until: Option<i64>,
}

pub fn encode(erasure: &Erasure) -> Result<Vec<u8>, WireError> {
    CODEC.encode(&ErasureDto::from_erasure(erasure))
}

pub fn decode(bytes: &[u8]) -> Result<Erasure, DecodeError> {
    CODEC.decode::<ErasureDto<'_>>(bytes)?.model()
}

impl<'a> ErasureDto<'a> {
    pub(crate) fn from_erasure(erasure: &'a Erasure) -> Self {
        let removed = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        let (state, step, places) = match &erasure.progress {
            ErasureProgress::Asked => (ErasureStateDto::Asked, "", Vec::new()),
            ErasureProgress::Lifted => (ErasureStateDto::Lifted, "", Vec::new()),
            ErasureProgress::Working { step, removed: counts } => {
                let place = |(holding, count): (&Holding, &u64)| ErasedPlaceDto {
                    place: holding.name().into(),
                    removed: removed(*count),
                    stays: None,
                    until: None,
                };
                (ErasureStateDto::Working, step.as_str(), counts.iter().map(place).collect())
            }
            ErasureProgress::Done(receipt) => {
                let place = |line: &'a ReceiptLine| ErasedPlaceDto {
                    place: line.holding.name().into(),
                    removed: removed(line.removed),
                    stays: line.stays.as_deref().map(WireText::Borrowed),
                    until: line.until.map(|until| until.0),
                };
                (ErasureStateDto::Done, "", receipt.lines.iter().map(place).collect())
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

    fn model(self) -> Result<Erasure, DecodeError> {
        let progress = match self.state {
            ErasureStateDto::Asked => ErasureProgress::Asked,
            ErasureStateDto::Lifted => ErasureProgress::Lifted,
            ErasureStateDto::Working => {
                let lines = read_lines(self.places)?;
                let removed: HoldingCounts =
                    lines.into_iter().map(|line| (line.holding, line.removed)).collect();
                ErasureProgress::Working { step: self.step.into_owned(), removed }
            }
            ErasureStateDto::Done => ErasureProgress::Done(Receipt { lines: read_lines(self.places)? }),
        };
        Ok(Erasure {
            tenant: Tenant::new(&self.tenant)?,
            person: Person::new(&self.person)?,
            asked: UtcMillis(self.asked),
            at: UtcMillis(self.at),
            progress,
        })
    }
}

fn read_lines(places: Vec<ErasedPlaceDto<'_>>) -> Result<Vec<ReceiptLine>, DecodeError> {
    let line = |place: ErasedPlaceDto<'_>| {
        let unknown = || DecodeError::new(format!("a place `{}` unknown to this version", place.place));
        let negative = |_| DecodeError::new(format!("{} things were removed", place.removed));
        Ok(ReceiptLine {
            holding: Holding::parse(&place.place).ok_or_else(unknown)?,
            removed: u64::try_from(place.removed).map_err(negative)?,
            stays: place.stays.map(|stays| stays.into_owned()),
            until: place.until.map(UtcMillis),
        })
    };
    places.into_iter().map(line).collect()
}
