//! Crowds: a row for each person under the crowd, so that its members are one range.

use std::ops::Bound;

use async_trait::async_trait;
use fjall::{Readable as _, UserKey};
use model::{
    Crowd, Enrolment, Person, Tenant,
    fault::{self, Fault},
    limits::SLICE_PERSONS_MAX,
};

use super::{
    Embedded,
    engine::{Engine, Table, failed},
    keys,
};
use crate::{
    codec,
    port::{Crowds, Members, StoreError},
};

/// A part ends after so many rows, also if most of them say that somebody left.
const PAGE_ROWS_MAX: usize = 4 * SLICE_PERSONS_MAX;

#[async_trait]
impl Crowds for Embedded {
    async fn enrol(&self, enrolments: Vec<Enrolment>) -> Result<(), StoreError> {
        if enrolments.is_empty() {
            return Ok(());
        }
        self.writer
            .run(enrolments.len(), move |stage| {
                for one in &enrolments {
                    let key = keys::member(&one.tenant, &one.crowd, &one.person);
                    let present = stage.with(Table::Crowds, &key, codec::enrolment_back)?;
                    let wins = present
                        .is_none_or(|(version, on)| one.wins_over(&Enrolment { version, on, ..one.clone() }));
                    if wins || fault::planted(Fault::OlderWins) {
                        stage.put(Table::Crowds, key, codec::enrolment(one.version, one.on)?);
                    }
                }
                Ok(())
            })
            .await
    }

    async fn members(
        &self,
        tenant: &Tenant,
        crowd: &Crowd,
        from: Option<&[u8]>,
        most: usize,
    ) -> Result<Members, StoreError> {
        let most = most.clamp(1, SLICE_PERSONS_MAX);
        let prefix = keys::crowd(tenant, crowd);
        let from = from.map(keys::cursor);
        self.look(most, move |engine| part(engine, &prefix, from.as_deref(), most)).await
    }

    async fn enrolled(&self, of: &[(Tenant, Person, Crowd)]) -> Result<Vec<Option<i64>>, StoreError> {
        let keys: Vec<Vec<u8>> =
            of.iter().map(|(tenant, person, crowd)| keys::member(tenant, crowd, person)).collect();
        self.look(keys.len(), move |engine| {
            let view = engine.view();
            let since = |key| match view.get(engine.table(Table::Crowds), key) {
                Ok(Some(value)) => codec::enrolment_back(&value).map(|(version, on)| on.then_some(version)),
                Ok(None) => Ok(None),
                Err(error) => Err(failed("reading an enrolment", &error)),
            };
            keys.into_iter().map(since).collect()
        })
        .await
    }
}

/// A part of a crowd. The place where the next begins is the last person that was looked at, so whoever
/// comes and goes between two parts moves nobody else.
fn part(engine: &Engine, prefix: &[u8], from: Option<&[u8]>, most: usize) -> Result<Members, StoreError> {
    let mut start = prefix.to_vec();
    start.extend_from_slice(from.unwrap_or_default());
    let start = if from.is_some() { Bound::Excluded(start) } else { Bound::Included(start) };
    let mut persons = Vec::new();
    let mut last = None;
    let next = |last: Option<UserKey>| last.map(|key| key[prefix.len()..].to_vec());
    let rows = engine.view().range(engine.table(Table::Crowds), (start, Bound::Unbounded));
    for (looked, row) in rows.enumerate() {
        let (key, value) = row.into_inner().map_err(|error| failed("reading a crowd", &error))?;
        let Some(person) = key.strip_prefix(prefix) else { break };
        let (_, on) = codec::enrolment_back(&value)?;
        if looked == PAGE_ROWS_MAX || on && persons.len() == most {
            return Ok(Members { persons, next: next(last) });
        }
        if on {
            let name = std::str::from_utf8(person).ok().and_then(|name| Person::new(name).ok());
            persons.push(name.ok_or_else(|| codec::bad("a member of a crowd"))?);
        }
        last = Some(key);
    }
    Ok(Members { persons, next: None })
}
