//! What is a hole and what is none, and each finding on a catalogue in which it was planted.

use catalogue::Catalogue;
use source_text::TextProblem;

use super::{
    blocks,
    holes::{HoleSort, find_holes, find_plurals},
};
use crate::{
    MessageRenderer, TrialSort,
    marks::{self, MarkedPiece},
};

/// A block in which `[word]` is a printed value and `[]` one that was empty.
fn parse_block(text: &str) -> Vec<MarkedPiece> {
    let mut pieces = Vec::new();
    for (number, part) in text.split('[').enumerate() {
        let (value, literal) = match part.split_once(']') {
            Some((value, literal)) if number > 0 => (Some(value), literal),
            _ => (None, part),
        };
        pieces.extend(value.map(|value| MarkedPiece::Value(number, value.to_string())));
        if !literal.is_empty() {
            pieces.push(MarkedPiece::Literal(literal.to_string()));
        }
    }
    pieces
}

#[test]
fn holes_are_told_from_what_does_without() {
    let check = |text: &str, expected: &[usize]| {
        let found: Vec<usize> = find_holes(&parse_block(text)).into_iter().map(|hole| hole.value).collect();
        assert_eq!(found, expected, "{text}");
    };
    // In the middle of a sentence that is built around them.
    check("[2] rooms for [] EUR: [Park]", &[2]);
    check("[] rooms for [] EUR: []", &[1, 2, 3]);
    check("[] made [Moon]", &[1]);
    check("[Moon] by [], [Paris]", &[2]);
    check("[Moon] added “[]”", &[2]);
    check("[Moon] ([])", &[2]);
    check("[Moon] ([], [Paris])", &[2]);
    check("Hello [], here it is", &[1]);
    check("Hello [] there", &[1]);
    check("Your week: []", &[1]);
    check("[Moon] by []", &[2]);
    check("[Moon], a picture with [].", &[2]);
    check("[] · [you follow Ann]", &[1]);
    check("[Oil] · [] · [Paris]", &[2]);
    check("[Oil], []", &[2]);
    check("- [] by [Ann]", &[1]);
    check("- []", &[1]);
    check("It costs €[] now", &[1]);
    check("Hello. [] made it", &[1]);
    check("[]’s picture", &[1]);
    // What does without.
    for fine in [
        "[]",
        "  []  ",
        "[] []",
        "Hello[]",
        "Hello[], here it is",
        "Hello []",
        "[Moon][]",
        "[Moon] []",
        "[Moon] [] [Paris]",
        "[] [Paris]",
        "[][Oil]",
        "[Oil][]",
        "[Moon] [2]",
        "Hello[]! All is well.",
        "[] You follow [Ann].",
        "It is so. [] You see?",
        "[Moon].[]",
        "[Moon]. []",
        "[You follow Ann].[] (May have been sent before.)",
        "- [Moon] []",
    ] {
        check(fine, &[]);
    }
    let hole = find_holes(&parse_block("[2] rooms for [] EUR")).remove(0);
    assert_eq!((hole.sentence.as_str(), hole.sort), ("2 rooms for ___ EUR", HoleSort::Empty));
    let raw = [MarkedPiece::Raw(3, "none".to_string())];
    assert_eq!(find_holes(&raw).first().map(|hole| (hole.value, hole.sort)), Some((3, HoleSort::Raw)));
}

#[test]
fn one_of_something_is_not_said_as_many() {
    let check = |text: &str, written: &str, expected: &[&str]| {
        let found = find_plurals(&parse_block(text), |_| written.to_string(), false);
        let found: Vec<&str> = found.iter().map(|hole| hole.sentence.as_str()).collect();
        assert_eq!(found, expected, "{text}");
    };
    check("[1] rooms", "subject.rooms", &["1 rooms"]);
    check("[2] rooms", "subject.rooms", &[]);
    check("[1] room", "subject.rooms", &[]);
    check("[1] things", "count", &["1 things"]);
    check("[1] posts", "items | length", &["1 posts"]);
    check("[1] news", "count", &[]);
    check("[1] is", "count", &[]);
    // A verb, perhaps: nobody knows.
    check("Chapter [1] starts", "subject.number", &[]);
}

