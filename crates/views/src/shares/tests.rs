//! What is counted, whatever the rows; and that pieces add up to the whole, whatever their size.

use std::time::Duration;

use catalogue::canary::CatalogueArm;
use model::{
    AudienceMatch, Channel, Day, DayLife, DayRow, EndReason, Entry, EntryKey, EntryReason, EventKey, Kind,
    Mark, MarkAction, Person, ReadyId, SubjectRef, Tenant, UtcMillis, VersionedState, entry::DayKey,
    fold::fold_rows, limits::DAY_ROWS_READ_MAX, person::notes,
};
use share_ratio::ShareRatio;
use store::{DayRows, DayStore as _, StateKey, StateStore as _};
use store_embedded::EmbeddedStore;

use super::{
    count::{ShareCountLimits, ShareCursor},
    *,
};

const CATALOGUE: &str = "catalogue: sample
subjects: {item: {title: text}}
kinds:
  a: {on: item.made, to: everyone, says: 'made', plans: [daily, mailed]}
plans:
  daily:
    channel: push
    close: {daily: \"09:00\", zone: person}
    look_back: 3d
    headline: 'x'
    body: 'x'
    sections: [{title: New, kinds: a, most: 5}]
  mailed:
    channel: email
    close: {daily: \"09:00\", zone: person}
    look_back: 3d
    from: Sample <news@sample.example>
    headline: 'x'
    template: mail.mjml
    text: mail.txt
    sections: [{title: New, kinds: a, most: 5}]
";
const READY: ReadyId = ReadyId([9; 16]);

/// Kind `b` is gone from it, so all its channels count.
fn catalogue() -> Catalogue {
    Catalogue::parse(CATALOGUE, "catalogue.yaml", &|_| Ok(String::new())).unwrap()
}

fn now() -> UtcMillis {
    UtcMillis::parse("2026-11-21T10:00:00Z").unwrap()
}

fn today() -> Day {
    Day::from_instant(now())
}

fn key(day: Day, n: u16) -> EntryKey {
    EntryKey { occurred: day.start().plus(i64::from(n)), event: EventKey([7; 16]) }
}

fn entry(day: Day, n: u16, kind: &str) -> DayRow {
    let reason = EntryReason { kind: Kind::new(kind).unwrap(), because: AudienceMatch::Named };
    DayRow::Entry(Entry {
        key: key(day, n),
        reason,
        subject: SubjectRef::new("item:1").unwrap(),
        actor: None,
        kept: model::KeptFields::new(),
    })
}

fn mark(day: Day, n: u16, channel: Option<Channel>, what: MarkAction) -> DayRow {
    DayRow::Mark(Mark::new(channel, what, vec![key(day, n)], now()))
}

/// Counts the entries of one day.
fn tally(rows: &[DayRow]) -> ShareTally {
    let (mut tally, ann, catalogue) = (ShareTally::default(), Person::new("ann").unwrap(), catalogue());
    fold_rows(rows).entries().for_each(|(_, view)| tally.add(view, &ann, &catalogue));
    tally
}

#[test]
fn an_entry_is_told_waits_or_has_ended() {
    let (mail, push) = (Some(Channel::Email), Some(Channel::Push));
    let check =
        |marks: &[(Option<Channel>, MarkAction)], [told, waiting, ended]: [u64; 3], email: FateCounts| {
            let mut rows: Vec<DayRow> = marks.iter().map(|(on, what)| mark(today(), 1, *on, *what)).collect();
            rows.push(entry(today(), 1, "a"));
            let found = tally(&rows);
            let percent = (waiting == 0).then_some(if told == 1 { 100.0 } else { 0.0 });
            let share = EntryShare { entries: 1, told, waiting, ended, told_percent: percent };
            assert_eq!((&found.share, &found.kinds["a"]), (&share, &share), "{marks:?}");
            assert_eq!(found.channels["email"], email, "{marks:?}");
        };
    let one = || FateCounts { entries: 1, ..FateCounts::default() };
    let ended = |why: EndReason| FateCounts { ended: [(why.text().to_owned(), 1)].into(), ..one() };
    let waits = || FateCounts { waiting: 1, ..one() };
    check(&[], [0, 1, 0], waits());
    check(&[(mail, MarkAction::Taken(READY))], [1, 0, 0], FateCounts { told: 1, ..one() });
    // Told on the other channel, it is told, whatever became of it here.
    check(&[(push, MarkAction::Taken(READY))], [1, 0, 0], waits());
    check(
        &[(push, MarkAction::Taken(READY)), (mail, MarkAction::Ended(EndReason::Muted))],
        [1, 0, 0],
        ended(EndReason::Muted),
    );
    // Ended on one channel it still waits on the other.
    check(&[(mail, MarkAction::Ended(EndReason::OverCap))], [0, 1, 0], ended(EndReason::OverCap));
    check(&[(None, MarkAction::Ended(EndReason::Erased))], [0, 0, 1], ended(EndReason::Erased));
    check(&[(None, MarkAction::Read)], [0, 0, 1], FateCounts { read: 1, ..one() });
    check(&[(None, MarkAction::Cleared)], [0, 0, 1], FateCounts { cleared: 1, ..one() });
    check(&[(mail, MarkAction::Carried(READY))], [0, 1, 0], FateCounts { carried: 1, ..one() });
    let returned = MarkAction::Returned { ready: READY, maybe: false };
    check(&[(mail, MarkAction::Taken(READY)), (mail, returned)], [0, 1, 0], waits());
}

#[test]
fn an_entry_of_two_kinds_counts_under_both_and_once_in_all() {
    let found = tally(&[entry(today(), 1, "a"), entry(today(), 1, "b"), entry(today(), 2, "b")]);
    assert_eq!((found.share.entries, found.kinds["a"].entries, found.kinds["b"].entries), (2, 1, 2));
    // A mark without its entry is none.
    assert_eq!(tally(&[mark(today(), 1, None, MarkAction::Read)]), ShareTally::default());
}

#[test]
fn all_and_nothing_are_said_of_nothing_else() {
    let check =
        |part: u64, of: u64, expect: Option<f64>| assert_eq!(percent(part, of), expect, "{part}/{of}");
    check(0, 0, None);
    check(0, 5, Some(0.0));
    check(5, 5, Some(100.0));
    check(2, 3, Some(66.7));
    check(1, 1_000_000, Some(0.1));
    check(999_999, 1_000_000, Some(99.9));
    check(u64::MAX, u64::MAX, Some(100.0));
}

fn person(name: &str, day: Day, rows: Vec<DayRow>) -> DayRows {
    let key = DayKey { tenant: Tenant::new("main").unwrap(), person: Person::new(name).unwrap(), day };
    DayRows { key, rows }
}

/// Three days of some persons; one has more rows than fit into a part, and one belongs to somebody else.
async fn write_days(store: &EmbeddedStore) {
    let mut days = Vec::new();
    for (back, day) in (0..3).map(|back| (back, today().plus(-i32::from(back)))) {
        for (n, name) in (1_u16..).zip(["ann", "bob", "cleo"]) {
            let mut rows: Vec<DayRow> = (0..n + back).map(|n| entry(day, n, "a")).collect();
            rows.push(mark(day, 0, Some(Channel::Email), MarkAction::Taken(READY)));
            days.push(person(name, day, rows));
        }
        let mut rows: Vec<DayRow> = (0..20).map(|n| entry(day, n, "b")).collect();
        rows.extend((0..20).map(|n| mark(day, n, None, MarkAction::Cleared)));
        days.push(person("busy", day, rows));
        let mut other = person("ann", day, vec![entry(day, 1, "theirs")]);
        other.key.tenant = Tenant::new("other").unwrap();
        days.push(other);
    }
    store.write(days, now()).await.unwrap();
}

async fn count_in_pieces(store: &EmbeddedStore, bounds: ShareCountLimits) -> (ToldShares, usize) {
    let (tenant, catalogue) = (Tenant::new("main").unwrap(), catalogue());
    let piece = async |from: Option<ShareCursor>| {
        count::count_shares(store, &tenant, &catalogue, (count::days(4, DayLife::LEAST, now()), from), bounds)
            .await
            .unwrap()
    };
    let (mut shares, mut pieces) = (piece(None).await, 1);
    while let Some(next) = shares.next.clone() {
        assert!(next.starts_with(shares.cut.as_deref().unwrap()));
        let place: ShareCursor = next.parse().unwrap();
        assert_eq!(place.to_string(), next);
        shares.join(piece(Some(place)).await);
        pieces += 1;
        assert!(pieces < 1_000, "it does not come to an end");
    }
    (shares, pieces)
}

#[tokio::test]
async fn pieces_add_up_to_the_whole() {
    let dir = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(dir.path()).unwrap();
    write_days(&store).await;
    let hour = Duration::from_secs(3_600);
    let (whole, pieces) =
        count_in_pieces(&store, ShareCountLimits { part: 1_000, rows: u64::MAX, time: hour }).await;
    assert_eq!((pieces, whole.days.len(), &whole.cut), (1, 5, &None));
    // Of each day: 1 + 2 + 3 entries and one more for each day back, of which each person's first is told; and 20.
    let of_days: Vec<_> =
        whole.days.iter().map(|day| &day.tally.share).map(|of| (of.entries, of.told, of.ended)).collect();
    assert_eq!(of_days, [(26, 3, 20), (29, 3, 20), (32, 3, 20), (0, 0, 0), (0, 0, 0)]);
    assert_eq!(whole.total.share.entries, 26 + 29 + 32);
    assert_eq!(whole.total.kinds.keys().collect::<Vec<_>>(), ["a", "b"]);
    // With those of the other tenant, who is looked at and not counted.
    assert_eq!(whole.rows, 26 + 29 + 32 + 3 * (3 + 20 + 1));
    for part in [1, 2, 3, 7, 30, 41] {
        for (rows, time) in [(0, hour), (1, hour), (30, hour), (50, hour), (u64::MAX, Duration::ZERO)] {
            let (found, pieces) = count_in_pieces(&store, ShareCountLimits { part, rows, time }).await;
            assert_eq!(found, whole, "parts of {part}, pieces of {rows}");
            assert!(pieces > 1, "parts of {part}, pieces of {rows}");
        }
    }
}

#[tokio::test]
async fn the_shares_of_a_canary_stand_beside_those_of_the_others() {
    let dir = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(dir.path()).unwrap();
    let people: Vec<Person> = (0..40).map(|n| Person::new(&format!("p{n}")).unwrap()).collect();
    let mut days = Vec::new();
    for one in &people {
        days.push(person(one.as_str(), today(), vec![entry(today(), 1, "a")]));
    }
    store.write(days, now()).await.unwrap();
    let tried = catalogue().with_canary(catalogue(), ShareRatio::from_percent(30)).unwrap();
    let tenant = Tenant::new("main").unwrap();
    let bounds = ShareCountLimits { part: 7, rows: u64::MAX, time: Duration::from_secs(3_600) };
    let count = async |catalogue: &Catalogue| {
        let asked = (count::days(1, DayLife::LEAST, now()), None);
        count::count_shares(&store, &tenant, catalogue, asked, bounds).await.unwrap().total.arms
    };
    assert!(count(&catalogue()).await.is_empty());
    let arms = count(&tried).await;
    for arm in CatalogueArm::ALL {
        let many = people.iter().filter(|person| tried.arm_of(person) == arm).count();
        assert_eq!(arms[arm.name()].entries, many as u64);
        assert!(many > 0);
    }
}

#[tokio::test]
async fn what_was_read_all_at_once_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(dir.path()).unwrap();
    write_days(&store).await;
    let mut state = VersionedState::default();
    let (word, _) = notes::UP_TO[0];
    state.set(word, model::ValueCell { version: now().0, value: Some(model::Value::Flag(true)) });
    let of = StateKey::Notes(Tenant::new("main").unwrap(), Person::new("cleo").unwrap());
    store.merge(vec![(of, state)]).await.unwrap();
    let bounds = ShareCountLimits { part: 5, rows: u64::MAX, time: Duration::from_secs(3_600) };
    let (found, _) = count_in_pieces(&store, bounds).await;
    let today = &found.days[0].tally.channels["email"];
    assert_eq!((today.told, today.waiting, today.read + today.cleared), (3, 1, 22), "{today:?}");
}

#[tokio::test]
async fn no_more_is_taken_of_a_person_than_by_others_who_read_days() {
    let dir = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(dir.path()).unwrap();
    let rows: Vec<DayRow> =
        (0..DAY_ROWS_READ_MAX + 50).map(|n| entry(today(), u16::try_from(n).unwrap(), "a")).collect();
    store.write(vec![person("ann", today(), rows)], now()).await.unwrap();
    let bounds = ShareCountLimits { part: 4_000, rows: 1, time: Duration::from_secs(3_600) };
    let (found, _) = count_in_pieces(&store, bounds).await;
    assert_eq!((found.total.share.entries, found.rows), (10_000, 10_050));
}

#[test]
fn only_days_that_live_are_asked_for() {
    let check = |back: i32, at: &str, since: &str, until: &str| {
        let days = count::days(back, DayLife::LEAST, UtcMillis::parse(at).unwrap());
        assert_eq!((days.start().to_string(), days.end().to_string()), (since.to_owned(), until.to_owned()));
    };
    check(7, "2026-11-21T10:00:00Z", "2026-11-14", "2026-11-21");
    check(0, "2026-11-21T23:59:30Z", "2026-11-22", "2026-11-22");
    check(21, "2026-11-21T10:00:00Z", "2026-11-01", "2026-11-21");
    check(9_999, "2026-11-21T10:00:00Z", "2026-11-01", "2026-11-21");
}
