//! `tidings up`: the whole house in this process, with its page.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, anyhow};
use catalogue::Catalogue;
use courier::outbox::Outbox;
use model::civil::Zones;
use runtime::{Shutdown, clock::Stopwatch};
use serde_json::json;
use tokio::{
    net::TcpListener,
    task::{JoinHandle, spawn_blocking},
    time::timeout,
};

use super::Out;
use crate::{
    client::Client,
    config::Config,
    datadir::{Admin, DataDir, DemoClock, disk_free, random_hex},
    failure::Failure,
    feed,
    house::{self, Engines, House},
    http::{self, App, guard::Guard, page::Pages},
    say,
};

/// What a catalogue has for the demo, if it has one: what happened before anybody looked.
const DEMO_FILE: &str = "demo.ndjson";
/// Bytes of each of the process's secrets.
const SECRET_BYTES: usize = 24;
/// How long requests in flight may take when the house stops.
const LAST_REQUESTS: Duration = Duration::from_secs(5);
/// How often the disk is looked at.
const DISK_LOOK: Duration = Duration::from_secs(2);

pub fn run(config: Config, out: Out) -> Result<(), Failure> {
    runtime::log::start(&config.log.filter, config.log.format).map_err(Failure::Refused)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("start tokio")?;
    let ran = runtime.block_on(up(config, out));
    // A read of the disk that hangs must not keep the process.
    runtime.shutdown_timeout(LAST_REQUESTS);
    ran
}

async fn up(config: Config, out: Out) -> Result<(), Failure> {
    let watch = Stopwatch::start();
    let stop = Shutdown::default();
    tokio::spawn({
        let stop = stop.clone();
        async move { stop.on_signals().await }
    });
    let catalogue = catalogue(&config)?;
    let listener = TcpListener::bind(config.listen).await;
    let listener =
        listener.with_context(|| format!("listen on {}; --listen takes another address", config.listen))?;
    let listens = listener.local_addr().context("the address")?;
    let data = DataDir::hold(&config.data_dir)?;
    say::talk(format!("opening {}", data.path().display()));
    let (engines, outbox, clock) = open(&data).await?;
    let clock = Arc::new(clock);
    if clock.clock().ahead() > 0 {
        let hours = clock.clock().ahead() / 3_600_000;
        say::talk(format!("the clock is {hours} h ahead of this machine's, as it was left"));
    }
    say::talk("restoring what was in hand");
    let settings = house::Config::usual(config.tenant.clone(), config.limits.lag);
    let intake = settings.ingest.clone();
    let zones = Zones::system();
    let house = House::start(engines, catalogue.clone(), clock.clock().clone(), zones, settings).await?;
    let house = Arc::new(house);
    let guard = Guard::new(listens, !config.api_keys.is_empty(), || random_hex(SECRET_BYTES))?;
    let admin = Admin {
        address: format!("http://{}", reachable(listens)),
        token: guard.token.clone(),
        tenant: config.tenant.to_string(),
        pid: std::process::id(),
    };
    let app = App {
        house: house.clone(),
        catalogue,
        outbox,
        clock,
        tenant: config.tenant.clone(),
        is_demo: config.demo,
        guard,
        disk_low: disk_low(data.path().to_owned(), config.disk_reserve),
        intake,
        pages: Pages::new()?,
    };
    let server = serve(listener, http::router(Arc::new(app), &config.api_keys), stop.clone());
    let open_door = OpenDoor::new(&data, &admin)?;
    say::talk(format!("ready in {} ms", watch.elapsed().as_millis()));
    address(&admin, &config, out)?;
    if config.demo && data.is_new {
        seed(&config, &admin).await;
    }
    let why = until_the_end(&house, &stop, data.path(), config.disk_reserve).await;
    drop(open_door);
    close(house, server, stop, why).await
}

