//! A client that polls, while rows arrive in any order.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    AudienceMatch, Channel, Day, DayRow, EntryKey, EntryReason, EventKey, Kind, Mark, MarkAction, Person,
    ReadyId, SubjectRef, UtcMillis, fold::fold_rows, limits::DAY_MS,
};
use proptest::prelude::*;

use super::{EntryCursor, EntryPage, LISTED_DAYS_MAX, cut_page};
use room::days::{self, EntryReport};

const TODAY: Day = Day(20_000);

fn lives() -> std::ops::RangeInclusive<Day> {
    TODAY.plus(-LISTED_DAYS_MAX)..=TODAY
}

fn key(back: i32, number: u8) -> EntryKey {
    let at = TODAY.plus(-back).start().plus(i64::from(number) * DAY_MS / 256);
    EntryKey { occurred: at, event: EventKey([number; 16]) }
}

fn entry(key: EntryKey, target: u8) -> DayRow {
    let because = AudienceMatch::Follows(SubjectRef::new(&format!("author:{target}")).unwrap());
    let reason = EntryReason { kind: Kind::new("published").unwrap(), because };
    let subject = SubjectRef::new(&format!("work:{}", key.event.0[0])).unwrap();
    DayRow::Entry(model::Entry {
        key,
        reason,
        subject,
        actor: Person::new("max").ok().map(Into::into),
        kept: model::KeptFields::new(),
    })
}

fn mark(key: EntryKey, what: u8) -> DayRow {
    let (channel, what) = match what {
        0 => (Some(Channel::Email), MarkAction::Taken(ReadyId([1; 16]))),
        1 => (Some(Channel::Email), MarkAction::Carried(ReadyId([2; 16]))),
        2 => (None, MarkAction::Read),
        _ => (None, MarkAction::Cleared),
    };
    DayRow::Mark(Mark::new(channel, what, vec![key], UtcMillis(0)))
}

/// The days as the house reads them.
fn describe_days(rows: &BTreeMap<Day, Vec<DayRow>>) -> Vec<(Day, Vec<EntryReport>)> {
    let (journal, names) = (BTreeMap::new(), BTreeMap::new());
    let of = |rows: &Vec<DayRow>| {
        fold_rows(rows)
            .entries()
            .map(|(key, view)| days::describe_entry(key, view, &journal, &names, None))
            .collect::<Vec<_>>()
    };
    rows.iter().map(|(day, rows)| (*day, of(rows))).filter(|(_, entries)| !entries.is_empty()).collect()
}

/// A client: what it has, by id, and where it is.
#[derive(Default)]
struct PollingClient {
    has: BTreeMap<String, EntryReport>,
    at: EntryCursor,
}

impl PollingClient {
    /// One poll; says how much it was given and whether there was more.
    fn poll(&mut self, days: &[(Day, Vec<EntryReport>)], most: usize) -> (usize, bool) {
        let EntryPage { entries, next, more } = cut_page(days, &lives(), self.at.clone(), most);
        let given = entries.len();
        assert!(given <= most);
        let bytes = |entry: &&EntryReport| super::bytes_of(entry);
        let is_full = given == most || entries.iter().map(bytes).sum::<usize>() > super::PAGE_BYTES_MAX / 2;
        assert!(!more || is_full, "a page with room said that there was more");
        self.has.extend(entries.into_iter().map(|entry| (entry.entry.clone(), entry.clone())));
        self.at = EntryCursor::parse(&next).unwrap();
        (given, more)
    }

    /// Polls until there is no more.
    fn catch_up(&mut self, days: &[(Day, Vec<EntryReport>)], most: usize) -> usize {
        let mut given = 0;
        loop {
            let (some, more) = self.poll(days, most);
            given += some;
            if !more {
                return given;
            }
        }
    }
}

fn entries_by_id(days: &[(Day, Vec<EntryReport>)]) -> BTreeMap<String, EntryReport> {
    let entries = days.iter().flat_map(|(_, entries)| entries);
    entries.map(|entry| (entry.entry.clone(), entry.clone())).collect()
}

/// A row arrives, or the client polls with so much room.
#[derive(Clone, Debug)]
enum PollStep {
    Row(Day, DayRow),
    Poll(usize),
}

fn any_step() -> impl Strategy<Value = PollStep> {
    let row = (0..4_i32, 0..40_u8, 0..3_u8, 0..12_u8).prop_map(|(back, number, target, sort)| {
        let key = key(back, number);
        let row = if sort < 4 { mark(key, sort) } else { entry(key, target) };
        PollStep::Row(key.day(), row)
    });
    prop_oneof![3 => row, 1 => (1..8_usize).prop_map(PollStep::Poll)]
}

