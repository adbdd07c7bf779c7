//! Follows: a row for each person under the subject, so that followers are one range.

use std::ops::Bound;

use async_trait::async_trait;
use fjall::Readable as _;
use model::{
    Follow, Person, SubjectRef, Tenant,
    fault::{self, Fault},
    limits::SLICE_PERSONS_MAX,
};

use super::{
    Embedded, codec,
    engine::{Engine, Table, failed},
    keys,
};
use crate::port::{Followers, Follows, StoreError};

/// A part ends after so many rows, also if most of them are ends of follows.
const PAGE_ROWS_MAX: usize = 4 * SLICE_PERSONS_MAX;

#[async_trait]
impl Follows for Embedded {
    async fn follow(&self, follows: Vec<Follow>) -> Result<(), StoreError> {
        if follows.is_empty() {
            return Ok(());
        }
        self.writer
            .run(follows.len(), move |stage| {
                for follow in &follows {
                    let key = keys::follow(follow);
                    let present = stage.with(Table::Follows, &key, codec::follow_back)?;
                    let wins = present.is_none_or(|(version, on)| {
                        follow.wins_over(&Follow { version, on, ..follow.clone() })
                    });
                    if wins || fault::planted(Fault::OlderWins) {
                        stage.put(Table::Follows, key, codec::follow(follow.version, follow.on)?);
                    }
                }
                Ok(())
            })
            .await
    }

    async fn followers(
        &self,
        tenant: &Tenant,
        target: &SubjectRef,
        from: Option<&[u8]>,
        most: usize,
    ) -> Result<Followers, StoreError> {
        let most = most.clamp(1, SLICE_PERSONS_MAX);
        let prefix = keys::followed(tenant, target);
        let from = from.map(<[u8]>::to_vec);
        self.look(most, move |engine| part(engine, &prefix, from.as_deref(), most)).await
    }

    async fn follows(&self, of: &[(Tenant, Person, SubjectRef)]) -> Result<Vec<bool>, StoreError> {
        let keys: Vec<Vec<u8>> = of
            .iter()
            .map(|(tenant, person, target)| {
                let mut key = keys::followed(tenant, target);
                key.extend_from_slice(person.as_str().as_bytes());
                key
            })
            .collect();
        self.look(keys.len(), move |engine| {
            let view = engine.view();
            let is_on = |key| match view.get(engine.table(Table::Follows), key) {
                Ok(Some(value)) => codec::follow_back(&value).map(|(_, on)| on),
                Ok(None) => Ok(false),
                Err(error) => Err(failed("reading a follow", &error)),
            };
            keys.into_iter().map(is_on).collect()
        })
        .await
    }
}

/// A part of those who follow. The place where the next begins is the last person that was looked at, so
/// follows that come and go between two parts move nobody else.
fn part(engine: &Engine, prefix: &[u8], from: Option<&[u8]>, most: usize) -> Result<Followers, StoreError> {
    let mut start = prefix.to_vec();
    start.extend_from_slice(from.unwrap_or_default());
    let start = if from.is_some() { Bound::Excluded(start) } else { Bound::Included(start) };
    let mut persons = Vec::new();
    let mut last = Vec::new();
    let rows = engine.view().range(engine.table(Table::Follows), (start, Bound::Unbounded));
    for (looked, row) in rows.enumerate() {
        let (key, value) = row.into_inner().map_err(|error| failed("reading followers", &error))?;
        let Some(person) = key.strip_prefix(prefix) else { break };
        if looked == PAGE_ROWS_MAX {
            return Ok(Followers { persons, next: Some(last) });
        }
        let (_, on) = codec::follow_back(&value)?;
        if on && persons.len() == most {
            return Ok(Followers { persons, next: Some(last) });
        }
        if on {
            let name = std::str::from_utf8(person).ok().and_then(|name| Person::new(name).ok());
            let name =
                name.ok_or_else(|| StoreError::Broken("a follower in the store cannot be read".into()))?;
            persons.push(name);
        }
        last = person.to_vec();
    }
    Ok(Followers { persons, next: None })
}
