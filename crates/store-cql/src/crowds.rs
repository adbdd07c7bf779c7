//! Crowds: a row for each person, spread over shards so that no partition grows without end; of followers another one
//! in the person's own partition (docs/decisions/034).

use async_trait::async_trait;
use model::{
    Crowd, Enrolment, Person, SubjectRef, Tenant,
    limits::{FOLLOWS_PART_MAX, SLICE_PERSONS_MAX},
};
use scylla::response::PagingState;
use store::{Crowds, Followed, Members, StoreError, codec::bad};
use xxhash_rust::xxh3::xxh3_64;

use crate::{
    Cql,
    cells::{is_on, since, stamp, standing},
    errors::Trouble,
};

/// A part ends after so many rows, also if most of them say that somebody left.
const PAGE_ROWS_MAX: usize = 4 * SLICE_PERSONS_MAX;
/// And has no page of fewer, or it would step one by one over all who left.
const PAGE_ROWS_MIN: usize = 100;
/// Shards that are read at once where each has little.
const SHARDS_AHEAD_MAX: usize = 16;

#[async_trait]
impl Crowds for Cql {
    async fn enrol(&self, enrolments: Vec<Enrolment>) -> Result<(), StoreError> {
        self.engine.each(enrolments.iter().map(|one| self.enrol_one(one))).await.map(|_| ())
    }

    async fn members(
        &self,
        tenant: &Tenant,
        crowd: &Crowd,
        from: Option<&[u8]>,
        most: usize,
    ) -> Result<Members, StoreError> {
        let most = most.clamp(1, SLICE_PERSONS_MAX);
        let from = match from {
            Some(bytes) => Place::parse(bytes).ok_or_else(|| bad("the place where a crowd goes on"))?,
            None => Place::default(),
        };
        self.walk(tenant, crowd, from, most).await
    }

    async fn followed(
        &self,
        tenant: &Tenant,
        person: &Person,
        behind: Option<&SubjectRef>,
        most: usize,
    ) -> Result<Followed, StoreError> {
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
                let subject = SubjectRef::new(subject).map_err(|_| bad("what a person follows"))?;
                subjects.extend(since(standing)?.map(|version| (subject.clone(), version)));
                last = Some(subject);
            }
            Ok::<_, Trouble>(Followed { subjects, next: last.filter(|_| !next.finished()) })
        };
        self.engine.tried("reading follows", attempt).await
    }

    async fn enrolled(&self, of: &[(Tenant, Person, Crowd)]) -> Result<Vec<Option<i64>>, StoreError> {
        self.engine
            .each(of.iter().map(|(tenant, person, crowd)| self.enrolled_one(tenant, person, crowd)))
            .await
    }
}

/// Chosen for life. A crowd is read by all its shards, also if it is small, so there are no more than keep a
/// partition of the largest within some hundred megabytes.
fn shards(crowd: &Crowd) -> u8 {
    match crowd {
        Crowd::Followers(_) => 16,
        Crowd::Cell(_) => 4,
        Crowd::Everyone => 64,
    }
}

fn shard_of(crowd: &Crowd, person: &Person) -> u8 {
    u8::try_from(xxh3_64(person.as_str().as_bytes()) % u64::from(shards(crowd))).unwrap_or(0)
}

fn name_of(crowd: &Crowd) -> String {
    match crowd {
        Crowd::Followers(of) => format!("f:{of}"),
        Crowd::Cell(cell) => format!("c:{:x}", cell.0),
        Crowd::Everyone => "e".into(),
    }
}

/// The last person that was looked at; before everybody of a shard, if there is no name.
#[derive(Clone, Default)]
struct Place {
    shard: u8,
    person: String,
}

impl Place {
    fn bytes(&self) -> Vec<u8> {
        [&[self.shard], self.person.as_bytes()].concat()
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (&shard, person) = bytes.split_first()?;
        let person =
            std::str::from_utf8(person).ok().filter(|person| person.len() <= model::limits::ID_BYTES_MAX)?;
        Some(Self { shard, person: person.to_owned() })
    }
}

/// The next persons of a shard, whether they belong, and whether there are more.
struct Page {
    shard: u8,
    persons: Vec<(String, bool)>,
    is_last: bool,
}

impl Cql {
    /// The person's own row first: who is told of a subject is seen to follow it.
    async fn enrol_one(&self, one: &Enrolment) -> Result<(), StoreError> {
        if let Crowd::Followers(of) = &one.crowd {
            self.follow(one, of).await?;
        }
        let (crowd, standing) = (name_of(&one.crowd), standing(one.version, one.on));
        let shard = i16::from(shard_of(&one.crowd, &one.person));
        // None is for ever.
        let ttl = one.life_ms().and_then(|life| i32::try_from(life / 1_000).ok()).unwrap_or(0);
        let attempt = || async {
            let (tenant, person) = (one.tenant.as_str(), one.person.as_str());
            let values = (tenant, &crowd, shard, person, &standing, stamp(one.version), ttl);
            self.engine.session.execute_unpaged(&self.engine.statements.enrol, values).await?;
            Ok(())
        };
        self.engine.tried("enrolling somebody", attempt).await
    }

