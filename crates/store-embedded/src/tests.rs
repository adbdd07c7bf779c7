//! The suite on the embedded engine: honest, rough and lying; locks, restarts and kills.

mod engine;

use std::{
    collections::HashMap,
    io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _},
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use model::{Day, DayLife, DayRow, Person, Tenant, UtcMillis, entry::DayKey, fold::fold_rows};
use proptest::prelude::*;
use runtime::clock::SteadyStopwatch;
use store::{
    conformance::{self, BrokenStorePromise, StoreHarness},
    decorator::StoreDecorator,
    lying_store::{LyingStoreHarness, StoreLie},
    port::*,
    rough_store::{RoughStore, StoreRoughness},
};
use tempfile::TempDir;

use super::EmbeddedStore;

/// How long a store that was dropped may hold on to its directory, and how often that is looked at.
const LET_GO_MAX: Duration = Duration::from_secs(10);
const LET_GO_LOOK: Duration = Duration::from_millis(10);

/// What a crash of the embedded store is.
#[derive(Clone, Copy)]
enum StoreCrash {
    /// The directory as it lies there while the store is open.
    Copied,
    /// Closed and opened again, with every write moved to disk at once.
    Restless,
}

struct EmbeddedStoreHarness {
    crash: StoreCrash,
    open: Option<(TempDir, Arc<EmbeddedStore>)>,
}

impl EmbeddedStoreHarness {
    fn new(crash: StoreCrash) -> Self {
        Self { crash, open: None }
    }

    fn start(&mut self, dir: TempDir) -> Result<Arc<dyn Store>, BrokenStorePromise> {
        let store = Arc::new(match self.crash {
            StoreCrash::Copied => EmbeddedStore::open(dir.path())?,
            StoreCrash::Restless => open_when_let_go(dir.path())?,
        });
        self.open = Some((dir, store.clone()));
        Ok(store)
    }
}

/// A read that is under way on another thread holds on to the store a moment longer than its owner.
fn open_when_let_go(dir: &Path) -> Result<EmbeddedStore, BrokenStorePromise> {
    let waited = SteadyStopwatch::start();
    loop {
        match EmbeddedStore::open_restless(dir) {
            Err(error) if error.to_string().contains("another process") && waited.elapsed() < LET_GO_MAX => {
                std::thread::park_timeout(LET_GO_LOOK);
            }
            opened => return Ok(opened?),
        }
    }
}

#[async_trait]
impl StoreHarness for EmbeddedStoreHarness {
    async fn open(&mut self) -> Result<Arc<dyn Store>, BrokenStorePromise> {
        self.open = None;
        self.start(tempfile::tempdir().unwrap())
    }

    async fn crash(&mut self, store: Arc<dyn Store>) -> Result<Arc<dyn Store>, BrokenStorePromise> {
        let (dir, mine) = self.open.take().unwrap();
        let found = match self.crash {
            StoreCrash::Copied => {
                let copy = tempfile::tempdir().unwrap();
                copy_dir(dir.path(), copy.path());
                copy
            }
            StoreCrash::Restless => dir,
        };
        drop((store, mine));
        self.start(found)
    }

    async fn spoil(&mut self, _: &dyn Store, key: &DayKey) -> Result<bool, BrokenStorePromise> {
        let (_, store) = self.open.as_ref().unwrap();
        store.spoil(key).await?;
        Ok(true)
    }
}

