//! Where mails lie: one file each, spread over 256 folders so that none grows too large.
//!
//! A mail is written in a drafts' folder that this opener alone has, and then linked to its place: of several
//! processes with one mail, one links and the others find it there. Who is killed leaves a drafts' folder
//! that nobody holds any more; the next opener clears it away.

use std::{
    collections::BTreeSet,
    fs::{self, File, TryLockError},
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use sha2::{Digest, Sha256};

use crate::mime::MimeMessage;

/// Characters of a message id that a file's name shows; a hash behind them tells ids apart.
const SHOWN_CHARS_MAX: usize = 100;

/// Files that are synced at the same time.
const SYNCERS: usize = 16;

/// Tells the drafts of one process apart.
static DRAFTS: AtomicU64 = AtomicU64::new(0);

#[derive(Debug)]
pub(super) struct OutboxFolder {
    mails: PathBuf,
    drafts: OutboxDrafts,
}

/// What became of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OutboxPlacement {
    Now,
    /// It was there before.
    Before,
}

impl OutboxFolder {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let mails = path.join("mail");
        fs::create_dir_all(&mails)?;
        // All at once, so that none must be made durable when a mail comes.
        for number in 0..=u8::MAX {
            match fs::create_dir(mails.join(format!("{number:02x}"))) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
        }
        sync_folder(&mails)?;
        let drafts = OutboxDrafts::open(&path.join("drafts"))?;
        sync_folder(path)?;
        Ok(Self { mails, drafts })
    }

    /// The names of all mails' files.
    pub(super) fn list_names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for number in 0..=u8::MAX {
            for entry in fs::read_dir(self.mails.join(format!("{number:02x}")))? {
                let entry = entry?;
                let Ok(name) = entry.file_name().into_string() else { continue };
                if name.ends_with(".eml") {
                    names.push(format!("{number:02x}/{name}"));
                }
            }
        }
        Ok(names)
    }

    /// A file by the name that `list_names` gave.
    pub(super) fn open_file(&self, name: &str) -> io::Result<File> {
        File::open(self.mails.join(name))
    }

    /// The name that `list_names` gives to a mail's file.
    pub(super) fn mail_file_name(&self, id: &str) -> String {
        let (digits, name) = place_of_id(id);
        format!("{}/{name}", &digits[..2])
    }

    pub(super) fn has(&self, id: &str) -> io::Result<bool> {
        self.path(id).try_exists()
    }

    pub(super) fn read(&self, id: &str) -> io::Result<Option<Vec<u8>>> {
        match fs::read(self.path(id)) {
            Ok(raw) => Ok(Some(raw)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Removes a mail; one that is not there is gone already.
    pub(super) fn remove(&self, id: &str) -> io::Result<()> {
        match fs::remove_file(self.path(id)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => self.sync(id),
        }
    }

    /// Puts mails, no two with one id, in their places, each whole or not at all. They stay there for good
    /// once their folders are synced.
    pub(super) fn place_all(&self, mails: &[&MimeMessage]) -> Vec<io::Result<OutboxPlacement>> {
        let begin = |mail: &&MimeMessage| {
            let path = self.path(&mail.message_id);
            let draft = match path.try_exists() {
                Ok(true) => Ok(None),
                Ok(false) => self.drafts.write(&mail.bytes).map(Some),
                Err(error) => Err(error),
            };
            (path, draft)
        };
        in_parallel(mails.iter().map(begin).collect(), |(path, draft)| match draft? {
            None => Ok(OutboxPlacement::Before),
            Some(draft) => draft.place(&path),
        })
    }

    /// Makes the places of these mails durable, each folder once.
    pub(super) fn sync_all<'a>(&self, ids: impl Iterator<Item = &'a str>) -> io::Result<()> {
        let folders: BTreeSet<PathBuf> = ids.map(|id| self.folder(&hash_digits(id))).collect();
        in_parallel(folders.into_iter().collect(), |folder| sync_folder(&folder)).into_iter().collect()
    }

    pub(super) fn sync(&self, id: &str) -> io::Result<()> {
        sync_folder(&self.folder(&hash_digits(id)))
    }

    fn folder(&self, digits: &str) -> PathBuf {
        self.mails.join(&digits[..2])
    }

    fn path(&self, id: &str) -> PathBuf {
        let (digits, name) = place_of_id(id);
        self.folder(&digits).join(name)
    }
}

/// The digits that give a mail's folder, and its file's name. No id can name a place outside: only harmless
/// characters of it are shown, the first is a letter or a digit, and the digits tell ids apart.
fn place_of_id(id: &str) -> (String, String) {
    let harmless = |c: char| if c.is_ascii_alphanumeric() || "-_@.".contains(c) { c } else { '_' };
    let shown: String = id.chars().take(SHOWN_CHARS_MAX).map(harmless).collect();
    let shown = shown.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    let digits = hash_digits(id);
    let name = format!("{shown}-{digits}.eml");
    (digits, name)
}

fn hash_digits(id: &str) -> String {
    Sha256::digest(id.as_bytes())[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A folder of drafts that nobody else writes to, held as long as this lives.
#[derive(Debug)]
struct OutboxDrafts {
    path: PathBuf,
    _held: File,
}

impl OutboxDrafts {
    /// A new one, after those that nobody holds have gone.
    fn open(all: &Path) -> io::Result<Self> {
        fs::create_dir_all(all)?;
        // Two that open at once must not take each other's new folder for one that was left.
        let opening = File::open(all)?;
        opening.lock()?;
        for entry in fs::read_dir(all)? {
            let left = entry?.path();
            match File::open(&left)?.try_lock() {
                Ok(()) => fs::remove_dir_all(&left)?,
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        let mut number = 0_u64;
        let path = loop {
            let path = all.join(number.to_string());
            match fs::create_dir(&path) {
                Ok(()) => break path,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(error),
            }
        };
        let held = File::open(&path)?;
        held.lock()?;
        Ok(Self { path, _held: held })
    }

    fn write(&self, bytes: &[u8]) -> io::Result<OutboxDraft> {
        let path = self.path.join(DRAFTS.fetch_add(1, Ordering::Relaxed).to_string());
        let mut file = File::create(&path)?;
        let draft = OutboxDraft { path, file: file.try_clone()? };
        file.write_all(bytes)?;
        Ok(draft)
    }
}

/// A mail on its way to its place; gone from here when it has come there, or could not.
struct OutboxDraft {
    path: PathBuf,
    file: File,
}

impl OutboxDraft {
    fn place(self, place: &Path) -> io::Result<OutboxPlacement> {
        self.file.sync_all()?;
        match fs::hard_link(&self.path, place) {
            Ok(()) => Ok(OutboxPlacement::Now),
            // Another process was quicker.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(OutboxPlacement::Before),
            Err(error) => Err(error),
        }
    }
}

impl Drop for OutboxDraft {
    fn drop(&mut self) {
        // It would go when the folder is opened again; space may be what is wanting.
        let _gone = fs::remove_file(&self.path);
    }
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Does slow work on all items, in their order for whoever looks at the answers. Syncs that wait together
/// are one write of the file system's own journal.
fn in_parallel<T: Send, A: Send>(items: Vec<T>, work: impl Fn(T) -> A + Sync) -> Vec<A> {
    if items.len() <= 1 {
        return items.into_iter().map(work).collect();
    }
    let share = items.len().div_ceil(SYNCERS);
    let mut shares: Vec<Vec<T>> = Vec::with_capacity(SYNCERS);
    for (i, item) in items.into_iter().enumerate() {
        match shares.last_mut() {
            Some(last) if i % share != 0 => last.push(item),
            _ => shares.push(vec![item]),
        }
    }
    let work = &work;
    std::thread::scope(|scope| {
        let threads: Vec<_> = shares
            .into_iter()
            .map(|share| scope.spawn(move || share.into_iter().map(work).collect::<Vec<A>>()))
            .collect();
        // A panic goes on where it would have gone without threads.
        let answers = threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        answers.collect()
    })
}
