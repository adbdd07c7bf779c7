//! Where mails lie: one file each, spread over 256 folders so that none grows too large.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

use crate::mime::Written;

/// Characters of a message id that a file's name shows; a hash behind them tells ids apart.
const SHOWN_CHARS_MAX: usize = 100;

/// Files that are synced at the same time.
const SYNCERS: usize = 16;

#[derive(Debug)]
pub(super) struct Folder {
    mails: PathBuf,
}

/// What became of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Placed {
    Now,
    /// It was there before.
    Before,
}

impl Folder {
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
        sync(&mails)?;
        sync(path)?;
        Ok(Self { mails })
    }

    /// The names of all mails' files. What a crash left half-written goes.
    pub(super) fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for number in 0..=u8::MAX {
            for entry in fs::read_dir(self.mails.join(format!("{number:02x}")))? {
                let entry = entry?;
                let Ok(name) = entry.file_name().into_string() else { continue };
                if name.ends_with(".tmp") {
                    fs::remove_file(entry.path())?;
                } else if name.ends_with(".eml") {
                    names.push(format!("{number:02x}/{name}"));
                }
            }
        }
        Ok(names)
    }

    /// A file by the name that `names` gave.
    pub(super) fn file(&self, name: &str) -> io::Result<File> {
        File::open(self.mails.join(name))
    }

    /// The name that `names` gives to a mail's file.
    pub(super) fn name(&self, id: &str) -> String {
        let (digits, name) = place(id);
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

    /// Puts mails, no two with one id, in their places, each whole or not at all. They stay there for good
    /// once their folders are synced.
    pub(super) fn place_all(&self, mails: &[&Written]) -> Vec<io::Result<Placed>> {
        let half = |path: &PathBuf| path.with_extension("tmp");
        let begun: Vec<(PathBuf, io::Result<Option<File>>)> = mails
            .iter()
            .map(|mail| {
                let path = self.path(&mail.message_id);
                let begun = match path.try_exists() {
                    Ok(true) => Ok(None),
                    Ok(false) => write(&half(&path), &mail.bytes).map(Some),
                    Err(error) => Err(error),
                };
                (path, begun)
            })
            .collect();
        let done = in_parallel(begun, |(path, begun)| match begun {
            Ok(None) => (path, Ok(Placed::Before)),
            Ok(Some(file)) => (path, file.sync_all().map(|()| Placed::Now)),
            Err(error) => (path, Err(error)),
        });
        let place = |(path, done): (PathBuf, io::Result<Placed>)| {
            let done = match done {
                Ok(Placed::Now) => fs::rename(half(&path), &path).map(|()| Placed::Now),
                other => other,
            };
            if done.is_err() {
                // It would go when the folder is opened again; space may be what is wanting.
                let _gone = fs::remove_file(half(&path));
            }
            done
        };
        done.into_iter().map(place).collect()
    }

    /// Makes the places of these mails durable, each folder once.
    pub(super) fn sync_all<'a>(&self, ids: impl Iterator<Item = &'a str>) -> io::Result<()> {
        let folders: BTreeSet<PathBuf> = ids.map(|id| self.folder(&digits(id))).collect();
        in_parallel(folders.into_iter().collect(), |folder| sync(&folder)).into_iter().collect()
    }

    pub(super) fn sync(&self, id: &str) -> io::Result<()> {
        sync(&self.folder(&digits(id)))
    }

    fn folder(&self, digits: &str) -> PathBuf {
        self.mails.join(&digits[..2])
    }

    fn path(&self, id: &str) -> PathBuf {
        let (digits, name) = place(id);
        self.folder(&digits).join(name)
    }
}

/// The digits that give a mail's folder, and its file's name. No id can name a place outside: only harmless
/// characters of it are shown, the first is a letter or a digit, and the digits tell ids apart.
fn place(id: &str) -> (String, String) {
    let harmless = |c: char| if c.is_ascii_alphanumeric() || "-_@.".contains(c) { c } else { '_' };
    let shown: String = id.chars().take(SHOWN_CHARS_MAX).map(harmless).collect();
    let shown = shown.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    let digits = digits(id);
    let name = format!("{shown}-{digits}.eml");
    (digits, name)
}

fn digits(id: &str) -> String {
    Sha256::digest(id.as_bytes())[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<File> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    Ok(file)
}

fn sync(folder: &Path) -> io::Result<()> {
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
