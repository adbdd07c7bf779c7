//! What an entry keeps of the words of its event: the fields that its kind names, as the event stated them.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    limits::KEPT_BYTES_MAX,
    subject_type::FieldType,
    value::{Value, VersionedState},
};

/// Fields of an event, by their names.
pub type KeptFields = BTreeMap<Arc<str>, Value>;

/// The named fields that an event stated, as far as there is room: a function of the event and the list. Numbers, flags and times
/// come first, which are small; what room they leave is for the others, in the order of the list. A text that is too long is
/// cut; a link would lead elsewhere, and is left out.
pub fn keep_fields<'n, 'v>(
    named: impl IntoIterator<Item = (&'n str, &'n FieldType)>,
    stated: impl Fn(&str) -> Option<&'v Value>,
) -> KeptFields {
    let is_small = |(_, field): &(&str, &FieldType)| {
        matches!(field, FieldType::Number | FieldType::Flag | FieldType::Time)
    };
    let (small, others): (Vec<_>, Vec<_>) = named.into_iter().partition(is_small);
    let mut room = KEPT_BYTES_MAX;
    let mut kept = KeptFields::new();
    for (name, field) in small.into_iter().chain(others) {
        let Some(value) = stated(name) else { continue };
        let Some(value) = fit_value(field, value, room.saturating_sub(name.len())) else { continue };
        room -= name.len() + value_bytes(&value);
        kept.insert(name.into(), value);
    }
    kept
}

/// All that several kinds may keep of an event, none longer than any of them would keep it.
pub fn keep_each<'a>(
    named: impl IntoIterator<Item = (&'a str, &'a FieldType)>,
    state: &'a VersionedState,
) -> KeptFields {
    let of = |(name, field): (&'a str, &'a FieldType)| {
        Some((name.into(), fit_value(field, state.get(name)?, KEPT_BYTES_MAX)?))
    };
    named.into_iter().filter_map(of).collect()
}

/// The value, or what of it has room.
fn fit_value(field: &FieldType, value: &Value, room: usize) -> Option<Value> {
    match (field, value) {
        (FieldType::Text, Value::Text(text)) if text.len() > room => {
            let cut = &text[..text.floor_char_boundary(room)];
            (!cut.is_empty()).then(|| Value::from_text(cut))
        }
        (FieldType::Text | FieldType::Url | FieldType::Person, Value::Text(_))
        | (FieldType::Number, Value::Number(_))
        | (FieldType::Flag, Value::Flag(_))
        | (FieldType::Time, Value::Time(_)) => (value_bytes(value) <= room).then(|| value.clone()),
        _ => None,
    }
}

fn value_bytes(value: &Value) -> usize {
    match value {
        Value::Text(text) => text.len(),
        _ => 8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::UtcMillis;

    fn check(fields: &[(&str, FieldType, Value)], expected: &[(&str, Value)]) {
        let values = fields.iter().map(|(name, _, value)| (*name, Some(value.clone())));
        let state = VersionedState::from_values(1, values);
        let named = || fields.iter().map(|(name, field, _)| (*name, field));
        let kept = keep_fields(named(), |name| state.get(name));
        let expected: KeptFields =
            expected.iter().map(|(name, value)| ((*name).into(), value.clone())).collect();
        assert_eq!(kept, expected, "{fields:?}");
        // A slice carries more, and comes to the same.
        let carried = keep_each(named(), &state);
        assert_eq!(keep_fields(named(), |name| carried.get(name)), expected, "{fields:?}, carried");
    }

    #[test]
    fn fields_are_kept_as_far_as_there_is_room() {
        let text = Value::from_text;
        let long = "ä".repeat(300);
        check(&[], &[]);
        check(&[("a", FieldType::Text, text("one"))], &[("a", text("one"))]);
        check(&[("a", FieldType::Time, Value::Time(UtcMillis(5)))], &[("a", Value::Time(UtcMillis(5)))]);
        // At a character: the name has a byte, and a half of the last letter is none.
        check(&[("a", FieldType::Text, text(&long))], &[("a", text(&"ä".repeat(255)))]);
        check(&[("a", FieldType::Url, text(&format!("https://{long}")))], &[]);
        // Texts in the order of the list, the first one first, behind what is small.
        check(
            &[("b", FieldType::Text, text(&"x".repeat(508))), ("c", FieldType::Text, text("yz"))],
            &[("b", text(&"x".repeat(508))), ("c", text("yz"))],
        );
        check(
            &[("b", FieldType::Text, text(&"x".repeat(511))), ("c", FieldType::Flag, Value::Flag(true))],
            &[("b", text(&"x".repeat(502))), ("c", Value::Flag(true))],
        );
        check(
            &[
                ("b", FieldType::Text, text(&"x".repeat(600))),
                ("c", FieldType::Time, Value::Time(UtcMillis(5))),
                ("d", FieldType::Text, text("lost")),
                ("e", FieldType::Number, Value::Number(7.0)),
            ],
            &[("b", text(&"x".repeat(493))), ("c", Value::Time(UtcMillis(5))), ("e", Value::Number(7.0))],
        );
        // What is not of its type is nothing that a text could say.
        check(&[("a", FieldType::Number, text("one"))], &[]);
        check(&[("a", FieldType::Text, Value::Refs(Vec::new()))], &[]);
    }
}
