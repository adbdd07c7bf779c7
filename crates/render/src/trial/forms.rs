//! The inputs of messages: which things they tell, and to whom.

use std::collections::BTreeMap;

use catalogue::{Catalogue, KindDef};
use model::{
    Actor, AudienceMatch, Channel, EntryReason, GeoPoint, Kind, Person, UtcMillis, Value, VersionedState,
    civil_time::Zone,
    limits::{ACTORS_SOUGHT_MAX, READY_ENTRIES_MAX},
    person::profile,
    plan::{OncePer, Plan},
};

use super::{
    blocks,
    varied_examples::{ToldExample, example_name, told_example},
};
use crate::{
    MessageRenderer,
    input::{ItemInput, ItemWords, MailInput, RenderError, SectionInput},
};

/// Where the reader is: not far from the places of what is told.
const PLACE: GeoPoint = GeoPoint { lat: 52.45, lon: 13.3 };
/// A link as long as a signed one is.
const LINK: &str =
    "https://mail.example.com/u/v1.bWFpbg.YW5u.2f9c1b7a4e6d8035c1aa9e0b7d5f42e86b3c9d10e7f4a2b5";
/// How many more things have no room in a full message.
const MORE: usize = 7;

/// Something that is told.
#[derive(Clone, PartialEq, Debug)]
pub struct ToldThing {
    pub kind: Kind,
    pub section: usize,
    pub example: ToldExample,
    reasons: Vec<EntryReason>,
    pub words: ItemWords,
}

impl ToldThing {
    pub fn new(catalogue: &Catalogue, plan: &Plan, kind: &KindDef, number: usize) -> Option<Self> {
        let section = plan.section_of(&kind.name)?;
        let example = told_example(catalogue, kind, number)?;
        let other = Person::new(&format!("other{number}")).ok();
        let because = kind.audience_matches(&example.subject, &example.state, other);
        // Who follows one of many is told for that one.
        let because = because.into_iter().take(1);
        let reasons = because.map(|because| EntryReason { kind: kind.name.clone(), because }).collect();
        // Every second one stands for several, where the kind has bundles.
        let words = ItemWords::example(catalogue, kind, &example.state, is_many(kind, number));
        Some(Self { kind: kind.name.clone(), section, example, reasons, words })
    }

    /// The same, told as many at once.
    pub fn as_many(&self, catalogue: &Catalogue, kind: &KindDef) -> Self {
        let words = ItemWords::example(catalogue, kind, &self.example.state, true);
        Self { words, ..self.clone() }
    }

    /// The same, done by as many as a message ever names.
    fn into_crowd(mut self) -> Self {
        let actor = |number: usize| {
            let person = Person::new(&format!("person{number}")).ok()?;
            Some(Actor { name: Some(example_name(number).into()), ..person.into() })
        };
        let actors: Vec<Actor> = (1..=ACTORS_SOUGHT_MAX).filter_map(actor).collect();
        self.words.actor = actors.first().cloned();
        self.words.others = actors.len().saturating_sub(1);
        self.words.count = self.words.count.max(actors.len());
        self.words.actors = actors;
        self
    }

    /// The same, told as two at once.
    fn as_two(&self) -> Self {
        Self { words: ItemWords { count: 2, ..self.words.clone() }, ..self.clone() }
    }

    /// The same thing, of which something else is known.
    pub fn with_example(&self, example: ToldExample) -> Self {
        let mut words = self.words.clone();
        words.kept.retain(|name, _| example.state.get(name).is_some());
        Self { example, words, ..self.clone() }
    }

    /// The same thing, and nobody says who did it.
    #[must_use]
    pub fn without_actors(mut self) -> Self {
        (self.words.actor, self.words.actors) = (None, Vec::new());
        self
    }

    fn item(&self) -> ItemInput<'_> {
        ItemInput {
            kind: &self.kind,
            subject: &self.example.subject,
            state: &self.example.state,
            reasons: &self.reasons,
            maybe: false,
            words: &self.words,
        }
    }
}

fn is_many(kind: &KindDef, number: usize) -> bool {
    kind.bundle.is_some() && number.is_multiple_of(2)
}

/// As many things as a plan has room for, of all its kinds; its bundles are as large as they get.
pub fn full_things(catalogue: &Catalogue, plan: &Plan) -> Vec<ToldThing> {
    let mut things = Vec::new();
    for section in &plan.sections {
        let kinds: Vec<&KindDef> =
            section.kinds.iter().filter_map(|kind| catalogue.kinds.get(kind)).collect();
        let more = (0..usize::from(section.most)).zip(kinds.iter().cycle());
        let start = things.len() + 1;
        things.extend(more.filter_map(|(nth, kind)| {
            let thing = ToldThing::new(catalogue, plan, kind, start + nth)?;
            Some(if is_many(kind, start + nth) { thing.into_crowd() } else { thing })
        }));
    }
    things.truncate(READY_ENTRIES_MAX);
    things
}

