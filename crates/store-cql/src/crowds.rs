//! Crowds: a row for each person, spread over shards so that no partition grows without end; of followers another one
//! in the person's own partition (docs/decisions/034).

use async_trait::async_trait;
use model::{
    Crowd, CrowdEnrolment, Person, SubjectRef, Tenant,
    limits::{FOLLOWS_PART_MAX, SLICE_PERSONS_MAX},
};
use scylla::response::PagingState;
use store::{CrowdCut, CrowdMembers, CrowdStore, FollowedSubjects, StoreError, codec::unreadable_error};
use xxhash_rust::xxh3::xxh3_64;

use crate::{
    CqlStore,
    cells::{belongs_since, encode_standing, is_on, version_stamp},
    errors::CqlError,
};

/// A part ends after so many rows, also if most of them say that somebody left.
const PAGE_ROWS_MAX: usize = 4 * SLICE_PERSONS_MAX;
/// And has no page of fewer, or it would step one by one over all who left.
const PAGE_ROWS_MIN: usize = 100;
/// Shards that are read at once where each has little.
const SHARDS_AHEAD_MAX: usize = 16;

#[async_trait]
impl CrowdStore for CqlStore {
    async fn enrol(&self, enrolments: Vec<CrowdEnrolment>) -> Result<(), StoreError> {
        self.engine.run_all(enrolments.iter().map(|one| self.write_enrolment(one))).await.map(|_| ())
    }

    async fn members(
        &self,
        tenant: &Tenant,
        crowd: &Crowd,
        from: Option<&[u8]>,
        most: usize,
    ) -> Result<CrowdMembers, StoreError> {
        let most = most.clamp(1, SLICE_PERSONS_MAX);
        let from = match from {
            Some(bytes) => CrowdShardCursor::parse(bytes)
                .ok_or_else(|| unreadable_error("the place where a crowd goes on"))?,
            None => CrowdShardCursor::default(),
        };
        self.walk_shards(tenant, crowd, from, most).await
    }

    /// Shards that were not begun are parts by themselves. How many have a share follows from what the others had.
    async fn cut_crowd(
        &self,
        _: &Tenant,
        crowd: &Crowd,
        cut: CrowdCut<'_>,
    ) -> Result<Vec<Vec<u8>>, StoreError> {
        let from = CrowdShardCursor::parse(cut.from)
            .ok_or_else(|| unreadable_error("the place where a crowd goes on"))?;
        Ok(cut_shards(from, shard_count(crowd), cut).iter().map(CrowdShardCursor::bytes).collect())
    }

    async fn list_followed(
        &self,
        tenant: &Tenant,
        person: &Person,
        behind: Option<&SubjectRef>,
        most: usize,
    ) -> Result<FollowedSubjects, StoreError> {
        let mut statement = self.engine.statements.following.read.clone();
        statement.set_page_size(i32::try_from(most.clamp(1, FOLLOWS_PART_MAX)).unwrap_or(i32::MAX));
        let (statement, behind) = (&statement, behind.map(SubjectRef::as_str).unwrap_or_default());
        let attempt = || async {
            let of = (tenant.as_str(), person.as_str(), behind);
            let (page, next) =
                self.engine.session.execute_single_page(statement, of, PagingState::start()).await?;
            let page = page.into_rows_result()?;
            let (mut subjects, mut last) = (Vec::new(), None);
            for row in page.rows::<(&str, &[u8])>()? {
                let (subject, standing) = row?;
                let subject =
                    SubjectRef::new(subject).map_err(|_| unreadable_error("what a person follows"))?;
                subjects.extend(belongs_since(standing)?.map(|version| (subject.clone(), version)));
                last = Some(subject);
            }
            Ok::<_, CqlError>(FollowedSubjects { subjects, next: last.filter(|_| !next.finished()) })
        };
        self.engine.run_with_retries("reading follows", attempt).await
    }

