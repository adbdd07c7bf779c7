//! Any record, for properties.

use std::{fmt::Debug, sync::Arc};

use model::{
    Actor, ActorId, AudienceMatch, Channel, Crowd, Day, DayKeyList, DayRow, EndReason, Entry, EntryKey,
    EntryReason, Event, EventKey, Fact, FollowFact, GeoPoint, KeptFields, KeyList, KeyListId, Kind,
    ListedPerson, Mark, MarkAction, Person, PersonScore, PlanName, ReadyId, Slice, SubjectRef, Tenant,
    UtcMillis, Value, ValueCell, VersionedState,
    actor::AnonymousHash,
    closing_dates::ClosingNumber,
    delivery::{Delivery, DeliveryOutcome},
    entry::DayKey,
    habit::VisitHabit,
    person::{
        Act, DeferredReady, HoldCause, MessageHistory, OwedMark, PersonBadge, PersonRecord, ToldClosing,
        Window,
    },
    ready::{Ready, ReadyEntry},
    returns::ReturnSort,
    window::WindowTarget,
};
use proptest::{collection::vec, option, prelude::*};
use serde_json::json;

use crate::{
    AnnouncementBatch, CloudChange, CloudPerson, DayAnnouncement, Feedback, FeedbackAction, InboxItem,
    QuarantineCause, QuarantinedRecord, ReturnNotice,
};

fn any_name() -> impl Strategy<Value = String> {
    "[a-zä-ü0-9:_/.\u{4e00}-\u{4e10}][ a-z0-9:]{0,20}[a-z0-9]"
}

fn any_number() -> impl Strategy<Value = f64> {
    prop_oneof![any::<f64>().prop_filter("finite", |number| number.is_finite()), Just(0.0), Just(-0.5)]
}

pub(super) fn any_tenant() -> impl Strategy<Value = Tenant> {
    any_name().prop_map(|name| Tenant::new(&name).unwrap())
}

pub(super) fn any_person() -> impl Strategy<Value = Person> {
    any_name().prop_map(|name| Person::new(&name).unwrap())
}

pub(super) fn any_subject() -> impl Strategy<Value = SubjectRef> {
    ("[a-z]{1,8}", any_name()).prop_map(|(kind, id)| SubjectRef::new(&format!("{kind}:{id}")).unwrap())
}

fn any_plan() -> impl Strategy<Value = PlanName> {
    any_name().prop_map(|name| PlanName::new(&name).unwrap())
}

fn any_kind() -> impl Strategy<Value = Kind> {
    any_name().prop_map(|name| Kind::new(&name).unwrap())
}

fn any_text() -> impl Strategy<Value = Arc<str>> {
    any::<String>().prop_map(Into::into)
}

fn any_instant() -> impl Strategy<Value = UtcMillis> {
    any::<i64>().prop_map(UtcMillis)
}

fn any_entry_key() -> impl Strategy<Value = EntryKey> {
    (any_instant(), any::<[u8; 16]>())
        .prop_map(|(occurred, event)| EntryKey { occurred, event: EventKey(event) })
}

fn any_ready_id() -> impl Strategy<Value = ReadyId> {
    any::<[u8; 16]>().prop_map(ReadyId)
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any_text().prop_map(Value::Text),
        any_number().prop_map(Value::Number),
        any::<bool>().prop_map(Value::Flag),
        any_instant().prop_map(Value::Time),
        any_subject().prop_map(Value::Ref),
        vec(any_subject(), 0..4).prop_map(Value::Refs),
        (any_number(), any_number()).prop_map(|(lat, lon)| Value::Place(GeoPoint { lat, lon })),
    ]
}

fn any_state() -> impl Strategy<Value = VersionedState> {
    let cell =
        (any::<i64>(), option::of(any_value())).prop_map(|(version, value)| ValueCell { version, value });
    prop::collection::btree_map(any_text(), cell, 0..5).prop_map(|cells| VersionedState { cells })
}

