//! The topic way, and the desk of both ways: stored, then announced, then acknowledged.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Display,
    sync::Arc,
};

use async_trait::async_trait;
use catalogue::{Catalogue, SourceDef, SourceFormat};
use courier::mail_returns::{self, ReturnedMail};
use futures::{future::try_join_all, try_join};
use model::{
    UtcMillis, VersionedState,
    civil_time::ZoneRules,
    edition::EditionTracker,
    entry::DayKey,
    fault::{self, PlantedFault},
    partition::PartitionCount,
    person::notes,
};
use runtime::{Clock, ShutdownSignal, WorkTracker, crash_point, retry};
use store::{StateKey, Store, StoreError};
use tokio::task::spawn_blocking;
use topic::{
    GroupMembership, NewRecord, RecordBatch, TopicError, TopicRecord, Topics, TurnGuarantee,
    drive::{DriveDeps, RoomWork, run_room},
};
use wire::{
    CloudChange, SchemaSource, WireError, house_note,
    quarantine::{self, UnusableRecord},
    replay, topics,
    upstream::{self, UpstreamRecord},
};

use crate::{
    admission::{AdmittedItem, admit_cloud_event},
    admission_error::AdmissionError,
    change::AdmittedChange,
    config::{Config, EXTRA_BYTES_MAX, GROUP, RETURNS_AT_ONCE},
    effects::{IntakeEffects, IntakeFacts, IntakeQuestions, IntakeVerdict},
    metrics::{IngestMetrics, IntakeWay, sort_of},
    order,
    returns::{self, MailReturn, ReturnEffects, ReturnPaths, ReturnReading},
    source,
};

/// What the room works with.
#[derive(Clone)]
pub struct Deps {
    pub topics: Arc<dyn Topics>,
    pub store: Arc<dyn Store>,
    pub catalogue: Arc<Catalogue>,
    /// What others wrote with.
    pub schemas: Arc<dyn SchemaSource>,
    /// The time zones that a profile may name.
    pub zones: ZoneRules,
    pub partitions: PartitionCount,
    /// By which editions of the catalogue events are written.
    pub editions: EditionTracker,
    pub clock: Clock,
    pub quiet: WorkTracker,
    pub shutdown: ShutdownSignal,
    pub metrics: IngestMetrics,
}

/// Why nothing was acknowledged.
#[derive(Clone, Debug, thiserror::Error)]
pub enum IngestError {
    #[error("{0}")]
    Busy(String),
    #[error("{0}")]
    Full(String),
    #[error("{0}")]
    Broken(String),
}

impl From<StoreError> for IngestError {
    fn from(error: StoreError) -> Self {
        let text = error.to_string();
        match error {
            StoreError::Busy(_) => Self::Busy(text),
            StoreError::Full(_) => Self::Full(text),
            StoreError::Broken(_) => Self::Broken(text),
        }
    }
}

