//! What the keeper does about erasures: it waits until the work in flight has landed, has the digest forget the
//! person, removes everything, and writes a receipt. A step that was cut short is done again.

use std::collections::BTreeMap;

use anyhow::Context as _;
use async_trait::async_trait;
use house_facts::erasure::{EraseMode, Erasure, ErasureProgress, Holding, HoldingCounts, add_counts};
use model::{
    Person, Tenant,
    fault::{self, PlantedFault},
    person::notes,
};
use room::records::inbox_record;
use runtime::{clock::SteadyStopwatch, retry};
use store::StateKey;
use topic::{
    GroupMembership, NewRecord, RecordBatch, TurnGuarantee,
    drive::{RoomWork, run_room},
    port::GroupStanding,
};
use wire::{InboxItem, topics};

use super::{
    ErasureBook,
    places::{self, ErasureSearch, RetentionFacts},
    write_erasure,
};
use crate::{HouseEngines, person_windows as windows};

/// The group under which the keeper reads what is asked for.
pub const GROUP: &str = "erasures";
/// Persons who are erased together: they wait once.
const TOGETHER_MAX: usize = 50;
/// A step in which one waits for the rooms: a fraction of a second.
const WAIT_TRIES: u32 = 1;
/// After so long it is said that the rooms are waited for.
const LONG: std::time::Duration = std::time::Duration::from_secs(60);

/// What the keeper works with.
pub struct Deps {
    pub room: room::Deps,
    pub engines: HouseEngines,
}

/// Runs until the shutdown.
pub async fn run(ports: Deps) -> anyhow::Result<()> {
    let membership = GroupMembership {
        group: GROUP.into(),
        lead: topics::ERASURES.into(),
        companions: Vec::new(),
        state: None,
        mode: TurnGuarantee::Plain,
    };
    let drive_with = ports.room.build_drive(membership, TOGETHER_MAX);
    run_room(drive_with, &mut ErasureWork { ports, book: ErasureBook::default() }).await
}

struct ErasureWork {
    ports: Deps,
    book: ErasureBook,
}

#[async_trait]
impl RoomWork for ErasureWork {
    async fn turn(&mut self, batch: &RecordBatch, _: Option<i64>) -> anyhow::Result<Vec<NewRecord>> {
        let mut asked: BTreeMap<(Tenant, Person), Erasure> = BTreeMap::new();
        for record in &batch.records {
            match wire::erasure::decode(record.value.as_deref().unwrap_or_default()) {
                Ok(one) if one.progress == ErasureProgress::Asked => {
                    asked.insert((one.tenant.clone(), one.person.clone()), one);
                }
                Ok(_) => {}
                Err(error) => tracing::error!(%error, offset = record.offset, "an erasure cannot be read"),
            }
        }
        if !asked.is_empty() {
            self.erase_persons(asked.into_values().collect()).await?;
        }
        Ok(Vec::new())
    }
}

impl ErasureWork {
    async fn erase_persons(&mut self, asked: Vec<Erasure>) -> anyhow::Result<()> {
        self.book.update(&*self.ports.engines.topics).await?;
        let mut open = Vec::new();
        for one in asked {
            // It was done, and killed before it was committed.
            let is_done = self.book.last_word(&one.tenant, &one.person).is_some_and(|last| {
                last.asked >= one.asked
                    && matches!(last.progress, ErasureProgress::Done(_) | ErasureProgress::Lifted)
            });
            if is_done {
                self.note_done(&one).await?;
            } else if self.is_marked(&one).await? {
                let removed = match self.book.last_word(&one.tenant, &one.person).map(|last| &last.progress) {
                    Some(ErasureProgress::Working { removed, .. }) => removed.clone(),
                    _ => HoldingCounts::new(),
                };
                open.push((one, removed));
            }
        }
        if !fault::is_planted(PlantedFault::ErasedOnce) {
            for (one, removed) in &open {
                self.write_step(one, "waits until the work in flight has landed", removed).await?;
            }
            for (one, removed) in &mut open {
                let remembered =
                    windows::load_person(&*self.ports.engines.topics, &one.tenant, &one.person).await?;
                add_counts(removed, [(Holding::Windows, u64::from(remembered.is_some()))].into());
            }
            self.wait_until_landed(&open).await?;
        }
        for (one, removed) in open {
            self.erase_one(one, removed).await?;
        }
        Ok(())
    }

    /// A person who was welcomed meanwhile is left alone.
    async fn is_marked(&self, one: &Erasure) -> anyhow::Result<bool> {
        let key = StateKey::Notes(one.tenant.clone(), one.person.clone());
        let states = self.ports.engines.store.states(&[key]).await.context("the mark of the erasure")?;
        Ok(states.iter().any(|state| state.flag(notes::ERASED)))
    }

