//! The types of expressions.

use minijinja::{
    machinery::{Span, ast},
    value::ValueKind,
};
use source_text::{did_you_mean, list_choices};

use crate::{
    check::{TextChecker, TextSort},
    value_type::{RecordType, TextValueType},
    words::{CAPPED, FILTERS, FilterInput, FilterOutput, SOURCE_FILTERS, TESTS, TextFilter},
};

impl TextChecker<'_> {
    /// The type of an expression. What is wrong with it is noted, and then it is anything, so that one
    /// slip is one message.
    pub fn expression_type(&mut self, expression: &ast::Expr<'_>) -> TextValueType {
        use ast::Expr;
        match expression {
            Expr::Var(var) => self.variable_type(var.id, var.span()),
            Expr::Const(constant) => match constant.value.kind() {
                ValueKind::String => TextValueType::Text,
                ValueKind::Number => TextValueType::Number,
                ValueKind::Bool => TextValueType::Flag,
                _ => TextValueType::Any,
            },
            Expr::GetAttr(get) => {
                let of = self.expression_type(&get.expr);
                let span = self.name_span(get.span(), get.name);
                self.part_type(&of, get.name, span)
            }
            Expr::GetItem(get) => self.item_type(get),
            Expr::Slice(slice) => {
                for bound in [&slice.start, &slice.stop, &slice.step].into_iter().flatten() {
                    self.want_number(bound);
                }
                self.expression_type(&slice.expr)
            }
            Expr::UnaryOp(unary) => match unary.op {
                ast::UnaryOpKind::Not => {
                    self.expression_type(&unary.expr);
                    TextValueType::Flag
                }
                ast::UnaryOpKind::Neg => self.want_number(&unary.expr),
            },
            Expr::BinOp(binary) => self.binary_type(binary),
            Expr::Compare(compare) => {
                let mut left = self.expression_type(&compare.expr);
                let mut before = &compare.expr;
                for next in &compare.ops {
                    let right = self.expression_type(&next.expr);
                    self.check_moments(before, &next.expr, compare.span());
                    before = &next.expr;
                    self.check_comparison(
                        &left,
                        &right,
                        next.expr.span(),
                        matches!(next.op, ast::CompareOpKind::In | ast::CompareOpKind::NotIn),
                    );
                    left = right;
                }
                TextValueType::Flag
            }
            Expr::IfExpr(asked) => {
                self.expression_type(&asked.test_expr);
                let one = self.expression_type(&asked.true_expr);
                match &asked.false_expr {
                    Some(other) => one.union_with(self.expression_type(other)),
                    None => one,
                }
            }
            Expr::Filter(filter) => self.filter_type(filter),
            Expr::Test(test) => self.test_type(test),
            Expr::Call(call) => self.call_type(call),
            Expr::List(list) => self.list_type(&list.items),
            Expr::Tuple(list) => self.list_type(&list.items),
            Expr::Map(map) => {
                self.add_finding(map.span(), "a map is not for texts", None);
                TextValueType::Any
            }
        }
    }

    fn variable_type(&mut self, name: &str, span: Span) -> TextValueType {
        if let Some(of) = self.inner.iter().rev().find_map(|inner| inner.get(name)) {
            return of.clone();
        }
        if let Some(of) = self.scope.names.get(name) {
            self.reads.roots.insert(name.to_string());
            return of.clone();
        }
        let inner = self.inner.iter().flat_map(|inner| inner.keys());
        let names: Vec<&str> = self.scope.names.keys().chain(inner).map(String::as_str).collect();
        let help = did_you_mean(name, names.iter().copied())
            .unwrap_or_else(|| format!("a text here reads {}", list_choices(names.iter().copied())));
        self.add_finding(span, format!("there is no `{name}`"), help);
        TextValueType::Any
    }

    /// `of.name`.
    fn part_type(&mut self, of: &TextValueType, name: &str, span: Span) -> TextValueType {
        match of {
            TextValueType::Any => TextValueType::Any,
            TextValueType::Record(record) => self.record_part_type(record, name, span),
            TextValueType::Subject { types, near } => {
                let mut found: Option<TextValueType> = None;
                for of in types {
                    let Some(field) = self.field_type(of, name) else { continue };
                    found = Some(found.map_or(field.clone(), |before| before.union_with(field)));
                }
                let Some(found) = found else {
                    let subjects = types.iter().filter_map(|name| self.scope.subjects.get(name));
                    let names = subjects.flat_map(|subject| subject.fields.keys().map(String::as_str));
                    let help = did_you_mean(name, names.clone())
                        .unwrap_or_else(|| format!("`{of}` has {}", list_choices(names)));
                    self.add_finding(span, format!("`{of}` has no field `{name}`"), help);
                    return TextValueType::Any;
                };
                if !near && (matches!(found, TextValueType::Subject { .. } | TextValueType::List(_))) {
                    let help = "only what the subject itself refers to is loaded for texts".to_string();
                    self.add_finding(span, format!("`{name}` is a reference of a reference"), help);
                    return TextValueType::Any;
                }
                found
            }
            TextValueType::List(_) => {
                let help = "go through it with `{% for %}`, or take one with `| first`".to_string();
                self.add_finding(span, format!("a list has no `{name}`"), help);
                TextValueType::Any
            }
            TextValueType::Text
            | TextValueType::Url
            | TextValueType::Number
            | TextValueType::Flag
            | TextValueType::Time
            | TextValueType::Place => {
                self.add_finding(span, format!("a {of} has no `{name}`"), None);
                TextValueType::Any
            }
        }
    }

    fn record_part_type(&mut self, record: &RecordType, name: &str, span: Span) -> TextValueType {
        if let Some(of) = record.parts.get(name) {
            return of.clone();
        }
        let names = record.parts.keys().map(|name| &**name);
        let help = did_you_mean(name, names.clone()).unwrap_or_else(|| match names.len() {
            0 => "it has nothing, since the kind `keeps` nothing".to_string(),
            _ => format!("it has {}", list_choices(names)),
        });
        self.add_finding(span, format!("`{}` has no `{name}`", record.name), help);
        TextValueType::Any
    }

    fn field_type(&mut self, of: &str, name: &str) -> Option<TextValueType> {
        // The id is in the reference itself.
        if name == "id" {
            return Some(TextValueType::Text);
        }
        let field = self.scope.subjects.get(of)?.fields.get(name)?;
        self.reads.fields.entry(of.to_string()).or_default().insert(name.to_string());
        Some(TextValueType::from_field(field))
    }

    fn item_type(&mut self, get: &ast::Spanned<ast::GetItem<'_>>) -> TextValueType {
        let of = self.expression_type(&get.expr);
        let by = self.expression_type(&get.subscript_expr);
        match (of, by) {
            (TextValueType::List(element), TextValueType::Number | TextValueType::Any) => {
                element.as_ref().clone()
            }
            (TextValueType::Any, _) => TextValueType::Any,
            (of, _) => {
                self.add_finding(get.span(), format!("`[ ]` takes an element of a list, this is {of}"), None);
                TextValueType::Any
            }
        }
    }

    fn want_number(&mut self, expression: &ast::Expr<'_>) -> TextValueType {
        let of = self.expression_type(expression);
        if !matches!(of, TextValueType::Number | TextValueType::Any) {
            self.add_finding(expression.span(), format!("expected a number, this is {of}"), None);
        }
        TextValueType::Number
    }

    fn binary_type(&mut self, binary: &ast::BinOp<'_>) -> TextValueType {
        use ast::BinOpKind as Op;
        match binary.op {
            Op::Add | Op::Sub | Op::Mul | Op::Div | Op::FloorDiv | Op::Rem | Op::Pow => {
                self.want_number(&binary.left);
                self.want_number(&binary.right)
            }
            Op::Concat => {
                for side in [&binary.left, &binary.right] {
                    let of = self.expression_type(side);
                    if !of.is_printed() {
                        self.add_finding(side.span(), format!("{of} cannot be part of a text"), None);
                    }
                }
                TextValueType::Text
            }
            // `a and b` is one of the two, as in Python.
            Op::ScAnd | Op::ScOr => {
                let left = self.expression_type(&binary.left);
                let right = self.expression_type(&binary.right);
                left.union_with(right)
            }
            Op::Eq | Op::Ne | Op::Lt | Op::Lte | Op::Gt | Op::Gte | Op::In => {
                let left = self.expression_type(&binary.left);
                let right = self.expression_type(&binary.right);
                self.check_moments(&binary.left, &binary.right, binary.left.span());
                self.check_comparison(&left, &right, binary.right.span(), matches!(binary.op, Op::In));
                TextValueType::Flag
            }
        }
    }

    fn check_comparison(&mut self, left: &TextValueType, right: &TextValueType, span: Span, within: bool) {
        let fits = match right {
            TextValueType::List(element) if within => left.compares_with(element),
            TextValueType::Text | TextValueType::Url if within => left.is_text(),
            TextValueType::Any => true,
            right => !within && left.compares_with(right),
        };
        if !fits {
            let verb = if within { "be in" } else { "be compared with" };
            let help = matches!(
                (left, right),
                (TextValueType::Subject { .. }, _) | (_, TextValueType::Subject { .. })
            )
            .then(|| "two subjects are compared by their `.id`".to_string());
            self.add_finding(span, format!("{left} cannot {verb} {right}"), help);
        }
    }

    fn list_type(&mut self, items: &[ast::Expr<'_>]) -> TextValueType {
        let mut element: Option<TextValueType> = None;
        for item in items {
            let of = self.expression_type(item);
            element = Some(element.map_or(of.clone(), |before| before.union_with(of)));
        }
        TextValueType::list(element.unwrap_or(TextValueType::Any))
    }

    fn filter_type(&mut self, call: &ast::Spanned<ast::Filter<'_>>) -> TextValueType {
        let of = call.expr.as_ref().map_or(TextValueType::Any, |expression| self.expression_type(expression));
        let arguments = self.argument_types(&call.args);
        let is_text = self.sort == TextSort::Text;
        let more: &[TextFilter] = if self.sort == TextSort::Source { &SOURCE_FILTERS } else { &[] };
        let known = FILTERS.iter().filter(move |filter| is_text || !filter.in_texts_only).chain(more);
        let Some(filter) = known.clone().find(|filter| filter.name == call.name) else {
            let names = known.map(|filter| filter.name);
            let help = did_you_mean(call.name, names.clone())
                .unwrap_or_else(|| format!("there are {}", list_choices(names)));
            let span = self.name_span(call.span(), call.name);
            self.add_finding(span, format!("there is no filter `{}`", call.name), help);
            return TextValueType::Any;
        };
        if arguments.len() < filter.least || arguments.len() > filter.most {
            let (least, most) = (filter.least, filter.most);
            let wanted = match (least, most) {
                (0, 0) => "nothing more".to_string(),
                (1, 1) => "1 argument".to_string(),
                (least, most) if least == most => format!("{least} arguments"),
                (least, most) => format!("{least} to {most} arguments"),
            };
            self.add_finding(call.span(), format!("`{}` takes {wanted}", filter.name), None);
        }
        if let Some(argument) = call.args.first().filter(|_| filter.name == CAPPED) {
            self.check_cap(argument);
        }
        if !takes_type(filter.takes, &of) {
            let help = matches!(filter.takes, FilterInput::List)
                .then(|| "only a list can be taken apart".to_string());
            self.add_finding(call.span(), format!("`{}` cannot be used on {of}", filter.name), help);
        }
        result_type(filter, of, arguments.into_iter().next())
    }

    /// The number that `capped` prints at most is written in the text, and is one that can be counted to.
    fn check_cap(&mut self, argument: &ast::CallArg<'_>) {
        let ast::CallArg::Pos(expression) = argument else { return };
        let is_count = expression.as_const().is_some_and(|value| {
            value.kind() == ValueKind::Number
                && value.is_integer()
                && i64::try_from(value).is_ok_and(|n| n >= 1)
        });
        if !is_count {
            self.add_finding(expression.span(), "`capped` takes a whole number from 1", None);
        }
    }

    fn argument_types(&mut self, arguments: &[ast::CallArg<'_>]) -> Vec<TextValueType> {
        let mut types = Vec::new();
        for argument in arguments {
            match argument {
                ast::CallArg::Pos(expression) => types.push(self.expression_type(expression)),
                ast::CallArg::Kwarg(_, expression)
                | ast::CallArg::PosSplat(expression)
                | ast::CallArg::KwargSplat(expression) => {
                    self.add_finding(expression.span(), "arguments have no names here", None);
                }
            }
        }
        types
    }

    fn test_type(&mut self, test: &ast::Spanned<ast::Test<'_>>) -> TextValueType {
        self.expression_type(&test.expr);
        self.argument_types(&test.args);
        if !TESTS.contains(&test.name) {
            let help = did_you_mean(test.name, TESTS)
                .unwrap_or_else(|| format!("there are {}", list_choices(TESTS)));
            self.add_finding(test.span(), format!("there is no test `{}`", test.name), help);
        } else if !test.args.is_empty() {
            self.add_finding(test.span(), format!("`is {}` takes nothing more", test.name), None);
        }
        TextValueType::Flag
    }
}

fn takes_type(takes: FilterInput, of: &TextValueType) -> bool {
    let list = matches!(of, TextValueType::List(_) | TextValueType::Any);
    match takes {
        FilterInput::Text => of.is_text(),
        FilterInput::Number => matches!(of, TextValueType::Number | TextValueType::Any),
        FilterInput::Time => matches!(of, TextValueType::Time | TextValueType::Any),
        FilterInput::List => list,
        FilterInput::TextOrList => list || of.is_text(),
        FilterInput::Anything => true,
    }
}

fn result_type(filter: &TextFilter, of: TextValueType, argument: Option<TextValueType>) -> TextValueType {
    match filter.gives {
        FilterOutput::Text => TextValueType::Text,
        FilterOutput::Number => TextValueType::Number,
        FilterOutput::Same => argument.map_or(of.clone(), |argument| of.union_with(argument)),
        FilterOutput::Element => match of {
            TextValueType::List(element) => element.as_ref().clone(),
            _ => TextValueType::Any,
        },
        FilterOutput::Lists => TextValueType::list(of),
    }
}
