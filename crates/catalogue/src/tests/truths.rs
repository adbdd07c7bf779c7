//! Whether entries still hold, as a table: reasons, what has changed, and what is left of them.

use std::collections::BTreeSet;

use model::{
    AudienceMatch, Channel, EndReason, EntryKey, EntryReason, EventKey, GeoPoint, Kind, Person, SubjectRef,
    Tenant, UtcMillis, Value, ValueCell, VersionedState, WorldSnapshot,
    entry::PersonScore,
    hook::Hook,
    person::{notes, profile},
    plan::GENERAL,
};

use super::{
    parse_with, subject_ref,
    wide_catalogue::{self, parse_wide},
};
use crate::{
    Catalogue, example_moment,
    truth::{ReaderFacts, TellableEntry, check_reachable, list_needs, reasons_that_hold},
};

/// Ann follows city:1 and is near match:1, which is between her and bob, in city:1 and of city:2 and
/// city:3, and was made by cleo.
struct TruthScene {
    world: WorldSnapshot,
    profile: VersionedState,
    preferences: VersionedState,
}

fn tenant() -> Tenant {
    Tenant::new("acme").unwrap()
}

fn person(text: &str) -> Person {
    Person::new(text).unwrap()
}

impl TruthScene {
    fn new() -> Self {
        let mut world = WorldSnapshot::default();
        let berlin = Value::Place(GeoPoint { lat: 52.52, lon: 13.40 });
        let potsdam = Value::Place(GeoPoint { lat: 52.40, lon: 13.06 });
        let state = VersionedState::from_values(
            1,
            [
                ("one", Value::from_text("ann")),
                ("other", Value::from_text("bob")),
                ("open", Value::Flag(true)),
                ("at", potsdam),
                ("city", Value::Ref(subject_ref("city:1"))),
                ("cities", Value::Refs(vec![subject_ref("city:2"), subject_ref("city:3")])),
            ]
            .map(|(name, value)| (name, Some(value))),
        );
        let share = world.get_or_insert(&tenant());
        share.subjects.insert(subject_ref("match:1"), state);
        share.set_follow(person("ann"), subject_ref("city:1"), true);
        // Another tenant's ann follows it.
        world.get_or_insert(&Tenant::new("other").unwrap()).set_follow(
            person("ann"),
            subject_ref("city:2"),
            true,
        );
        Self {
            world,
            profile: VersionedState::from_values(1, [(profile::PLACE, Some(berlin))]),
            preferences: VersionedState::default(),
        }
    }

    /// The subject's field becomes this.
    fn set_field(mut self, field: &str, value: Option<Value>) -> Self {
        let state = self.world.get_or_insert(&tenant()).subjects.get_mut(&subject_ref("match:1")).unwrap();
        state.set(field, ValueCell { version: 2, value });
        self
    }

    /// Nothing was ever said of the subject's field.
    fn clear_field(mut self, field: &str) -> Self {
        let state = self.world.get_or_insert(&tenant()).subjects.get_mut(&subject_ref("match:1")).unwrap();
        assert!(state.cells.remove(field).is_some(), "{field}");
        self
    }

    fn follow(mut self, target: &str) -> Self {
        self.world.get_or_insert(&tenant()).set_follow(person("ann"), subject_ref(target), true);
        self
    }

    fn forget(mut self) -> Self {
        self.world.get_or_insert(&tenant()).subjects.clear();
        self
    }

    fn unfollow(mut self) -> Self {
        self.world.get_or_insert(&tenant()).follows.clear();
        self
    }

    fn place_at(mut self, place: Option<(f64, f64)>) -> Self {
        let value = place.map(|(lat, lon)| Value::Place(GeoPoint { lat, lon }));
        self.profile.set(profile::PLACE, ValueCell { version: 2, value });
        self
    }

    fn address_at(mut self, place: Option<(f64, f64)>) -> Self {
        let value = place.map(|(lat, lon)| Value::Place(GeoPoint { lat, lon }));
        self.profile.set(profile::PLACE_BY_ADDRESS, ValueCell { version: 3, value });
        self
    }

    fn mute(mut self, name: &str) -> Self {
        self.preferences.set(name, ValueCell { version: 1, value: Some(Value::Flag(true)) });
        self
    }

