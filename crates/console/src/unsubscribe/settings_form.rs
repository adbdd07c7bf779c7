//! The form of the page of all preferences, and what each of its buttons asks for.

use std::collections::BTreeMap;

use axum::{extract::Query, http::Uri};
use model::{UtcMillis, civil_time::ZoneRules};
use preference_sheet::{ChannelChange, ChoiceChange, ReaderState, SheetChange, StatedText, UNSET};
use preferences::PreferenceField;

/// What a form asks for.
#[derive(Clone, PartialEq, Debug)]
pub struct SettingsForm {
    pub act: SettingsAct,
    pub change: SheetChange,
    /// What is not in the change, since it cannot be taken.
    pub slips: FormSlips,
}

/// What a reader can set right: nothing of the form is saved, and the page shows it as they said it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FormSlips {
    /// From when and until when, where one of the two is missing or both are the same.
    pub quiet: Option<(String, String)>,
    /// Until when there is to be a break, where that is over.
    pub pause: Option<String>,
}

impl FormSlips {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Which button was pressed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SettingsAct {
    Save,
    /// Shows last week, and nothing else.
    Try,
    /// What was said of one thing ends, by the field that speaks of it for all channels.
    End(String),
    /// It holds again: what each of its fields said, and the proof that this was offered.
    Undo {
        words: BTreeMap<String, String>,
        proof: String,
    },
}

impl SettingsForm {
    /// Nothing of a form that is not the page's.
    pub fn parse(body: &str) -> Option<Self> {
        let address: Uri = format!("/?{}", body.trim()).parse().ok()?;
        let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(&address).ok()?;
        let fields: BTreeMap<&str, &str> =
            pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        // A field that is given twice does not come from our page.
        if fields.len() != pairs.len() {
            return None;
        }
        match *fields.get("do")? {
            "save" => Self::read_choices(SettingsAct::Save, &fields),
            "try" => Self::read_choices(SettingsAct::Try, &fields),
            // The first of what somebody subscribed to, the other of what they muted.
            "end" | "again" => Self::read_end(fields.get("thing")?),
            "undo" => Self::read_undo(&fields),
            _ => None,
        }
    }

    fn read_end(field: &str) -> Option<Self> {
        let choices = vec![choose_thing(field, UNSET)?];
        let change = SheetChange { choices, ..SheetChange::default() };
        Some(Self { act: SettingsAct::End(field.to_owned()), change, slips: FormSlips::default() })
    }

    /// Of one thing at a time, as it ended.
    fn read_undo(fields: &BTreeMap<&str, &str>) -> Option<Self> {
        let words = fields.iter().filter_map(|(name, choice)| Some((name.strip_prefix("u:")?, *choice)));
        let words: BTreeMap<String, String> =
            words.map(|(field, choice)| (field.to_owned(), choice.to_owned())).collect();
        let mut things = words.keys().map(|field| {
            let PreferenceField { sort, of, .. } = PreferenceField::parse(field);
            (sort, of)
        });
        let first = things.next()?;
        if things.any(|other| other != first) {
            return None;
        }
        let choices: Option<Vec<ChoiceChange>> =
            words.iter().map(|(field, choice)| choose_thing(field, choice)).collect();
        let change = SheetChange { choices: choices?, ..SheetChange::default() };
        let proof = fields.get("proof").map(|proof| (*proof).to_owned()).unwrap_or_default();
        Some(Self { act: SettingsAct::Undo { words, proof }, change, slips: FormSlips::default() })
    }

    /// Leaves a break out that would be over before it begins.
    pub fn take_past_break(&mut self, reader: &ReaderState<'_>, clock: (UtcMillis, &ZoneRules)) {
        let Some(StatedText(Some(until))) = &self.change.quiet_until else { return };
        if reader.is_break_over(until, clock) {
            self.slips.pause = self.change.quiet_until.take().and_then(|StatedText(until)| until);
        }
    }

