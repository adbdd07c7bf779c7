//! Values as texts see them: cleaned, and able to print themselves.

use std::{collections::BTreeMap, fmt, sync::Arc};

use catalogue::{Catalogue, KindDef, is_web_url};
use expression::{ACTOR, ACTORS, COUNT, EVENT, OTHERS};
use jiff::{Timestamp, Zoned};
use languages::{MessageBook, MessageValue, ReaderLanguage};
use minijinja::value::{Enumerator, Object, ObjectRepr, Value as Scripted};
use model::{Actor, FieldType, SubjectRef, UtcMillis, Value, VersionedState, civil_time::Zone};

use crate::{input::ItemWords, text_cleaning};

/// Something with parts and a name of its own: a subject, an item, a section.
#[derive(Debug)]
pub struct NamedValue {
    pub parts: BTreeMap<String, Scripted>,
    /// What it prints as.
    pub name: String,
}

impl Object for NamedValue {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Map
    }

    fn get_value(self: &Arc<Self>, key: &Scripted) -> Option<Scripted> {
        self.parts.get(key.as_str()?).cloned()
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::NonEnumerable
    }

    fn is_true(self: &Arc<Self>) -> bool {
        true
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// A value with parts that prints as its name.
pub fn named_value<const N: usize>(name: String, parts: [(&str, Scripted); N]) -> Scripted {
    let parts = parts.into_iter().map(|(part, value)| (part.to_string(), value)).collect();
    Scripted::from_object(NamedValue { parts, name })
}

/// Who did something: it prints as their name.
fn actor_value(actor: &Actor) -> Option<Scripted> {
    let name = text_cleaning::clean_line(actor.name.as_deref()?, usize::MAX);
    let id = actor.person().map(|person| text_cleaning::clean_value(person.as_str()));
    let parts = [
        ("name", Scripted::from(name.as_str())),
        ("id", id.map_or(Scripted::UNDEFINED, Scripted::from)),
        ("sort", Scripted::from(actor.id.sort())),
    ];
    (!name.is_empty()).then(|| named_value(name, parts))
}

/// The language of whoever reads a text, for the words that write something in it, and the catalogue's messages in it.
#[derive(Debug)]
pub struct SpokenLanguage(pub ReaderLanguage, pub Option<Arc<MessageBook>>);

impl Object for SpokenLanguage {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }
}

/// An instant on the reader's wall.
#[derive(Debug)]
pub struct WallMoment {
    at: Zoned,
    /// The year that goes without saying.
    year: i16,
    language: ReaderLanguage,
}

impl WallMoment {
    pub fn new(at: UtcMillis, zone: &Zone, due: UtcMillis, language: &ReaderLanguage) -> Option<Self> {
        let zoned = |at: UtcMillis| Some(Timestamp::from_millisecond(at.0).ok()?.to_zoned(zone.clone()));
        Some(Self { at: zoned(at)?, year: zoned(due)?.year(), language: language.clone() })
    }

    /// `Fri 27 Nov`, with the year if it is another.
    pub fn day_text(&self) -> String {
        self.language.day(self.at.date(), self.at.year() != self.year)
    }

    /// `18:00 CET`: what is told may be far away, so a time says whose it is.
    pub fn time_text(&self) -> String {
        let zone = self.at.strftime("%Z").to_string();
        // Where nobody uses letters the zone's database has the difference alone.
        let of = if zone.starts_with(['+', '-']) { "UTC" } else { "" };
        format!("{} {of}{zone}", self.language.time(self.at.time()))
    }
}

impl Object for WallMoment {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn custom_cmp(self: &Arc<Self>, other: &minijinja::value::DynObject) -> Option<std::cmp::Ordering> {
        Some(self.at.cmp(&other.downcast_ref::<Self>()?.at))
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [day, time] = [self.day_text(), self.time_text()].map(MessageValue::Sentence);
        f.write_str(&self.language.house_sentence("moment", &[("day", day), ("time", time)]))
    }
}

/// An address that can stand in a mail as it is; anything else is nothing.
pub fn web_address(text: &str) -> String {
    if !is_web_url(text) {
        return String::new();
    }
    // Style sheets put addresses between these.
    if !text.contains(['\'', '(', ')']) {
        return text_cleaning::clean_value(text);
    }
    text_cleaning::clean_value(&text.replace('\'', "%27").replace('(', "%28").replace(')', "%29"))
}

/// Makes values for one mail.
pub struct MailViews<'a> {
    pub catalogue: &'a Catalogue,
    pub language: &'a ReaderLanguage,
    pub zone: &'a Zone,
    pub due: UtcMillis,
    pub related: &'a BTreeMap<SubjectRef, VersionedState>,
    /// Referenced subjects are built once.
    made: BTreeMap<&'a SubjectRef, Scripted>,
}

impl<'a> MailViews<'a> {
    pub fn new(
        catalogue: &'a Catalogue,
        language: &'a ReaderLanguage,
        zone: &'a Zone,
        due: UtcMillis,
        related: &'a BTreeMap<SubjectRef, VersionedState>,
    ) -> Self {
        Self { catalogue, language, zone, due, related, made: BTreeMap::new() }
    }

