//! The renderer: the layouts and texts of a catalogue, compiled once, and what the engine says of each.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    io::{self, Write},
    ops::Range,
    sync::{Mutex, PoisonError},
};

use catalogue::{
    Catalogue, KindDef, MailTemplates, PushTemplates, bundles::KindBundle, canary::CatalogueArm,
};
use languages::TextDirection;
use minijinja::{
    AutoEscape, Environment, Error, ErrorKind, Output, State, UndefinedBehavior, Value as Scripted,
};
use model::{Person, PlanName};
use source_text::{SourceText, TextProblem, TextProblems};

use crate::{
    filters,
    input::{NOT_THERE, RenderError},
    layout::{self, HtmlLayout, LayoutLanguage},
    limits::{FUEL, PART_BYTES_MAX, RECURSION_MAX},
    marks::{self, PRINTED},
};

/// Compiled layouts and texts of one catalogue.
pub struct MessageRenderer {
    pub(crate) catalogue: Catalogue,
    env: Environment<'static>,
    layouts: BTreeMap<(PlanName, TextDirection), HtmlLayout>,
    marking: Option<ValueMarking>,
    /// For the persons who have the catalogue on trial.
    canary: Option<Box<Self>>,
}

/// Beside a renderer whose texts mark what they print: where each expression is written, and what came of the texts.
#[derive(Default)]
struct ValueMarking {
    /// By the name of the text.
    values: BTreeMap<String, Vec<PrintedSpot>>,
    seen: Mutex<Vec<MarkedText>>,
}

/// Where an expression is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PrintedSpot {
    pub text: String,
    /// Its place, with what it is a part of for a problem to begin with.
    pub at: TextProblem,
}

/// What came of a text, with its marks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct MarkedText {
    /// Its name: `html/PLAN`, `says/KIND`.
    pub name: String,
    pub text: String,
}

/// What the name of a sentence for several ends with.
pub(crate) const MANY: &str = "/many";

/// Stands for a sentence that said nothing, so that what prints it is judged by itself.
const SENTENCE: &str = "Something";

/// A text of the catalogue, by which it is found in the environment.
#[derive(Clone, Copy)]
pub(crate) enum TextPart<'a> {
    Html(&'a PlanName, &'a MailTemplates, TextDirection),
    Text(&'a PlanName, &'a MailTemplates),
    Headline(&'a PlanName, &'a MailTemplates),
    Preheader(&'a PlanName, &'a MailTemplates),
    Says(&'a KindDef),
    SaysMany(&'a KindDef, &'a KindBundle),
    Push(&'a PlanName, &'a PushTemplates, PushPart),
    /// Of a section or of a plan, by its own words.
    Title(&'a str),
}

/// A part of a push.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PushPart {
    Headline,
    Body,
    Longer,
    Image,
    Opens,
}

impl PushPart {
    const ALL: [Self; 5] = [Self::Headline, Self::Body, Self::Longer, Self::Image, Self::Opens];

    fn name(self) -> &'static str {
        match self {
            Self::Headline => "headline",
            Self::Body => "body",
            Self::Longer => "longer",
            Self::Image => "image",
            Self::Opens => "opens",
        }
    }

    fn text_of(self, push: &PushTemplates) -> &str {
        match self {
            Self::Headline => &push.headline,
            Self::Body => &push.body,
            Self::Longer => &push.longer,
            Self::Image => &push.image,
            Self::Opens => &push.opens,
        }
    }
}

impl MessageRenderer {
    /// Compiles every layout and text of a catalogue.
    pub fn new(catalogue: &Catalogue) -> Result<Self, TextProblems> {
        // A field that is not there is empty: a mail is not held back for a missing picture.
        let mut renderer = Self::compile(catalogue, UndefinedBehavior::Chainable)?;
        if let Some(canary) = &catalogue.canary {
            renderer.canary = Some(Box::new(Self::new(&canary.catalogue)?));
        }
        Ok(renderer)
    }

    /// The one for the catalogue that a person has.
    pub fn for_person(&self, person: &Person) -> &Self {
        match (&self.canary, self.catalogue.arm_of(person)) {
            (Some(canary), CatalogueArm::Canary) => canary,
            _ => self,
        }
    }

    /// A renderer that keeps what its texts made, with a mark around each value.
    pub(crate) fn with_marking(catalogue: &Catalogue) -> Result<Self, TextProblems> {
        Self::compile_with(catalogue, UndefinedBehavior::Chainable, Some(ValueMarking::default()))
    }

