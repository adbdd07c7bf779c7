//! What is listed, who did it, how it is counted, and what a cursor is made of, as data behind one `check`. How bundles
//! stay and pages go on is law 18.

use std::collections::BTreeSet;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use catalogue::{Catalogue, truth::ReaderFacts};
use model::{
    Actor, ActorId, AudienceMatch, DayLife, DayRow, Entry, EntryKey, EntryReason, EventKey, KeptFields, Kind,
    Mark, MarkAction, Person, SubjectRef, Tenant, UtcMillis, Value, VersionedState, WorldSnapshot,
    actor::AnonymousHash, fold::fold_rows, world::DELETED,
};

use crate::{
    FeedBundle,
    actors::BundleActors,
    bundle::{BundleId, make_bundles},
    counts::{COUNT_MAX, CappedCount, FeedCounts},
    cursor::{CURSOR_CHARS_MAX, FeedCursor, SHOWN_MAX},
    listing::FeedRules,
    page::cut_page,
    rule::BundleRule,
    visit::{FeedVisit, NAMED_MAX, VISIT_CHARS_MAX},
};

const CATALOGUE: &str = r#"
catalogue: wiki
subjects:
  page: {title: text, owner: person}
categories: {edits: {}, cheers: {}}
kinds:
  edited: {on: page.edited, to: {person: owner}, category: edits, bundle_by: subject, says: '{{ subject.title }}', says_many: '{{ subject.title }} and more', plans: [now]}
  cheered: {on: page.cheered, to: {person: owner}, category: cheers, says: 'Cheers', plans: [now]}
plans:
  now:
    channel: push
    close: at_once
    look_back: 3d
    headline: '{{ count }} new'
    body: '{{ items | first }}'
    sections: [{title: Pages, kinds: [edited, cheered], most: 10, order: oldest}]
"#;

const NOW: UtcMillis = UtcMillis(1_000_000);

fn parse_catalogue() -> Catalogue {
    let no_file = |name: &str| Err(name.to_owned());
    Catalogue::parse_for(DayLife::LEAST, CATALOGUE, "catalogue.yaml", &no_file).unwrap()
}

fn entry_key(number: usize) -> EntryKey {
    let number = i64::try_from(number).unwrap();
    EntryKey { occurred: UtcMillis(number), event: EventKey([u8::try_from(number % 250).unwrap(); 16]) }
}

/// An event of a kind about a page, by somebody.
fn entry_row(number: usize, kind: &str, page: &str, actor: Option<ActorId>) -> DayRow {
    DayRow::Entry(Entry {
        key: entry_key(number),
        reason: EntryReason { kind: Kind::new(kind).unwrap(), because: AudienceMatch::Named },
        subject: SubjectRef::new(page).unwrap(),
        actor: actor.map(|id| Actor { id, name: None }),
        kept: KeptFields::new(),
    })
}

fn mark_row(number: usize, what: MarkAction, at: i64) -> DayRow {
    DayRow::Mark(Mark::new(None, what, vec![entry_key(number)], UtcMillis(at)))
}

fn person_actor(name: &str) -> Option<ActorId> {
    Some(ActorId::Person(Person::new(name).unwrap()))
}

/// The feed of these rows, for somebody who chose this.
fn list_bundles(rows: &[DayRow], preferences: &VersionedState) -> Vec<FeedBundle> {
    list_bundles_of(&WorldSnapshot::default(), rows, preferences)
}

/// The same, where this is known of what the entries tell.
fn list_bundles_of(world: &WorldSnapshot, rows: &[DayRow], preferences: &VersionedState) -> Vec<FeedBundle> {
    let (tenant, person) = (Tenant::new("main").unwrap(), Person::new("ann").unwrap());
    let (nothing, catalogue) = (VersionedState::default(), parse_catalogue());
    let reader =
        ReaderFacts { tenant: &tenant, person: &person, profile: &nothing, preferences, notes: &nothing };
    let rules = FeedRules { catalogue: &catalogue, reader, world, now: NOW };
    make_bundles(rules.list_entries(&fold_rows(rows).settle(&nothing, NOW)), NOW)
}

/// Each bundle as the numbers of its entries.
fn numbers(bundles: &[FeedBundle]) -> Vec<Vec<i64>> {
    let of = |bundle: &FeedBundle| bundle.entries().iter().map(|entry| entry.key.occurred.0).collect();
    bundles.iter().map(of).collect()
}

