//! What the house notes of itself on the topic `house`: which house it is, and which catalogues it took up. All
//! processes of a house read the same book, so all agree on which of two editions is the newer one.

use std::collections::BTreeMap;

use anyhow::Context as _;
use catalogue::Catalogue;
use house_facts::{
    edition::Edition,
    format::HouseFormat,
    pause::{PauseNote, PauseNotes},
};
use model::UtcMillis;
use topic::{NewRecord, Topics};
use wire::{AdoptedCatalogue, HouseNote, HouseNoteBody, house_note, topics};

use crate::house_format::keep_newest;

/// Notes read at once.
const PAGE: usize = 1_000;
/// When a catalogue is taken up, although it was before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TakeUpPolicy {
    /// Never: others may be further, and this process an old one that starts again.
    IfNew,
    /// If it is not the newest: whoever runs the house says so.
    Anew,
}

/// The notes that were read.
#[derive(Debug, Default)]
pub struct HouseBook {
    /// Read up to here.
    next: u64,
    /// Which house it is; nothing where nobody noted it.
    house: Option<String>,
    /// As of when the latest note of the house itself is, and when it was appended.
    house_noted: Option<(UtcMillis, i64)>,
    /// The newest format that was noted.
    format: Option<HouseFormat>,
    /// By hash: the number that it has now, and where that stands.
    taken: BTreeMap<u64, (u64, u64)>,
    /// What each was called, and when it was taken up.
    known: BTreeMap<u64, (String, UtcMillis)>,
    /// The latest word on whatever was ever paused.
    pauses: PauseNotes,
}

impl HouseBook {
    /// Reads the notes of all processes.
    pub async fn read(log: &dyn Topics) -> anyhow::Result<Self> {
        let mut book = Self::default();
        book.update(log).await?;
        Ok(book)
    }

    /// Reads the notes since the last call.
    pub async fn update(&mut self, log: &dyn Topics) -> anyhow::Result<()> {
        loop {
            let bounds = log.bounds(topics::HOUSE).await.context("read the topic `house`")?;
            let (first, end) = bounds.first().copied().unwrap_or_default();
            self.next = self.next.max(first);
            if self.next >= end {
                return Ok(());
            }
            let records =
                log.read(topics::HOUSE, 0, self.next, PAGE).await.context("read the topic `house`")?;
            // Compaction may leave nothing up to the end.
            self.next = records.last().map_or(end, |last| last.offset + 1);
            for record in records {
                let Some(value) = &record.value else { continue };
                let at = || format!("{} at offset {}", topics::HOUSE, record.offset);
                if let Some(format) = house_note::read_format(&record.key).with_context(at)? {
                    keep_newest(&mut self.format, Some(format));
                    continue;
                }
                let note = house_note::decode(value).with_context(at)?;
                match note.what {
                    HouseNoteBody::Catalogue(AdoptedCatalogue { edition, name }) => {
                        self.known.insert(edition.hash, (name, note.at));
                        self.taken.insert(edition.hash, (edition.number, record.offset));
                    }
                    HouseNoteBody::Pause(pause) => {
                        self.pauses.insert(pause.scope.clone(), pause);
                    }
                    HouseNoteBody::Name => {
                        self.house = Some(note.house);
                        self.house_noted = Some((note.at, record.appended));
                    }
                }
            }
        }
    }

    /// Which house it is, if anybody noted it.
    pub fn house(&self) -> Option<&str> {
        self.house.as_deref()
    }

    /// The newest format that was noted.
    pub fn format(&self) -> Option<&HouseFormat> {
        self.format.as_ref()
    }

    /// The latest word on whatever was ever paused.
    pub fn pauses(&self) -> &PauseNotes {
        &self.pauses
    }

    /// Notes that something is paused, or goes on.
    pub async fn write_pause(&self, log: &dyn Topics, note: PauseNote) -> anyhow::Result<()> {
        let (house, at) = (self.house.clone().unwrap_or_default(), note.at);
        write_note(log, &HouseNote { house, what: HouseNoteBody::Pause(note), at }).await
    }

    /// As of when the latest note of the house itself is.
    pub fn house_at(&self) -> Option<UtcMillis> {
        self.house_noted.map(|(at, _)| at)
    }

    /// When that note was appended, by the log's clock.
    pub fn house_appended(&self) -> Option<i64> {
        self.house_noted.map(|(_, appended)| appended)
    }

    /// Notes which house it is.
    pub async fn write_house_name(log: &dyn Topics, house: &str, now: UtcMillis) -> anyhow::Result<()> {
        write_note(log, &HouseNote { house: house.to_owned(), what: HouseNoteBody::Name, at: now }).await
    }

    /// The edition of a catalogue, by its hash.
    pub fn edition(&self, hash: u64) -> Option<Edition> {
        self.taken.get(&hash).map(|(number, _)| Edition { number: *number, hash })
    }

    /// The one that was taken up last. Of two of one number it is the one that was noted first: the other gets
    /// another number.
    pub fn newest_edition(&self) -> Option<Edition> {
        let newest = self.taken.iter().max_by_key(|(_, (number, at))| (*number, u64::MAX - *at));
        newest.map(|(hash, (number, _))| Edition { number: *number, hash: *hash })
    }

