//! `note`: what a house notes of itself on the compacted topic `house`; and by what a record says under which edition
//! of the catalogue it was written.

use std::{borrow::Cow, sync::LazyLock};

use model::{UtcMillis, edition::Edition};
use serde::{Deserialize, Serialize};

use crate::{
    codec::{DecodeError, RecordCodec, WireError},
    record_parts::WireText,
    replay::WireHeaders,
};

/// On a record that a room wrote: by which edition of the catalogue, as number and hash.
pub const EDITION: &str = "tidings-edition";
/// The key of the note of the house itself.
const HOUSE: &[u8] = b"house";

/// What is noted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HouseNote {
    /// Names the house; empty where one directory is the house.
    pub house: String,
    /// A catalogue that was taken up; nothing in the note of the house itself.
    pub catalogue: Option<AdoptedCatalogue>,
    pub at: UtcMillis,
}

/// A catalogue that was taken up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AdoptedCatalogue {
    pub edition: Edition,
    pub name: String,
}

impl HouseNote {
    /// The latest note of each key stays: one of the house, one of each catalogue.
    pub fn key(&self) -> Vec<u8> {
        match &self.catalogue {
            None => HOUSE.to_vec(),
            Some(taken) => format!("catalogue {:016x}", taken.edition.hash).into_bytes(),
        }
    }
}

/// The header of a record that was written by this edition.
pub fn edition_header(edition: Edition) -> (String, Vec<u8>) {
    (EDITION.to_owned(), format!("{}-{:016x}", edition.number, edition.hash).into_bytes())
}

/// The headers of a record that comes of another, and by which edition it was written.
pub fn stamp_headers(mut headers: WireHeaders, edition: Option<Edition>) -> WireHeaders {
    if let Some(edition) = edition {
        headers.retain(|(name, _)| name != EDITION);
        headers.push(edition_header(edition));
    }
    headers
}

/// By which edition a record was written, if it says so; what is none says nothing.
pub fn read_edition(headers: &[(String, Vec<u8>)]) -> Option<Edition> {
    let (_, said) = headers.iter().find(|(name, _)| name == EDITION)?;
    let (number, hash) = str::from_utf8(said).ok()?.split_once('-')?;
    Some(Edition { number: number.parse().ok()?, hash: u64::from_str_radix(hash, 16).ok()? })
}

/// The newest edition that any of these was written by.
pub fn newest_edition<'a>(headers: impl IntoIterator<Item = &'a WireHeaders>) -> Option<Edition> {
    headers.into_iter().filter_map(|headers| read_edition(headers)).max_by_key(|edition| edition.number)
}

pub(crate) static CODEC: LazyLock<RecordCodec> =
    LazyLock::new(|| RecordCodec::new("note", &[include_str!("../../../schemas/note.avsc")]));

#[derive(Serialize, Deserialize)]
#[serde(rename = "note")]
pub(crate) struct HouseNoteDto<'a> {
    house: WireText<'a>,
    catalogue: Option<AdoptedCatalogueDto<'a>>,
    at: i64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "taken_up")]
struct AdoptedCatalogueDto<'a> {
    number: i64,
    hash: i64,
    name: WireText<'a>,
}

pub fn encode(note: &HouseNote) -> Result<Vec<u8>, WireError> {
    CODEC.encode(&HouseNoteDto::from_note(note))
}

pub fn decode(bytes: &[u8]) -> Result<HouseNote, DecodeError> {
    CODEC.decode::<HouseNoteDto<'_>>(bytes)?.model()
}

impl<'a> HouseNoteDto<'a> {
    pub(crate) fn from_note(note: &'a HouseNote) -> Self {
        let catalogue =
            note.catalogue.as_ref().map(|AdoptedCatalogue { edition, name }| AdoptedCatalogueDto {
                number: edition.number.cast_signed(),
                hash: edition.hash.cast_signed(),
                name: name.as_str().into(),
            });
        Self { house: note.house.as_str().into(), catalogue, at: note.at.0 }
    }

    fn model(self) -> Result<HouseNote, DecodeError> {
        let taken = |AdoptedCatalogueDto { number, hash, name }: AdoptedCatalogueDto<'_>| {
            let number = u64::try_from(number).ok().filter(|number| *number > 0);
            let number = number.ok_or_else(|| DecodeError::new("the number of an edition is at least 1"))?;
            let edition = Edition { number, hash: hash.cast_unsigned() };
            Ok::<_, DecodeError>(AdoptedCatalogue { edition, name: Cow::into_owned(name) })
        };
        let catalogue = self.catalogue.map(taken).transpose()?;
        Ok(HouseNote { house: self.house.into_owned(), catalogue, at: UtcMillis(self.at) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_says_by_which_edition_it_was_written() {
        let (older, newer) = (Edition { number: 3, hash: 5 }, Edition { number: 12, hash: u64::MAX });
        let other = ("ce_id".to_owned(), b"7".to_vec());
        let headers = stamp_headers(vec![other.clone(), edition_header(older)], Some(newer));
        assert_eq!(headers, [other.clone(), edition_header(newer)], "written anew it says so once");
        assert_eq!(read_edition(&headers), Some(newer));
        assert_eq!(stamp_headers(headers.clone(), None), headers);
        assert_eq!(newest_edition([&headers, &vec![edition_header(older)], &vec![other]]), Some(newer));
        for odd in ["", "3", "3-", "-5", "x-5", "3-xyz", "3-5-7"] {
            assert_eq!(read_edition(&[(EDITION.to_owned(), odd.as_bytes().to_vec())]), None, "{odd}");
        }
    }
}
