//! Where the workspace is, and running commands in it.

use std::{
    ffi::OsString,
    fs,
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// The features of every stage that compiles. One list for all of them, so that nothing is built twice:
/// the package `tests` passes this one on to all that has points to crash at or faults to plant.
const TEST_FEATURES: &[&str] = &["tests/faults"];

/// Where tests have their folders if there is room: they make and delete thousands and wait for each write, which a busy disk
/// takes longer for than the tests do. Processes are killed here and machines are not, so a disk would keep no more.
const IN_MEMORY: &str = "/dev/shm";
const TEMPORARY: &str = "TMPDIR";
/// All suites together have about 2 GB of folders.
const MEMORY_KIB_MIN: u64 = 8 << 20;

/// The workspace on disk.
pub struct WorkspaceRoot {
    pub root: PathBuf,
    cargo: OsString,
}

impl WorkspaceRoot {
    /// Finds it from what `cargo run` says of this package, so that the tool works from any folder.
    pub fn find() -> Result<Self> {
        let here = std::env::var_os("CARGO_MANIFEST_DIR").context("run this as `cargo xtask`")?;
        let root = PathBuf::from(here).join("../..").canonicalize().context("the workspace is not there")?;
        Ok(Self { root, cargo: std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()) })
    }

    /// A cargo command at the root of the workspace.
    pub fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.cargo);
        command.args(arguments).current_dir(&self.root);
        command
    }

    /// Where cargo puts what it builds.
    pub fn target_folder(&self) -> PathBuf {
        self.root.join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
    }

    /// All packages of the build, as cargo tells them: those for every machine, or for one platform.
    pub fn metadata(&self, platform: Option<&str>) -> Result<Value> {
        let mut command = self.cargo(&["metadata", "--format-version", "1"]);
        command.args(platform.into_iter().flat_map(|platform| ["--filter-platform", platform]));
        let output = command.stderr(Stdio::inherit()).output().context("cargo metadata")?;
        ensure!(output.status.success(), "cargo metadata failed");
        serde_json::from_slice(&output.stdout).context("what cargo metadata printed")
    }
}

/// A cargo verb over the whole workspace, with the features of the tests.
pub fn workspace_arguments<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    let mut all = arguments.to_vec();
    all.push("--workspace");
    all.extend(TEST_FEATURES.iter().flat_map(|feature| ["--features", *feature]));
    all
}

/// Runs a command with its output on the terminal; whether it succeeded.
pub fn run_succeeds(command: &mut Command) -> Result<bool> {
    let status = command.status().with_context(|| format!("could not run {command:?}"))?;
    Ok(status.success())
}

/// Has a command make its folders in memory, unless somebody said where.
pub fn keep_folders_in_memory(command: &mut Command) {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let has_room = has_room_in_memory(&read("/proc/mounts"), &read("/proc/meminfo"));
    if has_room && std::env::var_os(TEMPORARY).is_none() {
        command.env(TEMPORARY, IN_MEMORY);
    }
}

/// Whether there is a file system in memory that is large enough and from which programs may run, as tests make some.
fn has_room_in_memory(mounts: &str, meminfo: &str) -> bool {
    let kib =
        |text: &str| text.trim().trim_end_matches("kB").trim_end_matches('k').trim().parse::<u64>().ok();
    let available = meminfo.lines().find_map(|line| kib(line.strip_prefix("MemAvailable:")?));
    let mounted = mounts.lines().rev().find_map(|line| {
        let mut fields = line.split_whitespace().skip(1);
        (fields.next() == Some(IN_MEMORY)).then(|| fields.nth(1)).flatten()
    });
    let is_fit = |option: &str| {
        option != "noexec"
            && option.strip_prefix("size=").is_none_or(|size| kib(size) >= Some(MEMORY_KIB_MIN))
    };
    available >= Some(MEMORY_KIB_MIN) && mounted.is_some_and(|options| options.split(',').all(is_fit))
}

/// How a command ended.
pub struct CommandEnd {
    pub succeeded: bool,
    /// What it and the processes that it waited for had of processors, where the machine tells.
    pub processor_seconds: Option<f64>,
}

/// Runs a command and hands on its standard output, line by line, as it comes.
pub fn run_listening(command: &mut Command, mut hear: impl FnMut(&str)) -> Result<CommandEnd> {
    let mut child =
        command.stdout(Stdio::piped()).spawn().with_context(|| format!("could not run {command:?}"))?;
    let output = child.stdout.take().context("a piped output")?;
    // Not `lines`: what a test prints need not be UTF-8, and must not end the run.
    for line in BufReader::new(output).split(b'\n') {
        hear(&String::from_utf8_lossy(&line.context("output was cut off")?));
    }
    // Between its last word and the wait that takes it off the list.
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).ok();
    let processor_seconds = stat.and_then(|stat| read_processor_seconds(&stat));
    let succeeded = child.wait().context("waiting for the command")?.success();
    Ok(CommandEnd { succeeded, processor_seconds })
}

/// The time of processors in a line of `/proc/PID/stat`: the process's own, and that of its children.
fn read_processor_seconds(stat: &str) -> Option<f64> {
    const TICKS_A_SECOND: f64 = 100.0;
    // The program's name stands in parentheses and may have anything in it.
    let (_, fields) = stat.rsplit_once(')')?;
    let ticks: Vec<f64> =
        fields.split_whitespace().skip(11).take(4).map_while(|field| field.parse().ok()).collect();
    (ticks.len() == 4).then(|| ticks.iter().sum::<f64>() / TICKS_A_SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_in_memory_where_there_is_room() {
        let check = |options: &str, available: u64, expect: bool| {
            let mounts = format!("proc /proc proc rw 0 0\ntmpfs /dev/shm tmpfs {options} 0 0\n");
            let meminfo = format!("MemTotal: 24683520 kB\nMemAvailable:   {available} kB\n");
            assert_eq!(has_room_in_memory(&mounts, &meminfo), expect, "{options}, {available}");
        };
        check("rw,relatime", 9 << 20, true);
        check("rw,relatime,size=24684092k", 9 << 20, true);
        check("rw,relatime,size=65536k", 9 << 20, false);
        check("rw,nosuid,noexec", 9 << 20, false);
        check("rw,relatime", 7 << 20, false);
        assert!(!has_room_in_memory("", "MemAvailable: 18597000 kB"), "none is mounted");
        assert!(!has_room_in_memory("tmpfs /dev/shm tmpfs rw 0 0", ""), "nobody knows how much is there");
    }

    #[test]
    fn processor_time_is_read_behind_any_name() {
        let check = |stat: &str, expect| assert_eq!(read_processor_seconds(stat), expect, "{stat}");
        check("7 (a b) c) Z 1 7 7 0 -1 4 0 0 0 0 100 50 300 25 20 0 1 0", Some(4.75));
        check("7 (a) Z 1 7 7 0 -1 4 0 0 0 0 100 50", None);
        check("", None);
    }
}
