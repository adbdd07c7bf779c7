//! The languages of a catalogue and its messages: what is said of each slip, as `file:line:column: what; help`.

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
    check(
        "made = { $who }",
        "old = x\nmade = { $who }",
        &[
            "dir/words/de.ftl:1: `old` is missing, and no text says it",
            "dir/words/en.ftl:1: no text says `old`",
        ],
    );
    check("made = { $title }", "-it = x\nthat = y\nmade = { that }{ -it }{ $title }", &[]);
    check("    [one] eins\n", "    [two] zwei\n", &["dir/words/de.ftl:2: `new` has no `one` for `$count`"]);
}
