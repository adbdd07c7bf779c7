//! What a person asks to change, and the facts that say so.

use std::collections::BTreeSet;

use model::{
    Channel, Day, Person, UtcMillis, Value, ValueCell, VersionedState,
    civil_time::ZoneRules,
    person::profile,
    plan::{LocalHours, LocalTime},
};
use preferences::{PreferenceChoice, ReadingPlace};
use serde_json::{Value as Json, json};
use source_text::{list_choices, suggest_name};

use crate::{
    ReaderState,
    choice_scope::{OwnedChoice, OwnedScope, find_channel, quote, refuse},
    reader_state::SheetTopic,
    sheet::list_choosable_plans,
    sheet_change::{ChoiceChange, SheetChange, SheetRefusal, StatedText, UNSET},
};

/// Choices of one change, at most.
const CHOICES_MAX: usize = 200;

/// A fact as the way in takes it.
#[derive(Clone, PartialEq, Debug)]
pub struct StatedFact {
    pub sort: &'static str,
    pub version: i64,
    pub data: Json,
}

/// What a change comes to.
#[derive(Clone, PartialEq, Debug)]
pub struct ChangedSheet {
    /// Nothing where all of it holds already.
    pub facts: Vec<StatedFact>,
    /// The person's states once these are taken.
    pub profile: VersionedState,
    pub preferences: VersionedState,
}

/// The facts by which a change is stated of a person, and what holds then. All of it is right, or nothing is done.
pub fn change_sheet(
    reader: &ReaderState<'_>,
    person: &Person,
    change: &SheetChange,
    clock: (UtcMillis, &ZoneRules),
) -> Result<ChangedSheet, SheetRefusal> {
    let mut draft = SheetDraft {
        reader: *reader,
        person,
        clock,
        changed: ChangedSheet {
            facts: Vec::new(),
            profile: reader.profile.clone(),
            preferences: reader.preferences.clone(),
        },
    };
    draft.change_profile(change)?;
    draft.change_choices(&change.choices)?;
    Ok(draft.changed)
}

struct SheetDraft<'a> {
    reader: ReaderState<'a>,
    person: &'a Person,
    clock: (UtcMillis, &'a ZoneRules),
    changed: ChangedSheet,
}

