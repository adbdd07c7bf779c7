//! The edition of the catalogue under which an event was told, as far as it is known. It may differ from the present
//! one.

use std::collections::{BTreeMap, BTreeSet};

use house::book::HouseBook;
use house_facts::edition::Edition;
use model::{Event, EventKey};
use topic::Topics;
use wire::{house_note, topics};

use super::spans::latest_spans;

/// Records of the quarantine that are read, the latest ones.
const ASIDE_MAX: u64 = 5_000;
const PAGE: usize = 1_000;

/// What is known of editions.
#[derive(Debug, Default)]
pub struct EditionEvidence {
    /// That of whoever asks.
    pub own: Option<Edition>,
    /// By which each event was admitted.
    pub admitted: BTreeMap<EventKey, Edition>,
    /// Events that an older edition told than the one by which they were admitted.
    pub aside: BTreeSet<EventKey>,
}

impl EditionEvidence {
    /// Why somebody may have no entry although the catalogue of today finds them.
    pub fn absence_reason(&self, event: &Event) -> Option<String> {
        if self.aside.contains(&event.key) {
            return Some(
                "it was told under an older catalogue than it was admitted by, which may not have known \
                the kind: it is in quarantine, and `tidings quarantine retry` tells the rest"
                    .to_owned(),
            );
        }
        let (own, by) = (self.own?, self.admitted.get(&event.key)?);
        (own.hash != by.hash).then(|| {
            format!(
                "they are in the audience now; it was admitted under {by}, and this is {own}: under that \
                one they were not in it, or the kind did not exist"
            )
        })
    }

    /// Looks up what else there is to know about these events.
    pub async fn load(
        &mut self,
        (log, book): (&dyn Topics, &HouseBook),
        hash: u64,
        events: &[Event],
    ) -> anyhow::Result<()> {
        self.own = book.edition(hash);
        let bounds = log.bounds(topics::QUARANTINE).await?;
        let (looks, _) = latest_spans((0..).zip(bounds).collect(), ASIDE_MAX);
        for (partition, (mut from, end)) in looks {
            while from < end {
                let records = log.read(topics::QUARANTINE, partition, from, PAGE).await?;
                let Some(last) = records.last() else { break };
                from = last.offset + 1;
                for record in &records {
                    let item = wire::quarantine::decode(record.value.as_deref().unwrap_or_default());
                    let item = item.ok().filter(|item| item.topic == topics::EVENTS);
                    let item = item.filter(|item| house_note::read_edition(&item.headers).is_some());
                    let event = item.and_then(|item| wire::event::decode(item.value.as_deref()?).ok());
                    self.aside.extend(
                        event
                            .map(|event| event.key)
                            .filter(|key| events.iter().any(|event| event.key == *key)),
                    );
                }
            }
        }
        Ok(())
    }
}
