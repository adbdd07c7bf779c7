//! The reasons in words, the other party, and how far it is.

use std::collections::BTreeMap;

use catalogue::Catalogue;
use model::{
    AudienceMatch, EntryReason, GeoPoint, Kind, Person, PersonScore, PlanName, SubjectRef, UtcMillis, Value,
    VersionedState, civil_time::Zone, person::profile,
};

use crate::{ItemInput, ItemWords, MailInput, MessageRenderer, SectionInput};

const CATALOGUE: &str = r#"
catalogue: sample
subjects:
  work:   {title: text, author: ref author, at: place, home: place, for: person, one: person, two: person}
  author: {name: text}
kinds:
  followed: {on: work.out, to: {followers_of: author}, says: 'x', plans: [daily]}
  near:     {like: followed, to: {near: at, within: 40 km}}
  nearer:   {like: followed, to: {near: home, within: 5 km}}
  named:    {like: followed, to: {person: for}}
  matched:  {like: followed, to: {mutual: [one, two]}, says: '{{ other | default("Somebody") }} likes it too'}
  listed:   {like: followed, to: listed}
  all:      {like: followed, to: everyone}
plans:
  daily:
    channel: email
    close: {daily: "09:00", zone: person}
    look_back: 7d
    from: news@example.com
    headline: x
    template: daily.mjml
    text: daily.txt
    sections:
      - {title: Works, kinds: [followed, near, nearer, named, matched, listed, all], most: 8}
"#;

const LAYOUT: &str = r#"<mjml><mj-body><mj-section><mj-column>{% if unsubscribe %}
<mj-text><a href="{{ unsubscribe }}">No more</a></mj-text>{% endif %}</mj-column></mj-section></mj-body></mjml>"#;
const TEXT: &str = "{% for i in items %}{{ i.why }}|{{ i.distance }}|{{ i.other }}|{{ i.says }}{% endfor %}{% if unsubscribe %}|{{ unsubscribe }}{% endif %}";

/// Alexanderplatz.
const READER: GeoPoint = GeoPoint { lat: 52.5219, lon: 13.4132 };

fn build_reason((kind, because): &(&str, AudienceMatch)) -> EntryReason {
    EntryReason { kind: Kind::new(kind).unwrap(), because: because.clone() }
}

fn follows_case(of: &str) -> (&'static str, AudienceMatch) {
    ("followed", AudienceMatch::Follows(SubjectRef::new(of).unwrap()))
}

fn mutual_case(person: &str) -> (&'static str, AudienceMatch) {
    ("matched", AudienceMatch::Mutual(Person::new(person).unwrap()))
}

/// What of the mail changes from test to test.
struct ReasonMailCase<'a> {
    because: &'a [(&'a str, AudienceMatch)],
    at: Option<GeoPoint>,
    reader: Option<GeoPoint>,
    unsubscribe: Option<&'a str>,
}

impl ReasonMailCase<'_> {
    /// The text part, and the HTML.
    fn render_both(&self) -> (String, String) {
        let files = |name: &str| Ok(if name == "daily.mjml" { LAYOUT } else { TEXT }.to_owned());
        let catalogue = Catalogue::parse(CATALOGUE, "catalogue.yaml", &files);
        let renderer =
            MessageRenderer::new(&catalogue.unwrap_or_else(|problems| panic!("{problems}"))).unwrap();
        let named =
            |name: &str| VersionedState::from_values(1, [(profile::NAME, Some(Value::from_text(name)))]);
        let author = |name: &str| VersionedState::from_values(1, [("name", Some(Value::from_text(name)))]);
        let related = [("author:1", author("Mira Holm")), ("author:2", author("Jon Vik"))]
            .map(|(of, state)| (SubjectRef::new(of).unwrap(), state));
        let persons =
            [("ben", named("Ben\r\nBcc: x")), ("cem", VersionedState::default()), ("dora", named(" "))]
                .map(|(person, state)| (Person::new(person).unwrap(), state));
        let reasons: Vec<EntryReason> = self.because.iter().map(build_reason).collect();
        let state = VersionedState::from_values(1, [("at", self.at.map(Value::Place))]);
        let subject = SubjectRef::new("work:1").unwrap();
        let kind = reasons.first().map_or_else(|| Kind::new("all").unwrap(), |reason| reason.kind.clone());
        let item = ItemInput {
            kind: &kind,
            subject: &subject,
            state: &state,
            reasons: &reasons,
            maybe: false,
            words: &ItemWords::default(),
        };
        let mail = renderer.render_mail(&MailInput {
            variant: 7,
            plan: &PlanName::new("daily").unwrap(),
            name: None,
            language: None,
            zone: &Zone::UTC,
            due: UtcMillis::parse("2026-11-24T08:00:00Z").unwrap(),
            sections: &[SectionInput { title: "Works", items: vec![item], more: 0 }],
            related: &related.into(),
            persons: &BTreeMap::from(persons),
            place: self.reader,
            unsubscribe: self.unsubscribe,
            slots: None,
        });
        let mail = mail.unwrap_or_else(|error| panic!("{error}"));
        // As one line, however it was wrapped.
        (mail.text.trim_end().replace('\n', " "), mail.html)
    }
}

