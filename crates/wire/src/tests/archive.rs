//! Archives: rows come back, block by block, and what is no archive is an error.

use std::{
    cell::Cell,
    fs,
    io::{self, Read, Write},
    rc::Rc,
};

use model::{Day, DayRow, entry::DayKey};
use proptest::prelude::*;
use serde_json::Value;

use super::{arbitrary, describe, golden_path, older_versions::add_missing_fields, samples, schema_version};
use crate::{
    archive::{ArchiveDto, ArchiveWriter, open_archive},
    event,
};

type ArchivedRows = Vec<(DayKey, DayRow)>;

fn write_archive(rows: &[(DayKey, DayRow)]) -> Vec<u8> {
    let mut writer = ArchiveWriter::new(Vec::new()).unwrap();
    for (of, row) in rows {
        writer.append(of, row).unwrap();
    }
    writer.finish().unwrap()
}

/// All rows, or the first thing that was wrong.
fn read_rows(bytes: &[u8]) -> Result<ArchivedRows, String> {
    let rows = open_archive(bytes).map_err(|error| error.reason)?;
    rows.map(|row| row.map_err(|error| error.reason)).collect()
}

/// So many rows that they take several blocks, no two the same.
fn many_rows(count: i32) -> ArchivedRows {
    let rows = samples::rows().into_iter().cycle().zip(0..count);
    rows.map(|((of, row), day)| (DayKey { day: Day(day), ..of }, row)).collect()
}

fn describe_rows(rows: &[(DayKey, DayRow)]) -> Value {
    rows.iter().map(|(of, row)| describe(ArchiveDto::from_row(of, row))).collect()
}

fn expected_json(stem: &str) -> Value {
    serde_json::from_slice(&fs::read(golden_path(&format!("{stem}.json"))).unwrap()).unwrap()
}

/// A file is never the same twice, for blocks are kept apart by a random mark: what was written once is read.
#[test]
fn the_golden_is_read() {
    let stem = format!("archive.{}", schema_version("archive"));
    let bin = golden_path(&format!("{stem}.bin"));
    let rows = samples::rows();
    if std::env::var_os("UPDATE_GOLDENS").is_some() {
        fs::write(&bin, write_archive(&rows)).unwrap();
        fs::write(golden_path(&format!("{stem}.json")), format!("{:#}\n", describe_rows(&rows))).unwrap();
    }
    assert_eq!(describe_rows(&rows), expected_json(&stem));
    assert_eq!(read_rows(&fs::read(&bin).unwrap()).unwrap(), rows);
}

/// Files are kept for years: those of earlier releases are read.
#[test]
fn earlier_goldens_are_read() {
    for stem in (1..schema_version("archive")).map(|version| format!("archive.{version}")) {
        let rows = read_rows(&fs::read(golden_path(&format!("{stem}.bin"))).unwrap()).unwrap();
        let mut expected = expected_json(&stem);
        add_missing_fields(&mut expected);
        assert!(rows.len() >= 4, "{stem}");
        assert_eq!(describe_rows(&rows), expected, "{stem}");
    }
}

#[test]
fn an_archive_of_nothing_is_one() {
    assert_eq!(read_rows(&write_archive(&[])).unwrap(), []);
}

/// Counts what passes, and takes or gives only so much at once.
struct NarrowPipe<T> {
    inner: T,
    most: usize,
    passed: Rc<Cell<usize>>,
}

impl<W: Write> Write for NarrowPipe<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = self.inner.write(&bytes[..bytes.len().min(self.most)])?;
        self.passed.set(self.passed.get() + taken);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<R: Read> Read for NarrowPipe<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let most = bytes.len().min(self.most);
        let read = self.inner.read(&mut bytes[..most])?;
        self.passed.set(self.passed.get() + read);
        Ok(read)
    }
}

/// Neither side waits for the whole, and a file that takes little at a time gets all of it.
#[test]
fn memory_holds_a_block() {
    let rows = many_rows(20_000);
    let passed = Rc::new(Cell::new(0));
    let out = NarrowPipe { inner: Vec::new(), most: 1_000, passed: passed.clone() };
    let mut writer = ArchiveWriter::new(out).unwrap();
    let mut blocks = 0;
    for (of, row) in &rows {
        let before = passed.get();
        writer.append(of, row).unwrap();
        blocks += usize::from(passed.get() > before);
    }
    assert!(blocks > 10, "{blocks}");
    let bytes = writer.finish().unwrap().inner;
    assert_eq!(passed.get(), bytes.len());

    passed.set(0);
    let input = NarrowPipe { inner: bytes.as_slice(), most: 1_000, passed: passed.clone() };
    let mut back = open_archive(input).unwrap();
    assert_eq!(back.next().unwrap().unwrap(), rows[0]);
    assert!(passed.get() < bytes.len() / 3, "{} of {}", passed.get(), bytes.len());
    let rest: ArchivedRows = back.map(Result::unwrap).collect();
    assert_eq!(rest, rows[1..]);
}

/// A file that is full after so many bytes.
struct FullFile(usize);

impl Write for FullFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or_else(|| io::Error::other("the disk is full"))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn what_cannot_be_written_is_said() {
    // Within the header, the first block, and what is written last.
    for room in [100, 4_000, 8_000] {
        let mut writer = ArchiveWriter::new(FullFile(room)).unwrap();
        let failed = many_rows(2_000).iter().find_map(|(of, row)| writer.append(of, row).err());
        match failed {
            Some(error) => {
                assert!(error.to_string().contains("the disk is full"), "{error}");
                let (of, row) = &many_rows(1)[0];
                assert!(writer.append(of, row).unwrap_err().to_string().contains("an earlier row"));
                assert!(writer.finish().err().unwrap().to_string().contains("an earlier row"));
            }
            None => assert!(writer.finish().err().unwrap().to_string().contains("the disk is full")),
        }
    }
}