/// Each thing twice, as two events of it are told: once where they are a bundle, or where the plan says a subject once or has no
/// room for two.
pub fn doubled_things(each: &[ToldThing], plan: &Plan, catalogue: &Catalogue) -> Vec<ToldThing> {
    let most = |section: usize| plan.sections.get(section).map_or(1, |section| usize::from(section.most));
    let times = |thing: &ToldThing| {
        let says_once = plan.once_per != OncePer::Event;
        if says_once { 1 } else { most(thing.section).min(2) }
    };
    let has_bundles =
        |thing: &ToldThing| catalogue.kinds.get(&thing.kind).is_some_and(|kind| kind.bundle.is_some());
    each.iter()
        .flat_map(|thing| match has_bundles(thing) {
            true => vec![thing.as_two()],
            false => vec![thing.clone(); times(thing)],
        })
        .collect()
}

/// A message: what it tells, and to whom.
#[derive(Clone, Debug)]
pub struct MessageInput {
    pub things: Vec<ToldThing>,
    /// Whether the reader has a name, and lives somewhere.
    pub named: bool,
    /// Whether things are carried over.
    pub over: bool,
    /// Of several that there are.
    pub language: Option<String>,
}

/// What is read of a message.
pub struct MessageReading {
    pub headline: String,
    pub html: Option<String>,
    pub text: String,
}

impl MessageReading {
    /// How often it says this, in the part that says it most.
    pub fn counts(&self, sentence: &str) -> usize {
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let sentence = words(sentence);
        let html = self.html.as_ref().map(|html| blocks::html_blocks(html).join("\n")).unwrap_or_default();
        [&self.text, &html].map(|text| words(text).matches(&sentence).count()).into_iter().max().unwrap_or(0)
    }
}

impl MessageInput {
    pub fn new(things: Vec<ToldThing>, over: bool) -> Self {
        Self { things, named: true, over, language: None }
    }

    /// The same for a reader of this language.
    pub fn in_language(&self, language: Option<String>) -> Self {
        Self { language, ..self.clone() }
    }

    /// The things in the order in which they are told.
    pub fn things_in_order(&self) -> Vec<&ToldThing> {
        let mut things: Vec<&ToldThing> = self.things.iter().collect();
        things.sort_by_key(|thing| thing.section);
        things
    }

    /// The names of those with whom the reader has something in common.
    fn other_names(&self) -> BTreeMap<Person, VersionedState> {
        let reasons = self.things.iter().flat_map(|thing| &thing.reasons);
        let others = reasons.filter_map(|reason| match &reason.because {
            AudienceMatch::Mutual(other) => Some(other.clone()),
            _ => None,
        });
        let name = |number| {
            VersionedState::from_values(1, [(profile::NAME, Some(Value::from_text(&example_name(number))))])
        };
        others.enumerate().map(|(number, other)| (other, name(number))).collect()
    }

    /// Makes the message.
    pub fn make_reading(
        &self,
        renderer: &MessageRenderer,
        plan: &Plan,
    ) -> Result<MessageReading, RenderError> {
        let mut related = BTreeMap::new();
        for thing in &self.things {
            related.extend(thing.example.related.clone());
            related.insert(thing.example.subject.clone(), thing.example.state.clone());
        }
        let things = self.things_in_order();
        let of = |number: usize| things.iter().filter(move |thing| thing.section == number);
        let sections = plan.sections.iter().enumerate().map(|(number, section)| SectionInput {
            title: &section.title,
            items: of(number).map(|thing| thing.item()).collect(),
            more: if self.over { MORE } else { 0 },
        });
        let sections: Vec<SectionInput<'_>> = sections.collect();
        let persons = if self.named { self.other_names() } else { BTreeMap::new() };
        let input = MailInput {
            plan: &plan.name,
            name: self.named.then_some("Charlotte"),
            language: self.language.as_deref(),
            zone: &Zone::UTC,
            due: UtcMillis::parse("2026-11-24T08:00:00Z").unwrap_or_default(),
            sections: &sections,
            related: &related,
            persons: &persons,
            place: self.named.then_some(PLACE),
            variant: 1,
            unsubscribe: Some(LINK),
            slots: Some(LINK),
        };
        match plan.channel {
            Channel::Email => {
                let mail = renderer.render_mail(&input)?;
                Ok(MessageReading { headline: mail.headline, html: Some(mail.html), text: mail.text })
            }
            Channel::Push | Channel::Hook(_) => {
                let push = renderer.render_push(&input)?;
                // What is longer is shown instead of the body.
                let text = format!(
                    "{}\n{}",
                    push.headline,
                    if push.longer.is_empty() { &push.body } else { &push.longer }
                );
                Ok(MessageReading { headline: push.headline, html: None, text })
            }
        }
    }
}
