//! Walks a text: which statements it uses and whether every value it reads exists and fits.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use minijinja::{
    Error, ErrorKind,
    machinery::{Span, Token, ast, parse, parse_expr, tokenize},
};

use crate::{
    growth::TextGrowth,
    limits::{PARTS_MAX, TAG_WORDS_MAX},
    value_type::{TextScope, TextValueType},
};

/// What is wrong with a text, at a byte of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextFinding {
    pub offset: usize,
    pub len: usize,
    pub what: String,
    pub help: Option<String>,
}

/// What a text reads, for whoever prepares its values.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct TextReads {
    /// Names at the root.
    pub roots: BTreeSet<String>,
    /// Fields by type of subject.
    pub fields: BTreeMap<String, BTreeSet<String>>,
    /// Messages of the catalogue, each with the values that are numbers here.
    pub messages: BTreeMap<String, BTreeSet<String>>,
}

/// What a text is for, and with it which filters it has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TextSort {
    Text,
    Condition,
    /// What a source's record means.
    Source,
}

/// The walk: the scopes from outer to inner, and what was found.
pub(crate) struct TextChecker<'a> {
    text: &'a str,
    pub scope: &'a TextScope<'a>,
    /// Names that the text itself made, innermost last.
    pub inner: Vec<BTreeMap<String, TextValueType>>,
    pub sort: TextSort,
    pub findings: Vec<TextFinding>,
    pub reads: TextReads,
    growth: TextGrowth,
}

/// Checks a template.
pub fn check_text(text: &str, scope: &TextScope<'_>) -> Vec<TextFinding> {
    read_text(text, scope).0
}

/// The same, with what it reads.
pub fn read_text(text: &str, scope: &TextScope<'_>) -> (Vec<TextFinding>, TextReads) {
    if let Some(finding) = too_long(text, false) {
        return (vec![finding], TextReads::default());
    }
    let mut walk = TextChecker::new(text, scope, TextSort::Text);
    match parse(text, "", minijinja::syntax::SyntaxConfig::default()) {
        Ok(ast::Stmt::Template(template)) => walk.check_body(&template.children),
        Ok(_) => {}
        Err(error) => walk.findings.push(syntax_finding(text, &error)),
    }
    (walk.findings, walk.reads)
}

/// Checks one expression that must be true or false, and says what it reads.
pub fn check_expression(text: &str, scope: &TextScope<'_>) -> Result<TextReads, Vec<TextFinding>> {
    check_any_expression(text, scope, TextSort::Condition, true)
}

/// Checks one expression about a record of others; it must be true or false, or may be anything.
pub fn check_source(
    text: &str,
    scope: &TextScope<'_>,
    is_condition: bool,
) -> Result<TextReads, Vec<TextFinding>> {
    check_any_expression(text, scope, TextSort::Source, is_condition)
}

fn check_any_expression(
    text: &str,
    scope: &TextScope<'_>,
    sort: TextSort,
    is_condition: bool,
) -> Result<TextReads, Vec<TextFinding>> {
    if let Some(finding) = too_long(text, true) {
        return Err(vec![finding]);
    }
    let mut walk = TextChecker::new(text, scope, sort);
    match parse_expr(text) {
        Ok(expression) => {
            let of = walk.expression_type(&expression);
            let fits = !is_condition || matches!(of, TextValueType::Flag | TextValueType::Any);
            if walk.findings.is_empty() && !fits {
                let help = format!("say what about it: `{} is defined`, or compare it", text.trim());
                walk.add_finding(
                    expression.span(),
                    format!("a condition must be true or false, this is {of}"),
                    Some(help),
                );
            }
        }
        Err(error) => walk.findings.push(syntax_finding(text, &error)),
    }
    if walk.findings.is_empty() { Ok(walk.reads) } else { Err(walk.findings) }
}

impl<'a> TextChecker<'a> {
    fn new(text: &'a str, scope: &'a TextScope<'a>, sort: TextSort) -> Self {
        let (findings, reads) = (Vec::new(), TextReads::default());
        Self { text, scope, inner: Vec::new(), sort, findings, reads, growth: TextGrowth::default() }
    }

    pub fn add_finding(&mut self, span: Span, what: impl Into<String>, help: impl Into<Option<String>>) {
        let start = span.start_offset as usize;
        let len = (span.end_offset as usize).saturating_sub(start);
        self.findings.push(TextFinding { offset: start, len, what: what.into(), help: help.into() });
    }

    /// The place of a name within an expression: after the dot or the bar, the last time it stands there.
    pub fn name_span(&self, mut span: Span, name: &str) -> Span {
        let range = span.start_offset as usize..span.end_offset as usize;
        if let Some(at) = self.text.get(range).and_then(|text| text.rfind(name)) {
            span.start_offset += u32::try_from(at).unwrap_or_default();
            span.end_offset = span.start_offset + u32::try_from(name.len()).unwrap_or_default();
        }
        span
    }

