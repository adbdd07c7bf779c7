//! What readers would see: each plan's message in four forms, made of example data, and what is odd about it. The four
//! are *full* (as many things as there is room for), *nearly empty* (one thing, of which is known only what it is told by),
//! *one of each kind*, and *two events of one subject*.
//!
//! [`forms`] makes the inputs, [`blocks`] what is read of a message, [`find_holes`] judges its sentences.

use std::collections::{BTreeMap, BTreeSet};

use catalogue::{Catalogue, KindDef};
use expression::condition_scope;
use model::{
    Channel, Kind, PlanName,
    plan::{CloseRule, OncePer, Plan},
};
use source_text::{TextProblem, TextProblems};

use self::{
    forms::{MessageInput, MessageReading, ToldThing},
    holes::{HoleSort, SentenceHole},
};
use crate::{
    MessageRenderer,
    filters::join_names,
    input::RenderError,
    marks::{self, MarkedPiece},
    renderer::{MANY, MarkedText},
};

mod blocks;
mod forms;
mod holes;
#[cfg(test)]
mod tests;
mod varied_examples;

pub use varied_examples::{ToldExample, told_example};

/// Bytes of HTML that every mailbox shows to its end: Gmail cuts at 102 KB, with the link that ends the mails.
const HTML_BYTES_MAX: usize = 100_000;
/// Messages that are made to find the holes of a plan; what is more is not looked at.
const TRIES_MAX: usize = 2_000;

/// A message's form.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum MailForm {
    Full,
    Least,
    Each,
    Twice,
}

impl MailForm {
    pub const ALL: [Self; 4] = [Self::Full, Self::Least, Self::Each, Self::Twice];

    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Least => "nearly empty",
            Self::Each => "one of each kind",
            Self::Twice => "two events of one subject",
        }
    }
}

/// A message in one of the forms.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FormSheet {
    pub plan: PlanName,
    pub channel: Channel,
    pub form: MailForm,
    /// Of several that the catalogue has.
    pub language: Option<String>,
    pub things: usize,
    pub headline: String,
    /// Of a mail.
    pub html: Option<String>,
    /// The text part of a mail, or all that a push says.
    pub text: String,
}

/// What is odd about a message.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum TrialSort {
    Heavy,
    Hole,
    Twice,
    Plural,
}

impl TrialSort {
    pub fn name(self) -> &'static str {
        match self {
            Self::Heavy => "heavy",
            Self::Hole => "hole",
            Self::Twice => "twice",
            Self::Plural => "plural",
        }
    }
}

/// One thing that is odd, with the plan and the form in which it was seen first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TrialFinding {
    pub sort: TrialSort,
    pub plan: PlanName,
    pub form: MailForm,
    /// Of what is too heavy.
    pub bytes: Option<usize>,
    pub problem: TextProblem,
}

/// All forms of all plans, and what is odd about them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TrialRun {
    pub sheets: Vec<FormSheet>,
    pub findings: Vec<TrialFinding>,
}

impl MessageRenderer {
    /// Makes every plan's message in each form and judges what a reader would see. A text that fails is a problem.
    pub fn run_trial(catalogue: &Catalogue) -> Result<TrialRun, TextProblems> {
        let plain = Self::new(catalogue)?;
        let marking = Self::with_marking(catalogue)?;
        let mut trial =
            TrialRunner { catalogue, plain, marking, run: TrialRun::default(), holes: BTreeMap::new() };
        for plan in catalogue.plans.by_name.values() {
            match trial.try_plan(plan) {
                Ok(()) => {}
                Err(RenderError::Template(problem)) => return Err(TextProblems::from(*problem)),
                // Each plan has words and each of its kinds is declared: the catalogue has been checked.
                Err(RenderError::NoPlan(_) | RenderError::NoKind(_)) => {}
            }
        }
        Ok(trial.finish())
    }
}

