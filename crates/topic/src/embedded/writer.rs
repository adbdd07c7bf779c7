//! The one thread that writes. It takes every request that waits, writes them as one, has the disk
//! confirm it once, and answers them all.
//!
//! A thread of its own, since the tables block their writers for as long as they like. Everything that
//! must be decided in one order (offsets, generations) is decided here and needs no lock.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use runtime::Clock;
use tokio::sync::{mpsc, oneshot};

use super::{
    book::{EmbeddedTopic, TopicBook, read_seats},
    draft::{GroupSeat, PlacedRecord, TopicWriteDraft},
    layout::{self, PartitionExtent},
    tables::{TopicTables, garbled_bytes},
    trim::LogTrim,
};
use crate::port::{CommitError, TopicError, TopicName, TopicSpec};

/// Requests that wait before the next one has to.
pub(super) const QUEUE_MOST: usize = 1_024;
/// What shares one write: enough that the disk's confirmation costs little, little enough that nobody
/// waits long.
const SHARE_MOST: usize = 256;
const SHARE_BYTES: usize = 8 << 20;

pub(super) type TopicWriterAnswer<T, E> = oneshot::Sender<Result<T, E>>;

#[derive(Debug)]
pub(super) enum TopicWriterRequest {
    Declare {
        specs: Vec<TopicSpec>,
        answer: TopicWriterAnswer<(), TopicError>,
    },
    Remove {
        topics: Vec<TopicName>,
        answer: TopicWriterAnswer<(), TopicError>,
    },
    Blank {
        places: Vec<(Arc<EmbeddedTopic>, u32, u64)>,
        answer: TopicWriterAnswer<(), TopicError>,
    },
    Append {
        records: Vec<PlacedRecord>,
        answer: TopicWriterAnswer<(), TopicError>,
    },
    Commit {
        group: Arc<str>,
        lead: Arc<EmbeddedTopic>,
        partition: u32,
        generation: u64,
        offsets: Vec<(Arc<EmbeddedTopic>, u64)>,
        records: Vec<PlacedRecord>,
        answer: TopicWriterAnswer<(), CommitError>,
    },
    /// Shuts out every owner that these partitions had.
    Fence {
        group: Arc<str>,
        lead: Arc<EmbeddedTopic>,
        partitions: Vec<u32>,
        answer: TopicWriterAnswer<Vec<(u32, u64)>, TopicError>,
    },
}

impl TopicWriterRequest {
    fn weight_bytes(&self) -> usize {
        let records = match self {
            Self::Append { records, .. } | Self::Commit { records, .. } => records.as_slice(),
            Self::Declare { .. } | Self::Remove { .. } | Self::Blank { .. } | Self::Fence { .. } => &[],
        };
        records.iter().map(|p| p.record.key.len() + p.record.value.as_ref().map_or(0, Vec::len)).sum()
    }
}

/// If the writer panics, waiting callers get an error.
struct TopicWriterGuard(Arc<TopicBook>);

impl Drop for TopicWriterGuard {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.break_down(&TopicError::Broken("the writer panicked; restart".to_owned()));
        }
    }
}

/// Who is answered once the draft is on the disk.
enum PendingTopicAnswer {
    Append(TopicWriterAnswer<(), TopicError>),
    Commit(TopicWriterAnswer<(), CommitError>),
    Fence(TopicWriterAnswer<Vec<(u32, u64)>, TopicError>, Vec<(u32, u64)>),
}

pub(super) struct TopicWriter {
    book: Arc<TopicBook>,
    pub(super) tables: TopicTables,
    clock: Clock,
    pub(super) extents: HashMap<(u32, u32), PartitionExtent>,
    generations: HashMap<GroupSeat, u64>,
    next_topic: u32,
    trim: LogTrim,
}

