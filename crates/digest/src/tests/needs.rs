//! A profile that nobody reads changes nothing: turns are decided alike with it and without.

use std::collections::BTreeMap;

use catalogue::Catalogue;
use house_facts::pause::PausedPlans;
use model::{
    Day, Kind, PlanName, UtcMillis, Value, VersionedState,
    civil_time::ZoneRules,
    person::{Act, PersonRecord, Window, profile},
    window::WindowTarget,
};
use proptest::{collection::vec, prelude::*};
use room::testing::{parse_catalogue, tenant};

use super::{EIGHT, ann};
use crate::{
    decide::DigestDecider,
    facts::{DigestFacts, DigestPersonStates},
    profile_need,
    read::PersonNews,
};

/// A kind that is told by a calendar, one told by a delay, one told by both, and one of which the person chooses.
const CATALOGUE: &str = r#"
catalogue: needs
subjects:
  work: {title: text}
surfaces: {site: 15m}
kinds:
  dated: {on: work.a, to: everyone, says: x, plans: [daily]}
  delayed: {on: work.b, to: everyone, says: x, plans: [soon]}
  both: {on: work.c, to: everyone, says: x, plans: [daily, soon]}
  chosen: {on: work.d, to: everyone, says: x, plans: [soon, daily, weekly]}
  keyed: {on: work.e, to: everyone, says: x, plans: [each]}
plans:
  daily: {MAIL, close: {daily: "09:00", zone: person BEST}, sections: [{kinds: [dated, both, chosen], LIKE}]}
  weekly: {MAIL, close: {weekly: "09:00", on: [wed], zone: person}, sections: [{kinds: [chosen], LIKE}]}
  soon: {PUSH, close: {after: 30m}, badge: true, sections: [{kinds: [delayed, both, chosen], LIKE}]}
  each: {PUSH, key: [subject], close: {after: 2h}, entries: 3, sections: [{kinds: [keyed], LIKE}]}
"#;
const MAIL: &str = "channel: email, look_back: 14d, from: S <n@example.com>, headline: x, template: mail.mjml, text: mail.txt";
const PUSH: &str = "channel: push, look_back: 14d, headline: x, body: mail.txt";
const LIKE: &str = "title: x, most: 2, order: newest";
const BEST: &str = ", best: \"07:00-22:00\"";

fn catalogue_with(best: &str) -> Catalogue {
    parse_catalogue(
        &CATALOGUE.replace("MAIL", MAIL).replace("PUSH", PUSH).replace("LIKE", LIKE).replace(" BEST", best),
    )
}

/// Somebody far away, who prefers the weekly digest.
fn distant_person() -> DigestPersonStates {
    let words = [
        (profile::ZONE, "Pacific/Auckland"),
        (profile::EMAIL_PLAN, "weekly"),
        (profile::QUIET, "20:00-07:00"),
    ];
    let profile =
        VersionedState::from_values(1, words.map(|(name, word)| (name, Some(Value::from_text(word)))));
    DigestPersonStates { profile, ..DigestPersonStates::default() }
}

/// What may come at one instant, and how long after what came before.
fn any_news() -> impl Strategy<Value = (PersonNews, i64)> {
    let kinds = prop::sample::subsequence(vec!["dated", "delayed", "both", "chosen", "keyed", "gone"], 1..3);
    let announced = (kinds, 0_i32..2, any::<bool>()).prop_map(|(kinds, back, named)| {
        let windows = WindowTarget { plan: "each".parse().unwrap(), key: "work:1".into(), aim: None };
        PersonNews::Announced {
            day: Day(Day::from_instant(UtcMillis(EIGHT)).0 - back),
            rows: 1,
            kinds: kinds.into_iter().map(|kind| Kind::new(kind).unwrap()).collect(),
            windows: named.then_some(windows).into_iter().collect(),
            traces: BTreeMap::new(),
        }
    });
    let seen = (0_i64..7_200_000)
        .prop_map(|ago| PersonNews::Seen { surface: "site".into(), at: UtcMillis(EIGHT - ago) });
    let plan = prop::sample::select(vec!["daily", "soon", "each"]);
    let by_hand = (any::<bool>(), plan).prop_map(|(release, plan)| PersonNews::ByHand {
        act: if release { Act::Release } else { Act::Cancel },
        plan: plan.parse().unwrap(),
        key: None,
        at: UtcMillis(EIGHT),
    });
    let read = prop_oneof![Just(PersonNews::NumberChanged), Just(PersonNews::Revoked)];
    (
        prop_oneof![6 => announced, 2 => seen, 1 => by_hand, 1 => read, 1 => Just(PersonNews::Profile)],
        0_i64..3_600_000,
    )
}

