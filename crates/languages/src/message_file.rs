//! A file of messages, read: what each message is, and which values it takes.

use std::collections::{BTreeMap, BTreeSet};

use fluent_syntax::{
    ast::{Entry, Expression, InlineExpression, Pattern, PatternElement, VariantKey},
    parser,
};

use crate::parse_problem::{describe_parse_error, find_fatal_slip};

/// Messages of one file.
const MESSAGES_MAX: usize = 5_000;
/// Messages that refer to messages, so deep.
pub(crate) const DEPTH_MAX: usize = 8;
/// What editors of Windows write before a text.
pub const BYTE_ORDER_MARK: char = '\u{FEFF}';
/// Messages that one message refers to, and those that these refer to.
const STEPS_MAX: usize = 200;
/// The only function that messages may call; it says of its argument what is so anyway.
const NUMBER: &str = "NUMBER";

/// Whether a message chooses by a value, and among what.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum ArgumentChoice {
    #[default]
    None,
    /// Among words, or there is one form for all.
    Word,
    Plural,
}

/// How a message uses a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ArgumentUse {
    pub choice: ArgumentChoice,
    /// A plural is chosen by it, or it is written as a number.
    pub is_number: bool,
    /// It is written where each choice falls to its variant with the star.
    pub is_written: bool,
}

/// Something wrong in a file, at a byte of it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct MessageProblem {
    pub offset: usize,
    pub what: String,
    pub help: Option<String>,
}

/// One message: its text, and the byte of its file where it begins.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct BookMessage {
    pub text: Pattern<String>,
    pub offset: usize,
}

/// The messages of one file, by their names.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct MessageBook {
    pub(crate) messages: BTreeMap<String, BookMessage>,
    /// What messages share and nobody else reads, by names without the dash.
    pub(crate) terms: BTreeMap<String, BookMessage>,
}

impl MessageBook {
    /// Reads a file. All that is wrong with it is found at once.
    pub fn parse(text: &str) -> Result<Self, Vec<MessageProblem>> {
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        if let Some(slip) = find_fatal_slip(text) {
            return Err(vec![slip]);
        }
        let mut problems = Vec::new();
        let resource = match parser::parse(text.to_owned()) {
            Ok(resource) => resource,
            Err((resource, errors)) => {
                problems.extend(errors.iter().map(|error| describe_parse_error(error, text)));
                resource
            }
        };
        let mut book = Self::default();
        for entry in resource.body {
            book.add_entry(entry, text, &mut problems);
        }
        if book.messages.len() > MESSAGES_MAX {
            let what = format!("more than {MESSAGES_MAX} messages");
            problems.push(MessageProblem { offset: 0, what, help: None });
        }
        book.check_references(&mut problems);
        if problems.is_empty() { Ok(book) } else { Err(problems) }
    }

    fn add_entry(&mut self, entry: Entry<String>, text: &str, problems: &mut Vec<MessageProblem>) {
        let (name, value, attributes, is_term) = match entry {
            Entry::Message(message) => (message.id.name, message.value, message.attributes, false),
            Entry::Term(term) => (term.id.name, Some(term.value), term.attributes, true),
            Entry::Comment(_) | Entry::GroupComment(_) | Entry::ResourceComment(_) | Entry::Junk { .. } => {
                return;
            }
        };
        let shown = if is_term { format!("-{name}") } else { name.clone() };
        let mut problem = |what: String, nth: usize| {
            let offset = find_message(text, &shown, nth).unwrap_or_default();
            problems.push(MessageProblem { offset, what, help: None });
        };
        if !attributes.is_empty() {
            problem(format!("`{shown}` has attributes, which nothing reads"), 0);
        }
        let Some(value) = value else {
            problem(format!("`{shown}` says nothing"), 0);
            return;
        };
        let all = if is_term { &mut self.terms } else { &mut self.messages };
        if all.contains_key(&name) {
            problem(format!("`{shown}` is there twice"), 1);
            return;
        }
        let offset = find_message(text, &shown, 0).unwrap_or_default();
        all.insert(name, BookMessage { text: value, offset });
    }

