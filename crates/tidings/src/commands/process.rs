//! A process with rooms: everything from its first word to its last, for `up` and `run` alike.

use std::{
    collections::BTreeSet,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, anyhow};
use catalogue::Catalogue;
use courier::outbox::OutboxCourier;
use listener::{
    LimitedListener, ListenerLimits,
    http::{self, ServeTimeouts},
};
use model::limits::DAY_MS;
use runtime::{ShutdownSignal, clock::SteadyStopwatch};
use serde_json::json;
use store::StoreError;
use tokio::{
    task::{JoinHandle, spawn_blocking},
    time::timeout,
};
use topic::TopicError;
use wire::token::LinkSecret;

use super::OutputStyle;
use crate::{
    client::HouseClient,
    config::{Config, EngineConfig},
    courier_setup,
    datadir::{AdminAccess, DataDir, DemoClock, random_hex},
    engines::NotReadyError,
    failure::CommandError,
    feed,
    house::RoomName,
    http::{SwappableRouter, guard::RequestGuard, standby::StandbyReason},
    process_house::{HouseEnd, ProcessContext, ProcessHouse},
    terminal,
};

/// What a catalogue has for the demo, if it has one: what happened before anybody looked, and what happened a day later,
/// when the first mails have gone out.
const DEMO_FILE: &str = "demo.ndjson";
const DEMO_NEXT_FILE: &str = "demo-next.ndjson";
/// Bytes of each of the process's secrets.
const SECRET_BYTES: usize = 24;
/// How long requests in flight may take when the house stops.
const LAST_REQUESTS: Duration = Duration::from_secs(5);
/// How long door and rooms may take together at the end, before the rooms are left where they stand; and how long it
/// may take to let go of engines, which may be away. Whoever runs us is told to allow 20 s.
const LAST_TURNS: Duration = Duration::from_secs(10);
const LETTING_GO: Duration = Duration::from_secs(4);

/// What a process is to be.
pub struct ProcessSpec {
    pub config: Config,
    pub data: DataDir,
    pub secret: LinkSecret,
    pub rooms: BTreeSet<RoomName>,
    /// Whether it makes in its engines what is missing there.
    pub migrates: bool,
}

/// Runs a process until it is asked to stop.
pub fn run(
    process: impl FnOnce(Config) -> Result<ProcessSpec, CommandError>,
    config: Config,
    out: OutputStyle,
) -> Result<(), CommandError> {
    super::start_log(&config)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("start tokio")?;
    let ran = runtime.block_on(async {
        let catalogue = load_catalogue(&config)?;
        run_process(process(config)?, catalogue, out).await
    });
    // A read of the disk that hangs must not keep the process.
    runtime.shutdown_timeout(LAST_REQUESTS);
    ran
}

async fn run_process(
    process: ProcessSpec,
    catalogue: Arc<Catalogue>,
    out: OutputStyle,
) -> Result<(), CommandError> {
    let watch = SteadyStopwatch::start();
    let stop = ShutdownSignal::default();
    tokio::spawn({
        let stop = stop.clone();
        async move { stop.start_on_signals().await }
    });
    let ProcessSpec { mut config, data, secret, rooms, migrates } = process;
    if let EngineConfig::Production(engines) = &mut config.engine {
        engines.kafka.client = client_id(&rooms, engines.kafka.instance.as_deref());
    }
    let listener = LimitedListener::bind(config.listen, ListenerLimits::for_http()).await;
    let listener = listener.map_err(|error| super::explain_bind_error(error, config.listen, "--listen"))?;
    let listens = listener.address().context("the address")?;
    terminal::print_talk(format!("opening {}", data.path().display()));
    let clock = Arc::new(DemoClock::open(data.path())?);
    let outbox = open_outbox(&config).await?;
    let courier_setup::CourierSetup { courier, web_key } =
        courier_setup::open_courier(&config, &data, outbox.clone(), rooms.contains(&RoomName::Sender))
            .map_err(CommandError::Refused)?;
    if clock.clock().ahead() > 0 {
        let hours = clock.clock().ahead() / 3_600_000;
        terminal::print_talk(format!("the clock is {hours} h ahead of this machine's, as it was left"));
    }
    let guard = RequestGuard::new(listens, !config.api_keys.is_empty(), || random_hex(SECRET_BYTES))?;
    let address = format!("http://{}", reachable_address(listens));
    let site = ProcessContext {
        config,
        data,
        catalogue,
        clock,
        outbox,
        courier,
        web_key,
        guard,
        address,
        secret,
        rooms,
    };
    let front = SwappableRouter::new(site.waiting_router(StandbyReason::Away));
    let server = spawn_server(listener, front.service(), stop.clone());
    let opened = tokio::select! {
        opened = site.open(migrates) => opened,
        () = stop.wait() => return close_process(None, server, stop, None).await,
    };
    let (home, router) = opened.map_err(start_failure)?;
    front.swap(router);
    let admin = AdminAccess {
        address: site.address.clone(),
        token: site.guard.token.clone(),
        tenant: site.config.tenant.to_string(),
        pid: std::process::id(),
    };
    // Only with the way in there is anything to be asked for.
    let open_door = if site.rooms.contains(&RoomName::Ingest) {
        Some(AdminFileGuard::new(&site.data, &admin)?)
    } else {
        None
    };
    terminal::print_talk(format!("ready in {} ms", watch.elapsed().as_millis()));
    print_address(&site, &admin, out)?;
    if site.config.demo && home.is_new().await? {
        tokio::select! {
            () = seed_demo(&site, &home, &admin) => {}
            () = stop.wait() => {}
        }
    }
    let (home, why) = run_until_stopped(&site, home, &front, &stop).await;
    drop(open_door);
    close_process(home, server, stop, why).await
}

