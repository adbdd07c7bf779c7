//! Fills a message in. What Fluent says of an error at this moment is not needed: a book has been checked, and whoever
//! calls gives each value.

use std::collections::BTreeMap;

use fluent_syntax::{
    ast::{Expression, InlineExpression, Pattern, PatternElement, Variant, VariantKey},
    unicode::unescape_unicode_to_string,
};

use crate::{
    MessageBook, ReaderLanguage,
    message_file::{DEPTH_MAX, variable_name},
};

/// A value that a message is filled with.
#[derive(Clone, PartialEq, Debug)]
pub enum MessageValue {
    /// What others wrote.
    Text(String),
    Number(f64),
    /// What the house or the catalogue wrote, or made of values that are isolated.
    Sentence(String),
}

impl From<&str> for MessageValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<usize> for MessageValue {
    fn from(number: usize) -> Self {
        #[allow(clippy::cast_precision_loss, reason = "nobody counts so far")]
        Self::Number(number as f64)
    }
}

/// A message on its way.
pub(crate) struct MessageFilling<'a> {
    pub book: &'a MessageBook,
    pub language: &'a ReaderLanguage,
    pub values: &'a BTreeMap<&'a str, MessageValue>,
    pub out: String,
}

impl<'a> MessageFilling<'a> {
    pub fn fill(&mut self, pattern: &'a Pattern<String>) {
        self.fill_pattern(pattern, 0);
    }

    fn fill_pattern(&mut self, pattern: &'a Pattern<String>, depth: usize) {
        for element in &pattern.elements {
            match element {
                PatternElement::TextElement { value } => self.out.push_str(value),
                PatternElement::Placeable { expression } => self.fill_expression(expression, depth),
            }
        }
    }

    fn fill_expression(&mut self, expression: &'a Expression<String>, depth: usize) {
        match expression {
            Expression::Select { selector, variants } => {
                let value = variable_name(selector).and_then(|name| self.values.get(name));
                if let Some(variant) = self.choose_variant(value, variants) {
                    self.fill_pattern(&variant.value, depth);
                }
            }
            Expression::Inline(inline) => self.fill_inline(inline, depth),
        }
    }

    /// The first variant that fits, else the one with the star.
    fn choose_variant(
        &self,
        value: Option<&MessageValue>,
        variants: &'a [Variant<String>],
    ) -> Option<&'a Variant<String>> {
        let fits = |variant: &&Variant<String>| match (value, &variant.key) {
            (
                Some(MessageValue::Text(text) | MessageValue::Sentence(text)),
                VariantKey::Identifier { name },
            ) => text == name,
            (Some(MessageValue::Number(number)), VariantKey::NumberLiteral { value }) => {
                value.parse::<f64>().is_ok_and(|value| value.to_bits() == number.to_bits())
            }
            (Some(MessageValue::Number(number)), VariantKey::Identifier { name }) => {
                self.language.plural_of(*number) == name
            }
            _ => false,
        };
        variants.iter().find(fits).or_else(|| variants.iter().find(|variant| variant.default))
    }

    fn fill_inline(&mut self, inline: &'a InlineExpression<String>, depth: usize) {
        match inline {
            InlineExpression::StringLiteral { value } => {
                self.out.push_str(&unescape_unicode_to_string(value));
            }
            InlineExpression::NumberLiteral { value } => self.out.push_str(value),
            InlineExpression::VariableReference { .. } | InlineExpression::FunctionReference { .. } => {
                match variable_name(inline).and_then(|name| self.values.get(name)) {
                    Some(MessageValue::Text(text)) => self.out.push_str(&self.language.isolate(text)),
                    Some(MessageValue::Sentence(text)) => self.out.push_str(text),
                    Some(MessageValue::Number(number)) => self.out.push_str(&self.language.number(*number)),
                    None => {}
                }
            }
            InlineExpression::MessageReference { .. } | InlineExpression::TermReference { .. } => {
                if let Some(referred) = self.book.referred(inline).filter(|_| depth < DEPTH_MAX) {
                    self.fill_pattern(&referred.text, depth + 1);
                }
            }
            InlineExpression::Placeable { expression } => self.fill_expression(expression, depth),
        }
    }
}
