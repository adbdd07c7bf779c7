//! Erasure: the only deletes there are. What has versions is deleted at the time stamp of the version that was found,
//! so that it hides that version and every older one, and none that is newer; rows of days and slips, which have the
//! cluster's own time stamps, at those; rows of the journal in transactions, as they were written.
//!
//! Crowds and slips lie by other names than the person's: their tables are walked through by token. That is rare.

use std::collections::BTreeSet;

use async_trait::async_trait;
use futures::TryStreamExt as _;
use house_facts::{
    erasure::{EraseMode, Holding, HoldingCounts},
    erasure_counts::{add_count, readys_in_rows, zero_counts},
};
use model::{
    DayRow, Person, ReadyId, Tenant, UtcMillis,
    entry::DayKey,
    fault::{self, PlantedFault},
    person::notes,
};
use store::{ErasureStore, StateKey, StoreError, StoreSetup as _, codec, rows::decode_row};

use crate::{
    CqlStore,
    cells::{decode_cell, standing_version, version_stamp},
    errors::CqlError,
    states::note_shard,
};

/// Rows of a page of a walk.
const PAGE_ROWS: i32 = 5_000;

/// A note for operators: deleted data is hidden at once, and freed by compaction.
const IN_FILES: &str = "no query returns removed data; the cluster's files lose it by compaction, ten days \
    later at the earliest (gc_grace_seconds), days and slips when they expire at the latest: `nodetool \
garbagecollect` hastens it; snapshots and backups of the cluster are up to you";

#[async_trait]
impl ErasureStore for CqlStore {
    async fn erase(
        &self,
        tenant: &Tenant,
        person: &Person,
        how: EraseMode,
        now: UtcMillis,
    ) -> Result<HoldingCounts, StoreError> {
        let of = CqlErasure { cql: self, tenant, person, removes: how == EraseMode::Remove };
        let mut counts = zero_counts();
        let keys = StateKey::OF_PERSONS.map(|key| key(tenant.clone(), person.clone()));
        let _written = self.note_written(keys);
        // The slips first, and the days last: they name what the journal has, and a crash in between finds it again.
        let slips = of.person_slips().await?;
        let days = of.person_days(now).await?;
        let mut readys = readys_in_rows(days.iter().flat_map(|(_, rows)| rows));
        readys.extend(&slips);
        add_count(&mut counts, Holding::Journal, of.erase_journal(&readys).await?);
        add_count(&mut counts, Holding::Slips, slips.len());
        of.erase_slips(&slips).await?;
        for (key, rows) in days {
            add_count(&mut counts, Holding::Days, rows.len());
            of.erase_day(&key, !rows.is_empty()).await?;
        }
        add_count(&mut counts, Holding::Profile, of.erase_state("p").await?);
        add_count(&mut counts, Holding::Mutes, of.erase_state("m").await?);
        add_count(&mut counts, Holding::Saved, of.erase_state("v").await?);
        add_count(&mut counts, Holding::Streams, of.erase_state("w").await?);
        add_count(&mut counts, Holding::Notes, of.erase_notes().await?);
        add_count(&mut counts, Holding::Follows, of.erase_follows().await?);
        if !fault::is_planted(PlantedFault::CrowdsKept) {
            add_count(&mut counts, Holding::Crowds, of.erase_crowds().await?);
        }
        Ok(counts)
    }

    async fn scrub(&self) -> Result<Option<&'static str>, StoreError> {
        Ok(Some(IN_FILES))
    }
}

/// One erasure, or a look at what it would remove.
struct CqlErasure<'a> {
    cql: &'a CqlStore,
    tenant: &'a Tenant,
    person: &'a Person,
    removes: bool,
}

