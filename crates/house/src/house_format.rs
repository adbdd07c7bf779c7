//! The format of a house, as it is noted on the topic `house`: see [`house_facts::format`].

use anyhow::Context as _;
use house_facts::format::HouseFormat;
use model::UtcMillis;
use topic::{NewRecord, TopicError, Topics};
use wire::{HouseNote, HouseNoteBody, house_note, topics};

/// Notes read at once.
const PAGE: usize = 1_000;

/// What the topic `house` says of the format.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FormatNotes {
    /// The newest that is noted.
    pub format: Option<HouseFormat>,
    /// Whether anything is noted there at all.
    pub has_notes: bool,
}

impl FormatNotes {
    /// Reads the keys alone: values may be in a registry's frame. Where there is no topic yet, there is no note.
    pub async fn read(log: &dyn Topics) -> anyhow::Result<Self> {
        let (mut notes, mut next) = (Self::default(), 0);
        loop {
            let bounds = match log.bounds(topics::HOUSE).await {
                Err(TopicError::Refused(_)) => return Ok(notes),
                bounds => bounds.context("read the topic `house`")?,
            };
            let (first, end) = bounds.first().copied().unwrap_or_default();
            next = first.max(next);
            if next >= end {
                return Ok(notes);
            }
            let records = log.read(topics::HOUSE, 0, next, PAGE).await.context("read the topic `house`")?;
            next = records.last().map_or(end, |last| last.offset + 1);
            for record in records {
                notes.has_notes = true;
                let noted = house_note::read_format(&record.key)
                    .with_context(|| format!("{} at offset {}", topics::HOUSE, record.offset))?;
                keep_newest(&mut notes.format, noted);
            }
        }
    }
}

/// A house is never lowered: what was written stays.
pub(crate) fn keep_newest(known: &mut Option<HouseFormat>, noted: Option<HouseFormat>) {
    if noted.as_ref().map(|format| format.number) > known.as_ref().map(|format| format.number) {
        *known = noted;
    }
}

/// Notes a format. `at` is what the note of the house itself says, which stays as it is.
pub async fn write_format(
    log: &dyn Topics,
    house: &str,
    format: &HouseFormat,
    at: UtcMillis,
) -> anyhow::Result<()> {
    let note = HouseNote { house: house.to_owned(), what: HouseNoteBody::Name, at };
    let record = NewRecord {
        topic: topics::HOUSE.into(),
        partition: 0,
        key: house_note::format_key(format),
        value: Some(house_note::encode(&note)?),
        headers: Vec::new(),
    };
    log.append(vec![record]).await.context("note the format on the topic `house`")
}
