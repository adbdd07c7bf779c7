//! The topic way, and the desk of both ways: stored, then announced, then acknowledged.

use std::{collections::BTreeMap, fmt::Display, sync::Arc};

use async_trait::async_trait;
use catalogue::Catalogue;
use futures::{future::try_join_all, try_join};
use model::{EventKey, Millis, State, Tenant, civil::Zones, entry::DayKey, partition::Partitions};
use runtime::{Clock, Quiet, Shutdown};
use store::{StateKey, Store, StoreError};
use topic::{
    Batch, Membership, Mode, NewRecord, Record, TopicError, Topics,
    drive::{Drive, Work, drive},
};
use wire::{Cloud, quarantined::Unusable, topics};

use crate::{
    admit::{Admitted, Refused, Sort, admit},
    config::{Config, EXTRA_BYTES_MAX, GROUP},
    effects::{Effects, Known, Questions, Verdict},
    metrics::{IngestMetrics, Way, sort_of},
};

/// What the room works with.
#[derive(Clone)]
pub struct Ports {
    pub topics: Arc<dyn Topics>,
    pub store: Arc<dyn Store>,
    pub catalogue: Arc<Catalogue>,
    /// The time zones that a profile may name.
    pub zones: Zones,
    pub partitions: Partitions,
    pub clock: Clock,
    pub quiet: Quiet,
    pub shutdown: Shutdown,
    pub metrics: IngestMetrics,
}

/// Why nothing was acknowledged.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum Trouble {
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

/// Runs the topic way until the shutdown, or until an engine cannot go on.
pub async fn run(ports: Ports, config: Config) -> anyhow::Result<()> {
    let membership = Membership {
        group: GROUP.into(),
        lead: topics::CHANGES.into(),
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
    drive(loop_, &mut Ingest { ports, config }).await
}

struct Ingest {
    ports: Ports,
    config: Config,
}

#[async_trait]
impl Work for Ingest {
    async fn turn(&mut self, batch: &Batch, _: Option<i64>) -> anyhow::Result<Vec<NewRecord>> {
        let (mut admitted, mut from, mut rejects) = (Vec::new(), Vec::new(), Vec::new());
        let mut clouds: Vec<Result<Cloud, Refused>> = batch.records.iter().map(read).collect();
        let heard = clouds.iter_mut().zip(&batch.records);
        let heard = heard.filter_map(|(cloud, record)| Some((cloud.as_mut().ok()?, Millis(record.appended))));
        first_heard(&self.ports, &self.config.tenant, heard).await?;
        for (record, cloud) in batch.records.iter().zip(clouds) {
            match cloud.and_then(|cloud| self.judge(cloud, record)) {
                Ok(one) => {
                    admitted.push(one);
                    from.push(record);
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
    /// Law 3: judged against the instant at which the record was appended, whenever it is read.
    fn judge(&self, cloud: Cloud, record: &Record) -> Result<Admitted, Refused> {
        let Ports { catalogue, zones, .. } = &self.ports;
        admit(cloud, &self.config.tenant, Millis(record.appended), catalogue, zones)
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
        let aside = wire::quarantined::of_record(unusable, reason.to_string(), GROUP, now);
        let value = Some(wire::quarantined::encode(&aside)?);
        Ok(NewRecord {
            topic: topics::QUARANTINE.into(),
            partition: 0,
            key: record.key.clone(),
            value,
            headers: Vec::new(),
        })
    }
}

fn read(record: &Record) -> Result<Cloud, Refused> {
    let value = record.value.as_ref().ok_or_else(|| Refused::new("/", "the record has no value"))?;
    wire::change::decode(value).map_err(|error| Refused::new("/", error.to_string()))
}

/// A change without a time of its own occurred when it was first heard of: said again, under the same
/// source and id, it is the same event and not a second one. Remembered for as long as answers are.
pub(crate) async fn first_heard(
    ports: &Ports,
    tenant: &Tenant,
    clouds: impl Iterator<Item = (&mut Cloud, Millis)>,
) -> Result<(), StoreError> {
    let timeless =
        clouds.filter(|(cloud, _)| cloud.time.is_none() && Sort::of(&cloud.what) == Ok(Sort::Change));
    let remember = timeless.map(|(cloud, heard)| async move {
        let key = format!("time:{}", EventKey::of(tenant, &cloud.source, &cloud.id));
        let stands = ports.store.answer(tenant, &key, heard.0.to_be_bytes().to_vec(), heard).await?;
        let first = stands.try_into().map_or(heard, |bytes| Millis(i64::from_be_bytes(bytes)));
        cloud.time = Some(first);
        Ok(())
    });
    try_join_all(remember).await.map(|_| ())
}

/// The desk: when it returns, everything that was taken is stored and announced.
pub(crate) async fn apply(ports: &Ports, way: Way, admitted: Vec<Admitted>) -> Result<Vec<Verdict>, Trouble> {
    let mut verdicts = Vec::with_capacity(admitted.len());
    for piece in pieces(admitted) {
        verdicts.extend(apply_piece(ports, way, piece).await?);
    }
    Ok(verdicts)
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
    let Effects { enrolments, states, marks, records, verdicts } = Effects::of(admitted, &known, now);
    let store = &ports.store;
    // A move enrols before its place is merged: until then the old one is known, and a crash in between is
    // mended when the same comes again. Nothing else depends on another.
    let crowds_then_states = async {
        if !enrolments.is_empty() {
            store.enrol(enrolments).await?;
        }
        if states.is_empty() { Ok(()) } else { store.merge(states.into_iter().collect()).await }
    };
    try_join!(crowds_then_states, async {
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
    Ok(Known { states, days, partitions: ports.partitions })
}