#[test]
fn a_visit_shows_all_of_its_page_however_much_that_is() {
    let check = |pages: usize, entries: usize| {
        let row = |number: usize| entry_row(number, "edited", &format!("page:{}", number % pages), None);
        let mut rows: Vec<DayRow> = (1..=entries).map(row).collect();
        let visit = FeedVisit::from_bundles(&list_bundles(&rows, &VersionedState::default()), NOW);
        let text = visit.to_string();
        assert!(text.len() <= VISIT_CHARS_MAX, "{pages} pages");
        assert_eq!(FeedVisit::parse(&text).as_ref(), Ok(&visit));
        // What comes later is not shown, though it is of the same bundle.
        rows.push(row(entries + 1));
        let shown = visit.list_shown(&list_bundles(&rows, &VersionedState::default()));
        let numbers: BTreeSet<i64> = shown.iter().map(|key| key.occurred.0).collect();
        assert_eq!(numbers, (1..=i64::try_from(entries).unwrap()).collect(), "{pages} pages");
    };
    check(2, 5);
    check(1, NAMED_MAX);
    check(1, NAMED_MAX + 200);
    check(25, 25 * 70);
}

#[test]
fn what_was_revoked_is_in_no_bundle() {
    let rows = [
        entry_row(1, "edited", "page:1", person_actor("bob")),
        entry_row(2, "edited", "page:2", person_actor("bob")),
        entry_row(3, "edited", "page:1", person_actor("cem")),
    ];
    let check = |revoked: &[usize], deleted: Option<(&str, i64)>, expected: &[&[i64]]| {
        let mut world = WorldSnapshot::default();
        let share = world.get_or_insert(&Tenant::new("main").unwrap());
        share.revoked = revoked.iter().map(|number| entry_key(*number).event).collect();
        if let Some((page, until)) = deleted {
            let state = VersionedState::from_values(until, [(DELETED, Some(Value::Flag(true)))]);
            share.subjects.insert(SubjectRef::new(page).unwrap(), state);
        }
        let found = list_bundles_of(&world, &rows, &VersionedState::default());
        assert_eq!(numbers(&found), expected, "{revoked:?} {deleted:?}");
    };
    check(&[], None, &[&[3, 1], &[2]]);
    check(&[1], None, &[&[3], &[2]]);
    check(&[1, 3], None, &[&[2]]);
    check(&[], Some(("page:1", 3)), &[&[2]]);
    check(&[], Some(("page:1", 2)), &[&[3], &[2]]);
}

#[test]
fn a_feed_lists_what_the_person_has_on_and_did_not_take_away() {
    let rows = [
        entry_row(1, "edited", "page:1", person_actor("bob")),
        entry_row(2, "edited", "page:2", person_actor("bob")),
        entry_row(3, "edited", "page:1", person_actor("cem")),
        entry_row(4, "cheered", "page:1", person_actor("cem")),
        entry_row(5, "cheered", "page:1", person_actor("bob")),
        entry_row(6, "gone", "page:1", None),
    ];
    let check = |chosen: &[(&str, Value)], marks: &[DayRow], expected: &[&[i64]]| {
        let chosen = chosen.iter().map(|(name, value)| (*name, Some(value.clone())));
        let preferences = VersionedState::from_values(1, chosen);
        let found = list_bundles(&[&rows[..], marks].concat(), &preferences);
        assert_eq!(numbers(&found), expected, "{preferences:?} {marks:?}");
    };
    let all: [&[i64]; 4] = [&[5], &[4], &[3, 1], &[2]];
    check(&[], &[], &all);
    // What is off everywhere is not listed; what is off on one channel is.
    let off = Value::Flag(true);
    check(&[("kind cheered", off.clone())], &[], &[&[3, 1], &[2]]);
    check(&[("push/kind cheered", off.clone())], &[], &all);
    check(&[("category edits", off.clone())], &[], &[&[5], &[4]]);
    check(&[("actor bob", off.clone())], &[], &[&[4], &[3]]);
    check(&[("subject page:2", off.clone())], &[], &[&[5], &[4], &[3, 1]]);
    check(&[("all", off.clone())], &[], &[]);
    let on = Value::from_text("on");
    check(&[("all", off.clone()), ("push/kind cheered", on.clone())], &[], &[&[5], &[4]]);
    // The word for the feed stands before that for all, and the nearer word before both.
    check(&[("feed/kind cheered", off.clone())], &[], &[&[3, 1], &[2]]);
    check(&[("all", off.clone()), ("feed/category edits", on.clone())], &[], &[&[3, 1], &[2]]);
    check(&[("feed/all", on.clone()), ("kind cheered", off.clone())], &[], &[&[3, 1], &[2]]);
    check(&[("feed/all", off), ("email/kind cheered", on)], &[], &[]);
    // Neither what was cleared, put off or withdrawn.
    check(&[], &[mark_row(3, MarkAction::Cleared, 10)], &[&[5], &[4], &[2], &[1]]);
    check(&[], &[mark_row(5, MarkAction::Withdrawn, 10)], &all[1..]);
    check(&[], &[mark_row(5, MarkAction::Snoozed(NOW.plus(1)), 10)], &all[1..]);
    // What is back is news again, and stands where news stand.
    check(&[], &[mark_row(1, MarkAction::Snoozed(UtcMillis(50)), 10)], &[&[1, 3], &[5], &[4], &[2]]);
    // What was seen stays as it was.
    check(&[], &[mark_row(1, MarkAction::Seen, 10)], &[&[5], &[4], &[3], &[2], &[1]]);
}