/// The catalogue, checked before anything is touched.
fn catalogue(config: &Config) -> Result<Arc<Catalogue>, Failure> {
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

/// Opens everything that lies in the directory.
async fn open(data: &DataDir) -> Result<(Engines, Arc<Outbox>, DemoClock), Failure> {
    let clock = DemoClock::open(data.path())?;
    let (topics, store, outbox, time) = (data.topics(), data.store(), data.outbox(), clock.clock().clone());
    let opened = spawn_blocking(move || {
        let topics = topic::embedded::Embedded::open(&topics, time).context("open the topics")?;
        let store = store::embedded::Embedded::open(&store).context("open the store")?;
        let outbox = Arc::new(Outbox::open(&outbox).context("open the outbox")?);
        let engines = Engines { topics: Arc::new(topics), store: Arc::new(store), courier: outbox.clone() };
        anyhow::Ok((engines, outbox))
    });
    let (engines, outbox) = opened.await.context("open the engines")??;
    Ok((engines, outbox, clock))
}

/// The address by which this machine reaches us.
fn reachable(listens: SocketAddr) -> SocketAddr {
    let ip = match listens.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listens.port())
}

fn disk_low(dir: PathBuf, reserve: u64) -> ingest::DiskGauge {
    // A disk that cannot be asked is not full; whoever writes will be told.
    Arc::new(move || disk_free(&dir).is_ok_and(|free| free < reserve))
}

fn serve(listener: TcpListener, router: axum::Router, stop: Shutdown) -> JoinHandle<std::io::Result<()>> {
    tokio::spawn(async move {
        axum::serve(listener, router).with_graceful_shutdown(async move { stop.wait().await }).await
    })
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

fn address(admin: &Admin, config: &Config, out: Out) -> Result<(), Failure> {
    let page = format!("{}/", admin.address);
    if out.json {
        say::json(&json!({"address": page, "data_dir": config.data_dir}))?;
    } else {
        say::data(&page)?;
    }
    if !config.api_keys.is_empty() {
        let path = config.data_dir.join("admin.json");
        say::talk(format!(
            "the page asks for the token in {}: add ?token=... to the address, once",
            path.display()
        ));
    }
    say::talk("Ctrl-C stops it");
    Ok(())
}

/// Tells an empty house the little world of its catalogue; a demo without one is a demo too.
async fn seed(config: &Config, admin: &Admin) {
    let Some(path) = config.catalogue.as_ref().map(|dir| dir.join(DEMO_FILE)).filter(|path| path.exists())
    else {
        return;
    };
    let client = Client::new(admin.clone());
    let told = spawn_blocking(move || {
        let file = std::fs::File::open(&path).with_context(|| path.display().to_string())?;
        let items = feed::items(std::io::BufReader::new(file))?;
        let refused = |why: &str| {
            say::talk(say::clean(&format!("{}: {why}", path.display())));
        };
        feed::feed(&client, items, refused, |_| {}).map_err(|failure| anyhow!("{failure}"))
    });
    match told.await.context("tell the demo").and_then(|told| told) {
        Ok(fed) => say::talk(format!("a little world to begin with: {} things told", fed.accepted)),
        Err(error) => tracing::warn!(error = format!("{error:#}"), "the demo could not be told"),
    }
}

/// Returns when somebody asks us to stop, or with what ends the house.
async fn until_the_end(house: &House, stop: &Shutdown, dir: &Path, reserve: u64) -> Option<anyhow::Error> {
    tokio::select! {
        () = stop.wait() => None,
        error = house.failure() => Some(error),
        error = disk_gone(dir, reserve) => Some(error),
    }
}

/// Returns when the disk is down to half of its reserve: what is left is for stopping in good order.
async fn disk_gone(dir: &Path, reserve: u64) -> anyhow::Error {
    let mut looks = tokio::time::interval(DISK_LOOK);
    loop {
        looks.tick().await;
        match disk_free(dir) {
            Ok(free) if free < reserve / 2 => {
                return anyhow!(
                    "the disk of {} has only {} MiB left, and the house stops",
                    dir.display(),
                    free >> 20
                );
            }
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(error = format!("{error:#}"), "the disk cannot be asked how full it is");
            }
        }
    }
}

/// Closes the door first, then the rooms. A second signal does not wait.
async fn close(
    house: Arc<House>,
    mut server: JoinHandle<std::io::Result<()>>,
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
        house.stop().await
    };
    let stopped = tokio::select! {
        stopped = orderly => stopped,
        () = again.on_signals() => Err(anyhow!("not waited for: the rooms pick up where they were when the house starts again")),
    };
    match why {
        Some(error) => Err(Failure::Failed(error)),
        None => {
            stopped?;
            say::talk(format!("stopped in {} ms", watch.elapsed().as_millis()));
            Ok(())
        }
    }
}
