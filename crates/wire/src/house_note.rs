//! `note`: what a house notes of itself on the compacted topic `house`; and by what a record says under which edition
//! of the catalogue it was written.

use std::{borrow::Cow, sync::LazyLock};

use house_facts::{
    edition::Edition,
    format::HouseFormat,
    pause::{PauseNote, PauseScope},
};
use model::UtcMillis;
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
/// What the key of a format begins with.
const FORMAT: &str = "format ";

/// What is noted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HouseNote {
    /// Names the house; empty where one directory is the house.
    pub house: String,
    pub what: HouseNoteBody,
    pub at: UtcMillis,
}

/// What a note is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HouseNoteBody {
    /// Which house it is.
    Name,
    /// A catalogue that was taken up.
    Catalogue(AdoptedCatalogue),
    /// Something that was paused, or goes on.
    Pause(PauseNote),
}

/// A catalogue that was taken up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AdoptedCatalogue {
    pub edition: Edition,
    pub name: String,
}

impl HouseNote {
    /// The latest note of each key stays: one of the house, one of each catalogue, one of whatever was ever paused.
    pub fn key(&self) -> Vec<u8> {
        match &self.what {
            HouseNoteBody::Name => HOUSE.to_vec(),
            HouseNoteBody::Catalogue(taken) => format!("catalogue {:016x}", taken.edition.hash).into_bytes(),
            HouseNoteBody::Pause(note) => format!("pause {}", note.scope).into_bytes(),
        }
    }
}

/// The key under which a format is noted. The format stands there and not in the value, which is the note of the house
/// itself: programs that know of no formats read that and pass over the key.
pub fn format_key(format: &HouseFormat) -> Vec<u8> {
    format!("{FORMAT}{}", format.text()).into_bytes()
}

/// The format that a key of the topic `house` notes, if it notes one.
pub fn read_format(key: &[u8]) -> Result<Option<HouseFormat>, DecodeError> {
    let Some(text) = key.strip_prefix(FORMAT.as_bytes()) else { return Ok(None) };
    let format = str::from_utf8(text).ok().and_then(HouseFormat::parse);
    let unreadable = || DecodeError::new(format!("`{}` is no format", String::from_utf8_lossy(key)));
    format.map(Some).ok_or_else(unreadable)
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

pub(crate) static CODEC: LazyLock<RecordCodec> = LazyLock::new(|| {
    let schemas =
        [include_str!("../../../schemas/note.avsc"), include_str!("../../../schemas/old/note.1.avsc")];
    RecordCodec::new("note", &schemas)
});

#[derive(Serialize, Deserialize)]
#[serde(rename = "note")]
pub(crate) struct HouseNoteDto<'a> {
    house: WireText<'a>,
    catalogue: Option<AdoptedCatalogueDto<'a>>,
    pause: Option<PauseDto<'a>>,
    at: i64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "pause")]
struct PauseDto<'a> {
    scope: WireText<'a>,
    is_paused: bool,
    by: WireText<'a>,
    why: WireText<'a>,
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
        let (mut catalogue, mut pause) = (None, None);
        match &note.what {
            HouseNoteBody::Name => {}
            HouseNoteBody::Catalogue(AdoptedCatalogue { edition, name }) => {
                catalogue = Some(AdoptedCatalogueDto {
                    number: edition.number.cast_signed(),
                    hash: edition.hash.cast_signed(),
                    name: name.as_str().into(),
                });
            }
            HouseNoteBody::Pause(PauseNote { scope, is_paused, by, why, .. }) => {
                pause = Some(PauseDto {
                    scope: scope.to_string().into(),
                    is_paused: *is_paused,
                    by: by.as_str().into(),
                    why: why.as_str().into(),
                });
            }
        }
        Self { house: note.house.as_str().into(), catalogue, pause, at: note.at.0 }
    }

    fn model(self) -> Result<HouseNote, DecodeError> {
        let taken = |AdoptedCatalogueDto { number, hash, name }: AdoptedCatalogueDto<'_>| {
            let number = u64::try_from(number).ok().filter(|number| *number > 0);
            let number = number.ok_or_else(|| DecodeError::new("the number of an edition is at least 1"))?;
            let edition = Edition { number, hash: hash.cast_unsigned() };
            Ok::<_, DecodeError>(AdoptedCatalogue { edition, name: Cow::into_owned(name) })
        };
        let at = UtcMillis(self.at);
        let what = match (self.catalogue, self.pause) {
            (Some(of), _) => HouseNoteBody::Catalogue(taken(of)?),
            (None, Some(PauseDto { scope, is_paused, by, why })) => {
                let scope = PauseScope::parse(&scope).ok_or_else(|| {
                    DecodeError::new("a pause is of `plan:`, `channel:` or `tenant:` and a name")
                })?;
                let (by, why) = (by.into_owned(), why.into_owned());
                HouseNoteBody::Pause(PauseNote { scope, is_paused, by, why, at })
            }
            (None, None) => HouseNoteBody::Name,
        };
        Ok(HouseNote { house: self.house.into_owned(), what, at })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_stands_in_the_key_and_its_value_is_read_by_programs_that_know_of_none() {
        let format = HouseFormat { number: 12, release: Some("0.4.0 (ab12)".to_owned()) };
        assert_eq!(read_format(&format_key(&format)).unwrap(), Some(format));
        let note = HouseNote { house: "a".to_owned(), what: HouseNoteBody::Name, at: UtcMillis(1) };
        assert_eq!(read_format(&note.key()).unwrap(), None);
        for odd in [&b"format "[..], b"format x", b"format 0", b"format \xff"] {
            assert!(read_format(odd).is_err(), "{odd:?}");
        }
    }

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
