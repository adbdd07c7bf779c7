//! Notes on choices: what the catalogue offers people or chooses for them, and that changes nothing.

use model::{Channel, FieldType, SubjectRef, plan::Plan};
use preferences::{ABOUT, CATEGORY, KIND, PreferenceChoice, PreferenceField, ReadingPlace, SUBJECT, THREAD};
use source_text::TextProblem;

use crate::{
    Audience, Catalogue, KindDef, audience,
    notes::{build_note, join_plan_names},
};

impl Catalogue {
    pub(crate) fn note_choices(&self) -> Vec<TextProblem> {
        let mut notes: Vec<TextProblem> = self.note_empty_categories().collect();
        for kind in self.kinds.values() {
            let digests =
                Channel::ALL.into_iter().filter_map(|channel| self.note_missing_digest(kind, channel));
            notes.extend(digests);
            notes.extend(self.note_critical_off(kind));
        }
        notes
    }

    /// Categories that no kind is in: people are offered a choice that changes nothing.
    fn note_empty_categories(&self) -> impl Iterator<Item = TextProblem> {
        let is_empty = |name: &str| self.kinds.values().all(|kind| kind.category.as_deref() != Some(name));
        self.categories.iter().filter(move |(name, _)| is_empty(name)).map(|(name, category)| {
            let what = format!("no kind is in the category `{name}`");
            let help = format!("give the kinds that people choose together `category: {name}`");
            build_note(self.file.clone(), category.line, what, help)
        })
    }

    /// Who wants a kind to come so unless somebody chose, for some people at least, in words.
    fn find_default_words(&self, kind: &KindDef, choice: PreferenceChoice) -> Option<String> {
        if let Some(own) = kind.unless_chosen {
            return (own == choice).then(|| "unless people choose".to_string());
        }
        let (name, category) = self.categories.get_key_value(kind.category.as_ref()?)?;
        if category.unless_chosen == Some(choice) {
            return Some(format!("by its category `{name}`"));
        }
        let tenant = category.tenants.iter().find(|(_, of)| **of == choice).map(|(tenant, _)| tenant)?;
        Some(format!("by its category `{name}` for `{tenant}`"))
    }

    /// The note on a kind that comes as a digest unless somebody chose, and on a channel has no plan that gathers.
    fn note_missing_digest(&self, kind: &KindDef, channel: Channel) -> Option<TextProblem> {
        let by = self.find_default_words(kind, PreferenceChoice::Digest).filter(|_| !kind.critical)?;
        let plans: Vec<&Plan> =
            kind.offered_plans(&self.plans).filter(|plan| plan.channel == channel).collect();
        if plans.is_empty() || plans.iter().any(|plan| plan.gathers()) {
            return None;
        }
        // These would gather if they were not urgent.
        let (urgent, quick): (Vec<&Plan>, Vec<&Plan>) = plans
            .into_iter()
            .partition(|plan| plan.urgent && Plan { urgent: false, ..(*plan).clone() }.gathers());
        let names =
            |plans: &[&Plan]| join_plan_names(plans.iter().map(|plan| &plan.name).collect::<Vec<_>>());
        let why = match (urgent.as_slice(), quick.as_slice()) {
            (urgent, []) => format!("{} is urgent", names(urgent)),
            ([], quick) => format!("{} gathers for less than an hour", names(quick)),
            (urgent, quick) => {
                format!("{} is urgent, {} gathers for less than an hour", names(urgent), names(quick))
            }
        };
        let name = &kind.name;
        let what =
            format!("`{name}` is told as a digest {by}, but no plan of it on `{channel}` is one: {why}");
        let help = format!(
            "name a plan of `{channel}` in the `plans` of `{name}` that gathers for an hour or more and is not urgent, \
            or write `unless_chosen: on`"
        );
        Some(build_note(self.file.clone(), kind.line, what, help))
    }

