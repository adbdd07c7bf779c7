//! A reload: the catalogue, the couriers, the database of IP addresses, the API keys, the logins of persons and the log
//! filter are read anew, without a restart of the process.
//!
//! What is read is checked before anything is touched; what does not pass is told, and everything stays as it was. Then
//! the rooms end in good order, as for a full disk, and begin again with what is new. The catalogue before is kept: when
//! the house goes back to it (`tidings catalogue back`), every process that had it does so too.

use std::{
    collections::{BTreeMap, hash_map::DefaultHasher},
    fs,
    hash::{Hash as _, Hasher as _},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use adapters::courier_setup::{self, CourierSetup};
use anyhow::Context as _;
use catalogue::Catalogue;
use geoip::AddressDatabase;
use house::{RoomName, RunningHouse};
use settings::config::Config;
use shell::failure::CommandError;
use tokio::{task::spawn_blocking, time::interval};

use crate::{
    addresses::open_database,
    context::ProcessContext,
    metrics::ReloadMetrics,
    start::{ConfigReader, load_catalogue},
};

/// Files of a catalogue's folder that are looked at.
const FILES_MAX: usize = 10_000;
/// How often it is looked.
const LOOK: Duration = Duration::from_secs(2);

/// What is new, checked.
pub struct ProcessChange {
    catalogue: Arc<Catalogue>,
    /// What is made of the configuration, where that was read too.
    config: Option<ConfigChange>,
}

/// A configuration, with couriers and the database of IP addresses that it says.
type ConfigChange = (Box<Config>, CourierSetup, Option<Arc<AddressDatabase>>);

impl ProcessChange {
    /// Uses what is new from here on; returns what that replaced, which can be applied in its turn.
    pub fn apply(self, site: &mut ProcessContext) -> Self {
        let catalogue = std::mem::replace(&mut site.catalogue, self.catalogue);
        let Some((config, CourierSetup { courier, web_key }, database)) = self.config else {
            return Self { catalogue, config: None };
        };
        let left = site.config.find_restart_keys(&config);
        if !left.is_empty() {
            tracing::warn!(settings = left.join(", "), "these settings have changed too, and need a restart");
        }
        let before = (
            Box::new(site.config.clone()),
            CourierSetup {
                courier: std::mem::replace(&mut site.courier, courier),
                web_key: std::mem::replace(&mut site.web_key, web_key),
            },
            site.addresses.replace(database),
        );
        site.api_keys.replace(&config);
        site.person_keys.replace(&config, &site.rooms);
        let Config { catalogue: folder, canary, mail, push, hooks, log, geoip_database, .. } = *config;
        let Config { api_keys, api_key_files, person_tokens, .. } = *config;
        if let Err(error) = runtime::log::set_filter(&log.filter) {
            tracing::error!(error = format!("{error:#}"), "the log filter stays as it was");
        }
        let own = &mut site.config;
        (own.catalogue, own.canary, own.log) = (folder, canary, log);
        (own.mail, own.push, own.hooks, own.geoip_database) = (mail, push, hooks, geoip_database);
        (own.api_keys, own.api_key_files, own.person_tokens) = (api_keys, api_key_files, person_tokens);
        Self { catalogue, config: Some(before) }
    }
}

/// Why there is a reload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ReloadCause {
    /// Somebody asked for all of it.
    Signal,
    /// A file of the catalogue has changed.
    Files,
}

/// Notices what there is to reload.
pub struct ReloadWatch {
    reader: ConfigReader,
    metrics: ReloadMetrics,
    hangup: Option<tokio::signal::unix::Signal>,
    /// The folder as it was read last.
    print: Option<u64>,
    /// The catalogue that was in use before this one.
    previous: Option<Arc<Catalogue>>,
    /// The catalogue of the house that this process does not have, once that was told.
    missing: Option<u64>,
}