/// A row that cannot be written leaves half of itself behind, so nothing may follow it.
#[test]
fn a_file_is_spoilt_by_half_a_row() {
    let (of, row) = samples::rows().swap_remove(2);
    let DayRow::Mark(mut mark) = row else { panic!("the sample's third row is a mark") };
    mark.covers = vec![mark.covers[0]; crate::LIST_MAX + 1];
    let mut writer = ArchiveWriter::new(Vec::new()).unwrap();
    assert!(writer.append(&of, &DayRow::Mark(mark)).unwrap_err().to_string().contains("a list of 10001"));
    let (of, row) = &samples::rows()[0];
    assert!(writer.append(of, row).is_err());
    assert!(writer.finish().is_err());
}

/// A cut never adds a row or changes one, and only between blocks is it not seen.
#[test]
fn a_cut_is_an_error_or_ends_between_blocks() {
    let rows = many_rows(1_500);
    let bytes = write_archive(&rows);
    let between = |end: &usize| read_rows(&bytes[..*end]).is_ok_and(|found| rows.starts_with(&found));
    let cuts = (0..bytes.len()).step_by(101).chain(bytes.len() - 20..bytes.len());
    let unseen = cuts.filter(|end| read_rows(&bytes[..*end]).is_ok()).collect::<Vec<_>>();
    assert!(unseen.len() < 3 && unseen.iter().all(between), "cuts at {unseen:?} were not seen");
    // Behind the header is such a place.
    let header = write_archive(&[]).len();
    assert!(between(&header));
}

#[test]
fn what_is_no_archive_is_refused() {
    let check = |bytes: &[u8], says: &str| {
        let error = read_rows(bytes).unwrap_err();
        assert!(error.contains(says), "{error}");
    };
    check(b"", "");
    check(b"PK\x03\x04 an archive of another sort", "magic");
    check(&event::encode(&samples::event()).unwrap(), "magic");
    // A list that never ends, of a schema of its own.
    let schema = r#"{"type":"record","name":"archive","namespace":"tidings","fields":[
        {"name":"next","type":["null","archive"],"default":null}]}"#;
    let schema = apache_avro::Schema::parse_str(schema).unwrap();
    let bytes = apache_avro::Writer::new(&schema, Vec::new()).unwrap().into_inner().unwrap();
    check(&bytes, "an unknown schema");
}

/// A block of a few bytes that becomes one of many millions.
#[test]
fn a_bomb_is_refused() {
    let (of, row) = samples::rows().swap_remove(2);
    let DayRow::Mark(mut mark) = row else { panic!("the sample's third row is a mark") };
    mark.covers = vec![mark.covers[0]; crate::LIST_MAX];
    let row = DayRow::Mark(mark);
    let schema = apache_avro::Schema::parse_str(&super::schema_text("archive")).unwrap();
    let mut bomb = apache_avro::Writer::builder()
        .schema(&schema)
        .writer(Vec::new())
        .codec(apache_avro::Codec::Deflate(apache_avro::DeflateSettings::default()))
        .block_size(16 * 1024 * 1024)
        .human_readable(false)
        .build()
        .unwrap();
    for _ in 0..20 {
        bomb.append_ser(ArchiveDto::from_row(&of, &row)).unwrap();
    }
    let bytes = bomb.into_inner().unwrap();
    assert!(bytes.len() < 100_000, "{}", bytes.len());
    assert!(read_rows(&bytes).is_err());
    // One such row alone is no bomb, and our own writer never puts so many into one block.
    let rows = vec![(of, row); 20];
    assert_eq!(read_rows(&write_archive(&rows)).unwrap(), rows);
}

/// One row that means nothing does not take the others along.
#[test]
fn a_bad_row_is_a_value() {
    let schema = apache_avro::Schema::parse_str(&super::schema_text("archive")).unwrap();
    let plain = apache_avro::Writer::builder().schema(&schema).writer(Vec::new()).human_readable(false);
    let (mut plain, rows) = (plain.build().unwrap(), samples::rows());
    for (of, row) in &rows {
        plain.append_ser(ArchiveDto::from_row(of, row)).unwrap();
    }
    let mut bytes = plain.into_inner().unwrap();
    // A control character within the first person's name.
    let name = bytes.windows(4).position(|part| part == b"\x06ann").unwrap();
    bytes[name + 2] = 1;
    let found: Vec<_> = open_archive(bytes.as_slice()).unwrap().collect();
    assert!(found[0].as_ref().unwrap_err().reason.contains("control character"));
    let rest: ArchivedRows = found.into_iter().skip(1).map(Result::unwrap).collect();
    assert_eq!(rest, rows[1..]);
}

proptest! {
    #[test]
    fn rows_come_back(rows in prop::collection::vec(arbitrary::any_row(), 0..20)) {
        prop_assert_eq!(read_rows(&write_archive(&rows)).unwrap(), rows);
    }

    #[test]
    fn mutated_archives_never_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        which in 1..=schema_version("archive"),
        behind in any::<bool>(),
        more in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let mut bytes = fs::read(golden_path(&format!("archive.{which}.bin"))).unwrap();
        // The schema is most of a small file; what lies behind it is tried as often. A mark ends it, and each block.
        let mark = bytes[bytes.len() - 16..].to_vec();
        let head = bytes.windows(16).position(|part| part == mark).unwrap() + 16;
        let from = if behind { head } else { 0 };
        for (at, byte) in changes {
            let at = from + at.index(bytes.len() - from);
            bytes[at] = byte;
        }
        bytes.extend(more);
        drop(read_rows(&bytes));
    }
}
