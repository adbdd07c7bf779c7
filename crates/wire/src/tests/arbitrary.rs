//! Any record, for properties.

use std::{fmt::Debug, sync::Arc};

use model::{
    Because, Cell, Channel, Crowd, Day, Entry, EntryKey, Event, EventKey, Fact, Follow, Kind, Listed, Mark,
    Millis, Person, Place, PlanName, ReadyId, Reason, Row, Score, Slice, State, SubjectRef, Tenant, Value,
    What, Why,
    badge::{Badge, Unseen},
    delivery::{Delivery, Outcome},
    entry::DayKey,
    habit::Habit,
    hold::Held,
    person::{Act, Owed, PersonRecord, Told, ToldDate, Waiting, Window},
    ready::{Ready, ReadyEntry},
    returns::Sort,
    window::Wanted,
};
use proptest::{collection::vec, option, prelude::*};
use serde_json::json;

use crate::{Announcement, Cloud, CloudPerson, Did, Feedback, Inbox, Pending, Quarantined, Returned};

fn name() -> impl Strategy<Value = String> {
    "[a-zä-ü0-9:_/.\u{4e00}-\u{4e10}][ a-z0-9:]{0,20}[a-z0-9]"
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![any::<f64>().prop_filter("finite", |number| number.is_finite()), Just(0.0), Just(-0.5)]
}

pub(super) fn tenant() -> impl Strategy<Value = Tenant> {
    name().prop_map(|name| Tenant::new(&name).unwrap())
}

pub(super) fn person() -> impl Strategy<Value = Person> {
    name().prop_map(|name| Person::new(&name).unwrap())
}

pub(super) fn subject() -> impl Strategy<Value = SubjectRef> {
    ("[a-z]{1,8}", name()).prop_map(|(kind, id)| SubjectRef::new(&format!("{kind}:{id}")).unwrap())
}

fn plan() -> impl Strategy<Value = PlanName> {
    name().prop_map(|name| PlanName::new(&name).unwrap())
}

fn kind() -> impl Strategy<Value = Kind> {
    name().prop_map(|name| Kind::new(&name).unwrap())
}

fn text() -> impl Strategy<Value = Arc<str>> {
    any::<String>().prop_map(Into::into)
}

fn at() -> impl Strategy<Value = Millis> {
    any::<i64>().prop_map(Millis)
}

fn entry_key() -> impl Strategy<Value = EntryKey> {
    (at(), any::<[u8; 16]>()).prop_map(|(occurred, event)| EntryKey { occurred, event: EventKey(event) })
}

fn ready_id() -> impl Strategy<Value = ReadyId> {
    any::<[u8; 16]>().prop_map(ReadyId)
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        text().prop_map(Value::Text),
        number().prop_map(Value::Number),
        any::<bool>().prop_map(Value::Flag),
        at().prop_map(Value::Time),
        subject().prop_map(Value::Ref),
        vec(subject(), 0..4).prop_map(Value::Refs),
        (number(), number()).prop_map(|(lat, lon)| Value::Place(Place { lat, lon })),
    ]
}

fn state() -> impl Strategy<Value = State> {
    let cell = (any::<i64>(), option::of(value())).prop_map(|(version, value)| Cell { version, value });
    prop::collection::btree_map(text(), cell, 0..5).prop_map(|cells| State { cells })
}

pub(super) fn event() -> impl Strategy<Value = Event> {
    let ids = (tenant(), any::<[u8; 16]>(), any::<String>());
    let listed = (person(), score()).prop_map(|(person, score)| Listed { person, score });
    (ids, subject(), option::of(person()), at(), vec(listed, 0..4), state()).prop_map(
        |((tenant, key, what), subject, actor, occurred, persons, state)| Event {
            tenant,
            key: EventKey(key),
            what,
            subject,
            actor,
            occurred,
            persons,
            state,
        },
    )
}

fn score() -> impl Strategy<Value = Score> {
    any::<i64>().prop_map(Score)
}

