//! What a member does on threads where it may block.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use rdkafka::{
    consumer::{BaseConsumer, CommitMode, Consumer as _},
    error::RDKafkaErrorCode as Code,
};
use runtime::clock::SteadyStopwatch;
use topic::port::{CommitError, NewRecord, TopicError, TopicOffsets, TopicRecord, TurnGuarantee};

use super::{
    group_context::KafkaGroupContext,
    member_state::KafkaMemberShared,
    partition_slot::PartitionSlot,
    transaction::{self, TransactionWrite, is_left_out},
};
use crate::{
    append,
    client_context::KafkaClientContext,
    errors::{code_error, error_code, kafka_error, outside_error},
    kafka_state::KafkaState,
    metadata_client,
    names::WireTopic,
    scan::{self, PartitionRef},
};

/// Between tries at a cluster that is away.
const PAUSE: Duration = Duration::from_millis(300);
/// Between two times that it is said why one waits.
const SAY: Duration = Duration::from_secs(15);
/// Between tries at a group that is changing hands.
const CHANGING: Duration = Duration::from_millis(50);

/// A member's clients and what it works on. The clients come before what their threads report to.
pub struct MemberClients {
    pub group: Arc<BaseConsumer<KafkaGroupContext>>,
    pub reader: Arc<BaseConsumer<KafkaClientContext>>,
    pub shared: Arc<KafkaMemberShared>,
    /// The group's name here.
    pub name: Arc<str>,
    /// The lead, then its companions.
    pub topics: Arc<[WireTopic]>,
    pub state: Option<WireTopic>,
    pub mode: TurnGuarantee,
    pub inner: Arc<KafkaState>,
}

impl MemberClients {
    /// Tries until it works out, or until it is known that it will not: a room must outlive a cluster that
    /// is away for a while.
    pub fn retry_until_done<T>(
        &self,
        mut work: impl FnMut() -> Result<T, TopicError>,
    ) -> Result<T, TopicError> {
        let mut said: Option<SteadyStopwatch> = None;
        loop {
            match work() {
                Err(TopicError::Busy(why)) => {
                    if said.as_ref().is_none_or(|said| said.elapsed() > SAY) {
                        tracing::warn!(group = %self.name, why, "waiting for kafka");
                        said = Some(SteadyStopwatch::start());
                    }
                }
                other => return other,
            }
            self.inner.check()?;
            if self.shared.wait(PAUSE) {
                break;
            }
        }
        Err(TopicError::Broken("the log was closed".to_owned()))
    }

    /// Shuts out whoever had these partitions before, then looks up where to go on: in this order, so that
    /// nothing that was still committed is missed.
    pub fn take_over(&self, claims: &BTreeMap<u32, u64>) -> Result<Vec<(u32, PartitionSlot)>, TopicError> {
        let partitions: Vec<u32> = claims.keys().copied().collect();
        let settings = &self.inner.settings;
        let transactors = match self.mode {
            TurnGuarantee::Atomic => {
                transaction::open_all(settings, &self.inner.voice, &self.name, &partitions)?
                    .into_iter()
                    .map(Some)
                    .collect()
            }
            TurnGuarantee::Plain => vec![None; partitions.len()],
        };
        self.learn_leaders()?;
        let starts = self.read_starts(&partitions)?;
        let metadata = self.group.group_metadata().map(Arc::new);
        let slots = claims.iter().zip(transactors).zip(starts);
        Ok(slots
            .map(|(((partition, claim), transactor), starts)| {
                let mut slot = PartitionSlot::new(*claim, new_generation(), &starts);
                slot.transactor = transactor;
                slot.metadata.clone_from(&metadata);
                (*partition, slot)
            })
            .collect())
    }

    /// Has the reader learn who leads its topics. It would find out by itself, but not within a second.
    fn learn_leaders(&self) -> Result<(), TopicError> {
        for topic in self.topics.iter() {
            let found = self.reader.fetch_metadata(Some(&topic.wire), metadata_client::PATIENCE);
            found.map_err(|error| kafka_error(&format!("asking for topic `{}`", topic.name), &error))?;
        }
        Ok(())
    }

