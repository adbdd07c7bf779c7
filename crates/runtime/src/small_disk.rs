//! For tests of engines only: a disk that is small enough to be filled.

use std::{path::PathBuf, process::Command};

const DISK: &str = "TIDINGS_SMALL_DISK";
const SCRIPT: &str =
    "mount -t tmpfs -o \"$1\" tmpfs \"$2\" && TIDINGS_SMALL_DISK=\"$2\" exec \"$3\" --exact \"$4\"";

/// Runs the very test that calls it once more, in a namespace of its own where a small disk is mounted.
/// There it gives the disk's path; out here `None`, when the inner run has passed. `options` are those of
/// tmpfs, such as `size=24m`. Needs `unshare` of util-linux, and no privileges where users may have
/// namespaces.
pub fn run_on_small_disk(test: &str, options: &str) -> anyhow::Result<Option<PathBuf>> {
    if let Some(disk) = std::env::var_os(DISK) {
        return Ok(Some(disk.into()));
    }
    let dir = std::env::temp_dir().join(format!("tidings-disk-{}-{}", std::process::id(), test.len()));
    std::fs::create_dir_all(&dir)?;
    let inner = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", SCRIPT, "sh", options])
        .arg(&dir)
        .arg(std::env::current_exe()?)
        .arg(test)
        .output()?;
    std::fs::remove_dir(&dir)?;
    let said = String::from_utf8_lossy(&inner.stdout) + String::from_utf8_lossy(&inner.stderr);
    anyhow::ensure!(inner.status.success(), "the inner run failed: {said}");
    anyhow::ensure!(said.contains("1 passed"), "the inner run found no test {test}: {said}");
    Ok(None)
}
