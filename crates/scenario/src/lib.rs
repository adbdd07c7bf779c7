//! Scenarios on the real house: each file gets a fresh one, on embedded engines in a folder of its own or on a
//! part of clusters that nobody else uses, with a clock that only the scenario moves.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::Context as _;
use catalogue::Catalogue;
use house::HouseEngines;
use model::DayLife;
use stage::{ScenarioPace, ScenarioReport};
use tempfile::TempDir;

mod apps;
mod bounce_reports;
mod mail_log;
mod mail_server;
mod networks;
mod opened_mail;
mod patient_topics;
mod real_engines;
mod running_scene;
mod scene;

pub use real_engines::RealEngines;

use scene::ScenarioScene;

/// What a scenario is played on.
#[derive(Clone, Copy, Debug)]
pub enum ScenarioGround<'a> {
    /// The embedded engines as they ship.
    Even,
    /// The same engines doing whatever a cluster is allowed to do, drawn from this seed; `roughen` wraps those of each life.
    Rough { seed: u64, roughen: fn(HouseEngines, u64) -> HouseEngines },
    /// Kafka and Cassandra or ScyllaDB.
    Real(&'a RealEngines),
}

/// On rough ground a claim whose answer was lost is waited out, and a try that failed is spaced; a few of
/// both in a row take no longer than this.
const LATE_MS_MAX: i64 = 30 * 60_000;
/// Clusters of a machine that has much else to do need their time.
const LINE_TIME_MAX: Duration = Duration::from_secs(300);

/// Plays one scenario. An error is a file that makes no sense, or a house that cannot be built.
pub async fn run_file(
    path: &Path,
    life: DayLife,
    ground: ScenarioGround<'_>,
) -> anyhow::Result<ScenarioReport> {
    let scenario = stage::load_scenario(path)??;
    let dir = scratch_folder().context("a folder for the house")?;
    let mut scene = ScenarioScene::open(dir.path(), (path, life), &scenario, ground).await?;
    let pace = match ground {
        ScenarioGround::Even => ScenarioPace::EXACT,
        // To the millisecond too: they take longer, but by no clock of the house.
        ScenarioGround::Real(_) => ScenarioPace { line_time_max: LINE_TIME_MAX, ..ScenarioPace::EXACT },
        ScenarioGround::Rough { .. } => ScenarioPace { late_ms_max: LATE_MS_MAX, ..ScenarioPace::EXACT },
    };
    let report = stage::run_at(pace, &scenario, &mut scene).await;
    scene.close().await;
    Ok(report)
}

/// The catalogue that a scenario names.
fn load_catalogue(scenario: &Path, life: DayLife, name: &str) -> anyhow::Result<Catalogue> {
    let folder = stage::find_catalogue(scenario, name);
    let folder = folder.with_context(|| format!("{}: there is no catalogue `{name}`", scenario.display()))?;
    Ok(Catalogue::load(&folder, life)?)
}

/// A folder in memory, where there is one: a scenario's process does not die, so nothing of it needs to be on
/// a disk, and a disk would have to confirm every turn.
fn scratch_folder() -> std::io::Result<TempDir> {
    let folder = |base: &Path| tempfile::Builder::new().prefix("tidings-scenario-").tempdir_in(base);
    folder(Path::new("/dev/shm")).or_else(|_| folder(&std::env::temp_dir()))
}

/// Plays every scenario of a folder, in the order of their names.
pub async fn run_dir(
    dir: &Path,
    ground: ScenarioGround<'_>,
) -> anyhow::Result<Vec<(PathBuf, anyhow::Result<ScenarioReport>)>> {
    let mut reports = Vec::new();
    for path in list_scenarios(dir)? {
        let report = run_file(&path, DayLife::default(), ground).await;
        reports.push((path, report));
    }
    Ok(reports)
}

/// The scenarios of a folder.
pub fn list_scenarios(dir: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let listed = fs::read_dir(dir).with_context(|| format!("could not list {}", dir.display()))?;
    let mut files = Vec::new();
    for item in listed {
        let path = item.with_context(|| format!("could not list {}", dir.display()))?.path();
        if path.extension() == Some(OsStr::new("txt")) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
