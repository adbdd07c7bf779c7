//! Walks a text: which statements it uses and whether every value it reads exists and fits.

use std::collections::{BTreeMap, BTreeSet};

use minijinja::{
    Error, ErrorKind,
    machinery::{Span, Token, ast, parse, parse_expr, tokenize},
};

use crate::{
    language::{
        growth::Growth,
        types::{Scope, Type},
    },
    limits::{PARTS_MAX, TAG_WORDS_MAX},
};

/// What is wrong with a text, at a byte of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    pub offset: usize,
    pub len: usize,
    pub what: String,
    pub help: Option<String>,
}

/// What a text reads, for whoever prepares its values.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Reads {
    /// Names at the root.
    pub roots: BTreeSet<String>,
    /// Fields by type of subject.
    pub fields: BTreeMap<String, BTreeSet<String>>,
}

/// What a text is for, and with it which filters it has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sort {
    Text,
    Condition,
    /// What a source's record means.
    Source,
}

/// The walk: the scopes from outer to inner, and what was found.
pub(crate) struct Walk<'a> {
    text: &'a str,
    pub scope: &'a Scope<'a>,
    /// Names that the text itself made, innermost last.
    pub inner: Vec<BTreeMap<String, Type>>,
    pub sort: Sort,
    pub findings: Vec<Finding>,
    pub reads: Reads,
    growth: Growth,
}

/// Checks a template.
pub fn check_text(text: &str, scope: &Scope<'_>) -> Vec<Finding> {
    if let Some(finding) = too_long(text, false) {
        return vec![finding];
    }
    let mut walk = Walk::new(text, scope, Sort::Text);
    match parse(text, "", minijinja::syntax::SyntaxConfig::default()) {
        Ok(ast::Stmt::Template(template)) => walk.body(&template.children),
        Ok(_) => {}
        Err(error) => walk.findings.push(syntax(text, &error)),
    }
    walk.findings
}

/// Checks one expression that must be true or false, and says what it reads.
pub fn check_expression(text: &str, scope: &Scope<'_>) -> Result<Reads, Vec<Finding>> {
    expression(text, scope, Sort::Condition, true)
}

/// Checks one expression about a record of others; it must be true or false, or may be anything.
pub fn check_source(text: &str, scope: &Scope<'_>, is_condition: bool) -> Result<Reads, Vec<Finding>> {
    expression(text, scope, Sort::Source, is_condition)
}

fn expression(text: &str, scope: &Scope<'_>, sort: Sort, is_condition: bool) -> Result<Reads, Vec<Finding>> {
    if let Some(finding) = too_long(text, true) {
        return Err(vec![finding]);
    }
    let mut walk = Walk::new(text, scope, sort);
    match parse_expr(text) {
        Ok(expression) => {
            let of = walk.expression(&expression);
            let fits = !is_condition || matches!(of, Type::Flag | Type::Any);
            if walk.findings.is_empty() && !fits {
                let help = format!("say what about it: `{} is defined`, or compare it", text.trim());
                walk.find(
                    expression.span(),
                    format!("a condition must be true or false, this is {of}"),
                    Some(help),
                );
            }
        }
        Err(error) => walk.findings.push(syntax(text, &error)),
    }
    if walk.findings.is_empty() { Ok(walk.reads) } else { Err(walk.findings) }
}

impl<'a> Walk<'a> {
    fn new(text: &'a str, scope: &'a Scope<'a>, sort: Sort) -> Self {
        let (findings, reads) = (Vec::new(), Reads::default());
        Self { text, scope, inner: Vec::new(), sort, findings, reads, growth: Growth::default() }
    }

