//! What has to be asked before anything is decided: schemas of others, to read what they wrote; states and days, for what
//! was admitted; and the mails that something came back of.

use std::collections::BTreeMap;

use catalogue::{SourceDef, SourceFormat};
use futures::{future::try_join_all, try_join};
use model::{UtcMillis, VersionedState, entry::DayKey, person::notes, returns::Slip};
use store::{StateKey, StoreError};
use topic::TopicRecord;
use wire::{CloudChange, SchemaSource, upstream};

use crate::{
    deps::Deps,
    facts::{IntakeFacts, IntakeQuestions},
    ingest_error::IngestError,
    read::{RecordClouds, raw_record},
    returns::{self, MailReturn},
    source,
};

/// Reads a record of `changes`, or of a source. Fails if nobody can say now: what could be read later is not put aside.
pub(crate) async fn read_record(
    deps: &Deps,
    source: Option<&SourceDef>,
    record: &TopicRecord,
    seen: UtcMillis,
) -> Result<RecordClouds, IngestError> {
    let schemas = &*deps.schemas;
    let read = match source {
        None => upstream::read_change(raw_record(record), schemas)
            .await
            .map(|cloud| vec![cloud])
            .map_err(Into::into),
        Some(source) => source_clouds(source, record, seen, schemas).await,
    };
    match read {
        Ok(clouds) => Ok(Ok(clouds)),
        Err(source::SourceRecordError::Refused(refused)) => Ok(Err(refused)),
        Err(source::SourceRecordError::Unreachable(reason)) => Err(IngestError::Busy(reason)),
    }
}

/// What a record of a source says.
async fn source_clouds(
    source: &SourceDef,
    record: &TopicRecord,
    seen: UtcMillis,
    schemas: &dyn SchemaSource,
) -> Result<Vec<CloudChange>, source::SourceRecordError> {
    let raw = raw_record(record);
    let Some(tells) = &source.tells else { return Ok(vec![upstream::read_change(raw, schemas).await?]) };
    let row = match source.format {
        SourceFormat::CloudEvents => Some(upstream::read_cloud_row(raw, schemas).await?),
        SourceFormat::Json | SourceFormat::Avro => Some(upstream::read_row(raw, schemas).await?),
        SourceFormat::Debezium => upstream::read_debezium(raw, schemas).await?,
    };
    // What says nothing of a row is passed over.
    row.map_or(Ok(Vec::new()), |row| source::clouds_of_row(source, tells, record, &row, seen))
}

/// What the store knows of these questions.
pub(crate) async fn load_facts(
    deps: &Deps,
    questions: IntakeQuestions,
    now: UtcMillis,
) -> Result<IntakeFacts, StoreError> {
    let states = async {
        let keys: Vec<StateKey> = questions.states.into_iter().collect();
        let states: Vec<VersionedState> =
            if keys.is_empty() { Vec::new() } else { deps.room.store.states(&keys).await? };
        Ok::<BTreeMap<_, _>, StoreError>(keys.into_iter().zip(states).collect())
    };
    let days = async {
        let keys: Vec<DayKey> = questions.days.into_iter().collect();
        let rows = if keys.is_empty() { Vec::new() } else { deps.room.store.read(&keys, now).await? };
        Ok::<BTreeMap<_, _>, StoreError>(keys.into_iter().zip(rows).collect())
    };
    let (states, days) = try_join!(states, days)?;
    let (partitions, day_life) = (deps.room.partitions, deps.room.store.day_life());
    Ok(IntakeFacts { states, days, partitions, day_life })
}

/// The returns of mails that are ours, each with its slip. Of who was erased nothing is noted any more.
pub(crate) async fn load_slips<'a>(
    deps: &Deps,
    way: &str,
    backs: &'a [MailReturn],
    now: UtcMillis,
) -> Result<Vec<(&'a MailReturn, Slip)>, StoreError> {
    let store = &deps.room.store;
    let slips = try_join_all(backs.iter().map(|back| store.slip(back.ready, now))).await?;
    let keys: Vec<StateKey> = slips.iter().flatten().map(returns::notes_key).collect();
    let known = if keys.is_empty() { Vec::new() } else { store.states(&keys).await? };
    let mut known = known.into_iter();
    let mut ours = Vec::new();
    for (back, slip) in backs.iter().zip(slips) {
        let Some(slip) = slip else {
            // Older than what is kept, or of another house with the same secret.
            deps.metrics.count_return(way, "unknown");
            continue;
        };
        if known.next().is_some_and(|notes| !notes.flag(notes::ERASED)) {
            ours.push((back, slip));
        }
    }
    Ok(ours)
}
