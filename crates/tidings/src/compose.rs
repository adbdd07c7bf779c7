//! The start of a house, in reading order: the process, its engines and couriers, the rooms on them, and what answers over HTTP.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use adapters::{
    courier_setup,
    engine_setup::{self, OpenedEngines},
    trace_setup::TraceSetup,
};
use anyhow::Context as _;
use axum::Router;
use catalogue::Catalogue;
use console::{HttpApp, SwappableRouter, page::PageTemplates, standby::StandbyReason};
use house::{
    HouseEngines, RoomName, RunningHouse, book::TakeUpPolicy, house_watch::HouseWatch, metrics::ClusterNames,
    presence_service::PresenceService, return_intake, stream_connections::StreamConnections,
};
use lifecycle::{
    addresses::AddressSetup,
    api_keys::ApiKeySetup,
    context::{ProcessContext, ProcessHouse},
    demo::seed_demo,
    metrics::ReloadMetrics,
    person_keys::PersonKeySetup,
    reload::ReloadWatch,
    start::{
        AdminFileGuard, ConfigReader, ProcessSettings, ProcessSpec, SpecMaker, client_id, load_catalogue,
        open_outbox, print_address, reachable_address, spawn_server, start_failure,
    },
    supervision::{LAST_REQUESTS, close_process, run_until_stopped},
};
use listener::{LimitedListener, ListenerLimits};
use model::{UtcMillis, civil_time::ZoneRules};
use runtime::{ShutdownSignal, clock::SteadyStopwatch, metrics::Metrics};
use sender::{MailLinks, ReturnAddresses};
use settings::config::{AccessTokenConfig, Config, EngineConfig, ReturnsConfig};
use shell::{
    datadir::{AdminAccess, DemoClock, disk_free, random_hex},
    disks::WatchedDisks,
    failure::{CommandError, explain_bind_error},
    terminal::{self, OutputStyle, start_log},
};
use upkeep::{
    metrics::{ReturnMetrics, UpkeepMetrics},
    replay::ReplayService,
    return_guard::{ReturnGuard, ReturnLimits},
};
use views::preview::PreviewStudio;
use web::{RequestGuard, guard::RoleToken};

/// Bytes of each of the process's secrets.
const SECRET_BYTES: usize = 24;
/// So many are enough that no two processes of a house read as one.
const FEED_NAME_BYTES: usize = 8;
const MEASURE_LAG: Duration = Duration::from_secs(5);
/// How often a house looks whether it has settled where its engines are elsewhere.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Runs a process until it is asked to stop.
pub fn run(spec: SpecMaker<'_>, settings: ProcessSettings, out: OutputStyle) -> Result<(), CommandError> {
    let ProcessSettings { config, reader } = settings;
    start_log(&config)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("start tokio")?;
    let ran = runtime.block_on(async {
        let catalogue = load_catalogue(&config)?;
        run_process(spec(config)?, catalogue, reader, out).await
    });
    // A read of the disk that hangs must not keep the process.
    runtime.shutdown_timeout(LAST_REQUESTS);
    ran
}

async fn run_process(
    spec: ProcessSpec,
    catalogue: Arc<Catalogue>,
    reader: ConfigReader,
    out: OutputStyle,
) -> Result<(), CommandError> {
    let watch = SteadyStopwatch::start();
    let stop = ShutdownSignal::default();
    tokio::spawn({
        let stop = stop.clone();
        async move { stop.start_on_signals().await }
    });
    let has_feeds = spec.rooms.contains(&RoomName::Feed);
    let limits = if has_feeds { ListenerLimits::for_streams() } else { ListenerLimits::for_http() };
    let listener = LimitedListener::bind(spec.config.listen, limits).await;
    let listener = listener.map_err(|error| explain_bind_error(error, spec.config.listen, "--listen"))?;
    let listens = listener.address().context("read the listening address")?;
    let migrates = spec.migrates;
    let mut site = open_site(spec, catalogue, listens).await?;
    let counts = ReloadMetrics::declare(&site.metrics).context("the metrics of reloads")?;
    let mut reloads = ReloadWatch::new(reader, counts);
    let front = SwappableRouter::new(site.waiting_router(StandbyReason::Away));
    let server = spawn_server(listener, front.service(), stop.clone());
    let opened = tokio::select! {
        opened = site.open(migrates) => opened,
        () = stop.wait() => return close_process(None, server, stop, None).await,
    };
    let (home, router) = opened.map_err(start_failure)?;
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
    // Whoever hears that the house is ready finds the way in.
    front.swap(router);
    terminal::print_talk(format!("ready in {} ms", watch.elapsed().as_millis()));
    print_address(&site, &admin, out)?;
    if site.config.demo && home.is_new().await? {
        tokio::select! {
            () = seed_demo(&site, &home, &admin) => {}
            () = stop.wait() => {}
        }
    }
    let (home, why) = run_until_stopped(&mut site, home, (&front, &mut reloads), &stop).await;
    drop(open_door);
    let closed = close_process(home, server, stop, why).await;
    // What the rooms did last leaves too.
    site.traces.close().await;
    closed
}

