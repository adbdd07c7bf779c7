//! The sentences of the house in every language, which language a reader gets, and what hostile values do to a sentence.

use jiff::civil;

use super::*;
use crate::house_words::{FILES, house_book};

fn language(tag: &str) -> ReaderLanguage {
    ReaderLanguage::new(tag).unwrap_or_else(|error| panic!("{tag}: {error:?}"))
}

fn book(text: &str) -> MessageBook {
    MessageBook::parse(text).unwrap_or_else(|problems| panic!("{problems:?}"))
}

fn text_value(text: &str) -> MessageValue {
    MessageValue::Text(text.to_owned())
}

#[test]
fn every_sentence_is_there_in_every_language_with_the_same_values() {
    let first = book(FILES[0].1);
    for (name, text) in FILES {
        let other = MessageBook::parse(text).unwrap_or_else(|problems| panic!("{name}: {problems:?}"));
        let mut found = compare_messages(&first, &other);
        // "This author" names what a catalogue calls it, in English alone.
        found.retain(|found| found.name != "unnamed");
        assert_eq!(found, [], "{name}");
        assert_eq!(find_plural_slips(&other, &language(name), &CountedValues::new(), true), [], "{name}");
    }
}

/// What is written alike, since it is signs alone.
const ALIKE: [&str; 4] = ["clauses-middle", "moment", "capped", "instead"];

#[test]
fn no_sentence_is_the_english_one() {
    let english = language("en");
    for (name, _) in FILES.iter().skip(1) {
        let other = language(name);
        for sentence in house_book("en").names().filter(|sentence| !ALIKE.contains(sentence)) {
            assert_ne!(
                other.house_sentence(sentence, &[]),
                english.house_sentence(sentence, &[]),
                "{name} {sentence}"
            );
        }
    }
}

#[test]
fn a_reader_gets_the_nearest_language() {
    let check = |offered: &[&str], stated: Option<&str>, expected: &str| {
        let offered: Vec<ReaderLanguage> = offered.iter().map(|tag| language(tag)).collect();
        let found = choose_language(stated, &offered).map(ReaderLanguage::tag);
        assert_eq!(found, Some(expected), "{stated:?}");
    };
    let all = ["en", "de", "fr"];
    check(&all, Some("de"), "de");
    check(&all, Some("DE"), "de");
    check(&all, Some("de-AT"), "de");
    check(&all, Some("de-Latn-CH-1996"), "de");
    check(&["en", "de", "de-AT"], Some("de-AT"), "de-AT");
    check(&["en", "de-AT"], Some("de"), "de-AT");
    check(&["en", "de-AT"], Some("de-CH"), "de-AT");
    for other in
        [None, Some("pt-BR"), Some(""), Some("-"), Some("d"), Some("x-de"), Some("deu"), Some("\u{202e}de")]
    {
        check(&all, other, "en");
        check(&["fr", "en"], other, "fr");
    }
    assert_eq!(choose_language(Some("de"), &[]), None);
}

#[test]
fn a_browser_says_which_language_it_accepts() {
    let check = |header: &str, expected: &str| {
        let offered = ["en", "de", "fr"].map(language);
        assert_eq!(choose_accepted(header, &offered).map(ReaderLanguage::tag), Some(expected), "{header}");
    };
    check("de", "de");
    check("pt-BR,pt;q=0.9,fr;q=0.5,de;q=0.8", "de");
    check("fr-CA, en;q=0.9", "fr");
    check("de;q=0, fr;q=0.1", "fr");
    check("de;q=0.5;level=1, fr;q=0.1", "fr");
    for nothing in ["", "*", ",,;", "pt", "q=1", "de;q=x", "de;q=-1", "de;q=NaN"] {
        check(nothing, "en");
    }
    check(&format!("{}de", "pt,".repeat(10_000)), "en");
}

