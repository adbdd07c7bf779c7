//! The sentences of the house in every language, which language a reader gets, and what hostile values do to a sentence.

use std::collections::BTreeSet;

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
        assert_eq!(compare_messages(&first, &other), [], "{name}");
        for sentence in first.names() {
            let (wanted, found) = (first.arguments(sentence), other.arguments(sentence));
            // Whatever is a number in one language may be chosen by in another.
            let names: BTreeSet<&String> = wanted.keys().collect();
            // "This author" names what a catalogue calls it, in English alone.
            if sentence != "unnamed" {
                assert_eq!(found.keys().collect::<BTreeSet<_>>(), names, "{name}: {sentence}");
            }
        }
        assert_eq!(find_plural_gaps(&other, &language(name), true), [], "{name}");
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
    let of = |name: &str| messages.arguments(name).into_iter().collect::<Vec<_>>();
    assert_eq!(
        of("edits"),
        [("count".to_owned(), ArgumentUse::Number), ("who".to_owned(), ArgumentUse::Any)]
    );
    assert_eq!(of("both"), [("gender".to_owned(), ArgumentUse::Any)]);
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
    check(
        "a = { b }\nb = { a }\n",
        &[
            (0, "`a` refers to itself, or through too many others"),
            (10, "`b` refers to itself, or through too many others"),
        ],
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
    for odd in ["a", "a = { $", "= x", "a = { $n ->\n [one] x\n }", "\u{0}", "a = }"] {
        assert!(MessageBook::parse(odd).is_err(), "{odd}");
    }
}

#[test]
fn a_book_is_compared_with_the_first() {
    let first = book("a = { $n } x\nb = y\n");
    let other = book("a = { $m } x\nc = z\n");
    let found: Vec<(String, DifferenceSort)> =
        compare_messages(&first, &other).into_iter().map(|found| (found.name, found.sort)).collect();
    let expected = [
        ("a", DifferenceSort::Value("m".to_owned())),
        ("b", DifferenceSort::Missing),
        ("c", DifferenceSort::Surplus),
    ];
    assert_eq!(found, expected.map(|(name, sort)| (name.to_owned(), sort)));
    let plurals = book(
        "a = { $n ->\n    [one] x\n   *[other] y\n }\nb = { $n ->\n    [0] x\n    [1] x\n   *[other] y\n }\n",
    );
    let gaps = |tag: &str| {
        find_plural_gaps(&plurals, &language(tag), false).into_iter().map(|gap| gap.what).collect::<Vec<_>>()
    };
    assert_eq!(gaps("en"), Vec::<String>::new());
    assert_eq!(gaps("ru"), ["`a` has no `few`, `many` for `$n`", "`b` has no `few`, `many`, `one` for `$n`"]);
}
