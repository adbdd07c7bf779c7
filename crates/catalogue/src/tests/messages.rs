//! The languages of a catalogue and its messages: what is said of each slip, as `file:line:column: what; help`.

use source_text::TextProblem;

use super::*;

const EN: &str =
    "made = { $who } made { $title }\nnew = { $count ->\n    [one] one\n   *[other] { $count }\n }\n";
const DE: &str =
    "made = { $title } von { $who }\nnew = { $count ->\n    [one] eins\n   *[other] { $count }\n }\n";

/// The good catalogue in two languages, with this piece of one of its files replaced.
fn parse_languages(piece: &str, by: &str) -> Result<Catalogue, TextProblems> {
    let spoken = GOOD
        .replace("catalogue: sample", "catalogue: sample\nlanguages: [en, de]\nwords: words")
        .replace(
            "'{{ author.name }} made \"{{ subject.title }}\"'",
            "'{{ say(\"made\", who=author, title=subject.title) }}'",
        )
        .replace("'New: {{ items | list(2) }}'", "'{{ say(\"new\", count=count) }}'");
    let files = [spoken.as_str(), EN, DE];
    assert!(piece.is_empty() || files.iter().any(|text| text.contains(piece)), "{piece}");
    let [text, en, de] =
        files.map(|text| if piece.is_empty() { text.to_owned() } else { text.replacen(piece, by, 1) });
    Catalogue::parse(&text, "dir/catalogue.yaml", &|name| match name {
        "words/en.ftl" => Ok(en.clone()),
        "words/de.ftl" if !de.is_empty() => Ok(de.clone()),
        "mail/daily.mjml" => Ok(MJML.to_owned()),
        "mail/daily.txt" => Ok("{{ headline }}".to_owned()),
        _ => Err("there is no such file".to_owned()),
    })
}

fn list_problems(piece: &str, by: &str) -> Vec<String> {
    let problems = parse_languages(piece, by).err().unwrap_or_default();
    let said = problems.0.iter().map(|problem| {
        let help = problem.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
        format!("{}:{}:{}: {}{help}", problem.file, problem.line, problem.column, problem.what)
    });
    said.collect()
}

#[test]
fn messages_are_typed_as_texts_are() {
    let check = |piece: &str, by: &str, expected: &[&str]| {
        assert_eq!(list_problems(piece, by), expected, "{piece} -> {by}");
    };
    check("", "", &[]);
    check(
        "say(\"made\"",
        "say(\"mode\"",
        &["dir/catalogue.yaml:15:19: there is no message `mode`; did you mean `made`?"],
    );
    check(
        "who=author, ",
        "",
        &["dir/catalogue.yaml:15:15: `made` needs `who`; write `say(\"made\", who=…)`"],
    );
    check(
        "who=author",
        "hwo=author",
        &[
            "dir/catalogue.yaml:15:15: `made` needs `who`; write `say(\"made\", who=…)`",
            "dir/catalogue.yaml:15:31: `made` takes no `hwo`; did you mean `who`?",
        ],
    );
    check(
        "count=count",
        "count=name",
        &["dir/catalogue.yaml:34:36: `count` of `new` chooses a plural, so it is a number, this is text"],
    );
    check(
        "say(\"made\", who",
        "say(who",
        &[
            "dir/catalogue.yaml:15:15: `say` takes a message and its values; the first is the name of a message in quotes, the others are `name=value`",
        ],
    );
    check(
        "{{ say(\"new\", count=count) }}",
        "{{ range(3) }}",
        &["dir/catalogue.yaml:34:19: there are no functions to call in texts"],
    );
    check(
        "words: words\n",
        "",
        &[
            "dir/catalogue.yaml:14:15: `say` needs the messages of a catalogue; name the folder of its messages at the top of the catalogue: `words: words`",
            "dir/catalogue.yaml:33:19: `say` needs the messages of a catalogue; name the folder of its messages at the top of the catalogue: `words: words`",
        ],
    );
    check(
        "{title: Works,",
        "{title: '{{ say(\"works\") }}',",
        &["dir/catalogue.yaml:38:25: there is no message `works`"],
    );
    check(
        "words: words\n",
        "words: words\ncategories:\n  offers: {title: '{{ say(\"offers\") }}'}\n",
        &["dir/catalogue.yaml:6:27: there is no message `offers`"],
    );
}