#[test]
fn only_languages_of_the_house_can_be_spoken() {
    let check = |tag: &str, expected: Result<&str, LanguageError>| {
        let found = ReaderLanguage::new(tag);
        assert_eq!(found.as_ref().map(ReaderLanguage::tag).map_err(Clone::clone), expected, "{tag}");
    };
    check("de", Ok("de"));
    check("de-at", Ok("de-AT"));
    check("es-419", Ok("es-419"));
    check("pt", Err(LanguageError::Unknown));
    for odd in ["", "german language", "de-", "\u{202e}", "de--AT"] {
        check(odd, Err(LanguageError::NoTag));
    }
}

#[test]
fn dates_numbers_and_lists_are_those_of_the_language() {
    let check = |tag: &str, day: &str, with_year: &str, time: &str, number: &str, list: &str| {
        let of = language(tag);
        let date = civil::date(2026, 11, 27);
        assert_eq!(of.day(date, false), day, "{tag}");
        assert_eq!(of.day(date, true), with_year, "{tag}");
        assert_eq!(of.time(civil::time(18, 5, 0, 0)).replace('\u{202f}', " "), time, "{tag}");
        assert_eq!(of.number(12_345.5), number, "{tag}");
        assert_eq!(of.join_names(&["A", "B", "C"].map(str::to_owned)), list, "{tag}");
    };
    check("en", "Fri 27 Nov", "Fri 27 Nov 2026", "18:05", "12,345.5", "A, B and C");
    check("en-US", "Fri, Nov 27", "Fri, Nov 27, 2026", "6:05 PM", "12,345.5", "A, B, and C");
    check("de", "Fr., 27. Nov.", "Fr., 27.11.2026", "18:05", "12.345,5", "A, B und C");
    check("fr", "ven. 27 nov.", "ven. 27 nov. 2026", "18:05", "12\u{202f}345,5", "A, B et C");
    check("es", "vie, 27 nov", "vie, 27 nov 2026", "18:05", "12.345,5", "A, B y C");
    check("ja", "11月27日(金)", "2026/11/27(金)", "18:05", "12,345.5", "A、B、C");
    check("ru", "пт, 27 нояб.", "пт, 27 нояб. 2026\u{202f}г.", "18:05", "12\u{a0}345,5", "A, B и C");
}

#[test]
fn arabic_has_six_plurals_and_is_written_from_right_to_left() {
    let arabic = language("ar");
    assert_eq!(arabic.direction().name(), "rtl");
    let plurals = [0.0, 1.0, 2.0, 3.0, 11.0, 100.0].map(|number| arabic.plural_of(number));
    assert_eq!(plurals, ["zero", "one", "two", "few", "many", "other"]);
    let more = |count: usize| arabic.house_sentence("more-names", &[("count", count.into())]);
    assert_eq!([1, 2, 3].map(more), ["واحد آخر", "اثنان آخران", "3 آخرين"]);
    // A name in Latin letters stays together within a sentence that runs the other way.
    let names = arabic.join_names(&["Mira Holm".to_owned(), "سارة".to_owned()]);
    assert_eq!(names, "\u{2068}Mira Holm\u{2069} وسارة");
}

#[test]
fn what_a_sentence_leaves_out_is_counted_behind_it() {
    let check = |tag: &str, count: usize, expected: &str| {
        let says = MessageValue::Sentence("X".to_owned());
        let found = language(tag).house_sentence("and-more", &[("says", says), ("count", count.into())]);
        assert_eq!(found, expected, "{tag} {count}");
    };
    check("en", 1, "X (and 1 more)");
    check("en", 1_234, "X (and 1,234 more)");
    check("de", 1, "X (und noch 1)");
    check("de", 4, "X (und 4 weitere)");
    check("fr", 1, "X (et 1 autre)");
    check("fr", 4, "X (et 4 autres)");
    check("es", 4, "X (y 4 más)");
    check("ja", 4, "X（ほか4件）");
    check("ar", 1, "X (وخبر واحد آخر)");
    check("ar", 2, "X (وخبران آخران)");
    check("ar", 4, "X (و4 أخبار أخرى)");
    check("ru", 4, "X (и ещё 4)");
}

