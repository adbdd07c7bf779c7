//! What a field's value means: `yes` and `no`, numbers, places, lists, instants; all else is text.

use model::UtcMillis;
use serde_json::{Number, Value, json};

use crate::{
    calendar::ScenarioCalendar,
    token::{LineError, TokenValue},
};

/// The JSON of a value.
pub(crate) fn json_value(
    raw: &TokenValue,
    column: usize,
    calendar: &ScenarioCalendar,
) -> Result<Value, LineError> {
    Ok(match raw {
        TokenValue::Nothing => Value::Null,
        TokenValue::Quoted(text) => Value::String(text.clone()),
        TokenValue::Bare(text) => bare_json(text),
        TokenValue::Time(text) => parse_instant(text, column, calendar)?.to_string().into(),
        TokenValue::List(items) => {
            let items = items.iter().map(|item| json_value(item, column, calendar));
            Value::Array(items.collect::<Result<_, _>>()?)
        }
    })
}

/// An instant as it is written between parentheses or quotes.
pub(crate) fn parse_instant(
    text: &str,
    column: usize,
    calendar: &ScenarioCalendar,
) -> Result<UtcMillis, LineError> {
    let full = UtcMillis::parse(text);
    full.map_or_else(|| calendar.parse(text), Ok).map_err(|what| LineError::new(column, what))
}

fn bare_json(text: &str) -> Value {
    match text {
        "yes" | "true" => Value::Bool(true),
        "no" | "false" => Value::Bool(false),
        _ => {
            parse_number(text).map(Value::Number).or_else(|| parse_place(text)).unwrap_or_else(|| text.into())
        }
    }
}

/// `7`, `-0.5`; but `007` and `1e3` are texts, since they look like names.
fn parse_number(text: &str) -> Option<Number> {
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
fn parse_place(text: &str) -> Option<Value> {
    let (lat, lon) = text.split_once(',')?;
    Some(json!({"lat": parse_number(lat)?, "lon": parse_number(lon)?}))
}

#[cfg(test)]
mod tests {
    use model::{Day, civil_time::Zone};

    use super::*;

    #[test]
    fn values_mean_what_they_look_like() {
        let calendar = ScenarioCalendar::new(Day::parse(crate::calendar::START).unwrap(), Zone::UTC);
        let check = |raw: TokenValue, expected: Value| {
            assert_eq!(json_value(&raw, 1, &calendar).unwrap(), expected, "{raw:?}");
        };
        let bare = |text: &str| TokenValue::Bare(text.to_owned());
        check(bare("yes"), true.into());
        check(bare("no"), false.into());
        check(bare("7"), 7.into());
        check(bare("-0.5"), json!(-0.5));
        check(bare("007"), "007".into());
        check(bare("1e3"), "1e3".into());
        check(bare("item:7"), "item:7".into());
        check(bare("52.52,13.40"), json!({"lat": 52.52, "lon": 13.4}));
        check(bare("a,b"), "a,b".into());
        check(TokenValue::Quoted("7".to_owned()), "7".into());
        check(TokenValue::Nothing, Value::Null);
        check(TokenValue::Time("fri 18:00".to_owned()), "2026-01-09T18:00:00.000Z".into());
        check(TokenValue::Time("2026-01-09T18:00:00Z".to_owned()), "2026-01-09T18:00:00.000Z".into());
        check(TokenValue::List(vec![bare("item:1"), bare("item:2")]), json!(["item:1", "item:2"]));
        assert!(json_value(&TokenValue::Time("noon".to_owned()), 1, &calendar).is_err());
    }
}