#[test]
fn marks_are_put_in_and_read_again() {
    let check = |text: &str, expected: &str, values: &[&str]| {
        let (marked, printed) = marks::mark_text(text);
        let found: Vec<&str> = printed.iter().map(|value| value.text.as_str()).collect();
        assert_eq!((marked.as_str(), found.as_slice()), (expected, values), "{text}");
        for value in &printed {
            assert!(text.get(value.at..).unwrap().starts_with(&value.text), "{text}: {value:?}");
        }
    };
    check("a {{ b }} {c}", "a {{( b ) | _printed(0)}} {c}", &["b"]);
    check("{{- b -}}{# {{ c }} #}", "{{-( b ) | _printed(0)-}}{# {{ c }} #}", &["b"]);
    check("{% if b %}{{ \"}}\" }}{% endif %}", "{% if b %}{{ \"}}\" }}{% endif %}", &[]);
    check(
        "{{ a ~ \" by \" ~ b.c | short(4) }}",
        "{{( a ) | _printed(0) ~  \" by \"  ~ ( b.c | short(4) ) | _printed(1)}}",
        &["a", "b.c | short(4)"],
    );
    check("{{ a ~ b if c else d }}", "{{( a ~ b if c else d ) | _printed(0)}}", &["a ~ b if c else d"]);
    let made = "x \u{FDD1}0\u{FDD2}\u{FDD3}\u{FDD1}1\u{FDD2}\u{FDD1}2\u{FDD2}in\u{FDD3}\u{FDD3} y";
    assert_eq!(marks::strip_marks(made), "x in y");
    let value = |number, text: &str| MarkedPiece::Value(number, text.to_string());
    let literal = |text: &str| MarkedPiece::Literal(text.to_string());
    assert_eq!(marks::split_pieces(made), [literal("x "), value(0, ""), value(2, "in"), literal(" y")]);
}

#[test]
fn what_is_read_of_html_is_its_blocks() {
    let html = "<head><style>p { x }</style><title>T</title></head><p>a <b>b</b>&nbsp;&amp; c<br/>d</p><!-- no -->\
                <img alt=\"A > B\" src=\"x\"/><td>e</td>";
    assert_eq!(blocks::html_blocks(html), ["T", "a b & c", "d", "A > B", "e"]);
}

const FLATS: &str = "
catalogue: flats
subjects:
  flat: {title: text, rent: number, was: number, rooms: number, place: place, free: flag}
kinds:
  listed:
    on: flat.listed
    to: {near: place, within: 5 km}
    while: subject.free and subject.rent < subject.was
    says: SAYS
    plans: [weekly]
plans:
  weekly:
    channel: email
    close: {weekly: '18:00', on: [sun], zone: person}
    look_back: 14d
    once_per: ONCE
    from: Flats <flats@example.com>
    headline: HEADLINE
    template: mail
    text: text
    sections:
      - {title: New, kinds: [listed], most: MOST}
";
const GOOD_SAYS: &str = "'{{ subject.title | default(\"A flat\") }} is cheaper'";

/// What is odd with these pieces, each as its sort and what is said of it.
fn list_findings(says: &str, once: &str, headline: &str, most: &str, card: &str) -> Vec<(TrialSort, String)> {
    let text =
        FLATS.replace("SAYS", says).replace("ONCE", once).replace("HEADLINE", headline).replace("MOST", most);
    let card = format!(
        "<mjml><mj-body>{{% for item in items %}}<mj-section><mj-column><mj-text>{card}</mj-text></mj-column></mj-section>\
         {{% endfor %}}</mj-body></mjml>"
    );
    let read = |name: &str| {
        Ok(if name == "mail" {
            card.clone()
        } else {
            "{% for item in items %}- {{ item.says }}\n{% endfor %}".to_string()
        })
    };
    let catalogue =
        Catalogue::parse(&text, "catalogue.yaml", &read).unwrap_or_else(|problems| panic!("{problems}"));
    let found = MessageRenderer::run_trial(&catalogue).unwrap_or_else(|problems| panic!("{problems}"));
    found.findings.into_iter().map(|finding| (finding.sort, finding.problem.what)).collect()
}

#[test]
fn each_finding_is_seen_where_it_was_planted() {
    let check = |found: Vec<(TrialSort, String)>, expected: &[(TrialSort, &str)]| {
        let found: Vec<(TrialSort, &str)> = found.iter().map(|(sort, what)| (*sort, what.as_str())).collect();
        assert_eq!(found.len(), expected.len(), "{found:#?}");
        for ((sort, what), (wanted, says)) in found.iter().zip(expected) {
            assert_eq!(sort, wanted, "{what}");
            assert!(what.contains(says), "{what}");
        }
    };
    let (says, card) = (GOOD_SAYS, "{{ item.says }}");
    check(list_findings(says, "mail", "'{{ count }} new'", "10", card), &[]);
    // The rent is asked for by `while`, so nothing is told without it; the title and the rooms are not.
    let holes = "'{{ subject.rooms }} rooms for {{ subject.rent }} EUR: {{ subject.title }}'";
    check(
        list_findings(holes, "mail", "x", "10", card),
        &[
            (TrialSort::Hole, "`says` of `listed` has a gap if `subject.rooms` is missing: “___ rooms for"),
            (TrialSort::Hole, "`says` of `listed` has a gap if `subject.title` is missing: “"),
            (TrialSort::Plural, "`says` of `listed` has “1 rooms” if `subject.rooms` is 1"),
        ],
    );
    check(
        list_findings(says, "mail", "'Hello {{ name }}, {{ count }} things'", "10", card),
        &[
            (TrialSort::Hole, "headline of `weekly` has a gap if `name` is missing: “Hello ___, 1 things”"),
            (TrialSort::Plural, "headline of `weekly` has “1 things” if `count` is 1"),
        ],
    );
    check(
        list_findings(says, "mail", "x", "10", "{{ item.distance }} · {{ item.says }}"),
        &[(TrialSort::Hole, "this text has a gap if `item.distance` is missing: “___ · ")],
    );
    check(
        list_findings(says, "event", "x", "10", card),
        &[(
            TrialSort::Twice,
            "for two events of one subject, `listed` says the same twice in one message of `weekly`: “",
        )],
    );
    check(
        list_findings("'A flat is cheaper'", "mail", "x", "10", card),
        &[(TrialSort::Twice, "`listed` says the same for every subject")],
    );
    let heavy = format!("{{{{ item.says }}}}{}", "<b></b>".repeat(1_500));
    check(
        list_findings(says, "mail", "x", "40", &heavy),
        &[(TrialSort::Heavy, "a full mail of `weekly` with 40 entries has ")],
    );
}