#[test]
fn english_without_languages_is_as_it_was() {
    let plain = ReaderLanguage::plain_english();
    assert_eq!(plain.number(1_234.0), "1234");
    assert_eq!(
        plain.house_sentence("distance", &[("km", MessageValue::Number(1_000.0))]),
        "1000 km from you"
    );
    assert_eq!(plain.house_sentence("page-title", &[("sender", text_value("سارة"))]), "Mail from سارة");
    assert_eq!(plain.join_names(&["A", "B", "C"].map(str::to_owned)), "A, B and C");
}

#[test]
fn hostile_values_stay_within_their_sentence() {
    let check = |tag: &str, value: &str, expected: &str| {
        let said = language(tag).house_sentence("page-title", &[("sender", text_value(value))]);
        assert_eq!(said, expected, "{tag} {value:?}");
    };
    check("en", "A\r\nBcc: x", "Mail from A  Bcc: x");
    check("en", "\u{202e}gnp.exe\u{202c}\u{2066}", "Mail from gnp.exe");
    check("en", "سارة", "Mail from \u{2068}سارة\u{2069}");
    check("de", "{ $sender } {{ x }} <b>", "Mails von { $sender } {{ x }} <b>");
    check("ar", "Ann", "رسائل \u{2068}Ann\u{2069}");
    check("ar", "سارة", "رسائل سارة");
    let long = language("fr").house_sentence("page-title", &[("sender", text_value(&"é".repeat(10_000)))]);
    assert_eq!(long.chars().count(), "Les mails de ".len() + 1_001);
    assert_eq!(strip_isolates("a\u{2068}b\u{2069}c"), "abc");
}

#[test]
fn a_message_says_what_its_values_ask_for() {
    let messages = book(
        "-brand = Wiki\n\
         edits = { $who } edited { $count ->\n    [0] nothing\n    [one] a page\n   *[other] { $count } pages\n }\n\
         her = { $gender ->\n    [female] her page\n    [male] his page\n   *[other] their page\n }\n\
         both = { her } of { -brand }{ \"\\u0021\" }\n",
    );
    let check = |name: &str, values: &[(&str, MessageValue)], expected: Option<&str>| {
        assert_eq!(language("en").say(&messages, name, values).as_deref(), expected, "{name} {values:?}");
    };
    for (count, expected) in
        [(0, "Ann edited nothing"), (1, "Ann edited a page"), (1_500, "Ann edited 1,500 pages")]
    {
        check("edits", &[("who", text_value("Ann")), ("count", count.into())], Some(expected));
    }
    check("her", &[("gender", text_value("female"))], Some("her page"));
    check("her", &[("gender", text_value("unknown"))], Some("their page"));
    check("her", &[], Some("their page"));
    check("both", &[("gender", text_value("male"))], Some("his page of Wiki!"));
    check("nothing", &[], None);
    let used = |choice, is_number, is_written| ArgumentUse { choice, is_number, is_written };
    let check = |name: &str, expected: &[(&str, ArgumentUse)]| {
        let found = messages.arguments(name);
        assert_eq!(found.iter().map(|(name, of)| (&**name, *of)).collect::<Vec<_>>(), expected, "{name}");
    };
    let (count, who) = (used(ArgumentChoice::Plural, true, true), used(ArgumentChoice::None, false, true));
    check("edits", &[("count", count), ("who", who)]);
    check("both", &[("gender", used(ArgumentChoice::Word, false, false))]);
}

