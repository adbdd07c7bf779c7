//! Tests of the pure parts: what the journal says, what still holds, what is reported.

use std::collections::BTreeSet;

use catalogue::Catalogue;
use model::{
    AudienceMatch, Channel, DayRow, EndReason, Entry, EntryKey, EntryReason, EventKey, Kind, Mark,
    MarkAction, Person, PlanName, ReadyId, Tenant, UtcMillis, Value, VersionedState, WorldSnapshot,
    delivery::DeliveryOutcome,
    device::{self, DevicePlatform, PushDevice},
    fold::fold_rows,
    hook::Hook,
    limits::ATTEMPTS_MAX,
    person::{notes, profile},
    plan::GENERAL,
    ready::{RECALLED, Ready, ReadyEntry},
    returns::{AddressHash, ReturnSort, Slip},
    world::TenantSnapshot,
};
use room::testing::{parse_catalogue, subject};
use store::{JournalClaim, JournalOutcome, JournalRecord, JournalRows};

use crate::{
    check::{check_ready, is_known, untold_entries},
    config::{RETRY_MS_FIRST, RETRY_MS_MAX, retry_ms},
    facts::{SenderFacts, device_removal, hook_removal},
    journal::{JournalVerdict, read_journal, record_failure, record_recall, record_unclear, tells_nothing},
    message::message_id,
    report,
};

mod message;
mod renewal;

const CATALOGUE: &str = r#"
catalogue: sample
subjects:
  work: {title: text, author: ref author, public: flag}
  author: {name: text}
kinds:
  work_out:
    on: work.published
    to: {followers_of: author}
    while: subject.public
    says: '{{ subject.title }}'
    plans: [daily]
plans:
  daily:
    channel: email
    close: {daily: "09:00", zone: person}
    look_back: 7d
    from: Sample <news@example.com>
    headline: News
    template: mail.mjml
    text: mail.txt
    sections:
      - {title: Works, kinds: [work_out], most: 2, order: newest}
"#;

fn catalogue() -> Catalogue {
    parse_catalogue(CATALOGUE)
}

const NOW: UtcMillis = UtcMillis(1_795_248_000_000);

fn key(n: u8) -> EntryKey {
    EntryKey { occurred: NOW.plus(-1_000), event: EventKey([n; 16]) }
}

fn reason() -> EntryReason {
    EntryReason { kind: Kind::new("work_out").unwrap(), because: AudienceMatch::Follows(subject("author:1")) }
}

fn ready(attempt: u16) -> Ready {
    let entry = |n: u8, maybe| ReadyEntry {
        section: 0,
        maybe,
        ..ReadyEntry::new(key(n), subject("work:1"), vec![reason()])
    };
    Ready {
        id: ReadyId([9; 16]),
        silent: false,
        tenant: Tenant::new("main").unwrap(),
        person: Person::new("ann").unwrap(),
        plan: PlanName::new("daily").unwrap(),
        key: "".into(),
        opening: NOW,
        channel: Channel::Email,
        attempt,
        due: NOW,
        expires: NOW.plus(1_000_000),
        entries: vec![entry(1, false), entry(2, true)],
        more: vec![0],
        badge: false,
        renews: None,
    }
}

fn claim(attempt: u16, deadline: UtcMillis) -> JournalClaim {
    JournalClaim {
        ready: ReadyId([9; 16]),
        attempt,
        token: [0; 16],
        at: NOW,
        deadline,
        told: vec![key(1), key(2)],
        plan: None,
    }
}

fn record(attempt: u16, what: JournalOutcome) -> JournalRecord {
    JournalRecord { ready: ReadyId([9; 16]), attempt, at: NOW, what, left: Vec::new() }
}

