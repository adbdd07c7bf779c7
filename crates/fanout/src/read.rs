//! What a turn read: events and slices that can be told, and records that are neither.

use std::slice;

use model::{DayLife, Event, Slice, UtcMillis, limits::SLICE_PERSONS_MAX, trace::TraceParent};
use room::quarantine::quarantine_record;
use topic::{NewRecord, TopicRecord};
use wire::{DecodeError, QuarantineCause, WireError, replay::ReplayStamp, trace};

use crate::config::GROUP;

/// What was read of a topic.
#[derive(Debug)]
pub struct FanoutBatch<T> {
    pub told: Vec<FanoutItem<T>>,
    /// Those whose day has expired: they end with that fate, and nothing is written.
    pub expired: u64,
    /// Records that could not be read, on their way to quarantine.
    pub rejects: Vec<NewRecord>,
}

/// An event or a slice, and whether it is there once more.
#[derive(Clone, Debug, PartialEq)]
pub struct FanoutItem<T> {
    pub what: T,
    pub again: Option<ReplayStamp>,
    /// The trace that it is of.
    pub trace: Option<TraceParent>,
}

impl<T> FanoutItem<T> {
    fn new(what: T, record: &TopicRecord) -> Self {
        let (again, trace) =
            (ReplayStamp::from_headers(&record.headers), trace::read_parent(&record.headers));
        Self { what, again, trace }
    }
}

impl<T> Default for FanoutBatch<T> {
    fn default() -> Self {
        Self { told: Vec::new(), expired: 0, rejects: Vec::new() }
    }
}

impl<T> FanoutBatch<T> {
    fn reject_unreadable(
        &mut self,
        record: &TopicRecord,
        reason: String,
        now: UtcMillis,
    ) -> Result<(), WireError> {
        let cause = (QuarantineCause::Unreadable, reason);
        self.rejects.push(quarantine_record(record, cause, GROUP, now)?);
        Ok(())
    }
}

/// Reads events, up to those that list a slice's worth of persons themselves. One that stands there twice is
/// told once: the second would write the same rows.
pub fn read_events(
    records: &mut slice::Iter<'_, TopicRecord>,
    life: DayLife,
    now: UtcMillis,
) -> Result<FanoutBatch<Event>, WireError> {
    let (mut read, mut listed) = (FanoutBatch::default(), 0);
    while listed < SLICE_PERSONS_MAX
        && let Some(record) = records.next()
    {
        match decode_record(record, wire::event::decode) {
            Err(reason) => read.reject_unreadable(record, reason, now)?,
            Ok(event) if life.is_over(event.entry_key().day(), now) => read.expired += 1,
            Ok(event) => {
                let heard = FanoutItem::new(event, record);
                // The keys first: nearly all differ in them.
                let is_same = |one: &FanoutItem<Event>| {
                    one.what.key == heard.what.key && (&one.what, &one.again) == (&heard.what, &heard.again)
                };
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
pub fn read_slices(
    records: &[TopicRecord],
    life: DayLife,
    now: UtcMillis,
) -> Result<FanoutBatch<Slice>, WireError> {
    let mut read = FanoutBatch::default();
    for record in records {
        match decode_record(record, wire::slice::decode) {
            Err(reason) => read.reject_unreadable(record, reason, now)?,
            Ok(slice) if life.is_over(slice.event.entry_key().day(), now) => read.expired += 1,
            Ok(slice) => read.told.push(FanoutItem::new(slice, record)),
        }
    }
    Ok(read)
}

fn decode_record<T>(
    record: &TopicRecord,
    decode: impl Fn(&[u8]) -> Result<T, DecodeError>,
) -> Result<T, String> {
    let value = record.value.as_deref().ok_or("the record has no value")?;
    decode(value).map_err(|undecodable| undecodable.to_string())
}