pub(super) fn slice() -> impl Strategy<Value = Slice> {
    let degrees = (-90.0..=90.0, -180.0..=180.0);
    let cell = (degrees, 0..3_usize).prop_map(|((lat, lon), size)| Place { lat, lon }.cells()[size]);
    let crowd =
        prop_oneof![subject().prop_map(Crowd::Followers), cell.prop_map(Crowd::Cell), Just(Crowd::Everyone),];
    let from = option::of(vec(any::<u8>(), 0..40));
    (event(), vec(kind(), 0..3), vec(crowd, 0..4), from).prop_map(|(event, kinds, crowds, from)| Slice {
        event,
        kinds,
        crowds,
        from,
    })
}

fn reason() -> impl Strategy<Value = Reason> {
    let because = prop_oneof![
        subject().prop_map(Because::Follows),
        Just(Because::Near),
        Just(Because::Named),
        score().prop_map(Because::Listed),
        person().prop_map(Because::Mutual),
        Just(Because::Everyone),
    ];
    (kind(), because).prop_map(|(kind, because)| Reason { kind, because })
}

pub(super) fn row() -> impl Strategy<Value = (DayKey, Row)> {
    let of = (tenant(), person(), any::<i32>());
    let of = of.prop_map(|(tenant, person, day)| DayKey { tenant, person, day: Day(day) });
    let entry = (entry_key(), reason(), subject(), option::of(person()))
        .prop_map(|(key, reason, subject, actor)| Row::Entry(Entry { key, reason, subject, actor }));
    (of, prop_oneof![entry, mark().prop_map(Row::Mark)])
}

pub(super) fn pending() -> impl Strategy<Value = Pending> {
    let key = prop_oneof![Just("".into()), text()];
    let wanted = (plan(), key, option::of(at())).prop_map(|(plan, key, aim)| Wanted { plan, key, aim });
    // A few of each, so that several announcements name the same ones.
    let announcements = (vec(kind(), 0..3), vec(wanted, 0..3)).prop_flat_map(|(kinds, windows)| {
        let (kinds, windows) = (some(kinds), some(windows));
        let announcement = (person(), any::<i32>(), any::<u32>(), kinds, windows, any::<bool>()).prop_map(
            |(person, day, rows, kinds, windows, full)| {
                let day = Day(day);
                Announcement { person, day, rows, kinds, windows, full }
            },
        );
        vec(announcement, 0..6)
    });
    (tenant(), announcements).prop_map(|(tenant, announcements)| Pending { tenant, announcements })
}

/// Some of these.
fn some<T: Clone + Debug + 'static>(all: Vec<T>) -> impl Strategy<Value = Vec<T>> {
    let many = 0..=all.len();
    prop::sample::subsequence(all, many)
}

pub(super) fn ready() -> impl Strategy<Value = Ready> {
    let entry = (entry_key(), subject(), vec(reason(), 0..4), any::<u16>(), any::<bool>()).prop_map(
        |(key, subject, reasons, section, maybe)| ReadyEntry { key, subject, reasons, section, maybe },
    );
    let whose = (tenant(), person(), plan(), text());
    let how = (channel(), any::<bool>(), any::<u16>(), option::of(unseen()));
    (ready_id(), whose, (at(), at(), at()), how, (vec(entry, 0..4), vec(any::<u16>(), 0..3))).prop_map(
        |(
            id,
            (tenant, person, plan, key),
            (opening, due, expires),
            (channel, silent, attempt, badge),
            (entries, more),
        )| {
            Ready {
                id,
                tenant,
                person,
                plan,
                key,
                opening,
                channel,
                silent,
                attempt,
                due,
                expires,
                entries,
                more,
                badge,
            }
        },
    )
}

pub(super) fn returned() -> impl Strategy<Value = Returned> {
    let whose = (tenant(), person(), plan(), text(), ready_id());
    let what = (prop::sample::select(Sort::ALL.to_vec()), any::<String>(), at(), at());
    (whose, what).prop_map(|((tenant, person, plan, stream, ready), (what, code, sent, at))| {
        let channel = Channel::Email;
        Returned { tenant, person, plan, stream, channel, ready, what, code, sent, at }
    })
}

fn why() -> impl Strategy<Value = Why> {
    prop::sample::select(Why::ALL.to_vec())
}

fn channel() -> impl Strategy<Value = Channel> {
    prop::sample::select(Channel::ALL.to_vec())
}

