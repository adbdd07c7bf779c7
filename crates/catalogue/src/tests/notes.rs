//! What works and is probably not meant.

use super::*;

/// The notes on a catalogue with one piece of it replaced, each as `file:line: what`.
fn list_notes(piece: &str, by: &str, template: &str) -> Vec<String> {
    assert!(GOOD.matches(piece).count() == 1, "`{piece}` must be there once");
    let missing = "it has no `{{ postal }}`";
    let catalogue =
        parse_with(&GOOD.replace(piece, by), template).unwrap_or_else(|problems| panic!("{problems}"));
    let said =
        catalogue.notes().into_iter().map(|note| format!("{}:{}: {}", note.file, note.line, note.what));
    said.filter(|said| !said.starts_with("dir/mail/daily.txt") && !said.ends_with(missing)).collect()
}

#[test]
fn a_mail_without_a_way_out_is_noted() {
    let missing = "dir/mail/daily.mjml:1: it has no `{{ unsubscribe }}`";
    let with = |tag: &str| MJML.replace("</mj-body>", &format!("{tag}</mj-body>"));
    let check = |template: &str, expected: &[&str]| {
        assert_eq!(list_notes("catalogue: sample", "catalogue: sample", template), expected, "{template}");
    };
    check(MJML, &[missing]);
    check(&with("{{ unsubscribe }}"), &[]);
    check(&with(r#"{% if unsubscribe %}<a href="{{unsubscribe}}">x</a>{% endif %}"#), &[]);
    // To ask for it shows nobody anything.
    check(&with("{% if unsubscribe %}unsubscribe{% endif %}"), &[missing]);
    // The text part has its own readers.
    let texts = good_catalogue().notes();
    assert!(texts.iter().any(|note| note.file == "dir/mail/daily.txt"), "{texts:?}");
}

#[test]
fn a_mail_without_an_address_to_write_to_is_noted() {
    let check = |template: &str, postal: &str, expected: &[&str]| {
        let text = GOOD.replace("catalogue: sample", &format!("catalogue: sample\n{postal}"));
        let template = MJML.replace("</mj-body>", &format!("{template}{{{{ unsubscribe }}}}</mj-body>"));
        let catalogue = parse_with(&text, &template).unwrap_or_else(|problems| panic!("{problems}"));
        let notes = catalogue.notes().into_iter().filter(|note| !note.file.ends_with("daily.txt"));
        let said: Vec<String> =
            notes.map(|note| format!("{}:{}: {}", note.file, note.line, note.what)).collect();
        assert_eq!(said, expected, "{template} {postal}");
    };
    let missing = "dir/mail/daily.mjml:1: it has no `{{ postal }}`";
    check("{{ postal }}", "postal: 1 Example Street", &[]);
    check("{{ postal }}", "", &["dir/catalogue.yaml:1: its mails print `postal`, but it is not set"]);
    check("", "", &[missing]);
    check("{% if postal %}x{% endif %}", "postal: 1 Example Street", &[missing]);
}

#[test]
fn a_kind_that_another_plan_always_tells_is_noted() {
    let template = MJML.replace("{{ i.subject.image }}", "{{ unsubscribe }}");
    let weekly = r#"
  weekly:
    channel: email
    close: {weekly: "09:00", on: [sun], zone: person}
    look_back: 14d
    from: Sample <news@example.com>
    headline: 'New: {{ items | list(2) }}'
    template: mail/daily.mjml
    text: mail/daily.txt
    sections:
      - {title: Events, kinds: KIND, most: 5}
"#;
    let check = |kind: &str, expected: &[&str]| {
        let kinds = format!("  event_week: {{like: event_near, plans: [weekly]{kind}}}\n");
        let told = format!("{kinds}plans:{}", weekly.replace("KIND", "event_week"));
        assert_eq!(
            list_notes("plans:\n  daily:\n", &format!("{told}  daily:\n"), &template),
            expected,
            "{kind}"
        );
    };
    let noted = "dir/catalogue.yaml:24: `event_near` and `event_week` tell the same people of the same things on `email`, and an entry is told there once, by the plan that closes first";
    check("", &[noted]);
    // Other things, or other people, are told by it.
    check(", on: event.opened", &[]);
    check(", to: everyone", &[]);
    check(", while: subject.off", &[]);
}

#[test]
fn choices_that_change_nothing_are_noted() {
    let template = MJML.replace("{{ i.subject.image }}", "{{ unsubscribe }}");
    let check = |categories: &str, keys: &str, expected: &[&str]| {
        let piece = "kinds:\n  work_out:\n";
        assert_eq!(list_notes(piece, &format!("{categories}{piece}{keys}"), &template), expected, "{keys}");
    };
    let offers = "categories:\n  offers: {}\n";
    check("categories: {}\n", "", &[]);
    check(offers, "", &["dir/catalogue.yaml:9: no kind is in the category `offers`"]);
    check(offers, "    category: offers\n", &[]);
    check("", "    unless_chosen: digest\n", &[]);
}

#[test]
fn defaults_that_change_nothing_are_noted() {
    let check = |category: &str, kind: &str, plan: &str, expected: &[&str]| {
        let text = format!(
            "
catalogue: small
subjects: {{page: {{owner: person}}}}
categories: {{edits: {{{category}}}}}
kinds:
  edited: {{on: page.edited, to: {{person: owner}}, says: edited, plans: [now, far], category: edits{kind}}}
plans:
  now:
    {{channel: push, {plan}, look_back: 2d, headline: h, body: b,
     sections: [{{title: All, kinds: edited, most: 9, order: newest}}]}}
  far:
    {{channel: webhook, close: {{daily: '09:00', zone: person}}, look_back: 2d, headline: h, body: b,
     sections: [{{title: All, kinds: edited, most: 9, order: newest}}]}}
"
        );
        let notes = parse_with(&text, MJML).unwrap_or_else(|problems| panic!("{problems}")).notes();
        let said: Vec<_> = notes.iter().map(|note| format!("{}: {}", note.line, note.what)).collect();
        assert_eq!(said, expected, "{category} {kind} {plan}");
    };
    let (at_once, daily) = ("close: at_once", "close: {daily: '09:00', zone: person}");
    let by_kind = "6: `edited` is told as a digest unless people choose, but no plan of it on `push` is one: `now` gathers for less than an hour";
    check("", ", unless_chosen: digest", at_once, &[by_kind]);
    check("", ", unless_chosen: digest", daily, &[]);
    check(
        "unless_chosen: digest",
        "",
        at_once,
        &[
            "6: `edited` is told as a digest by its category `edits`, but no plan of it on `push` is one: `now` gathers for less than an hour",
        ],
    );
    check(
        "tenants: {acme: digest}",
        "",
        &format!("{daily}, urgent: true"),
        &[
            "6: `edited` is told as a digest by its category `edits` for `acme`, but no plan of it on `push` is one: `now` is urgent",
        ],
    );
    // The kind's own word is nearer.
    check("unless_chosen: digest", ", unless_chosen: on", at_once, &[]);
    check("unless_chosen: digest", ", critical: true", at_once, &[]);
    let off = "6: `edited` is off by its category `edits`, but critical, so it is told to everybody";
    check("unless_chosen: off", ", critical: true", at_once, &[off]);
    check("unless_chosen: off", "", at_once, &[]);
}

#[test]
fn a_plan_that_no_kind_names_is_noted() {
    // A section with kinds would be refused, since these name no such plan.
    let template = MJML.replace("{{ i.subject.image }}", "{{ unsubscribe }}");
    let plan = "plans:
  nudge:
    channel: push
    close: at_once
    look_back: 2d
    headline: h
    body: b
    sections: [{title: All, kinds: [], most: 9, order: newest}]
";
    let noted = "dir/catalogue.yaml:25: no kind names the plan `nudge`, so it tells nobody";
    assert_eq!(list_notes("plans:\n", plan, &template), [noted]);
}

#[test]
fn the_examples_have_no_notes() {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let mut count = 0;
    for dir in fs::read_dir(examples).unwrap().map(|entry| entry.unwrap().path()) {
        let Ok(catalogue) = Catalogue::load(&dir, DayLife::default()) else { continue };
        assert_eq!(catalogue.notes(), [], "{}", dir.display());
        count += 1;
    }
    assert!(count > 2, "{count}");
}
