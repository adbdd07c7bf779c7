//! The catalogue's messages as data: one good catalogue, and what is said of it after each slip.

use std::collections::BTreeMap;

use model::{Cell, Kind, State, SubjectRef, Value};
use serde_json::json;

use crate::{BadField, Catalogue, Facts, Problems};

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
    look_back: 7d
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

fn parse_with(text: &str, template: &str) -> Result<Catalogue, Problems> {
    Catalogue::parse(text, "dir/catalogue.yaml", &|name| match name {
        "mail/daily.mjml" => Ok(template.to_string()),
        "mail/daily.txt" => Ok(TEXT.to_string()),
        _ => Err("no such file".to_string()),
    })
}

fn good() -> Catalogue {
    parse_with(GOOD, MJML).unwrap_or_else(|problems| panic!("{problems}"))
}

/// All messages about the good catalogue with one piece of it replaced, each as `line:column: what; help`.
fn messages(piece: &str, by: &str) -> String {
    assert!(GOOD.matches(piece).count() == 1, "`{piece}` must be there once");
    said(parse_with(&GOOD.replace(piece, by), MJML))
}

fn said(result: Result<Catalogue, Problems>) -> String {
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
    for (piece, by, _) in SLIPS {
        println!("=== {by:?}\n{}", messages(piece, by));
    }
}

const SLIPS: &[(&str, &str, &str)] = &[
    ("catalogue: sample\n", "", ""),
    ("catalogue: sample", "catalog: sample", ""),
    ("catalogue: sample", "catalogue: 7", ""),
    ("catalogue: sample", "catalogue: sample\ncatalogue: again", ""),
    ("catalogue: sample", "catalogue: [sample", ""),
    ("town:   {name: text}", "town:   {name: txt}", ""),
    ("town:   {name: text}", "town:   {name: author}", ""),
    ("town:   {name: text}", "town:   {Name: text}", ""),
    ("town:   {name: text}", "town:   {subject: text}", ""),
    ("town:   {name: text}", "town:   text", ""),
    ("home: ref town", "home: ref twon", ""),
    ("called: label", "called: starts", ""),
    ("called: label", "called: lable", ""),
    ("to: {followers_of: [author, subject]}", "too: {followers_of: author}", ""),
    ("to: {followers_of: [author, subject]}", "to: author", ""),
    ("to: {followers_of: [author, subject]}", "to: {followers_of: [autor, title]}", ""),
    ("to: {followers_of: [author, subject]}", "to: {near: place}", ""),
    ("to: {followers_of: [author, subject]}", "to: {followers_of: []}", ""),
    ("on: work.published", "on: wrok.published", ""),
    ("on: work.published", "on: published", ""),
    ("plans: [daily]", "plans: [dayly]", ""),
    ("plans: [daily]", "plans: []", ""),
    ("plans: [daily]", "plans: [daily, daily]", ""),
    ("    plans: [daily]\n", "    plans: [daily]\n    expires: at subject.out\n", ""),
    ("like: event_near", "like: event_naer", ""),
    ("like: event_near", "like: event_again", ""),
    ("subject.public and not author.gone", "subject.publik and not author.gone", ""),
    ("subject.public and not author.gone", "subject.public and not author.home.name", ""),
    ("subject.public and not author.gone", "not auhtor.gone", ""),
    ("subject.public and not author.gone", "subject.title", ""),
    ("subject.public and not author.gone", "subject.score > 3 and subject.out < 4", ""),
    ("subject.public and not author.gone", "subject.score = 3", ""),
    ("subject.public and not author.gone", "subject.public and (not author.gone", ""),
    ("subject.public and not author.gone", "subject.title in ['a', 'b'] and author == 'x'", ""),
    ("subject.public and not author.gone", "subject.out | day == 'Fri'", ""),
    ("subject.public and not author.gone", "subject.title | uper == 'X'", ""),
    ("subject.public and not author.gone", "subject.title is defind", ""),
    ("subject.public and not author.gone", "range(10)", ""),
    ("subject.public and not author.gone", "true", ""),
    ("subject.public and not author.gone", "[1, 2]", ""),
    ("{{ author.name }} made", "{{ autor.name }} made", ""),
    ("{{ author.name }} made", "{{ author.nmae }} made", ""),
    ("{{ author.name }} made", "{{ author.name | day }} made", ""),
    ("{{ author.name }} made", "{{ author.name | short }} made", ""),
    ("{{ author.name }} made", "{{ author.name made", ""),
    ("{{ author.name }} made", "{% if author.name %}{{ author }} made", ""),
    ("{{ author.name }} made", "{% include \"x\" %} made", ""),
    ("{{ author.name }} made", "{{ subject.public }} made", ""),
    ("{{ authors | list }} at", "{{ authors }} at", ""),
    ("{{ authors | list }} at", "{{ authors.name }} at", ""),
    ("{{ authors | list }} at", "{% for a in authors %}{{ a.home.name }}{{ loop.indx }}{% endfor %} at", ""),
    ("subject.starts | day", "subject.strats | day", ""),
    ("channel: email", "channel: mail", ""),
    ("close: {daily:", "close: {dayly:", ""),
    ("\"09:00\"", "\"9:00\"", ""),
    ("\"09:00\"", "900", ""),
    ("zone: person", "zone: Europe/Belrin", ""),
    ("zone: person", "zone: Europe/Berlin", ""),
    ("spread: 1h30m", "spread: 30m1h", ""),
    ("spread: 1h30m", "spread: 7h", ""),
    ("look_back: 7d", "look_back: 20d", ""),
    ("look_back: 7d", "look_back: 36h", ""),
    ("look_back: 7d", "lookback: 7d", ""),
    ("at_least: 2", "at_least: 0", ""),
    ("at_least: 2", "at_least: 2.5", ""),
    ("once_per: subject", "once_per: subjects", ""),
    ("    once_per: subject\n", "    once_per: subject\n    overflow: next_time\n", ""),
    ("from: Sample <news@example.com>", "from: Sample", ""),
    ("from: Sample <news@example.com>", "from: \"a@b.c\\r\\nBcc: x\"", ""),
    ("headline: 'New: {{ items | list(2) }}'", "headline: '{{ items | list(2) }} {{ headline }}'", ""),
    ("template: mail/daily.mjml", "template: ../daily.mjml", ""),
    ("template: mail/daily.mjml", "template: /etc/passwd", ""),
    ("template: mail/daily.mjml", "template: mail/dayly.mjml", ""),
    ("kinds: work_out", "kinds: work_uot", ""),
    ("kinds: [event_near, event_again]", "kinds: [event_near]", ""),
    ("kinds: [event_near, event_again]", "kinds: [event_near, event_again, work_out]", ""),
    ("most: 8", "most: 99", ""),
    ("order: {best: score}", "order: soonest", ""),
    ("order: {best: score}", "order: {best: scores}", ""),
    ("order: {best: score}", "order: {soonest: score}", ""),
    ("order: {best: score}", "order: {best: score, soonest: out}", ""),
];
