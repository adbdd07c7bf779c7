//! The journal and the answers: the first writer wins, decided in the writer's thread.

use async_trait::async_trait;
use fjall::{Readable as _, Snapshot};
use model::{ReadyId, Tenant, UtcMillis};
use store::{
    AnswerStore, JournalClaim, JournalClaimOutcome, JournalRecord, JournalRows, JournalStore, StandingAnswer,
    StoreError, codec,
};

use super::{
    EmbeddedStore,
    engine::{EmbeddedStoreEngine, StoreTable, map_database_error},
    keys,
};

#[async_trait]
impl JournalStore for EmbeddedStore {
    async fn claim(&self, tenant: &Tenant, claim: JournalClaim) -> Result<JournalClaimOutcome, StoreError> {
        let key = keys::attempt_key(tenant, claim.ready, claim.attempt, keys::CLAIM);
        self.writer
            .run(1, move |stage| {
                stage.note_time(claim.at);
                let back = |bytes: &[u8]| codec::decode_claim(claim.ready, claim.attempt, bytes);
                match stage.with_value(StoreTable::Journal, &key, back)? {
                    Some(first) if first.token == claim.token => Ok(JournalClaimOutcome::Yours),
                    Some(first) => Ok(JournalClaimOutcome::Theirs(first)),
                    None => {
                        stage.put(StoreTable::Journal, key, codec::encode_claim(&claim)?);
                        Ok(JournalClaimOutcome::Yours)
                    }
                }
            })
            .await
    }

    async fn record(&self, tenant: &Tenant, record: JournalRecord) -> Result<(), StoreError> {
        let key = keys::attempt_key(tenant, record.ready, record.attempt, keys::RECORD);
        self.writer
            .run(1, move |stage| {
                stage.note_time(record.at);
                if stage.with_value(StoreTable::Journal, &key, |_| Ok(()))?.is_none() {
                    stage.put(StoreTable::Journal, key, codec::encode_record(&record)?);
                }
                Ok(())
            })
            .await
    }

    async fn read_journal(
        &self,
        tenant: &Tenant,
        readys: &[ReadyId],
    ) -> Result<Vec<JournalRows>, StoreError> {
        let tenant = tenant.clone();
        let readys = readys.to_vec();
        self.read_engine(readys.len(), move |engine| {
            let view = engine.snapshot();
            readys.iter().map(|ready| read_ready_journal(engine, &view, &tenant, *ready)).collect()
        })
        .await
    }
}

fn read_ready_journal(
    engine: &EmbeddedStoreEngine,
    view: &Snapshot,
    tenant: &Tenant,
    ready: ReadyId,
) -> Result<JournalRows, StoreError> {
    let prefix = keys::ready_prefix(tenant, ready);
    let mut found = JournalRows::default();
    for row in view.prefix(engine.table(StoreTable::Journal), &prefix) {
        let (key, value) =
            row.into_inner().map_err(|error| map_database_error("reading the journal", &error))?;
        match key[prefix.len()..] {
            [high, low, keys::CLAIM] => {
                found.claims.push(codec::decode_claim(ready, u16::from_be_bytes([high, low]), &value)?);
            }
            [high, low, keys::RECORD] => {
                found.records.push(codec::decode_record(ready, u16::from_be_bytes([high, low]), &value)?);
            }
            _ => return Err(StoreError::Broken("a row of the journal cannot be read".into())),
        }
    }
    Ok(found)
}

#[async_trait]
impl AnswerStore for EmbeddedStore {
    async fn put_answer(
        &self,
        tenant: &Tenant,
        key: &str,
        before: Option<&StandingAnswer>,
        answer: StandingAnswer,
        now: UtcMillis,
    ) -> Result<StandingAnswer, StoreError> {
        let key = keys::answer_key(tenant, key);
        let before = before.cloned();
        self.writer
            .run(1, move |stage| {
                stage.note_time(now);
                let first = stage.with_value(StoreTable::Answers, &key, codec::decode_answer)?;
                match first.filter(|first| first.stands(now) && Some(first) != before.as_ref()) {
                    Some(first) => Ok(first),
                    None => {
                        stage.put(StoreTable::Answers, key, codec::encode_answer(&answer)?);
                        Ok(answer)
                    }
                }
            })
            .await
    }

    async fn find_answer(
        &self,
        tenant: &Tenant,
        key: &str,
        now: UtcMillis,
    ) -> Result<Option<StandingAnswer>, StoreError> {
        let key = keys::answer_key(tenant, key);
        self.read_engine(1, move |engine| {
            match engine.snapshot().get(engine.table(StoreTable::Answers), key) {
                Ok(Some(value)) => Ok(Some(codec::decode_answer(&value)?).filter(|found| found.stands(now))),
                Ok(None) => Ok(None),
                Err(error) => Err(map_database_error("reading an answer", &error)),
            }
        })
        .await
    }
}