#[test]
fn the_journal_says_how_a_ready_is_taken() {
    let check = |attempt: u16,
                 claims: Vec<JournalClaim>,
                 records: Vec<JournalRecord>,
                 at: UtcMillis,
                 expected: JournalVerdict| {
        assert_eq!(
            read_journal(&ready(attempt), &JournalRows { claims, records }, at),
            expected,
            "{attempt} at {at}"
        );
    };
    let (later, before) = (NOW.plus(5), NOW.plus(-5));
    let claimed = || vec![claim(0, before)];
    check(0, vec![], vec![], NOW, JournalVerdict::Open(0));
    // It was issued again and again, and nobody could try it yet.
    check(3, vec![], vec![], NOW, JournalVerdict::Open(0));
    let ends = [
        JournalOutcome::Sent,
        JournalOutcome::Nothing,
        JournalOutcome::Refused,
        JournalOutcome::Returned,
        JournalOutcome::Unknown,
    ];
    for (what, attempt) in ends.into_iter().flat_map(|what| [(what, 3), (what, RECALLED)]) {
        check(attempt, claimed(), vec![record(0, what)], NOW, JournalVerdict::Ended(record(0, what)));
    }
    // An earlier attempt that nobody recorded stands in the way of the next one too, and of calling it back.
    for attempt in [0, 1, RECALLED] {
        check(attempt, vec![claim(0, later)], vec![], NOW, JournalVerdict::Unclear(claim(0, later)));
        check(attempt, claimed(), vec![], NOW, JournalVerdict::Unclear(claim(0, before)));
    }
    // An attempt failed, or may have, and its time has come or not: whatever copy this is of the Ready.
    let again = NOW.plus(retry_ms(ready(0).id, 0));
    for what in [JournalOutcome::NotSent, JournalOutcome::Away, JournalOutcome::Unsure] {
        for attempt in [0, 1, 7] {
            check(attempt, claimed(), vec![record(0, what)], NOW, JournalVerdict::NotBefore(again));
            check(attempt, claimed(), vec![record(0, what)], again, JournalVerdict::Open(1));
        }
        check(RECALLED, claimed(), vec![record(0, what)], NOW, JournalVerdict::Open(1));
        // Whoever recorded it has a clock that is hours ahead.
        let ahead = JournalRecord { at: NOW.plus(9 * RETRY_MS_MAX), ..record(0, what) };
        check(0, claimed(), vec![ahead], NOW, JournalVerdict::NotBefore(again));
    }
}

#[test]
fn an_attempt_that_fails_ends_where_no_other_can_follow() {
    let check_after = |before: JournalOutcome,
                       attempt: u16,
                       expires: i64,
                       what: JournalOutcome,
                       expected: JournalOutcome| {
        let ready = Ready { expires: NOW.plus(expires), ..ready(0) };
        let records = (0..attempt).map(|attempt| record(attempt, before)).collect();
        let journalled = JournalRows { claims: vec![], records };
        let (found, left) =
            record_failure(&ready, attempt, &journalled, (what, vec![(key(1), EndReason::Muted)]), NOW);
        assert_eq!(found, expected, "{before:?} {attempt} {expires} {what:?}");
        let expired = vec![(key(1), EndReason::Muted), (key(2), EndReason::Expired)];
        let left_before = vec![(key(1), EndReason::Muted)];
        assert_eq!(left, if found == JournalOutcome::Nothing { expired } else { left_before });
    };
    let check = |attempt, expires, what, expected| {
        check_after(JournalOutcome::NotSent, attempt, expires, what, expected);
    };
    let (first, second) = (retry_ms(ready(0).id, 0), retry_ms(ready(0).id, 1));
    check(0, first + 1, JournalOutcome::NotSent, JournalOutcome::NotSent);
    check(0, first, JournalOutcome::NotSent, JournalOutcome::Nothing);
    check(1, second, JournalOutcome::NotSent, JournalOutcome::Nothing);
    let never = i64::MAX / 2;
    check(ATTEMPTS_MAX - 2, never, JournalOutcome::NotSent, JournalOutcome::NotSent);
    check(ATTEMPTS_MAX - 1, never, JournalOutcome::NotSent, JournalOutcome::Nothing);
    // An outage says nothing about this message, however long it takes: only its own time ends it.
    check(ATTEMPTS_MAX + 9, never, JournalOutcome::Away, JournalOutcome::Away);
    check(0, first, JournalOutcome::Away, JournalOutcome::Nothing);
    check_after(
        JournalOutcome::Away,
        ATTEMPTS_MAX + 9,
        never,
        JournalOutcome::NotSent,
        JournalOutcome::NotSent,
    );
    check_after(JournalOutcome::Unsure, 1, second, JournalOutcome::Away, JournalOutcome::Unknown);
    check(0, first + 1, JournalOutcome::Unsure, JournalOutcome::Unsure);
    check(0, first, JournalOutcome::Unsure, JournalOutcome::Unknown);
    check(0, first, JournalOutcome::Sent, JournalOutcome::Sent);
    // An earlier one may have been sent.
    check_after(JournalOutcome::Unsure, 1, second + 1, JournalOutcome::NotSent, JournalOutcome::NotSent);
    check_after(JournalOutcome::Unsure, 1, second, JournalOutcome::NotSent, JournalOutcome::Unknown);
}

