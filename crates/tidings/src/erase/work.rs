//! What the keeper does about erasures: it waits until what was in flight has landed, has the digest forget the
//! person, removes everything, and writes a receipt. A step that was cut short is done again.

use std::{collections::BTreeMap, sync::Arc};

use anyhow::Context as _;
use async_trait::async_trait;
use model::{
    Millis, Person, Tenant,
    erase::{Counts, Erase, Erasure, Holding, Progress, add},
    fault::{self, Fault},
    partition::Partitions,
    person::notes,
};
use runtime::{Clock, Quiet, Shutdown, clock::Stopwatch, retry};
use sender::report::person_record;
use store::StateKey;
use topic::{
    Batch, Membership, Mode, NewRecord, Topics,
    drive::{Drive, Work, drive},
    port::Standing,
};
use wire::{Inbox, topics};

use super::{
    Book,
    places::{self, Means, Sought},
    write,
};
use crate::{house::Engines, http::windows};

/// The group under which the keeper reads what is asked for.
pub const GROUP: &str = "erasures";
/// Persons who are erased together: they wait once.
const TOGETHER_MAX: usize = 50;
/// A step in which one waits for the rooms: a fraction of a second.
const WAIT_TRIES: u32 = 1;
/// After so long it is said that the rooms are waited for.
const LONG: std::time::Duration = std::time::Duration::from_secs(60);

/// What the keeper works with.
pub struct Ports {
    pub engines: Engines,
    /// The log as rooms get it.
    pub topics: Arc<dyn Topics>,
    pub partitions: Partitions,
    pub clock: Clock,
    pub quiet: Quiet,
    pub shutdown: Shutdown,
}

/// Runs until the shutdown.
pub async fn run(ports: Ports) -> anyhow::Result<()> {
    let drive_with = Drive {
        topics: ports.topics.clone(),
        membership: Membership {
            group: GROUP.into(),
            lead: topics::ERASURES.into(),
            companions: Vec::new(),
            state: None,
            mode: Mode::Plain,
        },
        clock: ports.clock.clone(),
        quiet: ports.quiet.clone(),
        shutdown: ports.shutdown.clone(),
        records_max: TOGETHER_MAX,
    };
    drive(drive_with, &mut Eraser { ports, book: Book::default() }).await
}

struct Eraser {
    ports: Ports,
    book: Book,
}

#[async_trait]
impl Work for Eraser {
    async fn turn(&mut self, batch: &Batch, _: Option<i64>) -> anyhow::Result<Vec<NewRecord>> {
        let mut asked: BTreeMap<(Tenant, Person), Erasure> = BTreeMap::new();
        for record in &batch.records {
            match wire::erasure::decode(record.value.as_deref().unwrap_or_default()) {
                Ok(one) if one.progress == Progress::Asked => {
                    asked.insert((one.tenant.clone(), one.person.clone()), one);
                }
                Ok(_) => {}
                Err(error) => tracing::error!(%error, offset = record.offset, "an erasure cannot be read"),
            }
        }
        if !asked.is_empty() {
            self.erase(asked.into_values().collect()).await?;
        }
        Ok(Vec::new())
    }
}

impl Eraser {
    async fn erase(&mut self, asked: Vec<Erasure>) -> anyhow::Result<()> {
        self.book.update(&*self.ports.engines.topics).await?;
        let mut open = Vec::new();
        for one in asked {
            // It was done, and killed before it was committed.
            let is_done = self.book.of(&one.tenant, &one.person).is_some_and(|last| {
                last.asked >= one.asked && matches!(last.progress, Progress::Done(_) | Progress::Lifted)
            });
            if is_done {
                self.note_done(&one).await?;
            } else if self.is_marked(&one).await? {
                let removed = match self.book.of(&one.tenant, &one.person).map(|last| &last.progress) {
                    Some(Progress::Working { removed, .. }) => removed.clone(),
                    _ => Counts::new(),
                };
                open.push((one, removed));
            }
        }
        if !fault::planted(Fault::ErasedOnce) {
            for (one, removed) in &open {
                self.tell(one, "waits until what was in flight has landed", removed).await?;
            }
            for (one, removed) in &mut open {
                let remembered = windows::of(&*self.ports.engines.topics, &one.tenant, &one.person).await?;
                add(removed, [(Holding::Windows, u64::from(remembered.is_some()))].into());
            }
            self.land(&open).await?;
        }
        for (one, removed) in open {
            self.erase_one(one, removed).await?;
        }
        Ok(())
    }

    /// Who is welcome by now is left alone.
    async fn is_marked(&self, one: &Erasure) -> anyhow::Result<bool> {
        let key = StateKey::Notes(one.tenant.clone(), one.person.clone());
        let states = self.ports.engines.store.states(&[key]).await.context("the mark")?;
        Ok(states.iter().any(|state| state.flag(notes::ERASED)))
    }