pub(super) fn any_event() -> impl Strategy<Value = Event> {
    let ids = (any_tenant(), any::<[u8; 16]>(), any::<String>());
    let listed = (any_person(), any_score()).prop_map(|(person, score)| ListedPerson { person, score });
    (ids, any_subject(), option::of(any_actor()), any_instant(), vec(listed, 0..4), any_state()).prop_map(
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

fn any_actor() -> impl Strategy<Value = Actor> {
    let id = prop_oneof![
        any_person().prop_map(ActorId::Person),
        any::<[u8; 16]>().prop_map(|hash| ActorId::Anonymous(AnonymousHash(hash))),
        Just(ActorId::System),
    ];
    (id, option::of(any_text())).prop_map(|(id, name)| Actor { id, name })
}

fn any_kept() -> impl Strategy<Value = KeptFields> {
    let value = prop_oneof![
        any_text().prop_map(|text| Value::from_text(&text)),
        any_number().prop_map(Value::Number),
        any::<bool>().prop_map(Value::Flag),
        any_instant().prop_map(Value::Time),
    ];
    prop::collection::btree_map(any_text(), value, 0..3)
}

fn any_list_id() -> impl Strategy<Value = KeyListId> {
    any::<[u8; 16]>().prop_map(KeyListId)
}

/// The others of a bundle, which are named or listed.
fn any_others() -> impl Strategy<Value = (Vec<EntryKey>, Vec<DayKeyList>)> {
    let list = (any::<i32>(), any_list_id(), any::<u32>()).prop_map(|(day, id, count)| DayKeyList {
        day: Day(day),
        id,
        count,
    });
    prop_oneof![
        vec(any_entry_key(), 0..3).prop_map(|others| (others, Vec::new())),
        vec(list, 1..3).prop_map(|lists| (Vec::new(), lists)),
    ]
}

fn any_score() -> impl Strategy<Value = PersonScore> {
    any::<i64>().prop_map(PersonScore)
}

pub(super) fn any_slice() -> impl Strategy<Value = Slice> {
    let degrees = (-90.0..=90.0, -180.0..=180.0);
    let cell = (degrees, 0..3_usize).prop_map(|((lat, lon), size)| GeoPoint { lat, lon }.cells()[size]);
    let crowd = prop_oneof![
        any_subject().prop_map(Crowd::Followers),
        cell.prop_map(Crowd::Cell),
        Just(Crowd::Everyone),
    ];
    let from = option::of(vec(any::<u8>(), 0..40));
    (any_event(), vec(any_kind(), 0..3), any_kept(), vec(crowd, 0..4), from)
        .prop_map(|(event, kinds, kept, crowds, from)| Slice { event, kinds, kept, crowds, from })
}

fn any_reason() -> impl Strategy<Value = EntryReason> {
    let because = prop_oneof![
        any_subject().prop_map(AudienceMatch::Follows),
        Just(AudienceMatch::Near),
        Just(AudienceMatch::Named),
        any_score().prop_map(AudienceMatch::Listed),
        any_person().prop_map(AudienceMatch::Mutual),
        Just(AudienceMatch::Everyone),
    ];
    (any_kind(), because).prop_map(|(kind, because)| EntryReason { kind, because })
}

pub(super) fn any_row() -> impl Strategy<Value = (DayKey, DayRow)> {
    let of = (any_tenant(), any_person(), any::<i32>());
    let of = of.prop_map(|(tenant, person, day)| DayKey { tenant, person, day: Day(day) });
    let entry = (any_entry_key(), any_reason(), any_subject(), option::of(any_actor()), any_kept()).prop_map(
        |(key, reason, subject, actor, kept)| DayRow::Entry(Entry { key, reason, subject, actor, kept }),
    );
    let list = vec(any_entry_key(), 0..5).prop_map(|keys| DayRow::List(KeyList::new(keys)));
    (of, prop_oneof![entry, any_mark().prop_map(DayRow::Mark), list])
}

pub(super) fn any_batch() -> impl Strategy<Value = AnnouncementBatch> {
    let key = prop_oneof![Just("".into()), any_text()];
    let wanted = (any_plan(), key, option::of(any_instant())).prop_map(|(plan, key, aim)| WindowTarget {
        plan,
        key,
        aim,
    });
    // A few of each, so that several announcements name the same ones.
    let announcements = (vec(any_kind(), 0..3), vec(wanted, 0..3)).prop_flat_map(|(kinds, windows)| {
        let (kinds, windows) = (some_of(kinds), some_of(windows));
        let announcement = (any_person(), any::<i32>(), any::<u32>(), kinds, windows, any::<bool>())
            .prop_map(|(person, day, rows, kinds, windows, full)| {
                let day = Day(day);
                DayAnnouncement { person, day, rows, kinds, windows, full }
            });
        vec(announcement, 0..6)
    });
    (any_tenant(), announcements)
        .prop_map(|(tenant, announcements)| AnnouncementBatch { tenant, announcements })
}

/// Some of these.
fn some_of<T: Clone + Debug + 'static>(all: Vec<T>) -> impl Strategy<Value = Vec<T>> {
    let many = 0..=all.len();
    prop::sample::subsequence(all, many)
}

pub(super) fn any_ready() -> impl Strategy<Value = Ready> {
    let what = (any_entry_key(), any_subject(), vec(any_reason(), 0..4));
    let words = (option::of(any_actor()), any_kept(), any_others());
    let entry = (what, any::<u16>(), any::<bool>(), words).prop_map(
        |((key, subject, reasons), section, maybe, (actor, kept, (others, lists)))| ReadyEntry {
            section,
            maybe,
            actor,
            kept,
            others,
            lists,
            ..ReadyEntry::new(key, subject, reasons)
        },
    );
    let whose = (any_tenant(), any_person(), any_plan(), any_text());
    let how = (any_channel(), any::<bool>(), any::<u16>(), any::<bool>());
    (
        any_ready_id(),
        whose,
        (any_instant(), any_instant(), any_instant()),
        how,
        (vec(entry, 0..4), vec(any::<u16>(), 0..3)),
    )
        .prop_map(
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
                    renews: None,
                }
            },
        )
}

