//! `tidings check --watch`: repeats the check whenever a file of the folder changes, until Ctrl-C.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use anyhow::Context as _;
use jiff::{Timestamp, tz::TimeZone};
use runtime::{Clock, ShutdownSignal};
use shell::{failure::CommandError, terminal};
use tokio::time::timeout;

use super::{CatalogueCheckRequest, check_once};
use crate::{
    arguments as cli,
    commands::{OutputStyle, report_failure},
};

/// How often the folder is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(300);
/// Files that are read: a folder with more is hardly a catalogue's.
const FILES_MAX: usize = 10_000;

/// What a folder was like: of each file when it was changed and how long it is.
type FolderSnapshot = BTreeMap<PathBuf, (Option<SystemTime>, u64)>;

pub fn run(
    asked: &cli::CatalogueCheckArgs,
    ask: &CatalogueCheckRequest,
    out: OutputStyle,
) -> Result<(), CommandError> {
    let dirs: Vec<&Path> = std::iter::once(&asked.dir).chain(&asked.canary).map(PathBuf::as_path).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .context("start tokio")?;
    let stop = ask.stop.clone();
    runtime.spawn(async move { stop.start_on_signals().await });
    // What is changed while it is checked is checked again.
    let mut known = snapshot_folders(&dirs)?;
    loop {
        match check_once(asked, ask, out) {
            Err(CommandError::Closed) => return Err(CommandError::Closed),
            Err(failure) if !ask.stop.is_started() => report_failure(&failure),
            Ok(()) | Err(_) => {}
        }
        if ask.stop.is_started() {
            return Ok(());
        }
        terminal::print_talk(format!(
            "{} checked; waiting for a change in {}, Ctrl-C ends it",
            local_time(),
            asked.dir.display()
        ));
        let Some((path, now)) = runtime.block_on(wait_for_change(&dirs, &known, &ask.stop))? else {
            return Ok(());
        };
        known = now;
        terminal::print_talk(format!("{} {} has changed", local_time(), path.display()));
    }
}

/// Waits until the folder is not what it was: the first file that is not, and what the folder is now. Nothing if it is
/// to stop.
async fn wait_for_change(
    dirs: &[&Path],
    known: &FolderSnapshot,
    stop: &ShutdownSignal,
) -> Result<Option<(PathBuf, FolderSnapshot)>, CommandError> {
    while timeout(LOOK_EVERY, stop.wait()).await.is_err() {
        let now = snapshot_folders(dirs)?;
        if let Some(path) = first_difference(known, &now) {
            return Ok(Some((path, now)));
        }
    }
    Ok(None)
}

/// The first file that is not what it was, or is there only before or after.
fn first_difference(before: &FolderSnapshot, after: &FolderSnapshot) -> Option<PathBuf> {
    let differs = |path: &&PathBuf| before.get(*path) != after.get(*path);
    after.keys().find(differs).or_else(|| before.keys().find(differs)).cloned()
}

fn snapshot_folders(dirs: &[&Path]) -> Result<FolderSnapshot, CommandError> {
    let looks = dirs.iter().map(|dir| snapshot_folder(dir)).collect::<Result<Vec<_>, _>>()?;
    Ok(looks.into_iter().flatten().collect())
}

fn snapshot_folder(dir: &Path) -> Result<FolderSnapshot, CommandError> {
    let mut looks = FolderSnapshot::new();
    snapshot_into(dir, &mut looks).with_context(|| format!("read {}", dir.display()))?;
    if looks.len() > FILES_MAX {
        let what = format!("{} has more than {FILES_MAX} files; is it a catalogue's folder?", dir.display());
        return Err(CommandError::from_refusal(what));
    }
    Ok(looks)
}

/// Hidden files are somebody else's: an editor's, git's, or a house's that runs here.
fn snapshot_into(dir: &Path, looks: &mut FolderSnapshot) -> io::Result<()> {
    for item in fs::read_dir(dir)? {
        let item = item?;
        if item.file_name().as_encoded_bytes().starts_with(b".") || looks.len() > FILES_MAX {
            continue;
        }
        // What is gone by now is gone.
        let Ok(meta) = item.metadata() else { continue };
        if meta.is_dir() {
            match snapshot_into(&item.path(), looks) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
        } else {
            looks.insert(item.path(), (meta.modified().ok(), meta.len()));
        }
    }
    Ok(())
}

/// The time of day here.
fn local_time() -> String {
    let now = Timestamp::from_millisecond(Clock::real(0).now()).unwrap_or_default();
    now.to_zoned(TimeZone::system()).strftime("%H:%M:%S").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_of_a_folder_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        let (file, deep) = (dir.path().join("a.txt"), dir.path().join("deep/b.txt"));
        fs::create_dir(dir.path().join("deep")).unwrap();
        fs::write(&file, "a").unwrap();
        let mut known = snapshot_folder(dir.path()).unwrap();
        assert_eq!(first_difference(&known, &known), None);
        let mut check = |what: &str, expected: Option<&Path>| {
            let now = snapshot_folder(dir.path()).unwrap();
            assert_eq!(first_difference(&known, &now).as_deref(), expected, "{what}");
            known = now;
        };
        fs::write(&file, "longer").unwrap();
        check("a file is changed", Some(&file));
        fs::write(&deep, "b").unwrap();
        check("a file is new", Some(&deep));
        let later = fs::metadata(&deep).unwrap().modified().unwrap() + Duration::from_secs(1);
        fs::File::options().write(true).open(&deep).unwrap().set_modified(later).unwrap();
        check("a file is as long as before", Some(&deep));
        fs::remove_file(&file).unwrap();
        check("a file is gone", Some(&file));
        fs::write(dir.path().join(".hidden"), "x").unwrap();
        check("a hidden file is nobody's", None);
    }
}
