//! The catalogue's messages as data: one good catalogue, and what is said of it after each slip.

use std::{fs, path::Path};

use model::{DayLife, SubjectRef, VersionedState};
use proptest::prelude::*;
use serde_json::json;
use source_text::TextProblems;

mod choices;
mod follows;
mod format;
mod messages;
mod notes;
mod paces;
mod slips;
mod slots;
mod sources;
mod truths;
mod wide_catalogue;

use expression::ConditionFacts;

use crate::{Catalogue, example_moment, limits::FILE_BYTES_MAX};

const GOOD: &str = r#"
catalogue: sample
subjects:
  work:   {title: text, image: url, author: ref author, public: flag, score: number, out: time}
  author: {name: text, home: ref town, gone: flag}
  event:  {called: label, note: text, label: text, authors: refs author, at: place, starts: time, off: flag}
  town:   {name: text}
kinds:
  work_out:
    on: work.published
    to: {followers_of: [author, subject]}
    while: subject.public and not author.gone
    says: '{{ author.name }} made "{{ subject.title }}"'
    plans: [daily]
  event_near:
    on: event.announced
    to: {followers_of: authors}
    while: not subject.off
    says: >-
      {{ authors | list }} at
      "{{ subject.label }}", {{ subject.starts | day }}
    plans: daily
  event_again: {like: event_near, on: event.repeated}
plans:
  daily:
    channel: email
    close: {daily: "09:00", zone: person, spread: 1h30m}
    look_back: 14d
    at_least: 2
    once_per: subject
    from: Sample <news@example.com>
    headline: 'New: {{ items | list(2) }}'
    template: mail/daily.mjml
    text: mail/daily.txt
    sections:
      - {title: Works, kinds: work_out, most: 8, order: {best: score}}
      - {title: Events, kinds: [event_near, event_again], most: 5, order: {soonest: starts}}
"#;

const MJML: &str = "<mjml><mj-body>{% for s in sections %}{{ s.title }}{% for i in s.items %}{{ i.says }}{{ i.subject.image }}{% endfor %}{% endfor %}</mj-body></mjml>";
const TEXT: &str = "{{ headline }}\n{% for item in items %}{{ item.says }}\n{% endfor %}";

fn parse_with(text: &str, template: &str) -> Result<Catalogue, TextProblems> {
    Catalogue::parse(text, "dir/catalogue.yaml", &|name| match name {
        "mail/daily.mjml" => Ok(template.to_string()),
        "mail/daily.txt" => Ok(TEXT.to_string()),
        _ => Err("no such file".to_string()),
    })
}

fn good_catalogue() -> Catalogue {
    parse_with(GOOD, MJML).unwrap_or_else(|problems| panic!("{problems}"))
}

/// All messages about a catalogue with one piece of it replaced, each as `line:column: what; help`.
fn messages(text: &str, piece: &str, by: &str) -> String {
    assert!(text.matches(piece).count() == 1, "`{piece}` must be there once");
    describe_result(parse_with(
        &text.replace(piece, by),
        if text == GOOD { MJML } else { wide_catalogue::MJML },
    ))
}