proptest! {
    #[test]
    fn a_profile_that_is_not_read_changes_nothing(turns in vec(vec(any_news(), 1..4), 1..8), best in any::<bool>()) {
        let catalogue = catalogue_with(if best { BEST } else { "" });
        let (zones, key) = (ZoneRules::load_bundled(), (tenant(), ann()));
        let (mut record, mut now) = (None::<PersonRecord>, EIGHT);
        for turn in turns {
            now += turn.iter().map(|(_, after)| after).sum::<i64>();
            let news: Vec<PersonNews> = turn.into_iter().map(|(news, _)| news).collect();
            let asked = profile_need::needs_profile(&news, record.as_ref(), &catalogue);
            let of = BTreeMap::from([(key.clone(), news)]);
            let decide = |known: BTreeMap<_, _>| {
                let records = record.iter().map(|record| (key.clone(), record.clone())).collect();
                let facts = DigestFacts { records, known, ..DigestFacts::default() };
                let (now, closing) = (UtcMillis(now), UtcMillis(now));
                let deciding =
                    DigestDecider { facts: &facts, acknowledged: &[], catalogue: &catalogue, zones: &zones, paused: &PausedPlans::default(), now, closing };
                deciding.decide(&of, &[])
            };
            let with = decide([(key.clone(), distant_person())].into());
            if !asked {
                prop_assert_eq!(&decide(BTreeMap::new()).records, &with.records);
            }
            record = with.records.get(&key).cloned().or(record);
        }
    }
}

/// Else the law above says nothing of what comes most.
#[test]
fn of_whom_the_profile_is_read() {
    let catalogue = catalogue_with("");
    let plan = |name: &str| &catalogue.plans.by_name[&name.parse::<PlanName>().unwrap()];
    let open = |name: &str, hash| {
        let window = Window::new(plan(name).name.clone(), hash, "".into(), UtcMillis(EIGHT));
        PersonRecord { windows: vec![window], ..PersonRecord::default() }
    };
    let check = |kind: &str, record: Option<&PersonRecord>, expected: bool| {
        let kinds = vec![Kind::new(kind).unwrap()];
        let news = PersonNews::Announced {
            day: Day::from_instant(UtcMillis(EIGHT)),
            rows: 1,
            kinds,
            windows: Vec::new(),
            traces: BTreeMap::new(),
        };
        assert_eq!(profile_need::needs_profile(&[news], record, &catalogue), expected, "{kind}");
    };
    let daily = open("daily", plan("daily").hash);
    check("delayed", None, false);
    check("dated", None, true);
    check("dated", Some(&daily), false);
    check("dated", Some(&open("daily", 1)), true);
    check("both", Some(&daily), false);
    check("chosen", Some(&daily), true);
    check("gone", Some(&daily), true);
    let seen = PersonNews::Seen { surface: "site".into(), at: UtcMillis(EIGHT) };
    assert!(!profile_need::needs_profile(std::slice::from_ref(&seen), None, &catalogue));
    assert!(profile_need::needs_profile(&[seen], None, &catalogue_with(BEST)));
}
