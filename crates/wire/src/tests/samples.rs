//! One sample of each record with something in every field: the goldens are made of these.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use model::{
    Because, Channel, Crowd, Day, Entry, EntryKey, Event, EventKey, Fact, Follow, Kind, Listed, Mark, Millis,
    Person, Place, PlanName, ReadyId, Reason, Row, Score, Slice, State, SubjectRef, Tenant, Value, What, Why,
    badge::{Badge, Unseen},
    delivery::{Delivery, Outcome},
    edition::Edition,
    entry::DayKey,
    erase::{Erasure, Holding, Line, Progress, Receipt},
    habit::Habit,
    hold::Held,
    hook::Hook,
    person::{Act, Owed, PersonRecord, Told, ToldDate, Waiting, Window},
    ready::{Ready, ReadyEntry},
    returns::Sort,
    window::Wanted,
};
use serde_json::json;

use crate::{
    Announcement, Cloud, CloudPerson, Did, Feedback, Inbox, Note, Pending, Quarantined, Returned, TakenUp,
    replay::{Replay, ReplayPart, ReplayState},
};

pub(super) fn at(text: &str) -> Millis {
    Millis::parse(text).unwrap()
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
    let occurred = at("2026-11-20T10:00:00Z").plus(second * 1000);
    EntryKey { occurred, event: EventKey::of(&tenant(), "shop", &second.to_string()) }
}

pub(super) fn event() -> Event {
    let mut state = State::at(
        7,
        [
            ("title", Some(Value::text("Moon \u{1f319}, \"full\""))),
            ("score", Some(Value::Number(0.5))),
            ("published", Some(Value::Flag(true))),
            ("opens", Some(Value::Time(at("2026-11-27T18:00:00Z")))),
            ("maker", Some(Value::Ref(subject("maker:7")))),
            ("tags", Some(Value::Refs(vec![subject("tag:a"), subject("tag:b")]))),
            ("where", Some(Value::Place(Place { lat: 52.5, lon: 13.4 }))),
        ],
    );
    state.merge(&State::at(8, [("image", None)]));
    Event {
        tenant: tenant(),
        key: EventKey::of(&tenant(), "shop", "1"),
        what: "item.published".to_owned(),
        subject: subject("item:1"),
        actor: Some(person("bob")),
        occurred: at("2026-11-20T10:00:00.123Z"),
        persons: vec![
            Listed { person: person("ann"), score: Score(930_000) },
            Listed { person: person("eve"), score: Score(-1) },
        ],
        state,
    }
}

/// With every sort of crowd.
pub(super) fn slice() -> Slice {
    Slice {
        event: Event { persons: Vec::new(), ..event() },
        kinds: vec![kind("item_published"), kind("item_nearby")],
        crowds: vec![
            Crowd::Followers(subject("maker:7")),
            Crowd::Cell(model::place::Cell(0x0871_f1d4_89ff_ffff)),
            Crowd::Everyone,
        ],
        from: Some(b"main\0bob".to_vec()),
    }
}

