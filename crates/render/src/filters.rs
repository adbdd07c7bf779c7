//! The words of texts that conditions do not have.

use expression::{SLOT, SLOTS};
use languages::{MessageValue, ReaderLanguage};
use minijinja::{Environment, Error, ErrorKind, State, Value, filters};

use crate::{
    messages_said::{install_say, spoken_language},
    text_cleaning,
    values::{WallMoment, web_address},
};

/// What `capped` says at most, unless it is told.
const COUNT_SAID_MAX: i64 = 99;
/// Put before every address of a layout; no author writes it.
pub const ADDRESS: &str = "_address";

/// Everything an author can write, and what the compiler adds.
pub fn install_filters(env: &mut Environment<'_>) {
    expression::install_words(env);
    install_say(env);
    env.add_function(SLOT, find_slot);
    env.add_filter("day", |at: &Value| {
        at.downcast_object_ref::<WallMoment>().map(WallMoment::day_text).unwrap_or_default()
    });
    env.add_filter("time", |at: &Value| {
        at.downcast_object_ref::<WallMoment>().map(WallMoment::time_text).unwrap_or_default()
    });
    env.add_filter("plural", choose_plural);
    env.add_filter("number", write_number);
    env.add_filter("capped", cap_number);
    env.add_filter("list", join_list);
    env.add_filter("short", |text: &Value, most: usize| {
        text_cleaning::balance_isolates(&text_cleaning::shorten_text(&text.to_string(), most))
    });
    env.add_filter("batch", batch_list);
    env.add_filter("urlencode", filters::urlencode);
    env.add_filter(ADDRESS, |address: &Value| web_address(&address.to_string()));
}

/// What stands at a place of the mail. A place was checked where its number is written; one that is counted may not be there.
fn find_slot(state: &State<'_, '_>, place: usize) -> Value {
    let slots = state.lookup(SLOTS);
    let slot = slots.and_then(|slots| slots.get_item_by_index(place.checked_sub(1)?).ok());
    slot.unwrap_or(Value::UNDEFINED)
}

/// One of two words. A language may have more plurals than these; messages of its own say all of them.
fn choose_plural(state: &State<'_, '_>, number: &Value, one: String, many: String) -> String {
    let is_one =
        f64::try_from(number.clone()).is_ok_and(|number| spoken_language(state).plural_of(number) == "one");
    if is_one { one } else { many }
}

/// A number as the reader's language writes it.
fn write_number(state: &State<'_, '_>, number: &Value) -> String {
    f64::try_from(number.clone())
        .map_or_else(|_| number.to_string(), |number| spoken_language(state).number(number))
}

/// The number, and of more than `most` that it is more: `99+`.
fn cap_number(state: &State<'_, '_>, number: &Value, most: Option<i64>) -> String {
    #[allow(clippy::cast_precision_loss, reason = "the author counted so far")]
    let most = most.unwrap_or(COUNT_SAID_MAX) as f64;
    if f64::try_from(number.clone()).is_ok_and(|number| number > most) {
        return spoken_language(state).house_sentence("capped", &[("most", MessageValue::Number(most))]);
    }
    write_number(state, number)
}

/// `a, b and c`; of more than `most` it says how many more.
fn join_list(state: &State<'_, '_>, list: &Value, most: Option<usize>) -> Result<String, Error> {
    let language = spoken_language(state);
    let mut names: Vec<String> = Vec::new();
    if let Ok(items) = list.try_iter() {
        names.extend(items.map(|item| item.to_string()).filter(|name| !name.is_empty()));
    }
    let most = most.unwrap_or(usize::MAX).max(1);
    if names.len() > most {
        let more = names.len() - most;
        names.truncate(most);
        names.push(language.house_sentence("more-names", &[("count", more.into())]));
    }
    Ok(language.join_names(&names))
}

/// Names in a row, for whoever writes a catalogue.
pub fn join_names(names: &[String]) -> String {
    ReaderLanguage::plain_english().join_names(names)
}

/// Lists of so many, for rows; nothing is filled up.
fn batch_list(state: &State<'_, '_>, list: &Value, size: usize) -> Result<Value, Error> {
    if list.is_undefined() {
        return Ok(Value::from(Vec::<Value>::new()));
    }
    if size == 0 {
        return Err(Error::new(ErrorKind::InvalidOperation, "rows of nothing"));
    }
    filters::batch(state, list.clone(), size, None)
}