/// Copies a directory; what is zero stays a hole, since logs are laid out long before they are full.
fn copy_dir(from: &Path, to: &Path) {
    const PIECE: usize = 1 << 16;
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type().unwrap().is_dir() {
            std::fs::create_dir(&to).unwrap();
            copy_dir(&from, &to);
            continue;
        }
        let mut source = std::fs::File::open(&from).unwrap();
        let mut target = std::fs::File::create(&to).unwrap();
        let (mut piece, zeros) = (vec![0; PIECE], vec![0; PIECE]);
        loop {
            let read = source.read(&mut piece).unwrap();
            if read == 0 {
                break;
            }
            if piece[..read] == zeros[..read] {
                target.seek(SeekFrom::Current(read as i64)).unwrap();
            } else {
                target.write_all(&piece[..read]).unwrap();
            }
        }
        target.set_len(source.metadata().unwrap().len()).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_embedded_store_keeps_every_promise() {
    let mut harness = EmbeddedStoreHarness::new(StoreCrash::Copied);
    for promise in conformance::all_promises() {
        let watch = SteadyStopwatch::start();
        promise.check(&mut harness).await.unwrap_or_else(|how| panic!("{promise:?}\nbroken: {how:?}"));
        println!("{:>6} ms  {promise:?}", watch.elapsed().as_millis());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_embedded_store_keeps_every_promise_while_it_tidies_up() {
    let broken = conformance::run_store_suite(&mut EmbeddedStoreHarness::new(StoreCrash::Restless)).await;
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn promises_and_lies_name_each_other() {
    let mut broken_by: HashMap<&str, Vec<StoreLie>> = HashMap::new();
    for promise in conformance::all_promises() {
        assert!(broken_by.insert(promise.name, Vec::new()).is_none(), "{promise:?} is there twice");
    }
    for &lie in StoreLie::ALL {
        assert!(!lie.breaks().is_empty(), "{lie:?} breaks nothing");
        for name in lie.breaks() {
            broken_by.get_mut(name).unwrap_or_else(|| panic!("{lie:?}: no promise `{name}`")).push(lie);
        }
    }
    for (promise, lies) in broken_by {
        assert!(!lies.is_empty(), "no lie breaks `{promise}`");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_lie_is_caught() {
    for &lie in StoreLie::ALL {
        let mut harness = LyingStoreHarness::new(EmbeddedStoreHarness::new(StoreCrash::Copied), lie);
        for name in lie.breaks() {
            let kept = conformance::find_promise(name).unwrap().check(&mut harness).await;
            let how = kept.expect_err(&format!("{lie:?} went through `{name}`"));
            println!("{lie:?}: {name}: {how:?}");
        }
    }
}

/// A caller that tries again when the store is busy, as every room does.
#[derive(Debug)]
struct PatientStore(Arc<dyn Store>);

#[async_trait]
impl StoreDecorator for PatientStore {
    const REPEATS: bool = true;

    fn inner(&self) -> &dyn Store {
        &*self.0
    }

    async fn repeat<T: Send, F: Future<Output = Result<T, StoreError>> + Send>(
        &self,
        ask: impl Fn() -> F + Send + Sync,
    ) -> Result<T, StoreError> {
        let mut tries = 0;
        loop {
            match ask().await {
                Err(StoreError::Busy(_)) if tries < 100 => tries += 1,
                done => return done,
            }
        }
    }
}

/// Patient callers of a rough store.
struct RoughStoreHarness {
    inner: EmbeddedStoreHarness,
    seed: u64,
}

impl RoughStoreHarness {
    fn wrap(&mut self, store: Arc<dyn Store>) -> Arc<dyn Store> {
        self.seed += 1;
        Arc::new(PatientStore(Arc::new(RoughStore::new(store, StoreRoughness::from_seed(self.seed)))))
    }
}

#[async_trait]
impl StoreHarness for RoughStoreHarness {
    async fn open(&mut self) -> Result<Arc<dyn Store>, BrokenStorePromise> {
        let store = self.inner.open().await?;
        Ok(self.wrap(store))
    }
    async fn crash(&mut self, store: Arc<dyn Store>) -> Result<Arc<dyn Store>, BrokenStorePromise> {
        let store = self.inner.crash(store).await?;
        Ok(self.wrap(store))
    }
    async fn spoil(&mut self, store: &dyn Store, key: &DayKey) -> Result<bool, BrokenStorePromise> {
        self.inner.spoil(store, key).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_tries_again_finds_every_promise_kept_by_a_rough_store() {
    let broken = conformance::run_store_suite(&mut RoughStoreHarness {
        inner: EmbeddedStoreHarness::new(StoreCrash::Copied),
        seed: 1,
    })
    .await;
    assert!(broken.is_empty(), "{broken:#?}");
}

fn tenant() -> Tenant {
    Tenant::new("main").unwrap()
}

/// What a rough store answers to a run of calls.
async fn rough_run(seed: u64) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(EmbeddedStore::open(dir.path()).unwrap());
    let rough: Arc<dyn Store> = Arc::new(RoughStore::new(store, StoreRoughness::from_seed(seed)));
    let mut answers = Vec::new();
    for n in 0..60 {
        answers.push(format!(
            "{:?}",
            rough.answer(&tenant(), &format!("{}", n / 3), vec![n], UtcMillis(0)).await
        ));
        answers
            .push(format!("{:?}", rough.find_answer(&tenant(), &format!("{}", n / 3), UtcMillis(0)).await));
    }
    answers
}

#[tokio::test]
async fn a_rough_store_does_the_same_for_the_same_seed() {
    let (one, again, other) = (rough_run(7).await, rough_run(7).await, rough_run(8).await);
    assert_eq!(one, again);
    assert_ne!(one, other);
    for what in ["turned away", "no answer came back", "Ok("] {
        assert!(one.iter().any(|answer| answer.contains(what)), "{what}");
    }
}

#[tokio::test]
async fn one_process_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let first = EmbeddedStore::open(dir.path()).unwrap();
    let second = EmbeddedStore::open(dir.path()).unwrap_err();
    assert_eq!(
        second.to_string(),
        format!("the store is broken: another process uses {}", dir.path().display())
    );
    drop(first);
    EmbeddedStore::open(dir.path()).unwrap();
}

#[tokio::test]
async fn everything_is_there_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let key = DayKey { tenant: tenant(), person: Person::new("ann").unwrap(), day: Day(20_000) };
    for n in 0..3_usize {
        let store = EmbeddedStore::open(dir.path()).unwrap();
        assert_eq!(store.read(std::slice::from_ref(&key), UtcMillis(0)).await.unwrap()[0].len(), n);
        let row =
            DayRow::Mark(model::Mark::new(None, model::MarkAction::Read, Vec::new(), UtcMillis(n as i64)));
        store.write(vec![DayRows { key: key.clone(), rows: vec![row] }], UtcMillis(0)).await.unwrap();
    }
}

const CHILD: &str = "STORE_TEST_KILLED_DIR";

/// Not a test by itself: what the next one starts and kills.
#[tokio::test]
async fn writes_until_it_is_killed() {
    let Ok(dir) = std::env::var(CHILD) else { return };
    let store = EmbeddedStore::open_restless(Path::new(&dir)).unwrap();
    for n in 0_u32.. {
        let key = format!("{} {n}", std::process::id());
        store.answer(&tenant(), &key, n.to_be_bytes().to_vec(), UtcMillis(0)).await.unwrap();
        println!("\nwrote {key}");
    }
}

#[tokio::test]
async fn what_was_answered_for_survives_sigkill() {
    let dir = tempfile::tempdir().unwrap();
    let mut wrote = Vec::new();
    for round in 1..=4 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "tests::writes_until_it_is_killed", "--nocapture"])
            .env(CHILD, dir.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let keys =
            lines.map_while(Result::ok).filter_map(|line| line.strip_prefix("wrote ").map(String::from));
        let before = wrote.len();
        for key in keys {
            wrote.push(key);
            if wrote.len() == before + 25 * round {
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        assert!(wrote.len() >= before + 25 * round, "the child ended by itself");
        let store = EmbeddedStore::open_for(dir.path(), DayLife::LEAST).unwrap();
        for key in &wrote {
            assert!(
                store.find_answer(&tenant(), key, UtcMillis(0)).await.unwrap().is_some(),
                "{key} is lost"
            );
        }
    }
}

/// Fills the disk; returns how many answers were safe, and what came then.
async fn fill_disk(store: &EmbeddedStore, answer: impl Fn(usize) -> Vec<u8>) -> (usize, StoreError) {
    for n in 0..10_000 {
        if let Err(error) = store.answer(&tenant(), &n.to_string(), answer(n), UtcMillis(0)).await {
            return (n, error);
        }
    }
    panic!("the disk is not tiny");
}

#[tokio::test]
async fn a_full_disk_is_told_and_loses_nothing() {
    let Some(tiny) =
        runtime::small_disk::run_on_small_disk("tests::a_full_disk_is_told_and_loses_nothing", "size=12m")
            .unwrap()
    else {
        return;
    };
    let ballast = tiny.join("ballast");
    let noise = |n: usize| {
        let mut noise = n as u64 + 1;
        let byte = |_| {
            noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (noise >> 56) as u8
        };
        (0..50_000).map(byte).collect::<Vec<u8>>()
    };
    std::fs::write(&ballast, vec![1; 3 << 20]).unwrap();
    let dir = TempDir::new_in(&tiny).unwrap();
    let store = EmbeddedStore::open(dir.path()).unwrap();
    let (safe, full) = fill_disk(&store, noise).await;
    assert!(matches!(full, StoreError::Full(_)), "{full}");
    for n in 0..3 {
        let later =
            store.answer(&tenant(), &format!("later {n}"), Vec::new(), UtcMillis(0)).await.unwrap_err();
        assert!(later.to_string().contains("restart"), "{later}");
        let later = store.drop_before(Day(0)).await.unwrap_err();
        assert!(later.to_string().contains("restart"), "{later}");
    }
    assert_eq!(
        store.find_answer(&tenant(), "0", UtcMillis(0)).await.unwrap(),
        Some(StandingAnswer::for_a_day(noise(0), UtcMillis(0)))
    );
    drop(store);
    std::fs::remove_file(&ballast).unwrap();
    let store = EmbeddedStore::open(dir.path()).unwrap();
    for n in 0..safe {
        let found = store.find_answer(&tenant(), &n.to_string(), UtcMillis(0)).await.unwrap();
        assert_eq!(found.map(|found| found.body), Some(noise(n)), "{n} of {safe}");
    }
    store.answer(&tenant(), "after", Vec::new(), UtcMillis(0)).await.unwrap();
    drop((store, dir));

    // What takes little room in the log is first refused when it is moved to disk, behind our back.
    let dir = TempDir::new_in(&tiny).unwrap();
    let store = EmbeddedStore::open(dir.path()).unwrap();
    let (flat, full) = fill_disk(&store, |n| vec![n as u8; 50_000]).await;
    assert!(matches!(full, StoreError::Full(_)), "{full}");
    println!("the disk was full after {safe} answers of noise, and after {flat} flat ones");
}

fn any_row() -> impl Strategy<Value = DayRow> {
    use model::*;
    let key = (0..4_u8, 0..3_i64)
        .prop_map(|(n, at)| EntryKey { occurred: UtcMillis(at), event: EventKey([n; 16]) });
    let entry = (key.clone(), 0..7_u8, 0..2_u8).prop_map(|(key, target, kind)| {
        let because = match target {
            0 => AudienceMatch::Near,
            1 => AudienceMatch::Named,
            2 => AudienceMatch::Listed(PersonScore(1)),
            3 => AudienceMatch::Mutual(Person::new("bob").unwrap()),
            4 => AudienceMatch::Everyone,
            _ => AudienceMatch::Follows(SubjectRef::new(&format!("author:{target}")).unwrap()),
        };
        let kind = Kind::new(&format!("kind{kind}")).unwrap();
        let subject = SubjectRef::new(&format!("work:{}", key.event.0[0])).unwrap();
        let actor = (key.event.0[0] % 2 == 0).then(|| Person::new("cay").unwrap().into());
        DayRow::Entry(Entry {
            key,
            reason: EntryReason { kind, because },
            subject,
            actor,
            kept: model::KeptFields::new(),
        })
    });
    let ready = (0..3_u8).prop_map(|n| ReadyId([n; 16]));
    let why = proptest::sample::select(EndReason::ALL.to_vec());
    let what = (0..10_u8, ready, why, any::<bool>()).prop_map(|(n, ready, why, maybe)| match n {
        0 => MarkAction::Taken(ready),
        1 => MarkAction::Returned { ready, maybe },
        2 => MarkAction::Left { ready, why },
        3 => MarkAction::Ended(why),
        4 => MarkAction::Carried(ready),
        5 => MarkAction::Read,
        6 => MarkAction::Seen,
        7 => MarkAction::Unread,
        8 => MarkAction::Snoozed(UtcMillis(7)),
        _ => MarkAction::Cleared,
    });
    let channel = proptest::sample::select(vec![None, Some(Channel::Email)]);
    let mark = (channel, what, proptest::collection::vec(key, 0..4), 0..3_i64).prop_map(
        |(channel, what, covers, at)| DayRow::Mark(Mark::new(channel, what, covers, UtcMillis(at))),
    );
    prop_oneof![2 => entry, 3 => mark]
}

/// Law 1 at the store: in whatever order and however often rows are written, the day folds to the same.
#[test]
fn any_order_of_writes_folds_to_the_same_view() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(dir.path()).unwrap();
    let case = std::cell::Cell::new(0);
    let rows = proptest::collection::vec(any_row(), 0..12);
    let runs = rows.prop_flat_map(|rows| {
        let many = rows.len().max(1) * 2;
        let doubled = proptest::collection::vec(any::<prop::sample::Index>(), many);
        (Just(rows.clone()), Just(rows).prop_shuffle(), doubled, 1..5_usize)
    });
    proptest!(ProptestConfig::with_cases(96), |((rows, shuffled, doubled, piece) in runs)| {
        case.set(case.get() + 1);
        let person = Person::new(&format!("p{}", case.get())).unwrap();
        let key = DayKey { tenant: tenant(), person, day: Day(0) };
        let again = doubled.iter().filter(|_| !rows.is_empty()).map(|at| at.get(&rows).clone());
        let written: Vec<DayRow> = again.chain(shuffled).collect();
        let read = runtime.block_on(async {
            for piece in written.chunks(piece) {
                let write = DayRows { key: key.clone(), rows: piece.to_vec() };
                store.write(vec![write], UtcMillis(0)).await.unwrap();
            }
            store.read(&[key], UtcMillis(0)).await.unwrap().remove(0)
        });
        prop_assert_eq!(fold_rows(&read), fold_rows(&rows));
        let mut once = rows;
        once.sort();
        once.dedup();
        let mut read = read;
        read.sort();
        prop_assert_eq!(read, once);
    });
}