impl ReloadWatch {
    pub fn new(reader: ConfigReader, metrics: ReloadMetrics) -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        let hangup = signal(SignalKind::hangup()).inspect_err(|error| {
            tracing::warn!(%error, "SIGHUP cannot be heard; a new catalogue needs a restart");
        });
        Self { reader, metrics, hangup: hangup.ok(), print: None, previous: None, missing: None }
    }

    /// Returns when there is something new that passes its check.
    pub async fn wait_for_change(&mut self, site: &ProcessContext, house: &RunningHouse) -> ProcessChange {
        let mut looks = interval(LOOK);
        loop {
            let change = tokio::select! {
                () = self.wait_for_signal() => self.reload_all(site).await,
                _ = looks.tick() => {
                    site.addresses.look(&site.config, &site.rooms).await;
                    let reader = self.reader.clone();
                    site.api_keys.look(move || reader()).await;
                    self.look(site, house).await
                }
            };
            if let Some(change) = change {
                return change;
            }
        }
    }

    /// Returns when somebody asks for a reload.
    async fn wait_for_signal(&mut self) {
        match &mut self.hangup {
            Some(hangup) => drop(hangup.recv().await),
            None => std::future::pending().await,
        }
    }

    /// What the signal asks for, if it passes.
    async fn reload_all(&mut self, site: &ProcessContext) -> Option<ProcessChange> {
        tracing::info!("a reload was asked for");
        let read = self.read_change(site, ReloadCause::Signal).await;
        self.judge_change(read)
    }

    /// What has changed since the last look: the files of the catalogue, or which catalogue the house uses.
    async fn look(&mut self, site: &ProcessContext, house: &RunningHouse) -> Option<ProcessChange> {
        if let Some(before) = self.find_step_back(&site.catalogue, house) {
            tracing::warn!(
                catalogue = before.name,
                "the house went back to the catalogue before, and so does this process"
            );
            return Some(ProcessChange { catalogue: before, config: None });
        }
        let mut folders: Vec<PathBuf> =
            site.config.catalogue.iter().filter(|_| site.config.catalogue_watch).cloned().collect();
        if folders.is_empty() {
            return None;
        }
        folders.extend(site.config.canary.as_ref().map(|canary| canary.catalogue.clone()));
        let print = spawn_blocking(move || print_folders(folders)).await.ok()?;
        match self.print.replace(print) {
            Some(before) if before != print => {}
            _ => return None,
        }
        let read = self.read_change(site, ReloadCause::Files).await;
        let change = self.judge_change(read)?;
        if change.catalogue.hash == site.catalogue.hash {
            tracing::info!("the files of the catalogue pass their check, and say what was said before");
            return None;
        }
        Some(change)
    }

    /// The rooms have begun with what is new; `before` is what that replaced.
    pub fn confirm(&mut self, site: &ProcessContext, before: ProcessChange) {
        self.metrics.count("taken");
        if before.catalogue.hash != site.catalogue.hash {
            self.previous = Some(before.catalogue);
        }
        if before.config.is_some() {
            self.print = None;
        }
    }

    /// No room begins with what is new.
    pub fn reject(&mut self) {
        self.metrics.count("refused");
    }

    /// The catalogue before, if the house uses that one again.
    fn find_step_back(&mut self, own: &Catalogue, house: &RunningHouse) -> Option<Arc<Catalogue>> {
        let newest = house.editions().newest_edition().filter(|newest| newest.hash != own.hash)?;
        let before = self.previous.clone().filter(|before| before.hash == newest.hash);
        if before.is_none() && self.missing.replace(newest.hash) != Some(newest.hash) {
            tracing::error!(
                %newest,
                "the house uses another catalogue, which this process does not have: start it, or reload it, with those files"
            );
        }
        before
    }

    async fn read_change(
        &self,
        site: &ProcessContext,
        cause: ReloadCause,
    ) -> Result<ProcessChange, CommandError> {
        let reader = self.reader.clone();
        let read = move || {
            let config = reader()?;
            Ok::<_, CommandError>((load_catalogue(&config)?, config))
        };
        let (catalogue, config) = spawn_blocking(read).await.context("read what is new")??;
        if site.rooms.contains(&RoomName::Sender) {
            courier_setup::check_ways(&config, &catalogue).map_err(CommandError::Refused)?;
        }
        if cause == ReloadCause::Files {
            return Ok(ProcessChange { catalogue, config: None });
        }
        let counts = (site.rooms.contains(&RoomName::Sender), &site.metrics);
        let courier = courier_setup::open_courier(&config, &site.data, site.outbox.clone(), counts);
        let courier = courier.map_err(CommandError::Refused)?;
        let database = open_database(&config, &site.rooms).await.map_err(CommandError::Refused)?;
        Ok(ProcessChange { catalogue, config: Some((Box::new(config), courier, database)) })
    }

    fn judge_change(&self, read: Result<ProcessChange, CommandError>) -> Option<ProcessChange> {
        match read {
            Ok(change) => Some(change),
            Err(refused) => {
                self.metrics.count("refused");
                tracing::error!(
                    why = refused.to_string(),
                    "nothing is reloaded: what is new does not pass its check"
                );
                None
            }
        }
    }
}

/// What folders look like from outside: names, sizes and times of all files, wherever links lead.
fn print_folders(mut folders: Vec<PathBuf>) -> u64 {
    let mut files: BTreeMap<PathBuf, (u64, Option<std::time::SystemTime>)> = BTreeMap::new();
    while let Some(folder) = folders.pop() {
        let Ok(items) = fs::read_dir(&folder) else { continue };
        for path in items.filter_map(|item| Some(item.ok()?.path())) {
            if files.len() >= FILES_MAX {
                break;
            }
            match fs::metadata(&path) {
                // A volume of Kubernetes keeps its files once more in folders with such names.
                Ok(found)
                    if found.is_dir()
                        && !path
                            .file_name()
                            .is_some_and(|name| name.as_encoded_bytes().starts_with(b"..")) =>
                {
                    folders.push(path);
                }
                Ok(found) if found.is_file() => {
                    files.insert(path, (found.len(), found.modified().ok()));
                }
                _ => {}
            }
        }
    }
    let mut print = DefaultHasher::new();
    files.hash(&mut print);
    print.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_known_by_what_its_files_look_like() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
        fs::create_dir(dir.path().join("mail")).unwrap();
        write("catalogue.yaml", "a");
        let mut seen = vec![print_folders(vec![dir.path().to_owned()])];
        assert_eq!(seen[0], print_folders(vec![dir.path().to_owned()]));
        write("mail/a.mjml", "a");
        seen.push(print_folders(vec![dir.path().to_owned()]));
        write("mail/a.mjml", "ab");
        seen.push(print_folders(vec![dir.path().to_owned()]));
        fs::remove_file(dir.path().join("mail/a.mjml")).unwrap();
        let (first, others) = seen.split_first().unwrap();
        assert_eq!(print_folders(vec![dir.path().to_owned()]), *first);
        assert!(others.iter().all(|print| print != first) && others[0] != others[1], "{seen:?}");
    }
}
