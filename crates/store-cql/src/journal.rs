//! The journal and the answers: the first writer wins, by lightweight transactions. After a lost answer the
//! transaction is asked for again: it tells what stands, and our own token says whether that is ours.

use async_trait::async_trait;
use model::{ReadyId, Tenant, UtcMillis};
use scylla::{
    client::session::Session,
    serialize::row::SerializeRow,
    statement::prepared::PreparedStatement,
    value::{CqlValue, Row},
};
use sha2::{Digest as _, Sha256};
use store::{
    AnswerStore, JournalClaim, JournalClaimOutcome, JournalRecord, JournalRows, JournalStore, StandingAnswer,
    StoreError, StoreSetup as _,
    codec::{self, unreadable_error},
};

use crate::{CqlStore, errors::CqlError};

// The parts of an attempt; the claim orders first.
const CLAIM: i8 = 1;
const RECORD: i8 = 2;

/// In seconds: a row outlives its answer by so much, and Cassandra takes nothing that lives longer than 20 years.
const CLOCKS_TTL: i64 = 3_600;
const TTL_MAX: i32 = 20 * 365 * 86_400;

#[async_trait]
impl JournalStore for CqlStore {
    async fn claim(&self, tenant: &Tenant, claim: JournalClaim) -> Result<JournalClaimOutcome, StoreError> {
        let body = codec::encode_claim(&claim)?;
        let Some(stands) = self.enter_row(tenant, claim.ready, claim.attempt, CLAIM, &body).await? else {
            return Ok(JournalClaimOutcome::Yours);
        };
        let first = codec::decode_claim(claim.ready, claim.attempt, &stands)?;
        Ok(if first.token == claim.token {
            JournalClaimOutcome::Yours
        } else {
            JournalClaimOutcome::Theirs(first)
        })
    }

    async fn record(&self, tenant: &Tenant, record: JournalRecord) -> Result<(), StoreError> {
        let body = codec::encode_record(&record)?;
        self.enter_row(tenant, record.ready, record.attempt, RECORD, &body).await.map(|_| ())
    }

    async fn read_journal(
        &self,
        tenant: &Tenant,
        readys: &[ReadyId],
    ) -> Result<Vec<JournalRows>, StoreError> {
        self.engine.run_all(readys.iter().map(|ready| self.read_ready_journal(tenant, *ready))).await
    }
}

#[async_trait]
impl AnswerStore for CqlStore {
    async fn put_answer(
        &self,
        tenant: &Tenant,
        key: &str,
        before: Option<&StandingAnswer>,
        answer: StandingAnswer,
        now: UtcMillis,
    ) -> Result<StandingAnswer, StoreError> {
        let key = hash_key(key);
        let (at, ttl) = (codec::answer_written_at(answer.until).0, answer_ttl(&answer, now));
        let attempt = || async {
            let (session, statements) = (&self.engine.session, &self.engine.statements);
            let enter = || {
                // An insert would leave a row that may outlive what is in it, in which nothing could be entered.
                let values = (ttl, at, &answer.body, tenant.as_str(), &key[..]);
                run_transaction(session, &statements.answer, values)
            };
            let replace = |first: &StandingAnswer| {
                let first = (codec::answer_written_at(first.until).0, first.body.clone());
                let values = (ttl, at, &answer.body, tenant.as_str(), &key[..], first.0, first.1);
                run_transaction(session, &statements.replace_answer, values)
            };
            let mut present = match before {
                Some(before) => replace(before).await?,
                None => enter().await?,
            };
            while let Some(row) = present {
                if row.is_empty() {
                    // Nothing is there, or what was there has gone in the meantime.
                    present = enter().await?;
                    continue;
                }
                let first = row.stored_answer()?;
                if first.stands(now) && Some(&first) != before {
                    return Ok(first);
                }
                present = replace(&first).await?;
            }
            Ok(answer.clone())
        };
        self.engine.run_with_retries("keeping an answer", attempt).await
    }

    async fn find_answer(
        &self,
        tenant: &Tenant,
        key: &str,
        now: UtcMillis,
    ) -> Result<Option<StandingAnswer>, StoreError> {
        let key = hash_key(key);
        let attempt = || async {
            for page in
                self.engine.read_pages(&self.engine.statements.answered, &(tenant.as_str(), &key[..])).await?
            {
                if let Some((at, body)) = page.maybe_first_row::<(i64, &[u8])>()? {
                    let until = codec::answer_stands_until(UtcMillis(at));
                    let found = StandingAnswer { body: body.to_vec(), until };
                    return Ok(Some(found).filter(|found| found.stands(now)));
                }
            }
            Ok::<_, CqlError>(None)
        };
        self.engine.run_with_retries("reading an answer", attempt).await
    }
}

/// An idempotency key is whatever a client sent, of any length.
fn hash_key(key: &str) -> [u8; 32] {
    Sha256::digest(key.as_bytes()).into()
}

/// In seconds: for as long as it stands by the caller's clock, and the rest is for clocks that differ.
fn answer_ttl(answer: &StandingAnswer, now: UtcMillis) -> i32 {
    let stands = answer.until.since(now).max(0) / 1_000;
    i32::try_from(stands.saturating_add(CLOCKS_TTL)).unwrap_or(TTL_MAX).min(TTL_MAX)
}

