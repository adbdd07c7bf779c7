//! Whether entries still hold, as a table: reasons, what has changed, and what is left of them.

use std::collections::BTreeSet;

use model::{
    Because, Cell, Channel, Kind, Millis, Person, Place, Reason, State, SubjectRef, Tenant, Value, Why,
    World,
    entry::Score,
    hook::Hook,
    person::{mutes, notes, profile},
    plan::GENERAL,
};

use super::{
    parse_with, subject,
    wide::{self, wide},
};
use crate::{
    Catalogue,
    truth::{Reader, Told, reachable, still, wants},
};

/// Ann follows city:1 and is near match:1, which is between her and bob, in city:1 and of city:2 and
/// city:3, and was made by cleo.
struct Scene {
    world: World,
    profile: State,
    mutes: State,
}

fn tenant() -> Tenant {
    Tenant::new("acme").unwrap()
}

fn person(text: &str) -> Person {
    Person::new(text).unwrap()
}

impl Scene {
    fn new() -> Self {
        let mut world = World::default();
        let berlin = Value::Place(Place { lat: 52.52, lon: 13.40 });
        let potsdam = Value::Place(Place { lat: 52.40, lon: 13.06 });
        let state = State::at(
            1,
            [
                ("one", Value::text("ann")),
                ("other", Value::text("bob")),
                ("open", Value::Flag(true)),
                ("at", potsdam),
                ("city", Value::Ref(subject("city:1"))),
                ("cities", Value::Refs(vec![subject("city:2"), subject("city:3")])),
            ]
            .map(|(name, value)| (name, Some(value))),
        );
        let share = world.of_mut(&tenant());
        share.subjects.insert(subject("match:1"), state);
        share.follow(person("ann"), subject("city:1"), true);
        // Another tenant's ann follows it.
        world.of_mut(&Tenant::new("other").unwrap()).follow(person("ann"), subject("city:2"), true);
        Self { world, profile: State::at(1, [(profile::PLACE, Some(berlin))]), mutes: State::default() }
    }

    /// The subject's field becomes this.
    fn set(mut self, field: &str, value: Option<Value>) -> Self {
        let state = self.world.of_mut(&tenant()).subjects.get_mut(&subject("match:1")).unwrap();
        state.set(field, Cell { version: 2, value });
        self
    }

    /// Nothing was ever said of the subject's field.
    fn without(mut self, field: &str) -> Self {
        let state = self.world.of_mut(&tenant()).subjects.get_mut(&subject("match:1")).unwrap();
        assert!(state.cells.remove(field).is_some(), "{field}");
        self
    }

    fn follow(mut self, target: &str) -> Self {
        self.world.of_mut(&tenant()).follow(person("ann"), subject(target), true);
        self
    }

    fn forgotten(mut self) -> Self {
        self.world.of_mut(&tenant()).subjects.clear();
        self
    }

    fn unfollowed(mut self) -> Self {
        self.world.of_mut(&tenant()).follows.clear();
        self
    }

    fn at(mut self, place: Option<(f64, f64)>) -> Self {
        let value = place.map(|(lat, lon)| Value::Place(Place { lat, lon }));
        self.profile.set(profile::PLACE, Cell { version: 2, value });
        self
    }

    fn mute(mut self, name: &str) -> Self {
        self.mutes.set(name, Cell { version: 1, value: Some(Value::Flag(true)) });
        self
    }

    fn unmute(mut self, name: &str) -> Self {
        self.mutes.set(name, Cell { version: 2, value: Some(Value::Flag(false)) });
        self
    }
}

