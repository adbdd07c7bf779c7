//! The configuration: one YAML file, the environment, flags, merged once into a plain struct. Nothing else
//! in the program reads the environment, and nothing has a default of its own.
//!
//! [`keys`] lists what can be set, [`mod@file`] makes texts of the YAML, [`merge`] puts everything together, `settle`
//! and `production` understand it, [`listing`] prints what came of it and from where, [`mod@reference`] writes the page of all keys.

use std::{
    cell::RefCell,
    collections::BTreeSet,
    net::SocketAddr,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use house_facts::tenant_shares::TenantShares;
use house_facts::{AccessRole, KeyScope};
use model::{DayLife, Tenant, partition::PartitionCount};
use runtime::log::LogFormat;
use secrecy::{ExposeSecret as _, SecretString};
use share_ratio::ShareRatio;
use wire::token::LinkSecret;

mod access;
pub mod file;
mod hooks;
pub mod key_hash;
pub mod keys;
pub mod listing;
mod mail;
pub mod merge;
mod parse;
mod person_tokens;
mod production;
mod push;
pub mod reference;
mod returns;
mod secret_list;
mod server;
mod source;
mod tenants;
#[cfg(test)]
mod tests;
mod traces;
mod values;

pub use hooks::HooksConfig;
pub use key_hash::KeyHash;
pub use mail::MailConfig;
pub use merge::FlagValue;
pub use production::{ProductionConfig, RegistryConfig};
pub use push::PushConfig;
pub use returns::ReturnsConfig;
pub use server::ServerConfig;
pub use traces::TracesConfig;
pub use values::MergedConfig;

/// A catalogue that a share of the persons have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CanaryConfig {
    pub catalogue: PathBuf,
    pub share: ShareRatio,
}

/// Everything that can be set, settled.
#[derive(Clone, Debug)]
pub struct Config {
    pub data_dir: PathBuf,
    pub engine: EngineConfig,
    pub listen: SocketAddr,
    /// By which readers of mails reach the house; without a slash at its end.
    pub public_url: Option<String>,
    pub tenant: Tenant,
    /// The folder of the catalogue; `up` needs one, the other commands do not.
    pub catalogue: Option<PathBuf>,
    /// Another one, for a share of the persons.
    pub canary: Option<CanaryConfig>,
    /// Whether a change of its files is taken up by itself.
    pub catalogue_watch: bool,
    pub api_keys: Vec<ApiKeyConfig>,
    /// The files that they were read from.
    pub api_key_files: BTreeSet<PathBuf>,
    /// What opens the page, the admin paths and the metrics, beside the token that a process makes at its start.
    pub access_tokens: Vec<AccessTokenConfig>,
    /// The logins whose tokens say who a person is.
    pub person_tokens: Vec<PersonTokenConfig>,
    /// The house that commands ask; the one on the data directory without it.
    pub server: Option<ServerConfig>,
    /// What links are signed with; the one in the data directory unless it is given.
    pub secret: Option<LinkSecret>,
    /// The folder of messages that have no other way; without it there is none.
    pub outbox: Option<PathBuf>,
    /// How mails leave the house; without it they stay in the outbox.
    pub mail: Option<MailConfig>,
    /// Where mails come back to; to their senders without it.
    pub returns: Option<ReturnsConfig>,
    /// And how pushes do.
    pub push: PushConfig,
    /// And which hooks are enabled.
    pub hooks: HooksConfig,
    pub partitions: PartitionCount,
    /// For how long each day and its entries are kept.
    pub day_life: DayLife,
    /// Bytes of disk that are never used; intake stops here, the rooms at half of it.
    pub disk_reserve: u64,
    /// Whether the clock may be moved forward, and an empty data directory is given a little world.
    pub demo: bool,
    /// The product's service that knows whose app is connected.
    pub presence_url: Option<String>,
    /// The file that says where IP addresses are.
    pub geoip_database: Option<PathBuf>,
    pub log: LogConfig,
    /// Where traces go; without it nothing is traced.
    pub traces: Option<TracesConfig>,
    pub limits: LimitsConfig,
    /// How tenants share the house.
    pub shares: TenantShares,
}

impl Config {
    /// Whose changes are taken: the configured tenant's, and those of whoever has a key.
    pub fn tenants(&self) -> BTreeSet<Tenant> {
        self.api_keys.iter().map(|key| key.tenant.clone()).chain([self.tenant.clone()]).collect()
    }
}

