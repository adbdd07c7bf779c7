//! Where the scenarios are, and what each is called.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context as _;

/// A scenario with the name of its test, `scenarios::told-once` or `gallery::seen-in-the-app`.
#[derive(Clone, Debug)]
pub struct NamedScenario {
    pub name: String,
    pub path: PathBuf,
    /// What happens hangs on minutes, so that it cannot be the same where mails come late.
    pub to_the_minute: bool,
}

/// The project's folder.
pub fn root() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().unwrap_or(tests).to_owned()
}

/// The example whose people come and go by the minute.
const TO_THE_MINUTE: &str = "dating";

/// Those of the house, then those of each example. A folder without any is an error: it would pass.
pub fn all_scenarios() -> anyhow::Result<Vec<NamedScenario>> {
    let mut folders = vec![(root().join("tests/scenarios"), false)];
    for example in list_folder(&root().join("examples"))? {
        if example.join("scenarios").is_dir() {
            let to_the_minute = example.ends_with(TO_THE_MINUTE);
            folders.push((example.join("scenarios"), to_the_minute));
        } else {
            // Published rules are too.
            folders.extend(list_folder(&example)?.into_iter().map(|one| (one.join("scenarios"), true)));
        }
    }
    let mut all = Vec::new();
    for (folder, to_the_minute) in folders {
        let files = scenario::list_scenarios(&folder)?;
        anyhow::ensure!(!files.is_empty(), "{} has no scenarios", folder.display());
        let group = scenario_group(&folder);
        all.extend(files.into_iter().map(|path| NamedScenario {
            name: scenario_name(&group, &path),
            path,
            to_the_minute,
        }));
    }
    Ok(all)
}

/// The folders in a folder, in order.
fn list_folder(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let listed = fs::read_dir(folder).with_context(|| format!("could not list {}", folder.display()))?;
    let mut found = Vec::new();
    for one in listed {
        found.push(one.with_context(|| format!("could not list {}", folder.display()))?.path());
    }
    found.retain(|path| path.is_dir());
    found.sort();
    Ok(found)
}

/// The name of the folder around it; of the house's own that is no example.
fn scenario_group(scenarios: &Path) -> String {
    let around = scenarios.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    if around == "tests" { "scenarios".to_owned() } else { around.into_owned() }
}

fn scenario_name(group: &str, path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    format!("{group}::{stem}")
}
