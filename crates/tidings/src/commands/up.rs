//! `tidings up`: the whole house in this process, with its page.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, anyhow};
use catalogue::Catalogue;
use courier::outbox::Outbox;
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
    datadir::{Admin, DataDir, DemoClock, random_hex},
    failure::Failure,
    feed,
    home::{self, End, Home, Site},
    http::{Front, guard::Guard},
    say,
};

/// What a catalogue has for the demo, if it has one: what happened before anybody looked.
const DEMO_FILE: &str = "demo.ndjson";
/// Bytes of each of the process's secrets.
const SECRET_BYTES: usize = 24;
/// How long requests in flight may take when the house stops.
const LAST_REQUESTS: Duration = Duration::from_secs(5);

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
    let clock = Arc::new(DemoClock::open(data.path())?);
    let (engines, outbox) = tokio::try_join!(home::engines(&data, &clock), outbox(&data))?;
    if clock.clock().ahead() > 0 {
        let hours = clock.clock().ahead() / 3_600_000;
        say::talk(format!("the clock is {hours} h ahead of this machine's, as it was left"));
    }
    say::talk("restoring what was in hand");
    let guard = Guard::new(listens, !config.api_keys.is_empty(), || random_hex(SECRET_BYTES))?;
    let (address, secret) = (format!("http://{}", reachable(listens)), data.secret()?);
    let site = Site { config, data, catalogue, clock, outbox, guard, address, secret };
    let (home, router) = site.start(engines).await?;
    let front = Front::new(router);
    let server = serve(listener, front.service(), stop.clone());
    let admin = Admin {
        address: site.address.clone(),
        token: site.guard.token.clone(),
        tenant: site.config.tenant.to_string(),
        pid: std::process::id(),
    };
    let open_door = OpenDoor::new(&site.data, &admin)?;
    say::talk(format!("ready in {} ms", watch.elapsed().as_millis()));
    address_of(&admin, &site.config, out)?;
    if site.config.demo && site.data.is_new {
        seed(&site.config, &admin).await;
    }
    let (home, why) = live(&site, home, &front, &stop).await;
    drop(open_door);
    close(home, server, stop, why).await
}

/// Lives until somebody asks us to stop, or until what cannot be waited for; goes on by itself after a disk
/// was full. What is left of the house is given back, with what ended it.
async fn live(
    site: &Site,
    mut home: Home,
    front: &Front,
    stop: &Shutdown,
) -> (Option<Home>, Option<anyhow::Error>) {
    loop {
        let why = match home.end(site, stop).await {
            End::Asked => return (Some(home), None),
            End::Failed(error) => return (Some(home), Some(error)),
            End::NoRoom(why) => why,
        };
        tracing::error!(why, "no room on the disk; the house stops and goes on by itself when there is");
        say::talk(format!("no room on {}: waiting until there is", site.data.path().display()));
        front.show(site.waiting());
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
            reopened = site.reopen() => reopened,
        };
        match reopened {
            Ok((again, router)) => {
                home = again;
                front.show(router);
                tracing::info!("there is room on the disk again; the house goes on");
                say::talk("there is room again: the house goes on");
            }
            Err(error) => return (None, Some(error.context("open everything anew after the disk was full"))),
        }
    }
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

async fn outbox(data: &DataDir) -> anyhow::Result<Arc<Outbox>> {
    let path = data.outbox();
    let opened = spawn_blocking(move || Outbox::open(&path)).await.context("open the outbox")?;
    opened.map(Arc::new).context("open the outbox")
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

fn address_of(admin: &Admin, config: &Config, out: Out) -> Result<(), Failure> {
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

/// Closes the door first, then the rooms. A second signal does not wait.
async fn close(
    home: Option<Home>,
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
        match &home {
            Some(home) => home.stop().await,
            None => Ok(()),
        }
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