/// What a hole is known by: the text it is in, and the expression.
type HoleKey = (String, usize, HoleSort);

/// A hole, with where it was seen first and the kinds that have it.
struct FoundHole {
    hole: SentenceHole,
    /// The text it is in.
    name: String,
    plan: PlanName,
    form: MailForm,
    kinds: BTreeSet<(usize, Kind)>,
}

struct TrialRunner<'a> {
    catalogue: &'a Catalogue,
    plain: MessageRenderer,
    marking: MessageRenderer,
    run: TrialRun,
    holes: BTreeMap<HoleKey, FoundHole>,
}

impl TrialRunner<'_> {
    fn try_plan(&mut self, plan: &Plan) -> Result<(), RenderError> {
        let kinds: Vec<&KindDef> = plan
            .sections
            .iter()
            .flat_map(|section| &section.kinds)
            .filter_map(|kind| self.catalogue.kinds.get(kind))
            .collect();
        let each: Vec<ToldThing> =
            kinds.iter().filter_map(|kind| ToldThing::new(self.catalogue, plan, kind, 1)).collect();
        if each.is_empty() {
            return Ok(());
        }
        let full = MessageInput::new(forms::full_things(self.catalogue, plan), true);
        let once = MessageInput::new(each.clone(), false);
        let twice = MessageInput::new(forms::doubled_things(&each, plan, self.catalogue), false);
        let least = kinds
            .first()
            .zip(each.first())
            .map(|(kind, thing)| thing.with_example(thing.example.reduce_to_least(kind)).without_actors());
        let least = MessageInput { named: false, ..MessageInput::new(least.into_iter().collect(), false) };
        for (form, input) in [
            (MailForm::Full, &full),
            (MailForm::Least, &least),
            (MailForm::Each, &once),
            (MailForm::Twice, &twice),
        ] {
            for language in self.languages() {
                let sheet = self.make_sheet(plan, form, &input.in_language(language))?;
                self.run.sheets.push(sheet);
            }
        }
        self.weigh_mail(plan, &each)?;
        self.find_repeated(plan, &full, MailForm::Full)?;
        self.find_repeated(plan, &twice, MailForm::Twice)?;
        self.find_gaps(plan, &kinds, &each)
    }

    /// The languages in which each message is made; nothing where there is no choice.
    fn languages(&self) -> Vec<Option<String>> {
        match &self.catalogue.languages[..] {
            [] | [_] => vec![None],
            several => several.iter().map(|language| Some(language.tag().to_owned())).collect(),
        }
    }

    fn make_sheet(
        &self,
        plan: &Plan,
        form: MailForm,
        input: &MessageInput,
    ) -> Result<FormSheet, RenderError> {
        let MessageReading { headline, html, text } = input.make_reading(&self.plain, plan)?;
        let (things, channel, language) = (input.things.len(), plan.channel, input.language.clone());
        Ok(FormSheet { plan: plan.name.clone(), channel, form, language, things, headline, html, text })
    }

    fn add_finding(
        &mut self,
        plan: &Plan,
        sort: TrialSort,
        form: MailForm,
        bytes: Option<usize>,
        said: (String, String),
    ) {
        let mail = self.catalogue.mails.get(&plan.name).map(|mail| mail.line);
        let line = mail.or_else(|| self.catalogue.pushes.get(&plan.name).map(|push| push.line)).unwrap_or(1);
        let problem = TextProblem {
            file: self.catalogue.file.clone(),
            line,
            column: 1,
            what: said.0,
            help: Some(said.1),
            excerpt: None,
        };
        self.run.findings.push(TrialFinding { sort, plan: plan.name.clone(), form, bytes, problem });
    }

    /// Whether mailboxes show the full mail to its end.
    fn weigh_mail(&mut self, plan: &Plan, each: &[ToldThing]) -> Result<(), RenderError> {
        let full =
            self.run.sheets.iter().find(|sheet| sheet.plan == plan.name && sheet.form == MailForm::Full);
        let Some((things, bytes)) = full.and_then(|full| Some((full.things, full.html.as_ref()?.len())))
        else {
            return Ok(());
        };
        if bytes <= HTML_BYTES_MAX {
            return Ok(());
        }
        let one = MessageInput::new(each.iter().take(1).cloned().collect(), false);
        let one = one.make_reading(&self.plain, plan)?.html.map_or(0, |html| html.len());
        let more = things.saturating_sub(1).max(1);
        let of_each = (bytes.saturating_sub(one) / more).max(1);
        let fit = HTML_BYTES_MAX.saturating_sub(one) / of_each + usize::from(one <= HTML_BYTES_MAX);
        let what = format!(
            "a full mail of `{}` with {things} entries has {bytes} bytes of HTML, {of_each} for each: \
            Gmail cuts it off at 102 KB, and the link that ends the mails with it",
            plan.name
        );
        let help = format!(
            "about {fit} entries fit into {HTML_BYTES_MAX} bytes: reduce `most`, or the HTML of an entry"
        );
        self.add_finding(plan, TrialSort::Heavy, MailForm::Full, Some(bytes), (what, help));
        Ok(())
    }

    /// Sentences that a message says twice.
    fn find_repeated(
        &mut self,
        plan: &Plan,
        input: &MessageInput,
        form: MailForm,
    ) -> Result<(), RenderError> {
        let once_per_event = plan.once_per == OncePer::Event && !goes_at_once(plan);
        if form == MailForm::Twice && !once_per_event {
            return Ok(());
        }
        self.marking.take_seen();
        let all = input.make_reading(&self.marking, plan)?;
        let said = self.said_sentences(input);
        let mut alone = BTreeMap::new();
        for (thing, says) in &said {
            if alone.contains_key(&thing.kind) || says.trim().is_empty() {
                continue;
            }
            let same = said.iter().filter(|(other, text)| other.kind == thing.kind && text == says).count();
            let one = MessageInput::new(vec![(*thing).clone()], false);
            let before = one.make_reading(&self.plain, plan)?.counts(says);
            let now = all.counts(says);
            if same > 1 && now > 1 && now > before {
                alone.insert(thing.kind.clone(), says.clone());
            }
        }
        let Some(says) = alone.values().next() else { return Ok(()) };
        let kinds: Vec<String> = alone.keys().map(|kind| format!("`{kind}`")).collect();
        let (name, kinds, verb) =
            (&plan.name, join_names(&kinds), if alone.len() > 1 { "say" } else { "says" });
        let said = if form == MailForm::Twice {
            (
                format!(
                    "for two events of one subject, {kinds} {verb} the same twice in one message of \
                    `{name}`: “{says}”"
                ),
                "with `once_per: mail` each message tells a subject once, as most digests should".to_string(),
            )
        } else {
            (
                format!(
                    "{kinds} {verb} the same for every subject, so a message of `{name}` repeats it: \
                    “{says}”"
                ),
                "name the subject in `says`".to_string(),
            )
        };
        self.add_finding(plan, TrialSort::Twice, form, None, said);
        Ok(())
    }

    /// What each thing of the message that was just read says.
    fn said_sentences<'t>(&self, input: &'t MessageInput) -> Vec<(&'t ToldThing, String)> {
        let seen = self.marking.take_seen();
        let said = seen.into_iter().filter(|seen| seen.name.starts_with("says/"));
        let ordered = input.things_in_order();
        ordered.into_iter().zip(said).map(|(thing, seen)| (thing, marks::strip_marks(&seen.text))).collect()
    }

    /// Looks for holes: with all there is, with the least, and without each field in its turn.
    fn find_gaps(&mut self, plan: &Plan, kinds: &[&KindDef], each: &[ToldThing]) -> Result<(), RenderError> {
        let mut tries = 0;
        for (kind, thing) in kinds.iter().zip(each) {
            for (form, named, example) in hole_variants(kind, &thing.example) {
                tries += 1;
                if tries > TRIES_MAX {
                    return Ok(());
                }
                let one = thing.with_example(example);
                let many = kind.bundle.is_some().then(|| one.as_many(self.catalogue, kind));
                for thing in [Some(one), many].into_iter().flatten() {
                    let thing = if named { thing } else { thing.without_actors() };
                    let input =
                        MessageInput { named, ..MessageInput::new(vec![thing], form == MailForm::Full) };
                    self.marking.take_seen();
                    input.make_reading(&self.marking, plan)?;
                    for seen in self.marking.take_seen() {
                        self.judge_text(plan, kind, form, &seen);
                    }
                }
            }
        }
        Ok(())
    }

    fn judge_text(&mut self, plan: &Plan, kind: &KindDef, form: MailForm, seen: &MarkedText) {
        let says = seen.name.starts_with("says/");
        let is_address = ["/image", "/opens"].iter().any(|part| seen.name.ends_with(part))
            && seen.name.starts_with("push/");
        if is_address {
            return;
        }
        let blocks = if seen.name.starts_with("html/") {
            blocks::html_blocks(&seen.text)
        } else {
            blocks::text_blocks(&seen.text)
        };
        let mut found = Vec::new();
        for block in &blocks {
            let pieces = marks::split_pieces(block);
            found.extend(holes::find_holes(&pieces));
            let written = |value| {
                self.marking.spot(&seen.name, value).map(|spot| spot.text.clone()).unwrap_or_default()
            };
            found.extend(holes::find_plurals(&pieces, written, plan.at_least > 1));
        }
        if says && marks::strip_marks(&seen.text).trim().is_empty() {
            // It says nothing at all; the first value it has is to blame.
            let first = marks::split_pieces(&seen.text).into_iter().find_map(|piece| match piece {
                MarkedPiece::Value(value, _) => Some(value),
                MarkedPiece::Literal(_) | MarkedPiece::Raw(..) => None,
            });
            found.extend(first.map(|value| SentenceHole {
                value,
                sentence: String::new(),
                sort: HoleSort::Empty,
            }));
        }
        // Kinds that are `like` one another say the same, and plans share their templates.
        let text = |value: usize| match self.marking.spot(&seen.name, value) {
            _ if seen.name.ends_with(MANY) => format!("says many {:?}", kind.bundle),
            _ if says => format!("says {}", kind.says),
            Some(spot) if spot.at.what.is_empty() => {
                format!("{}:{}:{}", spot.at.file, spot.at.line, spot.at.column)
            }
            _ => seen.name.clone(),
        };
        for hole in found {
            let (key, name) = ((text(hole.value), hole.value, hole.sort), seen.name.clone());
            let new = || FoundHole { hole, name, plan: plan.name.clone(), form, kinds: BTreeSet::new() };
            self.holes.entry(key).or_insert_with(new).kinds.insert((kind.line, kind.name.clone()));
        }
    }

    fn finish(mut self) -> TrialRun {
        let holes = std::mem::take(&mut self.holes);
        let found: Vec<TrialFinding> =
            holes.into_values().filter_map(|found| self.hole_finding(found)).collect();
        self.run.findings.extend(found);
        self.run.findings.sort_by(|one, other| {
            (&one.problem, one.sort, &one.plan).cmp(&(&other.problem, other.sort, &other.plan))
        });
        self.run.findings.dedup_by(|one, other| one.problem == other.problem);
        self.run
    }

    fn hole_finding(&self, found: FoundHole) -> Option<TrialFinding> {
        let FoundHole { hole, name, plan, form, kinds } = found;
        let spot = self.marking.spot(&name, hole.value)?;
        let names: Vec<String> = kinds.iter().map(|(_, kind)| format!("`{kind}`")).collect();
        let names = join_names(&names);
        let is_says = name.starts_with("says/");
        let of = spot.at.what.trim_end_matches(": ").trim_end_matches(':');
        let is_many = name.ends_with(MANY);
        let of = match (is_says, of) {
            (true, _) if is_many => format!("`says_many` of {names}"),
            (true, _) => format!("`says` of {names}"),
            (false, "") => "this text".to_string(),
            (false, of) => of.to_string(),
        };
        let (value, sentence) = (&spot.text, &hole.sentence);
        let what = match hole.sort {
            HoleSort::Empty if sentence.is_empty() => format!("{of} is empty if `{value}` is missing"),
            HoleSort::Empty => format!("{of} has a gap if `{value}` is missing: “{sentence}”"),
            HoleSort::Raw => format!("{of} prints `{value}` as “{sentence}”"),
            HoleSort::Plural => format!("{of} has “{sentence}” if `{value}` is 1"),
        };
        let help = match hole.sort {
            HoleSort::Empty => help_for_hole(value, is_says && self.has_condition_value(value, &kinds)),
            HoleSort::Raw => "test it with `{% if %}` first; `| list` turns a list into a text".to_string(),
            HoleSort::Plural => format!("choose the word with `{{{{ {value} | plural(\"…\", \"…\") }}}}`"),
        };
        let line = kinds.first().map_or(spot.at.line, |(line, _)| *line);
        let line = if is_says && !is_many { line } else { spot.at.line };
        let problem = TextProblem { what, line, help: Some(help), ..spot.at.clone() };
        let sort = if hole.sort == HoleSort::Plural { TrialSort::Plural } else { TrialSort::Hole };
        Some(TrialFinding { sort, plan, form, bytes: None, problem })
    }

    /// Whether the conditions of these kinds can read a value: what an event said and who did it, they cannot.
    fn has_condition_value(&self, value: &str, kinds: &BTreeSet<(usize, Kind)>) -> bool {
        let root = path_of(value).split('.').next().unwrap_or_default();
        kinds.iter().all(|(_, kind)| {
            let kind = self.catalogue.kinds.get(kind);
            let scope = kind.map(|kind| condition_scope(&self.catalogue.subjects, kind.subject()));
            scope.is_some_and(|scope| scope.names.contains_key(root))
        })
    }
}

