//! Filters and tests: which there are, what they take and what they give.

use minijinja::{Environment, UndefinedBehavior, Value, filters, tests};

use crate::limits::{CONDITION_FUEL, RECURSION_MAX};

/// What a filter takes before the bar.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FilterInput {
    Text,
    Number,
    Time,
    List,
    TextOrList,
    Anything,
}

/// What it gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FilterOutput {
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
pub struct TextFilter {
    pub name: &'static str,
    pub takes: FilterInput,
    pub gives: FilterOutput,
    pub least: usize,
    pub most: usize,
    /// It needs a reader's zone or language, so conditions do not have it.
    pub in_texts_only: bool,
}

const fn filter_word(
    name: &'static str,
    takes: FilterInput,
    gives: FilterOutput,
    least: usize,
    most: usize,
) -> TextFilter {
    TextFilter { name, takes, gives, least, most, in_texts_only: false }
}

const fn text_only(
    name: &'static str,
    takes: FilterInput,
    gives: FilterOutput,
    least: usize,
    most: usize,
) -> TextFilter {
    TextFilter { in_texts_only: true, ..filter_word(name, takes, gives, least, most) }
}

/// The filter that says of a large number only that it is large.
pub const CAPPED: &str = "capped";

/// Every filter there is.
pub const FILTERS: [TextFilter; 19] = [
    filter_word("length", FilterInput::TextOrList, FilterOutput::Number, 0, 0),
    filter_word("first", FilterInput::List, FilterOutput::Element, 0, 0),
    filter_word("last", FilterInput::List, FilterOutput::Element, 0, 0),
    filter_word("upper", FilterInput::Text, FilterOutput::Text, 0, 0),
    filter_word("lower", FilterInput::Text, FilterOutput::Text, 0, 0),
    filter_word("capitalize", FilterInput::Text, FilterOutput::Text, 0, 0),
    filter_word("trim", FilterInput::Text, FilterOutput::Text, 0, 0),
    filter_word("default", FilterInput::Anything, FilterOutput::Same, 1, 2),
    filter_word("round", FilterInput::Number, FilterOutput::Number, 0, 1),
    filter_word("at_most", FilterInput::Number, FilterOutput::Number, 1, 1),
    text_only("day", FilterInput::Time, FilterOutput::Text, 0, 0),
    text_only("time", FilterInput::Time, FilterOutput::Text, 0, 0),
    text_only("plural", FilterInput::Number, FilterOutput::Text, 2, 2),
    text_only("number", FilterInput::Number, FilterOutput::Text, 0, 0),
    text_only(CAPPED, FilterInput::Number, FilterOutput::Text, 0, 1),
    text_only("list", FilterInput::List, FilterOutput::Text, 0, 1),
    text_only("short", FilterInput::Text, FilterOutput::Text, 1, 1),
    text_only("batch", FilterInput::List, FilterOutput::Lists, 1, 1),
    text_only("urlencode", FilterInput::Text, FilterOutput::Text, 0, 0),
];

/// What only sources have: others write times as numbers, and numbers as texts. What is a time already stays.
pub const SOURCE_FILTERS: [TextFilter; 6] = [
    filter_word("seconds", FilterInput::Anything, FilterOutput::Text, 0, 0),
    filter_word("millis", FilterInput::Anything, FilterOutput::Text, 0, 0),
    filter_word("micros", FilterInput::Anything, FilterOutput::Text, 0, 0),
    filter_word("nanos", FilterInput::Anything, FilterOutput::Text, 0, 0),
    filter_word("days", FilterInput::Anything, FilterOutput::Text, 0, 0),
    filter_word("number", FilterInput::Anything, FilterOutput::Number, 0, 0),
];

/// Every test there is: `x is defined`.
pub const TESTS: [&str; 5] = ["defined", "undefined", "none", "odd", "even"];

/// Where conditions and expressions of sources are evaluated: with the shared words, and within bounds.
pub fn bounded_environment() -> Environment<'static> {
    let mut env = Environment::empty();
    install_words(&mut env);
    env.set_fuel(Some(CONDITION_FUEL));
    env.set_recursion_limit(RECURSION_MAX);
    // What is missing may be asked for with `not` and `is defined`; compared, it is an error. A condition then does
    // not hold.
    env.set_undefined_behavior(UndefinedBehavior::SemiStrict);
    env
}

/// The words that conditions and texts share. Nothing else is in an environment that was made empty: no
/// function, no way out.
pub fn install_words(env: &mut Environment<'_>) {
    env.add_filter("length", filters::length);
    env.add_filter("first", filters::first);
    env.add_filter("last", filters::last);
    env.add_filter("upper", filters::upper);
    env.add_filter("lower", filters::lower);
    env.add_filter("capitalize", capitalize);
    env.add_filter("trim", filters::trim);
    env.add_filter("default", filters::default);
    env.add_filter("round", filters::round);
    env.add_filter("at_most", keep_at_most);
    env.add_test("defined", tests::is_defined);
    env.add_test("undefined", tests::is_undefined);
    env.add_test("none", tests::is_none);
    env.add_test("odd", tests::is_odd);
    env.add_test("even", tests::is_even);
}

/// The number, or the other one where that is less. What is no number stays.
fn keep_at_most(number: Value, most: Value) -> Value {
    match (f64::try_from(number.clone()), f64::try_from(most.clone())) {
        (Ok(value), Ok(bound)) if value > bound => most,
        _ => number,
    }
}

/// The first letter, and only that: the engine's own makes the rest small, names too.
fn capitalize(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
