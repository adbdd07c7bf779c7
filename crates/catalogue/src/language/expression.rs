//! The types of expressions.

use minijinja::{
    machinery::{Span, ast},
    value::ValueKind,
};

use crate::{
    language::{
        check::{Sort, Walk},
        types::{Record, Type},
        words::{FILTERS, Filter, Gives, SOURCE_FILTERS, TESTS, Takes},
    },
    problem::{did_you_mean, one_of},
};

impl Walk<'_> {
    /// The type of an expression. What is wrong with it is noted, and then it is anything, so that one
    /// slip is one message.
    pub fn expression(&mut self, expression: &ast::Expr<'_>) -> Type {
        use ast::Expr;
        match expression {
            Expr::Var(var) => self.variable(var.id, var.span()),
            Expr::Const(constant) => match constant.value.kind() {
                ValueKind::String => Type::Text,
                ValueKind::Number => Type::Number,
                ValueKind::Bool => Type::Flag,
                _ => Type::Any,
            },
            Expr::GetAttr(get) => {
                let of = self.expression(&get.expr);
                let span = self.name_span(get.span(), get.name);
                self.part(&of, get.name, span)
            }
            Expr::GetItem(get) => self.item(get),
            Expr::Slice(slice) => {
                for bound in [&slice.start, &slice.stop, &slice.step].into_iter().flatten() {
                    self.want_number(bound);
                }
                self.expression(&slice.expr)
            }
            Expr::UnaryOp(unary) => match unary.op {
                ast::UnaryOpKind::Not => {
                    self.expression(&unary.expr);
                    Type::Flag
                }
                ast::UnaryOpKind::Neg => self.want_number(&unary.expr),
            },
            Expr::BinOp(binary) => self.binary(binary),
            Expr::Compare(compare) => {
                let mut left = self.expression(&compare.expr);
                for next in &compare.ops {
                    let right = self.expression(&next.expr);
                    self.compared(
                        &left,
                        &right,
                        next.expr.span(),
                        matches!(next.op, ast::CompareOpKind::In | ast::CompareOpKind::NotIn),
                    );
                    left = right;
                }
                Type::Flag
            }
            Expr::IfExpr(asked) => {
                self.expression(&asked.test_expr);
                let one = self.expression(&asked.true_expr);
                match &asked.false_expr {
                    Some(other) => one.or(self.expression(other)),
                    None => one,
                }
            }
            Expr::Filter(filter) => self.filter(filter),
            Expr::Test(test) => self.test(test),
            Expr::Call(call) => {
                self.find(call.span(), "there are no functions to call in texts", None);
                Type::Any
            }
            Expr::List(list) => self.list(&list.items),
            Expr::Tuple(list) => self.list(&list.items),
            Expr::Map(map) => {
                self.find(map.span(), "a map is not for texts", None);
                Type::Any
            }
        }
    }

    fn variable(&mut self, name: &str, span: Span) -> Type {
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
            .unwrap_or_else(|| format!("a text here reads {}", one_of(names.iter().copied())));
        self.find(span, format!("there is no `{name}`"), help);
        Type::Any
    }

    /// `of.name`.
    fn part(&mut self, of: &Type, name: &str, span: Span) -> Type {
        match of {
            Type::Any => Type::Any,
            Type::Record(record) => self.part_of_record(record, name, span),
            Type::Subject { types, near } => {
                let mut found: Option<Type> = None;
                for of in types {
                    let Some(field) = self.field(of, name) else { continue };
                    found = Some(found.map_or(field.clone(), |before| before.or(field)));
                }
                let Some(found) = found else {
                    let subjects = types.iter().filter_map(|name| self.scope.subjects.get(name));
                    let names = subjects.flat_map(|subject| subject.fields.keys().map(String::as_str));
                    let help = did_you_mean(name, names.clone())
                        .unwrap_or_else(|| format!("`{of}` has {}", one_of(names)));
                    self.find(span, format!("`{of}` has no field `{name}`"), help);
                    return Type::Any;
                };
                if !near && (matches!(found, Type::Subject { .. } | Type::List(_))) {
                    let help = "only what the subject itself refers to is loaded for texts".to_string();
                    self.find(span, format!("`{name}` is a reference of a reference"), help);
                    return Type::Any;
                }
                found
            }
            Type::List(_) => {
                let help = "go through it with `{% for %}`, or take one with `| first`".to_string();
                self.find(span, format!("a list has no `{name}`"), help);
                Type::Any
            }
            Type::Text | Type::Url | Type::Number | Type::Flag | Type::Time | Type::Place => {
                self.find(span, format!("a {of} has no `{name}`"), None);
                Type::Any
            }
        }
    }

    fn part_of_record(&mut self, record: &Record, name: &str, span: Span) -> Type {
        if let Some(of) = record.parts.get(name) {
            return of.clone();
        }
        let names = record.parts.keys().copied();
        let help = did_you_mean(name, names.clone()).unwrap_or_else(|| format!("it has {}", one_of(names)));
        self.find(span, format!("`{}` has no `{name}`", record.name), help);
        Type::Any
    }

    fn field(&mut self, of: &str, name: &str) -> Option<Type> {
        // The id is in the reference itself.
        if name == "id" {
            return Some(Type::Text);
        }
        let field = self.scope.subjects.get(of)?.fields.get(name)?;
        self.reads.fields.entry(of.to_string()).or_default().insert(name.to_string());
        Some(Type::of_field(field))
    }

    fn item(&mut self, get: &ast::Spanned<ast::GetItem<'_>>) -> Type {
        let of = self.expression(&get.expr);
        let by = self.expression(&get.subscript_expr);
        match (of, by) {
            (Type::List(element), Type::Number | Type::Any) => element.as_ref().clone(),
            (Type::Any, _) => Type::Any,
            (of, _) => {
                self.find(get.span(), format!("`[ ]` takes an element of a list, this is {of}"), None);
                Type::Any
            }
        }
    }

    fn want_number(&mut self, expression: &ast::Expr<'_>) -> Type {
        let of = self.expression(expression);
        if !matches!(of, Type::Number | Type::Any) {
            self.find(expression.span(), format!("expected a number, this is {of}"), None);
        }
        Type::Number
    }

    fn binary(&mut self, binary: &ast::BinOp<'_>) -> Type {
        use ast::BinOpKind as Op;
        match binary.op {
            Op::Add | Op::Sub | Op::Mul | Op::Div | Op::FloorDiv | Op::Rem | Op::Pow => {
                self.want_number(&binary.left);
                self.want_number(&binary.right)
            }
            Op::Concat => {
                for side in [&binary.left, &binary.right] {
                    let of = self.expression(side);
                    if !of.is_printed() {
                        self.find(side.span(), format!("{of} cannot be part of a text"), None);
                    }
                }
                Type::Text
            }
            // `a and b` is one of the two, as in Python.
            Op::ScAnd | Op::ScOr => {
                let left = self.expression(&binary.left);
                let right = self.expression(&binary.right);
                left.or(right)
            }
            Op::Eq | Op::Ne | Op::Lt | Op::Lte | Op::Gt | Op::Gte | Op::In => {
                let left = self.expression(&binary.left);
                let right = self.expression(&binary.right);
                self.compared(&left, &right, binary.right.span(), matches!(binary.op, Op::In));
                Type::Flag
            }
        }
    }

    fn compared(&mut self, left: &Type, right: &Type, span: Span, within: bool) {
        let fits = match right {
            Type::List(element) if within => left.compares_with(element),
            Type::Text | Type::Url if within => left.is_text(),
            Type::Any => true,
            right => !within && left.compares_with(right),
        };
        if !fits {
            let verb = if within { "be in" } else { "be compared with" };
            let help = matches!((left, right), (Type::Subject { .. }, _) | (_, Type::Subject { .. }))
                .then(|| "two subjects are compared by their `.id`".to_string());
            self.find(span, format!("{left} cannot {verb} {right}"), help);
        }
    }

    fn list(&mut self, items: &[ast::Expr<'_>]) -> Type {
        let mut element: Option<Type> = None;
        for item in items {
            let of = self.expression(item);
            element = Some(element.map_or(of.clone(), |before| before.or(of)));
        }
        Type::list(element.unwrap_or(Type::Any))
    }

    fn filter(&mut self, call: &ast::Spanned<ast::Filter<'_>>) -> Type {
        let of = call.expr.as_ref().map_or(Type::Any, |expression| self.expression(expression));
        let arguments = self.arguments(&call.args);
        let is_text = self.sort == Sort::Text;
        let more: &[Filter] = if self.sort == Sort::Source { &SOURCE_FILTERS } else { &[] };
        let known = FILTERS.iter().filter(move |filter| is_text || !filter.in_texts_only).chain(more);
        let Some(filter) = known.clone().find(|filter| filter.name == call.name) else {
            let names = known.map(|filter| filter.name);
            let help = did_you_mean(call.name, names.clone())
                .unwrap_or_else(|| format!("there are {}", one_of(names)));
            let span = self.name_span(call.span(), call.name);
            self.find(span, format!("there is no filter `{}`", call.name), help);
            return Type::Any;
        };
        if arguments.len() < filter.least || arguments.len() > filter.most {
            let (least, most) = (filter.least, filter.most);
            let wanted = match (least, most) {
                (0, 0) => "nothing more".to_string(),
                (1, 1) => "1 argument".to_string(),
                (least, most) if least == most => format!("{least} arguments"),
                (least, most) => format!("{least} to {most} arguments"),
            };
            self.find(call.span(), format!("`{}` takes {wanted}", filter.name), None);
        }
        if !takes(filter.takes, &of) {
            let help =
                matches!(filter.takes, Takes::List).then(|| "only a list can be taken apart".to_string());
            self.find(call.span(), format!("`{}` cannot be used on {of}", filter.name), help);
        }
        gives(filter, of, arguments.into_iter().next())
    }

    fn arguments(&mut self, arguments: &[ast::CallArg<'_>]) -> Vec<Type> {
        let mut types = Vec::new();
        for argument in arguments {
            match argument {
                ast::CallArg::Pos(expression) => types.push(self.expression(expression)),
                ast::CallArg::Kwarg(_, expression)
                | ast::CallArg::PosSplat(expression)
                | ast::CallArg::KwargSplat(expression) => {
                    self.find(expression.span(), "arguments have no names here", None);
                }
            }
        }
        types
    }

    fn test(&mut self, test: &ast::Spanned<ast::Test<'_>>) -> Type {
        self.expression(&test.expr);
        self.arguments(&test.args);
        if !TESTS.contains(&test.name) {
            let help =
                did_you_mean(test.name, TESTS).unwrap_or_else(|| format!("there are {}", one_of(TESTS)));
            self.find(test.span(), format!("there is no test `{}`", test.name), help);
        } else if !test.args.is_empty() {
            self.find(test.span(), format!("`is {}` takes nothing more", test.name), None);
        }
        Type::Flag
    }
}

fn takes(takes: Takes, of: &Type) -> bool {
    let list = matches!(of, Type::List(_) | Type::Any);
    match takes {
        Takes::Text => of.is_text(),
        Takes::Number => matches!(of, Type::Number | Type::Any),
        Takes::Time => matches!(of, Type::Time | Type::Any),
        Takes::List => list,
        Takes::TextOrList => list || of.is_text(),
        Takes::Anything => true,
    }
}

fn gives(filter: &Filter, of: Type, argument: Option<Type>) -> Type {
    match filter.gives {
        Gives::Text => Type::Text,
        Gives::Number => Type::Number,
        Gives::Same => argument.map_or(of.clone(), |argument| of.or(argument)),
        Gives::Element => match of {
            Type::List(element) => element.as_ref().clone(),
            _ => Type::Any,
        },
        Gives::Lists => Type::list(of),
    }
}
