//! `archive`: rows of days in an Avro object container file, for keeping what has left the store.
//!
//! The file names its schema, its rows lie in blocks that are compressed one by one, and any Avro library
//! reads it. Neither writing nor reading holds more than a block. A container has no end of its own: one that
//! was cut between two blocks reads as a shorter one, so a file is given its name only once it is whole.

use std::{
    io::{self, Read, Write},
    sync::LazyLock,
};

use apache_avro::{Codec as Compression, DeflateSettings};
use model::{Day, DayRow, Entry, KeyList, Person, SubjectRef, Tenant, entry::DayKey};
use serde::{Deserialize, Serialize};

use crate::{
    actor::{ActorMoreDto, join_actor, split_actor},
    codec::{DecodeError, RecordCodec, WireError},
    kept_fields::{KeptFieldDto, join_kept, split_kept},
    list,
    mark::MarkDto,
    record_parts::{EntryKeyDto, ReasonDto, WireText, entry_key, entry_keys, to_entry_keys},
};

/// Bytes of a block before it is compressed, about: larger ones are hardly smaller in the end.
const BLOCK_BYTES: usize = 64 * 1024;

static CODEC: LazyLock<RecordCodec> = LazyLock::new(|| RecordCodec::new("archive", &SCHEMAS));

/// Ours first, then all that were ours before.
const SCHEMAS: [&str; 5] = [
    include_str!("../../../schemas/archive.avsc"),
    include_str!("../../../schemas/old/archive.4.avsc"),
    include_str!("../../../schemas/old/archive.3.avsc"),
    include_str!("../../../schemas/old/archive.2.avsc"),
    include_str!("../../../schemas/old/archive.1.avsc"),
];

#[derive(Serialize, Deserialize)]
#[serde(rename = "archive")]
pub(crate) struct ArchiveDto<'a> {
    tenant: WireText<'a>,
    person: WireText<'a>,
    day: i32,
    row: ArchiveRowDto<'a>,
}

/// The order of the variants is the order of the union.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ArchiveRowDto<'a> {
    Entry(ArchiveEntryDto<'a>),
    Mark(MarkDto),
    List(ArchiveListDto),
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "entry")]
struct ArchiveEntryDto<'a> {
    key: EntryKeyDto,
    reason: ReasonDto<'a>,
    subject: WireText<'a>,
    actor: Option<WireText<'a>>,
    actor_more: Option<ActorMoreDto<'a>>,
    #[serde(with = "list")]
    kept: Vec<KeptFieldDto<'a>>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "list")]
struct ArchiveListDto {
    #[serde(with = "list")]
    keys: Vec<EntryKeyDto>,
}

/// Writes rows into a file.
pub struct ArchiveWriter<W: Write> {
    /// None once something went wrong: half a row may lie in the block then.
    inner: Option<apache_avro::Writer<'static, WholeWriter<W>>>,
}

impl<W: Write> ArchiveWriter<W> {
    pub fn new(out: W) -> Result<Self, WireError> {
        let inner = apache_avro::Writer::builder()
            .schema(CODEC.schema()?)
            .writer(WholeWriter(out))
            .codec(Compression::Deflate(DeflateSettings::default()))
            .block_size(BLOCK_BYTES)
            .human_readable(false)
            .build();
        Ok(Self { inner: Some(inner.map_err(|error| CODEC.unfit_error(&error))?) })
    }

    /// Adds a row. After an error the file is worth nothing, and takes nothing more.
    pub fn append(&mut self, of: &DayKey, row: &DayRow) -> Result<(), WireError> {
        let inner = self.inner.as_mut().ok_or_else(spoilt_error)?;
        let appended = inner.append_ser(ArchiveDto::from_row(of, row));
        appended.map(drop).map_err(|error| {
            self.inner = None;
            CODEC.unfit_error(&error)
        })
    }

