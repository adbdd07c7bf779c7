//! The topic way, and the desk of both ways: stored, then announced, then acknowledged.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Display,
    sync::Arc,
};

use async_trait::async_trait;
use catalogue::{Catalogue, Format, SourceDef};
use courier::back::{self, Came};
use futures::{future::try_join_all, try_join};
use model::{
    Millis, State,
    civil::Zones,
    edition::Editions,
    entry::DayKey,
    fault::{self, Fault},
    partition::Partitions,
    person::notes,
};
use runtime::{Clock, Quiet, Shutdown, crash, retry};
use store::{StateKey, Store, StoreError};
use tokio::task::spawn_blocking;
use topic::{
    Batch, Membership, Mode, NewRecord, Record, TopicError, Topics,
    drive::{Drive, Work, drive},
};
use wire::{
    Cloud, Schemas, WireError, note,
    quarantined::{self, Unusable},
    replay, topics,
    upstream::{self, Raw},
};

use crate::{
    admit::{Admitted, Refused, admit},
    change::Change,
    config::{Config, EXTRA_BYTES_MAX, GROUP, RETURNS_AT_ONCE},
    effects::{Effects, Known, Questions, Verdict},
    metrics::{IngestMetrics, Way, sort_of},
    order,
    returns::{self, Back, Heard, Noted, Paths},
    source,
};

/// What the room works with.
#[derive(Clone)]
pub struct Ports {
    pub topics: Arc<dyn Topics>,
    pub store: Arc<dyn Store>,
    pub catalogue: Arc<Catalogue>,
    /// What others wrote with.
    pub schemas: Arc<dyn Schemas>,
    /// The time zones that a profile may name.
    pub zones: Zones,
    pub partitions: Partitions,
    /// By which editions of the catalogue events are written.
    pub editions: Editions,
    pub clock: Clock,
    pub quiet: Quiet,
    pub shutdown: Shutdown,
    pub metrics: IngestMetrics,
}

/// Why nothing was acknowledged.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Trouble {
    #[error("{0}")]
    Busy(String),
    #[error("{0}")]
    Full(String),
    #[error("{0}")]
    Broken(String),
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        let text = error.to_string();
        match error {
            StoreError::Busy(_) => Self::Busy(text),
            StoreError::Full(_) => Self::Full(text),
            StoreError::Broken(_) => Self::Broken(text),
        }
    }
}

impl From<TopicError> for Trouble {
    fn from(error: TopicError) -> Self {
        let text = error.to_string();
        match error {
            TopicError::Busy(_) => Self::Busy(text),
            TopicError::Full(_) => Self::Full(text),
            TopicError::Refused(_) | TopicError::Broken(_) => Self::Broken(text),
        }
    }
}

/// Runs the topic way until the shutdown, or until an engine cannot go on: a loop for `changes`, and one
/// for each source.
pub async fn run(ports: Ports, config: Config) -> anyhow::Result<()> {
    let sources: Vec<SourceDef> = ports.catalogue.sources.values().cloned().collect();
    let sources = sources.into_iter().map(|source| listen(ports.clone(), config.clone(), Some(source)));
    try_join_all(std::iter::once(listen(ports.clone(), config.clone(), None)).chain(sources)).await?;
    Ok(())
}

/// All that is read: groups, and what they read.
pub fn reads(catalogue: &Catalogue) -> Vec<(String, String)> {
    let sources = catalogue.sources.values().map(|source| (group(Some(source)), source.topic.clone()));
    std::iter::once((group(None), topics::CHANGES.to_owned())).chain(sources).collect()
}

fn group(source: Option<&SourceDef>) -> String {
    source.map_or_else(|| GROUP.to_owned(), |source| format!("{GROUP}-{}", source.name))
}

async fn listen(ports: Ports, config: Config, source: Option<SourceDef>) -> anyhow::Result<()> {
    if let Some(source) = &source
        && !is_there(&ports, &source.topic).await?
    {
        return Ok(());
    }
    let lead = source.as_ref().map_or(topics::CHANGES, |source| &source.topic).into();
    let membership = Membership {
        group: group(source.as_ref()).into(),
        lead,
        companions: Vec::new(),
        state: None,
        mode: Mode::Plain,
    };
    let loop_ = Drive {
        topics: ports.topics.clone(),
        membership,
        clock: ports.clock.clone(),
        quiet: ports.quiet.clone(),
        shutdown: ports.shutdown.clone(),
        records_max: config.records_max,
    };
    drive(loop_, &mut Ingest { ports, config, source }).await
}