    pub(crate) fn compile(catalogue: &Catalogue, missing: UndefinedBehavior) -> Result<Self, TextProblems> {
        Self::compile_with(catalogue, missing, None)
    }

    fn compile_with(
        catalogue: &Catalogue,
        missing: UndefinedBehavior,
        marking: Option<ValueMarking>,
    ) -> Result<Self, TextProblems> {
        let mut env = Environment::empty();
        filters::install_filters(&mut env);
        if marking.is_some() {
            env.add_filter(PRINTED, marks::mark_value);
        }
        env.set_auto_escape_callback(|name| {
            if name.starts_with("html/") { AutoEscape::Html } else { AutoEscape::None }
        });
        env.set_formatter(format_value);
        env.set_undefined_behavior(missing);
        env.set_fuel(Some(FUEL));
        env.set_recursion_limit(RECURSION_MAX);
        env.set_debug(true);
        let mut renderer =
            Self { catalogue: catalogue.clone(), env, layouts: BTreeMap::new(), marking, canary: None };
        let mut problems = TextProblems::default();
        for kind in catalogue.kinds.values() {
            renderer.add(TextPart::Says(kind), &kind.says, &mut problems);
            if let Some(bundle) = &kind.bundle {
                renderer.add(TextPart::SaysMany(kind, bundle), &bundle.says_many, &mut problems);
            }
        }
        let titles = catalogue.plans.by_name.values().flat_map(|plan| &plan.sections);
        let titles = titles.map(|section| &section.title);
        let mails = catalogue.mails.values().map(|mail| &mail.title);
        let categories = catalogue.categories.values().map(|category| &category.title);
        let slots = catalogue.slots.values().map(|list| &list.alt);
        let titles: BTreeSet<&String> = titles.chain(mails).chain(categories).chain(slots).collect();
        for title in titles.into_iter().filter(|title| is_title_template(title)) {
            renderer.add(TextPart::Title(title), title, &mut problems);
        }
        for (plan, mail) in &catalogue.mails {
            renderer.add(TextPart::Headline(plan, mail), &mail.headline, &mut problems);
            renderer.add(TextPart::Preheader(plan, mail), &mail.preheader, &mut problems);
            renderer.add(TextPart::Text(plan, mail), &mail.text, &mut problems);
            renderer.add_layouts(plan, mail, &mut problems);
        }
        for (plan, push) in &catalogue.pushes {
            for part in PushPart::ALL {
                renderer.add(TextPart::Push(plan, push, part), part.text_of(push), &mut problems);
            }
        }
        problems.into_result().map(|()| renderer)
    }

    /// The layout of a plan, for each way in which a reader's language may be written.
    fn add_layouts(&mut self, plan: &PlanName, mail: &MailTemplates, problems: &mut TextProblems) {
        let mut directions: Vec<TextDirection> = Vec::new();
        for language in self.catalogue.spoken_languages() {
            if !directions.contains(&language.direction()) {
                directions.push(language.direction());
            }
        }
        for direction in directions {
            let part = TextPart::Html(plan, mail, direction);
            let language = match direction {
                _ if self.catalogue.languages.is_empty() => LayoutLanguage::Written,
                TextDirection::LeftToRight => LayoutLanguage::LeftToRight,
                TextDirection::RightToLeft => LayoutLanguage::RightToLeft,
            };
            let template = self.mark_part(part, &mail.template);
            let source = SourceText { file: &mail.template_file, text: &template };
            match layout::compile_layout(source, language) {
                Ok(layout) => {
                    let html = layout.html.clone();
                    self.layouts.insert((plan.clone(), direction), layout);
                    self.add_as_it_is(part, &html, problems);
                }
                Err(found) => {
                    problems.extend(found.0);
                    return;
                }
            }
        }
    }

    fn add(&mut self, part: TextPart<'_>, text: &str, problems: &mut TextProblems) {
        let text = self.mark_part(part, text);
        self.add_as_it_is(part, &text, problems);
    }

    fn add_as_it_is(&mut self, part: TextPart<'_>, text: &str, problems: &mut TextProblems) {
        if let Err(error) = self.env.add_template_owned(part.template_name(), text.to_string()) {
            problems.extend([self.problem(part, &error)]);
        }
    }