#[test]
fn who_was_not_asked_about_comes_again_until_it_expires() {
    let check = |attempt: u16, expires: i64, expected: i64| {
        let ready = Ready { expires: NOW.plus(expires), ..ready(attempt) };
        let DeliveryOutcome::Deferred { until, .. } = report::report_comes_again(&ready, NOW).outcome else {
            panic!()
        };
        assert_eq!(until, NOW.plus(expected), "{attempt} {expires}");
    };
    let wait = |attempt| retry_ms(ready(0).id, attempt);
    check(0, i64::MAX / 2, wait(0));
    check(3, i64::MAX / 2, wait(3));
    check(400, i64::MAX / 2, wait(400));
    check(RECALLED, i64::MAX / 2, wait(0));
    check(3, 5_000, 5_000);
    check(3, -5_000, 0);
}

#[test]
fn what_this_catalogue_does_not_have_is_not_its_to_end() {
    let check = |changed: &[(&str, &str)], expected: bool| {
        let text = changed.iter().fold(CATALOGUE.to_owned(), |text, (from, to)| text.replace(from, to));
        assert_eq!(is_known(&ready(0), &parse_catalogue(&text)), expected, "{changed:?}");
    };
    check(&[], true);
    check(&[("plans: [daily]", "plans: [morning]"), ("  daily:\n", "  morning:\n")], false);
    check(&[("work_out", "work_in")], false);
    let none = Ready { entries: vec![], badge: true, ..ready(0) };
    assert!(is_known(&none, &catalogue()), "a number tells no entries");
    let other = Ready { channel: Channel::Push, ..ready(0) };
    assert!(!is_known(&other, &catalogue()), "the plan has another channel by now");
}

#[test]
fn what_is_called_back_says_whether_it_may_have_been_sent() {
    let check = |records: Vec<JournalRecord>, expected: JournalOutcome| {
        assert_eq!(record_recall(&JournalRows { claims: vec![], records }), expected);
    };
    check(vec![], JournalOutcome::Returned);
    check(vec![record(0, JournalOutcome::NotSent)], JournalOutcome::Returned);
    check(
        vec![record(0, JournalOutcome::Unsure), record(1, JournalOutcome::NotSent)],
        JournalOutcome::Unknown,
    );
}

#[test]
fn who_only_ends_an_attempt_hands_nothing_over() {
    let check = |entries: Vec<ReadyEntry>, told: Vec<EntryKey>, expected: bool| {
        let channel = if entries.is_empty() { Channel::Push } else { Channel::Email };
        let ready = Ready { entries, channel, ..ready(0) };
        assert_eq!(tells_nothing(&ready, &JournalClaim { told, ..claim(0, NOW) }), expected);
    };
    check(ready(0).entries, vec![], true);
    check(ready(0).entries, vec![key(1)], false);
    // A push without words tells no entries.
    check(vec![], vec![], false);
}

