//! What is kept of persons, and what is meant by records and marks, as data behind one `check`. The whole room is asked in the
//! tests of `console`.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use catalogue::{Catalogue, canary::CanaryCatalogue};
use feed_bundles::{counts::FeedCounts, page::FeedPage, rule::BundleRule};
use model::{
    AudienceMatch, Day, DayLife, DayRow, Entry, EntryKey, EntryReason, EventKey, Fact, KeptFields, Kind,
    Mark, Person, SubjectRef, Tenant, UtcMillis, Value, VersionedState, fold::fold_rows,
    partition::PartitionCount,
};
use room::{
    catalogue_names::{find_category, find_kind, find_thread},
    testing::parse_catalogue,
};
use topic::{RecordHeaders, TopicRecord};
use web::etag::TaggedBody;
use wire::{Feedback, FeedbackAction, InboxItem, topics};

use crate::{
    decide::{SheetInput, make_sheet},
    facts::{BundleContext, FeedSheet, PersonFacts, TenantPerson},
    kept_page::{CutPage, KEPT_BYTES_MAX, KeptPage},
    read::{ChangedDays, read_news},
    request::{FeedFilter, PageRequest},
    shelf::PersonShelf,
    shelf_cache::{ReadingRight, ShelfCache, StaleShelf},
};

const COUNT: PartitionCount = PartitionCount::USUAL;

fn person_key(name: &str) -> TenantPerson {
    (Tenant::new("main").unwrap(), Person::new(name).unwrap())
}

fn partition_of(whose: &TenantPerson) -> u32 {
    COUNT.of_person(&whose.0, &whose.1)
}

fn entry_key(number: u8) -> EntryKey {
    EntryKey { occurred: UtcMillis(i64::from(number)), event: EventKey([number; 16]) }
}

/// A shelf with so many entries of one day.
fn shelf(read_at: i64, entries: u8) -> Arc<PersonShelf> {
    let row = |number: u8| {
        DayRow::Entry(Entry {
            key: entry_key(number),
            reason: EntryReason { kind: Kind::new("told").unwrap(), because: AudienceMatch::Named },
            subject: SubjectRef::new("item:1").unwrap(),
            actor: None,
            kept: KeptFields::new(),
        })
    };
    let rows: Vec<DayRow> = (0..entries).map(row).collect();
    let days = BTreeMap::from([(Day(0), fold_rows(&rows))]);
    Arc::new(PersonShelf::new(read_at, days, Arc::default(), Arc::default()))
}

fn days(of: &[i32]) -> ChangedDays {
    ChangedDays::Some(of.iter().map(|day| Day(*day)).collect())
}

fn right(cache: &ShelfCache, whose: &TenantPerson) -> ReadingRight {
    cache.find_right(whose, partition_of(whose)).unwrap()
}

/// Reads a person, with what changes meanwhile; which days were stale, all if nothing is said.
fn read(
    cache: &ShelfCache,
    whose: &TenantPerson,
    read_at: i64,
    meanwhile: &[ChangedDays],
) -> Option<Vec<i32>> {
    let right = right(cache, whose);
    let StaleShelf { shelf: kept, days } = cache.begin_reading(whose, &right, 0).unwrap();
    meanwhile.iter().for_each(|changed| cache.note_change(whose, changed));
    cache.keep(whose, &right, &shelf(read_at, 1));
    kept.map(|_| days.iter().map(|day| day.0).collect())
}

#[test]
fn what_is_kept_is_what_would_be_read_now() {
    let (cache, ann) = (ShelfCache::default(), person_key("ann"));
    assert!(cache.find_right(&ann, partition_of(&ann)).is_none(), "nobody reads what changes");
    cache.cover(partition_of(&ann));
    let is_kept = |oldest: i64| cache.find(&ann, oldest).is_some();
    assert!(!is_kept(0));
    assert_eq!(read(&cache, &ann, 10, &[]), None);
    assert!(is_kept(10) && !is_kept(11), "it is not believed for ever");
    // That all was read is no row: notes are asked each time.
    cache.note_change(&ann, &ChangedDays::None);
    assert!(is_kept(0));
    cache.note_change(&ann, &days(&[3]));
    cache.note_change(&ann, &days(&[1, 3]));
    assert!(!is_kept(0));
    assert_eq!(read(&cache, &ann, 20, &[]), Some(vec![1, 3]));
    assert!(is_kept(0));
    // What changes while it is read may not be in it.
    cache.note_change(&ann, &days(&[4]));
    assert_eq!(read(&cache, &ann, 30, &[days(&[4])]), Some(vec![4]));
    assert!(!is_kept(0));
    assert_eq!(read(&cache, &ann, 40, &[ChangedDays::All]), Some(vec![4]));
    assert_eq!(read(&cache, &ann, 50, &[]), None, "all of it changed");
    // Who begins and never ends leaves nothing behind that could be wrong.
    cache.note_change(&ann, &days(&[5]));
    let _gave_up = cache.begin_reading(&ann, &right(&cache, &ann), 0).unwrap();
    assert!(!is_kept(0));
    assert_eq!(read(&cache, &ann, 60, &[]), None);
    assert!(is_kept(0));
}