    async fn follow(&self, one: &Enrolment, of: &SubjectRef) -> Result<(), StoreError> {
        let standing = standing(one.version, one.on);
        let attempt = || async {
            let values =
                (one.tenant.as_str(), one.person.as_str(), of.as_str(), &standing, stamp(one.version));
            self.engine.session.execute_unpaged(&self.engine.statements.following.write, values).await?;
            Ok(())
        };
        self.engine.tried("writing a follow", attempt).await
    }

    async fn enrolled_one(
        &self,
        tenant: &Tenant,
        person: &Person,
        crowd: &Crowd,
    ) -> Result<Option<i64>, StoreError> {
        let (name, shard) = (name_of(crowd), i16::from(shard_of(crowd, person)));
        let attempt = || async {
            let of = (tenant.as_str(), &name, shard, person.as_str());
            for page in self.engine.pages(&self.engine.statements.member, &of).await? {
                if let Some((standing,)) = page.maybe_first_row::<(&[u8],)>()? {
                    return Ok(since(standing)?);
                }
            }
            Ok::<_, Trouble>(None)
        };
        self.engine.tried("looking for somebody in a crowd", attempt).await
    }

    /// The shards in their order. Where one had little, the next ones are read at once, as many as may fill
    /// the part.
    async fn walk(
        &self,
        tenant: &Tenant,
        crowd: &Crowd,
        from: Place,
        most: usize,
    ) -> Result<Members, StoreError> {
        let name = name_of(crowd);
        let (mut persons, mut looked) = (Vec::new(), 0);
        // The rest of a shard says nothing of how much is in the others, so the next one is read with it.
        let mut ahead = if from.person.is_empty() { 1 } else { 2 };
        let (mut last, mut after) = (None, from);
        while after.shard < shards(crowd) {
            // One more than there is room for, to know whether somebody comes after.
            let rows = (most - persons.len() + 1).max(PAGE_ROWS_MIN);
            let end = shards(crowd).min(after.shard.saturating_add(ahead));
            let starts = (after.shard..end).map(|shard| match shard == after.shard {
                true => after.clone(),
                false => Place { shard, person: String::new() },
            });
            let pages = self.engine.each(starts.map(|at| self.page(tenant, &name, at, rows))).await?;
            let largest = pages.iter().map(|page| page.persons.len()).max().unwrap_or(0);
            after = Place { shard: end, person: String::new() };
            for page in pages {
                for (person, is_on) in page.persons {
                    if looked == PAGE_ROWS_MAX || is_on && persons.len() == most {
                        return Ok(Members { persons, next: last.map(|place: Place| place.bytes()) });
                    }
                    looked += 1;
                    if is_on {
                        persons.push(Person::new(&person).map_err(|_| bad("a member of a crowd"))?);
                    }
                    last = Some(Place { shard: page.shard, person });
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
        Ok(Members { persons, next: None })
    }

    async fn page(
        &self,
        tenant: &Tenant,
        crowd: &str,
        after: Place,
        rows: usize,
    ) -> Result<Page, StoreError> {
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
            Ok::<_, Trouble>(Page { shard: after.shard, persons, is_last: next.finished() })
        };
        self.engine.tried("reading a crowd", attempt).await
    }
}

#[cfg(test)]
mod tests {
    use model::{SubjectRef, place::Cell};

    use super::*;

    #[test]
    fn a_place_is_found_again() {
        for (shard, person) in [(0, ""), (63, "ann"), (15, "\u{10ffff}")] {
            let place = Place { shard, person: person.to_owned() };
            let back = Place::parse(&place.bytes()).unwrap();
            assert_eq!((back.shard, back.person.as_str()), (shard, person));
        }
        for bytes in [&[][..], &[0, 0xff], &[b'a'; 200]] {
            assert!(Place::parse(bytes).is_none(), "{bytes:?}");
        }
    }

    #[test]
    fn crowds_have_names_and_shards_for_life() {
        for (crowd, name, shard) in [
            (Crowd::Followers(SubjectRef::new("author:7").unwrap()), "f:author:7", ANN % 16),
            (Crowd::Cell(Cell(255)), "c:ff", ANN % 4),
            (Crowd::Everyone, "e", ANN % 64),
        ] {
            assert_eq!(name_of(&crowd), name);
            assert_eq!(shard_of(&crowd, &Person::new("ann").unwrap()), shard, "{name}");
        }
    }

    /// What the hash of `ann` leaves by 64.
    const ANN: u8 = 8;
}