impl CqlErasure<'_> {
    async fn person_days(&self, now: UtcMillis) -> Result<Vec<(DayKey, Vec<DayRow>)>, StoreError> {
        let key = |day| DayKey { tenant: self.tenant.clone(), person: self.person.clone(), day };
        let read = |key: DayKey| async {
            let slot = self.cql.slot(key.day).await?;
            let attempt = || async {
                let of = (self.tenant.as_str(), self.person.as_str(), key.day.0);
                let mut rows = Vec::new();
                for page in self.cql.engine.read_pages(&slot.whole, &of).await? {
                    for row in page.rows::<(&[u8], &[u8])>()? {
                        let (row, body) = row?;
                        rows.push(decode_row(row, body)?);
                    }
                }
                Ok(rows)
            };
            let rows = self.cql.engine.run_with_retries("reading a day", attempt).await?;
            Ok((key, rows))
        };
        self.cql.engine.run_all(self.cql.day_life().living_days(now).map(key).map(read)).await
    }

    async fn erase_day(&self, key: &DayKey, has_rows: bool) -> Result<(), StoreError> {
        if !self.removes || !has_rows {
            return Ok(());
        }
        let slot = self.cql.slot(key.day).await?;
        let attempt = || async {
            let of = (self.tenant.as_str(), self.person.as_str(), key.day.0);
            self.cql.engine.session.execute_unpaged(&slot.erase, of).await?;
            Ok(())
        };
        self.cql.engine.run_with_retries("erasing a day", attempt).await
    }

    /// The profile (`p`), the mutes (`m`), what was saved (`v`) or open streams (`w`).
    async fn erase_state(&self, sort: &str) -> Result<usize, StoreError> {
        let statements = &self.cql.engine.statements;
        let owner = format!("{sort}:{}", self.person);
        let attempt = || async {
            let mut cells = Vec::new();
            let of = (self.tenant.as_str(), owner.as_str());
            for page in self.cql.engine.read_pages(&statements.state, &of).await? {
                for row in page.rows::<(&str, &[u8])>()? {
                    let (name, value) = row?;
                    cells.push((name.to_owned(), version_stamp(decode_cell(value)?.version)));
                }
            }
            for (name, at) in cells.iter().filter(|_| self.removes) {
                let values = (*at, self.tenant.as_str(), owner.as_str(), name.as_str());
                self.cql.engine.session.execute_unpaged(&statements.erasing.state, values).await?;
            }
            Ok::<_, CqlError>(cells.len())
        };
        self.cql.engine.run_with_retries("erasing a state", attempt).await
    }

    async fn erase_notes(&self) -> Result<usize, StoreError> {
        let statements = &self.cql.engine.statements;
        let (shard, person) = (note_shard(self.person), self.person.as_str());
        let attempt = || async {
            let mut cells = Vec::new();
            let of = (self.tenant.as_str(), shard, vec![person]);
            for page in self.cql.engine.read_pages(&statements.notes, &of).await? {
                for row in page.rows::<(&str, &str, &[u8])>()? {
                    let (_, name, value) = row?;
                    if !notes::outlives(name) {
                        cells.push((name.to_owned(), version_stamp(decode_cell(value)?.version)));
                    }
                }
            }
            for (name, at) in cells.iter().filter(|_| self.removes) {
                let values = (*at, self.tenant.as_str(), shard, person, name.as_str());
                self.cql.engine.session.execute_unpaged(&statements.erasing.note, values).await?;
            }
            Ok::<_, CqlError>(cells.len())
        };
        self.cql.engine.run_with_retries("erasing notes", attempt).await
    }

    async fn erase_crowds(&self) -> Result<usize, StoreError> {
        let CqlErasure { cql, tenant, person, removes } = self;
        let mut walk = cql.engine.statements.erasing.crowds.clone();
        walk.set_page_size(PAGE_ROWS);
        let walk = &walk;
        let attempt = || async {
            let pager = cql.engine.session.execute_iter(walk.clone(), (person.as_str(),)).await?;
            let mut rows = pager.rows_stream::<(String, String, i16, Vec<u8>)>()?;
            let mut own = Vec::new();
            while let Some((of, crowd, shard, standing)) = rows.try_next().await? {
                if of == tenant.as_str() {
                    own.push((crowd, shard, version_stamp(standing_version(&standing)?)));
                }
            }
            for (crowd, shard, at) in own.iter().filter(|_| *removes) {
                let values = (*at, tenant.as_str(), crowd.as_str(), *shard, person.as_str());
                cql.engine.session.execute_unpaged(&cql.engine.statements.erasing.member, values).await?;
            }
            Ok::<_, CqlError>(own.len())
        };
        cql.engine.run_with_retries("walking through the crowds", attempt).await
    }

    async fn erase_follows(&self) -> Result<usize, StoreError> {
        let statements = &self.cql.engine.statements;
        let (tenant, person) = (self.tenant.as_str(), self.person.as_str());
        let attempt = || async {
            let mut own = Vec::new();
            for page in self.cql.engine.read_pages(&statements.following.read, &(tenant, person, "")).await? {
                for row in page.rows::<(&str, &[u8])>()? {
                    let (subject, standing) = row?;
                    own.push((subject.to_owned(), version_stamp(standing_version(standing)?)));
                }
            }
            for (subject, at) in own.iter().filter(|_| self.removes) {
                let values = (*at, tenant, person, subject.as_str());
                self.cql.engine.session.execute_unpaged(&statements.erasing.follow, values).await?;
            }
            Ok::<_, CqlError>(own.len())
        };
        self.cql.engine.run_with_retries("erasing follows", attempt).await
    }

    async fn person_slips(&self) -> Result<BTreeSet<ReadyId>, StoreError> {
        let mut walk = self.cql.engine.statements.erasing.slips.clone();
        walk.set_page_size(PAGE_ROWS);
        let walk = &walk;
        let attempt = || async {
            let pager = self.cql.engine.session.execute_iter(walk.clone(), ()).await?;
            let mut rows = pager.rows_stream::<(Vec<u8>, Vec<u8>)>()?;
            let mut readys = BTreeSet::new();
            while let Some((ready, body)) = rows.try_next().await? {
                let slip = codec::decode_slip(&body)?;
                if slip.tenant == *self.tenant && slip.person == *self.person {
                    readys.extend(<[u8; 16]>::try_from(&ready[..]).ok().map(ReadyId));
                }
            }
            Ok::<_, CqlError>(readys)
        };
        self.cql.engine.run_with_retries("walking through the slips", attempt).await
    }

    async fn erase_slips(&self, readys: &BTreeSet<ReadyId>) -> Result<(), StoreError> {
        let erase = |ready: &ReadyId| {
            let id = ready.0;
            async move {
                let attempt = || async {
                    let erase = &self.cql.engine.statements.erasing.slip;
                    self.cql.engine.session.execute_unpaged(erase, (&id[..],)).await?;
                    Ok(())
                };
                self.cql.engine.run_with_retries("erasing a slip", attempt).await
            }
        };
        self.cql.engine.run_all(readys.iter().filter(|_| self.removes).map(erase)).await.map(drop)
    }

    async fn erase_journal(&self, readys: &BTreeSet<ReadyId>) -> Result<usize, StoreError> {
        let erased = readys.iter().map(|ready| self.cql.erase_journal(self.tenant, *ready, self.removes));
        Ok(self.cql.engine.run_all(erased).await?.into_iter().sum())
    }
}
