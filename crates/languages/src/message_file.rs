//! A file of messages, read: what each message is, and which values it takes.

use std::collections::{BTreeMap, BTreeSet};

use fluent_syntax::{
    ast::{Entry, Expression, InlineExpression, Pattern, PatternElement, VariantKey},
    parser,
};

/// Messages of one file.
const MESSAGES_MAX: usize = 5_000;
/// Messages that refer to messages, so deep.
pub(crate) const DEPTH_MAX: usize = 8;
/// Braces within braces. The parser calls itself for each, and deeper ones would end the process.
const NESTING_MAX: usize = 20;
/// What editors of Windows write before a text.
const BYTE_ORDER_MARK: char = '\u{FEFF}';
/// Messages that one message refers to, and those that these refer to.
const STEPS_MAX: usize = 200;
/// The only function that messages may call; it says of its argument what is so anyway.
const NUMBER: &str = "NUMBER";

/// How a message uses a value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ArgumentUse {
    /// It is written, or a word is chosen by it.
    Any,
    /// A plural is chosen by it, so it is a number.
    Number,
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
        if let Some(offset) = find_deep_brace(text) {
            let what = format!("braces within braces, more than {NESTING_MAX} deep");
            return Err(vec![MessageProblem { offset, what, help: Some("close each `{`".to_owned()) }]);
        }
        let mut problems = Vec::new();
        let resource = match parser::parse(text.to_owned()) {
            Ok(resource) => resource,
            Err((resource, errors)) => {
                let problem = |error: parser::ParserError| MessageProblem {
                    offset: error.pos.start.min(text.len()),
                    what: format!("this is not a message: {}", lower_first(&error.kind.to_string())),
                    help: Some(
                        "a message is written `name = text`, and its other lines are indented".to_owned(),
                    ),
                };
                problems.extend(errors.into_iter().map(problem));
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

    /// That everything which a message refers to is there, and that none refers to itself in the end.
    fn check_references(&self, problems: &mut Vec<MessageProblem>) {
        for (name, message) in self.messages.iter().chain(&self.terms) {
            let mut walk = ReferenceWalk { book: self, found: Vec::new(), steps: 0 };
            walk.check_pattern(&message.text, 0);
            walk.found.sort();
            walk.found.dedup();
            let problem = |what: String| MessageProblem {
                offset: message.offset,
                what: format!("`{name}` {what}"),
                help: None,
            };
            problems.extend(walk.found.into_iter().map(problem));
        }
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.messages.keys().map(String::as_str)
    }

    pub fn has(&self, name: &str) -> bool {
        self.messages.contains_key(name)
    }

    /// These messages, and those to which they refer.
    pub fn reached_names(&self, names: &BTreeSet<String>) -> BTreeSet<String> {
        let mut reached = BTreeSet::new();
        let mut open: Vec<String> = names.iter().cloned().collect();
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
            self.collect_arguments(&message.text, 0, &mut arguments);
        }
        arguments
    }

    fn collect_arguments(
        &self,
        pattern: &Pattern<String>,
        depth: usize,
        arguments: &mut BTreeMap<String, ArgumentUse>,
    ) {
        let mut add = |name: &str, of: ArgumentUse| {
            let known = arguments.entry(name.to_owned()).or_insert(of);
            *known = (*known).max(of);
        };
        let mut referred = Vec::new();
        visit_expressions(pattern, &mut |expression| match expression {
            Expression::Select { selector, variants } => {
                let is_plural = variants.iter().any(|variant| is_plural_key(&variant.key));
                if let Some(name) = variable_name(selector) {
                    add(name, if is_plural { ArgumentUse::Number } else { ArgumentUse::Any });
                }
            }
            Expression::Inline(inline) => {
                if let Some(name) = variable_name(inline) {
                    let is_number = matches!(inline, InlineExpression::FunctionReference { .. });
                    add(name, if is_number { ArgumentUse::Number } else { ArgumentUse::Any });
                }
                referred.extend(self.referred(inline));
            }
        });
        for message in referred.into_iter().filter(|_| depth < DEPTH_MAX) {
            self.collect_arguments(&message.text, depth + 1, arguments);
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

/// The first brace that is too deep. One in quotes by itself, `{ "{" }`, opens nothing.
fn find_deep_brace(text: &str) -> Option<usize> {
    let mut open = 0_usize;
    for (at, letter) in text.char_indices() {
        let is_alone = || text[..at].ends_with("{ \"") && text[at + 1..].starts_with("\" }");
        match letter {
            '{' | '}' if is_alone() => {}
            '{' if open == NESTING_MAX => return Some(at),
            '{' => open += 1,
            '}' => open = open.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// Looks for references that lead nowhere, and for what messages have no use for.
struct ReferenceWalk<'a> {
    book: &'a MessageBook,
    found: Vec<String>,
    steps: usize,
}

impl ReferenceWalk<'_> {
    fn check_pattern(&mut self, pattern: &Pattern<String>, depth: usize) {
        self.steps += 1;
        if depth > DEPTH_MAX || self.steps > STEPS_MAX {
            self.found.push("refers to itself, or through too many others".to_owned());
            return;
        }
        let mut inlines = Vec::new();
        visit_expressions(pattern, &mut |expression| match expression {
            Expression::Select { selector, .. } => inlines.push((selector.clone(), true)),
            Expression::Inline(inline) => inlines.push((inline.clone(), false)),
        });
        for (inline, is_selector) in inlines {
            if is_selector && variable_name(&inline).is_none() {
                self.found.push("chooses by something that is no value: write `{ $name -> …`".to_owned());
            }
            self.check_inline(&inline, depth);
        }
    }

    fn check_inline(&mut self, inline: &InlineExpression<String>, depth: usize) {
        match inline {
            InlineExpression::MessageReference { id, .. } | InlineExpression::TermReference { id, .. } => {
                match self.book.referred(inline) {
                    // That it is too deep has been said.
                    Some(_) if self.steps > STEPS_MAX => {}
                    Some(referred) => self.check_pattern(&referred.text, depth + 1),
                    None => self.found.push(format!("refers to `{}`, which is not there", id.name)),
                }
            }
            InlineExpression::FunctionReference { id, .. } if id.name != NUMBER => {
                self.found.push(format!("calls `{}`; there is only `{NUMBER}`", id.name));
            }
            _ => {}
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

fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}
