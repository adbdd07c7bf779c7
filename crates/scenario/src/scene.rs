//! The house as a scenario's world.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicU64},
    time::Duration,
};

use adapters::engine_setup::{self, OpenedEngines, format_gate::WayBack};
use anyhow::{Context as _, ensure};
use async_trait::async_trait;
use axum::{
    body::{Body, to_bytes},
    http::{Method, Request, StatusCode, header},
};
use catalogue::Catalogue;
use courier::outbox::OutboxCourier;
use geoip::AddressPlaces;
use house::pauses::{self, KnownScopes, PauseOrder};
use house::{self, Config, HouseEngines, RunningHouse};
use house_facts::pause::PauseScope;
use ingest::IngestError;
use model::{
    Channel, Day, DayLife, Person, PlanName, SubjectRef, Tenant, UtcMillis, civil_time::ZoneRules,
    partition::PartitionCount,
};
use runtime::{Clock, retry};
use sender::{MailLinks, ReturnAddresses};
use stage::{
    Scenario, StageWorld,
    mail_visitor::MailVisitor,
    scenario::{MailServerState, RestartMode, ScenarioReturn},
    world::{StageAnswer, StageEntry, StageFeed, StageMail},
};
use topic::{NewRecord, Topics};
use topic_kafka::KafkaTopics;
use tower::ServiceExt as _;
use upkeep::{archive, quarantine, replay};
use views::{
    days::{self, PersonDays},
    open_windows::{self, WindowActRefusal, WindowAction, WindowSelector},
    release::{self, ReleaseCursor, WindowRelease},
    suppressions,
};
use wire::{token::LinkSecret, topics};

use super::{
    ScenarioGround,
    apps::ScriptedApps,
    bounce_reports,
    mail_log::ScenarioMailLog,
    mail_server::{MailAcceptance, ScriptedMailServer},
    networks,
    opened_mail::{self, OpenedMail},
    patient_topics::{PAUSES_MAX, PatientTopics},
    real_engines::ScenarioLot,
    running_scene::{RunningScene, encode_segment, open_doors, return_paths},
};

/// Bytes of an answer that are read.
const ANSWER_BYTES_MAX: usize = 1 << 20;
/// A busy intake may be asked again; on rough ground that happens often, and never forever.
const POSTS_MAX: usize = 100;
/// Records that may wait before intake asks to come later: no scenario writes so many.
const LAG_MAX: u64 = 100_000;
/// Few, so that a scenario goes on from a place too.
const RELEASED_AT_ONCE: usize = 2;

/// How often a house on real engines looks whether it has settled.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// How long a turn waits for one delivery.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often a house of one story is opened anew because a cluster was away.
const REOPENED_MAX: u32 = 5;

const DOWN: &str = "the house is down";

/// A house in a folder, and what a scenario does to it.
pub(super) struct ScenarioScene<'a> {
    dir: PathBuf,
    /// The scenario's own file: catalogues are looked for from there.
    file: PathBuf,
    /// How long its days live.
    life: DayLife,
    catalogue: Arc<Catalogue>,
    tenants: BTreeSet<Tenant>,
    ground: ScenarioGround<'a>,
    /// What it has on real engines.
    lot: Option<ScenarioLot>,
    clock: Clock,
    post: MailAcceptance,
    apps: Arc<ScriptedApps>,
    /// Where IP addresses are.
    places: AddressPlaces,
    books: ScenarioMailLog,
    /// Reasons of what was put aside.
    aside: Vec<String>,
    /// `None` only while the house is down.
    running: Option<RunningScene>,
    /// How often it was started: each life has luck of its own.
    lives: u64,
}

