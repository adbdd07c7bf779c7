//! One sample of each record with something in every field: the goldens are made of these.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use house_facts::{
    edition::Edition,
    erasure::{Erasure, ErasureProgress, Holding, Receipt, ReceiptLine},
    pause::{PauseNote, PauseScope},
};
use model::{
    Actor, ActorId, AudienceMatch, Channel, Crowd, Day, DayKeyList, DayRow, EndReason, Entry, EntryKey,
    EntryReason, Event, EventKey, Fact, FollowFact, GeoPoint, KeptFields, KeyList, KeyListId, Kind,
    ListedPerson, Mark, MarkAction, Person, PersonScore, PlanName, ReadyId, Slice, SubjectRef, Tenant,
    UtcMillis, Value, VersionedState,
    actor::AnonymousHash,
    closing_dates::ClosingNumber,
    delivery::{Delivery, DeliveryOutcome},
    entry::DayKey,
    habit::VisitHabit,
    hook::Hook,
    person::{
        Act, DeferredReady, HoldCause, MessageHistory, OwedMark, PersonBadge, PersonRecord, ToldClosing,
        Window,
    },
    ready::{Ready, ReadyEntry},
    returns::ReturnSort,
    window::WindowTarget,
};
use serde_json::json;

use crate::{
    AdoptedCatalogue, AnnouncementBatch, CloudChange, CloudPerson, DayAnnouncement, Feedback, FeedbackAction,
    HouseNote, HouseNoteBody, InboxItem, QuarantineCause, QuarantinedRecord, ReturnNotice,
    replay::{ReplayPart, ReplayRecord, ReplayState},
};

pub(super) fn parse_instant(text: &str) -> UtcMillis {
    UtcMillis::parse(text).unwrap()
}

pub(super) fn tenant() -> Tenant {
    Tenant::new("main").unwrap()
}

pub(super) fn person(name: &str) -> Person {
    Person::new(name).unwrap()
}

fn subject(text: &str) -> SubjectRef {
    SubjectRef::new(text).unwrap()
}

fn plan() -> PlanName {
    PlanName::new("morning_mail").unwrap()
}

fn kind(name: &str) -> Kind {
    Kind::new(name).unwrap()
}

fn entry_key(second: i64) -> EntryKey {
    let occurred = parse_instant("2026-11-20T10:00:00Z").plus(second * 1000);
    EntryKey { occurred, event: EventKey::from_source_id(&tenant(), "shop", &second.to_string()) }
}

pub(super) fn event() -> Event {
    let mut state = VersionedState::from_values(
        7,
        [
            ("title", Some(Value::from_text("Moon \u{1f319}, \"full\""))),
            ("score", Some(Value::Number(0.5))),
            ("published", Some(Value::Flag(true))),
            ("opens", Some(Value::Time(parse_instant("2026-11-27T18:00:00Z")))),
            ("maker", Some(Value::Ref(subject("maker:7")))),
            ("tags", Some(Value::Refs(vec![subject("tag:a"), subject("tag:b")]))),
            ("where", Some(Value::Place(GeoPoint { lat: 52.5, lon: 13.4 }))),
        ],
    );
    state.merge(&VersionedState::from_values(8, [("image", None)]));
    Event {
        tenant: tenant(),
        key: EventKey::from_source_id(&tenant(), "shop", "1"),
        what: "item.published".to_owned(),
        subject: subject("item:1"),
        actor: Some(Actor { name: Some("Bob B.".into()), ..person("bob").into() }),
        occurred: parse_instant("2026-11-20T10:00:00.123Z"),
        persons: vec![
            ListedPerson { person: person("ann"), score: PersonScore(930_000) },
            ListedPerson { person: person("eve"), score: PersonScore(-1) },
        ],
        state,
    }
}

/// With every sort of crowd.
pub(super) fn slice() -> Slice {
    Slice {
        event: Event { persons: Vec::new(), ..event() },
        kinds: vec![kind("item_published"), kind("item_nearby")],
        kept: kept_fields(),
        crowds: vec![
            Crowd::Followers(subject("maker:7")),
            Crowd::Cell(model::place::GlobeCell(0x0871_f1d4_89ff_ffff)),
            Crowd::Everyone,
        ],
        from: Some(b"main\0bob".to_vec()),
    }
}

/// A field of every sort that is kept.
fn kept_fields() -> KeptFields {
    let kept = [
        ("summary", Value::from_text("Moon, \"half\"")),
        ("revision", Value::Number(7.0)),
        ("minor", Value::Flag(false)),
        ("opens", Value::Time(parse_instant("2026-11-27T18:00:00Z"))),
    ];
    kept.into_iter().map(|(name, value)| (name.into(), value)).collect()
}