    /// Writes what is left, and gives back what was written to. Making it durable is up to whoever owns it.
    pub fn finish(self) -> Result<W, WireError> {
        let inner = self.inner.ok_or_else(spoilt_error)?;
        inner.into_inner().map(|out| out.0).map_err(|error| CODEC.unfit_error(&error))
    }
}

/// A row by itself, as its schema writes it: the same bytes wherever it is.
pub fn encode_row(of: &DayKey, row: &DayRow) -> Result<Vec<u8>, WireError> {
    CODEC.encode(&ArchiveDto::from_row(of, row))
}

fn spoilt_error() -> WireError {
    CODEC.unfit_error(&"an earlier row could not be written")
}

/// Writes all or fails: the library does not look at how much of a block was taken.
struct WholeWriter<W>(W);

impl<W: Write> Write for WholeWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write_all(bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Opens a file and checks what it is.
pub fn open_archive<R: Read>(input: R) -> Result<ArchiveReader<R>, DecodeError> {
    // Before anything is read: with the codec comes the bound on what a length may claim.
    LazyLock::force(&CODEC);
    let reader = apache_avro::Reader::new(input).map_err(DecodeError::new)?;
    // A schema that is none of ours could be one that never ends.
    match CODEC.knows_schema(reader.writer_schema())? {
        true => Ok(ArchiveReader { reader }),
        false => Err(DecodeError::new("the file has rows of an unknown schema")),
    }
}

/// The rows of a file. After one that is no row come the next ones; after a block that cannot be read,
/// nothing.
pub struct ArchiveReader<R> {
    reader: apache_avro::Reader<'static, R>,
}

impl<R: Read> Iterator for ArchiveReader<R> {
    type Item = Result<(DayKey, DayRow), DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        let value = self.reader.next()?.map_err(DecodeError::new);
        Some(value.and_then(|value| CODEC.resolve::<ArchiveDto<'_>>(value)?.model()))
    }
}

impl<'a> ArchiveDto<'a> {
    pub(crate) fn from_row(of: &'a DayKey, row: &'a DayRow) -> Self {
        let row = match row {
            DayRow::Entry(entry) => ArchiveRowDto::Entry(ArchiveEntryDto::from_entry(entry)),
            DayRow::Mark(mark) => ArchiveRowDto::Mark(MarkDto::from_mark(mark)),
            DayRow::List(list) => ArchiveRowDto::List(ArchiveListDto { keys: entry_keys(list.keys()) }),
        };
        Self { tenant: of.tenant.as_str().into(), person: of.person.as_str().into(), day: of.day.0, row }
    }

    fn model(self) -> Result<(DayKey, DayRow), DecodeError> {
        let row = match self.row {
            ArchiveRowDto::Entry(entry) => DayRow::Entry(entry.model()?),
            ArchiveRowDto::Mark(mark) => DayRow::Mark(mark.model()?),
            ArchiveRowDto::List(list) => DayRow::List(KeyList::new(to_entry_keys(&list.keys)?)),
        };
        let (tenant, person) = (Tenant::new(&self.tenant)?, Person::new(&self.person)?);
        Ok((DayKey { tenant, person, day: Day(self.day) }, row))
    }
}

impl<'a> ArchiveEntryDto<'a> {
    fn from_entry(entry: &'a Entry) -> Self {
        let (actor, actor_more) = split_actor(entry.actor.as_ref());
        Self {
            key: entry_key(entry.key),
            reason: ReasonDto::from_reason(&entry.reason),
            subject: entry.subject.as_str().into(),
            actor,
            actor_more,
            kept: split_kept(&entry.kept),
        }
    }

    fn model(self) -> Result<Entry, DecodeError> {
        Ok(Entry {
            key: self.key.model()?,
            reason: self.reason.model()?,
            subject: SubjectRef::new(&self.subject)?,
            actor: join_actor((self.actor, self.actor_more))?,
            kept: join_kept(self.kept)?,
        })
    }
}
