//! The elements and attributes of a layout, as far as it matters where a tag stands.

use source_text::{did_you_mean, nearest_name};

/// Elements that hold other elements: between them a statement can stand, but no text.
const CONTAINERS: [&str; 17] = [
    "mjml",
    "mj-head",
    "mj-body",
    "mj-wrapper",
    "mj-section",
    "mj-group",
    "mj-column",
    "mj-hero",
    "mj-navbar",
    "mj-social",
    "mj-accordion",
    "mj-accordion-element",
    "mj-carousel",
    "mj-attributes",
    "mj-class",
    "mj-all",
    "mj-html-attributes",
];

/// Elements that hold text, with HTML or without.
const TEXTS: [&str; 10] = [
    "mj-text",
    "mj-button",
    "mj-table",
    "mj-raw",
    "mj-title",
    "mj-preview",
    "mj-navbar-link",
    "mj-social-element",
    "mj-accordion-title",
    "mj-accordion-text",
];

/// Elements that hold nothing, or no text of ours.
const OTHERS: [&str; 7] =
    ["mj-image", "mj-divider", "mj-spacer", "mj-style", "mj-font", "mj-breakpoint", "mj-carousel-image"];

/// HTML elements without an end.
const VOID: [&str; 13] =
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"];

/// HTML elements that are not allowed in a mail.
const REFUSED: [&str; 7] = ["script", "iframe", "object", "embed", "form", "base", "mj-include"];

/// Attributes whose value is an address.
const ADDRESSES: [&str; 4] = ["href", "src", "background", "background-url"];

/// Other attributes whose value may have tags: none of them can end up in a style sheet.
const TEXT_ATTRIBUTES: [&str; 9] =
    ["alt", "title", "css-class", "class", "aria-label", "lang", "dir", "name", "id"];

/// Where text stands in an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TagPlace {
    /// Between elements.
    Between,
    /// In a text.
    Text,
    /// Where no tag can stand.
    Closed,
}

/// The content of an element; HTML elements take that of their parent. An unknown element takes that of the nearest
/// name, so that a slip is one problem and not one for each element in it.
pub fn inside_place(name: &str, outside: TagPlace) -> TagPlace {
    if is_unknown(name) {
        return nearest_name(name, known_elements())
            .map_or(TagPlace::Text, |meant| inside_place(meant, outside));
    }
    if TEXTS.contains(&name) {
        TagPlace::Text
    } else if name == "mjml" || name == "style" || OTHERS.contains(&name) || in_attributes(name) {
        TagPlace::Closed
    } else if CONTAINERS.contains(&name) {
        TagPlace::Between
    } else {
        outside
    }
}

/// Elements that set defaults: their attributes go into every other element.
fn in_attributes(name: &str) -> bool {
    matches!(name, "mj-attributes" | "mj-class" | "mj-all" | "mj-html-attributes")
}

/// Why an element cannot be used, and what was perhaps meant.
pub fn find_refusal(name: &str, in_attributes: bool) -> Option<(String, Option<String>)> {
    if REFUSED.contains(&name) {
        return Some((format!("`<{name}>` is not allowed in a mail"), None));
    }
    // Within mj-attributes any element can have defaults, so only the prefix is checked everywhere.
    if !is_unknown(name) || in_attributes {
        return None;
    }
    Some((format!("there is no element `<{name}>`"), did_you_mean(name, known_elements())))
}

fn known_elements() -> impl Iterator<Item = &'static str> {
    CONTAINERS.into_iter().chain(TEXTS).chain(OTHERS)
}

/// Whether it looks like an element of MJML and is none.
fn is_unknown(name: &str) -> bool {
    name.starts_with("mj") && !known_elements().any(|known| known == name) && !REFUSED.contains(&name)
}

pub fn is_void(name: &str) -> bool {
    VOID.contains(&name)
}

/// What may stand in an attribute's value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AttributeRule {
    Address,
    Text,
    Closed,
}

pub fn attribute_rule(name: &str) -> AttributeRule {
    if ADDRESSES.contains(&name) {
        AttributeRule::Address
    } else if TEXT_ATTRIBUTES.contains(&name) {
        AttributeRule::Text
    } else {
        AttributeRule::Closed
    }
}
