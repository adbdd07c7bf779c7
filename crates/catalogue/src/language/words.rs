//! Filters and tests: which there are, what they take and what they give.

use minijinja::{Environment, filters, tests};

/// What a filter takes before the bar.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Takes {
    Text,
    Number,
    Time,
    List,
    TextOrList,
    Anything,
}

/// What it gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gives {
    Text,
    Number,
    /// One element of the list it took.
    Element,
    /// Lists of the list's elements.
    Lists,
    /// What it took, or its argument.
    Same,
}

/// A filter: what it takes and gives, and how many arguments it has.
#[derive(Clone, Copy, Debug)]
pub struct Filter {
    pub name: &'static str,
    pub takes: Takes,
    pub gives: Gives,
    pub least: usize,
    pub most: usize,
    /// It needs a reader's zone or language, so conditions do not have it.
    pub in_texts_only: bool,
}

const fn word(name: &'static str, takes: Takes, gives: Gives, least: usize, most: usize) -> Filter {
    Filter { name, takes, gives, least, most, in_texts_only: false }
}

const fn text_only(name: &'static str, takes: Takes, gives: Gives, least: usize, most: usize) -> Filter {
    Filter { name, takes, gives, least, most, in_texts_only: true }
}

/// Every filter there is.
pub const FILTERS: [Filter; 16] = [
    word("length", Takes::TextOrList, Gives::Number, 0, 0),
    word("first", Takes::List, Gives::Element, 0, 0),
    word("last", Takes::List, Gives::Element, 0, 0),
    word("upper", Takes::Text, Gives::Text, 0, 0),
    word("lower", Takes::Text, Gives::Text, 0, 0),
    word("capitalize", Takes::Text, Gives::Text, 0, 0),
    word("trim", Takes::Text, Gives::Text, 0, 0),
    word("default", Takes::Anything, Gives::Same, 1, 2),
    word("round", Takes::Number, Gives::Number, 0, 1),
    text_only("day", Takes::Time, Gives::Text, 0, 0),
    text_only("time", Takes::Time, Gives::Text, 0, 0),
    text_only("plural", Takes::Number, Gives::Text, 2, 2),
    text_only("list", Takes::List, Gives::Text, 0, 1),
    text_only("short", Takes::Text, Gives::Text, 1, 1),
    text_only("batch", Takes::List, Gives::Lists, 1, 1),
    text_only("urlencode", Takes::Text, Gives::Text, 0, 0),
];

/// What only sources have: others write times as numbers, and numbers as texts. What is a time already stays.
pub const SOURCE_FILTERS: [Filter; 6] = [
    word("seconds", Takes::Anything, Gives::Text, 0, 0),
    word("millis", Takes::Anything, Gives::Text, 0, 0),
    word("micros", Takes::Anything, Gives::Text, 0, 0),
    word("nanos", Takes::Anything, Gives::Text, 0, 0),
    word("days", Takes::Anything, Gives::Text, 0, 0),
    word("number", Takes::Anything, Gives::Number, 0, 0),
];

/// Every test there is: `x is defined`.
pub const TESTS: [&str; 5] = ["defined", "undefined", "none", "odd", "even"];

/// The words that conditions and texts share. Nothing else is in an environment that was made empty: no
/// function, no way out.
pub fn install(env: &mut Environment<'_>) {
    env.add_filter("length", filters::length);
    env.add_filter("first", filters::first);
    env.add_filter("last", filters::last);
    env.add_filter("upper", filters::upper);
    env.add_filter("lower", filters::lower);
    env.add_filter("capitalize", capitalize);
    env.add_filter("trim", filters::trim);
    env.add_filter("default", filters::default);
    env.add_filter("round", filters::round);
    env.add_test("defined", tests::is_defined);
    env.add_test("undefined", tests::is_undefined);
    env.add_test("none", tests::is_none);
    env.add_test("odd", tests::is_odd);
    env.add_test("even", tests::is_even);
}

/// The first letter, and only that: the engine's own makes the rest small, names too.
fn capitalize(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