#[test]
fn every_reason_is_said_in_words() {
    let check = |because: &[(&str, AudienceMatch)], expected: &str| {
        let mail = ReasonMailCase { because, at: None, reader: None, unsubscribe: None };
        let text = mail.render_both().0;
        assert_eq!(text.split('|').next().unwrap(), expected, "{because:?}");
    };
    let (near, listed) =
        (("near", AudienceMatch::Near), ("listed", AudienceMatch::Listed(PersonScore::default())));
    check(&[], "");
    check(&[follows_case("author:1")], "you follow Mira Holm");
    check(&[follows_case("author:1"), follows_case("author:2")], "you follow Mira Holm and Jon Vik");
    check(&[follows_case("author:1"), follows_case("author:1")], "you follow Mira Holm");
    check(&[follows_case("author:9")], "you follow this author");
    check(std::slice::from_ref(&near), "it is near you");
    check(std::slice::from_ref(&listed), "picked for you");
    check(&[("named", AudienceMatch::Named)], "it is for you");
    check(&[("all", AudienceMatch::Everyone)], "it is for everyone");
    check(&[mutual_case("ben")], "you and Ben Bcc: x");
    check(&[mutual_case("cem")], "you and somebody else");
    check(&[near.clone(), follows_case("author:1")], "you follow Mira Holm and it is near you");
    check(
        &[follows_case("author:1"), follows_case("author:2"), near.clone()],
        "you follow Mira Holm and Jon Vik, and it is near you",
    );
    check(
        &[listed.clone(), follows_case("author:1"), near, follows_case("author:2")],
        "you follow Mira Holm and Jon Vik, it is near you, and it was picked for you",
    );
    check(&[listed, mutual_case("ben")], "it is about you and Ben Bcc: x and it was picked for you");
}

#[test]
fn the_other_party_has_a_name_or_is_somebody() {
    let check = |because: &[(&str, AudienceMatch)], other: &str, says: &str| {
        let mail = ReasonMailCase { because, at: None, reader: None, unsubscribe: None };
        let text = mail.render_both().0;
        let parts: Vec<&str> = text.split('|').collect();
        assert_eq!(parts[2..], [other, says], "{because:?}");
    };
    check(&[mutual_case("ben")], "Ben Bcc: x", "Ben Bcc: x likes it too");
    for nameless in ["cem", "dora", "nobody"] {
        check(&[mutual_case(nameless)], "", "Somebody likes it too");
    }
    check(&[follows_case("author:1")], "", "x");
}

#[test]
fn how_far_it_is_is_said_of_what_is_near() {
    let check = |kind: &str, at: Option<(f64, f64)>, reader: Option<GeoPoint>, expected: &str| {
        let at = at.map(|(lat, lon)| GeoPoint { lat, lon });
        let because = AudienceMatch::Near;
        let mail = ReasonMailCase { because: &[(kind, because)], at, reader, unsubscribe: None };
        assert_eq!(mail.render_both().0.split('|').nth(1).unwrap(), expected, "{kind} {at:?}");
    };
    check("near", Some((52.5163, 13.3777)), Some(READER), "2 km from you");
    check("near", Some((52.40, 13.06)), Some(READER), "28 km from you");
    check("near", Some((52.5219, 13.4132)), Some(READER), "less than 1 km from you");
    check("near", Some((52.5219, 13.4132)), None, "");
    check("near", None, Some(READER), "");
    // The field by which this kind finds is another one.
    check("nearer", Some((52.5163, 13.3777)), Some(READER), "");
    check("all", Some((52.5163, 13.3777)), Some(READER), "");
    // Across the date line.
    let taveuni = GeoPoint { lat: -16.8, lon: 179.99 };
    check("near", Some((-16.8, -179.99)), Some(taveuni), "2 km from you");
}

#[test]
fn a_link_that_is_no_web_address_is_none() {
    let check = |unsubscribe: Option<&str>, text: &str, html: &str| {
        let mail = ReasonMailCase { because: &[], at: None, reader: None, unsubscribe };
        let (said, shown) = mail.render_both();
        assert_eq!(said.split_once("|||x").unwrap().1, text, "{unsubscribe:?}");
        assert!(shown.contains(html), "{shown}");
        assert_eq!(shown.contains("<a "), !html.is_empty(), "{shown}");
    };
    check(None, "", "");
    check(Some("https://x.example/u/a"), "|https://x.example/u/a", "href=\"https://x.example/u/a\"");
    check(Some("javascript:alert(1)"), "", "");
}