pub(super) fn any_return() -> impl Strategy<Value = ReturnNotice> {
    let whose = (any_tenant(), any_person(), any_plan(), any_text(), any_ready_id());
    let what =
        (prop::sample::select(ReturnSort::ALL.to_vec()), any::<String>(), any_instant(), any_instant());
    (whose, what).prop_map(|((tenant, person, plan, stream, ready), (what, code, sent, at))| {
        let channel = Channel::Email;
        ReturnNotice { tenant, person, plan, stream, channel, ready, what, code, sent, at }
    })
}

fn any_why() -> impl Strategy<Value = EndReason> {
    prop::sample::select(EndReason::ALL.to_vec())
}

fn any_channel() -> impl Strategy<Value = Channel> {
    prop::sample::select(Channel::ALL.to_vec())
}

fn any_mark() -> impl Strategy<Value = Mark> {
    let what = prop_oneof![
        any_ready_id().prop_map(MarkAction::Taken),
        (any_ready_id(), any::<bool>()).prop_map(|(ready, maybe)| MarkAction::Returned { ready, maybe }),
        (any_ready_id(), any_why()).prop_map(|(ready, why)| MarkAction::Left { ready, why }),
        any_why().prop_map(MarkAction::Ended),
        any_ready_id().prop_map(MarkAction::Carried),
        prop::sample::select(vec![
            MarkAction::Read,
            MarkAction::Cleared,
            MarkAction::Seen,
            MarkAction::Unread,
            MarkAction::Restored,
            MarkAction::Saved,
            MarkAction::Unsaved,
            MarkAction::Withdrawn,
        ]),
        any_instant().prop_map(MarkAction::Snoozed),
    ];
    let covers = prop_oneof![
        vec(any_entry_key(), 0..5).prop_map(|covers| (covers, None)),
        any_list_id().prop_map(|list| (Vec::new(), Some(list))),
    ];
    (option::of(any_channel()), what, covers, any_instant())
        .prop_map(|(channel, what, (covers, list), at)| Mark { list, ..Mark::new(channel, what, covers, at) })
}

