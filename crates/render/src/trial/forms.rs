//! The inputs of messages: which things they tell, and to whom.

use std::collections::BTreeMap;

use catalogue::{Catalogue, KindDef, ToldExample, example_name};
use model::{
    AudienceMatch, Channel, EntryReason, GeoPoint, Kind, Person, UtcMillis, Value, VersionedState,
    civil_time::Zone,
    limits::READY_ENTRIES_MAX,
    person::profile,
    plan::{OncePer, Plan},
};

use super::blocks;
use crate::{
    MessageRenderer,
    input::{ItemInput, MailInput, RenderError, SectionInput},
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
}

impl ToldThing {
    pub fn new(catalogue: &Catalogue, plan: &Plan, kind: &KindDef, number: usize) -> Option<Self> {
        let section = plan.section_of(&kind.name)?;
        let example = catalogue.told_example(kind, number)?;
        let other = Person::new(&format!("other{number}")).ok();
        let because = kind.audience_matches(&example.subject, &example.state, other);
        // Who follows one of many is told for that one.
        let because = because.into_iter().take(1);
        let reasons = because.map(|because| EntryReason { kind: kind.name.clone(), because }).collect();
        Some(Self { kind: kind.name.clone(), section, example, reasons })
    }

    /// The same thing, of which something else is known.
    pub fn with_example(&self, example: ToldExample) -> Self {
        Self { example, ..self.clone() }
    }

    fn item(&self) -> ItemInput<'_> {
        ItemInput {
            kind: &self.kind,
            subject: &self.example.subject,
            state: &self.example.state,
            reasons: &self.reasons,
            maybe: false,
        }
    }
}

/// As many things as a plan has room for, of all its kinds.
pub fn full_things(catalogue: &Catalogue, plan: &Plan) -> Vec<ToldThing> {
    let mut things = Vec::new();
    for section in &plan.sections {
        let kinds: Vec<&KindDef> =
            section.kinds.iter().filter_map(|kind| catalogue.kinds.get(kind)).collect();
        let more = (0..usize::from(section.most)).zip(kinds.iter().cycle());
        let start = things.len() + 1;
        things.extend(more.filter_map(|(nth, kind)| ToldThing::new(catalogue, plan, kind, start + nth)));
    }
    things.truncate(READY_ENTRIES_MAX);
    things
}

/// Each thing twice, as two events of it are told: once where the plan says a subject once, or has no room for two.
pub fn doubled_things(each: &[ToldThing], plan: &Plan) -> Vec<ToldThing> {
    let most = |section: usize| plan.sections.get(section).map_or(1, |section| usize::from(section.most));
    let times = |thing: &ToldThing| {
        let says_once = plan.once_per != OncePer::Event;
        if says_once { 1 } else { most(thing.section).min(2) }
    };
    each.iter().flat_map(|thing| std::iter::repeat_n(thing.clone(), times(thing))).collect()
}

/// A message: what it tells, and to whom.
#[derive(Clone, Debug)]
pub struct MessageInput {
    pub things: Vec<ToldThing>,
    /// Whether the reader has a name, and lives somewhere.
    pub named: bool,
    /// Whether things are carried over.
    pub over: bool,
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
        Self { things, named: true, over }
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
            zone: &Zone::UTC,
            due: UtcMillis::parse("2026-11-24T08:00:00Z").unwrap_or_default(),
            sections: &sections,
            related: &related,
            persons: &persons,
            place: self.named.then_some(PLACE),
            variant: 1,
            unsubscribe: Some(LINK),
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