    /// From now on the person may be welcomed.
    async fn note_done(&self, one: &Erasure) -> anyhow::Result<()> {
        let key = StateKey::Notes(one.tenant.clone(), one.person.clone());
        let done = vec![(key, notes::note_erasure_done(one.asked))];
        self.ports.engines.store.merge(done).await.context("record that the erasure is done")
    }

    /// Every turn that may have begun before the mark is over, room after room in the order of the way, and then the
    /// digest has forgotten the persons.
    async fn wait_until_landed(&self, open: &[(Erasure, HoldingCounts)]) -> anyhow::Result<()> {
        let (fanout, digest) = (fanout::config::GROUP, digest::config::GROUP);
        let senders =
            [(sender::config::URGENT_GROUP, topics::READY_URGENT), (sender::config::GROUP, topics::READY)];
        self.wait_until_passed(&[(fanout, topics::EVENTS), (fanout::config::SLICES_GROUP, topics::SLICES)])
            .await?;
        self.wait_until_passed(&[(digest, topics::PENDING), (digest, topics::INBOX)]).await?;
        self.wait_until_passed(&senders).await?;
        let room::Deps { topics: log, partitions, .. } = &self.ports.room;
        let at = self.ports.room.now();
        let forget = open.iter().map(|(one, _)| {
            let (tenant, person) = (one.tenant.clone(), one.person.clone());
            inbox_record(&InboxItem::Erased { tenant, person, at }, *partitions)
        });
        log.append(forget.collect::<Result<_, _>>()?).await.context("have the digest forget")?;
        self.wait_until_passed(&[(digest, topics::PENDING), (digest, topics::INBOX)]).await
    }

    /// Waits until groups have committed what their topics have now.
    async fn wait_until_passed(&self, readings: &[(&str, &str)]) -> anyhow::Result<()> {
        let (log, since) = (&self.ports.engines.topics, SteadyStopwatch::start());
        let mut is_told = false;
        for (group, topic) in readings {
            let ends: Vec<GroupStanding> = log.standing(group, topic).await?;
            loop {
                let now = log.standing(group, topic).await?;
                if now.iter().zip(&ends).all(|(now, then)| now.committed >= then.end) {
                    break;
                }
                if since.elapsed() > LONG && !is_told {
                    is_told = true;
                    tracing::warn!(group, topic, "an erasure is waiting for this group to catch up");
                }
                tokio::select! {
                    () = retry::pause_before_retry(WAIT_TRIES, 0) => {}
                    () = self.ports.room.shutdown.wait() => anyhow::bail!("the house stops; the erasure goes on with the next start"),
                }
            }
        }
        Ok(())
    }

    /// In this order: what says where else to look goes last.
    async fn erase_one(&self, one: Erasure, mut removed: HoldingCounts) -> anyhow::Result<()> {
        let Deps { engines, room } = &self.ports;
        let (of, now) = ((&one.tenant, &one.person), room.now());
        let whose = places::load_message_keys(&*engines.store, of, now).await?;
        self.write_step(&one, "now removing messages", &removed).await?;
        let kept = engines.courier.erase(&whose, EraseMode::Remove).await.context("the courier")?;
        add_counts(&mut removed, places::of_courier(kept));
        self.write_step(&one, "now removing records from topics", &removed).await?;
        let log_blanks = engines.topics.blank(&[]).await.context("the log")?;
        if log_blanks {
            let (tenant, person, addresses) = (of.0, of.1, &whose.addresses[..]);
            let sought = ErasureSearch { tenant, person, addresses, partitions: room.partitions };
            let found = places::find_records(&*engines.topics, &*engines.schemas, &sought).await?;
            let all: Vec<places::RecordAddress> = found.values().flatten().cloned().collect();
            engines.topics.blank(&all).await.context("the log")?;
            let counts = found.into_iter().map(|(holding, at)| (holding, at.len() as u64));
            add_counts(&mut removed, counts.collect());
        }
        self.write_step(&one, "removes rows of the store", &removed).await?;
        let counts = engines.store.erase(of.0, of.1, EraseMode::Remove, now).await.context("the store")?;
        add_counts(&mut removed, counts);
        self.write_step(&one, "gathers files", &removed).await?;
        let store_files = engines.store.scrub().await.context("the store's files")?;
        let means =
            RetentionFacts::load(&*engines.topics, log_blanks, store_files, engines.store.day_life()).await?;
        let at = room.now();
        let progress = ErasureProgress::Done(places::build_receipt(&removed, &means, at));
        let done = Erasure { at, progress, ..one };
        write_erasure(&*engines.topics, &done).await?;
        self.note_done(&done).await?;
        tracing::info!("a person was erased; `tidings erase PERSON --receipt` says what was removed");
        Ok(())
    }

    async fn write_step(&self, one: &Erasure, step: &str, removed: &HoldingCounts) -> anyhow::Result<()> {
        let progress = ErasureProgress::Working { step: step.to_owned(), removed: removed.clone() };
        let at = self.ports.room.now();
        write_erasure(&*self.ports.engines.topics, &Erasure { at, progress, ..one.clone() }).await
    }
}
