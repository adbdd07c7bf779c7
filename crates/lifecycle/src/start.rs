//! What a process needs before there is a house, and says when there is one.

use std::{
    collections::BTreeSet,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::Path,
    sync::Arc,
};

use adapters::engine_setup::{NotReadyError, format_gate::WayBack};
use anyhow::Context as _;
use catalogue::Catalogue;
use courier::outbox::OutboxCourier;
use house::RoomName;
use listener::{
    LimitedListener,
    http::{self, ServeTimeouts},
};
use model::DayLife;
use runtime::ShutdownSignal;
use serde_json::json;
use settings::config::{CanaryConfig, Config};
use share_ratio::ShareRatio;
use shell::{
    datadir::{AdminAccess, DataDir},
    failure::CommandError,
    terminal::{self, OutputStyle},
};
use store::StoreError;
use tokio::task::{JoinHandle, spawn_blocking};
use topic::TopicError;
use wire::token::LinkSecret;

use crate::context::ProcessContext;

/// What a process is to be.
pub struct ProcessSpec {
    pub config: Config,
    pub data: DataDir,
    pub secret: LinkSecret,
    pub rooms: BTreeSet<RoomName>,
    /// Whether it makes in its engines what is missing there.
    pub migrates: bool,
    /// Whether it may raise the format of the house to one that the release before cannot read.
    pub way_back: WayBack,
}

/// Makes the process that a command asks for, once the log is there to speak to.
pub type SpecMaker<'a> = Box<dyn FnOnce(Config) -> Result<ProcessSpec, CommandError> + 'a>;

/// Runs a process until it is asked to stop.
pub type ProcessRunner = fn(SpecMaker<'_>, ProcessSettings, OutputStyle) -> Result<(), CommandError>;

/// Reads the configuration once more, as at the start.
pub type ConfigReader = Arc<dyn Fn() -> Result<Config, CommandError> + Send + Sync>;

/// The configuration of a process, and how it is read once more.
pub struct ProcessSettings {
    pub config: Config,
    pub reader: ConfigReader,
}

/// By what the brokers know this process: its rooms, and its name or where it runs.
pub fn client_id(rooms: &BTreeSet<RoomName>, instance: Option<&str>) -> String {
    let rooms: Vec<&str> = rooms.iter().map(|room| room.name()).collect();
    let rooms = if rooms.len() == RoomName::ALL.len() { "house".to_owned() } else { rooms.join("_") };
    let fits = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
    let host = || {
        let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        name.trim().chars().map(fits).collect::<String>()
    };
    let process = instance.map_or_else(|| format!("{}-{}", host(), std::process::id()), str::to_owned);
    format!("tidings-{rooms}-{process}")
}

/// What kept a process from starting: something that a person must set right, or something that happened.
pub fn start_failure(error: anyhow::Error) -> CommandError {
    let refused = error.is::<NotReadyError>()
        || matches!(error.downcast_ref(), Some(TopicError::Refused(_)))
        // Nothing was lost: a store elsewhere says so of a keyspace or a password.
        || matches!(error.downcast_ref(), Some(StoreError::Refused(_) | StoreError::Broken(_)));
    if refused { CommandError::Refused(error) } else { CommandError::Failed(error) }
}

/// The catalogue, checked before anything is touched.
pub fn load_catalogue(config: &Config) -> Result<Arc<Catalogue>, CommandError> {
    let Some(dir) = &config.catalogue else {
        let what = "no catalogue: name its folder with --catalogue, TIDINGS_CATALOGUE, or `catalogue:` in tidings.yaml";
        return Err(CommandError::from_refusal(what));
    };
    let catalogue = read_catalogue(dir, config.day_life, "the catalogue")?;
    let both = match &config.canary {
        None => catalogue,
        Some(CanaryConfig { catalogue: dir, share }) => add_canary(catalogue, dir, *share)?,
    };
    Ok(Arc::new(both))
}

/// The same with the canary of this folder, if the two can be used together.
pub fn add_canary(catalogue: Catalogue, dir: &Path, share: ShareRatio) -> Result<Catalogue, CommandError> {
    let canary = read_catalogue(dir, catalogue.day_life, "the canary")?;
    catalogue.with_canary(canary, share).map_err(|differences| {
        let what = "the canary does not fit the other catalogue";
        CommandError::from_refusal(format!("{what}\n{}", differences.join("\n")))
    })
}

fn read_catalogue(dir: &Path, life: DayLife, what: &str) -> Result<Catalogue, CommandError> {
    Catalogue::load(dir, life).map_err(|problems| {
        let n = problems.0.len();
        let many = if n == 1 { "a problem".to_owned() } else { format!("{n} problems") };
        CommandError::from_refusal(format!("{many} in {what}\n{problems}"))
    })
}

/// The outbox, if there is to be one.
pub async fn open_outbox(config: &Config) -> anyhow::Result<Option<Arc<OutboxCourier>>> {
    let Some(path) = config.outbox.clone() else { return Ok(None) };
    let opened = spawn_blocking(move || OutboxCourier::open(&path)).await.context("open the outbox")?;
    opened.map(|opened| Some(Arc::new(opened))).context("open the outbox")
}

/// The address by which this machine reaches us.
pub fn reachable_address(listens: SocketAddr) -> SocketAddr {
    let ip = match listens.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listens.port())
}

pub fn spawn_server(listener: LimitedListener, router: axum::Router, stop: ShutdownSignal) -> JoinHandle<()> {
    tokio::spawn(http::serve_http(listener, router, ServeTimeouts::USUAL, stop))
}

/// `admin.json` is there as long as this is.
pub struct AdminFileGuard(Arc<DataDir>);

impl AdminFileGuard {
    pub fn new(data: &Arc<DataDir>, admin: &AdminAccess) -> anyhow::Result<Self> {
        data.publish(admin)?;
        Ok(Self(data.clone()))
    }
}

impl Drop for AdminFileGuard {
    fn drop(&mut self) {
        self.0.unpublish();
    }
}

pub fn print_address(
    site: &ProcessContext,
    admin: &AdminAccess,
    out: OutputStyle,
) -> Result<(), CommandError> {
    let ProcessContext { config, rooms, .. } = site;
    let page = format!("{}/", admin.address);
    if out.json {
        let rooms: Vec<&str> = rooms.iter().map(|room| room.name()).collect();
        terminal::print_json(&json!({"address": page, "data_dir": config.data_dir, "rooms": rooms}))?;
    } else {
        terminal::print_data(&page)?;
    }
    if config.is_locked() && rooms.contains(&RoomName::Ingest) {
        let path = config.data_dir.join("admin.json");
        terminal::print_talk(format!(
            "the page needs an access token, or the token in {}: add ?token=... to the address once",
            path.display()
        ));
    }
    terminal::print_talk("Ctrl-C stops it");
    Ok(())
}