#[test]
fn who_did_it_is_each_once_and_counted_to_an_end() {
    let check = |actors: Vec<Option<ActorId>>, first: &[&str], others: (usize, bool)| {
        let rows = actors.into_iter().enumerate().map(|(n, actor)| entry_row(n, "edited", "page:1", actor));
        let bundles = list_bundles(&rows.collect::<Vec<_>>(), &VersionedState::default());
        let found = BundleActors::from_bundle(&bundles[0]);
        let named: Vec<String> = found.first.iter().map(|actor| actor.id.to_string()).collect();
        assert_eq!(
            (named.iter().map(String::as_str).collect::<Vec<_>>(), found.others()),
            (first.to_vec(), others)
        );
    };
    let many = |count: usize| (0..count).map(|n| person_actor(&format!("p{n}"))).collect::<Vec<_>>();
    let anonymous = |n: u8| Some(ActorId::Anonymous(AnonymousHash([n; 16])));
    check(vec![None], &[], (0, false));
    check(vec![person_actor("bob"), person_actor("bob")], &["bob"], (0, false));
    check(vec![person_actor("bob"), person_actor("cem")], &["cem", "bob"], (1, false));
    let system = Some(ActorId::System);
    let found = [anonymous(1).unwrap().to_string(), ActorId::System.to_string()];
    check(vec![anonymous(1), system, anonymous(1)], &found.each_ref().map(String::as_str), (1, false));
    check(many(100), &["p99", "p98", "p97"], (99, false));
    check(many(101), &["p100", "p99", "p98"], (99, true));
    check(many(400), &["p399", "p398", "p397"], (99, true));
}

#[test]
fn counts_are_those_of_the_page_and_end_one_beyond_what_is_shown() {
    let check = |pages: usize, marks: &[DayRow], new: (usize, bool), unread: (usize, bool)| {
        let row = |n| entry_row(n, "edited", &format!("page:{n}"), None);
        let rows: Vec<DayRow> = (0..pages).map(row).chain(marks.iter().cloned()).collect();
        let bundles = list_bundles(&rows, &VersionedState::default());
        let counts = FeedCounts::from_bundles(&bundles, &parse_catalogue());
        let shown = |count: CappedCount| (count.number(), count.has_more());
        assert_eq!((shown(counts.all.new), shown(counts.all.unread)), (new, unread), "{pages}");
        let edits = counts.by_category.get("edits").copied().unwrap_or_default();
        assert_eq!(edits, counts.all, "all of them are edits");
        let few = |of: (usize, bool)| !of.1;
        if few(new) && few(unread) {
            let count =
                |counts: &dyn Fn(&FeedBundle) -> bool| bundles.iter().filter(|one| counts(one)).count();
            assert_eq!((count(&FeedBundle::is_new), count(&FeedBundle::is_unread)), (new.0, unread.0));
        }
    };
    check(0, &[], (0, false), (0, false));
    check(COUNT_MAX, &[], (99, false), (99, false));
    check(COUNT_MAX + 1, &[], (99, true), (99, true));
    check(2_000, &[], (99, true), (99, true));
    check(3, &[mark_row(1, MarkAction::Seen, 9)], (2, false), (3, false));
    check(3, &[mark_row(1, MarkAction::Read, 9)], (2, false), (2, false));
    let again = [mark_row(1, MarkAction::Read, 9), mark_row(1, MarkAction::Unread, 10)];
    check(3, &again, (2, false), (3, false));
    check(3, &[mark_row(1, MarkAction::Cleared, 9)], (2, false), (2, false));
}