#[test]
fn what_may_have_been_sent_goes_out_again_once_where_that_is_wanted() {
    let check = |plan: &str, kind: &str, records: Vec<JournalRecord>, expected: JournalOutcome| {
        let text = CATALOGUE
            .replace("    look_back: 7d\n", &format!("    look_back: 7d\n{plan}"))
            .replace("    plans: [daily]\n", &format!("    plans: [daily]\n{kind}"));
        let journalled = JournalRows { claims: Vec::new(), records };
        assert_eq!(
            record_unclear(&ready(1), &journalled, &parse_catalogue(&text)),
            expected,
            "{plan:?} {kind:?}"
        );
    };
    let (urgent, again, later) = ("    urgent: true\n", "    unsure: again\n", "    unsure: later\n");
    check("", "", vec![], JournalOutcome::Unknown);
    check(urgent, "", vec![], JournalOutcome::Unsure);
    check(urgent, later, vec![], JournalOutcome::Unknown);
    check("", again, vec![], JournalOutcome::Unsure);
    check("", later, vec![], JournalOutcome::Unknown);
    check("", again, vec![record(0, JournalOutcome::NotSent)], JournalOutcome::Unsure);
    check(urgent, again, vec![record(0, JournalOutcome::Unsure)], JournalOutcome::Unknown);
    let empty = Ready { entries: vec![], ..ready(0) };
    let again = record_unclear(
        &empty,
        &JournalRows::default(),
        &parse_catalogue(&CATALOGUE.replace("7d\n", "7d\n    urgent: true\n")),
    );
    assert_eq!(again, JournalOutcome::Unknown, "a number on an icon is told again anyhow");
}

#[test]
fn the_wait_between_tries_grows_and_is_capped() {
    let check = |own: u8, attempt: u16, expected: i64| {
        assert_eq!(retry_ms(ReadyId([own; 16]), attempt), expected, "{own}, {attempt}");
    };
    check(0, 0, RETRY_MS_FIRST);
    check(0, 1, 2 * RETRY_MS_FIRST);
    check(0, u16::MAX, RETRY_MS_MAX);
    // Those that failed together come back one after the other.
    check(u8::MAX, 0, RETRY_MS_FIRST * 5 / 4);
    check(51, 1, 2 * RETRY_MS_FIRST * 21 / 20);
}

#[test]
fn a_record_is_the_report() {
    let check = |what: JournalOutcome, expected: DeliveryOutcome| {
        assert_eq!(report::report_record(&ready(0), &record(0, what)).outcome, expected, "{what:?}");
    };
    check(JournalOutcome::Sent, DeliveryOutcome::Sent { left: vec![] });
    check(
        JournalOutcome::Refused,
        DeliveryOutcome::Refused { left: vec![(key(1), EndReason::Refused), (key(2), EndReason::Refused)] },
    );
    check(JournalOutcome::Returned, DeliveryOutcome::Returned { back: vec![key(1), key(2)] });
    // The one that came back before ends; the other comes back, once.
    check(
        JournalOutcome::Unknown,
        DeliveryOutcome::Unknown { back: vec![key(1)], left: vec![(key(2), EndReason::MaybeSent)] },
    );
}

/// The facts under which everything holds, for each test to change one thing.
fn facts() -> (SenderFacts, WorldSnapshot) {
    let mut world = WorldSnapshot::default();
    let share = share(&mut world);
    share.set_follow(Person::new("ann").unwrap(), subject("author:1"), true);
    share
        .subjects
        .insert(subject("work:1"), VersionedState::from_values(1, [("public", Some(Value::Flag(true)))]));
    (SenderFacts { profile: person(&[]), view: view_with_marks(&[]), ..SenderFacts::default() }, world)
}

fn share(world: &mut WorldSnapshot) -> &mut TenantSnapshot {
    world.get_or_insert(&Tenant::new("main").unwrap())
}