    /// The note on a critical kind of a category that is off.
    fn note_critical_off(&self, kind: &KindDef) -> Option<TextProblem> {
        let by = self.find_default_words(kind, PreferenceChoice::Off).filter(|_| kind.critical)?;
        let what = format!("`{}` is off {by}, but critical, so it is told to everybody", kind.name);
        let help = "leave out `critical`, or put it into another category".to_string();
        Some(build_note(self.file.clone(), kind.line, what, help))
    }

    /// Why a choice of a person changes nothing, by the field of it in their preferences; nothing if it may change something.
    pub fn explain_idle_choice(&self, field: &str) -> Option<String> {
        let PreferenceField { place, sort, of } = PreferenceField::parse(field);
        let (kind, thing) = match sort {
            ABOUT => of.split_once(' ')?,
            KIND => (of, ""),
            _ => ("", of),
        };
        let subject = SubjectRef::new(thing).ok();
        let is_concerned = |one: &&KindDef| match (sort, &subject) {
            (CATEGORY, _) => one.category.as_deref() == Some(of),
            (SUBJECT, Some(subject)) => self.is_about(one, subject),
            (THREAD, Some(subject)) => self.hangs_on(one, subject),
            (ABOUT, Some(subject)) => self.is_about(one, subject) || self.hangs_on(one, subject),
            _ => true,
        };
        let named = self.kinds.values().filter(|one| kind.is_empty() || one.name.as_str() == kind);
        let kinds: Vec<&KindDef> = named.filter(is_concerned).collect();
        let thing = subject.as_ref().map(SubjectRef::kind).unwrap_or_default();
        if kinds.is_empty() {
            return match sort {
                CATEGORY => Some(format!("no kind is in the category `{of}`")),
                SUBJECT => Some(format!("no kind is about a `{thing}`")),
                THREAD => Some(format!("no kind has a `{thing}` as its thread")),
                ABOUT => Some(format!("`{kind}` is not about a `{thing}`")),
                // Another edition has it.
                _ => None,
            };
        }
        let what = if kind.is_empty() { "all that it is about".to_string() } else { format!("`{kind}`") };
        let is_told_on = |channel: &str| {
            let mut plans = kinds.iter().flat_map(|one| one.offered_plans(&self.plans));
            plans.any(|plan| plan.channel.name() == channel)
        };
        let is_channel = |place: &&str| *place != ReadingPlace::Feed.name();
        if let Some(channel) = place.filter(is_channel).filter(|channel| !is_told_on(channel)) {
            return Some(format!("{what} is never told on `{channel}`"));
        }
        // To subscribe changes who is found at all.
        let subscribes =
            |one: &&KindDef| matches!(sort, SUBJECT | ABOUT) && matches!(one.to, Audience::SubscribersOf(_));
        let is_always_told = kinds.iter().all(|one| one.critical && !subscribes(one));
        is_always_told.then(|| format!("{what} is critical, so it is told whatever people choose"))
    }

    /// Whether the kind's subjects, or those that its subscribers chose, may be this one.
    fn is_about(&self, kind: &KindDef, subject: &SubjectRef) -> bool {
        let fields = match &kind.to {
            Audience::SubscribersOf(fields) => fields.as_slice(),
            _ => &[],
        };
        kind.subject() == subject.kind() || fields.iter().any(|field| self.refers_to(kind, field, subject))
    }

    /// Whether this may be the kind's thread.
    pub(crate) fn hangs_on(&self, kind: &KindDef, subject: &SubjectRef) -> bool {
        kind.thread.as_ref().is_some_and(|field| self.refers_to(kind, field, subject))
    }

    /// Whether a field of the kind's subjects refers to such a one.
    fn refers_to(&self, kind: &KindDef, field: &str, subject: &SubjectRef) -> bool {
        if field == audience::SUBJECT {
            return kind.subject() == subject.kind();
        }
        let field = self.subjects.get(kind.subject()).and_then(|of| of.fields.get(field));
        field.and_then(FieldType::target) == Some(subject.kind())
    }
}