/// `kind because`, several joined by commas.
fn reasons(text: &str) -> BTreeSet<Reason> {
    let because = |text: &str| match text.split_once(' ').unwrap_or((text, "")) {
        ("follows", of) => Because::Follows(subject(of)),
        ("with", other) => Because::Mutual(person(other)),
        ("near", _) => Because::Near,
        ("named", _) => Because::Named,
        ("listed", _) => Because::Listed(Score(7)),
        ("everyone", _) => Because::Everyone,
        (other, _) => panic!("{other}"),
    };
    let reason = |text: &str| {
        let (kind, how) = text.split_once(' ').unwrap();
        Reason { kind: Kind::new(kind).unwrap(), because: because(how) }
    };
    text.split(", ").filter(|text| !text.is_empty()).map(reason).collect()
}

/// The reasons that hold as they are written above, or why none does.
fn answer(catalogue: &Catalogue, scene: &Scene, reasons: &BTreeSet<Reason>) -> String {
    let (tenant, ann, cleo, none) = (tenant(), person("ann"), person("cleo"), State::default());
    let reader =
        Reader { tenant: &tenant, person: &ann, profile: &scene.profile, mutes: &scene.mutes, notes: &none };
    let of = subject("match:1");
    let told = Told { subject: &of, actor: Some(&cleo), reasons };
    match still(&scene.world, &reader, &told, catalogue) {
        Ok(holding) => {
            assert!(holding.iter().all(|reason| reasons.contains(reason)));
            holding.iter().map(|reason| reason.kind.as_str()).collect::<Vec<_>>().join(" ")
        }
        Err(why) => format!("- {}", why.text()),
    }
}