    async fn enrolled_since(&self, of: &[(Tenant, Person, Crowd)]) -> Result<Vec<Option<i64>>, StoreError> {
        self.engine
            .run_all(of.iter().map(|(tenant, person, crowd)| self.member_since(tenant, person, crowd)))
            .await
    }
}

/// Chosen for life. A crowd is read by all its shards, also if it is small, so there are no more than keep a
/// partition of the largest within some hundred megabytes.
fn shard_count(crowd: &Crowd) -> u8 {
    match crowd {
        Crowd::Followers(_) => 16,
        Crowd::Cell(_) => 4,
        Crowd::Everyone => 64,
    }
}

fn shard_of(crowd: &Crowd, person: &Person) -> u8 {
    u8::try_from(xxh3_64(person.as_str().as_bytes()) % u64::from(shard_count(crowd))).unwrap_or(0)
}

fn crowd_name(crowd: &Crowd) -> String {
    match crowd {
        Crowd::Followers(of) => format!("f:{of}"),
        Crowd::Cell(cell) => format!("c:{:x}", cell.0),
        Crowd::Everyone => "e".into(),
    }
}

/// The last person that was looked at; before everybody of a shard, if there is no name.
#[derive(Clone, Default, PartialEq, Debug)]
struct CrowdShardCursor {
    shard: u8,
    person: String,
    /// The shard before which it ends, if it is a part of the crowd.
    end: Option<u8>,
}

impl CrowdShardCursor {
    /// Stands beside the number of a shard, of which there are fewer, if an end follows.
    const HAS_END: u8 = 0x80;

    fn bytes(&self) -> Vec<u8> {
        match self.end {
            Some(end) => [&[self.shard | Self::HAS_END, end], self.person.as_bytes()].concat(),
            None => [&[self.shard], self.person.as_bytes()].concat(),
        }
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (&first, rest) = bytes.split_first()?;
        let shard = first & !Self::HAS_END;
        let (end, person) = match first == shard {
            true => (None, rest),
            false => {
                rest.split_first().filter(|(end, _)| **end > shard).map(|(end, rest)| (Some(*end), rest))?
            }
        };
        let person =
            std::str::from_utf8(person).ok().filter(|person| person.len() <= model::limits::ID_BYTES_MAX)?;
        Some(Self { shard, person: person.to_owned(), end })
    }
}

/// The first part has the rest of the shard that was begun.
fn cut_shards(from: CrowdShardCursor, shards: u8, cut: CrowdCut<'_>) -> Vec<CrowdShardCursor> {
    let left = usize::from(shards.saturating_sub(from.shard));
    if from.end.is_some() || left == 0 {
        return vec![from];
    }
    let likely = cut.found / usize::from(from.shard.max(1)) * left;
    let parts = (likely / cut.share.max(1)).min(cut.most).clamp(1, left);
    let begin = |part: usize| from.shard.saturating_add(u8::try_from(left * part / parts).unwrap_or(u8::MAX));
    let part = |part: usize| CrowdShardCursor {
        shard: begin(part),
        person: if part == 0 { from.person.clone() } else { String::new() },
        end: (parts > 1).then(|| begin(part + 1)),
    };
    (0..parts).map(part).collect()
}

/// The next persons of a shard, whether they belong, and whether there are more.
struct CrowdShardPage {
    shard: u8,
    persons: Vec<(String, bool)>,
    is_last: bool,
}

impl CqlStore {
    /// The person's own row first: who is told of a subject is seen to follow it.
    async fn write_enrolment(&self, one: &CrowdEnrolment) -> Result<(), StoreError> {
        if let Crowd::Followers(of) = &one.crowd {
            self.write_follow(one, of).await?;
        }
        let (crowd, standing) = (crowd_name(&one.crowd), encode_standing(one.version, one.on));
        let shard = i16::from(shard_of(&one.crowd, &one.person));
        // None is forever.
        let ttl = one.life_ms().and_then(|life| i32::try_from(life / 1_000).ok()).unwrap_or(0);
        let attempt = || async {
            let (tenant, person) = (one.tenant.as_str(), one.person.as_str());
            let values = (tenant, &crowd, shard, person, &standing, version_stamp(one.version), ttl);
            self.engine.session.execute_unpaged(&self.engine.statements.enrol, values).await?;
            Ok(())
        };
        self.engine.run_with_retries("enrolling somebody", attempt).await
    }