/// Waits for a topic of others, which may be made later than we are started. The rest of the house does not
/// wait for it. Says whether it came before the shutdown.
async fn is_there(ports: &Ports, topic: &str) -> Result<bool, TopicError> {
    for tries in 0.. {
        match ports.topics.bounds(topic).await {
            Ok(_) => break,
            Err(TopicError::Refused(reason)) if tries == 0 => {
                tracing::warn!(topic, reason, "a source's topic is not there, and is waited for");
            }
            Err(TopicError::Refused(_) | TopicError::Busy(_)) => {}
            Err(error) => return Err(error),
        }
        tokio::select! {
            () = retry::pause(tries, 0) => {}
            () = ports.shutdown.wait() => return Ok(false),
        }
    }
    Ok(true)
}

struct Ingest {
    ports: Ports,
    config: Config,
    /// `None` for `changes`.
    source: Option<SourceDef>,
}

/// What one record says: mostly one thing, and nothing of some rows.
type Read = Result<Vec<Cloud>, Refused>;

#[async_trait]
impl Work for Ingest {
    async fn turn(&mut self, batch: &Batch, _: Option<i64>) -> anyhow::Result<Vec<NewRecord>> {
        let mut reads = Vec::with_capacity(batch.records.len());
        for record in &batch.records {
            reads.push((record, self.read(record).await?));
        }
        let mut heard = Vec::new();
        for (record, read) in &mut reads {
            let seen = self.first_seen(record);
            heard.extend(read.iter_mut().flatten().map(|cloud| (cloud, seen)));
        }
        order::of_facts(heard.into_iter());
        let (mut admitted, mut from, mut rejects) = (Vec::new(), Vec::new(), Vec::new());
        for (record, read) in reads {
            let judged =
                read.and_then(|clouds| clouds.into_iter().map(|cloud| self.judge(cloud, record)).collect());
            match judged {
                Ok(several) => {
                    let several: Vec<Admitted> = several;
                    from.extend(std::iter::repeat_n(record, several.len()));
                    admitted.extend(several);
                }
                Err(reason) => rejects.push(self.quarantined(record, &reason)?),
            }
        }
        self.ports.metrics.refused(Way::Topic, rejects.len());
        let verdicts = apply(&self.ports, Way::Topic, admitted).await?;
        for (record, verdict) in from.into_iter().zip(verdicts) {
            if let Verdict::Refused(refused) = verdict {
                rejects.push(self.quarantined(record, &refused)?);
            }
        }
        Ok(rejects)
    }
}

impl Ingest {
    /// Fails if nobody can say now: what could be read later is not put aside.
    async fn read(&self, record: &Record) -> Result<Read, Trouble> {
        let schemas = &*self.ports.schemas;
        let read = match &self.source {
            None => upstream::change(raw(record), schemas).await.map(|cloud| vec![cloud]).map_err(Into::into),
            Some(source) => rows(source, record, self.first_seen(record), schemas).await,
        };
        match read {
            Ok(clouds) => Ok(Ok(clouds)),
            Err(source::Unusable::Refused(refused)) => Ok(Err(refused)),
            Err(source::Unusable::Unreachable(reason)) => Err(Trouble::Busy(reason)),
        }
    }

    /// Law 3: judged against the instant at which the record was appended, whenever it is read.
    fn judge(&self, cloud: Cloud, record: &Record) -> Result<Admitted, Refused> {
        let Ports { catalogue, zones, .. } = &self.ports;
        let mut admitted = admit(cloud, &self.config.tenant, self.first_seen(record), catalogue, zones)?;
        if let Admitted::Change(change) = &mut admitted {
            change.headers = replay::carried(&record.headers);
        }
        Ok(admitted)
    }

    /// A copy that a replay made was first seen when its original was. Topics of others may have been given times by
    /// whoever wrote to them: what comes from the future was seen now.
    fn first_seen(&self, record: &Record) -> Millis {
        let appended = match self.source {
            None => record.appended,
            Some(_) => record.appended.min(self.ports.clock.now()),
        };
        replay::first_seen(&record.headers, Millis(appended))
    }

