//! A file that is being written: it has a name of its own until it is whole, and goes if it never is. What
//! is left behind may be as large as the disk, and the house would wait for that very room.

use std::{
    fs::{self, File, OpenOptions},
    io,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail, ensure};

/// Goes with its file, unless that was finished.
#[derive(Debug)]
pub struct UnfinishedFile {
    path: PathBuf,
    is_finished: bool,
}

impl UnfinishedFile {
    /// Begins what becomes this file. What a crash left behind of an earlier try gives way.
    pub fn begin(file: &Path) -> anyhow::Result<(Self, File)> {
        // The whole name and more: `days.2026-11` and `days.2026-12` are two files.
        let mut path = file.as_os_str().to_owned();
        path.push(".unfinished");
        let path = PathBuf::from(path);
        match path.symlink_metadata() {
            Ok(found) if found.is_file() => {
                fs::remove_file(&path).with_context(|| format!("remove {}", path.display()))?;
            }
            Ok(_) => bail!("{} is in the way, and is not a file", path.display()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error).with_context(|| format!("check {}", path.display())),
        }
        let out = OpenOptions::new().write(true).create_new(true).open(&path);
        let out = out.with_context(|| format!("create {}", path.display()))?;
        Ok((Self { path, is_finished: false }, out))
    }

    /// Where it is until then.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives it its name. It is whole, and synced.
    pub fn finish(self, file: &Path) -> anyhow::Result<()> {
        ensure!(file.symlink_metadata().is_err(), "{} exists by now", file.display());
        self.replace(file)
    }

    /// The same, in place of the file that has the name.
    pub fn replace(mut self, file: &Path) -> anyhow::Result<()> {
        fs::rename(&self.path, file)
            .with_context(|| format!("rename the unfinished file to {}", file.display()))?;
        self.is_finished = true;
        sync_file(file)
    }
}

impl Drop for UnfinishedFile {
    fn drop(&mut self) {
        if self.is_finished {
            return;
        }
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(%error, file = %self.path.display(), "an unfinished archive could not be removed");
        }
    }
}

/// Makes a file and its name durable; the name is when its folder is.
pub fn sync_file(file: &Path) -> anyhow::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    for path in [file, folder] {
        let synced = File::open(path).and_then(|opened| opened.sync_all());
        synced.with_context(|| format!("sync {}", path.display()))?;
    }
    Ok(())
}
