//! The last step: texts become values, and what must hold between them is checked.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use model::{
    DayLife, Tenant,
    limits::{DAY_LIFE_MAX, DAY_LIFE_MIN},
    partition::PartitionCount,
};
use secrecy::ExposeSecret as _;
use wire::token::{LinkSecret, OLD_SECRETS_MAX, SECRET_BYTES};

use super::{
    CanaryConfig, Config, ConfigError, EngineConfig, LimitsConfig, LogConfig, hooks,
    keys::{self, API_KEY_FILE_VARIABLE, KEYS, NO_FOLDER},
    mail,
    merge::{ConfigMerge, ConfigSource, FlagValue},
    parse::{
        check_log_filter, parse_as, parse_bytes, parse_duration, parse_log_format, parse_path,
        parse_public_url, parse_share, parse_web_url, parse_word,
    },
    production, push, returns, server, tenants, traces,
};

/// The configuration, and where each value of it comes from.
#[derive(Clone, Debug)]
pub struct MergedConfig {
    pub config: Config,
    pub sources: BTreeMap<&'static str, ConfigSource>,
    /// The values as they were written, none of them a secret.
    pub texts: BTreeMap<&'static str, String>,
    /// The secrets that are there.
    pub secrets: BTreeSet<&'static str>,
    /// Files of secrets that everybody on this machine can read.
    pub open: Vec<PathBuf>,
}

/// The engines of one machine, or of many.
const ENGINES: &[(&str, bool)] = &[(keys::EMBEDDED, false), (keys::PRODUCTION, true)];

/// Merges everything there is, and understands it.
pub fn merge_layers(
    file: Option<(&Path, &str)>,
    environment: impl IntoIterator<Item = (String, String)>,
    flags: Vec<FlagValue>,
    read: impl Fn(&Path) -> io::Result<String>,
) -> Result<MergedConfig, ConfigError> {
    ConfigMerge::from_layers(file, environment, flags, &read).resolve()
}