#[test]
fn what_is_wrong_with_a_file_is_said_at_its_place() {
    let check = |text: &str, expected: &[(usize, &str)]| {
        let problems = MessageBook::parse(text).err().unwrap_or_default();
        let found: Vec<(usize, &str)> =
            problems.iter().map(|problem| (problem.offset, problem.what.as_str())).collect();
        assert_eq!(found, expected, "{text}");
    };
    check("a = x\n# a comment\nb = y\n", &[]);
    check("a = x\nb = y\na = z\n", &[(12, "`a` is there twice")]);
    check("a = x\n    .title = y\n", &[(0, "`a` has attributes, which nothing reads")]);
    check("a = { b }\n", &[(0, "`a` refers to `b`, which is not there")]);
    check("a = { DATETIME($d) }\n", &[(0, "`a` calls `DATETIME`; there is only `NUMBER`")]);
    check("a = { b }\nb = { a }\n", &[(0, "`a` refers to itself, or through too many others")]);
    // Of what is not there it is told where that stands, and not of all that refer to it.
    check(
        "a = { b }{ -t }\nb = { c }\n-t = { d }\n",
        &[(16, "`b` refers to `c`, which is not there"), (26, "`-t` refers to `d`, which is not there")],
    );
    let bushy = (0..7)
        .fold(String::new(), |all, at| format!("{all}m{at} = {}\n", format!("{{ m{} }}", at + 1).repeat(50)));
    assert!(MessageBook::parse(&format!("{bushy}m7 = x\n")).is_err());
    // The parser calls itself for each brace within another; a file that ends the process is no problem at its place.
    let deep = "braces within braces, more than 20 deep";
    for many in [400, 100_000] {
        check(&format!("a = {}", "{".repeat(many)), &[(24, deep)]);
        check(&format!("a = {}$n{}\n", "{".repeat(many), "}".repeat(many)), &[(24, deep)]);
        check(&format!("a = {}", "{\n".repeat(many)), &[(44, deep)]);
    }
    check(&(0..50).map(|n| format!("m{n} = {{ \"{{\" }}\n")).collect::<String>(), &[]);
    check("\u{FEFF}a = x\n", &[]);
}

#[test]
fn a_slip_of_the_writing_is_told_at_its_message() {
    let check = |slip: &str, expected: &str| {
        let text = format!("first = x\n\n{slip}\nlast = y\n");
        let problems = MessageBook::parse(&text).err().unwrap_or_default();
        let said: Vec<String> = problems
            .iter()
            .map(|problem| {
                let before = &text[..problem.offset];
                let column = before.len() - before.rfind('\n').map_or(0, |at| at + 1) + 1;
                format!("{}:{column}: {}", before.matches('\n').count() + 1, problem.what)
            })
            .collect();
        assert_eq!(said.join("\n"), expected, "{slip}");
        assert!(problems.iter().all(|problem| problem.help.is_some()), "{slip}");
    };
    let select = |variants: &str| format!("a = x {{ $n ->\n    {variants}\n }}");
    check("a", "3:1: this is not a message");
    check("= x", "3:1: this is not a message");
    check("some words of text", "3:1: this is not a message");
    check("\u{0}", "3:1: this is not a message");
    check("a =", "3:1: `a` says nothing");
    check("-a =", "3:1: `-a` says nothing");
    check("a = x { $n", "3:1: `a` has a `{` that is not closed");
    check("a = { $", "3:1: `a` has a name that does not begin with a letter");
    check("a = { }", "3:1: `a` has a `{` without a value");
    check("a =\n    x } y", "4:7: `a` has a `}` that closes nothing");
    check("a = { \"x }", "3:1: `a` has a text in quotes that does not end");
    check("a = { \"\\x\" }", "3:1: `a` has a `\\` that stands for nothing");
    check("a = { \"\\u12\" }", "3:1: `a` has a `\\` that stands for nothing");
    // The parser would cut these signs in two, and end the process.
    for escape in ["\\u12é", "\\Ué", "x\\\"\\u1é"] {
        let column = 8 + escape.rfind("\\").unwrap_or_default();
        let expected = format!("3:{column}: this text in quotes has a `\\` that stands for nothing");
        check(&format!("a = {{ \"{escape}\" }}"), &expected);
    }
    check("a = C:\\ué { \"\\\\ué\" }", "");
    check("a = { b ->\n   *[other] x\n }", "3:1: `a` chooses by something that is no value");
    check("a = { $n -> [one] x *[other] y }", "3:1: `a` has something behind its `->`");
    check("a = { number($n) }", "3:1: `a` calls a function that there is not");
    check(&select("[one] x"), "3:1: `a` has no variant for all other values");
    check(&select("[one] x\n   *[other]"), "3:1: `a` has a variant that says nothing");
    check(&select("*[one] x\n   *[other] y"), "3:1: `a` has two variants with a star");
    check(&select("[one x\n   *[other] y"), "3:1: `a` has a variant that is not closed");
    check(&select("[one] x\n   *[other] y").replace(" }", ""), "3:1: `a` has a `{` that is not closed");
}

