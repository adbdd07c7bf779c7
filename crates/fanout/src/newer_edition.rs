//! Records of a newer edition of the catalogue. They may mean kinds that this process does not have, and these would be
//! lost. So such records wait until the process is replaced. After the longest wait they are told under our edition and
//! put into quarantine as well; `tidings quarantine retry` tells the rest once that edition is back.

use house_facts::edition::{EditionTracker, EditionVerdict};
use model::UtcMillis;
use room::quarantine::quarantine_record;
use topic::{NewRecord, TopicRecord, drive::TurnDeferredError};
use wire::{QuarantineCause, house_note};

use crate::config::GROUP;

/// What is put aside of a batch that may be told.
pub fn quarantine_newer(
    records: &[TopicRecord],
    editions: &EditionTracker,
    now: UtcMillis,
) -> anyhow::Result<Vec<NewRecord>> {
    let mut aside = Vec::new();
    for record in records {
        match editions.judge(house_note::read_edition(&record.headers), now) {
            EditionVerdict::Known => {}
            EditionVerdict::Wait { edition, is_first, .. } => {
                let why = editions
                    .awaited_edition(now)
                    .map(|awaited| awaited.describe_wait(editions.own_edition()));
                let why = why.unwrap_or_else(|| edition.to_string());
                if is_first {
                    tracing::warn!(topic = %record.topic, why, "fan-out waits");
                }
                return Err(TurnDeferredError(why).into());
            }
            EditionVerdict::Passed { edition, is_first } => {
                let own = editions.own_edition().map(|own| own.to_string()).unwrap_or_default();
                if is_first {
                    tracing::warn!(
                        topic = %record.topic, %edition, own,
                        "no process came with the newer catalogue; fan-out tells by its own, and also puts the records into quarantine"
                    );
                }
                let reason = format!(
                    "it was written by {edition} and told by {own}; a retry when that catalogue is in use \
                    again tells the people that this one did not know of"
                );
                aside.push(quarantine_record(record, (QuarantineCause::NewerCatalogue, reason), GROUP, now)?);
            }
        }
    }
    Ok(aside)
}