fn mark() -> impl Strategy<Value = Mark> {
    let what = prop_oneof![
        ready_id().prop_map(What::Taken),
        (ready_id(), any::<bool>()).prop_map(|(ready, maybe)| What::Returned { ready, maybe }),
        (ready_id(), why()).prop_map(|(ready, why)| What::Left { ready, why }),
        why().prop_map(What::Ended),
        ready_id().prop_map(What::Carried),
        Just(What::Read),
        Just(What::Cleared),
    ];
    (option::of(channel()), what, vec(entry_key(), 0..5), at())
        .prop_map(|(channel, what, covers, at)| Mark::new(channel, what, covers, at))
}

fn act() -> impl Strategy<Value = Option<Act>> {
    option::of(prop::sample::select(vec![Act::Release, Act::Cancel]))
}

fn open_window() -> impl Strategy<Value = Window> {
    let days = prop::collection::btree_set(any::<i32>().prop_map(Day), 0..5);
    let held = option::of(prop::sample::select(vec![Held::Online, Held::Quiet, Held::Cap]));
    let rest = (option::of(ready_id()), held, any::<u32>(), option::of(at()), option::of(entry_key()), days);
    // Often nothing came since it opened.
    let instants = (at(), at(), option::of(at()), option::of(0_u8..24));
    (plan(), any::<u64>(), text(), instants, act(), rest).prop_map(
        |(plan, plan_hash, key, (opening, due, last, hour), act, (after, held, heard, aim, first, days))| {
            Window {
                plan,
                plan_hash,
                key,
                opening,
                due,
                act,
                after,
                held,
                heard,
                last: last.unwrap_or(opening),
                hour,
                aim,
                first,
                days,
            }
        },
    )
}

fn told() -> impl Strategy<Value = Told> {
    (plan(), text(), vec(at(), 0..4), at(), any::<u8>(), at())
        .prop_map(|(plan, key, at, heard, row, until)| Told { plan, key, at, heard, row, until })
}

fn unseen() -> impl Strategy<Value = Unseen> {
    let days = prop::collection::btree_set(any::<i32>().prop_map(Day), 0..5);
    (days, at()).prop_map(|(days, since)| Unseen { days, since })
}

fn badge() -> impl Strategy<Value = Badge> {
    (plan(), unseen(), at(), option::of(at())).prop_map(|(plan, unseen, told, due)| Badge {
        plan,
        unseen,
        told,
        due,
    })
}

fn told_date() -> impl Strategy<Value = ToldDate> {
    (any::<i32>(), prop::collection::btree_set(any::<i64>(), 0..3))
        .prop_map(|(date, keys)| ToldDate { date, keys })
}

pub(super) fn window() -> impl Strategy<Value = PersonRecord> {
    let owed = (any::<i32>(), mark()).prop_map(|(day, mark)| Owed { day: Day(day), mark });
    let waiting = (at(), ready()).prop_map(|(at, ready)| Waiting { at, ready });
    let dates = prop::collection::btree_map(plan(), told_date(), 0..3);
    let counted = prop::collection::btree_map(text(), vec(at(), 0..4), 0..3);
    let seen = prop::collection::btree_map(text(), at(), 0..3);
    let habit = vec((0_u8..24, any::<u8>()), 0..3).prop_map(Habit::of);
    let past = (dates, vec(told(), 0..3), counted, seen, habit, option::of(badge()));
    let rows = prop::collection::btree_map(any::<i32>().prop_map(Day), any::<u32>(), 0..3);
    (vec(open_window(), 0..3), vec(owed, 0..3), vec(waiting, 0..2), (at(), at()), past, rows).prop_map(
        |(windows, owed, waiting, (last_opening, keep_until), past, rows)| {
            let (told_on, told, counted, seen, habit, badge) = past;
            PersonRecord {
                windows,
                owed,
                waiting,
                last_opening,
                told_on,
                told,
                counted,
                seen,
                habit,
                badge,
                rows,
                keep_until,
            }
        },
    )
}

fn outcome() -> impl Strategy<Value = Outcome> {
    let left = || vec((entry_key(), why()), 0..3);
    prop_oneof![
        left().prop_map(|left| Outcome::Sent { left }),
        left().prop_map(|left| Outcome::Nothing { left }),
        left().prop_map(|left| Outcome::Refused { left }),
        (vec(entry_key(), 0..3), left()).prop_map(|(back, left)| Outcome::Unknown { back, left }),
        vec(entry_key(), 0..3).prop_map(|back| Outcome::Returned { back }),
        (at(), ready()).prop_map(|(until, ready)| Outcome::Deferred { until, ready }),
    ]
}

