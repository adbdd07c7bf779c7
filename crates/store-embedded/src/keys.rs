//! Row keys. Names stand behind their length, so no key runs into another whatever bytes the names have;
//! numbers are big-endian, so keys order as what they stand for.

use house_facts::day_ring::DayBucket;
use model::{
    Crowd, Day, Person, ReadyId, Tenant,
    entry::DayKey,
    fault::{self, PlantedFault},
};
use sha2::{Digest, Sha256};
use store::{StateKey, codec::push_name};

const DAYS_PREFIX: &str = "days/";

/// The name of a bucket's keyspace.
pub(super) fn keyspace_name(bucket: DayBucket) -> String {
    format!("{DAYS_PREFIX}{}", bucket.0)
}

/// The bucket whose keyspace has this name.
pub(super) fn keyspace_bucket(keyspace: &str) -> Option<DayBucket> {
    keyspace.strip_prefix(DAYS_PREFIX)?.parse().ok().map(DayBucket)
}

/// More than any key has; the database panics on keys that have more than 64 KiB.
const CURSOR_BYTES_MAX: usize = 1_024;

/// A cursor, which comes back from outside: what is longer than a key was never given out.
pub(super) fn bounded_cursor(from: &[u8]) -> Vec<u8> {
    from[..from.len().min(CURSOR_BYTES_MAX)].to_vec()
}

/// Takes a name off the front of a key.
fn split_name(key: &[u8]) -> Option<(&str, &[u8])> {
    let (&length, rest) = key.split_first()?;
    let (name, rest) = rest.split_at_checked(usize::from(length))?;
    Some((std::str::from_utf8(name).ok()?, rest))
}

/// What the rows of a day begin with: days order by their dates, those before 1970 as well.
pub(super) fn date_prefix(day: Day) -> [u8; DATE_BYTES] {
    (day.0.cast_unsigned() ^ (1 << 31)).to_be_bytes()
}

const DATE_BYTES: usize = 4;

/// The day of a row.
pub(super) fn read_date(key: &[u8]) -> Option<Day> {
    let date = u32::from_be_bytes(*key.first_chunk()?);
    Some(Day((date ^ (1 << 31)).cast_signed()))
}

/// What the rows of one person's day begin with.
pub(super) fn push_day(out: &mut Vec<u8>, key: &DayKey) {
    out.extend_from_slice(&date_prefix(key.day));
    if !fault::is_planted(PlantedFault::TenantForgotten) {
        push_name(out, key.tenant.as_str());
    }
    push_name(out, key.person.as_str());
}

/// The owner of the day in a row's key, and the length of that part.
pub(super) fn split_day(key: &[u8], day: Day) -> Option<(DayKey, usize)> {
    let (tenant, rest) = split_name(key.get(DATE_BYTES..)?)?;
    let (person, rest) = split_name(rest)?;
    let owner = DayKey { tenant: Tenant::new(tenant).ok()?, person: Person::new(person).ok()?, day };
    Some((owner, key.len() - rest.len()))
}

/// Whose state it is.
pub(super) fn push_owner(out: &mut Vec<u8>, key: &StateKey) {
    let (sort, tenant, name) = key.parts();
    out.push(u8::try_from(sort).unwrap_or_default());
    push_name(out, tenant.as_str());
    push_name(out, name);
}

/// What the crowds of a tenant begin with.
pub(super) fn tenant_prefix(tenant: &Tenant) -> Vec<u8> {
    let mut out = Vec::new();
    push_name(&mut out, tenant.as_str());
    out
}

/// Who the member is that a row of the crowds is about.
pub(super) fn read_member(key: &[u8]) -> Option<&[u8]> {
    let (_, rest) = split_name(key)?;
    match rest.split_first()? {
        (b'f', rest) => split_name(rest).map(|(_, person)| person),
        (b'c', rest) => rest.get(8..),
        (b'e', rest) => Some(rest),
        _ => None,
    }
}

/// What the members of a crowd begin with; the person follows.
pub(super) fn crowd_prefix(tenant: &Tenant, crowd: &Crowd) -> Vec<u8> {
    let mut out = Vec::with_capacity(64);
    push_name(&mut out, tenant.as_str());
    match crowd {
        Crowd::Followers(of) => {
            out.push(b'f');
            push_name(&mut out, of.as_str());
        }
        Crowd::Cell(cell) => {
            out.push(b'c');
            out.extend_from_slice(&cell.0.to_be_bytes());
        }
        Crowd::Everyone => out.push(b'e'),
    }
    out
}

/// Whether it is the key of a member of a place.
pub(super) fn is_of_place(key: &[u8]) -> bool {
    split_name(key).is_some_and(|(_, rest)| rest.first() == Some(&b'c'))
}

pub(super) fn member_key(tenant: &Tenant, crowd: &Crowd, person: &Person) -> Vec<u8> {
    let mut out = self::crowd_prefix(tenant, crowd);
    out.extend_from_slice(person.as_str().as_bytes());
    out
}

/// What the rows of all that a person follows begin with; the subject follows.
pub(super) fn follows_prefix(tenant: &Tenant, person: &Person) -> Vec<u8> {
    let mut out = Vec::with_capacity(64);
    push_name(&mut out, tenant.as_str());
    push_name(&mut out, person.as_str());
    out
}

/// What the journal's rows of one Ready begin with.
pub(super) fn ready_prefix(tenant: &Tenant, ready: ReadyId) -> Vec<u8> {
    let mut out = Vec::with_capacity(48);
    push_name(&mut out, tenant.as_str());
    out.extend_from_slice(&ready.0);
    out
}

/// The two rows that an attempt may have; the claim orders first.
pub(super) const CLAIM: u8 = 1;
pub(super) const RECORD: u8 = 2;

pub(super) fn attempt_key(tenant: &Tenant, id: ReadyId, attempt: u16, tag: u8) -> Vec<u8> {
    let mut out = ready_prefix(tenant, id);
    out.extend_from_slice(&attempt.to_be_bytes());
    out.push(tag);
    out
}

/// An idempotency key is whatever a client sent, of any length: its hash is the key.
pub(super) fn answer_key(tenant: &Tenant, key: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(64);
    push_name(&mut out, tenant.as_str());
    out.extend_from_slice(&Sha256::digest(key.as_bytes()));
    out
}