    /// That everything which a message refers to is there, and that none refers to itself in the end. What is wrong is
    /// said of the message that it stands in, and of a circle once.
    fn check_references(&self, problems: &mut Vec<MessageProblem>) {
        let mut circle: Option<MessageProblem> = None;
        let terms = self.terms.iter().map(|(name, term)| (format!("-{name}"), term));
        let messages = self.messages.iter().map(|(name, message)| (name.clone(), message));
        for (name, message) in messages.chain(terms) {
            let mut walk = ReferenceWalk { book: self, found: BTreeSet::new(), steps: 0, is_endless: false };
            walk.check_pattern(&message.text, 0);
            let problem = |what: &str| MessageProblem {
                offset: message.offset,
                what: format!("`{name}` {what}"),
                help: None,
            };
            problems.extend(walk.found.iter().map(|what| problem(what)));
            if walk.is_endless && circle.as_ref().is_none_or(|first| message.offset < first.offset) {
                circle = Some(problem("refers to itself, or through too many others"));
            }
        }
        problems.extend(circle);
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.messages.keys().map(String::as_str)
    }

    pub fn has(&self, name: &str) -> bool {
        self.messages.contains_key(name)
    }

    /// These messages, and those to which they refer.
    pub fn reached_names<'n>(&self, names: impl IntoIterator<Item = &'n String>) -> BTreeSet<String> {
        let mut reached = BTreeSet::new();
        let mut open: Vec<String> = names.into_iter().cloned().collect();
        while let Some(name) = open.pop() {
            let Some(message) = self.messages.get(&name).filter(|_| reached.insert(name.clone())) else {
                continue;
            };
            visit_expressions(&message.text, &mut |expression| {
                if let Expression::Inline(InlineExpression::MessageReference { id, .. }) = expression {
                    open.push(id.name.clone());
                }
            });
        }
        reached
    }

    /// Where a message begins in its file.
    pub fn offset_of(&self, name: &str) -> Option<usize> {
        self.messages.get(name).map(|message| message.offset)
    }

    /// The values that a message takes, with those of the messages that it refers to.
    pub fn arguments(&self, name: &str) -> BTreeMap<String, ArgumentUse> {
        let mut arguments = BTreeMap::new();
        if let Some(message) = self.messages.get(name) {
            self.collect_arguments(&message.text, (0, true), &mut arguments);
        }
        arguments
    }

    /// `by_default`: whether this is reached by variants with a star alone.
    fn collect_arguments(
        &self,
        pattern: &Pattern<String>,
        (depth, by_default): (usize, bool),
        arguments: &mut BTreeMap<String, ArgumentUse>,
    ) {
        for element in &pattern.elements {
            let PatternElement::Placeable { expression } = element else { continue };
            let mut expression = expression;
            while let Expression::Inline(InlineExpression::Placeable { expression: inner }) = expression {
                expression = inner;
            }
            match expression {
                Expression::Select { selector, variants } => {
                    let is_plural = variants.iter().any(|variant| is_plural_key(&variant.key));
                    if let Some(name) = variable_name(selector) {
                        let known = arguments.entry(name.to_owned()).or_default();
                        let choice = if is_plural { ArgumentChoice::Plural } else { ArgumentChoice::Word };
                        known.choice = known.choice.max(choice);
                        known.is_number |= is_plural;
                    }
                    for variant in variants {
                        let by_default = by_default && variant.default;
                        self.collect_arguments(&variant.value, (depth, by_default), arguments);
                    }
                }
                Expression::Inline(inline) => {
                    if let Some(name) = variable_name(inline) {
                        let known = arguments.entry(name.to_owned()).or_default();
                        known.is_number |= matches!(inline, InlineExpression::FunctionReference { .. });
                        known.is_written |= by_default;
                    }
                    if let Some(message) = self.referred(inline).filter(|_| depth < DEPTH_MAX) {
                        self.collect_arguments(&message.text, (depth + 1, by_default), arguments);
                    }
                }
            }
        }
    }

    /// The message or term that an expression stands for.
    pub(crate) fn referred(&self, inline: &InlineExpression<String>) -> Option<&BookMessage> {
        match inline {
            InlineExpression::MessageReference { id, attribute: None } => self.messages.get(&id.name),
            InlineExpression::TermReference { id, attribute: None, .. } => self.terms.get(&id.name),
            _ => None,
        }
    }
}