    fn unmute(mut self, name: &str) -> Self {
        self.preferences.set(name, ValueCell { version: 2, value: Some(Value::Flag(false)) });
        self
    }
}

/// `kind because`, several joined by commas.
fn parse_reasons(text: &str) -> BTreeSet<EntryReason> {
    let because = |text: &str| match text.split_once(' ').unwrap_or((text, "")) {
        ("follows", of) => AudienceMatch::Follows(subject_ref(of)),
        ("with", other) => AudienceMatch::Mutual(person(other)),
        ("near", _) => AudienceMatch::Near,
        ("named", _) => AudienceMatch::Named,
        ("listed", _) => AudienceMatch::Listed(PersonScore(7)),
        ("everyone", _) => AudienceMatch::Everyone,
        (other, _) => panic!("{other}"),
    };
    let reason = |text: &str| {
        let (kind, how) = text.split_once(' ').unwrap();
        EntryReason { kind: Kind::new(kind).unwrap(), because: because(how) }
    };
    text.split(", ").filter(|text| !text.is_empty()).map(reason).collect()
}

/// An hour before it is asked.
fn occurred() -> UtcMillis {
    example_moment().now.plus(-3_600_000)
}

/// The reasons that hold as they are written above, or why none does.
fn judge_scene(catalogue: &Catalogue, scene: &TruthScene, reasons: &BTreeSet<EntryReason>) -> String {
    let (tenant, ann, cleo, none) = (tenant(), person("ann"), person("cleo"), VersionedState::default());
    let reader = ReaderFacts {
        tenant: &tenant,
        person: &ann,
        profile: &scene.profile,
        preferences: &scene.preferences,
        notes: &none,
    };
    let of = subject_ref("match:1");
    let told = TellableEntry {
        subject: &of,
        key: EntryKey { occurred: occurred(), event: EventKey([0; 16]) },
        actor: Some(&cleo),
        reasons,
        place: Channel::Email.into(),
        moment: example_moment(),
    };
    match reasons_that_hold(&scene.world, &reader, &told, catalogue) {
        Ok(holding) => {
            assert!(holding.iter().all(|reason| reasons.contains(reason)));
            holding.iter().map(|reason| reason.kind.as_str()).collect::<Vec<_>>().join(" ")
        }
        Err(why) => format!("- {}", why.text()),
    }
}

#[test]
#[rustfmt::skip]
fn the_place_of_an_address_counts_where_none_is_stated() {
    let catalogue = parse_wide();
    let check = |scene: TruthScene, expected: &str| {
        assert_eq!(judge_scene(&catalogue, &scene, &parse_reasons("close_by near")), expected);
    };
    check(TruthScene::new().address_at(Some((0.0, 0.0))), "close_by");
    check(TruthScene::new().place_at(None).address_at(Some((52.5, 13.4))), "close_by");
    check(TruthScene::new().place_at(None).address_at(Some((0.0, 0.0))), "- no longer near");
    check(TruthScene::new().place_at(Some((52.52, 14.0))).address_at(Some((52.5, 13.4))), "- no longer near");
    check(TruthScene::new().place_at(None).address_at(None), "- no longer near");
}

