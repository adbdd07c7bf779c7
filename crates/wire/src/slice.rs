//! `slice`: a part of a large audience, on the topic `slices`: an event and where in its crowds to go on.

use std::{borrow::Cow, sync::LazyLock};

use model::{Crowd, Kind, Slice, SubjectRef, place::GlobeCell};
use serde::{Deserialize, Serialize};

use crate::{
    bytes::ByteBlob,
    codec::{DecodeError, RecordCodec, WireError},
    event::EventDto,
    kept_fields::{KeptFieldDto, join_kept, split_kept},
    list,
    record_parts::WireText,
};

pub(crate) static CODEC: LazyLock<RecordCodec> = LazyLock::new(|| RecordCodec::new("slice", &SCHEMAS));

/// Ours first, then all that were ours before.
const SCHEMAS: [&str; 2] =
    [include_str!("../../../schemas/slice.avsc"), include_str!("../../../schemas/old/slice.1.avsc")];

#[derive(Serialize, Deserialize)]
#[serde(rename = "slice")]
pub(crate) struct SliceDto<'a> {
    event: EventDto<'a>,
    #[serde(with = "list")]
    kinds: Vec<WireText<'a>>,
    #[serde(with = "list")]
    kept: Vec<KeptFieldDto<'a>>,
    #[serde(with = "list")]
    crowds: Vec<CrowdDto<'a>>,
    from: Option<ByteBlob<'a>>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "crowd")]
struct CrowdDto<'a> {
    sort: CrowdSortDto,
    target: Option<WireText<'a>>,
    /// The same 64 bits; Avro has no unsigned number.
    cell: Option<i64>,
}

#[derive(Serialize, Deserialize, Clone, Copy, Debug)]
#[serde(rename = "crowd_sort", rename_all = "snake_case")]
enum CrowdSortDto {
    Followers,
    Cell,
    Everyone,
}

pub fn encode(slice: &Slice) -> Result<Vec<u8>, WireError> {
    CODEC.encode(&SliceDto::from_slice(slice).map_err(|reason| CODEC.unfit_error(&reason))?)
}

pub fn decode(bytes: &[u8]) -> Result<Slice, DecodeError> {
    CODEC.decode::<SliceDto<'_>>(bytes)?.model()
}

impl<'a> SliceDto<'a> {
    pub(crate) fn from_slice(slice: &'a Slice) -> Result<Self, DecodeError> {
        Ok(Self {
            event: EventDto::from_event(&slice.event),
            kinds: slice.kinds.iter().map(|kind| kind.as_str().into()).collect(),
            kept: split_kept(&slice.kept),
            crowds: slice.crowds.iter().map(CrowdDto::from_crowd).collect::<Result<_, _>>()?,
            from: slice.from.as_deref().map(|from| ByteBlob(Cow::Borrowed(from))),
        })
    }

    fn model(self) -> Result<Slice, DecodeError> {
        Ok(Slice {
            event: self.event.model()?,
            kinds: self.kinds.iter().map(|kind| Kind::new(kind)).collect::<Result<_, _>>()?,
            kept: join_kept(self.kept)?,
            crowds: self.crowds.iter().map(CrowdDto::model).collect::<Result<_, _>>()?,
            from: self.from.map(|from| from.0.into_owned()),
        })
    }
}

impl<'a> CrowdDto<'a> {
    fn from_crowd(crowd: &'a Crowd) -> Result<Self, DecodeError> {
        let (sort, target, cell) = match crowd {
            Crowd::Followers(of) => (CrowdSortDto::Followers, Some(of.as_str().into()), None),
            // Checked here too, so that what is written can be read.
            Crowd::Cell(GlobeCell(number)) => {
                (CrowdSortDto::Cell, None, Some(read_cell(*number)?.0.cast_signed()))
            }
            Crowd::Everyone => (CrowdSortDto::Everyone, None, None),
        };
        Ok(Self { sort, target, cell })
    }

    fn model(&self) -> Result<Crowd, DecodeError> {
        Ok(match (self.sort, &self.target, self.cell) {
            (CrowdSortDto::Followers, Some(of), None) => Crowd::Followers(SubjectRef::new(of)?),
            (CrowdSortDto::Cell, None, Some(number)) => Crowd::Cell(read_cell(number.cast_unsigned())?),
            (CrowdSortDto::Everyone, None, None) => Crowd::Everyone,
            (sort, ..) => {
                return Err(DecodeError::new(format!("a crowd {sort:?} lacks a part or has one too many")));
            }
        })
    }
}

fn read_cell(number: u64) -> Result<GlobeCell, DecodeError> {
    GlobeCell::new(number).ok_or_else(|| DecodeError::new(format!("there is no cell {number:x}")))
}
