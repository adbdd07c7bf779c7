//! Which of a person's days have entries. Days that events may still reach are always read. Of older ones a note of the house
//! says which have any, so whoever needs all days reads none that is empty: it is written by whoever read them all, and an
//! entry that comes so late that its day may be in there already is noted before it is written.

use std::collections::BTreeSet;

use model::{
    Day, DayLife, UtcMillis, Value, ValueCell, VersionedState,
    limits::{AHEAD_MS_MAX, DAY_MS, LATE_MS_MAX},
    notes::ERASED,
};
use store::{StateKey, Store};

/// The note of whoever read all days: until which day it holds, and the days before it that have entries.
const READ: &str = "days";
/// Before the number of a day that got an entry late.
const LATE: &str = "late day ";

/// Days back that are open: events reach no older day in time.
const OPEN_DAYS: i32 = 8;
const _: () = assert!(OPEN_DAYS as i64 * DAY_MS == LATE_MS_MAX + DAY_MS);
/// A note stops so many days before those: clocks differ, and a write may be on its way.
const MARGIN_DAYS: i32 = 2;
/// A note is written again when it is so many days behind.
const BEHIND_DAYS: i32 = 7;
/// A late day is dropped from the notes once the note of all days has it, and its entry is there for sure.
const LANDED_MS: i64 = DAY_MS;

/// What the notes of a person say of their days.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DayIndex {
    /// Days before this one are known; none if nobody has read all.
    known_before: Option<Day>,
    /// Of those the ones that have entries, and more at most.
    days: BTreeSet<Day>,
    /// When each late day was noted.
    late: Vec<(Day, UtcMillis)>,
    /// Of whoever is erased nothing is noted any more.
    is_erased: bool,
}

impl DayIndex {
    pub fn from_notes(notes: &VersionedState) -> Self {
        let (known_before, mut days) = notes
            .text(READ)
            .and_then(parse_days)
            .map_or((None, BTreeSet::new()), |(before, days)| (Some(before), days));
        let late = notes.cells.iter().filter(|(_, cell)| cell.value.is_some()).filter_map(|(name, cell)| {
            Some((Day(name.strip_prefix(LATE)?.parse().ok()?), UtcMillis(cell.version)))
        });
        let late: Vec<(Day, UtcMillis)> = late.collect();
        days.extend(late.iter().map(|(day, _)| *day));
        Self { known_before, days, late, is_erased: notes.flag(ERASED) }
    }

    /// The days that live and may have entries.
    pub fn days_to_read(&self, life: DayLife, now: UtcMillis) -> BTreeSet<Day> {
        let newest = Day::from_instant(now.plus(AHEAD_MS_MAX));
        let may_have =
            |day: &Day| self.known_before.is_none_or(|before| *day >= before) || self.days.contains(day);
        life.living_days(now).filter(|day| *day <= newest).filter(may_have).collect()
    }

    /// What is to be noted once these were read, of which these have entries; nothing as long as the note is new enough.
    /// The instant is when the reading began.
    pub fn note_read(
        &self,
        found: impl IntoIterator<Item = Day>,
        began: UtcMillis,
    ) -> Option<VersionedState> {
        let before = Day::from_instant(began).plus(-OPEN_DAYS - MARGIN_DAYS);
        let is_new = self.known_before.is_some_and(|known| known.plus(BEHIND_DAYS) > before);
        if is_new || self.is_erased {
            return None;
        }
        let days: BTreeSet<Day> = found.into_iter().filter(|day| *day < before).collect();
        let mut note = VersionedState::from_values(began.0, [(READ, Some(write_days(before, &days)))]);
        let landed = self.late.iter().filter(|(_, at)| began.since(*at) > LANDED_MS);
        for (day, at) in landed {
            note.set(&late_name(*day), ValueCell { version: at.0 + 1, value: None });
        }
        Some(note)
    }
}

/// Writes what is to be noted of persons' days. Without it more is read next time, and that is all.
pub async fn write_notes(store: &dyn Store, notes: Vec<(StateKey, VersionedState)>) {
    if notes.is_empty() {
        return;
    }
    if let Err(error) = store.merge(notes).await {
        tracing::warn!(%error, "which days of persons have entries cannot be noted");
    }
}

/// Whether an entry comes so late that somebody may have noted that its day has none.
pub fn is_late(day: Day, now: UtcMillis) -> bool {
    day < Day::from_instant(now).plus(-OPEN_DAYS)
}

/// Notes that a day has an entry, before it is written.
pub fn note_late_day(day: Day, now: UtcMillis) -> VersionedState {
    VersionedState::from_values(now.0, [(late_name(day), Some(Value::Flag(true)))])
}

fn late_name(day: Day) -> String {
    format!("{LATE}{}", day.0)
}