#[test]
#[rustfmt::skip]
fn a_reason_holds_as_long_as_it_is_true() {
    let catalogue = parse_wide();
    let mute = |name: String| TruthScene::new().mute(&name);
    let check = |written: &str, scene: TruthScene, expected: &str| {
        let all = parse_reasons(written);
        assert_eq!(judge_scene(&catalogue, &scene, &all), expected, "{written}");
        // No reason holds or falls by another one.
        let alone = all.iter().map(|one| judge_scene(&catalogue, &scene, &BTreeSet::from([one.clone()])));
        let alone: Vec<String> = alone.filter(|answer| !answer.starts_with('-')).collect();
        assert_eq!(alone.join(" "), if expected.starts_with('-') { "" } else { expected }, "{written}");
    };

    check("fan follows city:1", TruthScene::new(), "fan");
    check("fan follows city:2", TruthScene::new(), "- unfollowed");
    check("fan follows city:3", TruthScene::new(), "- unfollowed");
    check("fan follows city:1", TruthScene::new().unfollow(), "- unfollowed");
    check("fan follows city:1", TruthScene::new().set_field("open", Some(Value::Flag(false))), "- no longer true");
    check("fan follows city:1", TruthScene::new().set_field("open", None), "- no longer true");
    check("fan follows city:1", TruthScene::new().forget(), "- no longer true");

    check("close_by near", TruthScene::new(), "close_by");
    check("close_by near", TruthScene::new().place_at(Some((52.52, 14.0))), "- no longer near");
    check("close_by near", TruthScene::new().place_at(None), "- no longer near");
    check("close_by near", TruthScene::new().set_field("at", None), "- no longer near");
    check("close_by near", TruthScene::new().set_field("at", Some(Value::from_text("52.4,13.06"))), "- no longer near");
    check("close_by near", TruthScene::new().forget(), "- no longer near");
    let place = |lat, lon| Some(Value::Place(GeoPoint { lat, lon }));
    check("close_by near", TruthScene::new().place_at(Some((0.0, 179.9))).set_field("at", place(0.0, -179.9)), "close_by");
    check("close_by near", TruthScene::new().place_at(Some((90.0, 0.0))).set_field("at", place(89.9, 180.0)), "close_by");
    // Somebody else is told by another way than the way in which they were found: that cannot be asked.
    check("picked near", TruthScene::new(), "- no longer true");

    check("asked named", TruthScene::new(), "asked");
    check("asked named", TruthScene::new().set_field("one", Some(Value::from_text("Ann"))), "- no longer true");
    check("asked named", TruthScene::new().set_field("one", None), "- no longer true");
    check("asked named", TruthScene::new().forget(), "- no longer true");
    check("fan named", TruthScene::new(), "- no longer true");

    check("pair with bob", TruthScene::new(), "pair");
    check("pair with dan", TruthScene::new(), "- no longer true");
    check("pair with ann", TruthScene::new().set_field("other", Some(Value::from_text("ann"))), "- no longer true");
    check("pair with bob", TruthScene::new().set_field("one", Some(Value::from_text("bob"))).set_field("other", Some(Value::from_text("ann"))), "pair");
    check("pair with bob", TruthScene::new().set_field("one", Some(Value::from_text("bob"))), "- no longer true");
    check("pair with bob", TruthScene::new().set_field("other", None), "- no longer true");
    check("asked with bob", TruthScene::new(), "- no longer true");

    check("picked listed", TruthScene::new(), "picked");
    check("picked listed", TruthScene::new().forget().unfollow().place_at(None), "picked");
    check("said_to_all everyone", TruthScene::new(), "said_to_all");
    check("gone everyone", TruthScene::new(), "- kind is gone");
    check("", TruthScene::new(), "- no longer true");

    let of = |text: &str| subject_ref(text);
    check("picked listed", mute(preferences::PreferenceScope::Kind(&Kind::new("picked").unwrap()).field(None)), "- muted");
    check("picked listed", mute(preferences::PreferenceScope::Kind(&Kind::new("pair").unwrap()).field(None)), "picked");
    check("picked listed", mute(preferences::PreferenceScope::Actor(&person("cleo")).field(None)), "- muted");
    check("picked listed", mute(preferences::PreferenceScope::Actor(&person("bob")).field(None)), "picked");
    check("pair with bob", mute(preferences::PreferenceScope::Actor(&person("bob")).field(None)), "- muted");
    check("picked listed", mute(preferences::PreferenceScope::Subject(&of("match:1")).field(None)), "- muted");
    check("picked listed", mute(preferences::PreferenceScope::Subject(&of("match:2")).field(None)), "picked");
    check("picked listed", mute(preferences::PreferenceScope::Thread(&of("match:1")).field(None)), "picked");
    check("close_by near", mute(preferences::PreferenceScope::Thread(&of("match:1")).field(None)), "- muted");
    check("pair with bob", mute(preferences::PreferenceScope::Thread(&of("city:1")).field(None)), "- muted");
    check("pair with bob", mute(preferences::PreferenceScope::Thread(&of("city:2")).field(None)), "pair");
    check("pair with bob", mute(preferences::PreferenceScope::Thread(&of("city:1")).field(None)).set_field("city", None), "pair");
    check("pair with bob", mute(preferences::PreferenceScope::Subject(&of("city:1")).field(None)), "pair");
    check("fan follows city:1", mute(preferences::PreferenceScope::Thread(&of("city:3")).field(None)), "- muted");
    check("picked listed", mute(preferences::PreferenceScope::Subject(&of("match:1")).field(None)).unmute(&preferences::PreferenceScope::Subject(&of("match:1")).field(None)), "picked");

    // One that holds is enough, and what does not is dropped.
    let pair = || mute(preferences::PreferenceScope::Kind(&Kind::new("pair").unwrap()).field(None));
    check("close_by near, pair with bob", TruthScene::new(), "close_by pair");
    check("close_by near, pair with bob", pair(), "close_by");
    check("fan follows city:1, fan follows city:2", TruthScene::new(), "fan");
    check("close_by near, fan follows city:1", TruthScene::new().unfollow(), "close_by");
    // Of what falls differently, the reason that came furthest is the answer, whatever the order.
    check("close_by near, fan follows city:2", TruthScene::new().place_at(None), "- unfollowed");
    check("asked named, close_by near", TruthScene::new().place_at(None).set_field("one", None), "- no longer near");
    check("asked named, gone everyone", TruthScene::new().set_field("one", None), "- no longer true");
    check("fan follows city:2, gone everyone", TruthScene::new(), "- unfollowed");
    check("fan follows city:2, pair with bob", pair(), "- muted");
    check("fan follows city:1, pair with bob", pair().set_field("open", None), "- no longer true");
}