const PAGES: &str = "
catalogue: pages
subjects:
  page: {title: text, summary: text, gone: flag}
kinds:
  edited:
    on: page.edited
    to: {followers_of: subject}
    while: not subject.gone
    keeps: [summary]
    bundle_by: subject
    says: SAYS
    says_many: MANY
    plans: [daily]
plans:
  daily:
    channel: email
    close: {daily: '18:00', zone: person}
    look_back: 14d
    from: Pages <pages@example.com>
    headline: News
    template: mail
    text: text
    sections:
      - {title: New, kinds: [edited], most: 20}
";

/// What is said of bundles with these texts: each line as `line: what; help`.
fn describe_bundles(says: &str, says_many: &str, card: &str) -> Vec<String> {
    let text = PAGES.replace("SAYS", says).replace("MANY", says_many);
    let card = format!(
        "<mjml><mj-body>{{% for item in items %}}<mj-section><mj-column><mj-text>{card}</mj-text></mj-column></mj-section>\
         {{% endfor %}}</mj-body></mjml>"
    );
    let read = |name: &str| {
        let list = "{% for item in items %}- {{ item.says }}\n{% endfor %}";
        Ok(if name == "mail" { card.clone() } else { list.to_string() })
    };
    let catalogue =
        Catalogue::parse(&text, "catalogue.yaml", &read).unwrap_or_else(|problems| panic!("{problems}"));
    let problems = match MessageRenderer::run_trial(&catalogue) {
        Ok(trial) => trial.findings.into_iter().map(|finding| finding.problem).collect(),
        Err(problems) => problems.0,
    };
    let describe = |problem: &TextProblem| {
        format!("{}: {}; {}", problem.line, problem.what, problem.help.as_deref().unwrap_or_default())
    };
    problems.iter().map(describe).collect()
}

#[test]
fn bundles_are_tried_with_as_many_actors_as_there_may_be() {
    let check = |says: &str, says_many: &str, card: &str, expected: &[&str]| {
        let found = describe_bundles(says, says_many, card);
        assert_eq!(found.len(), expected.len(), "{found:#?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.contains(expected), "{found}, not {expected}");
        }
    };
    let title = "{{ subject.title | default(\"a page\") }}";
    let (says, says_many) =
        (format!("'{title} was edited'"), format!("'{title} was edited {{{{ count }}}} times'"));
    let card = "{{ item.says }}";
    check(&says, &says_many, card, &[]);
    // What grows with the square of the actors is never done, and what prints them all is too long.
    let square = format!(
        "'{title}{{% for a in actors %}}{{% for b in actors %}}{{{{ b }}}}{{% endfor %}}{{% endfor %}}'"
    );
    check(&says, &square, card, &["this text needs too many steps"]);
    let all = "{{ item.says }} {% for actor in item.actors %}<b>{{ actor }}</b>{% endfor %}";
    check(&says, &says_many, all, &["a full mail of `daily` with 20 entries has "]);
    // No condition reads what an event said, or who did it.
    let default = "; test it with `{% if event.summary %}`, or write something else with `default(\"…\")`";
    let (gap, many) = ("'{{ event.summary }} on a page'", "'{{ actor }} edited a page'");
    let found = describe_bundles(gap, &says_many, card);
    assert!(found.iter().any(|one| one.ends_with(default)), "{found:#?}");
    let found = describe_bundles(&says, many, card);
    let actor = "13: `says_many` of `edited` has a gap if `actor` is missing: “___ edited a page”; test it with `{% if actor %}`, or write something else with `default(\"…\")`";
    assert!(found.iter().any(|one| one == actor), "{found:#?}");
    let found = describe_bundles("'{{ subject.title }} was edited'", &says_many, card);
    assert!(
        found.iter().any(|one| one.contains("let `while` require it: `subject.title is defined`")),
        "{found:#?}"
    );
}