impl SheetDraft<'_> {
    fn reader(&self) -> ReaderState<'_> {
        let ChangedSheet { profile, preferences, .. } = &self.changed;
        ReaderState { profile, preferences, ..self.reader }
    }

    fn change_profile(&mut self, change: &SheetChange) -> Result<(), SheetRefusal> {
        let mut cells: Vec<(&'static str, Option<Value>)> = Vec::new();
        let text = |StatedText(value): &StatedText| value.as_deref().map(Value::from_text);
        if let Some(language) = &change.language
            && !self.is_told_in(language.0.as_deref())?
        {
            cells.push((profile::LANGUAGE, text(language)));
        }
        if let Some(hour) = &change.hour {
            check_hour(hour.0.as_deref())?;
            cells.push((profile::HOUR, text(hour)));
        }
        if let Some(quiet) = &change.quiet {
            check_quiet(quiet.0.as_deref())?;
            cells.push((profile::QUIET, text(quiet)));
        }
        if let Some(until) = &change.quiet_until {
            self.check_break(until.0.as_deref())?;
            cells.push((profile::QUIET_UNTIL, text(until)));
        }
        for (name, of_channel) in &change.channels {
            let at = format!("/channels/{}", escape_pointer(name));
            let channel = find_channel(self.reader.catalogue, name, &at)?;
            if let Some(off) = of_channel.off {
                cells.push((channel.off(), Some(Value::Flag(off))));
            }
            if let Some(plan) = &of_channel.plan {
                self.check_plan(channel, plan.0.as_deref(), &at)?;
                cells.push((channel.plan(), text(plan)));
            }
        }
        self.state_profile(cells);
        Ok(())
    }

    /// One fact of all that is not so already.
    fn state_profile(&mut self, cells: Vec<(&'static str, Option<Value>)>) {
        let profile = &mut self.changed.profile;
        // A flag that is down is one that is not there.
        let shown = |value: Option<&Value>| value.filter(|value| **value != Value::Flag(false)).cloned();
        let new: Vec<_> = cells
            .into_iter()
            .filter(|(name, value)| shown(value.as_ref()) != shown(profile.get(name)))
            .collect();
        let versions = new.iter().filter_map(|(name, _)| profile.cells.get(*name)).map(|cell| cell.version);
        let version = next_version(self.clock.0, versions);
        let mut data = json!({"person": self.person.as_str()});
        for (name, value) in &new {
            data[*name] = match value {
                None => Json::Null,
                Some(Value::Flag(flag)) => json!(flag),
                Some(other) => json!(other.as_text()),
            };
            profile.set(name, ValueCell { version, value: value.clone() });
        }
        if !new.is_empty() {
            self.changed.facts.push(StatedFact { sort: "tidings.profile", version, data });
        }
    }

    fn change_choices(&mut self, choices: &[ChoiceChange]) -> Result<(), SheetRefusal> {
        if choices.len() > CHOICES_MAX {
            return refuse("/choices", format!("{} choices, more than {CHOICES_MAX}", choices.len()));
        }
        let mut read = Vec::new();
        for (number, choice) in choices.iter().enumerate() {
            read.push(OwnedChoice::read(choice, &format!("/choices/{number}"), self.reader.catalogue)?);
        }
        // Two of the same would have no order once they are facts.
        let mut fields = BTreeSet::new();
        for (number, one) in read.iter().enumerate() {
            if !fields.insert(one.scope.scope().field(one.place)) {
                return refuse(&format!("/choices/{number}"), "the same is chosen twice".to_owned());
            }
        }
        read.sort_by_key(|one| (one.scope.breadth(), one.place));
        for one in read {
            self.choose(&one);
        }
        Ok(())
    }

    /// States a choice, unless the sheet shows it already.
    fn choose(&mut self, OwnedChoice { scope, place, choice }: &OwnedChoice) {
        if self.shows(scope, *place, *choice) {
            return;
        }
        let of_all = self.own_word(scope, None);
        // What was said of single places stands before it. And without what is said for all places, the others are told
        // as they were.
        let restated: Vec<(ReadingPlace, Option<PreferenceChoice>)> = match (place, choice) {
            (None, _) => {
                let places = ReadingPlace::ALL.into_iter();
                let said = places.filter(|one| self.own_word(scope, Some(*one)).is_some());
                said.map(|one| (one, None)).collect()
            }
            (Some(place), None) if of_all.is_some() => {
                let others = ReadingPlace::ALL.into_iter().filter(|other| other != place);
                let unsaid = others.filter(|other| self.own_word(scope, Some(*other)).is_none());
                let told = unsaid.filter(|other| self.is_told_on(scope, *other));
                told.map(|other| (other, of_all.map(|choice| other.limit_choice(choice)))).collect()
            }
            (Some(_), _) => Vec::new(),
        };
        // First, since the last word of a thing says whether its news are wanted anywhere.
        if place.is_some() && choice.is_none() && of_all.is_some() {
            self.state_choice(scope, None, None);
        }
        for (one, choice) in restated {
            self.state_choice(scope, Some(one), choice);
        }
        if self.own_word(scope, *place) != *choice {
            self.state_choice(scope, *place, *choice);
        }
    }

    /// What the person says of this very thing, for one place or for all.
    fn own_word(&self, scope: &OwnedScope, place: Option<ReadingPlace>) -> Option<PreferenceChoice> {
        let value = self.changed.preferences.get(&scope.scope().field(place));
        value.and_then(PreferenceChoice::from_value)
    }

    /// Whether a choice holds already. Of a topic it does also where nobody said it.
    fn shows(
        &self,
        scope: &OwnedScope,
        place: Option<ReadingPlace>,
        choice: Option<PreferenceChoice>,
    ) -> bool {
        let reader = self.reader();
        let Some(wanted) = choice else {
            let places: Vec<Option<ReadingPlace>> = match place {
                Some(place) => vec![Some(place), None],
                None => std::iter::once(None).chain(ReadingPlace::ALL.map(Some)).collect(),
            };
            return places.into_iter().all(|one| self.own_word(scope, one).is_none());
        };
        let OwnedScope::Topic(topic) = scope else {
            let has_places =
                ReadingPlace::ALL.into_iter().any(|one| self.own_word(scope, Some(one)).is_some());
            return self.own_word(scope, place) == Some(wanted) && (place.is_some() || !has_places);
        };
        let kinds = self.kinds_of(topic);
        let told = reader.places_of(&kinds);
        let mut places = told.into_iter().filter(|one| place.is_none_or(|place| place == *one));
        places.all(|place| reader.choice_of_topic(topic, &kinds, place).0 == place.limit_choice(wanted))
    }

    /// The kinds that a topic is for, also where no line of the sheet shows it.
    fn kinds_of(&self, topic: &SheetTopic) -> Vec<&catalogue::KindDef> {
        let shown = self.reader().topics().remove(topic);
        let all = self.reader.catalogue.kinds.values();
        shown.unwrap_or_else(|| match topic {
            SheetTopic::Category(name) => all.filter(|kind| kind.category.as_ref() == Some(name)).collect(),
            SheetTopic::Kind(name) => all.filter(|kind| kind.name == *name).collect(),
        })
    }

    fn is_told_on(&self, scope: &OwnedScope, place: ReadingPlace) -> bool {
        let catalogue = self.reader.catalogue;
        let is_offered = place != ReadingPlace::Feed || catalogue.feed;
        is_offered && catalogue.explain_idle_choice(&scope.scope().field(Some(place))).is_none()
    }

    fn state_choice(
        &mut self,
        scope: &OwnedScope,
        place: Option<ReadingPlace>,
        choice: Option<PreferenceChoice>,
    ) {
        let field = scope.scope().field(place);
        // Of words about one thing each is newer than those before it, whatever place it is for.
        let places = std::iter::once(None).chain(ReadingPlace::ALL.map(Some));
        let fields = places.map(|place| scope.scope().field(place));
        let preferences = &mut self.changed.preferences;
        let known = fields.filter_map(|field| Some(preferences.cells.get(field.as_str())?.version));
        let version = next_version(self.clock.0, known);
        preferences.set(&field, ValueCell { version, value: Some(PreferenceChoice::to_value(choice)) });
        let mut data = scope.fact_fields();
        data.insert("person".to_owned(), json!(self.person.as_str()));
        data.insert("choice".to_owned(), json!(choice.map_or(UNSET, PreferenceChoice::name)));
        if let Some(place) = place {
            data.insert("channel".to_owned(), json!(place.name()));
        }
        self.changed.facts.push(StatedFact { sort: "tidings.preference", version, data: Json::Object(data) });
    }

    fn check_plan(&self, channel: Channel, plan: Option<&str>, at: &str) -> Result<(), SheetRefusal> {
        let Some(plan) = plan else { return Ok(()) };
        let plans = list_choosable_plans(&self.reader, channel);
        let names: Vec<&str> = plans.iter().map(|plan| plan.name.as_str()).collect();
        if names.contains(&plan) {
            return Ok(());
        }
        let reason = match names.as_slice() {
            [] => format!("there is no choice of plans on `{channel}`"),
            names => format!(
                "`{}` is no plan to choose on `{channel}`: {}",
                quote(plan),
                suggest_name(plan, names.iter().copied())
            ),
        };
        refuse(&format!("{at}/plan"), reason)
    }

    fn check_break(&self, until: Option<&str>) -> Result<(), SheetRefusal> {
        let Some(until) = until else { return Ok(()) };
        if Day::parse(until).is_none_or(|day| day.to_string() != until) {
            return refuse("/quiet_until", format!("`{}` is not a date, such as 2026-12-24", quote(until)));
        }
        if self.reader.is_break_over(until, self.clock) {
            return refuse("/quiet_until", format!("`{until}` is over: a later date is expected"));
        }
        Ok(())
    }

    /// Whether the person is told in this language already, by what they stated.
    fn is_told_in(&self, language: Option<&str>) -> Result<bool, SheetRefusal> {
        let Some(language) = language else { return Ok(false) };
        let spoken = self.reader.catalogue.spoken_languages();
        if spoken.iter().all(|one| one.tag() != language) {
            let known = list_choices(spoken.iter().map(|one| one.tag()));
            let reason = format!("`{}` is no language of the catalogue: it has {known}", quote(language));
            return refuse("/language", reason);
        }
        let stated = self.reader.profile.text(profile::LANGUAGE);
        Ok(stated.is_some_and(|stated| self.reader.catalogue.language_for(Some(stated)).tag() == language))
    }
}

fn check_hour(hour: Option<&str>) -> Result<(), SheetRefusal> {
    let is_full = |text: &str| LocalTime::parse(text).is_some_and(|time| time.minute == 0);
    match hour.filter(|text| !is_full(text)) {
        Some(text) => refuse("/hour", format!("`{}` is not a full hour, such as 18:00", quote(text))),
        None => Ok(()),
    }
}

fn check_quiet(quiet: Option<&str>) -> Result<(), SheetRefusal> {
    match quiet.filter(|text| LocalHours::parse(text).is_none()) {
        Some(text) => {
            refuse("/quiet", format!("`{}` is not a range of hours, such as 22:00-08:00", quote(text)))
        }
        None => Ok(()),
    }
}

/// What somebody says now is newer, whatever counts the versions of a service that states it too.
fn next_version(now: UtcMillis, known: impl IntoIterator<Item = i64>) -> i64 {
    known.into_iter().map(|version| version.saturating_add(1)).fold(now.0, i64::max)
}

fn escape_pointer(name: &str) -> String {
    quote(name).replace('~', "~0").replace('/', "~1")
}