#[test]
fn what_is_past_is_not_told() {
    let now = example_moment().now;
    let check = |expires: &str, scene: TruthScene, expected: &str| {
        let (holds, written) = ("    while: subject.open\n", "fan follows city:1");
        let text = wide_catalogue::WIDE.replacen(holds, &format!("{holds}    expires: {expires}\n"), 1);
        let catalogue =
            parse_with(&text, wide_catalogue::MJML).unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!(judge_scene(&catalogue, &scene, &parse_reasons(written)), expected, "{expires}");
    };
    let met = |at: Option<UtcMillis>| TruthScene::new().set_field("met", at.map(Value::Time));
    check("1h1s", TruthScene::new(), "fan");
    check("1h", TruthScene::new(), "- expired");
    check("1m", TruthScene::new(), "- expired");
    check("at subject.met", TruthScene::new(), "fan");
    check("at subject.met", met(None), "fan");
    check("at subject.met", met(Some(now.plus(1))), "fan");
    check("at subject.met", met(Some(now)), "- expired");
    check("at subject.met", met(Some(now.plus(-1))), "- expired");
    // Where several things stand against it, the last that is asked is the last that is said.
    check("1h", TruthScene::new().set_field("open", None), "- no longer true");
    check("1h", TruthScene::new().unfollow(), "- unfollowed");
}

/// What is corrected to another city is not told any more to who follows the first.
#[test]
fn who_follows_is_told_as_long_as_the_subject_refers_to_it() {
    let check = |to: &str, written: &str, scene: TruthScene, expected: &str| {
        let text = wide_catalogue::WIDE.replace("{followers_of: city}", to);
        let catalogue =
            parse_with(&text, wide_catalogue::MJML).unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!(judge_scene(&catalogue, &scene, &parse_reasons(written)), expected, "{to} {written}");
    };
    let city = |text: &str| Some(Value::Ref(subject_ref(text)));
    let cities = |text: &[&str]| Some(Value::Refs(text.iter().map(|text| subject_ref(text)).collect()));
    let (one, both, itself) =
        ("{followers_of: city}", "{followers_of: [city, cities]}", "{followers_of: subject}");
    let or_itself = "{followers_of: [city, subject]}";
    let (asked, gone) = ("fan follows city:1", "- no longer true");

    check(one, asked, TruthScene::new().set_field("city", city("city:2")), gone);
    check(
        one,
        "fan follows city:2",
        TruthScene::new().follow("city:2").set_field("city", city("city:2")),
        "fan",
    );
    check(one, asked, TruthScene::new().set_field("city", cities(&["city:2", "city:1"])), "fan");
    // It is said that there is none, or what is no reference at all.
    check(one, asked, TruthScene::new().set_field("city", None), gone);
    check(one, asked, TruthScene::new().set_field("city", cities(&[])), gone);
    check(one, asked, TruthScene::new().set_field("city", Some(Value::from_text("city:1"))), gone);
    check(one, asked, TruthScene::new().clear_field("city"), "fan");
    // Any of several fields is enough, and any that is stated can be held against it.
    check(both, asked, TruthScene::new(), "fan");
    check(both, "fan follows city:3", TruthScene::new().follow("city:3"), "fan");
    check(both, asked, TruthScene::new().clear_field("cities").set_field("city", city("city:2")), gone);
    check(both, asked, TruthScene::new().clear_field("city"), gone);
    check(both, asked, TruthScene::new().clear_field("city").clear_field("cities"), "fan");
    // The subject is itself forever, and of that something is always known.
    check(itself, "fan follows match:1", TruthScene::new().follow("match:1"), "fan");
    check(itself, asked, TruthScene::new(), gone);
    check(or_itself, asked, TruthScene::new(), "fan");
    check(
        or_itself,
        "fan follows match:1",
        TruthScene::new().follow("match:1").set_field("city", None),
        "fan",
    );
    check(or_itself, asked, TruthScene::new().clear_field("city"), gone);
    // The kind finds people in another way by now.
    check("listed", asked, TruthScene::new(), gone);
    check("{near: at, within: 40 km}", asked, TruthScene::new(), gone);
    check("everyone", asked, TruthScene::new(), gone);
    // Who unfollowed as well is told of that; another reason is not touched.
    check(one, asked, TruthScene::new().unfollow().set_field("city", None), "- unfollowed");
    check("listed", asked, TruthScene::new().unfollow(), "- unfollowed");
    check(
        one,
        "fan follows city:1, pair with bob",
        TruthScene::new().set_field("city", city("city:2")),
        "pair",
    );
}

