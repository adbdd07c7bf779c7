//! What a field's value means: `yes` and `no`, numbers, places, lists, instants; all else is text.

use model::Millis;
use serde_json::{Number, Value, json};

use crate::{
    calendar::Calendar,
    token::{Raw, Wrong},
};

/// The JSON of a value.
pub(crate) fn json(raw: &Raw, column: usize, calendar: &Calendar) -> Result<Value, Wrong> {
    Ok(match raw {
        Raw::Nothing => Value::Null,
        Raw::Quoted(text) => Value::String(text.clone()),
        Raw::Bare(text) => bare(text),
        Raw::Time(text) => instant(text, column, calendar)?.to_string().into(),
        Raw::List(items) => {
            let items = items.iter().map(|item| json(item, column, calendar));
            Value::Array(items.collect::<Result<_, _>>()?)
        }
    })
}

/// An instant as it is written between parentheses or quotes.
pub(crate) fn instant(text: &str, column: usize, calendar: &Calendar) -> Result<Millis, Wrong> {
    let full = Millis::parse(text);
    full.map_or_else(|| calendar.parse(text), Ok).map_err(|what| Wrong::new(column, what))
}

fn bare(text: &str) -> Value {
    match text {
        "yes" | "true" => Value::Bool(true),
        "no" | "false" => Value::Bool(false),
        _ => number(text).map(Value::Number).or_else(|| place(text)).unwrap_or_else(|| text.into()),
    }
}

/// `7`, `-0.5`; but `007` and `1e3` are texts, since they look like names.
fn number(text: &str) -> Option<Number> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) =
        digits.split_once('.').map_or((digits, None), |(whole, rest)| (whole, Some(rest)));
    let all_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let plain = all_digits(whole) && fraction.is_none_or(all_digits);
    if !plain || (whole.len() > 1 && whole.starts_with('0')) {
        return None;
    }
    match text.parse::<i64>() {
        Ok(number) => Some(number.into()),
        Err(_) => Number::from_f64(text.parse().ok()?),
    }
}

/// `52.52,13.40`: degrees north and east.
fn place(text: &str) -> Option<Value> {
    let (lat, lon) = text.split_once(',')?;
    Some(json!({"lat": number(lat)?, "lon": number(lon)?}))
}

#[cfg(test)]
mod tests {
    use model::{Day, civil::Zone};

    use super::*;

    #[test]
    fn values_mean_what_they_look_like() {
        let calendar = Calendar::new(Day::parse(crate::calendar::START).unwrap(), Zone::UTC);
        let check = |raw: Raw, expected: Value| {
            assert_eq!(json(&raw, 1, &calendar).unwrap(), expected, "{raw:?}");
        };
        let bare = |text: &str| Raw::Bare(text.to_owned());
        check(bare("yes"), true.into());
        check(bare("no"), false.into());
        check(bare("7"), 7.into());
        check(bare("-0.5"), json!(-0.5));
        check(bare("007"), "007".into());
        check(bare("1e3"), "1e3".into());
        check(bare("item:7"), "item:7".into());
        check(bare("52.52,13.40"), json!({"lat": 52.52, "lon": 13.4}));
        check(bare("a,b"), "a,b".into());
        check(Raw::Quoted("7".to_owned()), "7".into());
        check(Raw::Nothing, Value::Null);
        check(Raw::Time("fri 18:00".to_owned()), "2026-01-09T18:00:00.000Z".into());
        check(Raw::Time("2026-01-09T18:00:00Z".to_owned()), "2026-01-09T18:00:00.000Z".into());
        check(Raw::List(vec![bare("item:1"), bare("item:2")]), json!(["item:1", "item:2"]));
        assert!(json(&Raw::Time("noon".to_owned()), 1, &calendar).is_err());
    }
}