fn describe_result(result: Result<Catalogue, TextProblems>) -> String {
    let Err(problems) = result else { return "fine".to_string() };
    let lines = problems.0.iter().map(|problem| {
        let help = problem.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
        let file = problem.file.strip_prefix("dir/").unwrap();
        let file = if file == "catalogue.yaml" { String::new() } else { format!("{file}:") };
        format!("{file}{}:{}: {}{help}", problem.line, problem.column, problem.what)
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn slips_are_found_where_they_are() {
    let mut wrong = Vec::new();
    for (text, slips) in [(GOOD, slips::SLIPS), (wide_catalogue::WIDE, wide_catalogue::SLIPS)] {
        for (piece, by, expected) in slips {
            let found = messages(text, piece, by);
            if found != *expected {
                wrong.push(format!("`{piece}` became `{by}`\n  expected {expected:?}\n  found    {found:?}"));
            }
        }
    }
    for (piece, by, expected) in paces::all_slips() {
        let found = messages(GOOD, piece, &by);
        if found != expected {
            wrong.push(format!("`{by}`\n  expected {expected:?}\n  found    {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn subject_ref(text: &str) -> SubjectRef {
    SubjectRef::new(text).unwrap()
}

fn state_of(catalogue: &Catalogue, of: &str, json: serde_json::Value) -> VersionedState {
    catalogue.state(&subject_ref(of), json.as_object().unwrap(), 1).unwrap_or_else(|bad| panic!("{bad}"))
}

#[test]
fn conditions_ask_the_subject_and_what_it_refers_to() {
    let check = |condition: &str, expected: bool| {
        let written = format!("|\n      {condition}");
        let text = GOOD.replace("subject.public and not author.gone", &written);
        let catalogue = parse_with(&text, MJML).unwrap_or_else(|problems| panic!("{problems}"));
        let work = subject_ref("work:1");
        let author = state_of(&catalogue, "author:7", json!({"name": "Ann"}));
        let moon = json!({"title": "Moon", "public": true, "score": 7.5, "author": "author:7",
            "out": "2026-11-27T18:00:00Z"});
        let moon = state_of(&catalogue, "work:1", moon);
        let gone = VersionedState::from_values(2, moon.cells.keys().map(|name| (name, None)));
        let holds = catalogue.kinds["work_out"].holds.as_ref().unwrap();
        let ask = |state: &VersionedState| {
            let related = |to: &SubjectRef| (to.as_str() == "author:7").then_some(&author);
            holds.holds(&ConditionFacts {
                subject: &work,
                state,
                related: &related,
                moment: example_moment(),
            })
        };
        assert_eq!(ask(&moon), Ok(expected), "{condition}");
        assert_eq!(ask(&gone), Ok(false), "{condition} of what is gone");
        assert_eq!(ask(&VersionedState::default()), Ok(false), "{condition} of nothing");
    };
    check("subject.public", true);
    check("not subject.public", false);
    check("true", true);
    check("subject.title == 'Moon'", true);
    check("subject.title in ['Sun', 'Moon']", true);
    check("subject.title | lower == 'moon' and subject.title | length < 5", true);
    check("'oo' in subject.title", true);
    check("subject.score > 7", true);
    check("2 < subject.score < 7", false);
    check("subject.score * 2 - 1 == 14", true);
    check("subject.id == '1' and author.id == '7'", true);
    check("author.name == 'Ann' and subject.author.name == 'Ann'", true);
    check("subject.out == subject.out", true);
    check("subject.out > now and subject.out > due", true);
    check("subject.out <= now", false);
    check("(subject.title if subject.public else author.name) == 'Moon'", true);
    // What is not there is not true, whichever way it is asked.
    check("author.gone", false);
    check("not author.gone", true);
    check("subject.image == 'x'", false);
    check("subject.image != 'x'", false);
    check("subject.image is defined", false);
    check("subject.image is not defined or subject.image == 'x'", true);
    check("author.name | default('nobody') == 'Ann'", true);
    check("subject.image | default('none') == 'none'", true);
    check("'%}' in subject.title", false);
}

#[test]
fn a_condition_bears_what_is_not_known() {
    let catalogue = good_catalogue();
    let check = |kind: &str, of: &str, json: serde_json::Value, expected: bool| {
        let facts = ConditionFacts {
            subject: &subject_ref(of),
            state: &state_of(&catalogue, of, json),
            related: &|_| None,
            moment: example_moment(),
        };
        assert_eq!(catalogue.kinds[kind].holds.as_ref().unwrap().holds(&facts), Ok(expected), "{kind} {of}");
    };
    // Nothing is known of the author, so neither is that they are gone.
    check("work_out", "work:1", json!({"public": true, "author": "author:7"}), true);
    check("work_out", "work:1", json!({"public": true}), false);
    check("event_near", "event:1", json!({"off": false}), true);
    check("event_near", "event:1", json!({"off": true}), false);
    check("event_near", "event:1", json!({"label": "x"}), true);
}

#[test]
fn a_condition_cannot_run_for_long() {
    let long = ["subject.public"; 150].join(" and ");
    let text = GOOD.replace("subject.public and not author.gone", &long);
    assert_eq!(describe_result(parse_with(&text, MJML)), "12:12: an expression of more than 400 words");
}

/// What becomes of fields: the cells, or the message.
fn describe_cells(of: &str, json: &serde_json::Value) -> String {
    let catalogue = if of.starts_with("match") { wide_catalogue::parse_wide() } else { good_catalogue() };
    match catalogue.state(&subject_ref(of), json.as_object().unwrap(), 3) {
        Ok(state) => {
            let cells = state.cells.iter().map(|(name, cell)| {
                assert_eq!(cell.version, 3);
                format!("{name}={}", cell.value.as_ref().map_or("gone".to_string(), ToString::to_string))
            });
            cells.collect::<Vec<_>>().join(" ")
        }
        Err(bad) => bad.to_string(),
    }
}

#[test]
#[rustfmt::skip]
fn json_becomes_typed_cells() {
    for (of, json, expected) in [
        ("work:1", json!({}), ""),
        ("work:1", json!({"title": "Moon", "other": [1], "public": true}), "public=true title=Moon"),
        ("work:1", json!({"title": null, "score": 3, "author": "author:7"}), "author=author:7 score=3 title=gone"),
        ("event:1", json!({"at": {"lat": 1.5, "lon": -2}, "authors": ["author:1", "author:2"]}), "at=1.5,-2 authors=author:1,author:2"),
        ("work:1", json!({"out": "2026-11-27T19:00:00+01:00"}), "out=2026-11-27T18:00:00.000Z"),
        ("work:1", json!({"image": "https://example.com/a?b=c#d"}), "image=https://example.com/a?b=c#d"),
        ("wrok:1", json!({}), "wrok:1: there is no subject type `wrok`, did you mean `work`?"),
        ("work:1", json!({"title": 7}), "work:1: field `title` must be a text of at most 4096 bytes, not 7"),
        ("work:1", json!({"title": "x".repeat(4097)}), "work:1: field `title` must be a text of at most 4096 bytes, not a text of 4097 bytes"),
        ("work:1", json!({"public": "yes"}), "work:1: field `public` must be true or false, not the text \"yes\""),
        ("work:1", json!({"score": "7"}), "work:1: field `score` must be a number, not the text \"7\""),
        ("work:1", json!({"out": "tomorrow"}), "work:1: field `out` must be a time like `2026-11-27T18:00:00Z`, not the text \"tomorrow\""),
        ("work:1", json!({"author": "town:7"}), "work:1: field `author` must be a reference like `author:7`, not the text \"town:7\""),
        ("work:1", json!({"author": "7"}), "work:1: field `author` must be a reference like `author:7`, not the text \"7\""),
        ("event:1", json!({"authors": ["author:1", 2]}), "event:1: field `authors` must be a list of at most 100 references like `author:7`, not 2"),
        ("event:1", json!({"authors": vec!["author:1"; 101]}), "event:1: field `authors` must be a list of at most 100 references like `author:7`, not a list of 101"),
        ("match:1", json!({"one": "ann", "other": null}), "one=ann other=gone"),
        ("match:1", json!({"one": ""}), "match:1: field `one` must be a person's id, a text of 1 to 128 bytes, not the text \"\""),
        ("match:1", json!({"one": " ann"}), "match:1: field `one` must be a person's id, a text of 1 to 128 bytes, not the text \" ann\""),
        ("match:1", json!({"one": "a\u{1}"}), "match:1: field `one` must be a person's id, a text of 1 to 128 bytes, not the text \"a\\u{1}\""),
        ("match:1", json!({"one": ["ann"]}), "match:1: field `one` must be a person's id, a text of 1 to 128 bytes, not a list of 1"),
        ("match:1", json!({"one": 7}), "match:1: field `one` must be a person's id, a text of 1 to 128 bytes, not 7"),
        ("event:1", json!({"at": {"lat": 90, "lon": -180}}), "at=90,-180"),
        ("event:1", json!({"at": "52.5, 13.4"}), "at=52.5,13.4"),
        ("event:1", json!({"at": {"lat": 1, "lon": 180.5}}), "event:1: field `at` must be a place like {\"lat\": 52.5, \"lon\": 13.4} or \"52.5,13.4\", not the longitude 180.5, outside of -180 to 180"),
        ("event:1", json!({"at": {"lat": 91, "lon": 0}}), "event:1: field `at` must be a place like {\"lat\": 52.5, \"lon\": 13.4} or \"52.5,13.4\", not the latitude 91, outside of -90 to 90"),
        ("event:1", json!({"at": "-90.5,181"}), "event:1: field `at` must be a place like {\"lat\": 52.5, \"lon\": 13.4} or \"52.5,13.4\", not the latitude -90.5, outside of -90 to 90"),
        ("event:1", json!({"at": {"lat": 1}}), "event:1: field `at` must be a place like {\"lat\": 52.5, \"lon\": 13.4} or \"52.5,13.4\", not a map"),
        ("event:1", json!({"at": "here"}), "event:1: field `at` must be a place like {\"lat\": 52.5, \"lon\": 13.4} or \"52.5,13.4\", not the text \"here\""),
        ("event:1", json!({"at": "1,2,3"}), "event:1: field `at` must be a place like {\"lat\": 52.5, \"lon\": 13.4} or \"52.5,13.4\", not the text \"1,2,3\""),
        ("event:1", json!({"at": "NaN,inf"}), "event:1: field `at` must be a place like {\"lat\": 52.5, \"lon\": 13.4} or \"52.5,13.4\", not the text \"NaN,inf\""),
        ("event:1", json!({"at": [1, 2]}), "event:1: field `at` must be a place like {\"lat\": 52.5, \"lon\": 13.4} or \"52.5,13.4\", not a list of 2"),
    ] {
        assert_eq!(describe_cells(of, &json), expected, "{of} {json}");
    }
}

#[test]
fn an_address_is_one_of_the_web() {
    for bad in [
        "javascript:alert(1)",
        "ftp://a.b",
        "//a.b",
        "https://",
        "https://a b",
        "http://u@h/",
        "https://a\"b",
        "x",
        "data:text/html,x",
        "",
    ] {
        assert!(
            describe_cells("work:1", &json!({ "image": bad })).contains("must be an absolute URL"),
            "{bad}"
        );
    }
    for fine in
        ["http://example.com", "HTTPS://EXAMPLE.com/ä?q=ü", "http://ä.com", "https://a.b:8080/c(d)'e'"]
    {
        assert_eq!(describe_cells("work:1", &json!({ "image": fine })), format!("image={fine}"));
    }
}

#[test]
fn examples_have_every_field_and_pass_the_conditions_that_ask_for_them() {
    for catalogue in [good_catalogue(), wide_catalogue::parse_wide()] {
        for (name, declared) in &catalogue.subjects {
            let state = catalogue.example(name);
            assert_eq!(state.cells.len(), declared.fields.len(), "{name}");
        }
    }
    let two = wide_catalogue::parse_wide().example("match");
    assert_eq!((two.text("one"), two.text("other")), (Some("one"), Some("other")));
    let catalogue = good_catalogue();
    assert!(catalogue.example("nothing").is_empty());
    assert_eq!(catalogue.example("event").text("label"), Some("Example label"));
}

#[test]
fn kinds_are_found_by_their_event_and_references_by_their_fields() {
    let catalogue = good_catalogue();
    let on = |what: &str| catalogue.kinds_on(what).map(|kind| kind.name.to_string()).collect::<Vec<_>>();
    assert_eq!(on("event.announced"), ["event_near"]);
    assert_eq!(on("event.repeated"), ["event_again"]);
    assert_eq!(on("event"), [""; 0]);
    assert_eq!(
        catalogue.events().collect::<Vec<_>>(),
        ["event.announced", "event.repeated", "work.published"]
    );
    let event = state_of(
        &catalogue,
        "event:1",
        json!({"authors": ["author:2", "author:1", "author:2"], "label": "x"}),
    );
    assert_eq!(catalogue.related_refs(&event), [subject_ref("author:1"), subject_ref("author:2")]);
    assert_eq!(catalogue.name_of(&subject_ref("event:1"), &event), Some("x"));
    assert_eq!(catalogue.name_of(&subject_ref("event:1"), &VersionedState::default()), None);
    assert_eq!(catalogue.subjects["work"].called.as_deref(), Some("title"));
}

#[test]
fn a_hash_is_of_the_rules() {
    let hash = |text: &str, template: &str, piece: &str, by: &str| {
        assert!(text.contains(piece), "{piece}");
        let catalogue =
            parse_with(&text.replace(piece, by), template).unwrap_or_else(|problems| panic!("{problems}"));
        let plans: Vec<u64> = catalogue.plans.by_name.values().map(|plan| plan.hash).collect();
        (plans, catalogue.hash)
    };
    for (text, template, rules, words) in [
        (GOOD, MJML, slips::RULES, slips::WORDS),
        (wide_catalogue::WIDE, wide_catalogue::MJML, wide_catalogue::RULES, wide_catalogue::WORDS),
    ] {
        let same = hash(text, template, "", "");
        let mut seen = vec![same.1];
        for (piece, by) in rules {
            let other = hash(text, template, piece, by);
            assert!(other.0 != same.0 && !seen.contains(&other.1), "{by}");
            seen.push(other.1);
        }
        for (piece, by) in words {
            let other = hash(text, template, piece, by);
            assert!(other.0 == same.0 && !seen.contains(&other.1), "{by}");
            seen.push(other.1);
        }
    }
    // Every day of the week is daily.
    let daily =
        hash(GOOD, MJML, "daily: \"09:00\"", "weekly: \"09:00\", on: [sun, mon, tue, wed, thu, fri, sat]");
    assert_eq!(daily, hash(GOOD, MJML, "", ""));
}

#[test]
fn a_name_fits_an_id() {
    let named = |bytes: usize| {
        messages(GOOD, "town:   {name: text}", &format!("town: {{{}: text}}", "a".repeat(bytes)))
    };
    assert_eq!(named(64), "fine");
    assert_eq!(named(65), "7:10: the name of a field has 65 bytes, more than 64");
}

#[test]
fn a_problem_quotes_its_line() {
    let found = parse_with(&GOOD.replace("author.gone", "author.gnoe"), MJML).unwrap_err().to_string();
    assert_eq!(
        found,
        "dir/catalogue.yaml:12:42: `author` has no field `gnoe`\n   \
            12 |     while: subject.public and not author.gnoe\n      \
               |                                          ^\n      \
               = did you mean `gone`?"
    );
}

#[test]
fn a_template_is_checked_as_a_file_of_its_own() {
    let check = |template: &str, expected: &str| {
        let found = describe_result(parse_with(GOOD, template));
        assert_eq!(found, expected, "{template}");
    };
    check("{{ headline }}{{ preheader }}{{ due | day }}{{ count }}{{ plan }}{{ unsubscribe }}", "fine");
    check(
        "{% for i in items %}{{ i.why }} {{ i.distance }} {{ i.other | default('nobody') }}{% endfor %}",
        "fine",
    );
    check("{{ unsubcribe }}", "mail/daily.mjml:1:4: there is no `unsubcribe`; did you mean `unsubscribe`?");
    check("\n{% for item in items %}{{ item.subject.title }}{{ item.subject.label }}{% endfor %}", "fine");
    check("\n {{ item.says }}", "mail/daily.mjml:2:5: there is no `item`; did you mean `items`?");
    check(
        "{% for i in items %}\n{{ i.subject.titel }}\n{{ i.syas }}{% endfor %}",
        "mail/daily.mjml:2:14: `event or work` has no field `titel`; did you mean `title`?\nmail/daily.mjml:3:6: `item` has no `syas`; did you mean `says`?",
    );
    check("{% for s in sections %}{{ (s.items | first).subject.author.name }}{% endfor %}", "fine");
    check(
        "{% for s in sections %}{{ s.items | first | day }}{% endfor %}",
        "mail/daily.mjml:1:45: `day` cannot be used on item",
    );
    check(
        "{% set sum = name %}{{ sum }}{{ som }}",
        "mail/daily.mjml:1:33: there is no `som`; did you mean `sum`?",
    );
    check("{% if name %}{% set x = 1 %}{% endif %}{{ x + 1 }}", "fine");
    check(
        "{% for x in [1] %}{% endfor %}{{ x }}",
        "mail/daily.mjml:1:34: there is no `x`; a text here reads `count`, `direction`, `due`, `headline`, `instead`, `items`, `language`, `more`, `name`, `plan`, `postal`, `preheader`, `rest`, `sections`, `settings`, `unsubscribe` or `variant`",
    );
    check("{% with x = items | length %}{{ x }}{% endwith %}", "fine");
    check(
        "{{ name | safe }}",
        "mail/daily.mjml:1:11: there is no filter `safe`; there are `length`, `first`, `last`, `upper`, `lower`, `capitalize`, `trim`, `default`, `round`, `at_most`, `day`, `time`, `plural`, `number`, `capped`, `list`, `short`, `batch` or `urlencode`",
    );
    check(
        "{% autoescape false %}x{% endautoescape %}",
        "mail/daily.mjml:1:4: `{% autoescape %}` is not for texts; a text has `{{ }}`, `{% if %}`, `{% for %}`, `{% set %}` and `{% with %}`",
    );
    check(
        "{% macro m() %}x{% endmacro %}",
        "mail/daily.mjml:1:4: `{% macro %}` is not for texts; a text has `{{ }}`, `{% if %}`, `{% for %}`, `{% set %}` and `{% with %}`",
    );
    check("{{ name.upper() }}", "mail/daily.mjml:1:8: there are no functions to call in texts");
    check("{{ {'a': 1} }}", "mail/daily.mjml:1:4: a map is not for texts");
    check(
        "{{ items[0].says }}{{ items[:2] | list }}{{ items['x'] }}",
        "mail/daily.mjml:1:45: `[ ]` takes an element of a list, this is list of item",
    );
    check(
        "{{ name | list }}{{ count | upper }}{{ -name }}",
        "mail/daily.mjml:1:11: `list` cannot be used on text; only a list can be taken apart\nmail/daily.mjml:1:29: `upper` cannot be used on number\nmail/daily.mjml:1:41: expected a number, this is text",
    );
}

/// A folder with a catalogue in it.
fn catalogue_folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("mail")).unwrap();
    fs::write(dir.path().join("catalogue.yaml"), GOOD).unwrap();
    fs::write(dir.path().join("mail/daily.mjml"), MJML).unwrap();
    fs::write(dir.path().join("mail/daily.txt"), TEXT).unwrap();
    dir
}

#[test]
fn a_folder_is_read_and_nothing_outside_of_it() {
    let dir = catalogue_folder();
    let loaded = Catalogue::load(dir.path(), DayLife::default()).unwrap();
    assert_eq!((loaded.hash, &loaded.plans), (good_catalogue().hash, &good_catalogue().plans));
    let check = |dir: &Path, expected: &str| {
        let problem = Catalogue::load(dir, DayLife::default()).unwrap_err().0.remove(0);
        let help = problem.help.map(|help| format!("; {help}")).unwrap_or_default();
        assert_eq!(format!("{}:{}: {}{help}", problem.line, problem.column, problem.what), expected);
    };
    let (text, other) = (dir.path().join("mail/daily.txt"), tempfile::tempdir().unwrap());
    fs::write(other.path().join("secret"), "secret").unwrap();
    fs::remove_file(&text).unwrap();
    check(dir.path(), "34:11: `mail/daily.txt` cannot be read: there is no such file");
    std::os::unix::fs::symlink(other.path().join("secret"), &text).unwrap();
    check(dir.path(), "34:11: `mail/daily.txt` cannot be read: it is outside the catalogue's folder");
    fs::remove_file(&text).unwrap();
    fs::write(&text, " ".repeat(FILE_BYTES_MAX + 7)).unwrap();
    check(dir.path(), "34:11: `mail/daily.txt` cannot be read: the file has more than 262144 bytes");
    fs::write(&text, b"a\n\xFF").unwrap();
    check(
        dir.path(),
        "34:11: `mail/daily.txt` cannot be read: it is not UTF-8 in line 2; save it in the encoding UTF-8",
    );
    let make = "name the folder of a catalogue, or let `tidings init DIR` make one";
    check(other.path(), &format!("1:1: this folder has no `catalogue.yaml`; {make}"));
    let gone = other.path().join("gone");
    check(&gone, &format!("1:1: there is no folder `{}`; {make}", gone.display()));
    let (file, folder) = (dir.path().join("catalogue.yaml"), dir.path().display());
    let name = file.display();
    check(
        &file,
        &format!("1:1: `{name}` is a file and not a folder; name the folder that it is in: `{folder}`"),
    );
    fs::write(&file, b"catalogue: a\nsubjects: \xE4").unwrap();
    check(dir.path(), "2:11: the file is not UTF-8 here; save it in the encoding UTF-8");
    fs::write(&file, "# nothing yet\n").unwrap();
    let begin = "begin with `catalogue: NAME`, or let `tidings init DIR` write one";
    check(dir.path(), &format!("1:1: the file is empty; {begin}"));
    fs::write(&file, "\u{e4}".repeat(FILE_BYTES_MAX)).unwrap();
    check(dir.path(), "1:1: the file has more than 262144 bytes; move long texts into templates");
}

#[test]
fn what_nests_too_deep_is_refused() {
    for levels in [5_000, 20] {
        let deep = GOOD.replace("most: 8", &format!("most: {}1{}", "[".repeat(levels), "]".repeat(levels)));
        assert!(
            describe_result(parse_with(&deep, MJML))
                .contains("the maps and lists within each other are too many"),
            "{}",
            describe_result(parse_with(&deep, MJML))
        );
    }
    let nested = format!("{}x{}", "{% if name %}".repeat(5_000), "{% endif %}".repeat(5_000));
    assert!(
        describe_result(parse_with(GOOD, &nested)).contains("recursion"),
        "{}",
        describe_result(parse_with(GOOD, &nested))
    );
    let long = format!("{{{{ {} }}}}", ["count"; 5_000].join(" + "));
    assert_eq!(
        describe_result(parse_with(GOOD, &long)),
        "mail/daily.mjml:1:1: an expression of more than 400 words"
    );
    let brackets = format!("{{{{ {}1{} }}}}", "(".repeat(350), ")".repeat(40));
    assert_ne!(describe_result(parse_with(GOOD, &brackets)), "fine");
}

/// Each step is one step, and what it makes is twice as large: `check` would take all memory to render it.
#[test]
fn a_text_is_not_put_together_from_itself_for_ever() {
    let check = |text: &str, is_good: bool| {
        let found = describe_result(parse_with(GOOD, &text.replace("mjml", "")));
        assert_eq!(!found.contains("put together from more than 100 values"), is_good, "{text}: {found}");
    };
    let doubled = |step: &str, times: usize| format!("{{% set s = name %}}{}{{{{ s }}}}", step.repeat(times));
    for step in [
        "{% set s = s ~ s %}",
        "{% set s = [s, s] | list %}",
        "{% set s = (s, s) | list %}",
        "{% set s = s ~ (s | upper) %}",
        "{% set s = s ~ (s if count else 'x') %}",
        "{% set s = s ~ (s or 'x') %}",
        "{% set s = s ~ s[1:] %}",
        "{% if count %}{% set s = s ~ s %}{% else %}{% set s = 'x' %}{% endif %}",
    ] {
        check(&doubled(step, 5), true);
        check(&doubled(step, 40), false);
    }
    let within =
        format!("{{% with s = name %}}{}{{{{ s }}}}{{% endwith %}}", "{% with s = s ~ s %}".repeat(40));
    check(&format!("{within}{}", "{% endwith %}".repeat(40)), false);
    check(&doubled("{% set s = s ~ 'a' %}", 90), true);
    check(&doubled("{% set s = s ~ 'a' %}", 110), false);
    check(&format!("{{{{ {} }}}}", ["name"; 101].join(" ~ ")), false);
}

#[test]
fn the_name_of_a_catalogue_fits_a_header() {
    let name = "catalogue: ";
    let line = GOOD.lines().find(|line| line.starts_with(name)).unwrap();
    for (by, is_good) in
        [("\"Ö & <co>\"", true), ("\"a\\r\\nX: y\"", false), ("\"\"", false), (&"a".repeat(70), false)]
    {
        let found = messages(GOOD, line, &format!("{name}{by}"));
        assert_eq!(!found.contains("must be a name of one line, of 1 to 64 bytes"), is_good, "{by}: {found}");
    }
}

/// A pipe to which nobody writes would be read forever.
#[test]
fn only_files_are_read() {
    let dir = catalogue_folder();
    let pipe = dir.path().join("mail/daily.txt");
    fs::remove_file(&pipe).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let found = Catalogue::load(dir.path(), DayLife::default()).unwrap_err().0[0].what.clone();
    assert_eq!(found, "`mail/daily.txt` cannot be read: it is not a file");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_file_is_too_odd_to_be_read(of_wide: bool, cut in 0..GOOD.len().max(wide_catalogue::WIDE.len()), len in 0_usize..40, piece in "\\PC{0,12}|[\\[\\]{}:,'\"%&*!|>#\n -]{0,12}") {
        let (whole, template) = if of_wide { (wide_catalogue::WIDE, wide_catalogue::MJML) } else { (GOOD, MJML) };
        let mut text = whole.to_string();
        let cut = cut.min(text.len());
        let start = (0..=cut).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let end = (start + len..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(start);
        text.replace_range(start..end, &piece);
        if let Err(problems) = parse_with(&text, template) {
            for problem in &problems.0 {
                prop_assert!(problem.line >= 1 && problem.column >= 1, "{problem}");
            }
        }
    }

    #[test]
    fn no_text_is_too_odd_to_be_checked(text in "(\\{\\{|\\}\\}|\\{%|%\\}|for|if|set|in| |name|items|\\.|\\||first|'|\"|\\(|\\)|1|=|endif|endfor|~|\n|é){0,30}") {
        let _found = describe_result(parse_with(GOOD, &text));
    }

    #[test]
    fn every_json_is_a_value_or_a_message(text in any::<String>(), number in any::<f64>(), flag: bool) {
        let (good, wide) = (good_catalogue(), wide_catalogue::parse_wide());
        let values = [json!(text), json!(number), json!(flag), json!([text, number]), json!({"lat": number, "lon": text}), json!(null)];
        for (catalogue, (of, declared)) in [&good, &wide].into_iter().flat_map(|one| one.subjects.iter().map(move |of| (one, of))) {
            for (field, json) in declared.fields.keys().flat_map(|field| values.iter().map(move |json| (field, json))) {
                let data = serde_json::Map::from_iter([(field.clone(), json.clone())]);
                let _state = catalogue.state(&subject_ref(&format!("{of}:1")), &data, 1);
            }
        }
    }
}
