//! The journal and the answers: the first writer wins, by lightweight transactions. After a lost answer the
//! transaction is asked for again: it tells what stands, and our own token says whether that is ours.

use async_trait::async_trait;
use model::{
    Millis, ReadyId, Tenant,
    limits::{DAY_LIFE_MS, DAY_MS},
};
use scylla::{
    client::session::Session,
    serialize::row::SerializeRow,
    statement::prepared::PreparedStatement,
    value::{CqlValue, Row},
};
use sha2::{Digest as _, Sha256};
use store::{
    Answers, Claim, Claimed, Journal, Journalled, Record, StoreError,
    codec::{self, bad},
};

use crate::{Cql, errors::Trouble};

// The parts of an attempt; the claim orders first.
const CLAIM: i8 = 1;
const RECORD: i8 = 2;

/// In seconds. A Ready has no say any more when its days have expired; an answer stands for a day of the
/// caller's clock, the rest is for clocks that differ.
const JOURNAL_TTL: i32 = (DAY_LIFE_MS / 1_000) as i32;
const ANSWER_TTL: i32 = (DAY_MS / 1_000) as i32 + 3_600;

#[async_trait]
impl Journal for Cql {
    async fn claim(&self, tenant: &Tenant, claim: Claim) -> Result<Claimed, StoreError> {
        let body = codec::claim(&claim)?;
        let Some(stands) = self.enter(tenant, claim.ready, claim.attempt, CLAIM, &body).await? else {
            return Ok(Claimed::Yours);
        };
        let first = codec::claim_back(claim.ready, claim.attempt, &stands)?;
        Ok(if first.token == claim.token { Claimed::Yours } else { Claimed::Theirs(first) })
    }

    async fn record(&self, tenant: &Tenant, record: Record) -> Result<(), StoreError> {
        let body = codec::record(&record)?;
        self.enter(tenant, record.ready, record.attempt, RECORD, &body).await.map(|_| ())
    }

    async fn journalled(&self, tenant: &Tenant, readys: &[ReadyId]) -> Result<Vec<Journalled>, StoreError> {
        self.engine.each(readys.iter().map(|ready| self.journalled_one(tenant, *ready))).await
    }
}

#[async_trait]
impl Answers for Cql {
    async fn answer(
        &self,
        tenant: &Tenant,
        key: &str,
        answer: Vec<u8>,
        now: Millis,
    ) -> Result<Vec<u8>, StoreError> {
        let key = hash(key);
        let attempt = || async {
            let (session, statements) = (&self.engine.session, &self.engine.statements);
            let values = (tenant.as_str(), &key[..], now.0, &answer, ANSWER_TTL);
            let mut present = transact(session, &statements.answer, values).await?;
            // One that has had its day gives way, to the first who comes.
            while let Some(row) = present {
                let (at, first) = row.answer()?;
                if stands(at, now) {
                    return Ok(first);
                }
                let values = (ANSWER_TTL, now.0, &answer, tenant.as_str(), &key[..], at.0);
                present = match transact(session, &statements.answer_anew, values).await? {
                    // It has gone in the meantime.
                    Some(row) if row.is_empty() => {
                        let values = (tenant.as_str(), &key[..], now.0, &answer, ANSWER_TTL);
                        transact(session, &statements.answer, values).await?
                    }
                    present => present,
                };
            }
            Ok(answer.clone())
        };
        self.engine.tried("keeping an answer", attempt).await
    }

    async fn answered(&self, tenant: &Tenant, key: &str, now: Millis) -> Result<Option<Vec<u8>>, StoreError> {
        let key = hash(key);
        let attempt = || async {
            for page in
                self.engine.pages(&self.engine.statements.answered, &(tenant.as_str(), &key[..])).await?
            {
                if let Some((at, answer)) = page.maybe_first_row::<(i64, &[u8])>()? {
                    return Ok(stands(Millis(at), now).then(|| answer.to_vec()));
                }
            }
            Ok::<_, Trouble>(None)
        };
        self.engine.tried("reading an answer", attempt).await
    }
}

/// An idempotency key is whatever a client sent, of any length.
fn hash(key: &str) -> [u8; 32] {
    Sha256::digest(key.as_bytes()).into()
}