impl<'a> ScenarioScene<'a> {
    pub async fn open(
        dir: &Path,
        (file, life): (&Path, DayLife),
        scenario: &Scenario,
        ground: ScenarioGround<'a>,
    ) -> anyhow::Result<Self> {
        let clock = Clock::still(scenario.calendar.start().0);
        let mut scene = Self {
            lot: None,
            dir: dir.to_owned(),
            file: file.to_owned(),
            life,
            catalogue: Arc::new(super::load_catalogue(file, life, &scenario.catalogue)?),
            tenants: scenario.lines.iter().map(|line| line.tenant.clone()).collect(),
            ground,
            post: MailAcceptance::new(clock.clone()),
            clock,
            apps: Arc::default(),
            places: networks::write_places(dir, scenario)?,
            books: ScenarioMailLog::default(),
            aside: Vec::new(),
            running: None,
            lives: 0,
        };
        if let ScenarioGround::Real(engines) = ground {
            scene.lot = Some(engines.take(&scene.clock).await?);
        }
        scene.open_house().await?;
        Ok(scene)
    }

    /// Ends the house, however it stands.
    pub async fn close(mut self) {
        if let Some(running) = self.running.take() {
            running.house.abandon().await;
            if let Err(error) = running.close().await {
                tracing::warn!(error = format!("{error:#}"), "a scenario's engines were not closed");
            }
        }
        if let (ScenarioGround::Real(engines), Some(lot)) = (self.ground, self.lot) {
            engines.give_back(lot, &self.clock).await;
        }
    }

    async fn open_engines(&self) -> anyhow::Result<(OpenedEngines, Option<KafkaTopics>)> {
        if let Some(lot) = &self.lot {
            let (opened, kafka) = lot.open(&self.clock).await?;
            return Ok((opened, Some(kafka)));
        }
        let opened = engine_setup::open_embedded(&self.dir, self.life, &self.clock).await?;
        let (foreign, start) =
            (self.catalogue.foreign_topics(), (WayBack::Kept, UtcMillis(self.clock.now())));
        engine_setup::prepare_engines(&opened, PartitionCount::USUAL, &foreign, start).await?;
        Ok((opened, None))
    }

    async fn open_house(&mut self) -> anyhow::Result<()> {
        let (opened, kafka) = self.open_engines().await?;
        let (topics, store) = (opened.topics(), opened.store());
        let outbox = Arc::new(OutboxCourier::open(&self.dir.join("outbox"))?);
        self.lives += 1;
        let courier = Arc::new(ScriptedMailServer { outbox: outbox.clone(), post: self.post.clone() });
        let (schemas, live) = (opened.schemas(), self.apps.clone());
        let engines = HouseEngines { topics: topics.clone(), store: store.clone(), courier, live, schemas };
        let engines = match self.ground {
            ScenarioGround::Even | ScenarioGround::Real(_) => engines,
            ScenarioGround::Rough { seed, roughen } => roughen(engines, seed.wrapping_add(self.lives)),
        };
        let mut config = Config::with_defaults(Tenant::new(stage::MAIN)?, LAG_MAX);
        // A disk that is slow for a moment must not change what is told when.
        config.sender.patience = PATIENCE;
        config.sender.returns =
            Some(ReturnAddresses::new(bounce_reports::DOMAIN, LinkSecret::new(bounce_reports::SECRET), None));
        config.ingest.returns = Some(return_paths());
        if !self.catalogue.slots.is_empty() {
            config.secret = opened_mail::secret();
            config.sender.links = Some(MailLinks::new(opened_mail::ADDRESS, config.secret.clone()));
        }
        config.places = self.places.clone();
        if let Some(lot) = &self.lot {
            config.partitions = lot.partitions;
            config.look_again = Some(LOOK_AGAIN);
        }
        let (catalogue, clock) = (self.catalogue.clone(), self.clock.clone());
        let house =
            RunningHouse::start(engines, catalogue, clock, ZoneRules::load_newest(), config.clone()).await?;
        let intake = open_doors(&house, config.ingest, &self.tenants);
        let topics: Arc<dyn Topics> =
            if self.lot.is_some() { Arc::new(PatientTopics(topics)) } else { topics };
        self.running = Some(RunningScene { house, intake, topics, store, engines: opened, kafka, outbox });
        Ok(())
    }

