//! How entries of a section are ranked, as data behind one `check`.

use std::collections::BTreeMap;

use model::{
    AudienceMatch, Day, DayRow, Entry, EntryKey, EntryReason, EventKey, GeoPoint, Kind, PersonScore,
    UtcMillis, Value, VersionedState,
    person::{PersonRecord, Window, profile},
};
use room::testing::{parse_catalogue, subject, tenant};

use super::ann;
use crate::facts::{DigestFacts, DigestPersonStates, day_key};

const SHOWS: &str = r#"
catalogue: ranks
subjects:
  show: {title: text, place: place, opens: time, votes: number}
kinds:
  shown:
    on: show.opened
    to: everyone
    says: '{{ subject.title }}'
    plans: [daily]
  picked: {like: shown, on: show.picked, to: listed, priority: 2}
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
      - {title: Shows, kinds: [shown, picked], most: 4, order: ORDER}
"#;

/// Ann is in Berlin. A show is in Rome and opens first, one is around the corner and opens last, and of one
/// nothing is known but that it is the newest.
fn facts() -> DigestFacts {
    let place = |lat, lon| Value::Place(GeoPoint { lat, lon });
    let mut facts = DigestFacts::default();
    let state = VersionedState::from_values(
        1,
        [(profile::PLACE, place(52.52, 13.40)), (profile::EMAIL, Value::from_text("ann@example.com"))]
            .map(|(name, value)| (name, Some(value))),
    );
    facts
        .known
        .insert((tenant(), ann()), DigestPersonStates { profile: state, ..DigestPersonStates::default() });
    let mut show = |n: i64, fields: Vec<(&str, Value)>, reasons: &[(&str, AudienceMatch)]| {
        let about = subject(&format!("show:{n}"));
        let state =
            VersionedState::from_values(1, fields.into_iter().map(|(name, value)| (name, Some(value))));
        facts.world.get_or_insert(&tenant()).subjects.insert(about.clone(), state);
        let key = EntryKey { occurred: UtcMillis(n), event: EventKey([1; 16]) };
        let rows = reasons.iter().map(|(kind, because)| {
            let reason = EntryReason { kind: Kind::new(kind).unwrap(), because: because.clone() };
            DayRow::Entry(Entry {
                key,
                reason,
                subject: about.clone(),
                actor: None,
                kept: model::KeptFields::new(),
            })
        });
        facts.days.entry(day_key(&(tenant(), ann()), Day(0))).or_default().extend(rows);
    };
    let listed = |score: f64| ("picked", AudienceMatch::Listed(PersonScore::new(score).unwrap()));
    let everyone = ("shown", AudienceMatch::Everyone);
    let opens = |at| Value::Time(UtcMillis(at));
    let rome = vec![("place", place(41.9, 12.5)), ("opens", opens(1)), ("votes", Value::Number(-2.0))];
    show(1, rome, &[everyone.clone(), listed(-0.5)]);
    let corner = vec![("place", place(52.51, 13.41)), ("opens", opens(9)), ("votes", Value::Number(7.0))];
    show(2, corner, &[listed(0.25), listed(0.75), everyone.clone()]);
    show(3, Vec::new(), &[everyone]);
    facts
}

#[test]
fn entries_are_ranked_by_the_order_of_their_section() {
    let check = |order: &str, expected: [i64; 3]| {
        let catalogue = parse_catalogue(&SHOWS.replace("ORDER", order));
        let plan = catalogue.plans.by_name.values().next().unwrap();
        let opened = Window::new(plan.name.clone(), plan.hash, "".into(), UtcMillis(0));
        let window = Window { due: UtcMillis(10), days: [Day(0)].into(), ..opened };
        let (of, record) = ((tenant(), ann()), PersonRecord::default());
        let found =
            facts().candidates(&of, &[&window], &record, plan, (&catalogue, UtcMillis(10))).candidates;
        let ranks: BTreeMap<i64, f64> = found.iter().map(|one| (one.key.occurred.0, one.rank)).collect();
        let mut order_found: Vec<i64> = ranks.keys().copied().collect();
        order_found.sort_by(|a, b| ranks[b].total_cmp(&ranks[a]));
        assert_eq!(order_found, expected, "{order}: {ranks:?}");
    };
    check("newest", [3, 2, 1]);
    check("oldest", [1, 2, 3]);
    check("{soonest: opens}", [1, 2, 3]);
    check("diverse", [3, 2, 1]);
    // What is picked comes first.
    check("priority", [1, 2, 3]);
    check("{best: votes}", [2, 1, 3]);
    check("{nearest: place}", [2, 1, 3]);
    // Of several scores the best counts; below zero is still better than none.
    check("score", [2, 1, 3]);
}
