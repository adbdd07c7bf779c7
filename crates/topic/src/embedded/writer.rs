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
    book::{Book, Topic, seats},
    draft::{Draft, Placed, Seat},
    layout::{self, Extent},
    tables::{Tables, garbled},
    trim::Trim,
};
use crate::port::{CommitError, TopicError, TopicName, TopicSpec};

/// Requests that wait before the next one has to.
pub(super) const QUEUE_MOST: usize = 1_024;
/// What shares one write: enough that the disk's confirmation costs little, little enough that nobody
/// waits long.
const SHARE_MOST: usize = 256;
const SHARE_BYTES: usize = 8 << 20;

pub(super) type Answer<T, E> = oneshot::Sender<Result<T, E>>;

#[derive(Debug)]
pub(super) enum Request {
    Declare {
        specs: Vec<TopicSpec>,
        answer: Answer<(), TopicError>,
    },
    Remove {
        topics: Vec<TopicName>,
        answer: Answer<(), TopicError>,
    },
    Blank {
        places: Vec<(Arc<Topic>, u32, u64)>,
        answer: Answer<(), TopicError>,
    },
    Append {
        records: Vec<Placed>,
        answer: Answer<(), TopicError>,
    },
    Commit {
        group: Arc<str>,
        lead: Arc<Topic>,
        partition: u32,
        generation: u64,
        offsets: Vec<(Arc<Topic>, u64)>,
        records: Vec<Placed>,
        answer: Answer<(), CommitError>,
    },
    /// Shuts out every owner that these partitions had.
    Fence {
        group: Arc<str>,
        lead: Arc<Topic>,
        partitions: Vec<u32>,
        answer: Answer<Vec<(u32, u64)>, TopicError>,
    },
}

impl Request {
    fn bytes(&self) -> usize {
        let records = match self {
            Self::Append { records, .. } | Self::Commit { records, .. } => records.as_slice(),
            Self::Declare { .. } | Self::Remove { .. } | Self::Blank { .. } | Self::Fence { .. } => &[],
        };
        records.iter().map(|p| p.record.key.len() + p.record.value.as_ref().map_or(0, Vec::len)).sum()
    }
}

/// Should the writer ever panic, nobody waits for it in vain.
struct Ended(Arc<Book>);

impl Drop for Ended {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.break_down(&TopicError::Broken("the writer panicked; restart".to_owned()));
        }
    }
}

/// Who is answered once the draft is on the disk.
enum Waiting {
    Append(Answer<(), TopicError>),
    Commit(Answer<(), CommitError>),
    Fence(Answer<Vec<(u32, u64)>, TopicError>, Vec<(u32, u64)>),
}

pub(super) struct Writer {
    book: Arc<Book>,
    pub(super) tables: Tables,
    clock: Clock,
    pub(super) extents: HashMap<(u32, u32), Extent>,
    generations: HashMap<Seat, u64>,
    next_topic: u32,
    trim: Trim,
}

impl Writer {
    pub fn open(book: Arc<Book>, clock: Clock) -> Result<Self, TopicError> {
        let tables = book.tables()?;
        let mut extents = HashMap::new();
        for seat in seats(&tables, layout::BOUNDS)? {
            let extent = layout::extent_of(&seat.value).ok_or_else(|| garbled("a partition's extent"))?;
            extents.insert((seat.topic, seat.partition), extent);
        }
        let mut generations = HashMap::new();
        for seat in seats(&tables, layout::GENERATION)? {
            let generation = layout::number_of(&seat.value).ok_or_else(|| garbled("a generation"))?;
            generations.insert((seat.group, seat.topic, seat.partition), generation);
        }
        let topics: HashSet<u32> = book.topics().iter().map(|topic| topic.id).collect();
        let numbers = topics.iter().chain(extents.keys().map(|(topic, _)| topic));
        let next_topic = numbers.max().map_or(1, |last| last + 1);
        let trim = Trim::new(&extents, &topics);
        let mut writer = Self { book, tables, clock, extents, generations, next_topic, trim };
        writer.trim();
        writer.book.check()?;
        Ok(writer)
    }

    /// Runs until every sender is gone.
    pub fn run(mut self, mut requests: mpsc::Receiver<Request>) {
        let _ended = Ended(self.book.clone());
        loop {
            // Sweeping goes on in small pieces while nobody waits.
            let first = match requests.try_recv() {
                Ok(request) => Some(request),
                Err(mpsc::error::TryRecvError::Empty) if self.sweep() => continue,
                Err(mpsc::error::TryRecvError::Empty) => requests.blocking_recv(),
                Err(mpsc::error::TryRecvError::Disconnected) => None,
            };
            let Some(first) = first else { return };
            let mut bytes = first.bytes();
            let mut share = vec![first];
            while share.len() < SHARE_MOST && bytes < SHARE_BYTES {
                let Ok(request) = requests.try_recv() else { break };
                bytes += request.bytes();
                share.push(request);
            }
            self.serve(share);
            self.trim();
        }
    }