fn any_act() -> impl Strategy<Value = Option<Act>> {
    option::of(prop::sample::select(vec![Act::Release, Act::Cancel]))
}

fn any_open_window() -> impl Strategy<Value = Window> {
    let days = prop::collection::btree_set(any::<i32>().prop_map(Day), 0..5);
    let held = option::of(prop::sample::select(vec![HoldCause::Online, HoldCause::Quiet, HoldCause::Cap]));
    let rest = (
        option::of(any_ready_id()),
        held,
        any::<u32>(),
        option::of(any_instant()),
        option::of(any_entry_key()),
        days,
    );
    // Often nothing came since it opened.
    let instants = (any_instant(), any_instant(), option::of(any_instant()), option::of(0_u8..24));
    (any_plan(), any::<u64>(), any_text(), instants, any_act(), rest).prop_map(
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

fn any_told() -> impl Strategy<Value = MessageHistory> {
    (any_plan(), any_text(), vec(any_instant(), 0..4), any_instant(), any::<u8>(), any_instant())
        .prop_map(|(plan, key, at, heard, row, until)| MessageHistory { plan, key, at, heard, row, until })
}

fn any_badge() -> impl Strategy<Value = PersonBadge> {
    (any_plan(), option::of(any_instant())).prop_map(|(plan, due)| PersonBadge { plan, due })
}

fn any_told_date() -> impl Strategy<Value = ToldClosing> {
    (any::<i32>(), prop::collection::btree_set(any::<i64>(), 0..3))
        .prop_map(|(date, keys)| ToldClosing { number: ClosingNumber(date), keys })
}

pub(super) fn any_person_record() -> impl Strategy<Value = PersonRecord> {
    let owed = (any::<i32>(), any_mark()).prop_map(|(day, mark)| OwedMark { day: Day(day), mark });
    let waiting = (any_instant(), any_ready()).prop_map(|(at, ready)| DeferredReady { at, ready });
    let dates = prop::collection::btree_map(any_plan(), any_told_date(), 0..3);
    let counted = prop::collection::btree_map(any_text(), vec(any_instant(), 0..4), 0..3);
    let seen = prop::collection::btree_map(any_text(), any_instant(), 0..3);
    let habit = vec((0_u8..24, any::<u8>()), 0..3).prop_map(VisitHabit::from_visits);
    let past = (dates, vec(any_told(), 0..3), counted, seen, habit, option::of(any_badge()));
    let rows = prop::collection::btree_map(any::<i32>().prop_map(Day), any::<u32>(), 0..3);
    let put_off = prop::collection::btree_map(any::<i32>().prop_map(Day), any_instant(), 0..3);
    (
        vec(any_open_window(), 0..3),
        vec(owed, 0..3),
        vec(waiting, 0..2),
        (any_instant(), any_instant()),
        past,
        (rows, put_off),
    )
        .prop_map(|(windows, owed, waiting, (last_opening, keep_until), past, (rows, put_off))| {
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
                put_off,
                rows,
                traces: Default::default(),
                keep_until,
            }
        })
}

fn any_outcome() -> impl Strategy<Value = DeliveryOutcome> {
    let left = || vec((any_entry_key(), any_why()), 0..3);
    prop_oneof![
        left().prop_map(|left| DeliveryOutcome::Sent { left }),
        left().prop_map(|left| DeliveryOutcome::Nothing { left }),
        left().prop_map(|left| DeliveryOutcome::Refused { left }),
        (vec(any_entry_key(), 0..3), left()).prop_map(|(back, left)| DeliveryOutcome::Unknown { back, left }),
        vec(any_entry_key(), 0..3).prop_map(|back| DeliveryOutcome::Returned { back }),
        (any_instant(), any_ready()).prop_map(|(until, ready)| DeliveryOutcome::Deferred { until, ready }),
    ]
}

pub(super) fn any_inbox_item() -> impl Strategy<Value = InboxItem> {
    let follow = (any_tenant(), any_person(), any_subject(), any::<i64>(), any::<bool>()).prop_map(
        |(tenant, person, target, version, on)| {
            InboxItem::Fact(Fact::Follow(FollowFact { tenant, person, target, version, on }))
        },
    );
    let profile = (any_tenant(), any_person(), any_state())
        .prop_map(|(tenant, person, state)| InboxItem::Fact(Fact::Profile { tenant, person, state }));
    let did = prop_oneof![
        prop::sample::select(vec![
            FeedbackAction::Read,
            FeedbackAction::Cleared,
            FeedbackAction::Seen,
            FeedbackAction::Unread,
            FeedbackAction::Restored,
            FeedbackAction::Saved,
            FeedbackAction::Unsaved,
        ]),
        any_instant().prop_map(FeedbackAction::Snoozed),
    ];
    let feedback = (any_tenant(), any_person(), did, vec(any_entry_key(), 0..5), any_instant()).prop_map(
        |(tenant, person, what, keys, at)| InboxItem::Feedback(Feedback { tenant, person, what, keys, at }),
    );
    let whose = (any_tenant(), any_person(), any_plan(), any_text());
    let delivery = (any_ready_id(), whose, any_channel(), any::<u16>(), any_instant(), any_outcome())
        .prop_map(|(ready, (tenant, person, plan, key), channel, attempt, at, outcome)| {
            InboxItem::Delivery(Box::new(Delivery {
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
        });
    let act = prop::sample::select(vec![Act::Release, Act::Cancel]);
    let by_hand =
        (any_tenant(), any_person(), act, any_plan(), option::of(any_text()), any_instant()).prop_map(
            |(tenant, person, act, plan, key, at)| InboxItem::ByHand { tenant, person, act, plan, key, at },
        );
    let erased = (any_tenant(), any_person(), any_instant())
        .prop_map(|(tenant, person, at)| InboxItem::Erased { tenant, person, at });
    let seen = (any_tenant(), any_person(), any_text(), any_instant())
        .prop_map(|(tenant, person, surface, at)| InboxItem::Seen { tenant, person, surface, at });
    prop_oneof![follow, profile, feedback, delivery, by_hand, seen, erased]
}

pub(super) fn any_quarantined() -> impl Strategy<Value = QuarantinedRecord> {
    let bytes = || vec(any::<u8>(), 0..40);
    let place = (any::<String>(), any::<u32>(), any::<u64>(), any_instant());
    let headers = vec((any::<String>(), bytes()), 0..4);
    (place, bytes(), option::of(bytes()), headers, any::<bool>(), any::<String>(), any_instant()).prop_map(
        |((topic, partition, offset, appended), key, value, headers, cut, reason, at)| QuarantinedRecord {
            topic,
            partition,
            offset,
            appended,
            key,
            value,
            headers,
            cut,
            reason,
            cause: QuarantineCause::Other,
            at,
            room: "room".to_owned(),
        },
    )
}

pub(super) fn any_change() -> impl Strategy<Value = CloudChange> {
    let field = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(|flag| json!(flag)),
        any::<i64>().prop_map(|whole| json!(whole)),
        any_number().prop_map(|number| json!(number)),
        any::<String>().prop_map(|text| json!(text)),
        vec(any::<String>(), 0..3).prop_map(|texts| json!(texts)),
        (any_number(), any_number()).prop_map(|(lat, lon)| json!({"lat": lat, "lon": lon})),
    ];
    let data = prop::collection::btree_map(any::<String>(), field, 0..4);
    // One subject, several, or none.
    let about = prop_oneof![
        option::of(any::<String>()).prop_map(|subject| (subject, Vec::new())),
        vec(any_name(), 1..4).prop_map(|subjects| (None, subjects)),
    ];
    let listed =
        (any_name(), option::of(any_number())).prop_map(|(person, score)| CloudPerson { person, score });
    let ids = (any_name(), any_name(), any_name(), about, vec(listed, 0..4));
    (ids, option::of(any_instant()), option::of(any::<String>()), option::of(any::<i64>()), data).prop_map(
        |((id, source, what, (subject, subjects), persons), time, actor, version, data)| CloudChange {
            actor_name: actor.clone().filter(|_| version.is_some()),
            actor_kind: actor.clone().filter(|_| time.is_some()),
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