impl From<TopicError> for IngestError {
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
pub async fn run(deps: Deps, config: Config) -> anyhow::Result<()> {
    let sources: Vec<SourceDef> = deps.catalogue.sources.values().cloned().collect();
    let sources = sources.into_iter().map(|source| run_loop(deps.clone(), config.clone(), Some(source)));
    try_join_all(std::iter::once(run_loop(deps.clone(), config.clone(), None)).chain(sources)).await?;
    Ok(())
}

/// All that is read: groups, and what they read.
pub fn subscriptions(catalogue: &Catalogue) -> Vec<(String, String)> {
    let sources = catalogue.sources.values().map(|source| (group_name(Some(source)), source.topic.clone()));
    std::iter::once((group_name(None), topics::CHANGES.to_owned())).chain(sources).collect()
}

fn group_name(source: Option<&SourceDef>) -> String {
    source.map_or_else(|| GROUP.to_owned(), |source| format!("{GROUP}-{}", source.name))
}

async fn run_loop(deps: Deps, config: Config, source: Option<SourceDef>) -> anyhow::Result<()> {
    if let Some(source) = &source
        && !wait_for_topic(&deps, &source.topic).await?
    {
        return Ok(());
    }
    let lead = source.as_ref().map_or(topics::CHANGES, |source| &source.topic).into();
    let membership = GroupMembership {
        group: group_name(source.as_ref()).into(),
        lead,
        companions: Vec::new(),
        state: None,
        mode: TurnGuarantee::Plain,
    };
    let loop_ = DriveDeps {
        topics: deps.topics.clone(),
        membership,
        clock: deps.clock.clone(),
        quiet: deps.quiet.clone(),
        shutdown: deps.shutdown.clone(),
        records_max: config.records_max,
    };
    run_room(loop_, &mut IngestWork { deps, config, source }).await
}

/// Waits for a topic of others, which may be made later than we are started. The rest of the house does not
/// wait for it. Says whether it came before the shutdown.
async fn wait_for_topic(deps: &Deps, topic: &str) -> Result<bool, TopicError> {
    for tries in 0.. {
        match deps.topics.bounds(topic).await {
            Ok(_) => break,
            Err(TopicError::Refused(reason)) if tries == 0 => {
                tracing::warn!(topic, reason, "a source's topic is not there, and is waited for");
            }
            Err(TopicError::Refused(_) | TopicError::Busy(_)) => {}
            Err(error) => return Err(error),
        }
        tokio::select! {
            () = retry::pause_before_retry(tries, 0) => {}
            () = deps.shutdown.wait() => return Ok(false),
        }
    }
    Ok(true)
}

struct IngestWork {
    deps: Deps,
    config: Config,
    /// `None` for `changes`.
    source: Option<SourceDef>,
}

/// What one record says: mostly one thing, and nothing of some rows.
type RecordClouds = Result<Vec<CloudChange>, AdmissionError>;

#[async_trait]
impl RoomWork for IngestWork {
    async fn turn(&mut self, batch: &RecordBatch, _: Option<i64>) -> anyhow::Result<Vec<NewRecord>> {
        let mut reads = Vec::with_capacity(batch.records.len());
        for record in &batch.records {
            reads.push((record, self.read_record(record).await?));
        }
        let mut heard = Vec::new();
        for (record, read) in &mut reads {
            let seen = self.first_seen(record);
            heard.extend(read.iter_mut().flatten().map(|cloud| (cloud, seen)));
        }
        order::order_facts(heard.into_iter());
        let (mut admitted, mut from, mut rejects) = (Vec::new(), Vec::new(), Vec::new());
        for (record, read) in reads {
            let judged = read
                .and_then(|clouds| clouds.into_iter().map(|cloud| self.judge_cloud(cloud, record)).collect());
            match judged {
                Ok(several) => {
                    let several: Vec<AdmittedItem> = several;
                    from.extend(std::iter::repeat_n(record, several.len()));
                    admitted.extend(several);
                }
                Err(reason) => rejects.push(self.quarantine_record(record, &reason)?),
            }
        }
        self.deps.metrics.count_refused(IntakeWay::Topic, rejects.len());
        let verdicts = apply_items(&self.deps, IntakeWay::Topic, admitted).await?;
        for (record, verdict) in from.into_iter().zip(verdicts) {
            if let IntakeVerdict::Refused(refused) = verdict {
                rejects.push(self.quarantine_record(record, &refused)?);
            }
        }
        Ok(rejects)
    }
}

impl IngestWork {
    /// Fails if nobody can say now: what could be read later is not put aside.
    async fn read_record(&self, record: &TopicRecord) -> Result<RecordClouds, IngestError> {
        let schemas = &*self.deps.schemas;
        let read = match &self.source {
            None => upstream::read_change(raw_record(record), schemas)
                .await
                .map(|cloud| vec![cloud])
                .map_err(Into::into),
            Some(source) => source_clouds(source, record, self.first_seen(record), schemas).await,
        };
        match read {
            Ok(clouds) => Ok(Ok(clouds)),
            Err(source::SourceRecordError::Refused(refused)) => Ok(Err(refused)),
            Err(source::SourceRecordError::Unreachable(reason)) => Err(IngestError::Busy(reason)),
        }
    }

    /// Law 3: judged against the instant at which the record was appended, whenever it is read.
    fn judge_cloud(&self, cloud: CloudChange, record: &TopicRecord) -> Result<AdmittedItem, AdmissionError> {
        let Deps { catalogue, zones, .. } = &self.deps;
        let mut admitted =
            admit_cloud_event(cloud, &self.config.tenant, self.first_seen(record), catalogue, zones)?;
        if let AdmittedItem::Change(change) = &mut admitted {
            change.headers = replay::carry_headers(&record.headers);
        }
        Ok(admitted)
    }

    /// A copy that a replay made was first seen when its original was. Topics of others may have been given times by
    /// whoever wrote to them: what comes from the future was seen now.
    fn first_seen(&self, record: &TopicRecord) -> UtcMillis {
        let appended = match self.source {
            None => record.appended,
            Some(_) => record.appended.min(self.deps.clock.now()),
        };
        replay::first_seen(&record.headers, UtcMillis(appended))
    }