    /// What `tidings` does when an engine was away for too long.
    async fn reopen(&mut self) -> anyhow::Result<()> {
        if let Some(running) = self.running.take() {
            running.house.abandon().await;
            running.close().await?;
        }
        let mut tries = 0;
        loop {
            match self.open_house().await {
                Err(error) if house::is_transient_error(&error) && tries < POSTS_MAX => {
                    self.pause(tries).await;
                }
                opened => return opened,
            }
            tries += 1;
        }
    }

    /// Between two tries. Clusters get better with time, rough engines with tries.
    async fn pause(&self, tries: usize) {
        if self.lot.is_some() {
            retry::pause_before_retry(u32::try_from(tries).unwrap_or(PAUSES_MAX).min(PAUSES_MAX), 0).await;
        }
    }

    fn running_house(&self) -> anyhow::Result<&RunningScene> {
        self.running.as_ref().context(DOWN)
    }

    /// Asks the house as a service of the tenant does, until it is not busy.
    async fn ask(
        &self,
        method: Method,
        tenant: &Tenant,
        path: &str,
        body: &str,
    ) -> anyhow::Result<StageAnswer> {
        for tries in 0..POSTS_MAX {
            let request = Request::builder()
                .method(method.clone())
                .uri(path)
                .header(header::AUTHORIZATION, format!("Bearer {tenant}"))
                .header(header::CONTENT_TYPE, "application/json")
                .body(Body::from(body.to_owned()))?;
            let response = self.running_house()?.intake.clone().oneshot(request).await?;
            let status = response.status();
            if status == StatusCode::SERVICE_UNAVAILABLE && !matches!(self.ground, ScenarioGround::Even) {
                self.pause(tries).await;
                continue;
            }
            let body = to_bytes(response.into_body(), ANSWER_BYTES_MAX).await?;
            return Ok(StageAnswer {
                status: status.as_u16(),
                body: String::from_utf8_lossy(&body).into_owned(),
            });
        }
        anyhow::bail!("the house stays busy")
    }

    /// The last mail that somebody got, to be opened.
    async fn find_opened(&mut self, tenant: &Tenant, person: &Person) -> anyhow::Result<OpenedMail<'_>> {
        let mails = self.mails().await?;
        let tries = if matches!(self.ground, ScenarioGround::Even) { 1 } else { POSTS_MAX };
        let (running, now) = (self.running_house()?, UtcMillis(self.clock.now()));
        OpenedMail::find_last(&mails, (tenant, person), running, (now, tries))
    }

    async fn read_days(&self, tenant: &Tenant, person: &Person) -> anyhow::Result<PersonDays> {
        let (store, now) = (&*self.running_house()?.store, UtcMillis(self.clock.now()));
        days::read_days(store, tenant, person, days::DAYS_MAX, now, Some(&self.catalogue)).await
    }
}