    fn read_choices(act: SettingsAct, fields: &BTreeMap<&str, &str>) -> Option<Self> {
        let mut change = read_change(fields)?;
        let mut slips = FormSlips::default();
        match [fields.get("from"), fields.get("until")].map(|time| time.copied().unwrap_or_default()) {
            ["", ""] if fields.contains_key("from") => change.quiet = Some(StatedText(None)),
            ["", ""] => {}
            [from, until] if from.is_empty() || until.is_empty() || from == until => {
                slips.quiet = Some((from.to_owned(), until.to_owned()));
            }
            [from, until] => change.quiet = Some(StatedText(Some(format!("{from}-{until}")))),
        }
        Some(Self { act, change, slips })
    }
}

/// All but quiet hours, which are two fields.
fn read_change(fields: &BTreeMap<&str, &str>) -> Option<SheetChange> {
    let stated = |value: &str| StatedText(Some(value.to_owned()).filter(|value| !value.is_empty()));
    let mut change = SheetChange {
        language: fields.get("language").map(|tag| stated(tag)),
        hour: fields.get("hour").map(|hour| stated(hour)),
        quiet_until: fields.get("pause").map(|date| stated(date)),
        ..SheetChange::default()
    };
    for (name, value) in fields {
        if let Some(channel) = name.strip_prefix("o:") {
            let of_channel: &mut ChannelChange = change.channels.entry(channel.to_owned()).or_default();
            of_channel.off = Some(*value == "off");
        } else if let Some(channel) = name.strip_prefix("p:") {
            let of_channel: &mut ChannelChange = change.channels.entry(channel.to_owned()).or_default();
            of_channel.plan = Some(stated(value));
        } else if let Some(field) = name.strip_prefix("c:") {
            change.choices.push(choose_topic(field, value)?);
        }
    }
    Some(change)
}

/// A choice of a category or a kind on a channel, by the name of its field.
fn choose_topic(field: &str, choice: &str) -> Option<ChoiceChange> {
    let (PreferenceField { sort, of, .. }, mut change) = begin_choice(field, choice);
    match sort {
        preferences::CATEGORY => change.category = Some(of.to_owned()),
        preferences::KIND => change.kind = Some(of.to_owned()),
        _ => return None,
    }
    Some(change)
}

/// The same of one thing.
pub fn choose_thing(field: &str, choice: &str) -> Option<ChoiceChange> {
    let (PreferenceField { sort, of: id, .. }, mut change) = begin_choice(field, choice);
    let of = |of: &str| Some(of.to_owned());
    match sort {
        preferences::ACTOR => change.actor = of(id),
        preferences::SUBJECT => change.subject = of(id),
        preferences::THREAD => change.thread = of(id),
        preferences::ABOUT => {
            let (kind, subject) = id.split_once(' ')?;
            (change.kind, change.subject) = (of(kind), of(subject));
        }
        _ => return None,
    }
    Some(change)
}

fn begin_choice<'a>(field: &'a str, choice: &str) -> (PreferenceField<'a>, ChoiceChange) {
    let field = PreferenceField::parse(field);
    let channel = field.place.map(str::to_owned);
    (field, ChoiceChange { choice: choice.to_owned(), channel, ..ChoiceChange::default() })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    #[test]
    fn each_button_asks_for_its_own() {
        let check = |body: &str, expected: SettingsAct, change: Json| {
            let form = SettingsForm::parse(body).unwrap_or_else(|| panic!("{body}"));
            let asked: SheetChange = serde_json::from_value(change).unwrap();
            assert_eq!(
                (form.act, form.change, form.slips),
                (expected, asked, FormSlips::default()),
                "{body}"
            );
        };
        let words = |of: &[(&str, &str)]| -> BTreeMap<String, String> {
            of.iter().map(|(field, choice)| ((*field).to_owned(), (*choice).to_owned())).collect()
        };
        check("do=save&hour=", SettingsAct::Save, json!({"hour": null}));
        check("do=try&o%3Apush=off", SettingsAct::Try, json!({"channels": {"push": {"off": true}}}));
        for button in ["end", "again"] {
            check(
                &format!("do={button}&thing=about+edited+page%3A1"),
                SettingsAct::End("about edited page:1".to_owned()),
                json!({"choices": [{"kind": "edited", "subject": "page:1", "choice": "default"}]}),
            );
        }
        check(
            "do=undo&u%3Asubject%20page%3A1=on&u%3Apush%2Fsubject%20page%3A1=digest&proof=p",
            SettingsAct::Undo {
                words: words(&[("push/subject page:1", "digest"), ("subject page:1", "on")]),
                proof: "p".to_owned(),
            },
            json!({"choices": [
                {"subject": "page:1", "channel": "push", "choice": "digest"},
                {"subject": "page:1", "choice": "on"},
            ]}),
        );
    }

    #[test]
    fn quiet_hours_have_two_ends_or_none() {
        let check = |fields: &str, change: Json, slip: Option<(&str, &str)>| {
            let form =
                SettingsForm::parse(&format!("do=save&{fields}")).unwrap_or_else(|| panic!("{fields}"));
            let asked: SheetChange = serde_json::from_value(change).unwrap();
            let quiet = slip.map(|(from, until)| (from.to_owned(), until.to_owned()));
            assert_eq!((form.change, form.slips), (asked, FormSlips { quiet, pause: None }), "{fields}");
        };
        check("", json!({}), None);
        check("from=&until=", json!({"quiet": null}), None);
        check("from=22%3A00&until=08%3A00", json!({"quiet": "22:00-08:00"}), None);
        check("from=22%3A00&until=", json!({}), Some(("22:00", "")));
        check("from=&until=08%3A00", json!({}), Some(("", "08:00")));
        check("from=22%3A00&hour=09%3A00", json!({"hour": "09:00"}), Some(("22:00", "")));
        check("from=22%3A00&until=22%3A00", json!({}), Some(("22:00", "22:00")));
    }

    #[test]
    fn a_form_that_is_not_the_pages_asks_for_nothing() {
        for body in [
            "",
            "do=",
            "do=end",
            "do=end&thing=",
            "do=end&thing=kind%20edited",
            "do=end&thing=about%20edited",
            "do=end&thing=all",
            "do=end&thing=actor%20bob&thing=actor%20eve",
            "do=undo",
            "do=undo&thing=actor%20bob",
            "do=undo&u%3Akind%20edited=on",
            "do=undo&u%3Aall=on",
            // Of two things.
            "do=undo&u%3Aactor%20bob=on&u%3Aactor%20eve=on",
        ] {
            assert_eq!(SettingsForm::parse(body), None, "{body}");
        }
    }
}