pub(super) fn sample_batch() -> AnnouncementBatch {
    let thread = WindowTarget { plan: plan(), key: "thread:5".into(), aim: None };
    let event = WindowTarget {
        plan: PlanName::new("before_it_opens").unwrap(),
        key: "".into(),
        aim: Some(parse_instant("2026-11-27T18:00:00Z")),
    };
    let announcement = |name: &str, rows, kinds: &[&str], windows: &[&WindowTarget], full| DayAnnouncement {
        person: person(name),
        day: Day::parse("2026-11-20").unwrap(),
        rows,
        kinds: kinds.iter().map(|name| kind(name)).collect(),
        windows: windows.iter().copied().cloned().collect(),
        full,
    };
    let announcements = vec![
        announcement("ann", 2, &["item_published", "item_nearby"], &[&thread, &event], false),
        announcement("bob", 1, &["item_nearby"], &[&event], false),
        announcement("eve", 3, &["item_published"], &[], true),
    ];
    AnnouncementBatch { tenant: tenant(), announcements }
}

pub(super) fn ready() -> Ready {
    let reason = |name: &str, because| EntryReason { kind: kind(name), because };
    let follows = |target: &str| AudienceMatch::Follows(subject(target));
    let opening = parse_instant("2026-11-20T10:00:01Z");
    Ready {
        id: model::ready::derive_ready_id(&tenant(), &person("ann"), &plan(), "", opening, 0),
        tenant: tenant(),
        person: person("ann"),
        plan: plan(),
        key: "thread:5".into(),
        opening,
        channel: Channel::Email,
        silent: true,
        attempt: 1,
        due: parse_instant("2026-11-21T08:00:00Z"),
        expires: parse_instant("2026-11-22T08:00:00Z"),
        entries: vec![
            ReadyEntry {
                actor: Some(Actor { name: Some("Bob B.".into()), ..person("bob").into() }),
                kept: kept_fields(),
                others: vec![entry_key(4), entry_key(5)],
                ..ReadyEntry::new(
                    entry_key(1),
                    subject("item:1"),
                    vec![
                        reason("item_published", follows("maker:7")),
                        reason("item_nearby", AudienceMatch::Near),
                        reason("item_suggested", AudienceMatch::Listed(PersonScore(930_000))),
                    ],
                )
            },
            ReadyEntry {
                section: 3,
                maybe: true,
                actor: Some(Actor { id: ActorId::Anonymous(AnonymousHash([0xA5; 16])), name: None }),
                lists: vec![
                    DayKeyList { day: Day(20_777), id: KeyListId([0x11; 16]), count: 1_000 },
                    DayKeyList { day: Day(20_777), id: KeyListId([0x12; 16]), count: 17 },
                ],
                ..ReadyEntry::new(
                    entry_key(2),
                    subject("item:2"),
                    vec![reason("item_published", follows("maker:7"))],
                )
            },
            ReadyEntry {
                section: 1,
                actor: Some(Actor { id: ActorId::System, name: None }),
                ..ReadyEntry::new(
                    entry_key(3),
                    subject("item:3"),
                    vec![
                        reason("item_sold", AudienceMatch::Named),
                        reason("item_matched", AudienceMatch::Mutual(person("bob"))),
                        reason("terms_changed", AudienceMatch::Everyone),
                    ],
                )
            },
        ],
        more: vec![0, 2],
        badge: true,
        renews: None,
    }
}

/// A window with all that one can have, and one as it opens.
fn open_windows() -> Vec<Window> {
    let opening = parse_instant("2026-11-20T10:00:01Z");
    let full = Window {
        plan: plan(),
        plan_hash: u64::MAX - 1,
        key: "thread:5".into(),
        opening,
        due: parse_instant("2026-11-21T08:00:00Z"),
        act: Some(Act::Cancel),
        after: Some(ReadyId([9; 16])),
        held: Some(HoldCause::Quiet),
        heard: 3,
        last: parse_instant("2026-11-20T10:07:00Z"),
        hour: Some(21),
        aim: Some(parse_instant("2026-11-27T18:00:00Z")),
        first: Some(entry_key(1)),
        days: BTreeSet::from([Day::parse("2026-11-19").unwrap(), Day::parse("2026-11-20").unwrap()]),
    };
    let plain = Window {
        plan_hash: 1,
        key: "".into(),
        act: None,
        after: None,
        held: None,
        heard: 0,
        last: opening,
        hour: None,
        aim: None,
        first: None,
        ..full.clone()
    };
    vec![full, plain]
}

