//! The fields of a person's profile as they may be stated from outside.

use std::{collections::BTreeSet, net::IpAddr};

use catalogue::{Catalogue, PROFILE_FIELDS, PlaceParseError};
use geoip::AddressPlaces;
use model::{
    Channel, Day, ValueCell, VersionedState,
    civil_time::ZoneRules,
    hook::Hook,
    person::{
        notes,
        profile::{EMAIL, HOUR, IP_ADDRESS, LANGUAGE, PLACE, PLACE_BY_ADDRESS, QUIET, QUIET_UNTIL, ZONE},
    },
    plan::{LocalHours, LocalTime},
};
use serde_json::{Map, Value};
use source_text::{quote_text, suggest_name};
use url::Url;

use crate::{
    admission_error::{AdmissionError, data_pointer, refuse_at, refuse_unknown_field},
    admission_rules::AdmissionRules,
};

/// Bytes of an address of a hook.
const ADDRESS_BYTES_MAX: usize = 2_048;
/// Bytes of an address, by RFC 5321: 256 with its angle brackets.
const EMAIL_BYTES_MAX: usize = 254;
const LOCAL_PART_BYTES_MAX: usize = 64;
const LABEL_BYTES_MAX: usize = 63;
const NAME_BYTES_MAX: usize = 256;
/// Bytes of a language tag; RFC 5646 asks that 35 be taken.
const LANGUAGE_BYTES_MAX: usize = 35;

/// The cells that a profile's data states; null takes a value away. An IP address becomes the place where it is, or that
/// there is none: it is the last one that counts.
pub fn profile_cells(
    data: &Map<String, Value>,
    version: i64,
    rules: AdmissionRules<'_>,
) -> Result<VersionedState, AdmissionError> {
    let mut state = VersionedState::default();
    // Who takes a place back takes with it what stood in for one.
    if data.get(PLACE) == Some(&Value::Null) && !data.contains_key(IP_ADDRESS) {
        state.set(PLACE_BY_ADDRESS, ValueCell { version, value: None });
    }
    for (field, value) in data.iter().filter(|(field, _)| *field != "person") {
        if notes::is_own(field) {
            return refuse_at(data_pointer(field), format!("`{field}` cannot be set from outside"));
        }
        if field == PLACE_BY_ADDRESS {
            let why = format!("`{field}` cannot be set from outside: state `{IP_ADDRESS}`");
            return refuse_at(data_pointer(field), why);
        }
        if !PROFILE_FIELDS.contains(&field.as_str()) {
            return refuse_unknown_field(field, &PROFILE_FIELDS);
        }
        let (cell, value) = match field.as_str() {
            IP_ADDRESS => (PLACE_BY_ADDRESS, place_of_address(value, rules.places)),
            field => (field, parse_value(field, value, rules)),
        };
        let value = value.map_err(|reason| AdmissionError::new(data_pointer(field), reason))?;
        state.set(cell, ValueCell { version, value });
    }
    if state.is_empty() {
        return refuse_at("/data", "it has no field about the person");
    }
    Ok(state)
}

fn parse_value(
    field: &str,
    value: &Value,
    AdmissionRules { catalogue, zones, .. }: AdmissionRules<'_>,
) -> Result<Option<model::Value>, String> {
    let is_off = Channel::ALL.iter().any(|channel| channel.off() == field);
    match (field, value) {
        (_, Value::Null) => Ok(None),
        (_, Value::Bool(flag)) if is_off => Ok(Some(model::Value::Flag(*flag))),
        _ if is_off => Err("it must be true or false".to_owned()),
        (PLACE, value) => parse_place(value).map(Some),
        (_, Value::String(text)) => {
            match field {
                ZONE => check_zone(text, zones),
                EMAIL => check_mailbox(text),
                LANGUAGE => check_language(text),
                QUIET => check_hours(text),
                QUIET_UNTIL => check_date(text),
                HOUR => check_hour(text),
                _ => match Channel::ALL.into_iter().find(|channel| channel.plan() == field) {
                    Some(channel) => check_plan(text, channel, catalogue),
                    None if Hook::parse(field).is_some() => check_hook_address(text),
                    None => check_name(text),
                },
            }?;
            Ok(Some(model::Value::from_text(text)))
        }
        _ => Err("it is not a text".to_owned()),
    }
}

/// Where an IP address is, if anybody knows. No complaint quotes it.
fn place_of_address(value: &Value, places: &AddressPlaces) -> Result<Option<model::Value>, String> {
    let address: IpAddr = match value {
        Value::Null => return Ok(None),
        Value::String(text) => text.parse().map_err(|_| {
            "it is not an IP address, such as 203.0.113.7 or 2001:db8::7, without a port".to_owned()
        })?,
        _ => return Err("it is not a text".to_owned()),
    };
    Ok(places.find_place(address).map(model::Value::Place))
}

