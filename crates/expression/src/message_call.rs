//! `say("key", n=count)`: a message of the catalogue in the reader's language. Which messages there are and what each takes
//! is known when a text is checked.

use std::collections::{BTreeMap, BTreeSet};

use minijinja::machinery::{Span, ast};
use source_text::{did_you_mean, list_choices};

use crate::{
    check::{TextChecker, TextSort},
    message_types::{MessageArgument, SAY},
    slot_call::SLOT,
    value_type::TextValueType,
};

impl TextChecker<'_> {
    /// The type of a call: of `say` a text, of `slot` what stands there, of anything else nothing that there is.
    pub(crate) fn call_type(&mut self, call: &ast::Spanned<ast::Call<'_>>) -> TextValueType {
        let called = match &call.expr {
            ast::Expr::Var(var) if self.sort == TextSort::Text => var.id,
            _ => "",
        };
        match called {
            SAY => self.message_type(call),
            SLOT => self.slot_type(call),
            _ => {
                self.add_finding(call.span(), "there are no functions to call in texts", None);
                TextValueType::Any
            }
        }
    }

    fn message_type(&mut self, call: &ast::Spanned<ast::Call<'_>>) -> TextValueType {
        let Some(types) = self.scope.messages.clone() else {
            let help =
                "name the folder of its messages at the top of the catalogue: `words: words`".to_string();
            self.add_finding(call.span(), "`say` needs the messages of a catalogue", help);
            return TextValueType::Any;
        };
        let Some((name, span)) = self.message_name(call) else {
            let help =
                "the first is the name of a message in quotes, the others are `name=value`".to_string();
            self.add_finding(call.span(), "`say` takes a message and its values", help);
            return TextValueType::Text;
        };
        let mut numbers = BTreeSet::new();
        match types.messages.get(&name) {
            _ if types.is_partial => {}
            Some(wanted) => numbers = self.check_values(call, &name, wanted),
            None => {
                let help = did_you_mean(&name, types.messages.keys().map(String::as_str));
                self.add_finding(span, format!("there is no message `{name}`"), help);
            }
        }
        self.reads.messages.entry(name).or_default().append(&mut numbers);
        TextValueType::Text
    }

    /// The message that a call names; nothing if it is not the one positional argument.
    fn message_name(&self, call: &ast::Spanned<ast::Call<'_>>) -> Option<(String, Span)> {
        let (first, rest) = call.args.split_first()?;
        let ast::CallArg::Pos(name) = first else { return None };
        let all_named = rest.iter().all(|argument| matches!(argument, ast::CallArg::Kwarg(..)));
        Some((name.as_const()?.as_str()?.to_string(), name.span())).filter(|_| all_named)
    }

    /// The values that are numbers, after all have been checked.
    fn check_values(
        &mut self,
        call: &ast::Spanned<ast::Call<'_>>,
        name: &str,
        wanted: &BTreeMap<String, MessageArgument>,
    ) -> BTreeSet<String> {
        let (mut given, mut numbers) = (Vec::new(), BTreeSet::new());
        for argument in &call.args {
            let ast::CallArg::Kwarg(value, expression) = argument else { continue };
            let of = self.expression_type(expression);
            if of == TextValueType::Number {
                numbers.insert((*value).to_string());
            }
            let names = || wanted.keys().map(String::as_str);
            match wanted.get(*value) {
                None => {
                    let help = did_you_mean(value, names()).unwrap_or_else(|| match wanted.len() {
                        0 => "it takes no values".to_string(),
                        _ => format!("it takes {}", list_choices(names())),
                    });
                    self.add_finding(expression.span(), format!("`{name}` takes no `{value}`"), help);
                }
                Some(MessageArgument::Number)
                    if !matches!(of, TextValueType::Number | TextValueType::Any) =>
                {
                    let what =
                        format!("`{value}` of `{name}` chooses a plural, so it is a number, this is {of}");
                    self.add_finding(expression.span(), what, None);
                }
                Some(_) if !of.is_printed() => {
                    self.add_finding(expression.span(), format!("{of} cannot be part of a text"), None);
                }
                Some(_) => {}
            }
            given.push(*value);
        }
        for value in wanted.keys().filter(|value| !given.contains(&value.as_str())) {
            let help = format!("write `{SAY}(\"{name}\", {value}=…)`");
            self.add_finding(call.span(), format!("`{name}` needs `{value}`"), help);
        }
        numbers
    }
}