/// One of each sort, and of each reason that some form has spelt differently.
fn every_mark_action() -> Vec<MarkAction> {
    let id = ReadyId([7; 16]);
    vec![
        MarkAction::Taken(id),
        MarkAction::Returned { ready: id, maybe: true },
        MarkAction::Left { ready: id, why: EndReason::NoLongerTrue },
        MarkAction::Ended(EndReason::Unfollowed),
        MarkAction::Ended(EndReason::Muted),
        MarkAction::Ended(EndReason::MovedAway),
        MarkAction::Ended(EndReason::ToldBefore),
        MarkAction::Ended(EndReason::TooFew),
        MarkAction::Ended(EndReason::QuietHours),
        MarkAction::Ended(EndReason::SeesItself),
        MarkAction::Ended(EndReason::OverCap),
        MarkAction::Ended(EndReason::Cancelled),
        MarkAction::Ended(EndReason::Bounced),
        MarkAction::Ended(EndReason::BouncedSoftly),
        MarkAction::Ended(EndReason::Complained),
        MarkAction::Carried(id),
        MarkAction::Read,
        MarkAction::Cleared,
        MarkAction::Ended(EndReason::Withdrawn),
        MarkAction::Ended(EndReason::PutOff),
        MarkAction::Seen,
        MarkAction::Unread,
        MarkAction::Restored,
        MarkAction::Saved,
        MarkAction::Unsaved,
        MarkAction::Snoozed(parse_instant("2026-11-22T08:00:00Z")),
        MarkAction::Withdrawn,
    ]
}

/// A record with every sort of mark.
pub(super) fn window() -> PersonRecord {
    let whats = every_mark_action();
    let owed = |(i, what): (usize, MarkAction)| OwedMark {
        day: Day::parse("2026-11-20").unwrap(),
        mark: Mark::new(
            [Some(Channel::Email), None, Some(Channel::Hook(Hook::Chat)), None][i % 4],
            what,
            vec![entry_key(1), entry_key(2)],
            parse_instant("2026-11-21T08:00:00Z"),
        ),
    };
    PersonRecord {
        windows: open_windows(),
        owed: whats.into_iter().enumerate().map(owed).collect(),
        waiting: vec![DeferredReady { at: parse_instant("2026-11-21T09:00:00Z"), ready: ready() }],
        last_opening: parse_instant("2026-11-20T10:00:01Z"),
        told_on: BTreeMap::from([(plan(), ToldClosing::new(ClosingNumber(20_777), "thread:5"))]),
        told: vec![MessageHistory {
            plan: plan(),
            key: "thread:5".into(),
            at: vec![parse_instant("2026-11-20T09:00:00Z"), parse_instant("2026-11-20T09:30:00Z")],
            heard: parse_instant("2026-11-20T09:29:00Z"),
            row: 2,
            until: parse_instant("2026-11-20T21:30:00Z"),
        }],
        counted: BTreeMap::from([(
            "few".into(),
            vec![parse_instant("2026-11-20T09:00:00Z"), parse_instant("2026-11-20T09:30:00Z")],
        )]),
        seen: BTreeMap::from([
            ("app".into(), parse_instant("2026-11-20T09:45:00Z")),
            ("site".into(), parse_instant("2026-11-19T20:00:00Z")),
        ]),
        habit: VisitHabit::from_visits([(7, 12), (21, 3)]),
        badge: Some(PersonBadge { plan: plan(), due: Some(parse_instant("2026-11-20T09:50:05Z")) }),
        put_off: BTreeMap::from([(Day::parse("2026-11-19").unwrap(), parse_instant("2026-11-22T08:00:00Z"))]),
        rows: BTreeMap::from([(Day::parse("2026-11-20").unwrap(), 12)]),
        traces: BTreeMap::new(),
        keep_until: parse_instant("2026-12-01T00:00:00Z"),
    }
}

fn by_hand_item(act: Act, key: Option<Arc<str>>) -> InboxItem {
    let at = parse_instant("2026-11-20T12:00:00Z");
    InboxItem::ByHand { tenant: tenant(), person: person("ann"), act, plan: plan(), key, at }
}

fn delivery_item(outcome: DeliveryOutcome) -> InboxItem {
    InboxItem::Delivery(Box::new(Delivery {
        ready: ready().id,
        tenant: tenant(),
        person: person("ann"),
        plan: plan(),
        key: "thread:5".into(),
        channel: Channel::Email,
        attempt: 1,
        at: parse_instant("2026-11-21T08:00:02Z"),
        outcome,
    }))
}