pub(super) fn inbox() -> impl Strategy<Value = Inbox> {
    let follow = (tenant(), person(), subject(), any::<i64>(), any::<bool>()).prop_map(
        |(tenant, person, target, version, on)| {
            Inbox::Fact(Fact::Follow(Follow { tenant, person, target, version, on }))
        },
    );
    let profile = (tenant(), person(), state())
        .prop_map(|(tenant, person, state)| Inbox::Fact(Fact::Profile { tenant, person, state }));
    let did = prop_oneof![Just(Did::Read), Just(Did::Cleared)];
    let feedback = (tenant(), person(), did, vec(entry_key(), 0..5), at()).prop_map(
        |(tenant, person, what, keys, at)| Inbox::Feedback(Feedback { tenant, person, what, keys, at }),
    );
    let whose = (tenant(), person(), plan(), text());
    let delivery = (ready_id(), whose, channel(), any::<u16>(), at(), outcome()).prop_map(
        |(ready, (tenant, person, plan, key), channel, attempt, at, outcome)| {
            Inbox::Delivery(Box::new(Delivery {
                ready,
                tenant,
                person,
                plan,
                key,
                channel,
                attempt,
                at,
                outcome,
            }))
        },
    );
    let act = prop::sample::select(vec![Act::Release, Act::Cancel]);
    let by_hand = (tenant(), person(), act, plan(), option::of(text()), at()).prop_map(
        |(tenant, person, act, plan, key, at)| Inbox::ByHand { tenant, person, act, plan, key, at },
    );
    let erased =
        (tenant(), person(), at()).prop_map(|(tenant, person, at)| Inbox::Erased { tenant, person, at });
    let seen = (tenant(), person(), text(), at()).prop_map(|(tenant, person, surface, at)| Inbox::Seen {
        tenant,
        person,
        surface,
        at,
    });
    prop_oneof![follow, profile, feedback, delivery, by_hand, seen, erased]
}

pub(super) fn quarantined() -> impl Strategy<Value = Quarantined> {
    let bytes = || vec(any::<u8>(), 0..40);
    let place = (any::<String>(), any::<u32>(), any::<u64>(), at());
    let headers = vec((any::<String>(), bytes()), 0..4);
    (place, bytes(), option::of(bytes()), headers, any::<bool>(), any::<String>(), at()).prop_map(
        |((topic, partition, offset, appended), key, value, headers, cut, reason, at)| Quarantined {
            topic,
            partition,
            offset,
            appended,
            key,
            value,
            headers,
            cut,
            reason,
            at,
            room: "room".to_owned(),
        },
    )
}

pub(super) fn change() -> impl Strategy<Value = Cloud> {
    let field = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(|flag| json!(flag)),
        any::<i64>().prop_map(|whole| json!(whole)),
        number().prop_map(|number| json!(number)),
        any::<String>().prop_map(|text| json!(text)),
        vec(any::<String>(), 0..3).prop_map(|texts| json!(texts)),
        (number(), number()).prop_map(|(lat, lon)| json!({"lat": lat, "lon": lon})),
    ];
    let data = prop::collection::btree_map(any::<String>(), field, 0..4);
    // One subject, several, or none.
    let about = prop_oneof![
        option::of(any::<String>()).prop_map(|subject| (subject, Vec::new())),
        vec(name(), 1..4).prop_map(|subjects| (None, subjects)),
    ];
    let listed = (name(), option::of(number())).prop_map(|(person, score)| CloudPerson { person, score });
    let ids = (name(), name(), name(), about, vec(listed, 0..4));
    (ids, option::of(at()), option::of(any::<String>()), option::of(any::<i64>()), data).prop_map(
        |((id, source, what, (subject, subjects), persons), time, actor, version, data)| Cloud {
            id,
            source,
            what,
            subject,
            subjects,
            persons,
            time,
            data: data.into_iter().collect(),
            actor,
            version,
        },
    )
}