#[test]
#[rustfmt::skip]
fn a_reason_holds_as_long_as_it_is_true() {
    let catalogue = wide();
    let mute = |name: String| Scene::new().mute(&name);
    let check = |written: &str, scene: Scene, expected: &str| {
        let all = reasons(written);
        assert_eq!(answer(&catalogue, &scene, &all), expected, "{written}");
        // No reason holds or falls by another one.
        let alone = all.iter().map(|one| answer(&catalogue, &scene, &BTreeSet::from([one.clone()])));
        let alone: Vec<String> = alone.filter(|answer| !answer.starts_with('-')).collect();
        assert_eq!(alone.join(" "), if expected.starts_with('-') { "" } else { expected }, "{written}");
    };

    check("fan follows city:1", Scene::new(), "fan");
    check("fan follows city:2", Scene::new(), "- unfollowed");
    check("fan follows city:3", Scene::new(), "- unfollowed");
    check("fan follows city:1", Scene::new().unfollowed(), "- unfollowed");
    check("fan follows city:1", Scene::new().set("open", Some(Value::Flag(false))), "- no longer true");
    check("fan follows city:1", Scene::new().set("open", None), "- no longer true");
    check("fan follows city:1", Scene::new().forgotten(), "- no longer true");

    check("close_by near", Scene::new(), "close_by");
    check("close_by near", Scene::new().at(Some((52.52, 14.0))), "- no longer near");
    check("close_by near", Scene::new().at(None), "- no longer near");
    check("close_by near", Scene::new().set("at", None), "- no longer near");
    check("close_by near", Scene::new().set("at", Some(Value::text("52.4,13.06"))), "- no longer near");
    check("close_by near", Scene::new().forgotten(), "- no longer near");
    let place = |lat, lon| Some(Value::Place(Place { lat, lon }));
    check("close_by near", Scene::new().at(Some((0.0, 179.9))).set("at", place(0.0, -179.9)), "close_by");
    check("close_by near", Scene::new().at(Some((90.0, 0.0))).set("at", place(89.9, 180.0)), "close_by");
    // Somebody else is told by another way than the way in which they were found: that cannot be asked.
    check("picked near", Scene::new(), "- no longer true");

    check("asked named", Scene::new(), "asked");
    check("asked named", Scene::new().set("one", Some(Value::text("Ann"))), "- no longer true");
    check("asked named", Scene::new().set("one", None), "- no longer true");
    check("asked named", Scene::new().forgotten(), "- no longer true");
    check("fan named", Scene::new(), "- no longer true");

    check("pair with bob", Scene::new(), "pair");
    check("pair with dan", Scene::new(), "- no longer true");
    check("pair with ann", Scene::new().set("other", Some(Value::text("ann"))), "- no longer true");
    check("pair with bob", Scene::new().set("one", Some(Value::text("bob"))).set("other", Some(Value::text("ann"))), "pair");
    check("pair with bob", Scene::new().set("one", Some(Value::text("bob"))), "- no longer true");
    check("pair with bob", Scene::new().set("other", None), "- no longer true");
    check("asked with bob", Scene::new(), "- no longer true");

    check("picked listed", Scene::new(), "picked");
    check("picked listed", Scene::new().forgotten().unfollowed().at(None), "picked");
    check("said_to_all everyone", Scene::new(), "said_to_all");
    check("gone everyone", Scene::new(), "- kind is gone");
    check("", Scene::new(), "- no longer true");

    let of = |text: &str| subject(text);
    check("picked listed", mute(mutes::kind(&Kind::new("picked").unwrap())), "- muted");
    check("picked listed", mute(mutes::kind(&Kind::new("pair").unwrap())), "picked");
    check("picked listed", mute(mutes::actor(&person("cleo"))), "- muted");
    check("picked listed", mute(mutes::actor(&person("bob"))), "picked");
    check("pair with bob", mute(mutes::actor(&person("bob"))), "- muted");
    check("picked listed", mute(mutes::subject(&of("match:1"))), "- muted");
    check("picked listed", mute(mutes::subject(&of("match:2"))), "picked");
    check("picked listed", mute(mutes::thread(&of("match:1"))), "picked");
    check("close_by near", mute(mutes::thread(&of("match:1"))), "- muted");
    check("pair with bob", mute(mutes::thread(&of("city:1"))), "- muted");
    check("pair with bob", mute(mutes::thread(&of("city:2"))), "pair");
    check("pair with bob", mute(mutes::thread(&of("city:1"))).set("city", None), "pair");
    check("pair with bob", mute(mutes::subject(&of("city:1"))), "pair");
    check("fan follows city:1", mute(mutes::thread(&of("city:3"))), "- muted");
    check("picked listed", mute(mutes::subject(&of("match:1"))).unmute(&mutes::subject(&of("match:1"))), "picked");

    // One that holds is enough, and what does not is dropped.
    let pair = || mute(mutes::kind(&Kind::new("pair").unwrap()));
    check("close_by near, pair with bob", Scene::new(), "close_by pair");
    check("close_by near, pair with bob", pair(), "close_by");
    check("fan follows city:1, fan follows city:2", Scene::new(), "fan");
    check("close_by near, fan follows city:1", Scene::new().unfollowed(), "close_by");
    // Of what falls differently, the reason that came furthest is the answer, whatever the order.
    check("close_by near, fan follows city:2", Scene::new().at(None), "- unfollowed");
    check("asked named, close_by near", Scene::new().at(None).set("one", None), "- no longer near");
    check("asked named, gone everyone", Scene::new().set("one", None), "- no longer true");
    check("fan follows city:2, gone everyone", Scene::new(), "- unfollowed");
    check("fan follows city:2, pair with bob", pair(), "- muted");
    check("fan follows city:1, pair with bob", pair().set("open", None), "- no longer true");
}