/// By what the brokers know this process: its rooms, and its name or where it runs.
fn client_id(rooms: &BTreeSet<RoomName>, instance: Option<&str>) -> String {
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
        || matches!(error.downcast_ref(), Some(StoreError::Broken(_)));
    if refused { CommandError::Refused(error) } else { CommandError::Failed(error) }
}

/// Lives until somebody asks us to stop, or until what cannot be waited for; goes on by itself after a disk
/// was full or an engine away. What is left of the house is given back, with what ended it.
async fn run_until_stopped(
    site: &ProcessContext,
    mut home: ProcessHouse,
    front: &SwappableRouter,
    stop: &ShutdownSignal,
) -> (Option<ProcessHouse>, Option<anyhow::Error>) {
    loop {
        let (why, is_full) = match home.wait_for_end(site, stop).await {
            HouseEnd::Asked => return (Some(home), None),
            HouseEnd::Failed(error) => return (Some(home), Some(error)),
            HouseEnd::NoRoom(why) => (why, true),
            HouseEnd::Away(why) => (why, false),
        };
        if is_full {
            tracing::error!(
                why,
                "no room for the engines; the house stops and goes on by itself when there is"
            );
            terminal::print_talk(format!(
                "no room for the engines in {} ({why}): waiting until there is",
                site.data.path().display()
            ));
            front.swap(site.full_disk_router());
        } else {
            tracing::error!(why, "an engine is away; the house stops and goes on by itself when it is back");
            terminal::print_talk("an engine is away: waiting until it is back");
            front.swap(site.waiting_router(StandbyReason::Away));
        }
        let closed = tokio::select! {
            // Whoever asks now does not wait: the rooms pick up where they were.
            () = stop.wait() => return (None, None),
            closed = home.close() => closed,
        };
        if let Err(error) = closed {
            return (None, Some(error.context(why)));
        }
        let reopened = tokio::select! {
            () = stop.wait() => return (None, None),
            reopened = site.reopen_when_room(), if is_full => reopened,
            reopened = site.reopen_when_back(), if !is_full => reopened,
        };
        match reopened {
            Ok((again, router)) => {
                home = again;
                front.swap(router);
                tracing::info!("the house goes on");
                terminal::print_talk(if is_full {
                    "there is room again: the house goes on"
                } else {
                    "the house goes on"
                });
            }
            Err(error) => return (None, Some(error.context("open everything anew"))),
        }
    }
}

/// The catalogue, checked before anything is touched.
pub fn load_catalogue(config: &Config) -> Result<Arc<Catalogue>, CommandError> {
    let Some(dir) = &config.catalogue else {
        let what = "no catalogue: name its folder with --catalogue, TIDINGS_CATALOGUE, or `catalogue:` in tidings.yaml";
        return Err(CommandError::from_refusal(what));
    };
    Catalogue::load(dir).map(Arc::new).map_err(|problems| {
        let n = problems.0.len();
        let what = if n == 1 { "a problem".to_owned() } else { format!("{n} problems") };
        CommandError::from_refusal(format!("{what} in the catalogue\n{problems}"))
    })
}

async fn open_outbox(config: &Config) -> anyhow::Result<Arc<OutboxCourier>> {
    let path = config.outbox.clone();
    let opened = spawn_blocking(move || OutboxCourier::open(&path)).await.context("open the outbox")?;
    opened.map(Arc::new).context("open the outbox")
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

fn spawn_server(listener: LimitedListener, router: axum::Router, stop: ShutdownSignal) -> JoinHandle<()> {
    tokio::spawn(http::serve_http(listener, router, ServeTimeouts::USUAL, stop))
}

/// `admin.json` is there as long as this is.
struct AdminFileGuard<'a>(&'a DataDir);

