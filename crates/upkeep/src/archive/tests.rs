//! What an archiving leaves behind, whatever comes in between.

use std::{collections::BTreeMap, os::unix::fs::symlink, sync::Arc};

use house::testing::{START, test_catalogue};
use model::{AudienceMatch, Entry, EntryKey, EntryReason, EventKey, Kind, Person, SubjectRef, Tenant};
use store::DayStore as _;
use store_embedded::EmbeddedStore;
use tempfile::TempDir;

use super::*;

mod transfer;

fn now() -> UtcMillis {
    UtcMillis::parse(START).unwrap()
}

fn day_ago(back: i32) -> Day {
    Day::from_instant(now()).plus(-back)
}

/// One row, of a person so many days ago.
fn row(person: &str, back: i32) -> DayRows {
    let (tenant, person) = (Tenant::new("main").unwrap(), Person::new(person).unwrap());
    let subject = SubjectRef::new("item:1").unwrap();
    let entry = Entry {
        key: EntryKey { occurred: day_ago(back).start(), event: EventKey([7; 16]) },
        reason: EntryReason { kind: Kind::new("item_offered").unwrap(), because: AudienceMatch::Near },
        subject,
        actor: None,
        kept: model::KeptFields::new(),
    };
    DayRows { key: DayKey { tenant, person, day: day_ago(back) }, rows: vec![DayRow::Entry(entry)] }
}

/// A store, and a folder for files.
struct ArchiveFixture {
    store: Arc<EmbeddedStore>,
    dir: TempDir,
}