/// What is corrected to another city is not told any more to who follows the first.
#[test]
fn who_follows_is_told_as_long_as_the_subject_refers_to_it() {
    let check = |to: &str, written: &str, scene: Scene, expected: &str| {
        let text = wide::WIDE.replace("{followers_of: city}", to);
        let catalogue = parse_with(&text, wide::MJML).unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!(answer(&catalogue, &scene, &reasons(written)), expected, "{to} {written}");
    };
    let city = |text: &str| Some(Value::Ref(subject(text)));
    let cities = |text: &[&str]| Some(Value::Refs(text.iter().map(|text| subject(text)).collect()));
    let (one, both, itself) =
        ("{followers_of: city}", "{followers_of: [city, cities]}", "{followers_of: subject}");
    let or_itself = "{followers_of: [city, subject]}";
    let (asked, gone) = ("fan follows city:1", "- no longer true");

    check(one, asked, Scene::new().set("city", city("city:2")), gone);
    check(one, "fan follows city:2", Scene::new().follow("city:2").set("city", city("city:2")), "fan");
    check(one, asked, Scene::new().set("city", cities(&["city:2", "city:1"])), "fan");
    // It is said that there is none, or what is no reference at all.
    check(one, asked, Scene::new().set("city", None), gone);
    check(one, asked, Scene::new().set("city", cities(&[])), gone);
    check(one, asked, Scene::new().set("city", Some(Value::text("city:1"))), gone);
    check(one, asked, Scene::new().without("city"), "fan");
    // Any of several fields is enough, and any that is stated can be held against it.
    check(both, asked, Scene::new(), "fan");
    check(both, "fan follows city:3", Scene::new().follow("city:3"), "fan");
    check(both, asked, Scene::new().without("cities").set("city", city("city:2")), gone);
    check(both, asked, Scene::new().without("city"), gone);
    check(both, asked, Scene::new().without("city").without("cities"), "fan");
    // The subject is itself for ever, and of that something is always known.
    check(itself, "fan follows match:1", Scene::new().follow("match:1"), "fan");
    check(itself, asked, Scene::new(), gone);
    check(or_itself, asked, Scene::new(), "fan");
    check(or_itself, "fan follows match:1", Scene::new().follow("match:1").set("city", None), "fan");
    check(or_itself, asked, Scene::new().without("city"), gone);
    // The kind finds people in another way by now.
    check("listed", asked, Scene::new(), gone);
    check("{near: at, within: 40 km}", asked, Scene::new(), gone);
    check("everyone", asked, Scene::new(), gone);
    // Who unfollowed as well is told of that; another reason is not touched.
    check(one, asked, Scene::new().unfollowed().set("city", None), "- unfollowed");
    check("listed", asked, Scene::new().unfollowed(), "- unfollowed");
    check(one, "fan follows city:1, pair with bob", Scene::new().set("city", city("city:2")), "pair");
}

#[test]
fn who_can_be_reached() {
    let (tenant, ann, none) = (tenant(), person("ann"), State::default());
    let check_on = |channel: Channel, fields: &[(&str, Option<Value>)], noted: &[&str], expected: &str| {
        let profile = State::at(1, fields.iter().cloned());
        let notes = State::at(1, noted.iter().map(|name| (name, Some(Value::Flag(true)))));
        let reader = Reader { tenant: &tenant, person: &ann, profile: &profile, mutes: &none, notes: &notes };
        let found = reachable(&reader, channel, GENERAL, Millis(0)).map_or_else(Why::text, |()| "fine");
        assert_eq!(found, expected, "{channel} {fields:?} {noted:?}");
    };
    let check = |fields: &[(&str, Option<Value>)], noted: &[&str], expected: &str| {
        check_on(Channel::Email, fields, noted, expected);
    };
    let address = (profile::EMAIL, Some(Value::text("ann@example.com")));
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
        let own = || (hook.name(), Some(Value::text("https://hooks.example/ann")));
        check(&[own()], "fine");
        check(std::slice::from_ref(&address), "no address");
        check(&[own(), off(true)], "fine");
        check(&[own(), (hook.off(), Some(Value::Flag(true)))], "unsubscribed");
        check(&[own(), (hook.off(), Some(Value::Flag(false)))], "fine");
    }
}

#[test]
fn what_is_asked_is_loaded() {
    let all = reasons(
        "fan follows city:1, close_by follows city:1, fan follows city:2, pair with bob, close_by near, asked named, picked listed, said_to_all everyone",
    );
    let (follows, others) = wants(&all);
    let names: Vec<&str> = follows.iter().map(SubjectRef::as_str).collect();
    assert_eq!(names, ["city:1", "city:2"]);
    assert_eq!(others, BTreeSet::from([person("bob")]));
}
