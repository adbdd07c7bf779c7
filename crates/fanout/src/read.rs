//! What a turn read: events and slices that can be told, and records that are neither.

use std::slice;

use model::{Event, Millis, Slice, limits::SLICE_PERSONS_MAX};
use topic::{NewRecord, Record};
use wire::{Undecodable, WireError, quarantined::Unusable, replay::Again, topics};

use crate::config::GROUP;

/// What was read of a topic.
#[derive(Debug)]
pub struct Read<T> {
    pub told: Vec<Heard<T>>,
    /// Those whose day has expired: they end with that fate, and nothing is written.
    pub expired: u64,
    /// Records that could not be read, on their way to quarantine.
    pub rejects: Vec<NewRecord>,
}

/// An event or a slice, and whether it is there once more.
#[derive(Clone, Debug, PartialEq)]
pub struct Heard<T> {
    pub what: T,
    pub again: Option<Again>,
}

impl<T> Heard<T> {
    fn new(what: T, record: &Record) -> Self {
        Self { what, again: Again::of(&record.headers) }
    }
}

impl<T> Default for Read<T> {
    fn default() -> Self {
        Self { told: Vec::new(), expired: 0, rejects: Vec::new() }
    }
}

/// Reads events, up to those that list a slice's worth of persons themselves. One that stands there twice is
/// told once: the second would write the same rows.
pub fn events(records: &mut slice::Iter<'_, Record>, now: Millis) -> Result<Read<Event>, WireError> {
    let (mut read, mut listed) = (Read::default(), 0);
    while listed < SLICE_PERSONS_MAX
        && let Some(record) = records.next()
    {
        match decoded(record, wire::event::decode) {
            Err(reason) => read.rejects.push(quarantined(record, reason, now)?),
            Ok(event) if has_expired(&event, now) => read.expired += 1,
            Ok(event) => {
                let heard = Heard::new(event, record);
                // The keys first: nearly all differ in them.
                let is_same = |one: &Heard<Event>| one.what.key == heard.what.key && *one == heard;
                if !read.told.iter().any(is_same) {
                    listed += heard.what.persons.len();
                    read.told.push(heard);
                }
            }
        }
    }
    Ok(read)
}

/// Reads slices.
pub fn slices(records: &[Record], now: Millis) -> Result<Read<Slice>, WireError> {
    let mut read = Read::default();
    for record in records {
        match decoded(record, wire::slice::decode) {
            Err(reason) => read.rejects.push(quarantined(record, reason, now)?),
            Ok(slice) if has_expired(&slice.event, now) => read.expired += 1,
            Ok(slice) => read.told.push(Heard::new(slice, record)),
        }
    }
    Ok(read)
}

fn decoded<T>(record: &Record, decode: impl Fn(&[u8]) -> Result<T, Undecodable>) -> Result<T, String> {
    let value = record.value.as_deref().ok_or("the record has no value")?;
    decode(value).map_err(|undecodable| undecodable.to_string())
}

fn has_expired(event: &Event, now: Millis) -> bool {
    event.entry_key().day().expires() <= now
}

pub(crate) fn quarantined(record: &Record, reason: String, now: Millis) -> Result<NewRecord, WireError> {
    let unusable = Unusable {
        topic: &record.topic,
        partition: record.partition,
        offset: record.offset,
        appended: Millis(record.appended),
        key: &record.key,
        value: record.value.as_deref(),
    };
    let quarantined = wire::quarantined::of_record(unusable, reason, GROUP, now);
    let (key, value) = wire::quarantined::keyed(&quarantined.with_headers(&record.headers))?;
    Ok(NewRecord {
        topic: topics::QUARANTINE.into(),
        partition: 0,
        key,
        value: Some(value),
        headers: Vec::new(),
    })
}
