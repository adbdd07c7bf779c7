//! The language of pages for readers of messages: those behind the links of mails.

use std::collections::BTreeMap;

use axum::http::{HeaderMap, header};
use catalogue::ReaderLanguage;
use languages::MessageValue;
use minijinja::{
    Value,
    value::{Kwargs, Serde},
};
use serde_json::Value as Json;

/// What a browser accepts, if it says so.
pub fn accepted_languages(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::ACCEPT_LANGUAGE)?.to_str().ok()
}

/// The values of a page, with `say`, by which it says what the house has to say: `say("asks", sender=sender)`.
pub fn page_values(own: &Json, language: &ReaderLanguage) -> Value {
    let own = own.as_object().into_iter().flatten();
    let own = own.map(|(name, value)| (name.clone(), Value::from(Serde(value))));
    let spoken = language.clone();
    let say = Value::from_function(move |name: &str, values: Kwargs| say_sentence(&spoken, name, &values));
    let of_language = [
        ("language".to_owned(), Value::from(language.tag())),
        ("direction".to_owned(), Value::from(language.direction().name())),
        ("say".to_owned(), say),
    ];
    // A map by its type: pairs alone would be a list of pairs.
    let all: BTreeMap<String, Value> = own.chain(of_language).collect();
    Value::from(all)
}

fn say_sentence(language: &ReaderLanguage, name: &str, values: &Kwargs) -> Result<String, minijinja::Error> {
    let mut said = Vec::new();
    for argument in values.args() {
        let value: Value = values.get(argument)?;
        let value = match f64::try_from(value.clone()) {
            Ok(number) if value.is_number() => MessageValue::Number(number),
            _ => MessageValue::Text(value.to_string()),
        };
        said.push((argument, value));
    }
    Ok(language.house_sentence(name, &said))
}