    async fn write_follow(&self, one: &CrowdEnrolment, of: &SubjectRef) -> Result<(), StoreError> {
        let standing = encode_standing(one.version, one.on);
        let attempt = || async {
            let values = (
                one.tenant.as_str(),
                one.person.as_str(),
                of.as_str(),
                &standing,
                version_stamp(one.version),
            );
            self.engine.session.execute_unpaged(&self.engine.statements.following.write, values).await?;
            Ok(())
        };
        self.engine.run_with_retries("writing a follow", attempt).await
    }

    async fn member_since(
        &self,
        tenant: &Tenant,
        person: &Person,
        crowd: &Crowd,
    ) -> Result<Option<i64>, StoreError> {
        let (name, shard) = (crowd_name(crowd), i16::from(shard_of(crowd, person)));
        let attempt = || async {
            let of = (tenant.as_str(), &name, shard, person.as_str());
            for page in self.engine.read_pages(&self.engine.statements.member, &of).await? {
                if let Some((standing,)) = page.maybe_first_row::<(&[u8],)>()? {
                    return Ok(belongs_since(standing)?);
                }
            }
            Ok::<_, CqlError>(None)
        };
        self.engine.run_with_retries("looking for somebody in a crowd", attempt).await
    }

    /// The shards in their order. Where one had little, the next ones are read at once, as many as may fill
    /// the part.
    async fn walk_shards(
        &self,
        tenant: &Tenant,
        crowd: &Crowd,
        from: CrowdShardCursor,
        most: usize,
    ) -> Result<CrowdMembers, StoreError> {
        let name = crowd_name(crowd);
        let (mut persons, mut looked) = (Vec::new(), 0);
        // The rest of a shard says nothing of how much is in the others, so the next one is read with it.
        let mut ahead = if from.person.is_empty() { 1 } else { 2 };
        let (bound, shards) = (from.end, from.end.unwrap_or(u8::MAX).min(shard_count(crowd)));
        let (mut last, mut after) = (None, from);
        while after.shard < shards {
            // One more than there is room for, to know whether somebody comes after.
            let rows = (most - persons.len() + 1).max(PAGE_ROWS_MIN);
            let end = shards.min(after.shard.saturating_add(ahead));
            let starts = (after.shard..end).map(|shard| match shard == after.shard {
                true => after.clone(),
                false => CrowdShardCursor { shard, ..CrowdShardCursor::default() },
            });
            let pages = self.engine.run_all(starts.map(|at| self.read_page(tenant, &name, at, rows))).await?;
            let largest = pages.iter().map(|page| page.persons.len()).max().unwrap_or(0);
            after = CrowdShardCursor { shard: end, ..CrowdShardCursor::default() };
            for page in pages {
                for (person, is_on) in page.persons {
                    if looked == PAGE_ROWS_MAX || is_on && persons.len() == most {
                        return Ok(CrowdMembers {
                            persons,
                            next: last.map(|place: CrowdShardCursor| place.bytes()),
                        });
                    }
                    looked += 1;
                    if is_on {
                        persons
                            .push(Person::new(&person).map_err(|_| unreadable_error("a member of a crowd"))?);
                    }
                    last = Some(CrowdShardCursor { shard: page.shard, person, end: bound });
                }
                if !page.is_last {
                    // What was read of the shards behind it is read again, in their turn.
                    after = last.clone().unwrap_or_default();
                    break;
                }
            }
            let likely = (most - persons.len()) / (largest + 1) + 1;
            ahead = u8::try_from(likely.min(SHARDS_AHEAD_MAX)).unwrap_or(1);
        }
        Ok(CrowdMembers { persons, next: None })
    }

