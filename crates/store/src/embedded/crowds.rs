//! Crowds: a row for each person under the crowd, so that its members are one range; of followers another one under the
//! person, in the same step (docs/decisions/034).

use std::ops::Bound;

use async_trait::async_trait;
use fjall::{Readable as _, UserKey};
use model::{
    Crowd, Enrolment, Person, SubjectRef, Tenant,
    fault::{self, Fault},
    limits::{FOLLOWS_PART_MAX, SLICE_PERSONS_MAX},
};

use super::{
    Embedded,
    engine::{Engine, Table, failed},
    keys,
    writer::Stage,
};
use crate::{
    codec,
    port::{Crowds, Followed, Members, StoreError},
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
                    put(stage, Table::Crowds, key, one)?;
                    if let Crowd::Followers(of) = &one.crowd {
                        let mut key = keys::follows(&one.tenant, &one.person);
                        key.extend_from_slice(of.as_str().as_bytes());
                        put(stage, Table::Follows, key, one)?;
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

    async fn followed(
        &self,
        tenant: &Tenant,
        person: &Person,
        behind: Option<&SubjectRef>,
        most: usize,
    ) -> Result<Followed, StoreError> {
        let most = most.clamp(1, FOLLOWS_PART_MAX);
        let prefix = keys::follows(tenant, person);
        let behind = behind.cloned();
        self.look(most, move |engine| follows(engine, &prefix, behind.as_ref(), most)).await
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

/// Each row by what stands there, so that one which was written before there was the other comes to it when it is repeated.
fn put(stage: &mut Stage, table: Table, key: Vec<u8>, one: &Enrolment) -> Result<(), StoreError> {
    let present = stage.with(table, &key, codec::enrolment_back)?;
    let wins = present.is_none_or(|(version, on)| one.wins_over(&Enrolment { version, on, ..one.clone() }));
    if wins || fault::planted(Fault::OlderWins) {
        stage.put(table, key, codec::enrolment(one.version, one.on)?);
    }
    Ok(())
}

/// A part of what a person follows.
fn follows(
    engine: &Engine,
    prefix: &[u8],
    behind: Option<&SubjectRef>,
    most: usize,
) -> Result<Followed, StoreError> {
    let start = match behind {
        Some(behind) => Bound::Excluded([prefix, behind.as_str().as_bytes()].concat()),
        None => Bound::Included(prefix.to_vec()),
    };
    let (mut subjects, mut last) = (Vec::new(), None);
    let rows = engine.view().range(engine.table(Table::Follows), (start, Bound::Unbounded));
    for (looked, row) in rows.enumerate() {
        let (key, value) = row.into_inner().map_err(|error| failed("reading follows", &error))?;
        let Some(subject) = key.strip_prefix(prefix) else { break };
        if looked == most {
            return Ok(Followed { subjects, next: last });
        }
        let subject = std::str::from_utf8(subject).ok().and_then(|name| SubjectRef::new(name).ok());
        let subject = subject.ok_or_else(|| codec::bad("what a person follows"))?;
        let (version, on) = codec::enrolment_back(&value)?;
        subjects.extend(on.then(|| (subject.clone(), version)));
        last = Some(subject);
    }
    Ok(Followed { subjects, next: None })
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