    pub fn find(&mut self, span: Span, what: impl Into<String>, help: impl Into<Option<String>>) {
        let start = span.start_offset as usize;
        let len = (span.end_offset as usize).saturating_sub(start);
        self.findings.push(Finding { offset: start, len, what: what.into(), help: help.into() });
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
    fn body(&mut self, body: &[ast::Stmt<'_>]) {
        self.open(BTreeMap::new());
        self.statements(body);
        self.close();
    }

    fn open(&mut self, names: BTreeMap<String, Type>) {
        self.inner.push(names);
        self.growth.open();
    }

    fn close(&mut self) {
        self.inner.pop();
        self.growth.close();
    }

    fn statements(&mut self, statements: &[ast::Stmt<'_>]) {
        for statement in statements {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &ast::Stmt<'_>) {
        use ast::Stmt;
        match statement {
            Stmt::Template(template) => self.body(&template.children),
            Stmt::EmitRaw(_) => {}
            Stmt::EmitExpr(emit) => {
                let of = self.expression(&emit.expr);
                self.grown(&emit.expr);
                if !of.is_printed() {
                    let help = match &of {
                        Type::List(_) => "`| list` makes a text of a list".to_string(),
                        Type::Flag => "`{% if %}` asks a flag".to_string(),
                        _ => format!("print one of the parts of this {of}"),
                    };
                    self.find(emit.expr.span(), format!("{of} cannot be printed"), help);
                }
            }
            Stmt::ForLoop(each) => self.for_loop(each),
            Stmt::IfCond(asked) => {
                self.expression(&asked.expr);
                // As in the engine, what is set within an `if` is there after it.
                self.statements(&asked.true_body);
                self.statements(&asked.false_body);
            }
            Stmt::Set(set) => {
                let of = self.expression(&set.expr);
                let parts = self.grown(&set.expr);
                self.bind(&set.target, of, parts);
            }
            Stmt::WithBlock(with) => {
                self.open(BTreeMap::new());
                for (target, value) in &with.assignments {
                    let of = self.expression(value);
                    let parts = self.grown(value);
                    self.bind(target, of, parts);
                }
                self.body(&with.body);
                self.close();
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
        self.find(span, format!("{what} is not for texts"), help);
    }

    fn for_loop(&mut self, each: &ast::ForLoop<'_>) {
        let over = self.expression(&each.iter);
        let element = match &over {
            Type::List(element) => element.as_ref().clone(),
            Type::Any => Type::Any,
            other => {
                self.find(each.iter.span(), format!("`for` goes through a list, this is {other}"), None);
                Type::Any
            }
        };
        if each.recursive {
            self.find(each.iter.span(), "a recursive loop is not for texts", None);
        }
        let parts = self.grown(&each.iter);
        self.open(BTreeMap::from([("loop".to_string(), loop_type())]));
        self.bind(&each.target, element, parts);
        if let Some(filter) = &each.filter_expr {
            self.expression(filter);
        }
        self.body(&each.body);
        self.close();
        self.body(&each.else_body);
    }

    /// Of how many values one is put together; not of too many, or it is found and counts for one.
    fn grown(&mut self, value: &ast::Expr<'_>) -> u64 {
        let parts = self.growth.parts(value);
        if parts <= PARTS_MAX {
            return parts;
        }
        self.find(value.span(), format!("a value put together from more than {PARTS_MAX} values"), None);
        1
    }

    fn bind(&mut self, target: &ast::Expr<'_>, of: Type, parts: u64) {
        match target {
            ast::Expr::Var(var) => {
                self.growth.bind(var.id, parts);
                if let Some(inner) = self.inner.last_mut() {
                    inner.insert(var.id.to_string(), of);
                }
            }
            other => self.find(other.span(), "only a plain name can be set", None),
        }
    }
}

fn loop_type() -> Type {
    let numbers = ["index", "index0", "revindex", "revindex0", "length"].map(|name| (name, Type::Number));
    let flags = ["first", "last"].map(|name| (name, Type::Flag));
    Type::record("loop", false, numbers.into_iter().chain(flags))
}

/// The parser and everything after it go as deep as one expression is long.
fn too_long(text: &str, in_expression: bool) -> Option<Finding> {
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
            return Some(Finding { offset: open, len: 2, what, help: None });
        }
    }
    None
}

/// Statements that have an end.
const BLOCKS: [&str; 3] = ["if", "for", "with"];

/// The statement that is open where another one ends, or where the text does: the parser only says where it noticed.
fn unclosed(text: &str) -> Option<Finding> {
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
    Some(Finding { offset, len, what: format!("this `{word}` is not closed"), help })
}

fn syntax(text: &str, error: &Error) -> Finding {
    let is_of_blocks =
        |said: &str| said.contains("expected end of block") || said.contains("unknown statement end");
    if let Some(finding) = error.detail().filter(|said| is_of_blocks(said)).and_then(|_| unclosed(text)) {
        return finding;
    }
    let range = error.range().unwrap_or_else(|| {
        let line = error.line().unwrap_or(1);
        let start = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
        start..start
    });
    let what = match (error.kind(), error.detail()) {
        (ErrorKind::SyntaxError, Some(detail)) => detail.to_string(),
        _ => error.to_string(),
    };
    let help = text
        .get(range.start..)
        .is_some_and(|rest| rest.starts_with('='))
        .then(|| "a comparison is written `==`".to_string());
    Finding { offset: range.start.min(text.len()), len: range.len(), what, help }
}