/// Looks for references that lead nowhere, and for what messages have no use for.
struct ReferenceWalk<'a> {
    book: &'a MessageBook,
    /// What is wrong with the message itself.
    found: BTreeSet<String>,
    steps: usize,
    is_endless: bool,
}

impl ReferenceWalk<'_> {
    fn check_pattern(&mut self, pattern: &Pattern<String>, depth: usize) {
        self.steps += 1;
        if depth > DEPTH_MAX || self.steps > STEPS_MAX {
            self.is_endless = true;
            return;
        }
        visit_expressions(pattern, &mut |expression| match expression {
            Expression::Select { selector, .. } => {
                if variable_name(selector).is_none() && depth == 0 {
                    let what = "chooses by something that is no value: write `{ $name -> …`";
                    self.found.insert(what.to_owned());
                }
                self.check_inline(selector, depth);
            }
            Expression::Inline(inline) => self.check_inline(inline, depth),
        });
    }

    fn check_inline(&mut self, inline: &InlineExpression<String>, depth: usize) {
        let what = match inline {
            InlineExpression::MessageReference { id, .. } | InlineExpression::TermReference { id, .. } => {
                match self.book.referred(inline) {
                    Some(_) if self.is_endless => return,
                    Some(referred) => return self.check_pattern(&referred.text, depth + 1),
                    None => format!("refers to `{}`, which is not there", id.name),
                }
            }
            InlineExpression::FunctionReference { id, .. } if id.name != NUMBER => {
                format!("calls `{}`; there is only `{NUMBER}`", id.name)
            }
            _ => return,
        };
        if depth == 0 {
            self.found.insert(what);
        }
    }
}

/// Walks all expressions of a text, those of its variants too.
pub(crate) fn visit_expressions(pattern: &Pattern<String>, visit: &mut dyn FnMut(&Expression<String>)) {
    for element in &pattern.elements {
        if let PatternElement::Placeable { expression } = element {
            visit_expression(expression, visit);
        }
    }
}

fn visit_expression(expression: &Expression<String>, visit: &mut dyn FnMut(&Expression<String>)) {
    visit(expression);
    match expression {
        Expression::Select { variants, .. } => {
            for variant in variants {
                visit_expressions(&variant.value, visit);
            }
        }
        Expression::Inline(InlineExpression::Placeable { expression }) => visit_expression(expression, visit),
        Expression::Inline(_) => {}
    }
}

/// The value that an expression writes or chooses by: `$n`, `NUMBER($n)`.
pub(crate) fn variable_name(inline: &InlineExpression<String>) -> Option<&str> {
    match inline {
        InlineExpression::VariableReference { id } => Some(&id.name),
        InlineExpression::FunctionReference { arguments, .. } => {
            arguments.positional.first().and_then(variable_name)
        }
        _ => None,
    }
}

/// Whether a variant stands for a number: a plural of CLDR, or the number itself. What is called `other` may be a word.
pub(crate) fn is_plural_key(key: &VariantKey<String>) -> bool {
    match key {
        VariantKey::NumberLiteral { .. } => true,
        VariantKey::Identifier { name } => PLURALS.contains(&name.as_str()),
    }
}

const PLURALS: [&str; 5] = ["zero", "one", "two", "few", "many"];

/// The names of variants of one choice.
pub(crate) fn key_names(keys: &[&VariantKey<String>]) -> BTreeSet<String> {
    let name = |key: &&VariantKey<String>| match key {
        VariantKey::Identifier { name } => name.clone(),
        VariantKey::NumberLiteral { value } => value.clone(),
    };
    keys.iter().map(name).collect()
}

/// The byte at which the line of a message begins, of several the one of this number.
fn find_message(text: &str, name: &str, nth: usize) -> Option<usize> {
    let mut offset = 0;
    let mut found = Vec::new();
    for line in text.split_inclusive('\n') {
        if line.strip_prefix(name).is_some_and(|rest| rest.trim_start().starts_with('=')) {
            found.push(offset);
        }
        offset += line.len();
    }
    found.get(nth).or(found.first()).copied()
}