/// All that stays while houses come and go.
async fn open_site(
    spec: ProcessSpec,
    catalogue: Arc<Catalogue>,
    listens: SocketAddr,
) -> Result<ProcessContext, CommandError> {
    let ProcessSpec { mut config, data, secret, rooms, way_back, .. } = spec;
    if let EngineConfig::Production(engines) = &mut config.engine {
        engines.kafka.client = client_id(&rooms, engines.kafka.instance.as_deref());
    }
    if rooms.contains(&RoomName::Sender) {
        courier_setup::check_ways(&config, &catalogue).map_err(CommandError::Refused)?;
    }
    terminal::print_talk(format!("opening {}", data.path().display()));
    let clock = Arc::new(DemoClock::open(data.path())?);
    let outbox = open_outbox(&config).await?;
    let metrics = Metrics::default();
    metrics.watch_process().context("the metrics of the process")?;
    let traces = TraceSetup::open(&config, clock.clock(), &metrics).context("traces")?;
    let addresses = AddressSetup::open(&config, &rooms, &metrics).await.map_err(CommandError::Refused)?;
    let api_keys = ApiKeySetup::new(&config);
    let person_keys =
        PersonKeySetup::open(&config, &rooms, clock.clock(), &metrics).await.context("the keys of logins")?;
    let counts = (rooms.contains(&RoomName::Sender), &metrics);
    let courier_setup::CourierSetup { courier, web_key } =
        courier_setup::open_courier(&config, &data, outbox.clone(), counts).map_err(CommandError::Refused)?;
    print_moved_clock(&clock);
    let tokens = config
        .access_tokens
        .iter()
        .map(|AccessTokenConfig { role, token }| RoleToken { role: *role, token: token.clone() });
    let guard =
        RequestGuard::new(listens, config.is_locked(), || random_hex(SECRET_BYTES))?.with_tokens(tokens);
    let address = format!("http://{}", reachable_address(listens));
    Ok(ProcessContext {
        config,
        data: Arc::new(data),
        catalogue,
        clock,
        outbox,
        courier,
        web_key,
        guard,
        address,
        secret,
        rooms,
        way_back,
        metrics,
        addresses,
        api_keys,
        person_keys,
        traces,
        compose: |context, engines| Box::pin(compose_house(context, engines)),
    })
}

fn print_moved_clock(clock: &DemoClock) {
    if clock.clock().ahead() > 0 {
        let hours = clock.clock().ahead() / 3_600_000;
        terminal::print_talk(format!(
            "the clock is {hours} h ahead of this machine's clock, as before the restart"
        ));
    }
}

/// Starts a house on engines that were opened, and what answers for it.
async fn compose_house(
    site: &ProcessContext,
    engines: OpenedEngines,
) -> anyhow::Result<(ProcessHouse, Router)> {
    let now = UtcMillis(site.clock.clock().now());
    let (partitions, foreign) = (site.config.partitions, site.foreign_topics());
    let prepared =
        engine_setup::prepare_engines(&engines, partitions, &foreign, (site.way_back, now)).await?;
    prepared.into_iter().for_each(terminal::print_talk);
    engine_setup::note_start(&engines, now).await?;
    let zones = ZoneRules::load_newest();
    tracing::info!(
        version = zones.origin().version,
        place = zones.origin().describe_place(),
        "rules of time zones"
    );
    let mut settings = house_settings(site)?;
    settings.watches = house_watches(site, &engines)?;
    let intake = settings.ingest.clone();
    let (catalogue, clock) = (site.catalogue.clone(), site.clock.clock().clone());
    let house =
        RunningHouse::start(house_engines(site, &engines)?, catalogue, clock, zones, settings).await?;
    let house = Arc::new(house);
    let (dir, reserve) = (site.data.path().to_owned(), site.config.disk_reserve);
    // A disk that cannot be asked is not full; whoever writes will be told.
    let disk_low: ingest::DiskGauge = Arc::new(move || disk_free(&dir).is_ok_and(|free| free < reserve));
    open_intake(site, &house, &intake, &disk_low).await?;
    let outbox = site.config.outbox.as_deref().filter(|_| site.rooms.contains(&RoomName::Sender));
    let disks = WatchedDisks::declare(site.data.path(), outbox, reserve, house.metrics())?;
    let app = HttpApp {
        house: house.clone(),
        catalogue: site.catalogue.clone(),
        outbox: site.outbox.clone(),
        clock: site.clock.clone(),
        tenant: site.config.tenant.clone(),
        tenants: site.config.tenants(),
        is_demo: site.config.demo,
        guard: site.guard.clone(),
        keys: site.api_keys.keys.clone(),
        persons: site.person_keys.access.clone(),
        disk_low,
        disks: disks.clone(),
        intake,
        pages: PageTemplates::new()?,
        archive: console::ArchivingService::new(house.metrics())?,
        replays: ReplayService::default(),
        counts: console::ShareCountCache::default(),
        unsubscribe: console::UnsubscribeService::new(site.secret.clone()),
        studio: PreviewStudio::new(site.catalogue.clone(), ZoneRules::load_newest(), public_url(site))?,
        web_key: site.web_key.clone(),
        visits: console::VisitCounter::new(site.secret.clone(), house.metrics())?,
        rest_time: console::REST_TIME_MAX,
    };
    let router =
        if site.rooms.contains(&RoomName::Ingest) { console::router } else { console::machine_router };
    Ok((ProcessHouse { house, engines, disks }, router(Arc::new(app))))
}

