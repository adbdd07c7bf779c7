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
use model::{Day, Entry, Person, Row, SubjectRef, Tenant, entry::DayKey};
use serde::{Deserialize, Serialize};

use crate::{
    codec::{Codec, Undecodable, WireError},
    mark::MarkDto,
    parts::{EntryKeyDto, ReasonDto, Text, entry_key},
};

/// Bytes of a block before it is compressed, about: larger ones are hardly smaller in the end.
const BLOCK_BYTES: usize = 64 * 1024;

static CODEC: LazyLock<Codec> = LazyLock::new(|| Codec::new("archive", &SCHEMAS));

/// Ours first, then all that were ours before.
const SCHEMAS: [&str; 3] = [
    include_str!("../../../schemas/archive.avsc"),
    include_str!("../../../schemas/old/archive.2.avsc"),
    include_str!("../../../schemas/old/archive.1.avsc"),
];

#[derive(Serialize, Deserialize)]
#[serde(rename = "archive")]
pub(crate) struct ArchiveDto<'a> {
    tenant: Text<'a>,
    person: Text<'a>,
    day: i32,
    row: RowDto<'a>,
}

/// The order of the variants is the order of the union.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RowDto<'a> {
    Entry(EntryDto<'a>),
    Mark(MarkDto),
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "entry")]
struct EntryDto<'a> {
    key: EntryKeyDto,
    reason: ReasonDto<'a>,
    subject: Text<'a>,
    actor: Option<Text<'a>>,
}

/// Writes rows into a file.
pub struct Writer<W: Write> {
    /// None once something went wrong: half a row may lie in the block then.
    inner: Option<apache_avro::Writer<'static, Whole<W>>>,
}

impl<W: Write> Writer<W> {
    pub fn new(out: W) -> Result<Self, WireError> {
        let inner = apache_avro::Writer::builder()
            .schema(CODEC.schema()?)
            .writer(Whole(out))
            .codec(Compression::Deflate(DeflateSettings::default()))
            .block_size(BLOCK_BYTES)
            .human_readable(false)
            .build();
        Ok(Self { inner: Some(inner.map_err(|error| CODEC.unfit(&error))?) })
    }

    /// Adds a row. After an error the file is worth nothing, and takes nothing more.
    pub fn append(&mut self, of: &DayKey, row: &Row) -> Result<(), WireError> {
        let inner = self.inner.as_mut().ok_or_else(spoilt)?;
        let appended = inner.append_ser(ArchiveDto::of(of, row));
        appended.map(drop).map_err(|error| {
            self.inner = None;
            CODEC.unfit(&error)
        })
    }

    /// Writes what is left, and gives back what was written to. Making it durable is up to whoever owns it.
    pub fn finish(self) -> Result<W, WireError> {
        let inner = self.inner.ok_or_else(spoilt)?;
        inner.into_inner().map(|out| out.0).map_err(|error| CODEC.unfit(&error))
    }
}

fn spoilt() -> WireError {
    CODEC.unfit(&"an earlier row could not be written")
}

/// Writes all or fails: the library does not look at how much of a block was taken.
struct Whole<W>(W);

impl<W: Write> Write for Whole<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write_all(bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Opens a file and checks what it is.
pub fn read<R: Read>(input: R) -> Result<Rows<R>, Undecodable> {
    // Before anything is read: with the codec comes the bound on what a length may claim.
    LazyLock::force(&CODEC);
    let reader = apache_avro::Reader::new(input).map_err(Undecodable::new)?;
    // A schema that is none of ours could be one that never ends.
    match CODEC.knows(reader.writer_schema())? {
        true => Ok(Rows { reader }),
        false => Err(Undecodable::new("the file has rows of a schema that is none of ours")),
    }
}

/// The rows of a file. After one that is no row come the next ones; after a block that cannot be read,
/// nothing.
pub struct Rows<R> {
    reader: apache_avro::Reader<'static, R>,
}

impl<R: Read> Iterator for Rows<R> {
    type Item = Result<(DayKey, Row), Undecodable>;

    fn next(&mut self) -> Option<Self::Item> {
        let value = self.reader.next()?.map_err(Undecodable::new);
        Some(value.and_then(|value| CODEC.resolve::<ArchiveDto<'_>>(value)?.model()))
    }
}

impl<'a> ArchiveDto<'a> {
    pub(crate) fn of(of: &'a DayKey, row: &'a Row) -> Self {
        let row = match row {
            Row::Entry(entry) => RowDto::Entry(EntryDto::of(entry)),
            Row::Mark(mark) => RowDto::Mark(MarkDto::of(mark)),
        };
        Self { tenant: of.tenant.as_str().into(), person: of.person.as_str().into(), day: of.day.0, row }
    }

    fn model(self) -> Result<(DayKey, Row), Undecodable> {
        let row = match self.row {
            RowDto::Entry(entry) => Row::Entry(entry.model()?),
            RowDto::Mark(mark) => Row::Mark(mark.model()?),
        };
        let (tenant, person) = (Tenant::new(&self.tenant)?, Person::new(&self.person)?);
        Ok((DayKey { tenant, person, day: Day(self.day) }, row))
    }
}

impl<'a> EntryDto<'a> {
    fn of(entry: &'a Entry) -> Self {
        Self {
            key: entry_key(entry.key),
            reason: ReasonDto::of(&entry.reason),
            subject: entry.subject.as_str().into(),
            actor: entry.actor.as_ref().map(|actor| actor.as_str().into()),
        }
    }

    fn model(&self) -> Result<Entry, Undecodable> {
        Ok(Entry {
            key: self.key.model()?,
            reason: self.reason.model()?,
            subject: SubjectRef::new(&self.subject)?,
            actor: self.actor.as_ref().map(|actor| Person::new(actor)).transpose()?,
        })
    }
}