    /// Every edition that is known, the newest first, with what it was called and when it was taken up.
    pub fn list_editions(&self) -> Vec<(Edition, &str, UtcMillis)> {
        let edition = |(hash, (number, _)): (&u64, &(u64, u64))| {
            let (name, at) = self.known.get(hash)?;
            Some((Edition { number: *number, hash: *hash }, name.as_str(), *at))
        };
        let mut editions: Vec<_> = self.taken.iter().filter_map(edition).collect();
        editions.sort_by_key(|(edition, ..)| std::cmp::Reverse(edition.number));
        editions
    }

    /// Goes back to the catalogue before the newest; says which that is, or that there is none.
    pub async fn step_back(&mut self, log: &dyn Topics, now: UtcMillis) -> anyhow::Result<Option<Edition>> {
        let editions = self.list_editions();
        let [(newest, ..), (before, name, _), ..] = editions[..] else { return Ok(None) };
        let edition = Edition { number: newest.number + 1, hash: before.hash };
        let what = HouseNoteBody::Catalogue(AdoptedCatalogue { edition, name: name.to_owned() });
        let house = self.house.clone().unwrap_or_default();
        write_note(log, &HouseNote { house, what, at: now }).await?;
        Ok(Some(edition))
    }

    /// Takes a catalogue up, where that is due. Two processes that do so at once come to two numbers.
    pub async fn take_up(
        &mut self,
        log: &dyn Topics,
        catalogue: &Catalogue,
        how: TakeUpPolicy,
        now: UtcMillis,
    ) -> anyhow::Result<Edition> {
        loop {
            self.update(log).await?;
            let newest = self.newest_edition();
            if let Some(own) = self.edition(catalogue.hash) {
                let is_alone = self.taken.iter().all(|(hash, (number, at))| {
                    *hash == own.hash
                        || *number != own.number
                        || self.taken.get(&own.hash).is_some_and(|(_, of_own)| of_own < at)
                });
                if is_alone && (how == TakeUpPolicy::IfNew || newest == Some(own)) {
                    return Ok(own);
                }
            }
            let number = newest.map_or(0, |newest| newest.number) + 1;
            let edition = Edition { number, hash: catalogue.hash };
            let taken = AdoptedCatalogue { edition, name: catalogue.edition_name() };
            let house = self.house.clone().unwrap_or_default();
            write_note(log, &HouseNote { house, what: HouseNoteBody::Catalogue(taken), at: now }).await?;
        }
    }
}

async fn write_note(log: &dyn Topics, note: &HouseNote) -> anyhow::Result<()> {
    let record = NewRecord {
        topic: topics::HOUSE.into(),
        partition: 0,
        key: note.key(),
        value: Some(wire::house_note::encode(note)?),
        headers: Vec::new(),
    };
    log.append(vec![record]).await.context("write to the topic `house`")
}

#[cfg(test)]
mod tests {
    use model::partition::PartitionCount;
    use runtime::Clock;
    use topic::embedded::EmbeddedTopics;

    use super::*;
    use crate::{declare_topics, testing::test_catalogue};

    fn catalogue_of_hash(hash: u64) -> Catalogue {
        let mut catalogue = (*test_catalogue()).clone();
        catalogue.hash = hash;
        catalogue
    }

    /// Takes catalogues up, one after the other, by processes that know nothing of one another.
    #[tokio::test]
    async fn catalogues_are_numbered_as_they_are_taken_up() {
        let (dir, clock) = (tempfile::tempdir().unwrap(), Clock::still(1_000_000));
        let log = EmbeddedTopics::open(dir.path(), clock).unwrap();
        declare_topics(&log, PartitionCount::new(4).unwrap()).await.unwrap();
        let check = async |hash: u64, how: TakeUpPolicy, number: u64, newest: u64| {
            let mut book = HouseBook::default();
            let own = book.take_up(&log, &catalogue_of_hash(hash), how, UtcMillis(1)).await.unwrap();
            assert_eq!(own, Edition { number, hash });
            assert_eq!(book.newest_edition().unwrap().number, newest);
        };
        check(7, TakeUpPolicy::IfNew, 1, 1).await;
        check(7, TakeUpPolicy::Anew, 1, 1).await;
        check(9, TakeUpPolicy::IfNew, 2, 2).await;
        // An old process starts again; then somebody goes back to its catalogue, and forward once more.
        check(7, TakeUpPolicy::IfNew, 1, 2).await;
        check(7, TakeUpPolicy::Anew, 3, 3).await;
        check(9, TakeUpPolicy::IfNew, 2, 3).await;
        check(9, TakeUpPolicy::Anew, 4, 4).await;
    }

    #[tokio::test]
    async fn two_that_take_up_at_once_come_to_two_numbers() {
        let (dir, clock) = (tempfile::tempdir().unwrap(), Clock::still(1_000_000));
        let log = EmbeddedTopics::open(dir.path(), clock).unwrap();
        declare_topics(&log, PartitionCount::new(4).unwrap()).await.unwrap();
        for hash in [7, 9] {
            let taken = AdoptedCatalogue { edition: Edition { number: 1, hash }, name: "x".to_owned() };
            let what = HouseNoteBody::Catalogue(taken);
            write_note(&log, &HouseNote { house: String::new(), what, at: UtcMillis(1) }).await.unwrap();
        }
        let mut book = HouseBook::default();
        for (hash, number) in [(7, 1), (9, 2), (7, 1)] {
            let own = book
                .take_up(&log, &catalogue_of_hash(hash), TakeUpPolicy::IfNew, UtcMillis(2))
                .await
                .unwrap();
            assert_eq!(own, Edition { number, hash });
        }
    }
}