fn person(flags: &[&str]) -> VersionedState {
    let mut state =
        VersionedState::from_values(1, [(profile::EMAIL, Some(Value::from_text("ann@example.com")))]);
    state.merge(&self::flags(flags));
    state
}

/// What is noted where a mail to the address that people here have came back.
fn returned_notes(sort: ReturnSort, stream: &str) -> VersionedState {
    let Ready { tenant, person: whose, plan, channel, .. } = ready(0);
    let known = person(&[]);
    let address = AddressHash::from_address(&tenant, &whose, known.text(profile::EMAIL).unwrap());
    let slip = Slip { tenant, person: whose, plan, stream: stream.into(), channel, address, at: NOW };
    slip.notes(sort, "5.1.1")
}

fn flags(names: &[&str]) -> VersionedState {
    VersionedState::from_values(1, names.iter().map(|name| (*name, Some(Value::Flag(true)))))
}

fn view_with_marks(marks: &[MarkAction]) -> model::DayView {
    let entry = |n| {
        let actor = Some(Person::new("zoe").unwrap().into());
        DayRow::Entry(Entry {
            key: key(n),
            reason: reason(),
            subject: subject("work:1"),
            actor,
            kept: model::KeptFields::new(),
        })
    };
    let mut rows = vec![entry(1), entry(2)];
    let own = MarkAction::Taken(ReadyId([9; 16]));
    for what in std::iter::once(&own).chain(marks) {
        let channel = (!matches!(what, MarkAction::Read | MarkAction::Cleared)).then_some(Channel::Email);
        rows.push(DayRow::Mark(Mark::new(channel, *what, vec![key(1), key(2)], NOW)));
    }
    fold_rows(&rows)
}

/// Each entry of a bundle is asked by itself. If the one that stands for the others does not hold, the newest that does takes
/// its place.
#[test]
fn a_bundle_is_told_without_what_does_not_hold() {
    let says = "    says: '{{ subject.title }}'\n";
    let bundled = format!("{says}    bundle_by: subject\n    says_many: '{{{{ count }}}}'\n");
    let catalogue = parse_catalogue(&CATALOGUE.replace(says, &bundled));
    let check = |read: &[u8], told: &[u8], left: &[u8]| {
        let entry = |n: u8| {
            DayRow::Entry(Entry {
                key: key(n),
                reason: reason(),
                subject: subject("work:1"),
                actor: None,
                kept: model::KeptFields::new(),
            })
        };
        let mut rows: Vec<DayRow> = (1..=4).map(entry).collect();
        let covers = read.iter().map(|n| key(*n)).collect();
        rows.push(DayRow::Mark(Mark::new(None, MarkAction::Read, covers, NOW)));
        let list = model::KeyList::new((1..=3).map(key).collect());
        rows.push(DayRow::List(list.clone()));
        let (mut facts, world) = facts();
        facts.view = fold_rows(&rows);
        let named = model::DayKeyList { day: key(1).day(), id: list.id(), count: 3 };
        let lead =
            ReadyEntry { lists: vec![named], ..ReadyEntry::new(key(4), subject("work:1"), vec![reason()]) };
        let ready = Ready { entries: vec![lead], ..ready(0) }.with_lists(&facts.view).unwrap();
        assert_eq!(ready.keys().collect::<BTreeSet<_>>(), (1..=4).map(key).collect());
        let checked = check_ready(&ready, &facts, &world, &catalogue, NOW);
        let keys: Vec<EntryKey> = checked.told.iter().flat_map(ReadyEntry::keys).collect();
        assert_eq!(keys, told.iter().map(|n| key(*n)).collect::<Vec<_>>(), "{read:?}");
        assert!(checked.told.len() <= 1, "it is one thing");
        let gone: BTreeSet<EntryKey> = checked.left.iter().map(|(key, _)| *key).collect();
        assert_eq!(gone, left.iter().map(|n| key(*n)).collect(), "{read:?}");
        // What the claim does not name stays behind as it is now; on the wire the list is enough.
        let untold = untold_entries(
            &ready,
            &JournalClaim { told: keys, ..claim(0, NOW) },
            Some(&facts),
            &world,
            &catalogue,
            NOW,
        );
        assert_eq!(untold.len(), left.len());
        assert_eq!(ready.entries[0].named_others(), []);
    };
    check(&[], &[4, 3, 2, 1], &[]);
    check(&[2], &[4, 3, 1], &[2]);
    check(&[4], &[3, 2, 1], &[4]);
    check(&[3, 4], &[2, 1], &[3, 4]);
    check(&[1, 2, 3, 4], &[], &[1, 2, 3, 4]);
}

