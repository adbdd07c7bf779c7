//! A reader gets a whole mail in one language: its words, the house's, and the way in which it is written.

#![allow(clippy::unwrap_used, clippy::panic, reason = "all of this file is a test")]

use std::collections::BTreeMap;

use catalogue::Catalogue;
use model::{
    AudienceMatch, EntryReason, GeoPoint, Kind, PlanName, SubjectRef, UtcMillis, Value, VersionedState,
    civil_time::Zone,
};
use render::{ItemInput, ItemWords, MailInput, MessageRenderer, RenderedMail, SectionInput};

const CATALOGUE: &str = r#"
catalogue: sample
languages: [en, de, ar]
words: words
subjects:
  work: {title: text, at: place, author: ref author}
  author: {name: text}
kinds:
  work_near: {on: work.out, to: {near: at, within: 40 km}, says: '{{ say("out", title=subject.title) }}', plans: [daily, alert]}
  work_out: {on: work.out, to: {followers_of: author}, says: '{{ say("out", title=subject.title) }}', plans: [daily, alert]}
plans:
  daily:
    channel: email
    close: {daily: "09:00", zone: person}
    look_back: 7d
    from: news@example.com
    headline: '{{ say("new", count=count) }}: {{ (items | first).says }}'
    template: a.mjml
    text: a.txt
    sections: [{title: '{{ say("works") }}', kinds: [work_near, work_out], most: 8}]
  alert:
    channel: push
    close: at_once
    look_back: 2d
    headline: '{{ (items | first).says }}'
    body: '{{ (items | first).why }}'
    sections: [{title: x, kinds: [work_near, work_out], most: 8}]
"#;
const MJML: &str = r#"<mjml lang="en"><mj-body><mj-section><mj-column><mj-text padding="1px 2px 3px 4px">{% for s in sections %}{{ s.title }}{% for i in s.items %} {{ i.says }}{% endfor %}{% endfor %}</mj-text></mj-column></mj-section></mj-body></mjml>"#;
const TEXT: &str = "{{ language }} {{ direction }}|{{ due | day }}, {{ due | time }}|{{ due }}|{{ 1234.5 | number }}|{{ 150 | capped }}|{{ [\"A\", \"B\", \"C\"] | list(2) }}|{% for s in sections %}{{ s.title }}{% for i in s.items %}|{{ i.why }}{% endfor %}{% endfor %}";
const WORDS: [(&str, &str); 3] = [
    (
        "words/en.ftl",
        "out = “{ $title }” is out\nnew = { $count ->\n    [one] one work\n   *[other] { $count } works\n }\nworks = Works\n",
    ),
    (
        "words/de.ftl",
        "out = „{ $title }“ ist da\nnew = { $count ->\n    [one] ein Werk\n   *[other] { $count } Werke\n }\nworks = Werke\n",
    ),
    (
        "words/ar.ftl",
        "out = صدر { $title }\nnew = { $count ->\n    [one] عمل واحد\n    [two] عملان\n   *[other] { $count } أعمال\n }\nworks = أعمال\n",
    ),
];

fn read_file(name: &str) -> Result<String, String> {
    let words = WORDS.iter().find(|(file, _)| *file == name).map(|(_, text)| *text);
    words
        .or(match name {
            "a.mjml" => Some(MJML),
            "a.txt" => Some(TEXT),
            _ => None,
        })
        .map(str::to_owned)
        .ok_or_else(|| "there is no such file".to_owned())
}

