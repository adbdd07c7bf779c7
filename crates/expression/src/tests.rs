//! What is found in a text, what one reads, and what a condition holds of.

use std::collections::BTreeMap;

use model::{FieldType, SubjectRef, SubjectType, UtcMillis, Value, VersionedState, time::AskedMoment};

use crate::{
    ConditionFacts, KeptTypes, KindCondition, TextFinding, TextReads, check_expression, check_source,
    check_text, condition_scope, says_scope, source_scope,
};

fn subjects() -> BTreeMap<String, SubjectType> {
    let subject = |name: &str, fields: &[(&str, &str)]| {
        let fields = fields.iter().map(|(name, of)| (name.to_string(), FieldType::parse(of).unwrap()));
        let of = SubjectType { name: name.to_owned(), fields: fields.collect(), called: None };
        (name.to_owned(), of)
    };
    let work = [
        ("title", "text"),
        ("public", "flag"),
        ("score", "number"),
        ("author", "ref author"),
        ("tags", "refs tag"),
        ("opens", "time"),
    ];
    let author = [("name", "text"), ("home", "ref town")];
    BTreeMap::from([
        subject("work", &work),
        subject("author", &author),
        subject("tag", &[("name", "text")]),
        subject("town", &[("name", "text")]),
    ])
}

/// Each finding with the piece of the text that it is about.
fn describe_findings(text: &str, findings: &[TextFinding]) -> String {
    let describe = |finding: &TextFinding| {
        let piece = text.get(finding.offset..finding.offset + finding.len).unwrap_or("?");
        let help = finding.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
        format!("[{piece}] {}{help}", finding.what)
    };
    findings.iter().map(describe).collect::<Vec<_>>().join("\n")
}

fn describe_reads(text: &str, reads: Result<TextReads, Vec<TextFinding>>) -> String {
    match reads {
        Err(findings) => describe_findings(text, &findings),
        Ok(reads) => {
            let fields = reads.fields.iter().flat_map(|(of, names)| names.iter().map(move |name| (of, name)));
            let fields = fields.map(|(of, name)| format!("{of}.{name}"));
            reads.roots.into_iter().chain(fields).collect::<Vec<_>>().join(" ")
        }
    }
}

#[test]
fn a_condition_reads_what_is_declared_and_is_true_or_false() {
    let subjects = subjects();
    let check = |text: &str, expect: &str| {
        let reads = check_expression(text, &condition_scope(&subjects, "work"));
        assert_eq!(describe_reads(text, reads), expect, "{text}");
    };
    check("subject.public and subject.score > 3", "subject work.public work.score");
    check("author.name == subject.title", "author subject author.name work.title");
    check("subject.author.name is defined", "subject author.name work.author");
    check("'news' in (subject.tags | first).name", "subject tag.name work.tags");
    check("subject.titel is defined", "[titel] `work` has no field `titel`; did you mean `title`?");
    check(
        "subject.title",
        "[subject.title] a condition must be true or false, this is text; say what about it: `subject.title is defined`, or compare it",
    );
    check(
        "author.home.name == 'Ulm'",
        "[home] `home` is a reference of a reference; only what the subject itself refers to is loaded for texts",
    );
    check("subject.title > subject.score", "[subject.score] text cannot be compared with number");
    let value = "write a field, a number or a text in quotes";
    check(
        "subject.public and",
        &format!("[and] a value is expected after `and`, where the text ends; {value}"),
    );
    check("not", &format!("[not] a value is expected after `not`, where the text ends; {value}"));
    check("subject.score >", &format!("[>] a value is expected after `>`, where the text ends; {value}"));
    check("", &format!("[] a value is expected, and there is none; {value}"));
    check(
        "(subject.public",
        "[public] `)` is expected after `public`, where the text ends; write it where it belongs",
    );
    check("subject.", "[.] a name is expected after `.`, where the text ends; write the name of a field");
    check("subject.title = 'x'", "[=] unexpected input after expression; a comparison is written `==`");
    check(
        "subject.title | day == 'x'",
        "[day] there is no filter `day`; there are `length`, `first`, `last`, `upper`, `lower`, `capitalize`, `trim`, `default`, `round` or `at_most`",
    );
    check("now() > 3", "[now()] there are no functions to call in texts");
}