    async fn read_page(
        &self,
        tenant: &Tenant,
        crowd: &str,
        after: CrowdShardCursor,
        rows: usize,
    ) -> Result<CrowdShardPage, StoreError> {
        let mut statement = self.engine.statements.members.clone();
        statement.set_page_size(i32::try_from(rows).unwrap_or(i32::MAX));
        let statement = &statement;
        let attempt = || async {
            let of = (tenant.as_str(), crowd, i16::from(after.shard), after.person.as_str());
            let (page, next) =
                self.engine.session.execute_single_page(statement, of, PagingState::start()).await?;
            let page = page.into_rows_result()?;
            let mut persons = Vec::with_capacity(page.rows_num());
            for row in page.rows::<(&str, &[u8])>()? {
                let (person, standing) = row?;
                persons.push((person.to_owned(), is_on(standing)?));
            }
            Ok::<_, CqlError>(CrowdShardPage { shard: after.shard, persons, is_last: next.finished() })
        };
        self.engine.run_with_retries("reading a crowd", attempt).await
    }
}

#[cfg(test)]
mod tests {
    use model::{SubjectRef, place::GlobeCell};

    use super::*;

    fn place(shard: u8, person: &str, end: Option<u8>) -> CrowdShardCursor {
        CrowdShardCursor { shard, person: person.to_owned(), end }
    }

    #[test]
    fn a_place_is_found_again() {
        for (shard, person, end) in [
            (0, "", None),
            (63, "ann", None),
            (15, "\u{10ffff}", None),
            (0, "", Some(1)),
            (63, "ann", Some(64)),
        ] {
            let place = place(shard, person, end);
            assert_eq!(CrowdShardCursor::parse(&place.bytes()), Some(place));
        }
        for bytes in [&[][..], &[0, 0xff], &[b'a'; 200], &[0x80], &[0x83, 3, b'a'], &[0x83, 9, 0xff]] {
            assert!(CrowdShardCursor::parse(bytes).is_none(), "{bytes:?}");
        }
    }

    #[test]
    fn a_crowd_is_cut_where_shards_begin() {
        let check = |from: CrowdShardCursor, found: usize, expected: &[(u8, &str, Option<u8>)]| {
            let cut = CrowdCut { from: &[], found, share: 2_500, most: 4 };
            let expected: Vec<_> =
                expected.iter().map(|(shard, who, end)| place(*shard, who, *end)).collect();
            assert_eq!(cut_shards(from, 16, cut), expected, "{found}");
        };
        // In the first shard still: each has at least so many.
        let all = [(0, "ann", Some(4)), (4, "", Some(8)), (8, "", Some(12)), (12, "", Some(16))];
        check(place(0, "ann", None), 1_250, &all);
        // Half of all: a second one is not worth while.
        check(place(8, "ann", None), 1_250, &[(8, "ann", None)]);
        check(place(8, "ann", None), 5_000, &[(8, "ann", Some(12)), (12, "", Some(16))]);
        check(place(15, "ann", None), 1_000_000, &[(15, "ann", None)]);
        check(place(4, "ann", Some(8)), 1_000_000, &[(4, "ann", Some(8))]);
    }

    #[test]
    fn crowds_have_names_and_shards_for_life() {
        for (crowd, name, shard) in [
            (Crowd::Followers(SubjectRef::new("author:7").unwrap()), "f:author:7", ANN % 16),
            (Crowd::Cell(GlobeCell(255)), "c:ff", ANN % 4),
            (Crowd::Everyone, "e", ANN % 64),
        ] {
            assert_eq!(crowd_name(&crowd), name);
            assert_eq!(shard_of(&crowd, &Person::new("ann").unwrap()), shard, "{name}");
        }
    }

    /// What the hash of `ann` leaves by 64.
    const ANN: u8 = 8;
}