/// What a reader gets who states this language: of one work near them, and one of somebody whom they follow.
fn render_with<T>(
    language: Option<&str>,
    plan: &str,
    make: impl FnOnce(&MessageRenderer, &MailInput<'_>) -> T,
) -> T {
    let catalogue = Catalogue::parse(CATALOGUE, "catalogue.yaml", &read_file)
        .unwrap_or_else(|problems| panic!("{problems}"));
    let renderer = MessageRenderer::new(&catalogue).unwrap_or_else(|problems| panic!("{problems}"));
    let author = SubjectRef::new("author:1").unwrap();
    let named = VersionedState::from_values(1, [("name", Some(Value::from_text("Mira Holm")))]);
    let related = BTreeMap::from([(author.clone(), named)]);
    let place = |lat| Value::Place(GeoPoint { lat, lon: 13.4 });
    let state = VersionedState::from_values(
        1,
        [("title", Some(Value::from_text("Moon"))), ("at", Some(place(52.6)))],
    );
    let [near, out] = ["work_near", "work_out"].map(|kind| Kind::new(kind).unwrap());
    let reason = |kind: &Kind, because| vec![EntryReason { kind: kind.clone(), because }];
    let reasons = [reason(&near, AudienceMatch::Near), reason(&out, AudienceMatch::Follows(author))];
    let (words, subject) = (ItemWords::default(), SubjectRef::new("work:1").unwrap());
    let item = |(kind, reasons)| ItemInput {
        kind,
        subject: &subject,
        state: &state,
        reasons,
        maybe: false,
        words: &words,
    };
    let items = [&near, &out].into_iter().zip(reasons.each_ref().map(Vec::as_slice)).map(item).collect();
    let title = &catalogue.plans.by_name[plan].sections[0].title;
    make(
        &renderer,
        &MailInput {
            plan: &PlanName::new(plan).unwrap(),
            name: None,
            language,
            zone: &Zone::UTC,
            due: UtcMillis::parse("2026-11-27T18:05:00Z").unwrap(),
            sections: &[SectionInput { title, items, more: 0 }],
            related: &related,
            persons: &BTreeMap::new(),
            place: Some(GeoPoint { lat: 52.5, lon: 13.4 }),
            variant: 0,
            unsubscribe: None,
            slots: None,
        },
    )
}

fn render_mail(language: Option<&str>) -> RenderedMail {
    render_with(language, "daily", |renderer, input| {
        renderer.render_mail(input).unwrap_or_else(|error| panic!("{error}"))
    })
}

#[test]
fn a_mail_is_in_one_language() {
    let check = |stated: Option<&str>, headline: &str, text: &str| {
        let mail = render_mail(stated);
        assert_eq!(mail.headline, headline, "{stated:?}");
        assert_eq!(mail.text.split_whitespace().collect::<Vec<_>>().join(" "), text, "{stated:?}");
    };
    let english = "en ltr|Fri 27 Nov, 18:05 UTC|Fri 27 Nov, 18:05 UTC|1,234.5|99+|A, B and 1 more|\
        Works|it is 11 km from you|you follow Mira Holm";
    check(None, "2 works: “Moon” is out", english);
    check(Some("pt-BR"), "2 works: “Moon” is out", english);
    check(
        Some("de-AT"),
        "2 Werke: „Moon“ ist da",
        "de ltr|Fr., 27. Nov., 18:05 UTC|Fr., 27. Nov., 18:05 UTC|1.234,5|über 99|A, B und noch 1|\
        Werke|es ist 11 km von dir entfernt|du folgst Mira Holm",
    );
    let arabic = render_mail(Some("ar"));
    assert_eq!(arabic.headline, "عملان: صدر Moon");
    assert!(arabic.text.contains("أنت تتابع \u{2068}Mira Holm\u{2069}"), "{}", arabic.text);
    assert!(arabic.text.starts_with("ar rtl|"), "{}", arabic.text);
}

#[test]
fn a_layout_is_mirrored_for_what_is_written_from_right_to_left() {
    let check = |stated: &str, has: &[&str], lacks: &[&str]| {
        let html = render_mail(Some(stated)).html;
        has.iter().for_each(|has| assert!(html.contains(has), "{stated}: {has} in {html}"));
        lacks.iter().for_each(|lacks| assert!(!html.contains(lacks), "{stated}: {lacks} in {html}"));
    };
    check("de", &["<html lang=\"de\" dir=\"ltr\"", "text-align:left", "1px 2px 3px 4px"], &["rtl"]);
    check(
        "ar",
        &["<html lang=\"ar\" dir=\"rtl\"", "text-align:right", "1px 4px 3px 2px", "صدر \u{2068}Moon\u{2069}"],
        &["ltr", "text-align:left"],
    );
}

#[test]
fn a_push_has_no_isolates() {
    let push = render_with(Some("ar"), "alert", |renderer, input| renderer.render_push(input).unwrap());
    assert_eq!((push.headline.as_str(), push.body.as_str()), ("صدر Moon", "يقع على بُعد 11 كم منك"));
}

#[test]
fn everything_renders_in_each_language() {
    let catalogue = Catalogue::parse(CATALOGUE, "catalogue.yaml", &read_file).unwrap();
    assert_eq!(MessageRenderer::check(&catalogue).0, []);
    let trial = MessageRenderer::run_trial(&catalogue).unwrap();
    let of = |plan: &str| {
        trial
            .sheets
            .iter()
            .filter(|sheet| sheet.plan.as_str() == plan)
            .filter_map(|sheet| sheet.language.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(of("daily"), ["en", "de", "ar"].repeat(4));
}
