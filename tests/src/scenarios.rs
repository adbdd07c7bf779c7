//! Where the scenarios are, and what each is called.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context as _;

/// A scenario with the name of its test, `scenarios::told-once` or `gallery::seen-in-the-app`.
#[derive(Clone, Debug)]
pub struct Named {
    pub name: String,
    pub path: PathBuf,
}

/// The project's folder.
pub fn root() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().unwrap_or(tests).to_owned()
}

/// Those of the house, then those of each example. A folder without any is an error: it would pass.
pub fn all() -> anyhow::Result<Vec<Named>> {
    let mut folders = vec![("scenarios".to_owned(), root().join("tests/scenarios"))];
    let examples = root().join("examples");
    let listed = fs::read_dir(&examples).with_context(|| format!("could not list {}", examples.display()))?;
    for example in listed {
        let example = example.context("could not list the examples")?;
        folders.push((example.file_name().to_string_lossy().into_owned(), example.path().join("scenarios")));
    }
    folders[1..].sort();
    let mut all = Vec::new();
    for (group, folder) in folders {
        let files = tidings::scenario::files(&folder)?;
        anyhow::ensure!(!files.is_empty(), "{} has no scenarios", folder.display());
        all.extend(files.into_iter().map(|path| Named { name: name(&group, &path), path }));
    }
    Ok(all)
}

fn name(group: &str, path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    format!("{group}::{stem}")
}
