//! Renders everything in a catalogue with example data, before a person has to find out.

use std::collections::BTreeMap;

use catalogue::{Catalogue, KindDef, ReaderLanguage};
use minijinja::UndefinedBehavior;
use model::{
    Channel, EntryReason, GeoPoint, Kind, Person, SubjectRef, UtcMillis, Value, VersionedState,
    civil_time::Zone, person::profile, plan::Plan,
};
use source_text::{TextProblem, TextProblems};

use crate::{
    MessageRenderer, filters,
    input::{ItemInput, ItemWords, MailInput, NOT_THERE, RenderError, SectionInput},
};

/// Where the reader of an example mail is: not far from the place of an example subject.
const PLACE: GeoPoint = GeoPoint { lat: 52.45, lon: 13.3 };
/// The other party of whatever is between two.
const OTHER: &str = "ben";

/// Items of each kind in an example mail: enough for a row that is not full.
const ITEMS: usize = 3;

impl MessageRenderer {
    /// Renders every kind and plan with example data: once with all fields, where a value that is not
    /// there is an error, and once with none, as a hasty upstream sends it.
    pub fn check(catalogue: &Catalogue) -> TextProblems {
        let mut problems = TextProblems::default();
        let modes = [(UndefinedBehavior::SemiStrict, true), (UndefinedBehavior::Chainable, false)];
        for (missing, full) in modes {
            let renderer = match Self::compile(catalogue, missing) {
                Ok(renderer) => renderer,
                Err(found) => return found,
            };
            for plan in catalogue.plans.by_name.values() {
                let mut languages = catalogue.spoken_languages().into_iter();
                // What fails in one language fails in most, and is said once.
                let failed = languages.find_map(|language| {
                    let example = CheckExample { full, language };
                    match renderer.render_example(catalogue, plan, &example, None) {
                        Err(RenderError::Template(problem)) => Some((*problem, example)),
                        _ => None,
                    }
                });
                if let Some((problem, example)) = failed {
                    problems.extend(renderer.split_by_kind(problem, catalogue, plan, &example));
                }
            }
        }
        match problems.into_result() {
            Ok(()) => TextProblems::default(),
            Err(problems) => problems,
        }
    }

    /// The same problem with the kinds it is of. Each is rendered by itself, for the mail of all stops at
    /// the first.
    fn split_by_kind(
        &self,
        problem: TextProblem,
        catalogue: &Catalogue,
        plan: &Plan,
        example: &CheckExample,
    ) -> Vec<TextProblem> {
        if !problem.what.ends_with(NOT_THERE) {
            return vec![problem];
        }
        let mut found: Vec<(TextProblem, Vec<String>)> = Vec::new();
        for kind in plan.sections.iter().flat_map(|section| &section.kinds) {
            let alone = self.render_example(catalogue, plan, example, Some(kind));
            let Err(RenderError::Template(alone)) = alone else { continue };
            let name = format!("`{kind}`");
            match found.iter_mut().find(|(problem, _)| *problem == *alone) {
                Some((_, kinds)) => kinds.push(name),
                None => found.push((*alone, vec![name])),
            }
        }
        if found.is_empty() {
            return vec![problem];
        }
        let named = found.into_iter().map(|(mut problem, kinds)| {
            if problem.what.ends_with(NOT_THERE) {
                problem.what = format!("{} for items of kind {}", problem.what, filters::join_names(&kinds));
            }
            problem
        });
        named.collect()
    }

    /// Renders a mail of examples: of all kinds of a plan, or of one.
    fn render_example(
        &self,
        catalogue: &Catalogue,
        plan: &Plan,
        CheckExample { full, language }: &CheckExample,
        only: Option<&Kind>,
    ) -> Result<(), RenderError> {
        let full = *full;
        let state = |subject: &SubjectRef| {
            if full { catalogue.example(subject.kind()) } else { VersionedState::default() }
        };
        let told = |kind: &&KindDef| {
            plan.section_of(&kind.name).is_some() && only.is_none_or(|only| *only == kind.name)
        };
        let mut subjects = BTreeMap::new();
        for kind in catalogue.kinds.values().filter(told) {
            for number in 1..=ITEMS {
                let Some(subject) = Catalogue::example_ref(kind.subject(), number) else { continue };
                for related in catalogue.related_refs(&state(&subject)) {
                    subjects.insert(related.clone(), state(&related));
                }
                subjects.insert(subject.clone(), state(&subject));
            }
        }
        let examples: BTreeMap<_, _> = catalogue
            .kinds
            .values()
            .filter(told)
            .map(|kind| (&kind.name, kind_examples(catalogue, kind, &subjects)))
            .collect();
        let sections: Vec<SectionInput<'_>> = plan
            .sections
            .iter()
            .map(|section| SectionInput {
                title: &section.title,
                items: section
                    .kinds
                    .iter()
                    .filter_map(|kind| examples.get(kind))
                    .flatten()
                    .map(KindExample::item)
                    .collect(),
                more: usize::from(full),
            })
            .collect();
        let input = MailInput {
            plan: &plan.name,
            name: full.then_some("Ann"),
            language: Some(language.tag()),
            zone: &Zone::UTC,
            due: UtcMillis::parse("2026-11-24T08:00:00Z").unwrap_or_default(),
            sections: &sections,
            related: &subjects,
            persons: &example_persons(full),
            place: full.then_some(PLACE),
            variant: u64::from(full),
            unsubscribe: full.then_some("https://example.com/u/token"),
            slots: Some("https://example.com/s/token"),
        };
        match plan.channel {
            Channel::Email => self.render_mail(&input).map(drop),
            Channel::Push | Channel::Hook(_) => self.render_push(&input).map(drop),
        }
    }
}

/// With what everything is rendered: with all fields or with none, for a reader of this language.
struct CheckExample {
    full: bool,
    language: ReaderLanguage,
}

/// One example of a kind.
struct KindExample<'a> {
    kind: &'a KindDef,
    subject: &'a SubjectRef,
    state: &'a VersionedState,
    reasons: Vec<EntryReason>,
    maybe: bool,
    words: ItemWords,
}

impl KindExample<'_> {
    fn item(&self) -> ItemInput<'_> {
        ItemInput {
            kind: &self.kind.name,
            subject: self.subject,
            state: self.state,
            reasons: &self.reasons,
            maybe: self.maybe,
            words: &self.words,
        }
    }
}

fn kind_examples<'a>(
    catalogue: &Catalogue,
    kind: &'a KindDef,
    subjects: &'a BTreeMap<SubjectRef, VersionedState>,
) -> Vec<KindExample<'a>> {
    let of_kind = subjects.iter().filter(|(subject, _)| subject.kind() == kind.subject());
    let examples = of_kind.map(|(subject, state)| {
        let reason = |because| EntryReason { kind: kind.name.clone(), because };
        let because = kind.audience_matches(subject, state, Person::new(OTHER).ok());
        let reasons = because.into_iter().map(reason).collect();
        // One is told by itself, the others stand for several.
        let is_many = kind.bundle.is_some() && subject.id() != "1";
        let words = ItemWords::example(catalogue, kind, state, is_many);
        KindExample { kind, subject, state, reasons, maybe: subject.id() == "1", words }
    });
    examples.collect()
}

fn example_persons(full: bool) -> BTreeMap<Person, VersionedState> {
    let state = if full {
        VersionedState::from_values(1, [(profile::NAME, Some(Value::from_text("Ben")))])
    } else {
        VersionedState::default()
    };
    Person::new(OTHER).map(|other| BTreeMap::from([(other, state)])).unwrap_or_default()
}
