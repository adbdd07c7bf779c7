//! `slice`: a part of a large audience, on the topic `slices`: an event and where in its crowds to go on.

use std::{borrow::Cow, sync::LazyLock};

use model::{Crowd, Kind, Slice, SubjectRef, place::Cell};
use serde::{Deserialize, Serialize};

use crate::{
    bytes::Blob,
    codec::{Codec, Undecodable, WireError},
    event::EventDto,
    list,
    parts::Text,
};

pub(crate) static CODEC: LazyLock<Codec> =
    LazyLock::new(|| Codec::new("slice", &[include_str!("../../../schemas/slice.avsc")]));

#[derive(Serialize, Deserialize)]
#[serde(rename = "slice")]
pub(crate) struct SliceDto<'a> {
    event: EventDto<'a>,
    #[serde(with = "list")]
    kinds: Vec<Text<'a>>,
    #[serde(with = "list")]
    crowds: Vec<CrowdDto<'a>>,
    from: Option<Blob<'a>>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "crowd")]
struct CrowdDto<'a> {
    sort: SortDto,
    target: Option<Text<'a>>,
    /// The same 64 bits; Avro has no unsigned number.
    cell: Option<i64>,
}

#[derive(Serialize, Deserialize, Clone, Copy, Debug)]
#[serde(rename = "crowd_sort", rename_all = "snake_case")]
enum SortDto {
    Followers,
    Cell,
    Everyone,
}

pub fn encode(slice: &Slice) -> Result<Vec<u8>, WireError> {
    CODEC.encode(&SliceDto::of(slice).map_err(|reason| CODEC.unfit(&reason))?)
}

pub fn decode(bytes: &[u8]) -> Result<Slice, Undecodable> {
    CODEC.decode::<SliceDto<'_>>(bytes)?.model()
}

impl<'a> SliceDto<'a> {
    pub(crate) fn of(slice: &'a Slice) -> Result<Self, Undecodable> {
        Ok(Self {
            event: EventDto::of(&slice.event),
            kinds: slice.kinds.iter().map(|kind| kind.as_str().into()).collect(),
            crowds: slice.crowds.iter().map(CrowdDto::of).collect::<Result<_, _>>()?,
            from: slice.from.as_deref().map(|from| Blob(Cow::Borrowed(from))),
        })
    }

    fn model(self) -> Result<Slice, Undecodable> {
        Ok(Slice {
            event: self.event.model()?,
            kinds: self.kinds.iter().map(|kind| Kind::new(kind)).collect::<Result<_, _>>()?,
            crowds: self.crowds.iter().map(CrowdDto::model).collect::<Result<_, _>>()?,
            from: self.from.map(|from| from.0.into_owned()),
        })
    }
}

impl<'a> CrowdDto<'a> {
    fn of(crowd: &'a Crowd) -> Result<Self, Undecodable> {
        let (sort, target, cell) = match crowd {
            Crowd::Followers(of) => (SortDto::Followers, Some(of.as_str().into()), None),
            // Checked here too, so that what is written can be read.
            Crowd::Cell(Cell(number)) => (SortDto::Cell, None, Some(cell(*number)?.0.cast_signed())),
            Crowd::Everyone => (SortDto::Everyone, None, None),
        };
        Ok(Self { sort, target, cell })
    }

    fn model(&self) -> Result<Crowd, Undecodable> {
        Ok(match (self.sort, &self.target, self.cell) {
            (SortDto::Followers, Some(of), None) => Crowd::Followers(SubjectRef::new(of)?),
            (SortDto::Cell, None, Some(number)) => Crowd::Cell(cell(number.cast_unsigned())?),
            (SortDto::Everyone, None, None) => Crowd::Everyone,
            (sort, ..) => {
                return Err(Undecodable::new(format!("a crowd {sort:?} lacks a part or has one too many")));
            }
        })
    }
}

fn cell(number: u64) -> Result<Cell, Undecodable> {
    Cell::new(number).ok_or_else(|| Undecodable::new(format!("there is no cell {number:x}")))
}