    /// Where reading goes on, for each partition and topic. A partition never committed starts at its
    /// first offset; a position outside of its partition is for a person to decide about.
    pub fn read_starts(&self, partitions: &[u32]) -> Result<Vec<Vec<u64>>, TopicError> {
        let pairs = partitions.iter().flat_map(|partition| self.topics.iter().map(move |t| (t, *partition)));
        let places: Vec<(&str, u32)> = pairs.map(|(topic, partition)| (&*topic.wire, partition)).collect();
        let committed = metadata_client::read_committed(&self.reader, &places, metadata_client::PATIENCE)?;
        let bounds = self.inner.asker.bounds(&places)?;
        let mut out = Vec::with_capacity(partitions.len());
        let found: Vec<_> = places.iter().zip(committed).zip(bounds).collect();
        for some in found.chunks(self.topics.len()) {
            let starts = some.iter().map(|(((wire, partition), committed), (first, end))| {
                let at = committed.unwrap_or(*first);
                if (*first..=*end).contains(&at) {
                    return Ok(at);
                }
                Err(outside_error(&self.name, (wire, *partition), at, (*first, *end)))
            });
            out.push(starts.collect::<Result<_, _>>()?);
        }
        Ok(out)
    }

    /// Reading goes back to what is committed.
    pub fn rewind(&self, partition: u32, generation: u64) -> Result<(), TopicError> {
        let starts = self.read_starts(&[partition])?.pop().unwrap_or_default();
        let metadata = self.group.group_metadata().map(Arc::new);
        self.shared.update_for_thread(|state| {
            state.restart(partition, generation, starts, metadata);
        });
        Ok(())
    }

    /// The ends of a partition's topics.
    pub fn ends(&self, partition: u32) -> Result<TopicOffsets, TopicError> {
        let places: Vec<(&str, u32)> = self.topics.iter().map(|topic| (&*topic.wire, partition)).collect();
        let ends = self.inner.asker.offsets(&places, rdkafka::Offset::End)?;
        Ok(self.topics.iter().map(|topic| topic.name.clone()).zip(ends).collect())
    }

    /// The latest record of each key. The predecessor is shut out already, so what it had begun is decided
    /// or about to be, and is waited for: up to the end that is seen without asking whether it is decided.
    pub fn restore(&self, state: &WireTopic, partition: u32) -> Result<Vec<TopicRecord>, TopicError> {
        let inner = &self.inner;
        let place = [(&*state.wire, partition)];
        let (first, end) = inner.uncommitted_client()?.bounds(&place)?.first().copied().unwrap_or_default();
        let decided = inner.asker.offsets(&place, rdkafka::Offset::End)?.first().copied().unwrap_or_default();
        if decided < end {
            let (wire, group) = (&state.wire, &self.name);
            let why =
                format!("a transaction in {wire}/{partition} is not decided yet; `{group}` waits for it");
            return Err(TopicError::Busy(why));
        }
        let mut latest: HashMap<Vec<u8>, TopicRecord> = HashMap::new();
        let at = PartitionRef { wire: &state.wire, partition };
        inner.lookers.scan_records(&inner.settings, &inner.voice, &at, first..end, |message| {
            let record = scan::read_record(&state.name, message);
            if record.value.is_some() {
                latest.insert(record.key.clone(), record);
            } else {
                latest.remove(&record.key);
            }
            true
        })?;
        let mut records: Vec<TopicRecord> = latest.into_values().collect();
        records.sort_unstable_by_key(|record| record.offset);
        Ok(records)
    }