    fn serve(&mut self, share: Vec<Request>) {
        let mut draft = Draft::new(&self.tables, self.clock.now());
        let mut waiting = Vec::with_capacity(share.len());
        for request in share {
            if matches!(request, Request::Declare { .. } | Request::Remove { .. } | Request::Blank { .. }) {
                // Rare, and they change what later requests may name: written by themselves, in their place.
                let full = std::mem::replace(&mut draft, Draft::new(&self.tables, self.clock.now()));
                self.finish(full, std::mem::take(&mut waiting));
            }
            waiting.extend(self.enter(&mut draft, request));
        }
        self.finish(draft, waiting);
    }

    /// Puts a request into the draft, or answers it at once if it cannot be.
    fn enter(&mut self, draft: &mut Draft, request: Request) -> Option<Waiting> {
        match request {
            Request::Declare { specs, answer } => {
                reply(answer, self.declare(&specs));
                None
            }
            Request::Remove { topics, answer } => {
                reply(answer, self.remove(&topics));
                None
            }
            Request::Blank { places, answer } => {
                let blanked = super::blank::write(&self.tables, &places);
                reply(answer, blanked.inspect_err(|why| self.book.break_down(why)));
                None
            }
            Request::Append { records, answer } => {
                self.put(draft, records);
                Some(Waiting::Append(answer))
            }
            Request::Commit { group, lead, partition, generation, offsets, records, answer } => {
                let seat = (group, lead.id, partition);
                let owner = self.generation(draft, &seat);
                if owner != generation {
                    let (group, name) = (&seat.0, &lead.name);
                    let why = format!("{group} {name}/{partition}: generation {generation}, now {owner}");
                    reply(answer, Err(CommitError::Lost(why)));
                    return None;
                }
                for (topic, offset) in &offsets {
                    draft.commit_offset(&seat.0, topic, partition, *offset);
                }
                self.put(draft, records);
                Some(Waiting::Commit(answer))
            }
            Request::Fence { group, lead, partitions, answer } => {
                let mut fenced = Vec::with_capacity(partitions.len());
                for partition in partitions {
                    let seat = (group.clone(), lead.id, partition);
                    let generation = self.generation(draft, &seat) + 1;
                    draft.fence(seat, generation);
                    fenced.push((partition, generation));
                }
                Some(Waiting::Fence(answer, fenced))
            }
        }
    }

    fn put(&self, draft: &mut Draft, records: Vec<Placed>) {
        for placed in records {
            let at = (placed.topic.id, placed.record.partition);
            let known = self.extents.get(&at).copied().unwrap_or_default();
            draft.append(placed, known);
        }
    }

    fn generation(&self, draft: &Draft, seat: &Seat) -> u64 {
        draft.generations.get(seat).or_else(|| self.generations.get(seat)).copied().unwrap_or_default()
    }

    fn finish(&mut self, draft: Draft, waiting: Vec<Waiting>) {
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
                    refuse(one, &why);
                }
                return;
            }
        };
        self.extents.extend(&written.extents);
        self.generations.extend(written.generations.iter().map(|(seat, n)| (seat.clone(), *n)));
        written.publish(&self.book);
        for one in waiting {
            match one {
                Waiting::Append(answer) => reply(answer, Ok(())),
                Waiting::Commit(answer) => reply(answer, Ok(())),
                Waiting::Fence(answer, fenced) => reply(answer, Ok(fenced)),
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
        let fresh = super::declare::plan(&self.book, specs, self.next_topic)?;
        super::declare::write(&self.tables, &fresh).inspect_err(|why| self.book.break_down(why))?;
        self.next_topic = fresh.next_topic;
        fresh.publish(&self.book);
        Ok(())
    }

    fn remove(&mut self, topics: &[TopicName]) -> Result<(), TopicError> {
        let gone = super::remove::plan(&self.book, topics, &self.extents)?;
        super::remove::write(&self.tables, &gone).inspect_err(|why| self.book.break_down(why))?;
        self.book.forget_topics(&gone.numbers);
        self.generations.retain(|(_, topic, _), _| !gone.numbers.contains(topic));
        self.trim.abandon(&gone.extents);
        self.extents.extend(gone.extents);
        Ok(())
    }
}

fn refuse(one: Waiting, why: &TopicError) {
    match one {
        Waiting::Append(answer) => reply(answer, Err(why.clone())),
        Waiting::Commit(answer) => reply(answer, Err(CommitError::Engine(why.clone()))),
        Waiting::Fence(answer, _) => reply(answer, Err(why.clone())),
    }
}

/// Whoever asked may be gone; the request was carried out all the same.
fn reply<T, E>(answer: Answer<T, E>, result: Result<T, E>) {
    drop(answer.send(result));
}