    /// A subject with its fields and, one deep, what it refers to.
    pub fn subject(&mut self, subject: &SubjectRef, state: &'a VersionedState) -> Scripted {
        self.view(subject, state, true)
    }

    /// The references of a subject by the name of their field, as sentences call them.
    pub fn references(&mut self, subject: &SubjectRef, state: &'a VersionedState) -> Vec<(String, Scripted)> {
        let Some(declared) = self.catalogue.subjects.get(subject.kind()) else { return Vec::new() };
        let mut references = Vec::new();
        for (name, field) in declared.fields.iter().filter(|(_, field)| field.target().is_some()) {
            if let Some(value) = state.get(name).and_then(|value| self.value(field, value, true)) {
                references.push((name.clone(), value));
            }
        }
        references
    }

    /// What the events of an item say, by the names that texts have for it. An actor without a name is not there, so that a
    /// sentence can say `default("Somebody")`.
    pub fn words(&mut self, kind: &KindDef, words: &'a ItemWords) -> [(&'static str, Scripted); 5] {
        let actors: Vec<Scripted> = words.actors.iter().filter_map(actor_value).collect();
        let kept = self.catalogue.kept_fields(kind);
        let kept: Vec<(&str, &FieldType)> = kept.collect();
        let mut event = BTreeMap::new();
        for (name, field) in kept {
            if let Some(value) = words.kept.get(name).and_then(|value| self.value(field, value, false)) {
                event.insert(name.to_string(), value);
            }
        }
        [
            (ACTOR, words.actor.as_ref().and_then(actor_value).unwrap_or(Scripted::UNDEFINED)),
            (ACTORS, Scripted::from(actors)),
            (EVENT, Scripted::from_object(NamedValue { parts: event, name: String::new() })),
            (OTHERS, Scripted::from(words.others)),
            (COUNT, Scripted::from(words.count)),
        ]
    }

    /// What a subject is called; nothing if that is not known.
    pub fn name(&self, subject: &SubjectRef, state: &VersionedState) -> String {
        text_cleaning::clean_line(self.catalogue.name_of(subject, state).unwrap_or_default(), usize::MAX)
    }

    /// What a subject that others refer to is called; nothing if that is not known.
    pub fn name_of(&self, to: &SubjectRef) -> String {
        self.related.get(to).map(|state| self.name(to, state)).unwrap_or_default()
    }

    /// A subject that one of those made refers to.
    pub fn known_view(&self, to: &SubjectRef) -> Option<Scripted> {
        self.made.get(to).cloned()
    }

    fn view(&mut self, subject: &SubjectRef, state: &'a VersionedState, near: bool) -> Scripted {
        let mut fields =
            BTreeMap::from([("id".to_string(), Scripted::from(text_cleaning::clean_value(subject.id())))]);
        if let Some(declared) = self.catalogue.subjects.get(subject.kind()) {
            for (name, field) in &declared.fields {
                if let Some(value) = state.get(name).and_then(|value| self.value(field, value, near)) {
                    fields.insert(name.clone(), value);
                }
            }
        }
        Scripted::from_object(NamedValue { parts: fields, name: self.name(subject, state) })
    }

    /// A value of a field; nothing if it is not what was declared, for states outlive catalogues.
    fn value(&mut self, field: &FieldType, value: &'a Value, near: bool) -> Option<Scripted> {
        match (field, value) {
            (FieldType::Text | FieldType::Person, Value::Text(text)) => {
                Some(Scripted::from(text_cleaning::clean_value(text)))
            }
            (FieldType::Url, Value::Text(text)) => Some(Scripted::from(web_address(text))),
            // A whole number is said without a point.
            #[allow(clippy::cast_possible_truncation)]
            (FieldType::Number, Value::Number(n)) if n.fract() == 0.0 && n.abs() < 1e15 => {
                Some(Scripted::from(*n as i64))
            }
            (FieldType::Number, Value::Number(n)) => Some(Scripted::from(*n)),
            (FieldType::Flag, Value::Flag(flag)) => Some(Scripted::from(*flag)),
            (FieldType::Time, Value::Time(at)) => {
                WallMoment::new(*at, self.zone, self.due, self.language).map(Scripted::from_object)
            }
            (FieldType::Ref(_), Value::Ref(to)) if near => Some(self.reference(to)),
            (FieldType::Refs(_), Value::Refs(to)) if near => {
                Some(to.iter().map(|to| self.reference(to)).collect())
            }
            (FieldType::Place, Value::Place(place)) => {
                Some(Scripted::from(BTreeMap::from([("lat", place.lat), ("lon", place.lon)])))
            }
            _ => None,
        }
    }

    fn reference(&mut self, to: &SubjectRef) -> Scripted {
        let Some((to, state)) = self.related.get_key_value(to) else {
            let fields =
                BTreeMap::from([("id".to_string(), Scripted::from(text_cleaning::clean_value(to.id())))]);
            return Scripted::from_object(NamedValue { parts: fields, name: String::new() });
        };
        if let Some(made) = self.made.get(to) {
            return made.clone();
        }
        let made = self.view(to, state, false);
        self.made.insert(to, made.clone());
        made
    }
}