/// What the rooms are told of the configuration.
fn house_settings(site: &ProcessContext) -> anyhow::Result<house::Config> {
    let Config { tenant, limits, partitions, returns, engine, shares, .. } = &site.config;
    let mut settings = house::Config::with_defaults(tenant.clone(), limits.lag);
    settings.rooms = site.rooms.clone();
    settings.partitions = *partitions;
    settings.measure_lag = Some(MEASURE_LAG);
    settings.metrics = site.metrics.clone();
    settings.tracer = site.traces.tracer.clone();
    settings.catalogue_wait = limits.catalogue;
    let shares = Arc::new(shares.clone().among(&site.config.tenants()));
    (settings.fanout.shares, settings.digest.shares) = (shares.clone(), shares.clone());
    settings.sender.shares = shares;
    settings.sender.claim_ms = i64::try_from(limits.hand_over.as_millis()).unwrap_or(i64::MAX);
    if let EngineConfig::Production(engines) = engine {
        settings.names = ClusterNames { prefix: engines.kafka.prefix.as_str().into() };
        settings.look_again = Some(LOOK_AGAIN);
        settings.takes_up = TakeUpPolicy::IfNew;
        // Each process hears of all persons: none shares the reading with another.
        let own = match &engines.kafka.instance {
            Some(instance) => instance.clone(),
            None => random_hex(FEED_NAME_BYTES)?,
        };
        settings.feed.group = format!("{}-{own}", feed::config::GROUP).into();
    } else {
        settings.fanout.crowd_parts = 1;
    }
    settings.secret = site.secret.clone();
    settings.places = site.addresses.places.clone();
    settings.sender.links = Some(MailLinks::new(public_url(site), site.secret.clone()));
    if let Some(ReturnsConfig { domain, provider, .. }) = returns {
        settings.sender.returns = Some(ReturnAddresses::new(domain, site.secret.clone(), *provider));
        settings.ingest.returns = Some(ingest::ReturnPaths::new(domain, site.secret.clone()));
    }
    Ok(settings)
}

/// Who looks after the house beside its rooms.
fn house_watches(site: &ProcessContext, engines: &OpenedEngines) -> anyhow::Result<Vec<HouseWatch>> {
    let mut watches = Vec::new();
    if site.rooms.contains(&RoomName::Keeper) {
        let upkeep = UpkeepMetrics::declare(&site.metrics)?;
        watches.push(HouseWatch::new("the watch on quarantine and replays", move |deps| {
            upkeep.clone().watch(deps)
        }));
    }
    if site.rooms.contains(&RoomName::Keeper) {
        let limits =
            ReturnLimits { bounces: site.config.limits.bounces, complaints: site.config.limits.complaints };
        let (metrics, clock) = (ReturnMetrics::declare(&site.metrics)?, site.clock.clock().clone());
        watches.push(HouseWatch::new("the watch on returned mails", move |deps| {
            ReturnGuard::new(limits, metrics.clone(), clock.clone()).watch(deps)
        }));
    }
    watches.extend(adapters::metrics::watch_registry(engines, &site.metrics)?);
    Ok(watches)
}

/// What the rooms stand on.
fn house_engines(site: &ProcessContext, engines: &OpenedEngines) -> anyhow::Result<HouseEngines> {
    Ok(HouseEngines {
        topics: engines.topics(),
        store: engines.store(),
        courier: site.courier.clone(),
        live: match &site.config.presence_url {
            Some(url) => Arc::new(PresenceService::new(url)?),
            None => Arc::new(StreamConnections { store: engines.store(), clock: site.clock.clock().clone() }),
        },
        schemas: engines.schemas(),
    })
}

/// By what the links of mails lead here.
fn public_url(site: &ProcessContext) -> &str {
    site.config.public_url.as_deref().unwrap_or(&site.address)
}

/// Opens the way in for mails that come back, if there is one here. It ends with the house.
async fn open_intake(
    site: &ProcessContext,
    house: &RunningHouse,
    config: &ingest::Config,
    disk_low: &ingest::DiskGauge,
) -> anyhow::Result<()> {
    let Some(ReturnsConfig { domain, intake: Some(at), .. }) = &site.config.returns else {
        return Ok(());
    };
    let Some(paths) = config.returns.clone().filter(|_| house.runs_room(RoomName::Ingest)) else {
        return Ok(());
    };
    let behind = (house.intake().clone(), paths, disk_low.clone());
    let listens = return_intake::open_return_intake(*at, domain, behind).await?;
    terminal::print_talk(format!("mails that come back are taken at {listens}"));
    Ok(())
}
