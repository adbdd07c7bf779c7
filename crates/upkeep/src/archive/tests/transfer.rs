//! Days that are archived by somebody elsewhere: nothing is dropped that they do not have.

use std::io::{Cursor, Read};

use tokio::sync::mpsc;

use super::*;

impl ArchiveFixture {
    /// The bytes that are sent of what is older than nine days.
    async fn export(&self) -> Vec<u8> {
        let (sender, mut receiver) = mpsc::channel(1);
        let taking = async {
            let mut all = Vec::new();
            while let Some(piece) = receiver.recv().await {
                all.extend(piece);
            }
            all
        };
        let exporting = async {
            let exported = export_days(&*self.store, (day_ago(9), now()), &sender).await;
            drop(sender);
            exported
        };
        let (exported, bytes) = tokio::join!(exporting, taking);
        exported.unwrap();
        bytes
    }

    async fn drop_kept(&self, kept: &[ArchiveDayDigest]) -> Result<ArchiveReport, String> {
        let watch = ArchiveWatch { rows: &AtomicU64::new(0), disk_low: &|| false };
        drop_archived_days(&*self.store, (day_ago(9), now()), kept, &watch).await.unwrap()
    }
}

fn receive(bytes: impl Read, file: &Path) -> Result<Option<Vec<ArchiveDayDigest>>, String> {
    receive_archive(bytes, file, |_| {}).map_err(|error| format!("{error:#}"))
}

#[tokio::test]
async fn what_was_received_whole_is_dropped() {
    let cellar = ArchiveFixture::with_rows(&OLD).await;
    let file = cellar.file("old.avro");
    let kept = receive(Cursor::new(cellar.export().await), &file).unwrap().unwrap();
    assert_eq!((rows_in(&file), cellar.files()), (3, vec!["old.avro".to_owned()]));
    assert_eq!(kept.iter().map(|day| day.rows).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(
        cellar.persons_left().await,
        BTreeMap::from([(12, 2), (10, 1), (3, 1)]),
        "sending drops nothing"
    );
    assert_eq!(digest_file(&file).unwrap(), kept);
    let archived = cellar.drop_kept(&kept).await.unwrap();
    assert_eq!((archived.days.len(), archived.rows), (2, 3));
    assert_eq!(cellar.persons_left().await, BTreeMap::from([(3, 1)]));
    // The answer was lost, or the house stopped between two days: the same again does the rest.
    assert_eq!(cellar.drop_kept(&kept).await.unwrap().rows, 0);
    let half = ArchiveFixture::with_rows(&OLD[2..]).await;
    assert_eq!(half.drop_kept(&kept).await.unwrap().rows, 1);
    assert_eq!(half.persons_left().await, BTreeMap::from([(3, 1)]));
    // The same rows are the same file to it, whoever wrote that.
    let other = ArchiveFixture::with_rows(&OLD).await;
    let local = other.file("local.avro");
    let rows = AtomicU64::new(0);
    let watch = ArchiveWatch { rows: &rows, disk_low: &|| false };
    let walk = ArchiveCursor::new(&*other.store, day_ago(9), now());
    assert_eq!(write_archive(walk, &local, &watch).await.unwrap().rows, 3);
    assert_eq!(digest_file(&local).unwrap(), kept);
}

#[tokio::test]
async fn what_is_not_there_is_no_file() {
    let cellar = ArchiveFixture::with_rows(&[("ann", 3)]).await;
    let file = cellar.file("old.avro");
    assert_eq!(receive(Cursor::new(cellar.export().await), &file).unwrap(), None);
    assert_eq!(cellar.files(), Vec::<String>::new());
}

/// Bytes that end in an error, as those of a connection that breaks off do.
struct BrokenOffRead<'a>(&'a [u8]);

impl Read for BrokenOffRead<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        match self.0.read(into)? {
            0 => Err(std::io::ErrorKind::UnexpectedEof.into()),
            read => Ok(read),
        }
    }
}

#[tokio::test]
async fn what_is_cut_or_of_another_house_drops_nothing() {
    let cellar = ArchiveFixture::with_rows(&OLD).await;
    let before = cellar.persons_left().await;
    let file = cellar.file("old.avro");
    let bytes = cellar.export().await;
    for (case, from) in [
        ("within a block", &bytes[..bytes.len() - 20]),
        ("within the head", &bytes[..10]),
        ("nothing came", &bytes[..0]),
        ("another's text", b"dear diary"),
    ] {
        assert!(receive(Cursor::new(from), &file).is_err(), "{case}");
        assert_eq!(cellar.files(), Vec::<String>::new(), "{case}: no file stays");
    }
    assert!(receive(BrokenOffRead(&bytes), &file).unwrap_err().contains("read what the house sends"));
    assert_eq!(cellar.files(), Vec::<String>::new());
    fs::write(&file, "dear diary").unwrap();
    assert!(receive(Cursor::new(&bytes), &file).unwrap_err().contains("exists already"));
    fs::remove_file(&file).unwrap();

    let check = async |case: &str, rows: &[(&str, i32)]| {
        let other = ArchiveFixture::with_rows(rows).await;
        let kept =
            receive(Cursor::new(other.export().await), &other.file("o.avro")).unwrap().unwrap_or_default();
        let why = cellar.drop_kept(&kept).await.unwrap_err();
        assert!(why.contains("so nothing was dropped"), "{case}: {why}");
        assert_eq!(cellar.persons_left().await, before, "{case}");
    };
    check("nothing", &[("ann", 3)]).await;
    check("a day is missing", &OLD[..2]).await;
    check("a row is missing", &[("ann", 12), ("ann", 10)]).await;
    check("as many rows of somebody else", &[("ann", 12), ("eve", 12), ("ann", 10)]).await;
    check("a row more than the store has", &[("ann", 12), ("ben", 12), ("ann", 10), ("ben", 10)]).await;
    check("the rows of another day", &[("ann", 11), ("ben", 11), ("ann", 10)]).await;
    let kept = digest_file(&cellar_file(&cellar, &bytes)).unwrap();
    let forged: Vec<_> =
        kept.iter().map(|day| ArchiveDayDigest { digest: String::new(), ..day.clone() }).collect();
    assert!(cellar.drop_kept(&forged).await.is_err());
    assert!(cellar.drop_kept(&kept).await.is_ok());
}

fn cellar_file(cellar: &ArchiveFixture, bytes: &[u8]) -> PathBuf {
    let file = cellar.file("whole.avro");
    fs::write(&file, bytes).unwrap();
    file
}