    fn quarantined(&self, record: &Record, reason: &impl Display) -> anyhow::Result<NewRecord> {
        let unusable = Unusable {
            topic: &record.topic,
            partition: record.partition,
            offset: record.offset,
            appended: Millis(record.appended),
            key: &record.key,
            value: record.value.as_deref(),
        };
        let now = Millis(self.ports.clock.now());
        let aside = quarantined::of_record(unusable, reason.to_string(), GROUP, now);
        let (key, value) = quarantined::keyed(&aside.with_headers(&record.headers))?;
        Ok(NewRecord {
            topic: topics::QUARANTINE.into(),
            partition: 0,
            key,
            value: Some(value),
            headers: Vec::new(),
        })
    }
}

/// What a record of a source says.
async fn rows(
    source: &SourceDef,
    record: &Record,
    seen: Millis,
    schemas: &dyn Schemas,
) -> Result<Vec<Cloud>, source::Unusable> {
    let raw = raw(record);
    let Some(tells) = &source.tells else { return Ok(vec![upstream::change(raw, schemas).await?]) };
    let row = match source.format {
        Format::CloudEvents => Some(upstream::cloud_row(raw, schemas).await?),
        Format::Json | Format::Avro => Some(upstream::row(raw, schemas).await?),
        Format::Debezium => upstream::debezium(raw, schemas).await?,
    };
    // What says nothing of a row is passed over.
    row.map_or(Ok(Vec::new()), |row| source::clouds(source, tells, record, &row, seen))
}

/// A record as the readers of formats see it.
fn raw(record: &Record) -> Raw<'_> {
    Raw { headers: &record.headers, key: &record.key, value: record.value.as_deref() }
}

/// The desk: when it returns, everything that was taken is stored and announced.
pub(crate) async fn apply(
    ports: &Ports,
    way: Way,
    mut admitted: Vec<Admitted>,
) -> Result<Vec<Verdict>, Trouble> {
    order::of_changes(&mut admitted);
    hear(ports, &mut admitted).await?;
    let mut verdicts = Vec::with_capacity(admitted.len());
    for piece in pieces(admitted) {
        verdicts.extend(apply_piece(ports, way, piece).await?);
    }
    Ok(verdicts)
}

/// Law 1: an event is named by its source and id, and its time is that with which it was first heard. Whoever
/// says it again with another one tells nothing new.
async fn hear(ports: &Ports, admitted: &mut [Admitted]) -> Result<(), StoreError> {
    let changes = admitted.iter_mut().filter_map(|one| match one {
        Admitted::Change(change) => Some(change),
        _ => None,
    });
    let changes: Vec<&mut Change> = changes.collect();
    if changes.is_empty() {
        return Ok(());
    }
    let said: Vec<_> = changes.iter().map(|change| (change.key, change.word())).collect();
    let standing = ports.store.first_words(&said, Millis(ports.clock.now())).await?;
    changes.into_iter().zip(standing).for_each(|(change, first)| change.stand(first));
    Ok(())
}

/// In order, in pieces that are not much more written out than they are now.
pub(crate) fn pieces(admitted: Vec<Admitted>) -> Vec<Vec<Admitted>> {
    let mut pieces: Vec<Vec<Admitted>> = Vec::new();
    let mut left = 0_usize;
    for one in admitted {
        let extra = match &one {
            Admitted::Change(change) => change.extra_bytes(),
            _ => 0,
        };
        match pieces.last_mut() {
            Some(piece) if extra <= left => piece.push(one),
            _ => {
                pieces.push(vec![one]);
                left = EXTRA_BYTES_MAX;
            }
        }
        left = left.saturating_sub(extra);
    }
    pieces
}

async fn apply_piece(ports: &Ports, way: Way, admitted: Vec<Admitted>) -> Result<Vec<Verdict>, Trouble> {
    let now = Millis(ports.clock.now());
    let known = ask(ports, Questions::of(&admitted, now), now).await?;
    let sorts: Vec<&str> = admitted.iter().map(sort_of).collect();
    let Effects { mut enrolments, states, mut left, marks, mut records, verdicts } =
        Effects::of(admitted, &known, now);
    let edition = ports.editions.own();
    for event in records.iter_mut().filter(|record| &*record.topic == topics::EVENTS) {
        event.headers = note::stamped(std::mem::take(&mut event.headers), edition);
    }
    let store = &ports.store;
    if fault::planted(Fault::LeftFirst) {
        enrolments.append(&mut left);
    }
    // Law 4: who moves is found by the crowds of the new place before the profile names it, and by those of the
    // old one until it does. Nothing else depends on another.
    let crowds_around_states = async {
        if !enrolments.is_empty() {
            store.enrol(enrolments).await?;
        }
        let is_move = !left.is_empty();
        if is_move {
            crash::point(crash::ENTERED);
        }
        if !states.is_empty() {
            store.merge(states.into_iter().collect()).await?;
        }
        if is_move {
            crash::point(crash::MOVED);
            store.enrol(left).await?;
        }
        Ok(())
    };
    try_join!(crowds_around_states, async {
        if marks.is_empty() { Ok(()) } else { store.write(marks, now).await }
    })?;
    if !records.is_empty() {
        ports.topics.append(records).await?;
    }
    for (sort, verdict) in sorts.into_iter().zip(&verdicts) {
        ports.metrics.applied(way, sort, verdict);
    }
    Ok(verdicts)
}