impl TopicWriter {
    pub fn open(book: Arc<TopicBook>, clock: Clock) -> Result<Self, TopicError> {
        let tables = book.tables()?;
        let mut extents = HashMap::new();
        for seat in read_seats(&tables, layout::BOUNDS)? {
            let extent =
                layout::parse_extent(&seat.value).ok_or_else(|| garbled_bytes("a partition's extent"))?;
            extents.insert((seat.topic, seat.partition), extent);
        }
        let mut generations = HashMap::new();
        for seat in read_seats(&tables, layout::GENERATION)? {
            let generation =
                layout::parse_number(&seat.value).ok_or_else(|| garbled_bytes("a generation"))?;
            generations.insert((seat.group, seat.topic, seat.partition), generation);
        }
        let topics: HashSet<u32> = book.topics().iter().map(|topic| topic.id).collect();
        let numbers = topics.iter().chain(extents.keys().map(|(topic, _)| topic));
        let next_topic = numbers.max().map_or(1, |last| last + 1);
        let trim = LogTrim::new(&extents, &topics);
        let mut writer = Self { book, tables, clock, extents, generations, next_topic, trim };
        writer.trim();
        writer.book.check()?;
        Ok(writer)
    }

    /// Runs until every sender is gone.
    pub fn run(mut self, mut requests: mpsc::Receiver<TopicWriterRequest>) {
        let _ended = TopicWriterGuard(self.book.clone());
        loop {
            // Sweeping goes on in small pieces while nobody waits.
            let first = match requests.try_recv() {
                Ok(request) => Some(request),
                Err(mpsc::error::TryRecvError::Empty) if self.sweep() => continue,
                Err(mpsc::error::TryRecvError::Empty) => requests.blocking_recv(),
                Err(mpsc::error::TryRecvError::Disconnected) => None,
            };
            let Some(first) = first else { return };
            let mut bytes = first.weight_bytes();
            let mut share = vec![first];
            while share.len() < SHARE_MOST && bytes < SHARE_BYTES {
                let Ok(request) = requests.try_recv() else { break };
                bytes += request.weight_bytes();
                share.push(request);
            }
            self.serve(share);
            self.trim();
        }
    }

    fn serve(&mut self, share: Vec<TopicWriterRequest>) {
        let mut draft = TopicWriteDraft::new(&self.tables, self.clock.now());
        let mut waiting = Vec::with_capacity(share.len());
        for request in share {
            if matches!(
                request,
                TopicWriterRequest::Declare { .. }
                    | TopicWriterRequest::Remove { .. }
                    | TopicWriterRequest::Blank { .. }
            ) {
                // Rare, and they change what later requests may name: written by themselves, in their place.
                let full =
                    std::mem::replace(&mut draft, TopicWriteDraft::new(&self.tables, self.clock.now()));
                self.finish_draft(full, std::mem::take(&mut waiting));
            }
            waiting.extend(self.enter_request(&mut draft, request));
        }
        self.finish_draft(draft, waiting);
    }

    /// Puts a request into the draft, or answers it at once if it cannot be.
    fn enter_request(
        &mut self,
        draft: &mut TopicWriteDraft,
        request: TopicWriterRequest,
    ) -> Option<PendingTopicAnswer> {
        match request {
            TopicWriterRequest::Declare { specs, answer } => {
                send_answer(answer, self.declare(&specs));
                None
            }
            TopicWriterRequest::Remove { topics, answer } => {
                send_answer(answer, self.remove(&topics));
                None
            }
            TopicWriterRequest::Blank { places, answer } => {
                let blanked = super::blank::write_blanks(&self.tables, &places);
                send_answer(answer, blanked.inspect_err(|why| self.book.break_down(why)));
                None
            }
            TopicWriterRequest::Append { records, answer } => {
                self.put_records(draft, records);
                Some(PendingTopicAnswer::Append(answer))
            }
            TopicWriterRequest::Commit { group, lead, partition, generation, offsets, records, answer } => {
                let seat = (group, lead.id, partition);
                let owner = self.generation(draft, &seat);
                if owner != generation {
                    let (group, name) = (&seat.0, &lead.name);
                    let why = format!("{group} {name}/{partition}: generation {generation}, now {owner}");
                    send_answer(answer, Err(CommitError::Lost(why)));
                    return None;
                }
                for (topic, offset) in &offsets {
                    draft.commit_offset(&seat.0, topic, partition, *offset);
                }
                self.put_records(draft, records);
                Some(PendingTopicAnswer::Commit(answer))
            }
            TopicWriterRequest::Fence { group, lead, partitions, answer } => {
                let mut fenced = Vec::with_capacity(partitions.len());
                for partition in partitions {
                    let seat = (group.clone(), lead.id, partition);
                    let generation = self.generation(draft, &seat) + 1;
                    draft.fence(seat, generation);
                    fenced.push((partition, generation));
                }
                Some(PendingTopicAnswer::Fence(answer, fenced))
            }
        }
    }