    /// Commits a turn of a partition in hand.
    pub fn commit(
        &self,
        partition: u32,
        generation: u64,
        offsets: &[(usize, u64)],
        records: &[NewRecord],
    ) -> Result<(), CommitError> {
        self.retry_until_done(|| self.inner.check_records(records))?;
        let lost = || CommitError::Lost(self.not_ours_reason(partition));
        let (transactor, metadata) = {
            let state = self.shared.lock_state();
            let slot = state.slot(partition, generation).ok_or_else(lost)?;
            (slot.transactor.clone(), slot.metadata.clone())
        };
        let places: Vec<_> = offsets
            .iter()
            .filter_map(|(side, offset)| Some((&*self.topics.get(*side)?.wire, partition, *offset)))
            .collect();
        let list = metadata_client::position_list(&places)
            .map_err(|error| TopicError::Refused(error.to_string()))?;
        let Some(transactor) = transactor else {
            return self.commit_offsets(partition, generation, &list);
        };
        let mut metadata = metadata.ok_or_else(lost)?;
        let settings = &self.inner.settings;
        let stamp = append::append_stamp(settings, &self.inner.clock);
        let began = SteadyStopwatch::start();
        loop {
            let write = TransactionWrite { settings, records, stamp, offsets: &list, metadata: &metadata };
            let failure = match transactor.commit(&*self.shared, &write) {
                Ok(()) => return Ok(()),
                Err(failure) => failure,
            };
            if !failure.is_stale() || began.elapsed() > settings.session || self.shared.wait(CHANGING) {
                return Err(failure.into());
            }
            // The group has counted on since the batch was handed out, as it does whenever a member comes or
            // goes. Asked in this order: if the partition is still in hand after that, it was ours then; and
            // were it not, whoever has it has shut this producer out before it looked where to go on.
            let now = self.group.group_metadata().map(Arc::new);
            let held = self.shared.lock_state().slot(partition, generation).is_some();
            metadata = now.filter(|_| held && !self.group.assignment_lost()).ok_or_else(lost)?;
        }
    }

    /// The plain way: offsets alone. The group refuses them from a member that it has replaced.
    fn commit_offsets(
        &self,
        partition: u32,
        generation: u64,
        list: &rdkafka::TopicPartitionList,
    ) -> Result<(), CommitError> {
        let began = SteadyStopwatch::start();
        loop {
            if self.group.assignment_lost() || self.shared.lock_state().slot(partition, generation).is_none()
            {
                return Err(CommitError::Lost(self.not_ours_reason(partition)));
            }
            if self.shared.lock_state().severed {
                return Err(TopicError::Broken("the log was closed".to_owned()).into());
            }
            let Err(error) = self.group.commit(list, CommitMode::Sync) else { return Ok(()) };
            let why = format!("committing offsets: {error}");
            match error_code(&error) {
                Some(code) if is_left_out(code) => return Err(CommitError::Lost(why)),
                // The group is changing hands. As long as this one stays with us we may.
                Some(Code::RebalanceInProgress | Code::IllegalGeneration | Code::StaleMemberEpoch)
                    if began.elapsed() < self.inner.settings.session => {}
                Some(Code::IllegalGeneration | Code::StaleMemberEpoch) => {
                    return Err(CommitError::Lost(why));
                }
                Some(code) => match code_error("committing offsets", code) {
                    TopicError::Busy(why) => return Err(CommitError::Aborted(why)),
                    other => return Err(other.into()),
                },
                None => return Err(CommitError::Lost(why)),
            }
            self.shared.wait(CHANGING);
        }
    }

    pub fn not_ours_reason(&self, partition: u32) -> String {
        format!("partition {partition} of group `{}` does not belong to this member", self.name)
    }
}

/// A number for each assignment, higher than any before it. It tells assignments apart; what shuts out a
/// replaced owner is the name of its producer and the group's own count. So the machine's clock will do:
/// it also rises from one process to the next.
fn new_generation() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let now = u64::try_from(runtime::Clock::real(0).now()).unwrap_or_default();
    let next = |last: u64| Some(now.max(last + 1));
    LAST.fetch_update(Ordering::AcqRel, Ordering::Acquire, next).map_or(now, |last| now.max(last + 1))
}
