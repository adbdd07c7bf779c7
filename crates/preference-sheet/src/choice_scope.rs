//! What a choice is about, as it is asked for.

use std::collections::BTreeSet;

use catalogue::Catalogue;
use model::{Channel, Kind, Person, SubjectRef};
use preferences::{PreferenceChoice, PreferenceScope, ReadingPlace};
use serde_json::{Map, Value as Json, json};
use source_text::{list_choices, suggest_name};

use crate::{
    reader_state::SheetTopic,
    sheet_change::{ChoiceChange, SheetRefusal, UNSET},
};

/// Text of others in a refusal, at most.
const QUOTED_CHARS_MAX: usize = 60;

/// What a choice is about, read.
pub(crate) enum OwnedScope {
    Actor(Person),
    About(Kind, SubjectRef),
    Subject(SubjectRef),
    Thread(SubjectRef),
    Topic(SheetTopic),
    All,
}

impl OwnedScope {
    pub fn scope(&self) -> PreferenceScope<'_> {
        match self {
            Self::Actor(actor) => PreferenceScope::Actor(actor),
            Self::About(kind, subject) => PreferenceScope::About(kind, subject),
            Self::Subject(subject) => PreferenceScope::Subject(subject),
            Self::Thread(thread) => PreferenceScope::Thread(thread),
            Self::Topic(topic) => topic.scope(),
            Self::All => PreferenceScope::All,
        }
    }

    /// What is about more comes first, so that what is about less is seen beside it.
    pub fn breadth(&self) -> u8 {
        match self {
            Self::All => 0,
            Self::Topic(SheetTopic::Category(_)) => 1,
            Self::Topic(SheetTopic::Kind(_)) => 2,
            Self::Actor(_) | Self::About(..) | Self::Subject(_) | Self::Thread(_) => 3,
        }
    }

    pub fn fact_fields(&self) -> Map<String, Json> {
        let fields: Vec<(&str, Json)> = match self {
            Self::Actor(actor) => vec![(preferences::ACTOR, json!(actor.as_str()))],
            Self::About(kind, subject) => {
                vec![
                    (preferences::KIND, json!(kind.as_str())),
                    (preferences::SUBJECT, json!(subject.as_str())),
                ]
            }
            Self::Subject(subject) => vec![(preferences::SUBJECT, json!(subject.as_str()))],
            Self::Thread(thread) => vec![(preferences::THREAD, json!(thread.as_str()))],
            Self::Topic(SheetTopic::Category(name)) => vec![(preferences::CATEGORY, json!(name))],
            Self::Topic(SheetTopic::Kind(kind)) => vec![(preferences::KIND, json!(kind.as_str()))],
            Self::All => vec![(preferences::ALL, json!(true))],
        };
        fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

/// A choice, read.
pub(crate) struct OwnedChoice {
    pub scope: OwnedScope,
    pub place: Option<ReadingPlace>,
    pub choice: Option<PreferenceChoice>,
}

impl OwnedChoice {
    pub fn read(given: &ChoiceChange, at: &str, catalogue: &Catalogue) -> Result<Self, SheetRefusal> {
        let choice = PreferenceChoice::parse(&given.choice);
        if choice.is_none() && given.choice != UNSET {
            let known = PreferenceChoice::ALL.map(PreferenceChoice::name).into_iter().chain([UNSET]);
            let known = list_choices(known);
            let reason = match given.choice.is_empty() {
                true => format!("it is missing: use {known}"),
                false => format!("`{}` is none of {known}", quote(&given.choice)),
            };
            return refuse(&format!("{at}/choice"), reason);
        }
        let place = match &given.channel {
            Some(name) => Some(find_place(catalogue, name, &format!("{at}/channel"))?),
            None => None,
        };
        if place == Some(ReadingPlace::Feed) && choice == Some(PreferenceChoice::Digest) {
            return refuse(&format!("{at}/choice"), "a feed has no digest".to_owned());
        }
        let scope = OwnedScope::read(given, at, catalogue)?;
        let field = scope.scope().field(place);
        // To take back what changes nothing does no harm.
        if choice.is_some()
            && let Some(why) = catalogue.explain_idle_choice(&field)
        {
            return refuse(at, why);
        }
        Ok(Self { scope, place, choice })
    }
}

impl OwnedScope {
    fn read(given: &ChoiceChange, at: &str, catalogue: &Catalogue) -> Result<Self, SheetRefusal> {
        let ChoiceChange { category, kind, subject, thread, actor, all, .. } = given;
        let read_kind = |name: &str| {
            let known = catalogue.kinds.keys().find(|kind| kind.as_str() == name).cloned();
            let help = || suggest_name(name, catalogue.kinds.keys().map(Kind::as_str));
            let why = || format!("there is no kind `{}`: {}", quote(name), help());
            known.ok_or_else(|| refusal(&format!("{at}/kind"), why()))
        };
        let read_thing = |field: &str, name: &str| {
            let at = format!("{at}/{field}");
            let of = SubjectRef::new(name).map_err(|why| refusal(&at, why.to_string()))?;
            match catalogue.subjects.contains_key(of.kind()) {
                true => Ok(of),
                false => {
                    let help = suggest_name(of.kind(), catalogue.subjects.keys().map(String::as_str));
                    Err(refusal(&at, format!("there is no type of subject `{}`: {help}", quote(of.kind()))))
                }
            }
        };
        match (category, kind, subject, thread, actor, all) {
            (None, None, None, None, None, true) => Ok(OwnedScope::All),
            (Some(name), None, None, None, None, false) => {
                let help = || suggest_name(name, catalogue.categories.keys().map(String::as_str));
                let why = || format!("there is no category `{}`: {}", quote(name), help());
                let known = catalogue.categories.contains_key(name).then(|| SheetTopic::Category(name.clone()));
                known.map(OwnedScope::Topic).ok_or_else(|| refusal(&format!("{at}/category"), why()))
            }
            (None, Some(kind), None, None, None, false) => {
                read_kind(kind).map(|kind| OwnedScope::Topic(SheetTopic::Kind(kind)))
            }
            (None, Some(kind), Some(of), None, None, false) => {
                Ok(OwnedScope::About(read_kind(kind)?, read_thing(preferences::SUBJECT, of)?))
            }
            (None, None, Some(of), None, None, false) => {
                read_thing(preferences::SUBJECT, of).map(OwnedScope::Subject)
            }
            (None, None, None, Some(of), None, false) => {
                read_thing(preferences::THREAD, of).map(OwnedScope::Thread)
            }
            (None, None, None, None, Some(actor), false) => Person::new(actor)
                .map(OwnedScope::Actor)
                .map_err(|why| refusal(&format!("{at}/actor"), why.to_string())),
            _ => refuse(
                at,
                "a choice is about one thing, or a kind and a subject, or about everything with `\"all\": true`"
                    .to_owned(),
            ),
        }
    }
}

pub(crate) fn find_channel(catalogue: &Catalogue, name: &str, at: &str) -> Result<Channel, SheetRefusal> {
    let used = list_channels(catalogue);
    let known = used.iter().copied().find(|channel| channel.name() == name);
    known.ok_or_else(|| refuse_place(name, at, used.iter().map(|channel| channel.name())))
}

fn find_place(catalogue: &Catalogue, name: &str, at: &str) -> Result<ReadingPlace, SheetRefusal> {
    let feed = catalogue.feed.then_some(ReadingPlace::Feed);
    let channels = list_channels(catalogue).into_iter().map(ReadingPlace::Channel);
    let used: Vec<ReadingPlace> = feed.into_iter().chain(channels).collect();
    let known = used.iter().copied().find(|place| place.name() == name);
    known.ok_or_else(|| refuse_place(name, at, used.iter().map(|place| place.name())))
}

fn list_channels(catalogue: &Catalogue) -> BTreeSet<Channel> {
    catalogue.plans.by_name.values().map(|plan| plan.channel).collect()
}

fn refuse_place<'a>(name: &str, at: &str, used: impl Iterator<Item = &'a str> + Clone) -> SheetRefusal {
    refusal(at, format!("nothing is told on `{}`: {}", quote(name), suggest_name(name, used)))
}

pub(crate) fn refusal(at: &str, reason: String) -> SheetRefusal {
    SheetRefusal { at: at.to_owned(), reason }
}

pub(crate) fn refuse<T>(at: &str, reason: String) -> Result<T, SheetRefusal> {
    Err(refusal(at, reason))
}

pub(crate) fn quote(text: &str) -> String {
    let kept = text.chars().filter(|c| !c.is_control()).take(QUOTED_CHARS_MAX);
    kept.collect()
}