    /// The text with its values marked, if they are to be.
    fn mark_part(&mut self, part: TextPart<'_>, text: &str) -> String {
        if self.marking.is_none() {
            return text.to_string();
        }
        let (text, values) = marks::mark_text(text);
        let spot = |value: marks::PrintedValue| PrintedSpot {
            at: self.problem_at(part, Some(value.at), String::new()),
            text: value.text,
        };
        let spots = values.into_iter().map(spot).collect();
        if let Some(marking) = &mut self.marking {
            marking.values.insert(part.template_name(), spots);
        }
        text
    }

    /// What the texts made since this was asked, with the marks.
    pub(crate) fn take_seen(&self) -> Vec<MarkedText> {
        let Some(marking) = &self.marking else { return Vec::new() };
        std::mem::take(&mut *marking.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Where the expression of this number is written in a text of this name.
    pub(crate) fn spot(&self, name: &str, value: usize) -> Option<&PrintedSpot> {
        self.marking.as_ref()?.values.get(name)?.get(value)
    }

    /// Keeps what came of a text, if its values are marked, and gives it without marks.
    fn record_seen(&self, part: TextPart<'_>, text: String) -> String {
        let Some(marking) = &self.marking else { return text };
        let plain = marks::strip_marks(&text);
        let seen = MarkedText { name: part.template_name(), text };
        marking.seen.lock().unwrap_or_else(PoisonError::into_inner).push(seen);
        if plain.trim().is_empty() && matches!(part, TextPart::Says(_) | TextPart::SaysMany(..)) {
            SENTENCE.to_string()
        } else {
            plain
        }
    }

    pub(crate) fn render<R: Clone + Into<Scripted>>(
        &self,
        part: TextPart<'_>,
        roots: &R,
    ) -> Result<String, RenderError> {
        let failed = |error: &Error| RenderError::Template(Box::new(self.problem(part, error)));
        let template = self.env.get_template(&part.template_name()).map_err(|error| failed(&error))?;
        // A text comes out about as long as it is written.
        let mut out = CappedWriter { bytes: Vec::with_capacity(self.compiled_text(part).len() * 3 / 2) };
        match template.render_captured_to(roots.clone(), &mut out) {
            // Texts are made of texts, so this is one.
            Ok(_) => Ok(self.record_seen(
                part,
                String::from_utf8(out.bytes)
                    .unwrap_or_else(|odd| String::from_utf8_lossy(odd.as_bytes()).into_owned()),
            )),
            Err(error) => Err(failed(&error)),
        }
    }

    /// What the engine says about a text, at the place in the file the text is from.
    fn problem(&self, part: TextPart<'_>, error: &Error) -> TextProblem {
        let is_missing = matches!(error.kind(), ErrorKind::UndefinedError);
        let range = error.range().map(|range| path_range(self.compiled_text(part), range));
        let what = match error.kind() {
            ErrorKind::OutOfFuel => "this text needs too many steps".to_string(),
            ErrorKind::WriteFailure => format!("this text is longer than {PART_BYTES_MAX} bytes"),
            ErrorKind::UndefinedError => {
                let read =
                    range.clone().and_then(|range| self.compiled_text(part).get(range)).unwrap_or_default();
                if read.is_empty() { format!("a value {NOT_THERE}") } else { format!("`{read}` {NOT_THERE}") }
            }
            kind => error.detail().map_or_else(|| kind.to_string(), str::to_string),
        };
        let offset = range.map(|range| range.start);
        let origin = match part {
            TextPart::Html(plan, _, direction) => {
                let layout = self.layouts.get(&(plan.clone(), direction));
                offset.zip(layout).map(|(at, layout)| layout.origin(at))
            }
            _ => offset,
        };
        let help = is_missing.then(|| "test it with `{% if %}` first".to_string());
        self.problem_at(part, origin, what).with_help(help)
    }

    /// A problem at a byte of a text as it is written.
    fn problem_at(&self, part: TextPart<'_>, offset: Option<usize>, what: String) -> TextProblem {
        let in_catalogue = |line: usize, of: String| {
            let source = SourceText { file: &self.catalogue.file, text: "" };
            source.problem(line, 1, format!("{of}: {what}"))
        };
        match part {
            TextPart::Html(_, mail, _) => {
                let source = SourceText { file: &mail.template_file, text: &mail.template };
                source.problem_at(offset.unwrap_or(0), what)
            }
            TextPart::Text(_, mail) => {
                let source = SourceText { file: &mail.text_file, text: &mail.text };
                source.problem_at(offset.unwrap_or(0), what)
            }
            TextPart::Headline(plan, mail) => in_catalogue(mail.line, format!("headline of `{plan}`")),
            TextPart::Preheader(plan, mail) => in_catalogue(mail.line, format!("preheader of `{plan}`")),
            TextPart::Push(plan, push, part) => {
                in_catalogue(push.line, format!("{} of `{plan}`", part.name()))
            }
            TextPart::Says(kind) => in_catalogue(kind.line, format!("`says` of `{}`", kind.name)),
            TextPart::Title(title) => in_catalogue(1, format!("title `{title}`")),
            TextPart::SaysMany(kind, bundle) => {
                in_catalogue(bundle.line, format!("`says_many` of `{}`", kind.name))
            }
        }
    }

    /// What was compiled for a part; ranges of errors are of this.
    fn compiled_text<'a>(&'a self, part: TextPart<'a>) -> &'a str {
        match part {
            TextPart::Html(plan, _, direction) => {
                self.layouts.get(&(plan.clone(), direction)).map_or("", |layout| &layout.html)
            }
            TextPart::Text(_, mail) => &mail.text,
            TextPart::Headline(_, mail) => &mail.headline,
            TextPart::Preheader(_, mail) => &mail.preheader,
            TextPart::Says(kind) => &kind.says,
            TextPart::SaysMany(_, bundle) => &bundle.says_many,
            TextPart::Title(title) => title,
            TextPart::Push(_, push, part) => part.text_of(push),
        }
    }
}

/// Whether a title has to be filled in.
pub fn is_title_template(title: &str) -> bool {
    title.contains("{{") || title.contains("{%") || title.contains("{#")
}

/// The path that was read where the engine's range begins at its first dot, or is the filter after it.
fn path_range(text: &str, range: Range<usize>) -> Range<usize> {
    let in_path = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
    let before = text.get(..range.start).unwrap_or_default();
    if let Some(value) = before.trim_end().strip_suffix('|') {
        let value = value.trim_end();
        return value.trim_end_matches(in_path).len()..value.len();
    }
    let is_rest = text.get(range.clone()).is_some_and(|read| read.starts_with('.'));
    if is_rest { before.trim_end_matches(in_path).len()..range.end } else { range }
}

impl TextPart<'_> {
    fn template_name(&self) -> String {
        match self {
            Self::Html(plan, _, TextDirection::LeftToRight) => format!("html/{plan}"),
            Self::Html(plan, _, TextDirection::RightToLeft) => format!("html/{plan}/rtl"),
            Self::Text(plan, _) => format!("text/{plan}"),
            Self::Headline(plan, _) => format!("headline/{plan}"),
            Self::Preheader(plan, _) => format!("preheader/{plan}"),
            Self::Says(kind) => format!("says/{}", kind.name),
            Self::SaysMany(kind, _) => format!("says/{}{MANY}", kind.name),
            Self::Title(title) => format!("title/{title}"),
            Self::Push(plan, _, part) => format!("push/{plan}/{}", part.name()),
        }
    }
}

/// Prints a value. The engine's own escape writes `/` as an entity too, which makes addresses unreadable
/// for whatever reads mails with less than a browser.
fn format_value(out: &mut Output<'_>, state: &mut State<'_, '_>, value: &Scripted) -> Result<(), Error> {
    let text = value.to_string();
    if !matches!(state.auto_escape(), AutoEscape::Html) {
        return out.write_str(&text).map_err(Error::from);
    }
    let mut rest = text.as_str();
    while let Some(at) = rest.find(['<', '>', '&', '"', '\'']) {
        let (plain, special) = rest.split_at(at);
        let entity = match special.as_bytes().first() {
            Some(b'<') => "&lt;",
            Some(b'>') => "&gt;",
            Some(b'&') => "&amp;",
            Some(b'"') => "&quot;",
            _ => "&#39;",
        };
        out.write_str(plain)?;
        out.write_str(entity)?;
        rest = special.get(1..).unwrap_or_default();
    }
    out.write_str(rest).map_err(Error::from)
}

/// Takes so many bytes and then no more.
struct CappedWriter {
    bytes: Vec<u8>,
}

impl Write for CappedWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > PART_BYTES_MAX {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl fmt::Debug for MessageRenderer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MessageRenderer({})", self.catalogue.name)
    }
}
