//! The fields of the page of all preferences that say when: the hour, quiet hours and a break, with what is wrong below each.

use std::collections::BTreeMap;

use catalogue::ReaderLanguage;
use model::Day;
use preference_sheet::{PreferenceSheet, ReaderState};
use serde_json::{Value as Json, json};

use super::{HttpApp, settings_form::FormSlips};
use crate::reader_sheet::read_clock;

/// The values of the page: what holds, or what a form says that was not taken.
pub fn describe_times(
    (app, language): (&HttpApp, &ReaderLanguage),
    (reader, sheet): (&ReaderState<'_>, &PreferenceSheet),
    slips: &FormSlips,
) -> Json {
    let (today, usual) = (reader.today(read_clock(app)), reader.find_usual_time());
    let stated = sheet.quiet.as_deref().and_then(|quiet| quiet.split_once('-')).unwrap_or_default();
    let hours: Vec<String> = (0..24).map(|hour| format!("{hour:02}:00")).collect();
    let mut quiet_hours = hours.clone();
    quiet_hours.extend([stated.0, stated.1].map(str::to_owned).into_iter().filter(|time| !time.is_empty()));
    quiet_hours.sort();
    quiet_hours.dedup();
    let (from, until) = slips.quiet.as_ref().map_or(stated, |(from, until)| (from.as_str(), until.as_str()));
    // One that is over is none any more.
    let pause = sheet.quiet_until.as_ref().filter(|date| Day::parse(date).is_some_and(|date| date > today));
    json!({
        "hours": hours,
        "hour": sheet.hour,
        "usual": usual.map(|time| format!("{:02}:{:02}", time.hour, time.minute)),
        "quiet_hours": quiet_hours,
        "quiet_from": from,
        "quiet_until": until,
        "pause": slips.pause.as_ref().or(pause),
        "problems": list_problems(slips, language),
    })
}

/// What is wrong, by the field that it stands below.
fn list_problems(slips: &FormSlips, language: &ReaderLanguage) -> BTreeMap<&'static str, String> {
    let quiet = slips.quiet.as_ref().map(|(from, until)| match (from.is_empty(), until.is_empty()) {
        (true, _) => ("from", "settings-quiet-half"),
        (false, true) => ("until", "settings-quiet-half"),
        (false, false) => ("until", "settings-quiet-equal"),
    });
    let pause = slips.pause.as_ref().map(|_| ("pause", "settings-pause-over"));
    quiet.into_iter().chain(pause).map(|(field, name)| (field, language.house_sentence(name, &[]))).collect()
}