impl CqlStore {
    /// In seconds. A Ready has no say any more when its days have expired.
    fn journal_ttl(&self) -> i32 {
        i32::try_from(self.day_life().ms() / 1_000).unwrap_or(i32::MAX)
    }

    /// Enters a row of the journal, if it is the first; else returns what stands.
    async fn enter_row(
        &self,
        tenant: &Tenant,
        ready: ReadyId,
        attempt: u16,
        part: i8,
        body: &[u8],
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let attempt = || async {
            let values = (tenant.as_str(), &ready.0[..], i32::from(attempt), part, body, self.journal_ttl());
            match run_transaction(&self.engine.session, &self.engine.statements.enter, values).await? {
                Some(row) => row.into_body().map(Some),
                None => Ok(None),
            }
        };
        self.engine.run_with_retries("entering the journal", attempt).await
    }

    /// Takes the rows of a Ready away, in transactions like those that wrote them; how many there were.
    pub(crate) async fn erase_journal(
        &self,
        tenant: &Tenant,
        ready: ReadyId,
        removes: bool,
    ) -> Result<usize, StoreError> {
        let attempt = || async {
            let of = (tenant.as_str(), &ready.0[..]);
            let mut rows = Vec::new();
            for page in self.engine.read_pages(&self.engine.statements.journalled, &of).await? {
                for row in page.rows::<(i32, i8, &[u8])>()? {
                    let (attempt, part, _) = row?;
                    rows.push((attempt, part));
                }
            }
            for (attempt, part) in rows.iter().filter(|_| removes) {
                let values = (tenant.as_str(), &ready.0[..], *attempt, *part);
                // Gone already is as good.
                run_transaction(&self.engine.session, &self.engine.statements.erasing.journal, values)
                    .await?;
            }
            Ok::<_, CqlError>(rows.len())
        };
        self.engine.run_with_retries("erasing from the journal", attempt).await
    }

    async fn read_ready_journal(&self, tenant: &Tenant, ready: ReadyId) -> Result<JournalRows, StoreError> {
        let attempt = || async {
            let mut found = JournalRows::default();
            let of = (tenant.as_str(), &ready.0[..]);
            for page in self.engine.read_pages(&self.engine.statements.journalled, &of).await? {
                for row in page.rows::<(i32, i8, &[u8])>()? {
                    let (attempt, part, body) = row?;
                    let attempt =
                        u16::try_from(attempt).map_err(|_| unreadable_error("a row of the journal"))?;
                    match part {
                        CLAIM => found.claims.push(codec::decode_claim(ready, attempt, body)?),
                        RECORD => found.records.push(codec::decode_record(ready, attempt, body)?),
                        _ => return Err(unreadable_error("a row of the journal").into()),
                    }
                }
            }
            Ok::<_, CqlError>(found)
        };
        self.engine.run_with_retries("reading the journal", attempt).await
    }
}

/// The row that stood in the way of a transaction. Which columns come with it, and in which order, differs
/// from engine to engine, so they are taken by name.
struct ConflictingRow {
    names: Vec<String>,
    row: Row,
}

/// Runs a lightweight transaction; what stood in its way, if anything did.
async fn run_transaction(
    session: &Session,
    statement: &PreparedStatement,
    values: impl SerializeRow,
) -> Result<Option<ConflictingRow>, CqlError> {
    let result = session.execute_unpaged(statement, values).await?.into_rows_result()?;
    let names = result.column_specs().iter().map(|spec| spec.name().to_owned()).collect();
    let row = result.maybe_first_row::<Row>()?;
    let present = ConflictingRow {
        names,
        row: row.ok_or_else(|| CqlError::hopeless("a transaction without an answer"))?,
    };
    match present.column_value("[applied]") {
        Some(CqlValue::Boolean(applied)) => Ok((!applied).then_some(present)),
        _ => Err(CqlError::hopeless("a transaction that does not tell whether it applied")),
    }
}

impl ConflictingRow {
    fn column_value(&self, name: &str) -> Option<&CqlValue> {
        let at = self.names.iter().position(|one| one == name)?;
        self.row.columns.get(at)?.as_ref()
    }

    /// Whether nothing is there, but what was asked for.
    fn is_empty(&self) -> bool {
        self.column_value("at").is_none()
    }

    fn into_body(self) -> Result<Vec<u8>, CqlError> {
        match self.column_value("body") {
            Some(CqlValue::Blob(body)) => Ok(body.clone()),
            _ => Err(unreadable_error("a row of the journal").into()),
        }
    }

    fn stored_answer(&self) -> Result<StandingAnswer, CqlError> {
        match (self.column_value("at"), self.column_value("answer")) {
            (Some(CqlValue::BigInt(at)), Some(CqlValue::Blob(body))) => {
                let until = codec::answer_stands_until(UtcMillis(*at));
                Ok(StandingAnswer { body: body.clone(), until })
            }
            _ => Err(unreadable_error("an answer").into()),
        }
    }
}