/// Degrees north and east, as an object of nothing else or as a text.
fn parse_place(value: &Value) -> Result<model::Value, String> {
    let place = match value {
        Value::Object(map) if map.len() != 2 => Err(PlaceParseError::Form),
        value => catalogue::parse_place(value),
    };
    place.map(model::Value::Place).map_err(|why| match why {
        PlaceParseError::Form => {
            r#"it is not a place, such as {"lat": 52.5, "lon": 13.4} or "52.5,13.4""#.to_owned()
        }
        off @ PlaceParseError::OffGlobe { .. } => format!("it is not a place: {off}"),
    })
}

fn check_plan(text: &str, channel: Channel, catalogue: &Catalogue) -> Result<(), String> {
    let plans = catalogue.plans_of_arms().filter(|plan| plan.channel == channel);
    let names: BTreeSet<&str> = plans.map(|plan| plan.name.as_str()).collect();
    if names.contains(&text) {
        return Ok(());
    }
    if names.is_empty() {
        return Err(format!("the catalogue has no plan for {channel}"));
    }
    let help = suggest_name(text, names);
    Err(format!("there is no plan for {channel} `{}`: {help}", quote_text(text)))
}

fn check_hours(text: &str) -> Result<(), String> {
    let wrong = || format!("`{}` is not a range of hours, such as 22:00-08:00", quote_text(text));
    LocalHours::parse(text).map(drop).ok_or_else(wrong)
}

fn check_hour(text: &str) -> Result<(), String> {
    let wrong = || format!("`{}` is not a full hour, such as 18:00", quote_text(text));
    LocalTime::parse(text).filter(|time| time.minute == 0).map(drop).ok_or_else(wrong)
}

fn check_date(text: &str) -> Result<(), String> {
    let wrong = || format!("`{}` is not a date, such as 2026-12-24", quote_text(text));
    Day::parse(text).filter(|day| day.to_string() == text).map(drop).ok_or_else(wrong)
}

fn check_zone(text: &str, zones: &ZoneRules) -> Result<(), String> {
    match zones.get(text) {
        Some(_) => Ok(()),
        None => Err(format!("`{}` is not a time zone, such as Europe/Berlin", quote_text(text))),
    }
}

/// Whether mail could go there. What would be unsafe in a header or in SMTP is out: blanks, controls and
/// the characters by which lists, comments and quotes are written.
fn check_mailbox(text: &str) -> Result<(), String> {
    let wrong = |what: &str| Err(format!("it is not a mail address: {what}"));
    if text.len() > EMAIL_BYTES_MAX {
        return wrong("it is too long");
    }
    if text.chars().any(|c| c.is_control() || c.is_whitespace() || "<>()[],;:\\\"".contains(c)) {
        return wrong("it has a character that is not allowed");
    }
    let Some((local, domain)) = text.split_once('@') else { return wrong("it has no @") };
    let dotted = |part: &str| part.starts_with('.') || part.ends_with('.') || part.contains("..");
    if local.is_empty() || local.len() > LOCAL_PART_BYTES_MAX || dotted(local) {
        return wrong("the part before the @ is wrong");
    }
    if domain.contains('@') || !domain.split('.').all(is_label) {
        return wrong("the part after the @ is wrong");
    }
    Ok(())
}

fn is_label(label: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || c == '-';
    (1..=LABEL_BYTES_MAX).contains(&label.len())
        && label.chars().all(inside)
        && !label.starts_with('-')
        && !label.ends_with('-')
}

/// Whether a hook could be called there. Whether it may be is found out when it is: a name leads elsewhere by then. No
/// complaint quotes it, for who knows such an address may call it too.
fn check_hook_address(text: &str) -> Result<(), String> {
    let wrong = |what: &str| Err(format!("it is not an address for hooks: {what}"));
    if text.len() > ADDRESS_BYTES_MAX {
        return wrong("it is too long");
    }
    if text.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return wrong("it has a space or a control character");
    }
    match Url::parse(text) {
        Ok(url) if url.scheme() != "https" => wrong("it does not begin with `https://`"),
        Ok(url) if !url.username().is_empty() || url.password().is_some() => wrong("it contains a user name"),
        Ok(url) if url.has_host() => Ok(()),
        _ => wrong("it cannot be read"),
    }
}

fn check_language(text: &str) -> Result<(), String> {
    let is_subtag =
        |tag: &str| (1..=8).contains(&tag.len()) && tag.chars().all(|c| c.is_ascii_alphanumeric());
    if text.len() <= LANGUAGE_BYTES_MAX && text.split('-').all(is_subtag) {
        return Ok(());
    }
    Err(format!("`{}` is not a language tag, such as en or pt-BR", quote_text(text)))
}

fn check_name(text: &str) -> Result<(), String> {
    if text.trim().is_empty() {
        return Err("it is empty; use null to remove it".to_owned());
    }
    if text.len() > NAME_BYTES_MAX || text.chars().any(char::is_control) {
        return Err(format!("it has more than {NAME_BYTES_MAX} bytes or a control character"));
    }
    Ok(())
}