pub(super) fn pending() -> Pending {
    let thread = Wanted { plan: plan(), key: "thread:5".into(), aim: None };
    let event = Wanted {
        plan: PlanName::new("before_it_opens").unwrap(),
        key: "".into(),
        aim: Some(at("2026-11-27T18:00:00Z")),
    };
    let announcement = |name: &str, rows, kinds: &[&str], windows: &[&Wanted], full| Announcement {
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
    Pending { tenant: tenant(), announcements }
}

pub(super) fn ready() -> Ready {
    let reason = |name: &str, because| Reason { kind: kind(name), because };
    let follows = |target: &str| Because::Follows(subject(target));
    let opening = at("2026-11-20T10:00:01Z");
    Ready {
        id: model::ready::id(&tenant(), &person("ann"), &plan(), "", opening, 0),
        tenant: tenant(),
        person: person("ann"),
        plan: plan(),
        key: "thread:5".into(),
        opening,
        channel: Channel::Email,
        silent: true,
        attempt: 1,
        due: at("2026-11-21T08:00:00Z"),
        expires: at("2026-11-22T08:00:00Z"),
        entries: vec![
            ReadyEntry {
                key: entry_key(1),
                subject: subject("item:1"),
                reasons: vec![
                    reason("item_published", follows("maker:7")),
                    reason("item_nearby", Because::Near),
                    reason("item_suggested", Because::Listed(Score(930_000))),
                ],
                section: 0,
                maybe: false,
            },
            ReadyEntry {
                key: entry_key(2),
                subject: subject("item:2"),
                reasons: vec![reason("item_published", follows("maker:7"))],
                section: 3,
                maybe: true,
            },
            ReadyEntry {
                key: entry_key(3),
                subject: subject("item:3"),
                reasons: vec![
                    reason("item_sold", Because::Named),
                    reason("item_matched", Because::Mutual(person("bob"))),
                    reason("terms_changed", Because::Everyone),
                ],
                section: 1,
                maybe: false,
            },
        ],
        more: vec![0, 2],
        badge: Some(unseen()),
    }
}

/// A window with all that one can have, and one as it opens.
fn open_windows() -> Vec<Window> {
    let opening = at("2026-11-20T10:00:01Z");
    let full = Window {
        plan: plan(),
        plan_hash: u64::MAX - 1,
        key: "thread:5".into(),
        opening,
        due: at("2026-11-21T08:00:00Z"),
        act: Some(Act::Cancel),
        after: Some(ReadyId([9; 16])),
        held: Some(Held::Quiet),
        heard: 3,
        last: at("2026-11-20T10:07:00Z"),
        hour: Some(21),
        aim: Some(at("2026-11-27T18:00:00Z")),
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

/// A record with every sort of mark.
pub(super) fn window() -> PersonRecord {
    let id = ReadyId([7; 16]);
    let whats = [
        What::Taken(id),
        What::Returned { ready: id, maybe: true },
        What::Left { ready: id, why: Why::NoLongerTrue },
        What::Ended(Why::Unfollowed),
        What::Ended(Why::Muted),
        What::Ended(Why::MovedAway),
        What::Ended(Why::ToldBefore),
        What::Ended(Why::TooFew),
        What::Ended(Why::QuietHours),
        What::Ended(Why::SeesItself),
        What::Ended(Why::OverCap),
        What::Ended(Why::Cancelled),
        What::Ended(Why::Bounced),
        What::Ended(Why::BouncedSoftly),
        What::Ended(Why::Complained),
        What::Carried(id),
        What::Read,
        What::Cleared,
    ];
    let owed = |(i, what): (usize, What)| Owed {
        day: Day::parse("2026-11-20").unwrap(),
        mark: Mark::new(
            [Some(Channel::Email), None, Some(Channel::Hook(Hook::Chat)), None][i % 4],
            what,
            vec![entry_key(1), entry_key(2)],
            at("2026-11-21T08:00:00Z"),
        ),
    };
    PersonRecord {
        windows: open_windows(),
        owed: whats.into_iter().enumerate().map(owed).collect(),
        waiting: vec![Waiting { at: at("2026-11-21T09:00:00Z"), ready: ready() }],
        last_opening: at("2026-11-20T10:00:01Z"),
        told_on: BTreeMap::from([(plan(), ToldDate::new(20_777, "thread:5"))]),
        told: vec![Told {
            plan: plan(),
            key: "thread:5".into(),
            at: vec![at("2026-11-20T09:00:00Z"), at("2026-11-20T09:30:00Z")],
            heard: at("2026-11-20T09:29:00Z"),
            row: 2,
            until: at("2026-11-20T21:30:00Z"),
        }],
        counted: BTreeMap::from([(
            "few".into(),
            vec![at("2026-11-20T09:00:00Z"), at("2026-11-20T09:30:00Z")],
        )]),
        seen: BTreeMap::from([
            ("app".into(), at("2026-11-20T09:45:00Z")),
            ("site".into(), at("2026-11-19T20:00:00Z")),
        ]),
        habit: Habit::of([(7, 12), (21, 3)]),
        badge: Some(Badge {
            plan: plan(),
            unseen: unseen(),
            told: at("2026-11-20T09:00:00Z"),
            due: Some(at("2026-11-20T09:50:05Z")),
        }),
        rows: BTreeMap::from([(Day::parse("2026-11-20").unwrap(), 12)]),
        keep_until: at("2026-12-01T00:00:00Z"),
    }
}

fn unseen() -> Unseen {
    let days = ["2026-11-19", "2026-11-20"].map(|day| Day::parse(day).unwrap()).into();
    Unseen { days, since: at("2026-11-19T18:00:00Z") }
}

fn by_hand(act: Act, key: Option<Arc<str>>) -> Inbox {
    let at = at("2026-11-20T12:00:00Z");
    Inbox::ByHand { tenant: tenant(), person: person("ann"), act, plan: plan(), key, at }
}

/// One of each, and each outcome; the first is the golden's.
pub(super) fn inboxes() -> Vec<(&'static str, Inbox)> {
    let delivery = |outcome| {
        Inbox::Delivery(Box::new(Delivery {
            ready: ready().id,
            tenant: tenant(),
            person: person("ann"),
            plan: plan(),
            key: "thread:5".into(),
            channel: Channel::Email,
            attempt: 1,
            at: at("2026-11-21T08:00:02Z"),
            outcome,
        }))
    };
    let left = vec![(entry_key(1), Why::NoLongerTrue), (entry_key(2), Why::ToldElsewhere)];
    let feedback = |what| {
        Inbox::Feedback(Feedback {
            tenant: tenant(),
            person: person("ann"),
            what,
            keys: vec![entry_key(1), entry_key(2)],
            at: at("2026-11-20T12:00:00Z"),
        })
    };
    vec![
        (
            "follow",
            Inbox::Fact(Fact::Follow(Follow {
                tenant: tenant(),
                person: person("ann"),
                target: subject("maker:7"),
                version: 3,
                on: true,
            })),
        ),
        (
            "profile",
            Inbox::Fact(Fact::Profile {
                tenant: tenant(),
                person: person("ann"),
                state: State::at(4, [("zone", Some(Value::text("Europe/Berlin"))), ("name", None)]),
            }),
        ),
        ("read", feedback(Did::Read)),
        ("cleared", feedback(Did::Cleared)),
        ("sent", delivery(Outcome::Sent { left: left.clone() })),
        ("nothing", delivery(Outcome::Nothing { left: left.clone() })),
        ("refused", delivery(Outcome::Refused { left: left.clone() })),
        ("unknown", delivery(Outcome::Unknown { back: vec![entry_key(3)], left })),
        ("returned", delivery(Outcome::Returned { back: vec![entry_key(3)] })),
        ("release", by_hand(Act::Release, None)),
        ("cancel", by_hand(Act::Cancel, Some("thread:5".into()))),
        (
            "seen",
            Inbox::Seen {
                tenant: tenant(),
                person: person("ann"),
                surface: "app".into(),
                at: at("2026-11-20T12:00:00Z"),
            },
        ),
        ("erased", Inbox::Erased { tenant: tenant(), person: person("ann"), at: at("2026-11-20T12:00:00Z") }),
        ("deferred", delivery(Outcome::Deferred { until: at("2026-11-21T09:00:00Z"), ready: ready() })),
    ]
}

pub(super) fn returned() -> Returned {
    Returned {
        tenant: tenant(),
        person: person("ann"),
        plan: plan(),
        stream: "offers".into(),
        channel: Channel::Email,
        ready: ReadyId([7; 16]),
        what: Sort::Soft,
        code: "4.2.2".to_owned(),
        sent: at("2026-11-21T08:00:00Z"),
        at: at("2026-11-21T08:03:20Z"),
    }
}

pub(crate) fn erasure() -> Erasure {
    let line = |holding, stays: Option<&str>, until| Line {
        holding,
        removed: 3,
        stays: stays.map(str::to_owned),
        until,
    };
    let progress = Progress::Done(Receipt {
        lines: vec![
            line(Holding::Days, None, None),
            line(
                Holding::Changes,
                Some("the log cannot take single records away"),
                Some(at("2026-12-05T09:00:00Z")),
            ),
        ],
    });
    Erasure {
        tenant: tenant(),
        person: person("ann"),
        asked: at("2026-11-21T09:00:00Z"),
        at: at("2026-11-21T09:00:04Z"),
        progress,
    }
}

pub(crate) fn replay() -> Replay {
    Replay {
        id: "2026-11-21T090000-4f1c".to_owned(),
        by: "ann@desk".to_owned(),
        began: at("2026-11-21T09:00:00Z"),
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
        at: at("2026-11-21T09:00:01.500Z"),
    }
}

pub(super) fn note() -> Note {
    let edition = Edition { number: 4, hash: 0xF00D_0000_0000_0007 };
    Note {
        house: "7c0ffee1".to_owned(),
        catalogue: Some(TakenUp { edition, name: "gallery".to_owned() }),
        at: at("2026-11-21T09:00:00Z"),
    }
}

pub(super) fn quarantined() -> Quarantined {
    Quarantined {
        topic: "changes".to_owned(),
        partition: 3,
        offset: 4_711,
        appended: at("2026-11-20T10:00:00Z"),
        key: b"main\0item:1".to_vec(),
        value: Some(vec![0, 1, 0xC3, 0xFF]),
        headers: vec![("ce_id".to_owned(), b"7".to_vec()), ("trace".to_owned(), vec![0xFF])],
        cut: false,
        reason: "/time: not a time as in 2026-11-21T09:00:00Z (RFC 3339)".to_owned(),
        at: at("2026-11-20T10:00:05Z"),
        room: "ingest".to_owned(),
    }
}

pub(super) fn change() -> Cloud {
    let data = json!({
        "title": "Moon", "count": 3, "score": 0.5, "published": true, "image": null,
        "tags": ["tag:a", "tag:b"], "where": {"lat": 52.5, "lon": 13.4},
    });
    Cloud {
        id: "1".to_owned(),
        source: "shop".to_owned(),
        what: "item.published".to_owned(),
        subject: Some("item:1".to_owned()),
        subjects: Vec::new(),
        persons: Vec::new(),
        time: Some(at("2026-11-20T10:00:00.123Z")),
        data: data.as_object().unwrap().clone(),
        actor: Some("bob".to_owned()),
        version: Some(7),
    }
}

/// Several subjects for several persons.
pub(super) fn change_of_many() -> Cloud {
    let listed = |person: &str, score| CloudPerson { person: person.to_owned(), score };
    Cloud {
        subject: None,
        subjects: vec!["item:1".to_owned(), "item:2".to_owned()],
        persons: vec![listed("ann", Some(0.93)), listed("bob", None)],
        ..change()
    }
}

/// Rows of two persons, of both sorts.
pub(super) fn rows() -> Vec<(DayKey, Row)> {
    let of = |name: &str| DayKey {
        tenant: tenant(),
        person: person(name),
        day: Day::parse("2026-11-20").unwrap(),
    };
    let entry = |second, because, actor: Option<&str>| {
        Row::Entry(Entry {
            key: entry_key(second),
            reason: Reason { kind: kind("item_published"), because },
            subject: subject("item:1"),
            actor: actor.map(person),
        })
    };
    let mark = |place| Row::Mark(window().owed.swap_remove(place).mark);
    vec![
        (of("ann"), entry(1, Because::Follows(subject("maker:7")), Some("bob"))),
        (of("ann"), entry(2, Because::Listed(Score(930_000)), None)),
        (of("ann"), mark(2)),
        (of("bob"), entry(1, Because::Everyone, None)),
        (of("bob"), mark(10)),
    ]
}