#[test]
fn what_was_written_here_is_not_read_again() {
    let (cache, ann) = (ShelfCache::default(), person_key("ann"));
    cache.cover(partition_of(&ann));
    read(&cache, &ann, 1, &[]);
    let did = |what, number, at| {
        let (tenant, person) = ann.clone();
        Feedback { tenant, person, what, keys: vec![entry_key(number)], at: UtcMillis(at) }
    };
    // What a shelf becomes by a mark of its first entry.
    let marked = |before: &PersonShelf, what: FeedbackAction, at: i64| {
        let mut view = before.days[&Day(0)].view.clone();
        view.add(&DayRow::Mark(Mark::new(None, what.mark(), vec![entry_key(0)], UtcMillis(at))));
        Arc::new(before.with_days([(Day(0), view)].into(), before.saved.clone(), before.world.clone()))
    };
    let kept = || cache.find(&ann, 0);
    let before = kept().unwrap();
    let after = marked(&before, FeedbackAction::Read, 10);
    assert!(cache.replace(&ann, &before, &after));
    cache.note_marks(&did(FeedbackAction::Read, 0, 10));
    assert!(kept().is_some_and(|shelf| Arc::ptr_eq(&shelf, &after)), "it is there already");
    // Others wrote these: the same once more, something else, and of another entry.
    for (what, number, at) in
        [(FeedbackAction::Read, 0, 11), (FeedbackAction::Unread, 0, 10), (FeedbackAction::Read, 1, 10)]
    {
        cache.note_marks(&did(what, number, at));
        assert!(kept().is_none(), "{what:?} {number} {at}");
        assert_eq!(read(&cache, &ann, 2, &[]), Some(vec![0]));
    }
    // What is saved has a copy beside the day.
    let before = kept().unwrap();
    let after = marked(&before, FeedbackAction::Saved, 20);
    assert!(cache.replace(&ann, &before, &after));
    cache.note_marks(&did(FeedbackAction::Saved, 0, 20));
    assert!(kept().is_none());
    // Whatever was heard of meanwhile, and whatever took its place, stands.
    let (old, newer) = (after, marked(&before, FeedbackAction::Read, 30));
    assert!(!cache.replace(&ann, &old, &newer));
    assert_eq!(read(&cache, &ann, 3, &[]), Some(vec![0]));
    assert!(!cache.replace(&ann, &old, &newer));
}

#[test]
fn facts_may_be_a_moment_old_where_the_log_is_silent() {
    let (cache, ann) = (ShelfCache::default(), person_key("ann"));
    assert_eq!(cache.find_silence(&ann), None);
    cache.cover(partition_of(&ann));
    assert_eq!(cache.find_silence(&ann), None, "nobody listened");
    let _right = cache.find_right(&ann, partition_of(&ann));
    let long = || cache.find_silence(&ann).is_some_and(|silence| silence > Duration::from_millis(5));
    while !long() {}
    let before = cache.find_silence(&ann).unwrap();
    cache.note_facts(&ann);
    assert!(cache.find_silence(&ann).unwrap() < before);
    cache.uncover(partition_of(&ann), COUNT);
    assert_eq!(cache.find_silence(&ann), None);
    // Of whom something else is known, by what is said of them.
    let check = |item: InboxItem, expected: bool| {
        let value = wire::inbox::encode(&item).unwrap();
        let (topic, headers) = (topics::INBOX.into(), RecordHeaders::new());
        let (partition, offset, appended, key, value) = (0, 0, 0, Vec::new(), Some(value));
        let news = read_news(&[TopicRecord { topic, partition, offset, appended, key, value, headers }]);
        assert_eq!(news.facts.contains(&ann), expected, "{item:?}");
    };
    let (tenant, person) = ann.clone();
    let at = UtcMillis(1);
    let did = |keys| {
        let (tenant, person) = ann.clone();
        InboxItem::Feedback(Feedback { tenant, person, what: FeedbackAction::Read, keys, at })
    };
    check(did(vec![entry_key(0)]), false);
    check(did(Vec::new()), true);
    check(InboxItem::Erased { tenant: tenant.clone(), person: person.clone(), at }, true);
    let state = VersionedState::from_values(1, [("zone", Some(Value::from_text("UTC")))]);
    check(InboxItem::Fact(Fact::Profile { tenant: tenant.clone(), person: person.clone(), state }), true);
    check(InboxItem::Seen { tenant, person, surface: "web".into(), at }, false);
}