/// What a person did with two entries, one of each.
fn feedback_items() -> Vec<(&'static str, InboxItem)> {
    let feedback = |what| {
        InboxItem::Feedback(Feedback {
            tenant: tenant(),
            person: person("ann"),
            what,
            keys: vec![entry_key(1), entry_key(2)],
            at: parse_instant("2026-11-20T12:00:00Z"),
        })
    };
    vec![
        ("read", feedback(FeedbackAction::Read)),
        ("cleared", feedback(FeedbackAction::Cleared)),
        ("viewed", feedback(FeedbackAction::Seen)),
        ("unread", feedback(FeedbackAction::Unread)),
        ("restored", feedback(FeedbackAction::Restored)),
        ("saved", feedback(FeedbackAction::Saved)),
        ("unsaved", feedback(FeedbackAction::Unsaved)),
        ("snoozed", feedback(FeedbackAction::Snoozed(parse_instant("2026-11-22T08:00:00Z")))),
    ]
}

/// One of each, and each outcome; the first is the golden's.
pub(super) fn inboxes() -> Vec<(&'static str, InboxItem)> {
    let delivery = delivery_item;
    let left = vec![(entry_key(1), EndReason::NoLongerTrue), (entry_key(2), EndReason::ToldElsewhere)];
    let mut all = vec![
        (
            "follow",
            InboxItem::Fact(Fact::Follow(FollowFact {
                tenant: tenant(),
                person: person("ann"),
                target: subject("maker:7"),
                version: 3,
                on: true,
            })),
        ),
        (
            "profile",
            InboxItem::Fact(Fact::Profile {
                tenant: tenant(),
                person: person("ann"),
                state: VersionedState::from_values(
                    4,
                    [("zone", Some(Value::from_text("Europe/Berlin"))), ("name", None)],
                ),
            }),
        ),
        ("sent", delivery(DeliveryOutcome::Sent { left: left.clone() })),
        ("nothing", delivery(DeliveryOutcome::Nothing { left: left.clone() })),
        ("refused", delivery(DeliveryOutcome::Refused { left: left.clone() })),
        ("unknown", delivery(DeliveryOutcome::Unknown { back: vec![entry_key(3)], left })),
        ("returned", delivery(DeliveryOutcome::Returned { back: vec![entry_key(3)] })),
        ("release", by_hand_item(Act::Release, None)),
        ("cancel", by_hand_item(Act::Cancel, Some("thread:5".into()))),
        (
            "seen",
            InboxItem::Seen {
                tenant: tenant(),
                person: person("ann"),
                surface: "app".into(),
                at: parse_instant("2026-11-20T12:00:00Z"),
            },
        ),
        (
            "erased",
            InboxItem::Erased {
                tenant: tenant(),
                person: person("ann"),
                at: parse_instant("2026-11-20T12:00:00Z"),
            },
        ),
        (
            "deferred",
            delivery(DeliveryOutcome::Deferred {
                until: parse_instant("2026-11-21T09:00:00Z"),
                ready: ready(),
            }),
        ),
    ];
    all.extend(feedback_items());
    all
}

pub(super) fn sample_return() -> ReturnNotice {
    ReturnNotice {
        tenant: tenant(),
        person: person("ann"),
        plan: plan(),
        stream: "offers".into(),
        channel: Channel::Email,
        ready: ReadyId([7; 16]),
        what: ReturnSort::Soft,
        code: "4.2.2".to_owned(),
        sent: parse_instant("2026-11-21T08:00:00Z"),
        at: parse_instant("2026-11-21T08:03:20Z"),
    }
}

pub(crate) fn erasure() -> Erasure {
    let line = |holding, stays: Option<&str>, until| ReceiptLine {
        holding,
        removed: 3,
        stays: stays.map(str::to_owned),
        until,
    };
    let progress = ErasureProgress::Done(Receipt {
        lines: vec![
            line(Holding::Days, None, None),
            line(
                Holding::Changes,
                Some("the log cannot take single records away"),
                Some(parse_instant("2026-12-05T09:00:00Z")),
            ),
        ],
    });
    Erasure {
        tenant: tenant(),
        person: person("ann"),
        asked: parse_instant("2026-11-21T09:00:00Z"),
        at: parse_instant("2026-11-21T09:00:04Z"),
        progress,
    }
}

pub(crate) fn replay() -> ReplayRecord {
    ReplayRecord {
        id: "2026-11-21T090000-4f1c".to_owned(),
        by: "ann@desk".to_owned(),
        began: parse_instant("2026-11-21T09:00:00Z"),
        topic: "events".to_owned(),
        asked: "from 2026-11-20T09:00:00.000Z".to_owned(),
        tells_missing: true,
        per_second: 200,
        state: ReplayState::Running,
        why: Some("the log is busy".to_owned()),
        parts: vec![
            ReplayPart { partition: 0, from: 3, to: 9, next: 5 },
            ReplayPart::new(1, u64::from(u32::MAX) + 7, 2),
        ],
        appended: 2,
        passed: 1,
        expired: 1,
        at: parse_instant("2026-11-21T09:00:01.500Z"),
    }
}