    /// The statements of a loop or a `with`: what they set ends with them.
    fn check_body(&mut self, body: &[ast::Stmt<'_>]) {
        self.open_scope(BTreeMap::new());
        self.check_statements(body);
        self.close_scope();
    }

    fn open_scope(&mut self, names: BTreeMap<String, TextValueType>) {
        self.inner.push(names);
        self.growth.open();
    }

    fn close_scope(&mut self) {
        self.inner.pop();
        self.growth.close();
    }

    fn check_statements(&mut self, statements: &[ast::Stmt<'_>]) {
        for statement in statements {
            self.check_statement(statement);
        }
    }

    fn check_statement(&mut self, statement: &ast::Stmt<'_>) {
        use ast::Stmt;
        match statement {
            Stmt::Template(template) => self.check_body(&template.children),
            Stmt::EmitRaw(_) => {}
            Stmt::EmitExpr(emit) => {
                let of = self.expression_type(&emit.expr);
                self.count_parts(&emit.expr);
                if !of.is_printed() {
                    let help = match &of {
                        TextValueType::List(_) => "`| list` makes a text of a list".to_string(),
                        TextValueType::Flag => "`{% if %}` asks a flag".to_string(),
                        _ => format!("print one of the parts of this {of}"),
                    };
                    self.add_finding(emit.expr.span(), format!("{of} cannot be printed"), help);
                }
            }
            Stmt::ForLoop(each) => self.check_for_loop(each),
            Stmt::IfCond(asked) => {
                self.expression_type(&asked.expr);
                // As in the engine, what is set within an `if` is there after it.
                self.check_statements(&asked.true_body);
                self.check_statements(&asked.false_body);
            }
            Stmt::Set(set) => {
                let of = self.expression_type(&set.expr);
                let parts = self.count_parts(&set.expr);
                self.bind_target(&set.target, of, parts);
            }
            Stmt::WithBlock(with) => {
                self.open_scope(BTreeMap::new());
                for (target, value) in &with.assignments {
                    let of = self.expression_type(value);
                    let parts = self.count_parts(value);
                    self.bind_target(target, of, parts);
                }
                self.check_body(&with.body);
                self.close_scope();
            }
            Stmt::SetBlock(s) => self.refuse(s.span(), "a block of `{% set %}`"),
            Stmt::AutoEscape(s) => self.refuse(s.span(), "`{% autoescape %}`"),
            Stmt::FilterBlock(s) => self.refuse(s.span(), "`{% filter %}`"),
            Stmt::Block(s) => self.refuse(s.span(), "`{% block %}`"),
            Stmt::Import(s) => self.refuse(s.span(), "`{% import %}`"),
            Stmt::FromImport(s) => self.refuse(s.span(), "`{% from %}`"),
            Stmt::Extends(s) => self.refuse(s.span(), "`{% extends %}`"),
            Stmt::Include(s) => self.refuse(s.span(), "`{% include %}`"),
            Stmt::Macro(s) => self.refuse(s.span(), "`{% macro %}`"),
            Stmt::CallBlock(s) => self.refuse(s.span(), "`{% call %}`"),
            Stmt::Do(s) => self.refuse(s.span(), "`{% do %}`"),
        }
    }

    fn refuse(&mut self, span: Span, what: &str) {
        let help = "a text has `{{ }}`, `{% if %}`, `{% for %}`, `{% set %}` and `{% with %}`".to_string();
        self.add_finding(span, format!("{what} is not for texts"), help);
    }

    fn check_for_loop(&mut self, each: &ast::ForLoop<'_>) {
        let over = self.expression_type(&each.iter);
        let element = match &over {
            TextValueType::List(element) => element.as_ref().clone(),
            TextValueType::Any => TextValueType::Any,
            other => {
                self.add_finding(
                    each.iter.span(),
                    format!("`for` goes through a list, this is {other}"),
                    None,
                );
                TextValueType::Any
            }
        };
        if each.recursive {
            self.add_finding(each.iter.span(), "a recursive loop is not for texts", None);
        }
        let parts = self.count_parts(&each.iter);
        self.open_scope(BTreeMap::from([("loop".to_string(), loop_type())]));
        self.bind_target(&each.target, element, parts);
        if let Some(filter) = &each.filter_expr {
            self.expression_type(filter);
        }
        self.check_body(&each.body);
        self.close_scope();
        self.check_body(&each.else_body);
    }

    /// Of how many values one is put together; not of too many, or it is found and counts for one.
    fn count_parts(&mut self, value: &ast::Expr<'_>) -> u64 {
        let parts = self.growth.parts(value);
        if parts <= PARTS_MAX {
            return parts;
        }
        self.add_finding(
            value.span(),
            format!("a value put together from more than {PARTS_MAX} values"),
            None,
        );
        1
    }

    fn bind_target(&mut self, target: &ast::Expr<'_>, of: TextValueType, parts: u64) {
        match target {
            ast::Expr::Var(var) => {
                self.growth.bind(var.id, parts);
                if let Some(inner) = self.inner.last_mut() {
                    inner.insert(var.id.to_string(), of);
                }
            }
            other => self.add_finding(other.span(), "only a plain name can be set", None),
        }
    }
}

fn loop_type() -> TextValueType {
    let numbers =
        ["index", "index0", "revindex", "revindex0", "length"].map(|name| (name, TextValueType::Number));
    let flags = ["first", "last"].map(|name| (name, TextValueType::Flag));
    TextValueType::record("loop", false, numbers.into_iter().chain(flags))
}

/// The parser and everything after it go as deep as one expression is long.
fn too_long(text: &str, in_expression: bool) -> Option<TextFinding> {
    let mut words = 0;
    let mut open = 0;
    for token in tokenize(text, in_expression, minijinja::syntax::SyntaxConfig::default()) {
        // The parser says it better.
        let (token, span) = token.ok()?;
        match token {
            Token::TemplateData(_) | Token::VariableEnd | Token::BlockEnd => words = 0,
            Token::VariableStart | Token::BlockStart => open = span.start_offset as usize,
            _ => words += 1,
        }
        if words > TAG_WORDS_MAX {
            let what = format!("an expression of more than {TAG_WORDS_MAX} words");
            return Some(TextFinding { offset: open, len: 2, what, help: None });
        }
    }
    None
}

/// Statements that have an end.
const BLOCKS: [&str; 3] = ["if", "for", "with"];

/// The statement that is open where another one ends, or where the text does: the parser only says where it noticed.
fn find_unclosed(text: &str) -> Option<TextFinding> {
    let mut open: Vec<(&str, usize)> = Vec::new();
    let mut begins = None;
    for token in tokenize(text, false, minijinja::syntax::SyntaxConfig::default()) {
        let (token, span) = token.ok()?;
        match (token, begins.take()) {
            (Token::BlockStart, _) => begins = Some(span.start_offset as usize),
            (Token::Ident(word), Some(at)) if BLOCKS.contains(&word) => open.push((word, at)),
            (Token::Ident(word), Some(_)) => {
                let Some(ended) = word.strip_prefix("end").filter(|ended| BLOCKS.contains(ended)) else {
                    continue;
                };
                match open.last() {
                    Some((word, _)) if *word == ended => drop(open.pop()),
                    Some(_) => break,
                    None => return None,
                }
            }
            _ => {}
        }
    }
    let (word, offset) = open.pop()?;
    let len = text.get(offset..)?.find("%}").map_or(2, |end| end + 2);
    let help = Some(format!("write `{{% end{word} %}}` where it ends"));
    Some(TextFinding { offset, len, what: format!("this `{word}` is not closed"), help })
}

fn syntax_finding(text: &str, error: &Error) -> TextFinding {
    let is_of_blocks =
        |said: &str| said.contains("expected end of block") || said.contains("unknown statement end");
    if let Some(finding) = error.detail().filter(|said| is_of_blocks(said)).and_then(|_| find_unclosed(text))
    {
        return finding;
    }
    let range = error.range().unwrap_or_else(|| {
        let line = error.line().unwrap_or(1);
        let start = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
        start..start
    });
    let expected = error.detail().and_then(|said| said.strip_prefix("unexpected end of input, expected "));
    if let Some(expected) = expected {
        return early_end_finding(text, range, expected);
    }
    let what = match (error.kind(), error.detail()) {
        (ErrorKind::SyntaxError, Some(detail)) => detail.to_string(),
        _ => error.to_string(),
    };
    let help = text
        .get(range.start..)
        .is_some_and(|rest| rest.starts_with('='))
        .then(|| "a comparison is written `==`".to_string());
    TextFinding { offset: range.start.min(text.len()), len: range.len(), what, help }
}

/// What a text lacks where it ends; the range is that of its last word.
fn early_end_finding(text: &str, last: Range<usize>, expected: &str) -> TextFinding {
    let (expected, help) = match expected {
        "expression" => ("a value", "write a field, a number or a text in quotes"),
        "identifier" => ("a name", "write the name of a field, a filter or a test"),
        "identifier or integer" => ("a name", "write the name of a field"),
        "end of variable block" => ("`}}`", "write it where the value ends"),
        "end of block" => ("`%}`", "write it where the statement ends"),
        other => (other, "write it where it belongs"),
    };
    let what = match text.get(last.clone()).filter(|word| !word.trim().is_empty()) {
        Some(word) => format!("{expected} is expected after `{word}`, where the text ends"),
        None => format!("{expected} is expected, and there is none"),
    };
    TextFinding { offset: last.start.min(text.len()), len: last.len(), what, help: Some(help.to_string()) }
}
