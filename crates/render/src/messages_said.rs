//! `say`: a message of the catalogue, in the language of the reader.

use std::sync::Arc;

use languages::{MessageBook, MessageValue, ReaderLanguage};
use minijinja::{
    Environment, Error, ErrorKind, State, UndefinedBehavior, Value,
    value::{Kwargs, ValueKind},
};

use crate::{
    input::NOT_THERE,
    text_cleaning,
    values::{SpokenLanguage, WallMoment},
};

/// The name at the root of each text for the language of its reader.
pub const SPOKEN: &str = "_spoken";

pub fn install_say(env: &mut Environment<'_>) {
    env.add_function(expression::SAY, say_message);
}

/// The language of whoever reads the text.
pub fn spoken_language(state: &State<'_, '_>) -> ReaderLanguage {
    find_spoken(state).0
}

fn find_spoken(state: &State<'_, '_>) -> (ReaderLanguage, Option<Arc<MessageBook>>) {
    let spoken = state.lookup(SPOKEN);
    let spoken = spoken.as_ref().and_then(|spoken| spoken.downcast_object_ref::<SpokenLanguage>());
    spoken.map_or_else(
        || (ReaderLanguage::plain_english(), None),
        |SpokenLanguage(language, book)| (language.clone(), book.clone()),
    )
}

/// A message that the catalogue has was found when it was loaded; here it is only filled.
fn say_message(state: &State<'_, '_>, name: &str, values: Kwargs) -> Result<String, Error> {
    let (language, book) = find_spoken(state);
    let mut said = Vec::new();
    for argument in values.args() {
        let value: Value = values.get(argument)?;
        if value.is_undefined() && state.undefined_behavior() != UndefinedBehavior::Chainable {
            let what = format!("`{argument}` of `say(\"{name}\")` {NOT_THERE}");
            return Err(Error::new(ErrorKind::InvalidOperation, what));
        }
        said.push((argument, message_value(&value)));
    }
    Ok(book.and_then(|book| language.say(&book, name, &said)).unwrap_or_default())
}

fn message_value(value: &Value) -> MessageValue {
    if value.kind() == ValueKind::Number
        && let Ok(number) = f64::try_from(value.clone())
    {
        return MessageValue::Number(number);
    }
    let text = value.to_string();
    // A moment, or what a message said, is in the reader's language already.
    let is_ours = value.downcast_object_ref::<WallMoment>().is_some() || text_cleaning::has_isolates(&text);
    if is_ours { MessageValue::Sentence(text) } else { MessageValue::Text(text) }
}
