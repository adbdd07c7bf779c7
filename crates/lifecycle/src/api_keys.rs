//! The API keys of a process: replaced while it runs, when a reload reads others, or when a file of keys has changed. No room
//! ends for it.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use anyhow::Context as _;
use console::list_api_keys;
use geoip::FileStamp;
use settings::config::Config;
use shell::failure::CommandError;
use tokio::task::spawn_blocking;
use web::api_key::ApiKeyList;

/// What a process has of them.
pub struct ApiKeySetup {
    /// As the paths have it.
    pub keys: ApiKeyList,
    /// Whether the process began with a key or a token: one that others may reach is open to nobody without.
    began_locked: bool,
    /// The files as they were looked at last, whether or not they were good.
    seen: Mutex<BTreeMap<PathBuf, FileStamp>>,
}

impl ApiKeySetup {
    pub fn new(config: &Config) -> Self {
        let (keys, seen) = Default::default();
        let setup = Self { keys, began_locked: config.is_locked(), seen };
        setup.replace(config);
        setup
    }

    /// Uses the keys of a configuration from here on.
    pub fn replace(&self, config: &Config) {
        let is_locked = self.began_locked || config.is_locked();
        self.keys.replace(list_api_keys(&config.api_keys, is_locked));
        self.note_seen(stamp_files(&config.api_key_files));
    }

    /// Takes up files that have changed, if the configuration with them passes its check; else all keys stay.
    pub async fn look(&self, read: impl Fn() -> Result<Config, CommandError> + Send + 'static) {
        let files: BTreeSet<PathBuf> = self.lock_seen().keys().cloned().collect();
        if files.is_empty() {
            return;
        }
        let Ok(found) = spawn_blocking(move || stamp_files(&files)).await else { return };
        if self.note_seen(found.clone()) == found {
            return;
        }
        match spawn_blocking(read).await.context("read the configuration") {
            Ok(Ok(config)) => {
                self.replace(&config);
                tracing::info!(
                    keys = config.api_keys.len(),
                    "a file of API keys has changed, and its keys are in use"
                );
            }
            Ok(Err(refused)) => {
                tracing::error!(why = refused.to_string(), "the API keys stay as they were");
            }
            Err(error) => tracing::error!(error = format!("{error:#}"), "the API keys stay as they were"),
        }
    }

    /// Returns what was seen before.
    fn note_seen(&self, found: BTreeMap<PathBuf, FileStamp>) -> BTreeMap<PathBuf, FileStamp> {
        std::mem::replace(&mut *self.lock_seen(), found)
    }

    fn lock_seen(&self) -> std::sync::MutexGuard<'_, BTreeMap<PathBuf, FileStamp>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn stamp_files(files: &BTreeSet<PathBuf>) -> BTreeMap<PathBuf, FileStamp> {
    files.iter().map(|path| (path.clone(), FileStamp::of_file(path))).collect()
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use house_facts::KeyScope;
    use settings::config::load_config;
    use web::api_key::TenantAccess;

    use super::*;

    /// A configuration, and keys in a file beside it.
    fn reader_of(path: &Path) -> impl Fn() -> Result<Config, CommandError> + Clone + Send + 'static {
        let path = path.to_owned();
        move || {
            let read = load_config(Some(&path), [], vec![]).map_err(CommandError::from_refusal)?;
            Ok(read.config)
        }
    }

    #[tokio::test]
    async fn a_file_of_keys_counts_when_it_has_changed() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            fs::write(dir.path().join("next"), text).unwrap();
            fs::rename(dir.path().join("next"), dir.path().join(name)).unwrap();
        };
        let settings = "api_keys:\n- {tenant: shop, key_file: shop.key}\n";
        write("tidings.yaml", settings);
        write("shop.key", "first-0123456789abcdef\n");
        let reader = reader_of(&dir.path().join("tidings.yaml"));
        let setup = ApiKeySetup::new(&reader().unwrap());
        let access = TenantAccess { keys: setup.keys.clone(), tenant: "main".parse().unwrap() };
        let check = async |expected: [Option<&str>; 2]| {
            setup.look(reader.clone()).await;
            for (key, whose) in
                ["first-0123456789abcdef", "second-0123456789abcdef"].into_iter().zip(expected)
            {
                let headers = [("authorization".parse().unwrap(), format!("Bearer {key}").parse().unwrap())];
                let found = access.authenticate(&headers.into_iter().collect(), KeyScope::Read);
                assert_eq!(found.ok().as_ref().map(|tenant| tenant.as_str()), whose, "{key}");
            }
        };
        check([Some("shop"), None]).await;
        write("shop.key", "second-0123456789abcdef\nfirst-0123456789abcdef\n");
        check([Some("shop"), Some("shop")]).await;
        // What does not pass its check leaves all keys as they are.
        write("shop.key", "short\n");
        check([Some("shop"), Some("shop")]).await;
        fs::remove_file(dir.path().join("shop.key")).unwrap();
        check([Some("shop"), Some("shop")]).await;
        write("shop.key", "second-0123456789abcdef\n\n");
        check([None, Some("shop")]).await;
        // Whoever began with keys stays closed without.
        write("tidings.yaml", "tenant: main\n");
        setup.replace(&reader().unwrap());
        check([None, None]).await;
    }
}
