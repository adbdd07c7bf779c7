//! Row keys. Names stand behind their length, so no key runs into another whatever bytes the names have;
//! numbers are big-endian, so keys order as what they stand for.

use model::{
    Day, Follow, ReadyId, SubjectRef, Tenant,
    entry::DayKey,
    fault::{self, Fault},
};
use sha2::{Digest, Sha256};

use crate::port::StateKey;

const DAY_PREFIX: &str = "day/";

/// The name of a day's keyspace.
pub(super) fn keyspace_of(day: Day) -> String {
    format!("{DAY_PREFIX}{}", day.0)
}

/// The day whose keyspace has this name.
pub(super) fn day_of(keyspace: &str) -> Option<Day> {
    keyspace.strip_prefix(DAY_PREFIX)?.parse().ok().map(Day)
}

/// Names have at most 128 bytes, so one byte holds their length.
pub(super) fn push_name(out: &mut Vec<u8>, name: &str) {
    out.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
    out.extend_from_slice(name.as_bytes());
}

/// What the rows of one person's day begin with; the date is the keyspace's.
pub(super) fn day(key: &DayKey) -> Vec<u8> {
    let mut out = Vec::with_capacity(64);
    if !fault::planted(Fault::TenantForgotten) {
        push_name(&mut out, key.tenant.as_str());
    }
    push_name(&mut out, key.person.as_str());
    out
}

/// What the cells of one owner begin with; the field's name follows.
pub(super) fn owner(key: &StateKey) -> Vec<u8> {
    let mut out = Vec::with_capacity(64);
    match key {
        StateKey::Subject(tenant, subject) => {
            out.push(b's');
            push_name(&mut out, tenant.as_str());
            push_name(&mut out, subject.as_str());
        }
        StateKey::Person(tenant, person) => {
            out.push(b'p');
            push_name(&mut out, tenant.as_str());
            push_name(&mut out, person.as_str());
        }
    }
    out
}

/// What the followers of one subject begin with; the person follows.
pub(super) fn followed(tenant: &Tenant, target: &SubjectRef) -> Vec<u8> {
    let mut out = Vec::with_capacity(64);
    push_name(&mut out, tenant.as_str());
    push_name(&mut out, target.as_str());
    out
}

pub(super) fn follow(follow: &Follow) -> Vec<u8> {
    let mut out = followed(&follow.tenant, &follow.target);
    out.extend_from_slice(follow.person.as_str().as_bytes());
    out
}

/// What the journal's rows of one Ready begin with.
pub(super) fn ready(tenant: &Tenant, ready: ReadyId) -> Vec<u8> {
    let mut out = Vec::with_capacity(48);
    push_name(&mut out, tenant.as_str());
    out.extend_from_slice(&ready.0);
    out
}

/// The two rows that an attempt may have; the claim orders first.
pub(super) const CLAIM: u8 = 1;
pub(super) const RECORD: u8 = 2;

pub(super) fn attempt(tenant: &Tenant, id: ReadyId, attempt: u16, tag: u8) -> Vec<u8> {
    let mut out = ready(tenant, id);
    out.extend_from_slice(&attempt.to_be_bytes());
    out.push(tag);
    out
}

/// An idempotency key is whatever a client sent, of any length: its hash is the key.
pub(super) fn answer(tenant: &Tenant, key: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(64);
    push_name(&mut out, tenant.as_str());
    out.extend_from_slice(&Sha256::digest(key.as_bytes()));
    out
}
