//! Notes: parts of a catalogue that work but are probably not intended.

use std::collections::{BTreeMap, BTreeSet};

use model::{Channel, PlanName};
use source_text::TextProblem;

use crate::{Catalogue, KindDef};

/// The values that every mail has to show, by their names in templates, and what readers lack without them.
const SHOWN: [(&str, &str); 2] = [
    ("unsubscribe", "find no link to end these mails"),
    ("postal", "do not see the sender's postal address, which many laws require"),
];

impl Catalogue {
    /// What is worth a second look, in the order of the files.
    pub fn notes(&self) -> Vec<TextProblem> {
        let mut notes: Vec<TextProblem> =
            SHOWN.into_iter().flat_map(|(name, lacks)| self.mails_without(name, lacks)).collect();
        notes.extend(self.note_missing_address());
        notes.extend(self.told_elsewhere());
        notes.extend(self.note_unused_plans());
        notes.extend(self.note_choices());
        notes.extend(self.note_messages());
        notes.sort();
        notes
    }

    /// Files of mails that nobody could end from within them, as laws want of all but those that one must have.
    pub fn find_endless_mails(&self) -> Vec<TextProblem> {
        let (name, lacks) = SHOWN[0];
        self.mails_without(name, lacks)
    }

    /// Whether a plan tells only what nobody can turn off: a password, a lock, a receipt. No law has such a mail end.
    fn is_critical(&self, plan: &PlanName) -> bool {
        let mut kinds = self.kinds.values().filter(|kind| kind.plans.contains(plan)).peekable();
        kinds.peek().is_some() && kinds.all(|kind| kind.critical)
    }

    /// Files of mails that do not show what every mail has to.
    fn mails_without(&self, name: &str, lacks: &str) -> Vec<TextProblem> {
        let folder = self.file.rfind('/').map_or("", |at| &self.file[..=at]);
        let mut lacking: BTreeMap<&str, Vec<&PlanName>> = BTreeMap::new();
        for (plan, mail) in self.mails.iter().filter(|(plan, _)| !self.is_critical(plan)) {
            for (file, text) in [(&mail.template_file, &mail.template), (&mail.text_file, &mail.text)] {
                if !prints_name(text, name) {
                    lacking.entry(file).or_default().push(plan);
                }
            }
        }
        let of_file = |(file, plans): (&str, Vec<&PlanName>)| {
            let file = if file.starts_with(folder) { file.to_string() } else { format!("{folder}{file}") };
            let what = format!("it has no `{{{{ {name} }}}}`");
            build_note(file, 1, what, format!("readers of {} {lacks}", join_plan_names(plans)))
        };
        lacking.into_iter().map(of_file).collect()
    }

    /// The note on mails that print `postal` while the catalogue does not set it.
    fn note_missing_address(&self) -> Option<TextProblem> {
        let is_asked = self.mails.values().any(|mail| prints_name(&mail.template, "postal"));
        (is_asked && self.postal.is_none()).then(|| {
            let help = "set it beside `catalogue`: `postal: 1 Example Street, Example Town`".to_string();
            build_note(self.file.clone(), 1, "its mails print `postal`, but it is not set".to_string(), help)
        })
    }

    /// Kinds that say the same to the same people on one channel, under plans of their own. An entry is told once on a
    /// channel, so the plan that closes first takes all of it.
    fn told_elsewhere(&self) -> Vec<TextProblem> {
        let mut kinds: Vec<&KindDef> = self.kinds.values().collect();
        kinds.sort_by_key(|kind| kind.line);
        let mut notes = Vec::new();
        for (number, later) in kinds.iter().enumerate() {
            for first in kinds[..number].iter().filter(|first| is_the_same(first, later)) {
                notes.extend(
                    Channel::ALL
                        .into_iter()
                        .filter_map(|channel| self.note_taken_kind(first, later, channel)),
                );
            }
        }
        notes
    }

    /// The note on two kinds that have no plan of a channel in common, and each some.
    fn note_taken_kind(&self, first: &KindDef, later: &KindDef, channel: Channel) -> Option<TextProblem> {
        let (theirs, own) = (self.plans_of_kind(first, channel), self.plans_of_kind(later, channel));
        if own.is_empty() || theirs.is_empty() || !own.is_disjoint(&theirs) {
            return None;
        }
        let (name, other) = (&first.name, &later.name);
        let what = format!(
            "`{name}` and `{other}` tell the same people of the same things on `{channel}`, and an entry \
            is told there once, by the plan that closes first"
        );
        let help = format!(
            "name {} in the `plans` of `{name}` instead: then each person has one of them",
            join_plan_names(&own)
        );
        Some(build_note(self.file.clone(), later.line, what, help))
    }

    /// Plans that no kind names: nobody is told by them.
    fn note_unused_plans(&self) -> impl Iterator<Item = TextProblem> {
        let is_unused = |name: &PlanName| self.kinds.values().all(|kind| !kind.plans.contains(name));
        let lines = self.mails.iter().map(|(name, mail)| (name, mail.line));
        let lines = lines.chain(self.pushes.iter().map(|(name, push)| (name, push.line)));
        lines.filter(move |(name, _)| is_unused(name)).map(|(name, line)| {
            let what = format!("no kind names the plan `{name}`, so it tells nobody");
            let help = format!("name it in the `plans` of a kind: `plans: [{name}]`");
            build_note(self.file.clone(), line, what, help)
        })
    }

    /// The plans of a channel that a kind names.
    fn plans_of_kind(&self, kind: &KindDef, channel: Channel) -> BTreeSet<PlanName> {
        let named = kind.offered_plans(&self.plans);
        named.filter(|plan| plan.channel == channel).map(|plan| plan.name.clone()).collect()
    }
}

/// Whether what holds for one kind holds for the other.
fn is_the_same(one: &KindDef, other: &KindDef) -> bool {
    let holds = |kind: &KindDef| kind.holds.as_ref().map(|holds| holds.text.clone());
    one.on == other.on && one.to == other.to && holds(one) == holds(other)
}

pub(crate) fn join_plan_names<'a>(plans: impl IntoIterator<Item = &'a PlanName>) -> String {
    let names: Vec<String> = plans.into_iter().map(|plan| format!("`{plan}`")).collect();
    names.join(" and ")
}

/// Whether a tag of a template prints a value of this name.
fn prints_name(template: &str, name: &str) -> bool {
    template.split("{{").skip(1).any(|tag| {
        let tag = tag.split("}}").next().unwrap_or_default();
        tag.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
    })
}

pub(crate) fn build_note(file: String, line: usize, what: String, help: String) -> TextProblem {
    TextProblem { file, line, column: 1, what, help: Some(help), excerpt: None }
}
