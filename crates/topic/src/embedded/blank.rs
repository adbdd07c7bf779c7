//! Emptying single records, for good: they are overwritten in their places, and then every file is gathered anew.

use std::sync::Arc;

use fjall::PersistMode;
use runtime::file_rewrite::{RewriteError, rewrite_files};

use super::{
    book::EmbeddedTopic,
    layout,
    tables::{TopicTables, tables_fault},
};
use crate::port::TopicError;

/// Records that one write empties.
const PIECE: usize = 2_000;

pub(super) fn write_blanks(
    tables: &TopicTables,
    places: &[(Arc<EmbeddedTopic>, u32, u64)],
) -> Result<(), TopicError> {
    let mut blank = Vec::new();
    for piece in places.chunks(PIECE) {
        let mut batch = tables.db.batch().durability(Some(PersistMode::SyncData));
        for (topic, partition, offset) in piece.iter().filter(|(topic, ..)| !topic.compacted) {
            let key = layout::log_key(topic.id, *partition, *offset);
            let value = tables.log.get(key).map_err(|error| tables_fault("emptying records", &error))?;
            // What the retention has taken already is gone.
            let Some(appended) = value.and_then(|value| layout::log_appended(&value)) else { continue };
            layout::blank_value(&mut blank, appended);
            batch.insert(&tables.log, key, blank.as_slice());
        }
        batch.commit().map_err(|error| tables.write_fault("emptying records", &error))?;
    }
    Ok(())
}

/// Rewrites every file, and waits until those of before are gone: what was emptied is in none of them any more.
pub(super) fn scrub_files(tables: &TopicTables) -> Result<(), TopicError> {
    let all = || vec![tables.log.clone(), tables.state.clone(), tables.meta.clone()];
    let gone = rewrite_files(&tables.db, all).and_then(|old| old.wait_until_gone(&tables.db));
    gone.map_err(|why| match why {
        RewriteError::Begin(error) => tables.write_fault("beginning another log of writes", &error),
        RewriteError::WriteOut(error) => tables_fault("writing out what is in memory", &error),
        RewriteError::Busy => TopicError::Busy("files of before are still there".to_owned()),
        RewriteError::Gather(error) => tables_fault("gathering files", &error),
    })
}
