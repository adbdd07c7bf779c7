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
use courier::outbox::Outbox;
use listener::{
    Limits, Listener,
    http::{self, Times},
};
use model::limits::DAY_MS;
use runtime::{Shutdown, clock::Stopwatch};
use serde_json::json;
use store::StoreError;
use tokio::{
    task::{JoinHandle, spawn_blocking},
    time::timeout,
};
use topic::TopicError;
use wire::token::Secret;

use super::Out;
use crate::{
    client::Client,
    config::{Config, Engine},
    datadir::{Admin, DataDir, DemoClock, random_hex},
    engines::NotReady,
    failure::Failure,
    feed,
    home::{End, Home, Site},
    house::Room,
    http::{Front, guard::Guard, waiting::Why},
    post, say,
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
pub struct Process {
    pub config: Config,
    pub data: DataDir,
    pub secret: Secret,
    pub rooms: BTreeSet<Room>,
    /// Whether it makes in its engines what is missing there.
    pub migrates: bool,
}

/// Runs a process until it is asked to stop.
pub fn run(
    process: impl FnOnce(Config) -> Result<Process, Failure>,
    config: Config,
    out: Out,
) -> Result<(), Failure> {
    super::start_log(&config)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("start tokio")?;
    let ran = runtime.block_on(async {
        let catalogue = catalogue(&config)?;
        begin(process(config)?, catalogue, out).await
    });
    // A read of the disk that hangs must not keep the process.
    runtime.shutdown_timeout(LAST_REQUESTS);
    ran
}

async fn begin(process: Process, catalogue: Arc<Catalogue>, out: Out) -> Result<(), Failure> {
    let watch = Stopwatch::start();
    let stop = Shutdown::default();
    tokio::spawn({
        let stop = stop.clone();
        async move { stop.on_signals().await }
    });
    let Process { mut config, data, secret, rooms, migrates } = process;
    if let Engine::Production(engines) = &mut config.engine {
        engines.kafka.client = client(&rooms, engines.kafka.instance.as_deref());
    }
    let listener = Listener::bind(config.listen, Limits::http()).await;
    let listener = listener.map_err(|error| super::taken(error, config.listen, "--listen"))?;
    let listens = listener.address().context("the address")?;
    say::talk(format!("opening {}", data.path().display()));
    let clock = Arc::new(DemoClock::open(data.path())?);
    let outbox = outbox(&config).await?;
    let post::Opened { courier, web_key } =
        post::open(&config, &data, outbox.clone(), rooms.contains(&Room::Sender))
            .map_err(Failure::Refused)?;
    if clock.clock().ahead() > 0 {
        let hours = clock.clock().ahead() / 3_600_000;
        say::talk(format!("the clock is {hours} h ahead of this machine's, as it was left"));
    }
    let guard = Guard::new(listens, !config.api_keys.is_empty(), || random_hex(SECRET_BYTES))?;
    let address = format!("http://{}", reachable(listens));
    let site =
        Site { config, data, catalogue, clock, outbox, courier, web_key, guard, address, secret, rooms };
    let front = Front::new(site.waiting(Why::Away));
    let server = serve(listener, front.service(), stop.clone());
    let opened = tokio::select! {
        opened = site.open(migrates) => opened,
        () = stop.wait() => return close(None, server, stop, None).await,
    };
    let (home, router) = opened.map_err(at_the_start)?;
    front.show(router);
    let admin = Admin {
        address: site.address.clone(),
        token: site.guard.token.clone(),
        tenant: site.config.tenant.to_string(),
        pid: std::process::id(),
    };
    // Only with the way in there is anything to be asked for.
    let open_door =
        if site.rooms.contains(&Room::Ingest) { Some(OpenDoor::new(&site.data, &admin)?) } else { None };
    say::talk(format!("ready in {} ms", watch.elapsed().as_millis()));
    address_of(&site, &admin, out)?;
    if site.config.demo && home.is_new().await? {
        tokio::select! {
            () = seed(&site, &home, &admin) => {}
            () = stop.wait() => {}
        }
    }
    let (home, why) = live(&site, home, &front, &stop).await;
    drop(open_door);
    close(home, server, stop, why).await
}

/// By what the brokers know this process: its rooms, and its name or where it runs.
fn client(rooms: &BTreeSet<Room>, instance: Option<&str>) -> String {
    let rooms: Vec<&str> = rooms.iter().map(|room| room.name()).collect();
    let rooms = if rooms.len() == Room::ALL.len() { "house".to_owned() } else { rooms.join("_") };
    let fits = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
    let host = || {
        let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        name.trim().chars().map(fits).collect::<String>()
    };
    let process = instance.map_or_else(|| format!("{}-{}", host(), std::process::id()), str::to_owned);
    format!("tidings-{rooms}-{process}")
}

/// What kept a process from starting: something that a person must set right, or something that happened.
pub fn at_the_start(error: anyhow::Error) -> Failure {
    let refused = error.is::<NotReady>()
        || matches!(error.downcast_ref(), Some(TopicError::Refused(_)))
        // Nothing was lost: a store elsewhere says so of a keyspace or a password.
        || matches!(error.downcast_ref(), Some(StoreError::Broken(_)));
    if refused { Failure::Refused(error) } else { Failure::Failed(error) }
}

/// Lives until somebody asks us to stop, or until what cannot be waited for; goes on by itself after a disk
/// was full or an engine away. What is left of the house is given back, with what ended it.
async fn live(
    site: &Site,
    mut home: Home,
    front: &Front,
    stop: &Shutdown,
) -> (Option<Home>, Option<anyhow::Error>) {
    loop {
        let (why, is_full) = match home.end(site, stop).await {
            End::Asked => return (Some(home), None),
            End::Failed(error) => return (Some(home), Some(error)),
            End::NoRoom(why) => (why, true),
            End::Away(why) => (why, false),
        };
        if is_full {
            tracing::error!(
                why,
                "no room for the engines; the house stops and goes on by itself when there is"
            );
            say::talk(format!(
                "no room for the engines in {} ({why}): waiting until there is",
                site.data.path().display()
            ));
            front.show(site.full());
        } else {
            tracing::error!(why, "an engine is away; the house stops and goes on by itself when it is back");
            say::talk("an engine is away: waiting until it is back");
            front.show(site.waiting(Why::Away));
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
            reopened = site.reopen(), if is_full => reopened,
            reopened = site.come_back(), if !is_full => reopened,
        };
        match reopened {
            Ok((again, router)) => {
                home = again;
                front.show(router);
                tracing::info!("the house goes on");
                say::talk(if is_full {
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
pub fn catalogue(config: &Config) -> Result<Arc<Catalogue>, Failure> {
    let Some(dir) = &config.catalogue else {
        let what = "no catalogue: name its folder with --catalogue, TIDINGS_CATALOGUE, or `catalogue:` in tidings.yaml";
        return Err(Failure::refused(what));
    };
    Catalogue::load(dir).map(Arc::new).map_err(|problems| {
        let n = problems.0.len();
        let what = if n == 1 { "a problem".to_owned() } else { format!("{n} problems") };
        Failure::refused(format!("{what} in the catalogue\n{problems}"))
    })
}

async fn outbox(config: &Config) -> anyhow::Result<Arc<Outbox>> {
    let path = config.outbox.clone();
    let opened = spawn_blocking(move || Outbox::open(&path)).await.context("open the outbox")?;
    opened.map(Arc::new).context("open the outbox")
}

/// The address by which this machine reaches us.
pub fn reachable(listens: SocketAddr) -> SocketAddr {
    let ip = match listens.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listens.port())
}

fn serve(listener: Listener, router: axum::Router, stop: Shutdown) -> JoinHandle<()> {
    tokio::spawn(http::serve(listener, router, Times::USUAL, stop))
}

/// `admin.json` is there as long as this is.
struct OpenDoor<'a>(&'a DataDir);

impl<'a> OpenDoor<'a> {
    fn new(data: &'a DataDir, admin: &Admin) -> anyhow::Result<Self> {
        data.publish(admin)?;
        Ok(Self(data))
    }
}

impl Drop for OpenDoor<'_> {
    fn drop(&mut self) {
        self.0.unpublish();
    }
}

fn address_of(site: &Site, admin: &Admin, out: Out) -> Result<(), Failure> {
    let Site { config, rooms, .. } = site;
    let page = format!("{}/", admin.address);
    if out.json {
        let rooms: Vec<&str> = rooms.iter().map(|room| room.name()).collect();
        say::json(&json!({"address": page, "data_dir": config.data_dir, "rooms": rooms}))?;
    } else {
        say::data(&page)?;
    }
    if !config.api_keys.is_empty() && rooms.contains(&Room::Ingest) {
        let path = config.data_dir.join("admin.json");
        say::talk(format!(
            "the page asks for the token in {}: add ?token=... to the address, once",
            path.display()
        ));
    }
    say::talk("Ctrl-C stops it");
    Ok(())
}

/// Tells an empty house the little world of its catalogue; a demo without one is a demo too. Where the catalogue has a
/// second day, a day goes by in between: who opens the page finds mails that were sent, and news that waits.
async fn seed(site: &Site, home: &Home, admin: &Admin) {
    let file = |name| site.config.catalogue.as_ref().map(|dir| dir.join(name)).filter(|path| path.exists());
    let Some(first) = file(DEMO_FILE) else { return };
    let seeded = async {
        let mut accepted = tell(first, admin).await?;
        if let Some(next) = file(DEMO_NEXT_FILE) {
            // Where mails leave the house the clock stays: nobody takes a mail that was signed tomorrow.
            if site.config.mail.is_none() {
                home.settle().await?;
                let clock = site.clock.clone();
                spawn_blocking(move || clock.advance(DAY_MS)).await??;
                home.settle().await?;
            }
            accepted += tell(next, admin).await?;
        }
        anyhow::Ok(accepted)
    };
    match seeded.await {
        Ok(accepted) => say::talk(format!("demo data is in: {accepted} items")),
        Err(error) => tracing::warn!(error = format!("{error:#}"), "the demo could not be told"),
    }
}

/// Tells a file's lines; gives how many were accepted.
async fn tell(path: PathBuf, admin: &Admin) -> anyhow::Result<u64> {
    let client = Client::new(admin.clone());
    let told = spawn_blocking(move || {
        let file = std::fs::File::open(&path).with_context(|| path.display().to_string())?;
        let items = feed::items(std::io::BufReader::new(file))?;
        let refused = |why: &str| say::talk(say::clean(&format!("{}: {why}", path.display())));
        feed::feed(&client, items, refused, |_| {}).map_err(|failure| anyhow!("{failure}"))
    });
    Ok(told.await.context("tell the demo")??.accepted)
}

/// Closes the door first, then the rooms, then the engines. A second signal does not wait.
async fn close(
    home: Option<Home>,
    mut server: JoinHandle<()>,
    stop: Shutdown,
    why: Option<anyhow::Error>,
) -> Result<(), Failure> {
    let watch = Stopwatch::start();
    say::talk("stopping: every room finishes what it has in hand");
    stop.start();
    let again = Shutdown::default();
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
        () = again.on_signals() => None,
    };
    let stopped = stopped.unwrap_or_else(|| {
        Err(anyhow!("not waited for: the rooms pick up where they were when the house starts again"))
    });
    if timeout(LETTING_GO, spawn_blocking(move || drop(home))).await.is_err() {
        tracing::warn!("the engines are left as they are: they take too long to let go of");
    }
    match why {
        Some(error) => Err(Failure::Failed(error)),
        None => {
            stopped?;
            say::talk(format!("stopped in {} ms", watch.elapsed().as_millis()));
            Ok(())
        }
    }
}