/// What came back of mails, as a provider tells of many. Says how many of them are ours.
pub(crate) async fn returned(
    ports: &Ports,
    way: &str,
    paths: &Paths,
    came: Vec<Came>,
) -> Result<usize, Trouble> {
    let all = came.len();
    let backs: Vec<Back> = came.into_iter().filter_map(|came| paths.back(came)).collect();
    (backs.len()..all).for_each(|_| ports.metrics.returned(way, "unknown"));
    let mut taken = 0;
    for some in backs.chunks(RETURNS_AT_ONCE) {
        taken += note(ports, way, some).await?;
    }
    Ok(taken)
}

/// A mail that came to return paths. When this returns, what follows from it is stored and announced.
pub async fn heard(
    ports: &Ports,
    paths: &Paths,
    to: &BTreeSet<String>,
    mail: Vec<u8>,
) -> Result<(), Trouble> {
    const WAY: &str = "smtp";
    let _at_work = ports.quiet.worker();
    // Read once, whomever it is to, and beside the threads that turns run on.
    let letter = spawn_blocking(move || back::mail(&mail)).await;
    let letter = letter.map_err(|_| Trouble::Broken("the reader of a mail was stopped".to_owned()))?;
    for to in to {
        match paths.heard(to, &letter) {
            Heard::Back(back) => {
                note(ports, WAY, &[back]).await?;
            }
            Heard::Nothing(why) => ports.metrics.returned(WAY, why),
        }
    }
    Ok(())
}

/// Law 4: noted, then told.
async fn note(ports: &Ports, way: &str, backs: &[Back]) -> Result<usize, Trouble> {
    let now = Millis(ports.clock.now());
    let slips = try_join_all(backs.iter().map(|back| ports.store.slip(back.ready, now))).await?;
    let keys: Vec<StateKey> = slips.iter().flatten().map(returns::notes_of).collect();
    let known = if keys.is_empty() { Vec::new() } else { ports.store.states(&keys).await? };
    let mut known = known.into_iter();
    let mut ours = Vec::new();
    for (back, slip) in backs.iter().zip(&slips) {
        let Some(slip) = slip else {
            // Older than what is kept, or of another house with the same secret.
            ports.metrics.returned(way, "unknown");
            continue;
        };
        // Of who was erased nothing is noted any more.
        if known.next().is_some_and(|notes| !notes.flag(notes::ERASED)) {
            ours.push((back, slip));
        }
    }
    if ours.is_empty() {
        return Ok(0);
    }
    let broken = |error: WireError| Trouble::Broken(error.to_string());
    let Noted { states, records } = returns::noted(ours.iter().copied(), now).map_err(broken)?;
    ports.store.merge(states).await?;
    ports.topics.append(records).await?;
    ours.iter().for_each(|(back, _)| ports.metrics.returned(way, back.what.name()));
    Ok(ours.len())
}

async fn ask(ports: &Ports, questions: Questions, now: Millis) -> Result<Known, StoreError> {
    let states = async {
        let keys: Vec<StateKey> = questions.states.into_iter().collect();
        let states: Vec<State> = if keys.is_empty() { Vec::new() } else { ports.store.states(&keys).await? };
        Ok::<BTreeMap<_, _>, StoreError>(keys.into_iter().zip(states).collect())
    };
    let days = async {
        let keys: Vec<DayKey> = questions.days.into_iter().collect();
        let rows = if keys.is_empty() { Vec::new() } else { ports.store.read(&keys, now).await? };
        Ok::<BTreeMap<_, _>, StoreError>(keys.into_iter().zip(rows).collect())
    };
    let (states, days) = try_join!(states, days)?;
    let have_badges = ports.catalogue.plans.have_badges();
    Ok(Known { states, days, partitions: ports.partitions, have_badges })
}