#[async_trait]
impl StageWorld for ScenarioScene<'_> {
    fn clock(&self) -> &Clock {
        &self.clock
    }

    async fn settle(&mut self) -> anyhow::Result<()> {
        let mut reopened = 0;
        loop {
            let Some(running) = &self.running else { return Ok(()) };
            match running.house.settle().await {
                // A cluster that was busy for longer than a room waits: the house is opened anew, as `tidings` does it.
                Err(error)
                    if self.lot.is_some() && house::is_transient_error(&error) && reopened < REOPENED_MAX =>
                {
                    tracing::warn!(error = format!("{error:#}"), "a story's house is opened anew");
                    reopened += 1;
                    self.reopen().await?;
                }
                settled => return settled,
            }
        }
    }

    async fn lagging_stages(&mut self) -> anyhow::Result<Vec<String>> {
        self.running_house()?.describe_lag().await
    }

    async fn post(&mut self, tenant: &Tenant, path: &str, body: &str) -> anyhow::Result<StageAnswer> {
        self.ask(Method::POST, tenant, path, body).await
    }

    async fn feed(&mut self, tenant: &Tenant, person: &Person, most: usize) -> anyhow::Result<StageFeed> {
        let path = format!("/v1/people/{}/feed?limit={most}", encode_segment(person.as_str()));
        let answer = self.ask(Method::GET, tenant, &path, "").await?;
        let categories = &self.catalogue.for_person(person).categories;
        StageFeed::parse(&answer, categories.keys().map(String::as_str))
    }

    async fn open_mail(
        &mut self,
        tenant: &Tenant,
        person: &Person,
        by: MailVisitor,
    ) -> anyhow::Result<Vec<String>> {
        self.find_opened(tenant, person).await?.open_calmly(by).await
    }

    async fn click_slot(&mut self, tenant: &Tenant, person: &Person, place: usize) -> anyhow::Result<String> {
        self.find_opened(tenant, person).await?.click_calmly(place).await
    }

    async fn upstream(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        let (topic, value) = (topics::CHANGES.into(), Some(bytes.to_vec()));
        let record = NewRecord { topic, partition: 0, key: Vec::new(), value, headers: Vec::new() };
        Ok(self.running_house()?.topics.append(vec![record]).await?)
    }

    async fn stop(&mut self, how: RestartMode) -> anyhow::Result<()> {
        let running = self.running.take().context(DOWN)?;
        match how {
            RestartMode::Orderly => running.house.stop().await?,
            RestartMode::Crash => {
                // Before the rooms, which would leave their groups in good order.
                if let Some(kafka) = &running.kafka {
                    kafka.sever();
                }
                running.house.abandon().await;
            }
        }
        running.close().await
    }

    async fn start(&mut self, catalogue: Option<&str>) -> anyhow::Result<()> {
        ensure!(self.running.is_none(), "the house is up already");
        if let Some(name) = catalogue {
            self.catalogue = Arc::new(super::load_catalogue(&self.file, self.life, name)?);
        }
        self.open_house().await
    }

    async fn mail_server(&mut self, takes: MailServerState) -> anyhow::Result<()> {
        self.post.set(takes);
        Ok(())
    }

    async fn return_last_mail(
        &mut self,
        tenant: &Tenant,
        person: &Person,
        back: ScenarioReturn,
    ) -> anyhow::Result<()> {
        let word = self.books.words.get(&(tenant.clone(), person.clone()));
        let word = word.with_context(|| format!("no mail went to {person}"))?;
        let (paths, mail) = (return_paths(), bounce_reports::bounce_report(back, word));
        let to = format!("{word}@{}", bounce_reports::DOMAIN);
        ensure!(paths.takes(&to), "the return path of the mail does not belong to this house");
        let to = [to].into();
        // A server tries again, as long as it is told to.
        for tries in 0..POSTS_MAX {
            let house = &self.running_house()?.house;
            match ingest::apply_return_mail(house.intake(), &paths, &to, mail.clone().into_bytes()).await {
                Err(IngestError::Busy(_)) if !matches!(self.ground, ScenarioGround::Even) => {
                    self.pause(tries).await;
                }
                heard => return Ok(heard?),
            }
        }
        anyhow::bail!("the intake stays busy")
    }

    async fn lift(&mut self, tenant: &Tenant, person: &Person, stream: Option<&str>) -> anyhow::Result<()> {
        let (store, now) = (&*self.running_house()?.store, UtcMillis(self.clock.now()));
        suppressions::lift_for_person(store, (tenant, person), stream, now).await.map(|_| ())
    }

    async fn app(&mut self, person: &Person, connected: bool) -> anyhow::Result<()> {
        self.apps.set(person, connected);
        Ok(())
    }

    async fn mails(&mut self) -> anyhow::Result<Vec<StageMail>> {
        let Self { running, books, catalogue, .. } = self;
        if let Some(RunningScene { topics, store, outbox, .. }) = running {
            books.update(outbox, &**topics, &**store, catalogue).await?;
        }
        Ok(books.mails.clone())
    }

    async fn entries(&mut self, tenant: &Tenant, person: &Person) -> anyhow::Result<Vec<StageEntry>> {
        let days = self.read_days(tenant, person).await?.days;
        let mut entries = Vec::new();
        for entry in days.into_iter().rev().flat_map(|day| day.entries) {
            let at = UtcMillis::parse(&entry.occurred).context("an entry without a time")?;
            let fate = |one: days::ChannelFate| Some((Channel::parse(&one.channel)?, one.fate));
            let fates = entry.fates.into_iter().filter_map(fate).collect();
            entries.push(StageEntry { at, subject: entry.subject, fates });
        }
        Ok(entries)
    }

    async fn quarantine(&mut self) -> anyhow::Result<Vec<String>> {
        if let Some(running) = &self.running {
            let items = quarantine::list_items(&*running.topics).await?;
            // Putting aside may be repeated like every effect; the record is one.
            let mut seen = BTreeSet::new();
            let place =
                |item: &quarantine::QuarantineItemView| (item.topic.clone(), item.partition, item.offset);
            let new = items.into_iter().filter(|item| seen.insert(place(item)));
            self.aside = new.map(|item| item.reason).collect();
        }
        Ok(self.aside.clone())
    }

    async fn windows(&mut self, tenant: &Tenant, person: &Person) -> anyhow::Result<usize> {
        self.running_house()?.count_windows(tenant, person).await
    }

    async fn release(
        &mut self,
        tenant: &Tenant,
        plan: &PlanName,
        person: Option<&Person>,
    ) -> anyhow::Result<()> {
        let at = UtcMillis(self.clock.now());
        let release = WindowRelease { tenant: tenant.clone(), plan: plan.clone(), at };
        let log = &*self.running_house()?.topics;
        if let Some(person) = person {
            ensure!(
                release::release_person(log, &release, person).await?,
                "{person} has no open window of `{plan}`"
            );
            return Ok(());
        }
        let mut from = ReleaseCursor::default();
        while let Some(next) = release::release_batch(log, &release, from, RELEASED_AT_ONCE).await?.next {
            from = next.parse()?;
        }
        Ok(())
    }

    async fn set_pause(&mut self, scope: &PauseScope, is_paused: bool) -> anyhow::Result<()> {
        let (by, why) = ("scenario".to_owned(), String::new());
        let order = PauseOrder { scope: scope.to_string(), is_paused, by, why };
        let now = UtcMillis(self.clock.now());
        let running = self.running_house()?;
        pauses::order_pause(&*running.topics, KnownScopes::default(), order, now).await?;
        running.house.book().refresh().await
    }

    async fn discard(
        &mut self,
        tenant: &Tenant,
        plan: &PlanName,
        person: &Person,
        key: Option<&str>,
    ) -> anyhow::Result<()> {
        let which = WindowSelector { plan: plan.clone(), key: key.map(str::to_owned), opened: None };
        let log = &*self.running_house()?.topics;
        match open_windows::act_on_window(log, (tenant, person), &which, WindowAction::Cancel).await? {
            Ok(_) => Ok(()),
            Err(WindowActRefusal::Absent(why) | WindowActRefusal::Unclear(why)) => anyhow::bail!(why),
        }
    }

    async fn explain(
        &mut self,
        tenant: &Tenant,
        person: &Person,
        subject: &SubjectRef,
    ) -> anyhow::Result<Vec<String>> {
        let now = UtcMillis(self.clock.now());
        self.running_house()?.explain((tenant, person), subject, (&self.catalogue, now)).await
    }

    async fn replay(&mut self, topic: &str, from: UtcMillis, tells_missing: bool) -> anyhow::Result<()> {
        let now = UtcMillis(self.clock.now());
        replay::replay_at_once(&*self.running_house()?.topics, topic, from, tells_missing, now).await
    }

    async fn archive(&mut self, before: Day) -> anyhow::Result<()> {
        let now = UtcMillis(self.clock.now());
        let file = self.dir.join(format!("archive-before-{before}.avro"));
        let store = &*self.running_house()?.store;
        let watch = archive::ArchiveWatch { rows: &AtomicU64::new(0), disk_low: &|| false };
        archive::archive_days(store, &self.catalogue, (before, now), &file, &watch).await?;
        Ok(())
    }
}