#[test]
fn a_kind_speaks_for_several_only_where_its_own_key_has_them_together() {
    let rows = [
        entry_row(1, "edited", "page:1", person_actor("bob")),
        entry_row(2, "edited", "page:1", person_actor("cem")),
        entry_row(3, "edited", "page:2", person_actor("bob")),
        entry_row(4, "cheered", "page:1", person_actor("cem")),
        entry_row(5, "edited", "page:2", person_actor("dan")),
        entry_row(6, "edited", "page:2", person_actor("dan")),
        entry_row(7, "cheered", "page:1", person_actor("eve")),
    ];
    let (catalogue, bundles) = (parse_catalogue(), list_bundles(&rows, &VersionedState::default()));
    let check = |rule: BundleRule, expected: &[(&[i64], bool)]| {
        let entries = bundles.iter().flat_map(FeedBundle::entries);
        let ruled = entries.map(|entry| rule.apply(entry.clone(), &catalogue)).collect();
        let found = make_bundles(ruled, NOW);
        let speaks: Vec<bool> = found.iter().map(FeedBundle::is_told_as_one).collect();
        let found: Vec<(Vec<i64>, bool)> = numbers(&found).into_iter().zip(speaks).collect();
        let expected = expected.iter().map(|(numbers, speaks)| (numbers.to_vec(), *speaks));
        assert_eq!(found, expected.collect::<Vec<_>>(), "{rule:?}");
    };
    check(BundleRule::Catalogue, &[(&[7], false), (&[6, 5, 3], true), (&[4], false), (&[2, 1], true)]);
    // Several pages, and a kind that has no sentence for several.
    check(BundleRule::Kind, &[(&[7, 4], false), (&[6, 5, 3, 2, 1], false)]);
    check(BundleRule::Category, &[(&[7, 4], false), (&[6, 5, 3, 2, 1], false)]);
    check(BundleRule::Subject, &[(&[7, 4, 2, 1], false), (&[6, 5, 3], true)]);
    // Of one page alone it is true, though others edited that one too.
    check(BundleRule::Actor, &[(&[7], false), (&[6, 5], true), (&[4, 2], false), (&[3, 1], false)]);
}

/// The cursor behind a first page of so many.
fn cursor_after(most: usize) -> FeedCursor {
    let row = |n| entry_row(n, "edited", &format!("page:{n}"), None);
    let rows: Vec<DayRow> = (0..=most).map(row).collect();
    let entries: Vec<_> = list_bundles(&rows, &VersionedState::default())
        .iter()
        .flat_map(|one| one.entries().to_vec())
        .collect();
    cut_page(entries, None, most, |_| true, NOW).next.unwrap()
}

#[test]
fn an_overlay_of_ten_knows_of_more_by_an_eleventh() {
    let check = |count: usize, given: usize, more: bool| {
        let row = |n| entry_row(n, "edited", &format!("page:{n}"), None);
        let rows: Vec<DayRow> = (0..count).map(row).collect();
        let bundles = list_bundles(&rows, &VersionedState::default());
        let entries = bundles.iter().flat_map(|one| one.entries().to_vec()).collect();
        let page = cut_page(entries, None, 10, |_| true, NOW);
        assert_eq!((page.bundles.len(), page.next.is_some()), (given, more), "{count}");
    };
    check(0, 0, false);
    check(10, 10, false);
    check(11, 10, true);
}

#[test]
fn a_cursor_is_read_back_and_what_nobody_was_given_is_refused() {
    for most in [1, 10, SHOWN_MAX, SHOWN_MAX + 50] {
        let cursor = cursor_after(most);
        let text = cursor.to_string();
        assert!(text.len() <= CURSOR_CHARS_MAX, "{most}: {}", text.len());
        assert_eq!(FeedCursor::parse(&text), Ok(cursor), "{most}");
    }
    let check = |bytes: &[u8], reason: &str| {
        let refused = FeedCursor::parse(&URL_SAFE_NO_PAD.encode(bytes)).unwrap_err().to_string();
        assert!(refused.contains(reason), "{bytes:?}: {refused}");
    };
    let good = URL_SAFE_NO_PAD.decode(cursor_after(2).to_string()).unwrap();
    check(&[], "another form");
    check(&[2], "another form");
    check(&good[..40], "cut off");
    check(&good[..good.len() - 1], "cut off");
    check(&[&good[..], &[7]].concat(), "cut off");
    // One name twice, and the last bundle before the first.
    check(&[&good[..], &good[good.len() - 5..]].concat(), "garbled");
    check(&[&good[..9], &good[41..73], &good[9..41]].concat(), "garbled");
    for text in ["%", "AQ==", "\u{e4}", "A Q", &"A".repeat(CURSOR_CHARS_MAX + 1)] {
        assert!(FeedCursor::parse(text).is_err(), "{text}");
    }
}

#[test]
fn the_name_of_a_bundle_is_read_back() {
    let id = BundleId([0xAB; 16]);
    assert_eq!(BundleId::parse(&id.to_string()), Some(id));
    for odd in ["", "ab", &"AB".repeat(16), &"zz".repeat(16), &"ab".repeat(17), "\u{e4}"] {
        assert_eq!(BundleId::parse(odd), None, "{odd}");
    }
}
