//! What stands together in a mail, what leads it, and the doors of its foot.

#![allow(clippy::unwrap_used, clippy::panic, reason = "all of this file is a test")]

use std::collections::BTreeMap;

use catalogue::Catalogue;
use model::{
    AudienceMatch, EntryReason, Kind, PlanName, SubjectRef, UtcMillis, VersionedState, civil_time::Zone,
};
use render::{ItemInput, ListedItem, MailInput, MessageRenderer, SectionInput};
use serde_json::json;

const CATALOGUE: &str = r#"
catalogue: sample
postal: |
  Sample & Sons
  1 <Example> Street
subjects:
  work: {title: text, image: url, page: url, author: ref author, others: refs author, place: text}
  author: {name: text}
kinds:
  work_out: {on: work.out, to: {followers_of: author}, thread: author, says: '{{ subject.title }}', plans: [daily, weekly]}
  work_told: {on: work.told, to: listed, says: '{{ subject.title }}', plans: [daily, weekly]}
plans:
  daily:
    channel: email
    close: {daily: "09:00", zone: person}
    look_back: 7d
    from: news@example.com
    headline: x
    lead: image
    template: a.mjml
    text: a.txt
    sections: &s
      - {title: Out, kinds: [work_out], most: 8, group: FIELD}
      - {title: Told, kinds: [work_told], most: 8}
  weekly:
    channel: email
    title: The week's mail
    close: {weekly: "09:00", on: [sun], zone: person}
    look_back: 14d
    from: news@example.com
    headline: x
    template: a.mjml
    text: b.txt
    sections:
      - {title: Out, kinds: [work_out, work_told], most: 8}
"#;
const LINK: &str = "https://mail.example.com/u/token";
const MJML: &str = "<mjml><mj-body><mj-section><mj-column><mj-text>{{ postal }} \
    {% for other in instead %}<a href=\"{{ other.link }}\">{{ other.title }}</a>{% endfor %}</mj-text>\
    </mj-column></mj-section></mj-body></mjml>";

fn subject_ref(text: &str) -> SubjectRef {
    SubjectRef::new(text).unwrap()
}