proptest! {
    #[test]
    fn a_client_that_polls_has_everything_in_the_end(
        happened in prop::collection::vec(any_step(), 0..200),
        most in 1..30_usize,
    ) {
        let (mut rows, mut client) = (BTreeMap::<Day, Vec<DayRow>>::new(), PollingClient::default());
        for one in happened {
            match one {
                PollStep::Row(day, row) => rows.entry(day).or_default().push(row),
                PollStep::Poll(most) => {
                    client.poll(&describe_days(&rows), most);
                }
            }
        }
        let days = describe_days(&rows);
        client.catch_up(&days, most);
        prop_assert_eq!(&client.has, &entries_by_id(&days));
        // At rest nothing is given, and the answer is the same each time.
        let at = client.at.clone();
        prop_assert_eq!(client.poll(&days, most), (0, false));
        prop_assert_eq!(client.at, at);
    }

    #[test]
    fn a_client_of_its_own_making_is_given_everything(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
        let days = describe_days(&busy(9));
        if let Ok(at) = EntryCursor::parse(&URL_SAFE_NO_PAD.encode([&[1], &bytes[..]].concat())) {
            let mut client = PollingClient { at, ..PollingClient::default() };
            client.catch_up(&days, 4);
            prop_assert_eq!(client.has, entries_by_id(&days));
        }
    }
}

/// Two days with so many entries each.
fn busy(count: u8) -> BTreeMap<Day, Vec<DayRow>> {
    let day =
        |back: i32| (TODAY.plus(-back), (0..count).map(|number| entry(key(back, number * 2), 1)).collect());
    BTreeMap::from([day(0), day(1)])
}

#[test]
fn pages_come_oldest_first_and_each_entry_once() {
    let days = describe_days(&busy(10));
    let mut at = EntryCursor::default();
    let mut ids = Vec::new();
    for (given, more) in [(8, true), (8, true), (4, false)] {
        let page = cut_page(&days, &lives(), at, 8);
        assert_eq!((page.entries.len(), page.more), (given, more));
        ids.extend(page.entries.iter().map(|entry| entry.entry.clone()));
        at = EntryCursor::parse(&page.next).unwrap();
    }
    assert!(ids.is_sorted(), "{ids:?}");
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), 20);
}

#[test]
fn a_day_that_changed_is_given_again_from_where_it_changed() {
    let check = |row: DayRow, given: usize| {
        let mut rows = busy(100);
        let mut client = PollingClient::default();
        client.catch_up(&describe_days(&rows), 500);
        let day = match &row {
            DayRow::Entry(entry) => entry.key.day(),
            DayRow::Mark(mark) => mark.covers[0].day(),
            DayRow::List(list) => list.keys()[0].day(),
        };
        rows.get_mut(&day).unwrap().push(row.clone());
        assert_eq!(client.catch_up(&describe_days(&rows), 500), given, "{row:?}");
        assert_eq!(client.has, entries_by_id(&describe_days(&rows)));
    };
    // One more at the end of today, or of yesterday, costs itself.
    check(entry(key(0, 250), 1), 1);
    check(entry(key(1, 250), 1), 1);
    // In the middle, what is behind the last place that stands.
    check(entry(key(1, 101), 1), 51);
    check(entry(key(1, 51), 1), 76);
    check(mark(key(0, 198), 2), 25);
    check(mark(key(0, 0), 2), 100);
    // A second reason for an entry is news; a row that is there is none.
    check(entry(key(0, 198), 2), 25);
    check(entry(key(0, 198), 1), 0);
}

#[test]
fn what_lives_no_more_is_forgotten_and_what_is_not_asked_for_is_kept() {
    let days = describe_days(&busy(3));
    let mut client = PollingClient::default();
    client.catch_up(&days, 500);
    // Asked for today alone, the client keeps its place in yesterday.
    assert_eq!(client.poll(&days[1..], 500), (0, false));
    assert_eq!(client.poll(&days, 500), (0, false));
    let later = TODAY..=TODAY.plus(LISTED_DAYS_MAX);
    let next = cut_page(&[], &later, client.at.clone(), 500).next;
    assert_eq!(EntryCursor::parse(&next).unwrap().days.len(), 1);
    let much_later = TODAY.plus(30)..=TODAY.plus(60);
    assert_eq!(cut_page(&[], &much_later, client.at, 500).next, EntryCursor::default().to_string());
}

/// Long names: a page is cut by its bytes, one that is too long alone is given all the same, and nothing is left out.
#[test]
fn a_page_is_cut_by_its_bytes() {
    let check = |name_bytes: usize, count: u8, polls: usize| {
        let rows = (0..count).map(|number| entry(key(0, number), 1)).collect();
        let mut days = describe_days(&BTreeMap::from([(TODAY, rows)]));
        for (_, entries) in &mut days {
            entries.iter_mut().for_each(|entry| entry.name = Some("a".repeat(name_bytes)));
        }
        let mut client = PollingClient::default();
        let mut polled = 1;
        while client.poll(&days, 500).1 {
            polled += 1;
        }
        assert_eq!((client.has.len(), polled), (count.into(), polls), "{name_bytes}");
    };
    check(10, 200, 1);
    check(10_000, 200, 4);
    check(super::PAGE_BYTES_MAX, 5, 5);
}