impl ConfigMerge<'_> {
    fn resolve(mut self) -> Result<MergedConfig, ConfigError> {
        let tenant =
            self.take(keys::TENANT, |text| Tenant::new(text).map_err(|e| format!("is not a tenant: {e}")));
        let api_keys = self.resolve_api_keys(tenant.as_ref());
        let access_tokens = self.resolve_access_tokens(&api_keys);
        let person_tokens = self.resolve_person_tokens(tenant.as_ref());
        let server = server::resolve_server(&mut self);
        let data_dir = self.take(keys::DATA_DIR, parse_path);
        let listen = self.take(keys::LISTEN, parse_as("is not an address and port, such as 127.0.0.1:7280"));
        let public_url = self.take(keys::PUBLIC_URL, parse_public_url);
        let catalogue = self.settings.get(keys::CATALOGUE).map(|setting| PathBuf::from(&setting.text));
        let (canary, secret) = (self.resolve_canary(), self.resolve_signing());
        let outbox = self.take(keys::OUTBOX, parse_folder);
        let hand_over = self.take(keys::LIMITS_HAND_OVER, parse_duration);
        let mail = mail::resolve_mail(&mut self, public_url.as_deref(), hand_over);
        let (returns, push) = (returns::resolve_returns(&mut self), push::resolve_push(&mut self));
        let hooks = hooks::resolve_hooks(&mut self);
        let partitions = self.take(keys::PARTITIONS, parse_partitions);
        let day_life = self.take(keys::DAY_LIFE, parse_day_life);
        let disk_reserve = self.take(keys::DISK_RESERVE, parse_bytes);
        let presence_url = self.take(keys::PRESENCE_URL, parse_web_url);
        let geoip_database = self.take(keys::GEOIP_DATABASE, parse_path);
        let demo = self.take(keys::DEMO, parse_as("is neither true nor false"));
        let catalogue_watch = self.take(keys::CATALOGUE_WATCH, parse_as("is neither true nor false"));
        let (log, traces) = (self.resolve_log(), traces::resolve_traces(&mut self));
        let (limits, shares) = (self.resolve_limits(hand_over), tenants::resolve_tenants(&mut self));
        let engine = self.resolve_engine(demo, day_life);
        // Everything was looked at by now, so that every problem is told and not only the first.
        let config = (|| {
            let data_dir = data_dir?;
            Some(Config {
                outbox: outbox.unwrap_or_else(|| Some(data_dir.join("outbox"))),
                data_dir,
                mail,
                returns,
                push,
                hooks,
                engine: engine?,
                listen: listen?,
                public_url,
                tenant: tenant?,
                catalogue,
                canary,
                api_keys,
                api_key_files: self.list_api_key_files(),
                access_tokens,
                person_tokens,
                server,
                secret,
                partitions: partitions?,
                day_life: day_life?,
                disk_reserve: disk_reserve?,
                presence_url,
                geoip_database,
                demo: demo?,
                catalogue_watch: catalogue_watch?,
                log: log?,
                traces,
                limits: limits?,
                shares,
            })
        })();
        let sources = self.sources();
        match config {
            Some(config) if self.refused.is_empty() => {
                let config = check_config(config, &sources)?;
                let texts = self.settings.into_iter().map(|(name, setting)| (name, setting.text)).collect();
                let secrets = self.secrets.into_keys().collect();
                Ok(MergedConfig { config, sources, texts, secrets, open: Vec::new() })
            }
            _ => Err(ConfigError(self.refused)),
        }
    }

    /// What is refused of it is noted, as everywhere.
    fn resolve_canary(&mut self) -> Option<CanaryConfig> {
        let folder = self.settings.get(keys::CANARY_CATALOGUE).map(|setting| PathBuf::from(&setting.text));
        let share = self.take(keys::CANARY_SHARE, parse_share);
        if folder.is_none() {
            self.refuse_without(keys::CANARY_SHARE, keys::CANARY_CATALOGUE);
        }
        folder.zip(share?).map(|(catalogue, share)| CanaryConfig { catalogue, share })
    }

    fn resolve_log(&mut self) -> Option<LogConfig> {
        let filter = self.take(keys::LOG_FILTER, check_log_filter);
        let format = self.take(keys::LOG_FORMAT, parse_log_format);
        Some(LogConfig { filter: filter?, format: format? })
    }

    fn resolve_limits(&mut self, hand_over: Option<Duration>) -> Option<LimitsConfig> {
        let bounces = self.take(keys::LIMITS_BOUNCES, parse_share);
        let complaints = self.take(keys::LIMITS_COMPLAINTS, parse_share);
        let catalogue = self.take(keys::LIMITS_CATALOGUE, parse_duration);
        let lag = self.take(keys::LIMITS_LAG, parse_as("is not a whole number"));
        Some(LimitsConfig {
            lag: lag?,
            bounces: bounces?,
            complaints: complaints?,
            hand_over: hand_over?,
            catalogue: catalogue?,
        })
    }

    fn resolve_engine(&mut self, demo: Option<bool>, day_life: Option<DayLife>) -> Option<EngineConfig> {
        if self.take(keys::ENGINE, parse_word(ENGINES))? {
            return production::resolve_production(self, demo?, day_life?)
                .map(|production| EngineConfig::Production(Box::new(production)));
        }
        for key in KEYS.iter().filter(|key| key.is_of_production()) {
            let Some(source) =
                self.source(key.name).filter(|source| **source != ConfigSource::Default).cloned()
            else {
                continue;
            };
            let name = key.name;
            self.refuse(
                &source,
                format!(
                    "`{name}` is for `engine: production`; the engine is `embedded`, which does not use it"
                ),
            );
        }
        Some(EngineConfig::Embedded)
    }

    fn resolve_signing(&mut self) -> Option<LinkSecret> {
        let (secret, source) = self.secrets.get(keys::SECRET)?;
        let (parsed, source) = (LinkSecret::parse(secret.expose_secret()), source.clone());
        if parsed.is_none() {
            let digits = 2 * SECRET_BYTES;
            self.refuse(
                &source,
                format!(
                    "`secret` must be {digits} hexadecimal digits (`openssl rand -hex {SECRET_BYTES}`); \
                    older secrets go below it, one a line, {OLD_SECRETS_MAX} at most"
                ),
            );
        }
        parsed
    }
}

/// A path, or that there is none.
fn parse_folder(text: &str) -> Result<Option<PathBuf>, String> {
    if text == NO_FOLDER { Ok(None) } else { parse_path(text).map(Some) }
}

fn parse_partitions(text: &str) -> Result<PartitionCount, String> {
    let most = model::limits::PARTITIONS_MAX;
    text.parse().ok().and_then(PartitionCount::new).ok_or_else(|| format!("is not a number from 1 to {most}"))
}

fn parse_day_life(text: &str) -> Result<DayLife, String> {
    let bounds = format!("is not a number of days from {DAY_LIFE_MIN} to {DAY_LIFE_MAX}");
    text.parse().ok().and_then(DayLife::new).ok_or(bounds)
}

/// Checks across values.
fn check_config(
    config: Config,
    sources: &BTreeMap<&'static str, ConfigSource>,
) -> Result<Config, ConfigError> {
    if config.listen.ip().is_loopback() || config.is_locked() {
        return Ok(config);
    }
    let source = sources.get(keys::LISTEN).unwrap_or(&ConfigSource::Default);
    let listen = config.listen;
    Err(ConfigError(vec![format!(
        "{source}: {listen} can be reached from other machines, and there are no API keys and no access \
         tokens: set `api_keys` or {API_KEY_FILE_VARIABLE}, or `access_tokens`, or listen on 127.0.0.1"
    )]))
}