/// The day before which all is known, and how many days before it each day is, in one text.
fn write_days(before: Day, days: &BTreeSet<Day>) -> Value {
    let back = days.iter().rev().map(|day| (before.0 - day.0).to_string());
    Value::from_text(&std::iter::once(before.0.to_string()).chain(back).collect::<Vec<_>>().join(" "))
}

fn parse_days(text: &str) -> Option<(Day, BTreeSet<Day>)> {
    let mut numbers = text.split(' ').map(|word| word.parse::<i32>());
    let before = Day(numbers.next()?.ok()?);
    let days = numbers.map(|back| Some(Day(before.0.checked_sub(back.ok()?)?)));
    Some((before, days.collect::<Option<_>>()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TODAY: i32 = 20_000;

    fn noon(day: i32) -> UtcMillis {
        Day(day).start().plus(DAY_MS / 2)
    }

    /// A person's days over a while: entries come, in time and late, and somebody reads all of them now and then. Gives the
    /// days with entries that a reading missed.
    fn find_missed(steps: &[(u8, u16, bool)], notes_late: bool) -> Vec<Day> {
        let life = DayLife::new(90).unwrap();
        let (mut notes, mut there, mut missed) = (VersionedState::default(), BTreeSet::new(), Vec::new());
        let mut today = TODAY;
        for (pass, back, reads) in steps {
            today += i32::from(*pass);
            let now = noon(today);
            if *reads {
                let index = DayIndex::from_notes(&notes);
                let read = index.days_to_read(life, now);
                let living = there.iter().filter(|day| !life.is_over(**day, now)).copied();
                let living: BTreeSet<Day> = living.collect();
                missed.extend(living.difference(&read));
                if let Some(note) = index.note_read(read.intersection(&living).copied(), now) {
                    notes.merge(&note);
                }
                continue;
            }
            let day = Day(today - i32::from(*back));
            if notes_late && is_late(day, now) {
                notes.merge(&note_late_day(day, now));
            }
            there.insert(day);
        }
        missed
    }

    proptest! {
        #[test]
        fn no_day_with_entries_is_missed(
            steps in proptest::collection::vec((0_u8..6, 0_u16..60, any::<bool>()), 1..80)
        ) {
            prop_assert_eq!(find_missed(&steps, true), []);
        }

        #[test]
        fn no_notes_make_it_panic(text in "[0-9 a-z-]{0,40}", name in "(days|late day )[0-9-]{0,12}") {
            let notes = VersionedState::from_values(1, [(READ, Some(Value::from_text(&text)))]);
            DayIndex::from_notes(&notes).days_to_read(DayLife::LEAST, noon(TODAY));
            let notes = VersionedState::from_values(1, [(name, Some(Value::Flag(true)))]);
            DayIndex::from_notes(&notes).note_read([Day(0)], noon(TODAY));
        }
    }

    #[test]
    fn a_late_entry_that_nobody_noted_would_be_missed() {
        let (all_read, late, again) = ((0, 0, true), (0, 40, false), (1, 0, true));
        assert_eq!(find_missed(&[all_read, late, again], true), []);
        assert_eq!(find_missed(&[all_read, late, again], false), [Day(TODAY - 40)]);
    }

    #[test]
    fn empty_days_are_read_once() {
        let life = DayLife::new(90).unwrap();
        let unknown = DayIndex::default();
        assert_eq!(unknown.days_to_read(life, noon(TODAY)).len(), 91, "all that may live");
        let has = [Day(TODAY - 50), Day(TODAY - 30), Day(TODAY - 1)];
        let note = unknown.note_read(has, noon(TODAY)).unwrap();
        let known = DayIndex::from_notes(&note);
        let read = known.days_to_read(life, noon(TODAY));
        assert!(has.iter().all(|day| read.contains(day)), "{read:?}");
        assert_eq!(read.len(), 13, "the two, and the days that are open: {read:?}");
        assert_eq!(known.note_read(has, noon(TODAY + 6)), None, "it is new enough");
        assert!(known.note_read(has, noon(TODAY + 7)).is_some());
        assert_eq!(known.days_to_read(life, noon(TODAY + 90)).len(), 91, "a note of long ago says little");
    }

    #[test]
    fn of_whoever_is_erased_nothing_is_noted() {
        let notes = VersionedState::from_values(1, [(ERASED, Some(Value::Flag(true)))]);
        assert_eq!(DayIndex::from_notes(&notes).note_read([Day(TODAY)], noon(TODAY)), None);
    }

    #[test]
    fn a_late_day_is_noted_for_as_long_as_it_has_to_be() {
        let late = Day(TODAY - 40);
        let mut notes = DayIndex::default().note_read([], noon(TODAY)).unwrap();
        notes.merge(&note_late_day(late, noon(TODAY)));
        let again = DayIndex::from_notes(&notes).note_read([late], noon(TODAY + 8)).unwrap();
        notes.merge(&again);
        assert_eq!(notes.cells.values().filter(|cell| cell.value.is_some()).count(), 1);
        assert!(DayIndex::from_notes(&notes).days.contains(&late));
    }
}