impl ArchiveFixture {
    async fn with_rows(rows: &[(&str, i32)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Arc::new(EmbeddedStore::open(&dir.path().join("store")).unwrap());
        let rows = rows.iter().map(|(person, back)| row(person, *back)).collect();
        store.write(rows, now()).await.unwrap();
        Self { store, dir }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Archives what is older than nine days.
    async fn archive(
        &self,
        file: &Path,
        disk_low: &(dyn Fn() -> bool + Sync),
    ) -> Result<ArchiveReport, String> {
        let watch = ArchiveWatch { rows: &AtomicU64::new(0), disk_low };
        let archived = archive_days(&*self.store, &test_catalogue(), (day_ago(9), now()), file, &watch).await;
        archived.map_err(|error| format!("{error:#}"))
    }

    /// How many persons each day has, by how many days ago it was.
    async fn persons_left(&self) -> BTreeMap<i32, usize> {
        let mut left = BTreeMap::new();
        let mut walk = ArchiveCursor::new(&*self.store, Day::from_instant(now()), now());
        while let Some(part) = walk.next().await.unwrap() {
            *left.entry(Day::from_instant(now()).0 - part[0].key.day.0).or_default() += part.len();
        }
        left
    }

    /// The files beside the store.
    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.dir.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.retain(|name| name != "store");
        names.sort();
        names
    }
}

fn rows_in(file: &Path) -> usize {
    wire::archive::open_archive(File::open(file).unwrap()).unwrap().map(Result::unwrap).count()
}

const OLD: [(&str, i32); 4] = [("ann", 12), ("ben", 12), ("ann", 10), ("ann", 3)];

#[tokio::test]
async fn a_whole_file_whose_days_are_still_there_is_finished() {
    let whole = ArchiveFixture::with_rows(&OLD).await;
    let file = whole.file("old.avro");
    assert_eq!(whole.archive(&file, &|| false).await.unwrap().rows, 3);
    // Every crash between the name and the last day dropped: the oldest go first. The disk may be low.
    for (case, rows, days) in [("none dropped", &OLD[..], 2), ("one dropped", &OLD[2..], 1)] {
        let cellar = ArchiveFixture::with_rows(rows).await;
        let archived = cellar.archive(&file, &|| true).await.unwrap_or_else(|why| panic!("{case}: {why}"));
        assert_eq!((archived.days.len(), archived.file.as_ref()), (days, Some(&file)), "{case}");
        assert_eq!(cellar.persons_left().await, BTreeMap::from([(3, 1)]), "{case}");
        assert_eq!(rows_in(&file), 3, "{case}");
    }
}

#[tokio::test]
async fn a_file_that_is_something_else_stays_and_so_do_the_days() {
    let whole = ArchiveFixture::with_rows(&OLD).await;
    let archive = whole.file("old.avro");
    whole.archive(&archive, &|| false).await.unwrap();
    let bytes = fs::read(&archive).unwrap();
    let check = async |case: &str, rows: &[(&str, i32)], bytes: &[u8]| {
        let cellar = ArchiveFixture::with_rows(rows).await;
        let (file, before) = (cellar.file("other.avro"), cellar.persons_left().await);
        fs::write(&file, bytes).unwrap();
        let why = cellar.archive(&file, &|| false).await.unwrap_err();
        assert!(why.contains("other.avro exists already"), "{case}: {why}");
        assert_eq!(
            (fs::read(&file).unwrap().as_slice(), cellar.persons_left().await),
            (bytes, before),
            "{case}"
        );
        assert_eq!(cellar.files(), ["other.avro"], "{case}");
    };
    check("nothing is left", &[("ann", 3)], &bytes).await;
    check("another's text", &OLD, b"dear diary").await;
    check("empty", &OLD, b"").await;
    check("cut", &OLD, &bytes[..bytes.len() - 20]).await;
    check("as many rows of somebody else", &[("ann", 12), ("eve", 12), ("ann", 10)], &bytes).await;
    check("a row more in the store", &[("ann", 12), ("ben", 12), ("ann", 10), ("ben", 10)], &bytes).await;
    check("a row less in the store", &[("ann", 12), ("ann", 10)], &bytes).await;
    check("a day that was not archived", &[("ann", 12), ("ben", 12), ("ann", 11), ("ann", 10)], &bytes).await;
    check("the youngest day is gone", &[("ann", 12), ("ben", 12)], &bytes).await;
}

#[tokio::test]
async fn whoever_stops_in_the_middle_leaves_no_file() {
    let cellar = ArchiveFixture::with_rows(&OLD).await;
    let (file, asked) = (cellar.file("old.avro"), AtomicU64::new(0));
    // There is room at first.
    let disk_low = || {
        assert_eq!(cellar.files(), ["old.avro.unfinished"]);
        asked.fetch_add(1, Ordering::Relaxed) > 0
    };
    let why = cellar.archive(&file, &disk_low).await.unwrap_err();
    assert!(why.contains("the disk is down to its reserve"), "{why}");
    assert_eq!((cellar.files(), asked.into_inner()), (vec![], 2));
    assert_eq!(cellar.persons_left().await, BTreeMap::from([(12, 2), (10, 1), (3, 1)]));
    // And whoever is cut off: the house stops, or the process's last moment comes.
    let (unfinished, _out) = UnfinishedFile::begin(&file).unwrap();
    assert_eq!(cellar.files(), ["old.avro.unfinished"]);
    drop(unfinished);
    assert_eq!(cellar.files(), Vec::<String>::new());
    // Nothing to write is no file either.
    let none = ArchiveFixture::with_rows(&[("ann", 3)]).await;
    assert_eq!(none.archive(&none.file("old.avro"), &|| true).await.unwrap(), ArchiveReport::default());
    assert_eq!(none.files(), Vec::<String>::new());
    assert_eq!(cellar.archive(&file, &|| false).await.unwrap().rows, 3);
    assert_eq!(cellar.files(), ["old.avro"]);
}

#[test]
fn each_file_is_begun_under_a_name_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let (one, _) = UnfinishedFile::begin(&path("days.2026-11")).unwrap();
    let (_other, _) = UnfinishedFile::begin(&path("days.2026-12")).unwrap();
    for name in ["days.2026-11.unfinished", "days.2026-12.unfinished"] {
        assert!(path(name).is_file(), "{name}");
    }
    // What was left behind gives way.
    fs::write(path("left.unfinished"), "half of it").unwrap();
    let (_left, out) = UnfinishedFile::begin(&path("left")).unwrap();
    assert_eq!(out.metadata().unwrap().len(), 0);
    // What is no file does not, and what it leads to stays as it is.
    fs::write(path("dear"), "diary").unwrap();
    symlink(path("dear"), path("link.unfinished")).unwrap();
    fs::create_dir(path("folder.unfinished")).unwrap();
    for name in ["link", "folder"] {
        let why = UnfinishedFile::begin(&path(name)).unwrap_err().to_string();
        assert!(why.ends_with(&format!("{name}.unfinished is in the way, and is not a file")), "{why}");
    }
    assert_eq!(fs::read_to_string(path("dear")).unwrap(), "diary");
    // Whoever made the file meanwhile keeps theirs.
    fs::write(path("days.2026-11"), "theirs").unwrap();
    let why = one.finish(&path("days.2026-11")).unwrap_err().to_string();
    assert!(why.contains("exists by now"), "{why}");
    assert_eq!(fs::read_to_string(path("days.2026-11")).unwrap(), "theirs");
}