#[test]
fn each_language_has_what_is_said() {
    let check = |piece: &str, by: &str, expected: &[&str]| {
        assert_eq!(list_problems(piece, by), expected, "{piece} -> {by}");
    };
    check(
        "made = { $title } von { $who }\n",
        "",
        &["dir/words/de.ftl:1:1: `made` is missing, which texts say"],
    );
    check(
        "made = { $title } von { $who }\n",
        "maed = x\n",
        &["dir/words/de.ftl:1:1: `made` is missing, which texts say; did you mean `maed`?"],
    );
    check(
        "von { $who }",
        "von { $whom }",
        &[
            "dir/words/de.ftl:1:1: `made` reads `$whom`, which it does not in `dir/words/en.ftl`; did you mean `who`?",
        ],
    );
    check(
        "von { $who }",
        "von { who }",
        &["dir/words/de.ftl:1:1: `made` refers to `who`, which is not there"],
    );
    check(
        "[en, de]",
        "[en, de, fr]",
        &["dir/catalogue.yaml:4:8: `words/fr.ftl` cannot be read: there is no such file"],
    );
    check(
        "[en, de]",
        "[en, dee]",
        &["dir/catalogue.yaml:3:17: the house does not speak `dee`; did you mean `de`?"],
    );
    check(
        "[en, de]",
        "[en, pt-BR]",
        &[
            "dir/catalogue.yaml:3:17: the house does not speak `pt-BR`; it speaks `en`, `de`, `fr`, `es`, `ja`, `ar` or `ru`",
        ],
    );
    check(
        "[en, de]",
        "[en, d_e]",
        &["dir/catalogue.yaml:3:17: `d_e` is not the tag of a language; write it as `de` or `de-AT`"],
    );
    check("[en, de]", "[en, de, DE]", &["dir/catalogue.yaml:3:21: `DE` is given twice"]);
    check(
        "languages: [en, de]\n",
        "",
        &[
            "dir/catalogue.yaml:3:8: `words` needs the `languages` of the catalogue; write `languages: [en, de]` beside it",
        ],
    );
}

#[test]
fn what_nobody_says_and_missing_plurals_are_noted() {
    let check = |piece: &str, by: &str, expected: &[&str]| {
        let catalogue = parse_languages(piece, by).unwrap_or_else(|problems| panic!("{problems}"));
        let notes = catalogue.notes().into_iter().filter(|note| note.file.ends_with("ftl"));
        let said: Vec<String> =
            notes.map(|note| format!("{}:{}: {}", note.file, note.line, note.what)).collect();
        assert_eq!(said, expected, "{piece} -> {by}");
    };
    check("", "", &[]);
    check("made = { $who }", "old = x\nmade = { $who }", &["dir/words/en.ftl:1: no text says `old`"]);
    check("made = { $title }", "-it = x\nthat = y\nmade = { that }{ -it }{ $title }", &[]);
    check(
        "    [one] eins\n",
        "    [two] zwei\n",
        &["dir/words/de.ftl:2: `new` never takes `[two]` for `$count`, and has no `one`"],
    );
}

/// A catalogue whose one text says `a`, with these messages in English, German, French and Japanese.
fn parse_four(value: &str, words: [&str; 4]) -> Result<Catalogue, TextProblems> {
    let text = format!(
        "catalogue: four
languages: [en, de, fr, ja]
words: words
subjects: {{page: {{owner: person, title: text, edits: number}}}}
kinds:
  edited: {{on: page.edited, to: {{person: owner}}, says: '{{{{ say(\"a\", n=subject.{value}) }}}}', plans: now}}
plans:
  now:
    {{channel: push, close: at_once, look_back: 2d, headline: h, body: b,
     sections: [{{title: All, kinds: edited, most: 9, order: newest}}]}}
"
    );
    Catalogue::parse(&text, "catalogue.yaml", &|name| {
        let tags = ["en", "de", "fr", "ja"].map(|tag| format!("words/{tag}.ftl"));
        let found = tags.iter().position(|file| file == name);
        Ok(found.map_or("", |at| words[at]).replace("CHOOSE", "{ $n ->\n    [one] x\n   *[other] { $n }\n }"))
    })
}