/// Without the list nobody knows what a bundle tells.
#[test]
fn a_list_that_is_not_there_is_said() {
    let list = model::KeyList::new(vec![key(1), key(2)]);
    let named = model::DayKeyList { day: key(1).day(), id: list.id(), count: 2 };
    let lead =
        ReadyEntry { lists: vec![named], ..ReadyEntry::new(key(3), subject("work:1"), vec![reason()]) };
    let ready = Ready { entries: vec![lead], ..ready(0) };
    assert_eq!(ready.with_lists(&fold_rows(&[])), Err(list.id()));
    let mut mark = Mark::new(Some(Channel::Email), MarkAction::Taken(ReadyId([9; 16])), Vec::new(), NOW);
    mark.list = Some(list.id());
    let rows = [DayRow::Mark(mark), DayRow::List(list.clone())];
    assert_eq!(model::fold::find_missing_list(&rows[..1]), Some(list.id()));
    assert_eq!(model::fold::find_missing_list(&rows), None);
}

#[test]
fn every_entry_is_asked_again_before_the_claim() {
    type Change = fn(&mut SenderFacts, &mut WorldSnapshot);
    let check = |change: Change, expected: Option<EndReason>| {
        let (mut facts, mut world) = facts();
        change(&mut facts, &mut world);
        let checked = check_ready(&ready(0), &facts, &world, &catalogue(), NOW);
        let why: BTreeSet<EndReason> = checked.left.iter().map(|(_, why)| *why).collect();
        assert_eq!(why, expected.into_iter().collect(), "{expected:?}");
        assert_eq!(checked.told.len() + checked.left.len(), 2);
    };
    check(|_, _| {}, None);
    check(|_, world| share(world).follows.clear(), Some(EndReason::Unfollowed));
    check(|_, world| share(world).subjects.clear(), Some(EndReason::NoLongerTrue));
    check(|facts, _| facts.profile = VersionedState::default(), Some(EndReason::NoAddress));
    check(|facts, _| facts.profile = person(&[profile::EMAIL_OFF]), Some(EndReason::Unsubscribed));
    check(|facts, _| facts.notes = flags(&[notes::ERASED]), Some(EndReason::Erased));
    check(|facts, _| facts.notes = returned_notes(ReturnSort::Hard, "other"), Some(EndReason::Bounced));
    check(
        |facts, _| facts.notes = returned_notes(ReturnSort::Complaint, GENERAL),
        Some(EndReason::Complained),
    );
    check(|facts, _| facts.notes = returned_notes(ReturnSort::Complaint, "other"), None);
    check(
        |facts, _| {
            facts.notes = returned_notes(ReturnSort::Hard, GENERAL);
            facts.profile = VersionedState::from_values(
                2,
                [(profile::EMAIL, Some(Value::from_text("ann@elsewhere.example")))],
            );
        },
        None,
    );
    check(
        |facts, _| {
            facts.preferences = flags(&[&preferences::PreferenceScope::Kind(&reason().kind).field(None)]);
        },
        Some(EndReason::Muted),
    );
    check(
        |facts, _| {
            facts.preferences =
                flags(&[&preferences::PreferenceScope::Subject(&subject("work:1")).field(None)]);
        },
        Some(EndReason::Muted),
    );
    check(
        |facts, _| {
            facts.preferences =
                flags(&[&preferences::PreferenceScope::Actor(&Person::new("zoe").unwrap()).field(None)]);
        },
        Some(EndReason::Muted),
    );
    check(
        |facts, _| {
            facts.preferences =
                flags(&[&preferences::PreferenceScope::Actor(&Person::new("ann").unwrap()).field(None)]);
        },
        None,
    );
    check(|facts, _| facts.view = view_with_marks(&[MarkAction::Read]), Some(EndReason::SeenBefore));
    check(|facts, _| facts.view = view_with_marks(&[MarkAction::Cleared]), Some(EndReason::SeenBefore));
    check(
        |facts, _| facts.view = view_with_marks(&[MarkAction::Taken(ReadyId([1; 16]))]),
        Some(EndReason::ToldElsewhere),
    );
    check(|facts, _| facts.view = fold_rows(&[]), Some(EndReason::Expired));
}