/// The path of an expression, before its filters.
fn path_of(value: &str) -> &str {
    value.split('|').next().unwrap_or_default().trim()
}

fn help_for_hole(value: &str, in_conditions: bool) -> String {
    let path = path_of(value);
    let is_path = path.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'));
    let ask = if is_path { format!("{{% if {path} %}}") } else { "{% if %}".to_string() };
    let never = if in_conditions && is_path {
        format!("; or, if nothing may be told without it, let `while` require it: `{path} is defined`")
    } else {
        String::new()
    };
    format!("test it with `{ask}`, or write something else with `default(\"…\")`{never}")
}

/// Whether it has hardly ever two entries: it goes as the first one comes.
fn goes_at_once(plan: &Plan) -> bool {
    plan.close == CloseRule::After { ms: 0 } && plan.rest.is_none() && plan.follows.is_none()
}

/// The things by which holes are found: form, whether the reader has a name, and what is known.
fn hole_variants(kind: &KindDef, full: &ToldExample) -> Vec<(MailForm, bool, ToldExample)> {
    let mut variants = vec![
        (MailForm::Full, true, full.clone()),
        (MailForm::Each, false, full.clone()),
        (MailForm::Least, false, full.reduce_to_least(kind)),
    ];
    variants.extend(full.singular_variants(kind).into_iter().map(|single| (MailForm::Each, true, single)));
    let without =
        full.fields().into_iter().filter_map(|(of, field)| full.without_field(kind, &field, of.as_deref()));
    variants.extend(without.map(|example| (MailForm::Least, true, example)));
    variants
}
