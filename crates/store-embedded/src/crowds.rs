//! Crowds: a row for each person under the crowd, so that its members are one range; of followers another one under the
//! person, in the same step (docs/decisions/034).

use std::ops::Bound;

use async_trait::async_trait;
use fjall::{Readable as _, UserKey};
use model::{
    Crowd, CrowdEnrolment, Person, SubjectRef, Tenant,
    fault::{self, PlantedFault},
    limits::{FOLLOWS_PART_MAX, SLICE_PERSONS_MAX},
};
use store::{CrowdCut, CrowdMembers, CrowdStore, FollowedSubjects, StoreError, codec};

use super::{
    EmbeddedStore,
    engine::{EmbeddedStoreEngine, StoreTable, map_database_error},
    keys,
    writer::WriteStage,
};

/// A part ends after so many rows, also if most of them say that somebody left.
const PAGE_ROWS_MAX: usize = 4 * SLICE_PERSONS_MAX;

#[async_trait]
impl CrowdStore for EmbeddedStore {
    async fn enrol(&self, enrolments: Vec<CrowdEnrolment>) -> Result<(), StoreError> {
        if enrolments.is_empty() {
            return Ok(());
        }
        self.writer
            .run(enrolments.len(), move |stage| {
                for one in &enrolments {
                    let key = keys::member_key(&one.tenant, &one.crowd, &one.person);
                    put_enrolment(stage, StoreTable::Crowds, key, one)?;
                    if let Crowd::Followers(of) = &one.crowd {
                        let mut key = keys::follows_prefix(&one.tenant, &one.person);
                        key.extend_from_slice(of.as_str().as_bytes());
                        put_enrolment(stage, StoreTable::Follows, key, one)?;
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
    ) -> Result<CrowdMembers, StoreError> {
        let most = most.clamp(1, SLICE_PERSONS_MAX);
        let prefix = keys::crowd_prefix(tenant, crowd);
        let place = CrowdPlace::parse(from);
        self.read_engine(most, move |engine| read_members(engine, &prefix, &place, most)).await
    }

    /// It reads on to where parts of this share end. What is behind the last one is cut when its turn has come.
    async fn cut_crowd(
        &self,
        tenant: &Tenant,
        crowd: &Crowd,
        cut: CrowdCut<'_>,
    ) -> Result<Vec<Vec<u8>>, StoreError> {
        let (share, most) = (cut.share.clamp(1, SLICE_PERSONS_MAX), cut.most);
        let prefix = keys::crowd_prefix(tenant, crowd);
        let first = CrowdPlace::parse(Some(cut.from));
        if first.until.is_some() {
            return Ok(vec![cut.from.to_vec()]);
        }
        self.read_engine(share * most, move |engine| {
            let mut places = vec![first];
            while places.len() < most
                && let Some(last) = places.last_mut()
                && let Some(next) = read_members(engine, &prefix, last, share)?.next
            {
                last.until = Some(next.clone());
                places.push(CrowdPlace { from: Some(next), until: None });
            }
            Ok(places.iter().map(CrowdPlace::bytes).collect())
        })
        .await
    }

    async fn list_followed(
        &self,
        tenant: &Tenant,
        person: &Person,
        behind: Option<&SubjectRef>,
        most: usize,
    ) -> Result<FollowedSubjects, StoreError> {
        let most = most.clamp(1, FOLLOWS_PART_MAX);
        let prefix = keys::follows_prefix(tenant, person);
        let behind = behind.cloned();
        self.read_engine(most, move |engine| read_follows(engine, &prefix, behind.as_ref(), most)).await
    }

    async fn enrolled_since(&self, of: &[(Tenant, Person, Crowd)]) -> Result<Vec<Option<i64>>, StoreError> {
        let keys: Vec<Vec<u8>> =
            of.iter().map(|(tenant, person, crowd)| keys::member_key(tenant, crowd, person)).collect();
        self.read_engine(keys.len(), move |engine| {
            let view = engine.snapshot();
            let since = |key| match view.get(engine.table(StoreTable::Crowds), key) {
                Ok(Some(value)) => codec::decode_enrolment(&value).map(|(version, on)| on.then_some(version)),
                Ok(None) => Ok(None),
                Err(error) => Err(map_database_error("reading an enrolment", &error)),
            };
            keys.into_iter().map(since).collect()
        })
        .await
    }
}

/// Each row by what stands there, so that one which was written before there was the other comes to it when it is repeated.
fn put_enrolment(
    stage: &mut WriteStage,
    table: StoreTable,
    key: Vec<u8>,
    one: &CrowdEnrolment,
) -> Result<(), StoreError> {
    let present = stage.with_value(table, &key, codec::decode_enrolment)?;
    let wins =
        present.is_none_or(|(version, on)| one.wins_over(&CrowdEnrolment { version, on, ..one.clone() }));
    if wins || fault::is_planted(PlantedFault::OlderWins) {
        stage.put(table, key, codec::encode_enrolment(one.version, one.on)?);
    }
    Ok(())
}

/// A part of what a person follows.
fn read_follows(
    engine: &EmbeddedStoreEngine,
    prefix: &[u8],
    behind: Option<&SubjectRef>,
    most: usize,
) -> Result<FollowedSubjects, StoreError> {
    let start = match behind {
        Some(behind) => Bound::Excluded([prefix, behind.as_str().as_bytes()].concat()),
        None => Bound::Included(prefix.to_vec()),
    };
    let (mut subjects, mut last) = (Vec::new(), None);
    let rows = engine.snapshot().range(engine.table(StoreTable::Follows), (start, Bound::Unbounded));
    for (looked, row) in rows.enumerate() {
        let (key, value) = row.into_inner().map_err(|error| map_database_error("reading follows", &error))?;
        let Some(subject) = key.strip_prefix(prefix) else { break };
        if looked == most {
            return Ok(FollowedSubjects { subjects, next: last });
        }
        let subject = std::str::from_utf8(subject).ok().and_then(|name| SubjectRef::new(name).ok());
        let subject = subject.ok_or_else(|| codec::unreadable_error("what a person follows"))?;
        let (version, on) = codec::decode_enrolment(&value)?;
        subjects.extend(on.then(|| (subject.clone(), version)));
        last = Some(subject);
    }
    Ok(FollowedSubjects { subjects, next: None })
}

/// Where to go on within a crowd, and where to end: both are names of persons, who may be gone by then.
#[derive(Debug, Default)]
struct CrowdPlace {
    /// Behind this one.
    from: Option<Vec<u8>>,
    /// With this one, or at the end of the crowd.
    until: Option<Vec<u8>>,
}

impl CrowdPlace {
    /// No name has the byte that stands before the end and behind it.
    fn parse(bytes: Option<&[u8]>) -> Self {
        let Some(bytes) = bytes else { return Self::default() };
        let parted = bytes.strip_prefix(&[0]).and_then(|rest| {
            let (until, from) = rest.split_at_checked(rest.iter().position(|byte| *byte == 0)?)?;
            Some((until, &from[1..]))
        });
        match parted {
            Some((until, from)) => {
                Self { from: Some(keys::bounded_cursor(from)), until: Some(keys::bounded_cursor(until)) }
            }
            None => Self { from: Some(keys::bounded_cursor(bytes)), until: None },
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let from = self.from.as_deref().unwrap_or_default();
        match &self.until {
            Some(until) => [&[0], until.as_slice(), &[0], from].concat(),
            None => from.to_vec(),
        }
    }
}

/// A part of a crowd. The place where the next begins is the last person that was looked at, so whoever
/// comes and goes between two parts moves nobody else.
fn read_members(
    engine: &EmbeddedStoreEngine,
    prefix: &[u8],
    place: &CrowdPlace,
    most: usize,
) -> Result<CrowdMembers, StoreError> {
    let CrowdPlace { from, until } = place;
    let mut start = prefix.to_vec();
    start.extend_from_slice(from.as_deref().unwrap_or_default());
    let start = if from.is_some() { Bound::Excluded(start) } else { Bound::Included(start) };
    let mut persons = Vec::new();
    let mut last: Option<UserKey> = None;
    let next = |last: Option<UserKey>| {
        last.map(|key| CrowdPlace { from: Some(key[prefix.len()..].to_vec()), until: until.clone() }.bytes())
    };
    let rows = engine.snapshot().range(engine.table(StoreTable::Crowds), (start, Bound::Unbounded));
    for (looked, row) in rows.enumerate() {
        let (key, value) = row.into_inner().map_err(|error| map_database_error("reading a crowd", &error))?;
        let Some(person) = key.strip_prefix(prefix) else { break };
        if until.as_deref().is_some_and(|until| person > until) {
            break;
        }
        let (_, on) = codec::decode_enrolment(&value)?;
        if looked == PAGE_ROWS_MAX || on && persons.len() == most {
            return Ok(CrowdMembers { persons, next: next(last) });
        }
        if on {
            let name = std::str::from_utf8(person).ok().and_then(|name| Person::new(name).ok());
            persons.push(name.ok_or_else(|| codec::unreadable_error("a member of a crowd"))?);
        }
        last = Some(key);
    }
    Ok(CrowdMembers { persons, next: None })
}