#[test]
fn a_ready_that_is_too_late_is_not_sent() {
    let (facts, world) = facts();
    let late = Ready { expires: NOW, ..ready(0) };
    let checked = check_ready(&late, &facts, &world, &catalogue(), NOW);
    assert!(checked.told.is_empty());
    assert!(checked.left.iter().all(|(_, why)| *why == EndReason::Expired));
}

#[test]
fn the_message_id_is_the_readys_at_the_senders_domain() {
    let check = |from: &str, domain: &str| {
        assert_eq!(message_id(&ready(0), from), format!("{}@{domain}", ReadyId([9; 16])));
    };
    check("Sample <news@example.com>", "example.com");
    check("news@example.com", "example.com");
    check("nonsense", "localhost");
}

#[test]
fn the_address_of_a_hook_leaves_as_it_was_read() {
    let call = |address: &str| courier::CallPayload {
        hook: Hook::Chat,
        address: address.to_owned(),
        person: Person::new("ann").unwrap(),
        plan: PlanName::new("chats").unwrap(),
        longer: String::new(),
        image: None,
        opens: None,
        links: courier::MessageLinks::default(),
        silent: false,
        told: Vec::new(),
        expires: UtcMillis(0),
    };
    let profile = |address: &str| VersionedState::from_values(7, [("chat", Some(Value::from_text(address)))]);
    let gone = hook_removal(&profile("https://a.example/1"), &call("https://a.example/1")).unwrap();
    assert_eq!(
        gone,
        VersionedState::from_values(8, [("chat", None)]),
        "newer than that address, older than any after it"
    );
    assert_eq!(hook_removal(&profile("https://a.example/2"), &call("https://a.example/1")), None);
    assert_eq!(hook_removal(&VersionedState::default(), &call("https://a.example/1")), None);
}

#[test]
fn a_device_that_is_gone_leaves_as_it_was_read() {
    let device = PushDevice { id: "phone".to_owned(), platform: DevicePlatform::Ios, token: "t1".to_owned() };
    let name = device::device_field("phone");
    let profile = |token: &str, version| {
        VersionedState::from_values(
            version,
            [(&*name, Some(device::device_value(DevicePlatform::Ios, token)))],
        )
    };
    let after = |then: &VersionedState| {
        let mut state = then.clone();
        device_removal(&profile("t1", 7), &device)
            .unwrap()
            .cells
            .into_iter()
            .for_each(|(name, cell)| state.set(&name, cell));
        device::read_devices(&state).len()
    };
    assert_eq!(after(&profile("t1", 7)), 0, "as it was read it goes");
    assert_eq!(after(&profile("t1", 9)), 1, "said anew meanwhile it stays");
    assert_eq!(after(&profile("t2", 9)), 1);
    assert_eq!(device_removal(&profile("t2", 7), &device), None, "it has another token by now");
    assert_eq!(device_removal(&VersionedState::default(), &device), None);
}