#[test]
fn a_book_is_compared_with_the_first() {
    let first = book("a = { $n } x\nb = y\n");
    let other = book("a = { $m } x\nc = z\n");
    let found: Vec<(String, DifferenceSort)> =
        compare_messages(&first, &other).into_iter().map(|found| (found.name, found.sort)).collect();
    let expected = [
        ("a", DifferenceSort::Value("m".to_owned())),
        ("a", DifferenceSort::NoValue("n".to_owned())),
        ("b", DifferenceSort::Missing),
        ("c", DifferenceSort::Surplus),
    ];
    assert_eq!(found, expected.map(|(name, sort)| (name.to_owned(), sort)));
}

#[test]
fn a_value_that_is_left_out_is_found() {
    let check = |first: &str, other: &str, expected: &[&str]| {
        let [first, other] = [first, other].map(|text| book(&format!("b = {{ $n }}\na = {text}\n")));
        let found = compare_messages(&first, &other).into_iter();
        let sorts: Vec<String> = found.map(|found| format!("{} {:?}", found.name, found.sort)).collect();
        assert_eq!(sorts, expected);
    };
    check("{ $n } x", "x", &["a NoValue(\"n\")"]);
    check("{ b } x", "x", &["a NoValue(\"n\")"]);
    check("{ $n } x", "{ $n ->\n    [one] x\n   *[other] y\n }", &[]);
    // What the variant with a star writes, most readers see.
    check("{ $n ->\n    [one] x\n   *[other] { $n } y\n }", "x", &["a NoValue(\"n\")"]);
    check("{ $n ->\n    [one] x\n   *[other] y\n }", "x", &[]);
    check("{ $g ->\n    [male] { $n }\n   *[other] y\n }", "x", &[]);
}

#[test]
fn plurals_that_a_language_does_not_take_are_found() {
    let check = |tag: &str, variants: &str, counted: bool, expected: &[&str]| {
        let book = book(&format!("a = {{ $n ->\n    {variants}\n }}\n"));
        let counted = counted.then(|| ("a".to_owned(), "n".to_owned())).into_iter().collect();
        let found = find_plural_slips(&book, &language(tag), &counted, false).into_iter();
        let said: Vec<String> =
            found.map(|slip| format!("{}; {}", slip.what, slip.help.unwrap_or_default())).collect();
        assert_eq!(said, expected, "{tag} {variants}");
    };
    check("en", "[one] x\n   *[other] y", false, &[]);
    check("en", "[0] x\n    [1] x\n   *[other] y", false, &[]);
    check(
        "ru",
        "[one] x\n   *[other] y",
        false,
        &["`a` has no `few`, `many` for `$n`; the plurals of `ru` are one, few, many, other"],
    );
    check(
        "ru",
        "[0] x\n    [1] x\n   *[other] y",
        false,
        &["`a` has no `few`, `many`, `one` for `$n`; the plurals of `ru` are one, few, many, other"],
    );
    let english = "the plurals of `en` are one, other";
    check(
        "en",
        "[on] x\n   *[other] y",
        true,
        &[&format!("`a` never takes `[on]` for `$n`, and has no `one`; {english}")],
    );
    check(
        "en",
        "[one] x\n    [few] y\n   *[other] z",
        false,
        &[&format!("`a` never takes `[few]` for `$n`; {english}")],
    );
    check(
        "en",
        "[zero] x\n    [one] y\n   *[other] z",
        false,
        &[&format!("`a` never takes `[zero]` for `$n`; {english}; the number 0 itself is `[0]`")],
    );
    // These are words, unless what they are chosen by is known to be a number.
    check("en", "[on] x\n   *[other] y", false, &[]);
    // The star is for all that is not named, and one form may be for all.
    check("ru", "[one] x\n    [few] y\n   *[many] z", false, &[]);
    check("en", "*[other] x", true, &[]);
    check("ja", "*[other] x", true, &[]);
}