fn stands(at: Millis, now: Millis) -> bool {
    now.since(at) < DAY_MS
}

impl Cql {
    /// Enters a row of the journal, if it is the first; else returns what stands.
    async fn enter(
        &self,
        tenant: &Tenant,
        ready: ReadyId,
        attempt: u16,
        part: i8,
        body: &[u8],
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let attempt = || async {
            let values = (tenant.as_str(), &ready.0[..], i32::from(attempt), part, body, JOURNAL_TTL);
            match transact(&self.engine.session, &self.engine.statements.enter, values).await? {
                Some(row) => row.body().map(Some),
                None => Ok(None),
            }
        };
        self.engine.tried("entering the journal", attempt).await
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
            for page in self.engine.pages(&self.engine.statements.journalled, &of).await? {
                for row in page.rows::<(i32, i8, &[u8])>()? {
                    let (attempt, part, _) = row?;
                    rows.push((attempt, part));
                }
            }
            for (attempt, part) in rows.iter().filter(|_| removes) {
                let values = (tenant.as_str(), &ready.0[..], *attempt, *part);
                // Gone already is as good.
                transact(&self.engine.session, &self.engine.statements.erasing.journal, values).await?;
            }
            Ok::<_, Trouble>(rows.len())
        };
        self.engine.tried("erasing from the journal", attempt).await
    }

    async fn journalled_one(&self, tenant: &Tenant, ready: ReadyId) -> Result<Journalled, StoreError> {
        let attempt = || async {
            let mut found = Journalled::default();
            let of = (tenant.as_str(), &ready.0[..]);
            for page in self.engine.pages(&self.engine.statements.journalled, &of).await? {
                for row in page.rows::<(i32, i8, &[u8])>()? {
                    let (attempt, part, body) = row?;
                    let attempt = u16::try_from(attempt).map_err(|_| bad("a row of the journal"))?;
                    match part {
                        CLAIM => found.claims.push(codec::claim_back(ready, attempt, body)?),
                        RECORD => found.records.push(codec::record_back(ready, attempt, body)?),
                        _ => return Err(bad("a row of the journal").into()),
                    }
                }
            }
            Ok::<_, Trouble>(found)
        };
        self.engine.tried("reading the journal", attempt).await
    }
}

/// The row that stood in the way of a transaction. Which columns come with it, and in which order, differs
/// from engine to engine, so they are taken by name.
struct Present {
    names: Vec<String>,
    row: Row,
}

/// Runs a lightweight transaction; what stood in its way, if anything did.
async fn transact(
    session: &Session,
    statement: &PreparedStatement,
    values: impl SerializeRow,
) -> Result<Option<Present>, Trouble> {
    let result = session.execute_unpaged(statement, values).await?.into_rows_result()?;
    let names = result.column_specs().iter().map(|spec| spec.name().to_owned()).collect();
    let row = result.maybe_first_row::<Row>()?;
    let present =
        Present { names, row: row.ok_or_else(|| Trouble::hopeless("a transaction without an answer"))? };
    match present.value("[applied]") {
        Some(CqlValue::Boolean(applied)) => Ok((!applied).then_some(present)),
        _ => Err(Trouble::hopeless("a transaction that does not tell whether it applied")),
    }
}

impl Present {
    fn value(&self, name: &str) -> Option<&CqlValue> {
        let at = self.names.iter().position(|one| one == name)?;
        self.row.columns.get(at)?.as_ref()
    }

    /// Whether nothing is there, but what was asked for.
    fn is_empty(&self) -> bool {
        self.value("at").is_none()
    }

    fn body(self) -> Result<Vec<u8>, Trouble> {
        match self.value("body") {
            Some(CqlValue::Blob(body)) => Ok(body.clone()),
            _ => Err(bad("a row of the journal").into()),
        }
    }

    fn answer(&self) -> Result<(Millis, Vec<u8>), Trouble> {
        match (self.value("at"), self.value("answer")) {
            (Some(CqlValue::BigInt(at)), Some(CqlValue::Blob(answer))) => Ok((Millis(*at), answer.clone())),
            _ => Err(bad("an answer").into()),
        }
    }
}