#[test]
fn who_can_be_reached() {
    let (tenant, ann, none) = (tenant(), person("ann"), VersionedState::default());
    let check_on = |channel: Channel, fields: &[(&str, Option<Value>)], noted: &[&str], expected: &str| {
        let profile = VersionedState::from_values(1, fields.iter().cloned());
        let notes = VersionedState::from_values(1, noted.iter().map(|name| (name, Some(Value::Flag(true)))));
        let reader = ReaderFacts {
            tenant: &tenant,
            person: &ann,
            profile: &profile,
            preferences: &none,
            notes: &notes,
        };
        let found = check_reachable(&reader, (channel, GENERAL), false, UtcMillis(0))
            .map_or_else(EndReason::text, |()| "fine");
        assert_eq!(found, expected, "{channel} {fields:?} {noted:?}");
    };
    let check = |fields: &[(&str, Option<Value>)], noted: &[&str], expected: &str| {
        check_on(Channel::Email, fields, noted, expected);
    };
    let address = (profile::EMAIL, Some(Value::from_text("ann@example.com")));
    let off = |flag| (profile::EMAIL_OFF, Some(Value::Flag(flag)));
    check(std::slice::from_ref(&address), &[], "fine");
    check(&[address.clone(), off(false)], &[], "fine");
    check(&[address.clone(), off(true)], &[], "unsubscribed");
    check(&[off(true)], &[], "unsubscribed");
    check(&[], &[], "no address");
    check(&[(profile::EMAIL, None)], &[], "no address");
    check(&[address.clone(), off(true)], &[notes::ERASED], "erased");
    check(std::slice::from_ref(&address), &["full_day"], "fine");
    // What the house notes cannot be said from outside.
    check(&[address.clone(), (notes::ERASED, Some(Value::Flag(true)))], &[], "fine");
    for hook in Hook::ALL {
        let check = |fields: &[(&str, Option<Value>)], expected: &str| {
            check_on(Channel::Hook(hook), fields, &[], expected);
        };
        let own = || (hook.name(), Some(Value::from_text("https://hooks.example/ann")));
        check(&[own()], "fine");
        check(std::slice::from_ref(&address), "no address");
        check(&[own(), off(true)], "fine");
        check(&[own(), (hook.off(), Some(Value::Flag(true)))], "unsubscribed");
        check(&[own(), (hook.off(), Some(Value::Flag(false)))], "fine");
    }
}

#[test]
fn what_is_asked_is_loaded() {
    let all = parse_reasons(
        "fan follows city:1, close_by follows city:1, fan follows city:2, pair with bob, close_by near, asked named, picked listed, said_to_all everyone",
    );
    let (follows, others) = list_needs(&all);
    let names: Vec<&str> = follows.iter().map(SubjectRef::as_str).collect();
    assert_eq!(names, ["city:1", "city:2"]);
    assert_eq!(others, BTreeSet::from([person("bob")]));
}