impl Config {
    /// What is set otherwise in another one and is only read at the start of a process.
    pub fn find_restart_keys(&self, new: &Self) -> Vec<&'static str> {
        let both = self.restart_settings().into_iter().zip(new.restart_settings());
        both.filter(|((_, old), (_, new))| old != new).map(|((key, _), _)| key).collect()
    }

    /// Each of these settings as a text, secrets too.
    fn restart_settings(&self) -> [(&'static str, String); 17] {
        let Self {
            data_dir, engine, listen, public_url, tenant, returns, outbox, partitions, day_life, ..
        } = self;
        let Self { catalogue_watch, disk_reserve, demo, presence_url, traces, limits, shares, .. } = self;
        let Self { access_tokens, .. } = self;
        let token = |of: &AccessTokenConfig| format!("{} {}", of.role, of.token.expose_secret());
        [
            ("data_dir", format!("{data_dir:?}")),
            ("engine, kafka, cql or registry", format!("{engine:?}")),
            ("listen", format!("{listen:?}")),
            ("public_url", format!("{public_url:?}")),
            ("tenant", format!("{tenant:?}")),
            ("catalogue_watch", format!("{catalogue_watch:?}")),
            ("mail.returns", format!("{returns:?}")),
            ("outbox", format!("{outbox:?}")),
            ("partitions", format!("{partitions:?}")),
            ("day_life", format!("{day_life:?}")),
            ("disk_reserve", format!("{disk_reserve:?}")),
            ("demo", format!("{demo:?}")),
            ("presence", format!("{presence_url:?}")),
            ("traces", format!("{traces:?}")),
            ("limits or tenants", format!("{limits:?} {shares:?}")),
            // The page, and under which names it answers.
            ("the first or the last of `api_keys` and `access_tokens`", self.is_locked().to_string()),
            ("access_tokens", access_tokens.iter().map(token).collect::<Vec<_>>().join("\n")),
        ]
    }
}

/// What the house stands on.
#[derive(Clone, Debug)]
pub enum EngineConfig {
    /// Files in the data directory, for one process.
    Embedded,
    /// Kafka, and ScyllaDB or Cassandra, for many.
    Production(Box<ProductionConfig>),
}

/// Who may speak for a tenant, and what for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ApiKeyConfig {
    pub tenant: Tenant,
    pub hash: KeyHash,
    pub scopes: BTreeSet<KeyScope>,
}

/// Who says which of a tenant's persons somebody is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PersonTokenConfig {
    pub tenant: Tenant,
    /// As its tokens say it in `iss` and in `aud`; no two logins have both alike.
    pub issuer: String,
    pub audience: String,
    pub keys: PersonKeySource,
    /// The sites whose scripts may show its tokens.
    pub origins: Vec<String>,
}

/// Where the public keys of a login are, a JWK set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PersonKeySource {
    File(PathBuf),
    Url(String),
}

/// Who may look or do something as an operator.
#[derive(Clone, Debug)]
pub struct AccessTokenConfig {
    pub role: AccessRole,
    pub token: SecretString,
}

#[derive(Clone, Debug)]
pub struct LogConfig {
    /// In the syntax of tracing's `EnvFilter`.
    pub filter: String,
    pub format: LogFormat,
}

#[derive(Clone, Copy, Debug)]
pub struct LimitsConfig {
    /// Records that any stage may be behind before intake answers 429.
    pub lag: u64,
    /// Shares of a plan's mails that may come back before the plan is paused.
    pub bounces: Option<ShareRatio>,
    pub complaints: Option<ShareRatio>,
    /// How long one message may be in the hands of whoever sends it, before nobody knows what became of it.
    pub hand_over: Duration,
    /// How long what a newer catalogue wrote is waited for, before it is told by the one that is here.
    pub catalogue: Duration,
}

impl Config {
    /// Whether page, metrics and `/v1` are for those alone who show a key or a token.
    pub fn is_locked(&self) -> bool {
        !self.api_keys.is_empty() || !self.access_tokens.is_empty()
    }
}

/// Why a configuration is refused: every reason, each a line with its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("\n"))]
pub struct ConfigError(pub Vec<String>);

/// The file that is read when none is named.
pub const FILE: &str = "tidings.yaml";

/// Reads the file and the secrets that live in files, and merges them with the rest.
pub fn load_config(
    file: Option<&Path>,
    environment: impl IntoIterator<Item = (String, String)>,
    flags: Vec<FlagValue>,
) -> Result<MergedConfig, ConfigError> {
    let path = file.unwrap_or(Path::new(FILE));
    let text = match std::fs::read_to_string(path) {
        Ok(text) => Some(text),
        // Only a file that nobody asked for may be missing.
        Err(error) if file.is_none() && error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(ConfigError(vec![format!("{}: {error}", path.display())])),
    };
    let source = text.as_deref().map(|text| (path, text));
    let open = RefCell::new(Vec::new());
    let merged = values::merge_layers(source, environment, flags, |path| {
        let text = std::fs::read_to_string(path)?;
        if std::fs::metadata(path)?.permissions().mode() & 0o007 != 0 {
            open.borrow_mut().push(path.to_owned());
        }
        Ok(text)
    });
    merged.map(|merged| MergedConfig { open: open.into_inner(), ..merged })
}