    fn quarantine_record(&self, record: &TopicRecord, reason: &impl Display) -> anyhow::Result<NewRecord> {
        let unusable = UnusableRecord {
            topic: &record.topic,
            partition: record.partition,
            offset: record.offset,
            appended: UtcMillis(record.appended),
            key: &record.key,
            value: record.value.as_deref(),
        };
        let now = UtcMillis(self.deps.clock.now());
        let aside = quarantine::put_aside(unusable, reason.to_string(), GROUP, now);
        let (key, value) = quarantine::encode_with_key(&aside.with_headers(&record.headers))?;
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
async fn source_clouds(
    source: &SourceDef,
    record: &TopicRecord,
    seen: UtcMillis,
    schemas: &dyn SchemaSource,
) -> Result<Vec<CloudChange>, source::SourceRecordError> {
    let raw = raw_record(record);
    let Some(tells) = &source.tells else { return Ok(vec![upstream::read_change(raw, schemas).await?]) };
    let row = match source.format {
        SourceFormat::CloudEvents => Some(upstream::read_cloud_row(raw, schemas).await?),
        SourceFormat::Json | SourceFormat::Avro => Some(upstream::read_row(raw, schemas).await?),
        SourceFormat::Debezium => upstream::read_debezium(raw, schemas).await?,
    };
    // What says nothing of a row is passed over.
    row.map_or(Ok(Vec::new()), |row| source::clouds_of_row(source, tells, record, &row, seen))
}

/// A record as the readers of formats see it.
fn raw_record(record: &TopicRecord) -> UpstreamRecord<'_> {
    UpstreamRecord { headers: &record.headers, key: &record.key, value: record.value.as_deref() }
}

/// The desk: when it returns, everything that was taken is stored and announced.
pub(crate) async fn apply_items(
    deps: &Deps,
    way: IntakeWay,
    mut admitted: Vec<AdmittedItem>,
) -> Result<Vec<IntakeVerdict>, IngestError> {
    order::order_changes(&mut admitted);
    apply_first_words(deps, &mut admitted).await?;
    let mut verdicts = Vec::with_capacity(admitted.len());
    for piece in split_pieces(admitted) {
        verdicts.extend(apply_piece(deps, way, piece).await?);
    }
    Ok(verdicts)
}

/// Law 1: an event is named by its source and id, and its time is that with which it was first heard. Whoever
/// says it again with another one tells nothing new.
async fn apply_first_words(deps: &Deps, admitted: &mut [AdmittedItem]) -> Result<(), StoreError> {
    let changes = admitted.iter_mut().filter_map(|one| match one {
        AdmittedItem::Change(change) => Some(change),
        _ => None,
    });
    let changes: Vec<&mut AdmittedChange> = changes.collect();
    if changes.is_empty() {
        return Ok(());
    }
    let said: Vec<_> = changes.iter().map(|change| (change.key, change.first_word())).collect();
    let standing = deps.store.first_words(&said, UtcMillis(deps.clock.now())).await?;
    changes.into_iter().zip(standing).for_each(|(change, first)| change.apply_first_word(first));
    Ok(())
}

/// In order, in pieces that are not much more written out than they are now.
pub(crate) fn split_pieces(admitted: Vec<AdmittedItem>) -> Vec<Vec<AdmittedItem>> {
    let mut pieces: Vec<Vec<AdmittedItem>> = Vec::new();
    let mut left = 0_usize;
    for one in admitted {
        let extra = match &one {
            AdmittedItem::Change(change) => change.extra_bytes(),
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

async fn apply_piece(
    deps: &Deps,
    way: IntakeWay,
    admitted: Vec<AdmittedItem>,
) -> Result<Vec<IntakeVerdict>, IngestError> {
    let now = UtcMillis(deps.clock.now());
    let known = load_facts(deps, IntakeQuestions::from_admitted(&admitted, now), now).await?;
    let sorts: Vec<&str> = admitted.iter().map(sort_of).collect();
    let IntakeEffects { mut enrolments, states, mut left, marks, mut records, verdicts } =
        IntakeEffects::from_admitted(admitted, &known, now);
    let edition = deps.editions.own_edition();
    for event in records.iter_mut().filter(|record| &*record.topic == topics::EVENTS) {
        event.headers = house_note::stamp_headers(std::mem::take(&mut event.headers), edition);
    }
    let store = &deps.store;
    if fault::is_planted(PlantedFault::LeftFirst) {
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
            crash_point::point(crash_point::ENTERED);
        }
        if !states.is_empty() {
            store.merge(states.into_iter().collect()).await?;
        }
        if is_move {
            crash_point::point(crash_point::MOVED);
            store.enrol(left).await?;
        }
        Ok(())
    };
    try_join!(crowds_around_states, async {
        if marks.is_empty() { Ok(()) } else { store.write(marks, now).await }
    })?;
    if !records.is_empty() {
        deps.topics.append(records).await?;
    }
    for (sort, verdict) in sorts.into_iter().zip(&verdicts) {
        deps.metrics.count_verdict(way, sort, verdict);
    }
    Ok(verdicts)
}

/// What came back of mails, as a provider tells of many. Says how many of them are ours.
pub(crate) async fn apply_returns(
    deps: &Deps,
    way: &str,
    paths: &ReturnPaths,
    came: Vec<ReturnedMail>,
) -> Result<usize, IngestError> {
    let all = came.len();
    let backs: Vec<MailReturn> = came.into_iter().filter_map(|came| paths.match_return(came)).collect();
    (backs.len()..all).for_each(|_| deps.metrics.count_return(way, "unknown"));
    let mut taken = 0;
    for some in backs.chunks(RETURNS_AT_ONCE) {
        taken += store_returns(deps, way, some).await?;
    }
    Ok(taken)
}

/// A mail that came to return paths. When this returns, what follows from it is stored and announced.
pub async fn apply_return_mail(
    deps: &Deps,
    paths: &ReturnPaths,
    to: &BTreeSet<String>,
    mail: Vec<u8>,
) -> Result<(), IngestError> {
    const WAY: &str = "smtp";
    let _at_work = deps.quiet.begin_work();
    // Read once, whomever it is to, and beside the threads that turns run on.
    let letter = spawn_blocking(move || mail_returns::read_mail(&mail)).await;
    let letter = letter.map_err(|_| IngestError::Broken("the reader of a mail was stopped".to_owned()))?;
    for to in to {
        match paths.read_letter(to, &letter) {
            ReturnReading::Back(back) => {
                store_returns(deps, WAY, &[back]).await?;
            }
            ReturnReading::Nothing(why) => deps.metrics.count_return(WAY, why),
        }
    }
    Ok(())
}

/// Law 4: noted, then told.
async fn store_returns(deps: &Deps, way: &str, backs: &[MailReturn]) -> Result<usize, IngestError> {
    let now = UtcMillis(deps.clock.now());
    let slips = try_join_all(backs.iter().map(|back| deps.store.slip(back.ready, now))).await?;
    let keys: Vec<StateKey> = slips.iter().flatten().map(returns::notes_key).collect();
    let known = if keys.is_empty() { Vec::new() } else { deps.store.states(&keys).await? };
    let mut known = known.into_iter();
    let mut ours = Vec::new();
    for (back, slip) in backs.iter().zip(&slips) {
        let Some(slip) = slip else {
            // Older than what is kept, or of another house with the same secret.
            deps.metrics.count_return(way, "unknown");
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
    let broken = |error: WireError| IngestError::Broken(error.to_string());
    let ReturnEffects { states, records } =
        returns::decide_returns(ours.iter().copied(), now).map_err(broken)?;
    deps.store.merge(states).await?;
    deps.topics.append(records).await?;
    ours.iter().for_each(|(back, _)| deps.metrics.count_return(way, back.what.name()));
    Ok(ours.len())
}

async fn load_facts(
    deps: &Deps,
    questions: IntakeQuestions,
    now: UtcMillis,
) -> Result<IntakeFacts, StoreError> {
    let states = async {
        let keys: Vec<StateKey> = questions.states.into_iter().collect();
        let states: Vec<VersionedState> =
            if keys.is_empty() { Vec::new() } else { deps.store.states(&keys).await? };
        Ok::<BTreeMap<_, _>, StoreError>(keys.into_iter().zip(states).collect())
    };
    let days = async {
        let keys: Vec<DayKey> = questions.days.into_iter().collect();
        let rows = if keys.is_empty() { Vec::new() } else { deps.store.read(&keys, now).await? };
        Ok::<BTreeMap<_, _>, StoreError>(keys.into_iter().zip(rows).collect())
    };
    let (states, days) = try_join!(states, days)?;
    let have_badges = deps.catalogue.plans.have_badges();
    Ok(IntakeFacts { states, days, partitions: deps.partitions, have_badges })
}
