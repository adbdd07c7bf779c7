//! The journal and the answers: the first writer wins, decided in the writer's thread.

use async_trait::async_trait;
use fjall::{Readable as _, Snapshot};
use model::{Millis, ReadyId, Tenant, limits::DAY_MS};

use super::{
    Embedded,
    engine::{Engine, Table, failed},
    keys,
};
use crate::{
    codec,
    port::{Answers, Claim, Claimed, Journal, Journalled, Record, StoreError},
};

#[async_trait]
impl Journal for Embedded {
    async fn claim(&self, tenant: &Tenant, claim: Claim) -> Result<Claimed, StoreError> {
        let key = keys::attempt(tenant, claim.ready, claim.attempt, keys::CLAIM);
        self.writer
            .run(1, move |stage| {
                stage.hear(claim.at);
                let back = |bytes: &[u8]| codec::claim_back(claim.ready, claim.attempt, bytes);
                match stage.with(Table::Journal, &key, back)? {
                    Some(first) if first.token == claim.token => Ok(Claimed::Yours),
                    Some(first) => Ok(Claimed::Theirs(first)),
                    None => {
                        stage.put(Table::Journal, key, codec::claim(&claim)?);
                        Ok(Claimed::Yours)
                    }
                }
            })
            .await
    }

    async fn record(&self, tenant: &Tenant, record: Record) -> Result<(), StoreError> {
        let key = keys::attempt(tenant, record.ready, record.attempt, keys::RECORD);
        self.writer
            .run(1, move |stage| {
                stage.hear(record.at);
                if stage.with(Table::Journal, &key, |_| Ok(()))?.is_none() {
                    stage.put(Table::Journal, key, codec::record(&record)?);
                }
                Ok(())
            })
            .await
    }

    async fn journalled(&self, tenant: &Tenant, readys: &[ReadyId]) -> Result<Vec<Journalled>, StoreError> {
        let tenant = tenant.clone();
        let readys = readys.to_vec();
        self.look(readys.len(), move |engine| {
            let view = engine.view();
            readys.iter().map(|ready| journalled(engine, &view, &tenant, *ready)).collect()
        })
        .await
    }
}

fn journalled(
    engine: &Engine,
    view: &Snapshot,
    tenant: &Tenant,
    ready: ReadyId,
) -> Result<Journalled, StoreError> {
    let prefix = keys::ready(tenant, ready);
    let mut found = Journalled::default();
    for row in view.prefix(engine.table(Table::Journal), &prefix) {
        let (key, value) = row.into_inner().map_err(|error| failed("reading the journal", &error))?;
        match key[prefix.len()..] {
            [high, low, keys::CLAIM] => {
                found.claims.push(codec::claim_back(ready, u16::from_be_bytes([high, low]), &value)?);
            }
            [high, low, keys::RECORD] => {
                found.records.push(codec::record_back(ready, u16::from_be_bytes([high, low]), &value)?);
            }
            _ => return Err(StoreError::Broken("a row of the journal cannot be read".into())),
        }
    }
    Ok(found)
}

#[async_trait]
impl Answers for Embedded {
    async fn answer(
        &self,
        tenant: &Tenant,
        key: &str,
        answer: Vec<u8>,
        now: Millis,
    ) -> Result<Vec<u8>, StoreError> {
        let key = keys::answer(tenant, key);
        self.writer
            .run(1, move |stage| {
                stage.hear(now);
                match stage.with(Table::Answers, &key, codec::answer_back)? {
                    Some((at, first)) if stands(at, now) => Ok(first),
                    _ => {
                        stage.put(Table::Answers, key, codec::answer(now, &answer)?);
                        Ok(answer)
                    }
                }
            })
            .await
    }

    async fn answered(&self, tenant: &Tenant, key: &str, now: Millis) -> Result<Option<Vec<u8>>, StoreError> {
        let key = keys::answer(tenant, key);
        self.look(1, move |engine| match engine.view().get(engine.table(Table::Answers), key) {
            Ok(Some(value)) => {
                let (at, answer) = codec::answer_back(&value)?;
                Ok(stands(at, now).then_some(answer))
            }
            Ok(None) => Ok(None),
            Err(error) => Err(failed("reading an answer", &error)),
        })
        .await
    }
}

fn stands(at: Millis, now: Millis) -> bool {
    now.since(at) < DAY_MS
}