/// A feed that was marked again and again is the one that is made of its days anew.
#[test]
fn marks_change_what_they_mark_and_nothing_else() {
    use FeedbackAction::{Cleared, Read, Restored, Saved, Seen, Snoozed, Unread, Unsaved};
    let catalogue = catalogue_of("told");
    let facts = PersonFacts::default();
    let (tenant, person) = person_key("ann");
    let make = |shelf: &PersonShelf, now: i64| {
        let (now, life) = (UtcMillis(now), DayLife::default());
        let (tenant, person, facts) = (&tenant, &person, &facts);
        make_sheet(SheetInput { catalogue: &catalogue, tenant, person, facts, made_of: 1, shelf, life, now })
    };
    let mut kept = shelf(1, 40);
    let mut now = 1_000;
    kept.keep_sheet(Arc::new(make(&kept, now)));
    let until = UtcMillis(10_000);
    let marks: [(FeedbackAction, &[u8]); 12] = [
        (Seen, &[39, 38, 37]),
        (Read, &[38]),
        (Saved, &[1, 2, 39]),
        (Cleared, &[5, 39]),
        (Unread, &[38, 7]),
        (Snoozed(until), &[8, 9]),
        (Restored, &[39]),
        (Unsaved, &[1]),
        (Cleared, &[38, 37, 36]),
        (Seen, &[0, 1, 2, 3]),
        (Read, &[]),
        (Read, &[3, 2]),
    ];
    for (did, numbers) in marks {
        now += 1_500;
        let keys: Vec<EntryKey> = numbers.iter().map(|number| entry_key(*number)).collect();
        let mut view = kept.days[&Day(0)].view.clone();
        view.add(&DayRow::Mark(Mark::new(None, did.mark(), keys.clone(), UtcMillis(now))));
        let views = BTreeMap::from([(Day(0), view)]);
        let anew = make(&PersonShelf::new(1, views.clone(), Arc::default(), kept.world.clone()), now);
        let after = Arc::new(kept.with_marked(views, &keys, Arc::default(), kept.world.clone()));
        assert!(after.find_sheet(1, UtcMillis(now)).is_none(), "it is of the days before");
        let sheet = make(&after, now);
        assert_eq!((&sheet.feed, &sheet.counts), (&anew.feed, &anew.counts), "{did:?} {numbers:?}");
        assert_eq!((sheet.revision, sheet.turns), (anew.revision, anew.turns), "{did:?} {numbers:?}");
        after.keep_sheet(Arc::new(sheet));
        assert!(after.find_sheet(1, UtcMillis(now)).is_some());
        kept = after;
    }
    // What was not marked is not even listed again.
    let of = |shelf: &PersonShelf| {
        shelf.find_last_sheet().unwrap().feed.bundles.last().unwrap().entries()[0].clone()
    };
    let before = of(&kept);
    let after = kept.with_marked(BTreeMap::new(), &[], Arc::default(), kept.world.clone());
    after.keep_sheet(Arc::new(make(&after, now)));
    assert!(Arc::ptr_eq(&before, &of(&after)));
}

#[test]
fn a_page_is_sent_again_only_while_nothing_is_different() {
    let sheet = || {
        let later = UtcMillis(i64::MAX);
        Arc::new(FeedSheet { made_of: 1, until: later, turns: later, revision: 1, ..FeedSheet::default() })
    };
    let request = PageRequest {
        cursor: None,
        most: 10,
        filter: FeedFilter::default(),
        rule: BundleRule::default(),
        in_parts: false,
    };
    let (shelf, known, made_at) = (PersonShelf::default(), sheet(), UtcMillis(120_000));
    let keep = |text: String| {
        let page = FeedPage { bundles: Vec::new(), next: None };
        let (counts, as_of, named) = (FeedCounts::default(), UtcMillis(0), BTreeSet::new());
        let cut = Arc::new(CutPage { page, counts, as_of, named });
        let (sheet, request, context) = (known.clone(), request.clone(), BundleContext::default());
        shelf.keep_page(KeptPage { sheet, request, made_at, cut, context, body: TaggedBody::new(text) });
    };
    let is_kept = |sheet: &Arc<FeedSheet>, request: &PageRequest, now: i64| {
        shelf.find_page(sheet, request, UtcMillis(now)).is_some()
    };
    keep("x".repeat(KEPT_BYTES_MAX + 1));
    assert!(!is_kept(&known, &request, made_at.0), "it takes too much room");
    keep("x".to_owned());
    assert!(is_kept(&known, &request, made_at.0 + 59_999));
    assert!(!is_kept(&known, &request, made_at.0 + 60_000), "the minute is another one");
    assert!(!is_kept(&sheet(), &request, made_at.0), "the feed was made anew");
    for other in [
        PageRequest { most: 9, ..request.clone() },
        PageRequest { in_parts: true, ..request.clone() },
        PageRequest { rule: BundleRule::Kind, ..request.clone() },
        PageRequest { filter: FeedFilter { is_unread: true, ..FeedFilter::default() }, ..request.clone() },
    ] {
        assert!(!is_kept(&known, &other, made_at.0), "{other:?}");
    }
}

