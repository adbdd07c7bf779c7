//! Where IP addresses are: the database of a process, read at its start and again whenever its file has changed. No room
//! ends for it.

use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::Context as _;
use geoip::{AddressDatabase, AddressPlaces, FileStamp};
use house::RoomName;
use runtime::metrics::Metrics;
use settings::config::Config;
use tokio::task::spawn_blocking;

use crate::metrics::AddressMetrics;

/// What a process has of it.
pub struct AddressSetup {
    /// As the rooms have it.
    pub places: AddressPlaces,
    metrics: AddressMetrics,
    /// The file as it was looked at last, whether or not it was good.
    seen: Mutex<FileStamp>,
}

/// The file of a configuration, where something comes in.
fn database_path(config: &Config, rooms: &BTreeSet<RoomName>) -> Option<PathBuf> {
    config.geoip_database.clone().filter(|_| rooms.contains(&RoomName::Ingest))
}

/// Reads and checks the database of a configuration, if it has one.
pub async fn open_database(
    config: &Config,
    rooms: &BTreeSet<RoomName>,
) -> anyhow::Result<Option<Arc<AddressDatabase>>> {
    let Some(path) = database_path(config, rooms) else { return Ok(None) };
    let opened = spawn_blocking(move || AddressDatabase::open(&path)).await.context("read a database")?;
    Ok(Some(Arc::new(opened?)))
}

impl AddressSetup {
    pub async fn open(
        config: &Config,
        rooms: &BTreeSet<RoomName>,
        metrics: &Metrics,
    ) -> anyhow::Result<Self> {
        let metrics = AddressMetrics::declare(metrics)?;
        let setup = Self { places: AddressPlaces::default(), metrics, seen: Mutex::default() };
        setup.replace(open_database(config, rooms).await?);
        Ok(setup)
    }

    /// Uses a database from here on; returns the one before.
    pub fn replace(&self, database: Option<Arc<AddressDatabase>>) -> Option<Arc<AddressDatabase>> {
        self.note_seen(database.as_ref().map(|database| database.stamp()).unwrap_or_default());
        self.metrics.note_built(database.as_ref().map(|database| database.built()));
        if let Some(database) = &database {
            self.metrics.count("taken");
            let (name, built) = (database.name(), database.built());
            tracing::info!(name, %built, "the database of IP addresses is in use");
        }
        self.places.replace(database)
    }

    /// Takes up a file that has changed, if it passes its check; else what was there before stays.
    pub async fn look(&self, config: &Config, rooms: &BTreeSet<RoomName>) {
        let Some(path) = database_path(config, rooms) else { return };
        let Ok(found) = spawn_blocking(move || FileStamp::of_file(&path)).await else { return };
        if self.note_seen(found) == found {
            return;
        }
        match open_database(config, rooms).await {
            Ok(database) => drop(self.replace(database)),
            Err(error) => {
                self.metrics.count("refused");
                tracing::error!(error = format!("{error:#}"), "the database of IP addresses stays as it was");
            }
        }
    }

    /// Returns what was seen before.
    fn note_seen(&self, found: FileStamp) -> FileStamp {
        std::mem::replace(&mut *self.seen.lock().unwrap_or_else(PoisonError::into_inner), found)
    }
}