    /// From now on the person may be welcome again.
    async fn note_done(&self, one: &Erasure) -> anyhow::Result<()> {
        let key = StateKey::Notes(one.tenant.clone(), one.person.clone());
        let done = vec![(key, notes::erased_to(one.asked))];
        self.ports.engines.store.merge(done).await.context("that the erasure is done")
    }

    /// Every turn that may have begun before the mark is over, room after room in the order of the way, and then the
    /// digest has forgotten the persons.
    async fn land(&self, open: &[(Erasure, Counts)]) -> anyhow::Result<()> {
        let (fanout, digest, sender) = (fanout::config::GROUP, digest::config::GROUP, sender::config::GROUP);
        self.passed(&[(fanout, topics::EVENTS), (fanout::config::SLICES_GROUP, topics::SLICES)]).await?;
        self.passed(&[(digest, topics::PENDING), (digest, topics::INBOX)]).await?;
        self.passed(&[(sender, topics::READY)]).await?;
        let Ports { topics: log, partitions, clock, .. } = &self.ports;
        let at = Millis(clock.now());
        let forget = open.iter().map(|(one, _)| {
            let (tenant, person) = (one.tenant.clone(), one.person.clone());
            person_record(&Inbox::Erased { tenant, person, at }, *partitions)
        });
        log.append(forget.collect::<anyhow::Result<_>>()?).await.context("have the digest forget")?;
        self.passed(&[(digest, topics::PENDING), (digest, topics::INBOX)]).await
    }

    /// Waits until groups have committed what their topics have now.
    async fn passed(&self, readings: &[(&str, &str)]) -> anyhow::Result<()> {
        let (log, since) = (&self.ports.engines.topics, Stopwatch::start());
        let mut is_told = false;
        for (group, topic) in readings {
            let ends: Vec<Standing> = log.standing(group, topic).await?;
            loop {
                let now = log.standing(group, topic).await?;
                if now.iter().zip(&ends).all(|(now, then)| now.committed >= then.end) {
                    break;
                }
                if since.elapsed() > LONG && !is_told {
                    is_told = true;
                    tracing::warn!(group, topic, "an erasure waits until this group has read what there is");
                }
                tokio::select! {
                    () = retry::pause(WAIT_TRIES, 0) => {}
                    () = self.ports.shutdown.wait() => anyhow::bail!("the house stops; the erasure goes on with the next start"),
                }
            }
        }
        Ok(())
    }

    /// In this order: what says where else to look goes last.
    async fn erase_one(&self, one: Erasure, mut removed: Counts) -> anyhow::Result<()> {
        let Ports { engines, partitions, clock, .. } = &self.ports;
        let (of, now) = ((&one.tenant, &one.person), Millis(clock.now()));
        let whose = places::whose(&*engines.store, of, now).await?;
        self.tell(&one, "removes messages", &removed).await?;
        let kept = engines.courier.erase(&whose, Erase::Remove).await.context("the courier")?;
        add(&mut removed, places::of_courier(kept));
        self.tell(&one, "removes records of topics", &removed).await?;
        let log_blanks = engines.topics.blank(&[]).await.context("the log")?;
        if log_blanks {
            let (tenant, person, addresses) = (of.0, of.1, &whose.addresses[..]);
            let sought = Sought { tenant, person, addresses, partitions: *partitions };
            let found = places::records(&*engines.topics, &*engines.schemas, &sought).await?;
            let all: Vec<places::At> = found.values().flatten().cloned().collect();
            engines.topics.blank(&all).await.context("the log")?;
            let counts = found.into_iter().map(|(holding, at)| (holding, at.len() as u64));
            add(&mut removed, counts.collect());
        }
        self.tell(&one, "removes rows of the store", &removed).await?;
        let counts = engines.store.erase(of.0, of.1, Erase::Remove, now).await.context("the store")?;
        add(&mut removed, counts);
        self.tell(&one, "gathers files", &removed).await?;
        let store_files = engines.store.scrub().await.context("the store's files")?;
        let means = Means::ask(&*engines.topics, log_blanks, store_files).await?;
        let at = Millis(clock.now());
        let progress = Progress::Done(places::receipt(&removed, &means, at));
        let done = Erasure { at, progress, ..one };
        write(&*engines.topics, &done).await?;
        self.note_done(&done).await?;
        tracing::info!("a person was erased; `tidings erase PERSON --receipt` says what was removed");
        Ok(())
    }

    async fn tell(&self, one: &Erasure, step: &str, removed: &Counts) -> anyhow::Result<()> {
        let progress = Progress::Working { step: step.to_owned(), removed: removed.clone() };
        let at = Millis(self.ports.clock.now());
        write(&*self.ports.engines.topics, &Erasure { at, progress, ..one.clone() }).await
    }
}