#[test]
fn what_differs_between_languages_is_told_once_where_it_is_wrong() {
    let check = |words: [&str; 4], expected: &[&str]| {
        let line = |problem: &TextProblem| {
            let help = problem.help.as_deref().unwrap_or_default();
            format!("{}:{}: {}; {help}", problem.file, problem.line, problem.what)
        };
        let said: Vec<String> = match parse_four("edits", words) {
            Ok(catalogue) => {
                let notes = catalogue.note_messages();
                notes.iter().map(line).collect()
            }
            Err(problems) => problems.0.iter().filter(|one| one.file.ends_with("ftl")).map(line).collect(),
        };
        assert_eq!(said, expected, "{words:?}");
    };
    let choosing = "a = CHOOSE\n";
    check(
        [choosing; 4],
        &["words/ja.ftl:1: `a` never takes `[one]` for `$n`; the plurals of `ja` are other"],
    );
    check([choosing, choosing, choosing, "a = { $n }\n"], &[]);
    // One form for all numbers is meant if the star says so.
    check([choosing, "a = { $n ->\n   *[other] { $n } weitere\n }\n", choosing, "a = { $n }\n"], &[]);
    let one_form =
        "choose its plural, or write `{ $n ->` with `*[other]` alone, if the form is right for all";
    check(
        ["a = { $n }\n", choosing, choosing, "a = { $n }\n"],
        &[&format!(
            "words/en.ftl:1: `a` has one form for all of `$n`, by which `words/de.ftl` chooses; {one_form}"
        )],
    );
    check(
        [choosing, choosing, "# x\nb = { $n }\na = { b }\n", "a = { $n }\n"],
        &[&format!(
            "words/fr.ftl:3: `a` has one form for all of `$n`, by which `words/en.ftl` chooses; {one_form}"
        )],
    );
    check(
        [choosing, choosing, choosing, "a = x\n"],
        &[
            "words/ja.ftl:1: `a` leaves out `$n`, which `words/en.ftl` writes; write `{ $n }`, or choose by it",
        ],
    );
    // A text gives a number, so these are no words.
    check(
        ["a = { $n ->\n    [on] x\n   *[other] { $n }\n }\n"; 4],
        &[
            "words/en.ftl:1: `a` never takes `[on]` for `$n`, and has no `one`; the plurals of `en` are one, other",
            "words/de.ftl:1: `a` never takes `[on]` for `$n`, and has no `one`; the plurals of `de` are one, other",
            "words/fr.ftl:1: `a` never takes `[on]` for `$n`, and has no `one`; the plurals of `fr` are one, many, other",
            "words/ja.ftl:1: `a` never takes `[on]` for `$n`; the plurals of `ja` are other",
        ],
    );
    // What all others have alike is right.
    check(
        ["a = { $m }\n", "a = { $n }\n", "a = { $n }\n", "a = { $n }\n"],
        &["words/en.ftl:1: `a` does not read `$n`, which all other languages do; "],
    );
    check(
        ["a = { $n\n", "a = { $n }{ $k }\n", "a = { $n }\n", "a = { $n }\n"],
        &[
            "words/en.ftl:1: `a` has a `{` that is not closed; write `}` after the value, as in `{ $count }`; the sign itself is `{ \"{\" }`",
        ],
    );
    check(
        ["a = { $n }\nb = x\n", "a = { $n }\nb = x\n", "a = { $n }\nb = x\n", "a = { $n }\nb = x\nc = x\n"],
        &[
            "words/en.ftl:2: no text says `b`; `say(\"b\")` would say it",
            "words/ja.ftl:3: no text says `c`; `say(\"c\")` would say it",
        ],
    );
}

#[test]
fn a_text_may_choose_by_words() {
    let words = "a = { $n ->\n    [on] x\n   *[other] y\n }\n";
    let catalogue = parse_four("title", [words; 4]).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(catalogue.note_messages(), []);
}

#[test]
fn a_file_of_no_language_is_noted() {
    let dir = tempfile::tempdir().unwrap();
    let (text, words) = (dir.path().join("catalogue.yaml"), dir.path().join("words"));
    let catalogue = "catalogue: one
languages: [en]
words: words
subjects: {page: {owner: person}}
kinds: {edited: {on: page.edited, to: {person: owner}, says: '{{ say(\"a\") }}', plans: now}}
plans:
  now:
    {channel: push, close: at_once, look_back: 2d, headline: h, body: b,
     sections: [{title: All, kinds: edited, most: 9, order: newest}]}
";
    std::fs::write(text, catalogue).unwrap();
    std::fs::create_dir(&words).unwrap();
    for file in ["en.ftl", "de.ftl", "notes.txt"] {
        std::fs::write(words.join(file), "a = x\n").unwrap();
    }
    let notes = Catalogue::load(dir.path(), DayLife::default()).unwrap().note_messages();
    let said: Vec<_> = notes.iter().map(|note| (note.file.clone(), note.what.as_str())).collect();
    assert_eq!(said, [(words.join("de.ftl").display().to_string(), "nobody reads these messages")]);
}