#[test]
fn now_is_never_held_against_due() {
    let subjects = subjects();
    let check = |text: &str, is_refused: bool| {
        let reads = describe_reads(text, check_expression(text, &condition_scope(&subjects, "work")));
        assert_eq!(reads.contains("`now` is not compared with `due`"), is_refused, "{text}: {reads}");
        assert!(
            !is_refused || reads.contains("compare `now` or `due` with a time of the subject"),
            "{reads}"
        );
    };
    for refused in [
        "now <= due",
        "due > now",
        "now == due",
        "not (now <= due)",
        "subject.public and now < due",
        "now > due or subject.public",
        "now - 3600000 < due",
        "now < due + 60 * 1000",
        "now in [due]",
        "(now | default(subject.opens)) < (due if subject.public else subject.opens)",
        "subject.opens < now < due",
        "(now < due) == subject.public",
    ] {
        check(refused, true);
    }
    for fine in [
        "subject.opens > now",
        "due < subject.opens",
        "subject.opens > now and subject.opens > due",
        "now < subject.opens",
    ] {
        check(fine, false);
    }
    check("(now > subject.opens) == (due > subject.opens)", false);
}

#[test]
fn a_text_prints_what_can_be_printed_and_is_bounded() {
    let subjects = subjects();
    let check = |text: &str, expect: &str| {
        let findings = check_text(text, &says_scope(&subjects, "work", true, &KeptTypes::new()));
        assert_eq!(describe_findings(text, &findings), expect, "{text}");
    };
    check("{{ other }} and {{ author.name }} made {{ subject.title | upper }}", "");
    check("{{ subject.score | capped }} {{ subject.score | capped(20) }}", "");
    for odd in ["1.5", "0", "-5", "\"x\"", "subject.score", "10000000000000000000000"] {
        let found = format!("[{odd}] `capped` takes a whole number from 1");
        check(&format!("{{{{ subject.score | capped({odd}) }}}}"), &found);
    }
    check("{% for tag in subject.tags %}{{ loop.index }} {{ tag }}{% endfor %}", "");
    check("{{ subject.public }}", "[subject.public] flag cannot be printed; `{% if %}` asks a flag");
    check(
        "{% if subject.public %}x",
        "[{% if subject.public %}] this `if` is not closed; write `{% endif %}` where it ends",
    );
    check(
        "{% include 'x' %}",
        "[include 'x'] `{% include %}` is not for texts; a text has `{{ }}`, `{% if %}`, `{% for %}`, `{% set %}` and `{% with %}`",
    );
    let doubled = "{% set s = s ~ s %}".repeat(7);
    check(
        &format!("{{% set s = subject.title %}}{doubled}"),
        "[s ~ s] a value put together from more than 100 values",
    );
    let long = format!("{{{{ subject.score{} }}}}", " + 1".repeat(200));
    check(&long, "[{{] an expression of more than 400 words");
}

#[test]
fn a_source_reads_any_column_and_what_its_format_has() {
    let subjects = subjects();
    let check = |text: &str, expect: &str| {
        let reads = check_source(text, &source_scope(&subjects, &["before"]), false);
        assert_eq!(describe_reads(text, reads), expect, "{text}");
    };
    check("row.public and not before.public", "before row");
    check("row.made | millis", "row");
    check(
        "event.id",
        "[event] there is no `event`; a text here reads `before`, `change`, `key`, `record` or `row`",
    );
}

#[test]
fn a_condition_holds_of_what_is_known() {
    let subjects = subjects();
    let [work, author] = ["work:1", "author:2"].map(|text| SubjectRef::new(text).unwrap());
    let named = VersionedState::from_values(1, [("name", Some(Value::from_text("Ann")))]);
    let values = [
        ("score", Some(Value::Number(4.0))),
        ("author", Some(Value::Ref(author.clone()))),
        ("opens", Some(Value::Time(UtcMillis(6)))),
    ];
    let state = VersionedState::from_values(1, values);
    let check = |text: &str, expect: bool| {
        let reads = check_expression(text, &condition_scope(&subjects, "work")).unwrap();
        let condition = KindCondition::compile(text, reads).unwrap();
        let related = |of: &SubjectRef| (*of == author).then_some(&named);
        let moment = AskedMoment { now: UtcMillis(7), due: UtcMillis(5) };
        let holds =
            |state| condition.holds(&ConditionFacts { subject: &work, state, related: &related, moment });
        assert_eq!(holds(&state), Ok(expect), "{text}");
        assert_eq!(holds(&VersionedState::default()), Ok(false), "{text}, of nothing");
    };
    check("subject.score > 3", true);
    check("subject.score > 4", false);
    check("now > subject.opens", true);
    check("due > subject.opens", false);
    check("author.name == 'Ann'", true);
    check("subject.author.id == '2'", true);
    check("not subject.public", true);
    // A comparison with what is not there.
    check("subject.title > 'a'", false);
}
