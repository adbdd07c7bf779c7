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

    /// The files of all mails. What a crash left half-written goes.
    pub(super) fn files(&self) -> io::Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        for number in 0..=u8::MAX {
            for entry in fs::read_dir(self.mails.join(format!("{number:02x}")))? {
                let path = entry?.path();
                match path.extension().and_then(|extension| extension.to_str()) {
                    Some("eml") => files.push(path),
                    Some("tmp") => fs::remove_file(path)?,
                    _ => {}
                }
            }
        }
        Ok(files)
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

    /// Puts a mail in its place, whole or not at all. It stays there for good once its folder is synced.
    pub(super) fn place(&self, written: &Written) -> io::Result<Placed> {
        let path = self.path(&written.message_id);
        if path.try_exists()? {
            return Ok(Placed::Before);
        }
        let half = path.with_extension("tmp");
        let whole = write(&half, &written.bytes).and_then(|()| fs::rename(&half, &path));
        if let Err(error) = whole {
            // It would go when the folder is opened again; space may be what is wanting.
            let _gone = fs::remove_file(&half);
            return Err(error);
        }
        Ok(Placed::Now)
    }

    /// Makes the places of these mails durable, each folder once.
    pub(super) fn sync_all<'a>(&self, ids: impl Iterator<Item = &'a str>) -> io::Result<()> {
        let folders: BTreeSet<PathBuf> = ids.map(|id| self.folder(&digits(id))).collect();
        folders.iter().try_for_each(|folder| sync(folder))
    }

    pub(super) fn sync(&self, id: &str) -> io::Result<()> {
        sync(&self.folder(&digits(id)))
    }

    fn folder(&self, digits: &str) -> PathBuf {
        self.mails.join(&digits[..2])
    }

    /// No id can name a place outside: only harmless characters of it are shown, the first is a letter or
    /// a digit, and the hash makes the name.
    fn path(&self, id: &str) -> PathBuf {
        let harmless = |c: char| if c.is_ascii_alphanumeric() || "-_@.".contains(c) { c } else { '_' };
        let shown: String = id.chars().take(SHOWN_CHARS_MAX).map(harmless).collect();
        let shown = shown.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
        let digits = digits(id);
        self.folder(&digits).join(format!("{shown}-{}.eml", &digits[..16]))
    }
}

fn digits(id: &str) -> String {
    Sha256::digest(id.as_bytes())[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