/// All that is told: the section, the title, what it says of itself, and what of it is followed.
type FootLine<'a> = (&'a str, &'a str, serde_json::Value, &'a [&'a str]);

fn foot_catalogue(field: &str, text: &str) -> Catalogue {
    let read = |name: &str| match name {
        "a.mjml" => Ok(MJML.to_owned()),
        "a.txt" => Ok(text.to_owned()),
        _ => Ok("{{ headline }}".to_owned()),
    };
    let source = CATALOGUE.replace("FIELD", field).replace("sections: &s", "sections:");
    Catalogue::parse(&source, "catalogue.yaml", &read).unwrap_or_else(|problems| panic!("{problems}"))
}

/// What a mail says, with this as the whole of its text.
fn render_with<T>(
    catalogue: &Catalogue,
    lines: &[FootLine<'_>],
    more: [usize; 2],
    link: Option<&str>,
    make: impl FnOnce(&MessageRenderer, &MailInput<'_>) -> T,
) -> T {
    let mut states: BTreeMap<SubjectRef, VersionedState> = BTreeMap::new();
    for (id, name) in [("author:1", "Ann"), ("author:2", "Bo"), ("author:3", " ")] {
        let of = subject_ref(id);
        let state = catalogue.state(&of, json!({ "name": name }).as_object().unwrap(), 1).unwrap();
        states.insert(of, state);
    }
    let kinds = [Kind::new("work_out").unwrap(), Kind::new("work_told").unwrap()];
    let place = |section: &str| usize::from(section == "Told");
    let mut told = Vec::new();
    for (number, (section, title, own, followed)) in lines.iter().enumerate() {
        let of = subject_ref(&format!("work:{number}"));
        let mut own = own.clone();
        own["title"] = json!(title);
        states.insert(of.clone(), catalogue.state(&of, own.as_object().unwrap(), 1).unwrap());
        let kind = &kinds[place(section)];
        let reason =
            |to: &&str| EntryReason { kind: kind.clone(), because: AudienceMatch::Follows(subject_ref(to)) };
        told.push((place(section), kind, of, followed.iter().map(reason).collect::<Vec<_>>()));
    }
    let words = render::ItemWords::default();
    let mut sections: Vec<SectionInput<'_>> = Vec::new();
    for (index, (title, more)) in ["Out", "Told"].into_iter().zip(more).enumerate() {
        let own = told.iter().filter(|(place, ..)| *place == index);
        let items = own.map(|(_, kind, of, reasons)| ItemInput {
            kind,
            subject: of,
            state: &states[of],
            reasons,
            maybe: false,
            words: &words,
        });
        sections.push(SectionInput { title, items: items.collect(), more });
    }
    let renderer = MessageRenderer::new(catalogue).unwrap_or_else(|problems| panic!("{problems}"));
    let input = MailInput {
        plan: &PlanName::new("daily").unwrap(),
        name: None,
        language: None,
        zone: &Zone::UTC,
        due: UtcMillis(0),
        sections: &sections,
        related: &states,
        persons: &BTreeMap::new(),
        place: None,
        variant: 0,
        unsubscribe: link,
        slots: None,
    };
    make(&renderer, &input)
}

fn render_text(field: &str, text: &str, lines: &[FootLine<'_>]) -> String {
    let catalogue = foot_catalogue(field, text);
    let text = render_with(&catalogue, lines, [0, 0], Some(LINK), |renderer, input| {
        renderer.render_mail(input).unwrap().text
    });
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn things_of_one_stand_together_and_none_is_lost() {
    const GROUPS: &str = "{% for s in sections %}{% for g in s.groups %}[{{ g.name }} {{ g.count }}:{% for i in g.items %} {{ i }}{% if i.also %} ({{ i.also }}){% endif %}{% endfor %}; {{ g.why }}]{% endfor %}{% endfor %}";
    const BLOCKS: &str = "{% for s in sections %}{% for g in s.blocks %}[{{ g.name }} {{ g.count }}:{% for i in g.items %} {{ i }}{% if i.also %} ({{ i.also }}){% endif %}{% endfor %}; {{ g.why }}]{% endfor %}{% endfor %}";
    let by = |author: &str| json!({"author": author});
    let ann: &[&str] = &["author:1"];
    let lines: [FootLine<'_>; 6] = [
        ("Out", "a", by("author:1"), ann),
        ("Out", "b", by("author:2"), &["author:2"]),
        ("Out", "c", by("author:1"), ann),
        ("Out", "d", json!({}), &[]),
        // Nothing is known of the first, and the second has no name.
        ("Out", "e", by("author:9"), &[]),
        ("Out", "f", by("author:3"), &[]),
    ];
    assert_eq!(
        render_text("author", GROUPS, &lines),
        "[Ann 2: a c; you follow Ann][Bo 1: b (you follow Bo); ][ 1: d; ][ 1: e; ][ 1: f; ]"
    );
    assert_eq!(
        render_text("author", BLOCKS, &lines),
        "[Ann 2: a c; you follow Ann][ 4: b (you follow Bo) d e f; ]"
    );
    // A section without heads is one block.
    let told = lines.clone().map(|(_, title, own, followed)| ("Told", title, own, followed));
    assert_eq!(render_text("author", BLOCKS, &told[..2]), "[ 2: a (you follow Ann) b (you follow Bo); ]");
    assert_eq!(
        render_text("author", GROUPS, &told[..2]),
        "[ 1: a (you follow Ann); ][ 1: b (you follow Bo); ]"
    );
    // Of what is told for more than the others, the rest is said beside it.
    let more: Vec<FootLine<'_>> =
        vec![("Out", "a", by("author:1"), ann), ("Out", "b", by("author:1"), &["author:2", "author:1"])];
    assert_eq!(render_text("author", BLOCKS, &more), "[Ann 2: a b (you follow Bo); you follow Ann]");
    // By a text, and by the one of several that is followed.
    let here = |place: &str| json!({"place": place});
    let places: Vec<FootLine<'_>> =
        vec![("Out", "a", here("Ulm"), ann), ("Out", "b", here(" "), ann), ("Out", "c", here("Ulm\n"), &[])];
    assert_eq!(
        render_text("place", GROUPS, &places),
        "[Ulm 2: a (you follow Ann) c; ][ 1: b (you follow Ann); ]"
    );
    let both = json!({"others": ["author:2", "author:1"]});
    let others: Vec<FootLine<'_>> = vec![("Out", "a", both.clone(), ann), ("Out", "b", both, &["author:2"])];
    assert_eq!(render_text("others", GROUPS, &others), "[Ann 2: a (you follow Ann) b (you follow Bo); ]");
}

#[test]
fn what_leads_is_the_first_with_a_picture_and_is_said_once() {
    const LED: &str = "<{{ lead }}>{% for s in sections %}{{ s.title }}:{% for g in s.blocks %}{% for i in g.items %} {{ i }}{% endfor %}{% endfor %} of {% for i in s.items %}{{ i }}{% endfor %}.{% endfor %}";
    let with = |image: &str| json!({"image": image});
    let picture = with("https://example.com/a.jpg");
    let check =
        |lines: &[FootLine<'_>], expected: &str| assert_eq!(render_text("author", LED, lines), expected);
    let lines: [FootLine<'_>; 4] = [
        ("Out", "a", json!({}), &[]),
        ("Out", "b", picture.clone(), &[]),
        ("Out", "c", picture.clone(), &[]),
        ("Told", "d", picture, &[]),
    ];
    check(&lines, "<b>Out: a c of abc.Told: d of d.");
    check(&lines[1..2], "<b>Out: of b.");
    // Only the first section leads.
    check(&[lines[0].clone(), lines[3].clone()], "<>Out: a of a.Told: d of d.");
    check(&[lines[3].clone()], "<d>Told: of d.");
    check(&[], "<>");
}

#[test]
fn all_settings_are_behind_the_link() {
    let text = "{{ settings }}{% if not settings %}none{% endif %}";
    let catalogue = foot_catalogue("author", text);
    let lines: [FootLine<'_>; 1] = [("Out", "One", json!({}), &[])];
    for (link, expected) in [(Some(LINK), format!("{LINK}/settings")), (None, "none".to_owned())] {
        let said = render_with(&catalogue, &lines, [0, 0], link, |renderer, input| {
            renderer.render_mail(input).unwrap().text
        });
        assert_eq!(said.trim(), expected);
    }
}

#[test]
fn the_foot_has_its_doors() {
    const FOOT: &str = "{{ unsubscribe }} {{ rest }} {{ more }} {% for o in instead %}{{ o.plan }} {{ o.title }} {{ o.link }} {% endfor %}{{ postal }} \
        {% for s in sections %}{{ s.less }}{% for g in s.groups %} {{ g.less }}{% for i in g.items %} {{ i.less }}{% endfor %}{% endfor %}{% endfor %}";
    let catalogue = foot_catalogue("author", FOOT);
    let foot = |lines: &[FootLine<'_>], more: [usize; 2], link: Option<&str>| {
        let text = render_with(&catalogue, lines, more, link, |renderer, input| {
            renderer.render_mail(input).unwrap().text
        });
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let lines: [FootLine<'_>; 2] =
        [("Out", "a", json!({"author": "author:1"}), &[]), ("Told", "b", json!({"author": "author:1"}), &[])];
    let postal = "Sample & Sons, 1 <Example> Street";
    let week = format!("weekly The week's mail {LINK}?plan=weekly {postal}");
    let less = |what: &str| format!("{LINK}?less={what}");
    let [kind, author, work] = ["work_out", "author:1", "work:1"].map(less);
    assert_eq!(
        foot(&lines, [2, 3], Some(LINK)),
        format!("{LINK} {LINK}/rest 5 {week} {kind} {author} {author}{} {work}", less("work_told"))
    );
    // What has nothing to tell may have more that waits.
    assert_eq!(
        foot(&lines[..1], [0, 3], Some(LINK)),
        format!("{LINK} {LINK}/rest 3 {week} {kind} {author} {author}")
    );
    assert_eq!(foot(&lines[..1], [0, 0], Some(LINK)), format!("{LINK} 0 {week} {kind} {author} {author}"));
    assert_eq!(foot(&lines, [0, 0], None), format!("0 {postal}"));
    let html = render_with(&catalogue, &lines, [0, 0], Some(LINK), |renderer, input| {
        renderer.render_mail(input).unwrap().html
    });
    assert!(html.contains("Sample &amp; Sons, 1 &lt;Example&gt; Street"), "{html}");
    assert!(html.contains(&format!("href=\"{LINK}?plan=weekly\"")), "{html}");
}

#[test]
fn a_list_says_what_a_mail_would_say_and_where_things_are_at_home() {
    let catalogue = foot_catalogue("author", "x");
    let own = json!({"page": "https://example.com/a?b=1&c=2", "image": "https://example.com/a.jpg"});
    let lines: [FootLine<'_>; 2] =
        [("Out", "a", own, &["author:1"]), ("Told", "b", json!({"image": "https://example.com/b.jpg"}), &[])];
    let listed =
        render_with(&catalogue, &lines, [0, 0], None, |renderer, input| renderer.render_list(input).unwrap());
    let page = Some("https://example.com/a?b=1&c=2".to_owned());
    assert_eq!(listed[0], ListedItem { says: "a".to_owned(), why: "you follow Ann".to_owned(), page });
    assert_eq!((listed.len(), &listed[1].page), (2, &None));
}