    fn put_records(&self, draft: &mut TopicWriteDraft, records: Vec<PlacedRecord>) {
        for placed in records {
            let at = (placed.topic.id, placed.record.partition);
            let known = self.extents.get(&at).copied().unwrap_or_default();
            draft.append(placed, known);
        }
    }

    fn generation(&self, draft: &TopicWriteDraft, seat: &GroupSeat) -> u64 {
        draft.generations.get(seat).or_else(|| self.generations.get(seat)).copied().unwrap_or_default()
    }

    fn finish_draft(&mut self, draft: TopicWriteDraft, waiting: Vec<PendingTopicAnswer>) {
        if waiting.is_empty() {
            return;
        }
        let outcome = match self.book.check() {
            Err(broken) => Err(broken),
            Ok(()) => draft.write().map_err(|error| self.tables.write_fault("writing to the log", &error)),
        };
        let written = match outcome {
            Ok(written) => written,
            Err(why) => {
                self.book.break_down(&why);
                for one in waiting {
                    refuse_waiting(one, &why);
                }
                return;
            }
        };
        self.extents.extend(&written.extents);
        self.generations.extend(written.generations.iter().map(|(seat, n)| (seat.clone(), *n)));
        written.publish(&self.book);
        for one in waiting {
            match one {
                PendingTopicAnswer::Append(answer) => send_answer(answer, Ok(())),
                PendingTopicAnswer::Commit(answer) => send_answer(answer, Ok(())),
                PendingTopicAnswer::Fence(answer, fenced) => send_answer(answer, Ok(fenced)),
            }
        }
        written.wake();
    }

    fn trim(&mut self) {
        let now = self.clock.now();
        if let Err(why) = self.trim.run(now, &self.book, &self.tables, &mut self.extents) {
            self.book.break_down(&why);
        }
    }

    /// Whether there was something to sweep.
    fn sweep(&mut self) -> bool {
        if self.book.check().is_err() {
            return false;
        }
        self.trim.sweep(&self.tables, &mut self.extents).unwrap_or_else(|why| {
            self.book.break_down(&why);
            false
        })
    }

    fn declare(&mut self, specs: &[TopicSpec]) -> Result<(), TopicError> {
        let fresh = super::declare::plan_declaration(&self.book, specs, self.next_topic)?;
        super::declare::write_declaration(&self.tables, &fresh)
            .inspect_err(|why| self.book.break_down(why))?;
        self.next_topic = fresh.next_topic;
        fresh.publish(&self.book);
        Ok(())
    }

    fn remove(&mut self, topics: &[TopicName]) -> Result<(), TopicError> {
        let gone = super::remove::plan_removal(&self.book, topics, &self.extents)?;
        super::remove::write_removal(&self.tables, &gone).inspect_err(|why| self.book.break_down(why))?;
        self.book.forget_topics(&gone.numbers);
        self.generations.retain(|(_, topic, _), _| !gone.numbers.contains(topic));
        self.trim.abandon(&gone.extents);
        self.extents.extend(gone.extents);
        Ok(())
    }
}

fn refuse_waiting(one: PendingTopicAnswer, why: &TopicError) {
    match one {
        PendingTopicAnswer::Append(answer) => send_answer(answer, Err(why.clone())),
        PendingTopicAnswer::Commit(answer) => send_answer(answer, Err(CommitError::Engine(why.clone()))),
        PendingTopicAnswer::Fence(answer, _) => send_answer(answer, Err(why.clone())),
    }
}

/// Whoever asked may be gone; the request was carried out all the same.
fn send_answer<T, E>(answer: TopicWriterAnswer<T, E>, result: Result<T, E>) {
    drop(answer.send(result));
}