/// A catalogue with one kind of one category, about one type of subject.
fn catalogue_of(kind: &str) -> Catalogue {
    parse_catalogue(&format!(
        r#"
catalogue: wiki
subjects: {{page: {{title: text, owner: person}}}}
categories: {{all_{kind}: {{}}}}
kinds:
  {kind}: {{on: page.{kind}, to: {{person: owner}}, category: all_{kind}, says: 'A page', plans: [now]}}
plans:
  now:
    channel: push
    close: at_once
    look_back: 3d
    headline: '{{{{ count }}}} new'
    body: '{{{{ items | first }}}}'
    sections: [{{title: Pages, kinds: [{kind}], most: 10, order: oldest}}]
"#
    ))
}

#[test]
fn names_of_both_arms_are_known_and_no_others() {
    let on_trial = Arc::new(catalogue_of("linked"));
    let mut catalogue = catalogue_of("edited");
    catalogue.canary = Some(CanaryCatalogue { catalogue: on_trial, share: "50%".parse().unwrap() });
    let kind = |name: &str| find_kind(name, &catalogue).map(|kind| kind.to_string());
    let category = |name: &str| find_category(name, &catalogue);
    let thread = |name: &str| find_thread(name, &catalogue).map(|thread| thread.to_string());
    let check = |found: Result<String, String>, expected: Result<&str, &str>| {
        assert_eq!(found.as_deref().map_err(String::as_str), expected);
    };
    check(kind("edited"), Ok("edited"));
    check(kind("linked"), Ok("linked"));
    check(kind("edted"), Err("there is no kind `edted`: did you mean `edited`?"));
    check(kind("Nothing"), Err("there is no kind `Nothing`: use `edited` or `linked`"));
    check(kind(""), Err("it is empty: name a kind"));
    check(category("all_linked"), Ok("all_linked"));
    check(category("linked"), Err("there is no category `linked`: use `all_edited` or `all_linked`"));
    check(category(""), Err("it is empty: name a category"));
    check(thread("page:nobody-knows"), Ok("page:nobody-knows"));
    check(thread("pgae:1"), Err("there is no type of subject `pgae`: did you mean `page`?"));
    check(thread("page"), Err("`page` is not of the form type:id"));
    check(thread(""), Err("it is empty: name a subject, as type:id"));
    // Nobody is sent back more than they can read.
    let long = kind(&"k".repeat(60_000)).unwrap_err();
    assert!(long.starts_with("there is no kind `kkk") && long.len() < 200, "{long}");
}

#[test]
fn a_partition_that_is_let_go_of_takes_its_persons_along() {
    let (cache, ann, bob) = (ShelfCache::default(), person_key("ann"), person_key("bob"));
    assert_ne!(partition_of(&ann), partition_of(&bob));
    for who in [&ann, &bob] {
        cache.cover(partition_of(who));
        read(&cache, who, 1, &[]);
    }
    // Ann is being read while her partition goes and comes back: what was read before may lack what came between.
    let before = right(&cache, &ann);
    cache.begin_reading(&ann, &before, 0).unwrap();
    cache.uncover(partition_of(&ann), COUNT);
    assert!(cache.find_right(&ann, partition_of(&ann)).is_none());
    cache.cover(partition_of(&ann));
    let _after = right(&cache, &ann);
    cache.keep(&ann, &before, &shelf(2, 1));
    assert!(cache.find(&ann, 0).is_none() && cache.find(&bob, 0).is_some());
    assert!(cache.begin_reading(&ann, &before, 0).is_none());
}

#[test]
fn a_full_cache_forgets_whom_nobody_asks_for() {
    let cache = ShelfCache::default();
    (0..COUNT.count()).for_each(|partition| cache.cover(partition));
    let person = |number: usize| person_key(&format!("p{number}"));
    let one = shelf(1, 200);
    let room = crate::config::SHELVES_BYTES_MAX / one.bytes();
    for number in 0..=room {
        let whose = person(number);
        let right = right(&cache, &whose);
        cache.begin_reading(&whose, &right, 0).unwrap();
        cache.keep(&whose, &right, &one);
        // Somebody asks for the first one all the time.
        assert!(cache.find(&person(0), 0).is_some(), "{number}");
    }
    let kept = (0..=room).filter(|number| cache.find(&person(*number), 0).is_some()).count();
    assert!((room * 2 / 3..room).contains(&kept), "{kept} of {room}");
    assert!(cache.find(&person(1), 0).is_none() && cache.find(&person(room), 0).is_some());
}