impl<'a> AdminFileGuard<'a> {
    fn new(data: &'a DataDir, admin: &AdminAccess) -> anyhow::Result<Self> {
        data.publish(admin)?;
        Ok(Self(data))
    }
}

impl Drop for AdminFileGuard<'_> {
    fn drop(&mut self) {
        self.0.unpublish();
    }
}

fn print_address(site: &ProcessContext, admin: &AdminAccess, out: OutputStyle) -> Result<(), CommandError> {
    let ProcessContext { config, rooms, .. } = site;
    let page = format!("{}/", admin.address);
    if out.json {
        let rooms: Vec<&str> = rooms.iter().map(|room| room.name()).collect();
        terminal::print_json(&json!({"address": page, "data_dir": config.data_dir, "rooms": rooms}))?;
    } else {
        terminal::print_data(&page)?;
    }
    if !config.api_keys.is_empty() && rooms.contains(&RoomName::Ingest) {
        let path = config.data_dir.join("admin.json");
        terminal::print_talk(format!(
            "the page asks for the token in {}: add ?token=... to the address, once",
            path.display()
        ));
    }
    terminal::print_talk("Ctrl-C stops it");
    Ok(())
}

/// Tells an empty house the little world of its catalogue; a demo without one is a demo too. Where the catalogue has a
/// second day, a day goes by in between: who opens the page finds mails that were sent, and news that waits.
async fn seed_demo(site: &ProcessContext, home: &ProcessHouse, admin: &AdminAccess) {
    let file = |name| site.config.catalogue.as_ref().map(|dir| dir.join(name)).filter(|path| path.exists());
    let Some(first) = file(DEMO_FILE) else { return };
    let seeded = async {
        let mut accepted = publish_demo_file(first, admin).await?;
        if let Some(next) = file(DEMO_NEXT_FILE) {
            // Where mails leave the house the clock stays: nobody takes a mail that was signed tomorrow.
            if site.config.mail.is_none() {
                home.settle().await?;
                let clock = site.clock.clone();
                spawn_blocking(move || clock.advance(DAY_MS)).await??;
                home.settle().await?;
            }
            accepted += publish_demo_file(next, admin).await?;
        }
        anyhow::Ok(accepted)
    };
    match seeded.await {
        Ok(accepted) => terminal::print_talk(format!("demo data is in: {accepted} items")),
        Err(error) => tracing::warn!(error = format!("{error:#}"), "the demo could not be told"),
    }
}

/// Tells a file's lines; gives how many were accepted.
async fn publish_demo_file(path: PathBuf, admin: &AdminAccess) -> anyhow::Result<u64> {
    let client = HouseClient::new(admin.clone());
    let told = spawn_blocking(move || {
        let file = std::fs::File::open(&path).with_context(|| path.display().to_string())?;
        let items = feed::read_items(std::io::BufReader::new(file))?;
        let refused =
            |why: &str| terminal::print_talk(terminal::clean_text(&format!("{}: {why}", path.display())));
        feed::feed_items(&client, items, refused, |_| {}).map_err(|failure| anyhow!("{failure}"))
    });
    Ok(told.await.context("tell the demo")??.accepted)
}

/// Closes the door first, then the rooms, then the engines. A second signal does not wait.
async fn close_process(
    home: Option<ProcessHouse>,
    mut server: JoinHandle<()>,
    stop: ShutdownSignal,
    why: Option<anyhow::Error>,
) -> Result<(), CommandError> {
    let watch = SteadyStopwatch::start();
    terminal::print_talk("stopping: every room finishes what it has in hand");
    stop.start();
    let again = ShutdownSignal::default();
    let orderly = async {
        if timeout(LAST_REQUESTS, &mut server).await.is_err() {
            server.abort();
        }
        match &home {
            Some(home) => home.stop().await,
            None => Ok(()),
        }
    };
    let stopped = tokio::select! {
        stopped = timeout(LAST_TURNS, orderly) => stopped.ok(),
        () = again.start_on_signals() => None,
    };
    let stopped = stopped.unwrap_or_else(|| {
        Err(anyhow!("not waited for: the rooms pick up where they were when the house starts again"))
    });
    if timeout(LETTING_GO, spawn_blocking(move || drop(home))).await.is_err() {
        tracing::warn!("the engines are left as they are: they take too long to let go of");
    }
    match why {
        Some(error) => Err(CommandError::Failed(error)),
        None => {
            stopped?;
            terminal::print_talk(format!("stopped in {} ms", watch.elapsed().as_millis()));
            Ok(())
        }
    }
}