pub(super) fn note() -> HouseNote {
    let edition = Edition { number: 4, hash: 0xF00D_0000_0000_0007 };
    HouseNote {
        house: "7c0ffee1".to_owned(),
        what: HouseNoteBody::Catalogue(AdoptedCatalogue { edition, name: "gallery".to_owned() }),
        at: parse_instant("2026-11-21T09:00:00Z"),
    }
}

pub(super) fn pause_note() -> HouseNote {
    let at = parse_instant("2026-11-21T09:00:00Z");
    let pause = PauseNote {
        scope: PauseScope::Channel(Channel::Email),
        is_paused: true,
        by: "ops".to_owned(),
        why: "the pictures are broken".to_owned(),
        at,
    };
    HouseNote { house: "7c0ffee1".to_owned(), what: HouseNoteBody::Pause(pause), at }
}

pub(super) fn quarantined_record() -> QuarantinedRecord {
    QuarantinedRecord {
        topic: "changes".to_owned(),
        partition: 3,
        offset: 4_711,
        appended: parse_instant("2026-11-20T10:00:00Z"),
        key: b"main\0item:1".to_vec(),
        value: Some(vec![0, 1, 0xC3, 0xFF]),
        headers: vec![("ce_id".to_owned(), b"7".to_vec()), ("trace".to_owned(), vec![0xFF])],
        cut: false,
        reason: "/time: not a time as in 2026-11-21T09:00:00Z (RFC 3339)".to_owned(),
        cause: QuarantineCause::Other,
        at: parse_instant("2026-11-20T10:00:05Z"),
        room: "ingest".to_owned(),
    }
}

pub(super) fn change() -> CloudChange {
    let data = json!({
        "title": "Moon", "count": 3, "score": 0.5, "published": true, "image": null,
        "tags": ["tag:a", "tag:b"], "where": {"lat": 52.5, "lon": 13.4},
    });
    CloudChange {
        id: "1".to_owned(),
        source: "shop".to_owned(),
        what: "item.published".to_owned(),
        subject: Some("item:1".to_owned()),
        subjects: Vec::new(),
        persons: Vec::new(),
        time: Some(parse_instant("2026-11-20T10:00:00.123Z")),
        data: data.as_object().unwrap().clone(),
        actor: Some("bob".to_owned()),
        actor_name: Some("Bob B.".to_owned()),
        actor_kind: Some("person".to_owned()),
        version: Some(7),
    }
}

/// Several subjects for several persons.
pub(super) fn change_of_many() -> CloudChange {
    let listed = |person: &str, score| CloudPerson { person: person.to_owned(), score };
    CloudChange {
        subject: None,
        subjects: vec!["item:1".to_owned(), "item:2".to_owned()],
        persons: vec![listed("ann", Some(0.93)), listed("bob", None)],
        ..change()
    }
}

/// Rows of two persons, of both sorts.
pub(super) fn rows() -> Vec<(DayKey, DayRow)> {
    let of = |name: &str| DayKey {
        tenant: tenant(),
        person: person(name),
        day: Day::parse("2026-11-20").unwrap(),
    };
    let entry = |second, because, actor: Option<&str>| {
        DayRow::Entry(Entry {
            key: entry_key(second),
            reason: EntryReason { kind: kind("item_published"), because },
            subject: subject("item:1"),
            actor: actor.map(|name| person(name).into()),
            kept: if actor.is_some() { kept_fields() } else { KeptFields::new() },
        })
    };
    let mark = |place| DayRow::Mark(window().owed.swap_remove(place).mark);
    let list = KeyList::new(vec![entry_key(1), entry_key(2)]);
    let mut listed = window().owed.swap_remove(2).mark;
    (listed.covers, listed.list) = (Vec::new(), Some(list.id()));
    vec![
        (of("ann"), entry(1, AudienceMatch::Follows(subject("maker:7")), Some("bob"))),
        (of("ann"), entry(2, AudienceMatch::Listed(PersonScore(930_000)), None)),
        (of("ann"), mark(2)),
        (of("bob"), entry(1, AudienceMatch::Everyone, None)),
        (of("bob"), mark(10)),
        (of("bob"), DayRow::Mark(listed)),
        (of("bob"), DayRow::List(list)),
    ]
}
