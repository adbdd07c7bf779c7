//! Styles that become attributes: some mailboxes drop every `<style>`, and what is in `<mj-style inline="inline">` has to
//! be seen there too. It is done once, when a layout is compiled, and without taking its HTML apart: that has words of
//! ours between rows of tables, where a parser of web pages moves everything elsewhere.
//!
//! Selectors are of elements and classes, one within another (`.card a`) or right in it (`.card > td`). What an element says
//! itself goes before a rule, and `!important` before that; so rules for other screens, which stay in a `<style>`, need
//! their `!important`.

use crate::layout::elements::is_void;
use source_text::{SourceText, TextProblem};

/// What elements look like.
#[derive(Debug, Default)]
pub struct StyleSheet {
    rules: Vec<StyleRule>,
}

/// One selector and what it says.
#[derive(Debug)]
struct StyleRule {
    /// The element itself first, then what it is in.
    parts: Vec<SelectorPart>,
    /// Classes and elements that it names: who names more goes before others.
    weight: (usize, usize),
    says: Vec<StyleDeclaration>,
}

#[derive(Debug)]
struct SelectorPart {
    name: Option<String>,
    classes: Vec<String>,
    /// Right around the one before, else anywhere around it.
    is_parent: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct StyleDeclaration {
    property: String,
    value: String,
    is_important: bool,
}

/// An element that is open.
struct OpenElement<'a> {
    name: &'a str,
    classes: Vec<&'a str>,
}

impl StyleSheet {
    /// Reads the rules of one style.
    pub fn read(&mut self, css: &str, source: SourceText<'_>) -> Result<(), TextProblem> {
        let css = strip_comments(css);
        let mut rest = css.as_str();
        while let Some((selectors, more)) = rest.split_once('{') {
            let problem = |what: String| {
                // Where it is first written will do for a caret.
                source.problem_at(source.text.find(selectors.trim()).unwrap_or(0), what)
            };
            let Some((block, after)) = more.split_once('}') else {
                return Err(problem("a rule without its `}`".to_owned()));
            };
            let says = parse_declarations(block);
            for selector in selectors.split(',') {
                let Some(parts) = parse_selector(selector) else {
                    let what = format!("`{}` cannot be inlined", selector.trim());
                    let help = "elements and classes can be; put the rest into another `<mj-style>`";
                    return Err(problem(what).with_help(help.to_owned()));
                };
                let classes = parts.iter().map(|part| part.classes.len()).sum();
                let names = parts.iter().filter(|part| part.name.is_some()).count();
                self.rules.push(StyleRule { parts, weight: (classes, names), says: says.clone() });
            }
            rest = after;
        }
        // The one that is written last goes before others of its weight.
        self.rules.sort_by_key(|rule| rule.weight);
        Ok(())
    }

    /// The same HTML with what the rules say in its elements.
    pub fn apply_to(&self, html: &str) -> String {
        if self.rules.is_empty() {
            return html.to_owned();
        }
        let mut done = String::with_capacity(html.len() * 2);
        let mut open: Vec<OpenElement<'_>> = Vec::new();
        let mut rest = html;
        while let Some(at) = rest.find('<') {
            done.push_str(&rest[..at]);
            rest = &rest[at..];
            let len = find_end(rest);
            let tag = &rest[..len];
            rest = &rest[len..];
            if let Some(name) = tag.strip_prefix("</") {
                let name = name.trim_end_matches('>').trim();
                if let Some(at) = open.iter().rposition(|open| open.name == name) {
                    open.truncate(at);
                }
                done.push_str(tag);
                continue;
            }
            let Some(element) = parse_element(tag) else {
                done.push_str(tag);
                continue;
            };
            let is_alone = is_void(element.name) || tag.ends_with("/>");
            open.push(element);
            done.push_str(&self.style_tag(tag, &open));
            if is_alone {
                open.pop();
            }
        }
        done.push_str(rest);
        done
    }

    /// A tag with what the rules say of its element, the last of those that are open.
    fn style_tag(&self, tag: &str, open: &[OpenElement<'_>]) -> String {
        let mut says: Vec<&StyleDeclaration> = Vec::new();
        for said in self.rules.iter().filter(|rule| rule.matches_last(open)).flat_map(|rule| &rule.says) {
            // What is said again is said last, unless the first was more important.
            let stands = says.iter().position(|other| other.property == said.property);
            match stands {
                Some(at) if says[at].is_important && !said.is_important => {}
                Some(at) => {
                    says.remove(at);
                    says.push(said);
                }
                None => says.push(said),
            }
        }
        if says.is_empty() {
            return tag.to_owned();
        }
        let text = |is_important: bool| -> String {
            let of = says.iter().filter(|said| said.is_important == is_important);
            of.map(|said| format!("{}:{};", said.property, said.value)).collect()
        };
        let (before, after) = (text(false), text(true));
        match find_attribute(tag, "style") {
            Some((start, own)) => {
                let end = start + own.len();
                let between = if own.trim_end().ends_with(';') || own.trim().is_empty() || after.is_empty() {
                    ""
                } else {
                    ";"
                };
                format!("{}{before}{own}{between}{after}{}", &tag[..start], &tag[end..])
            }
            None => {
                let at = 1 + open.last().map_or(0, |open| open.name.len());
                format!("{} style=\"{before}{after}\"{}", &tag[..at], &tag[at..])
            }
        }
    }
}

impl StyleRule {
    /// Whether it is of the last of these.
    fn matches_last(&self, open: &[OpenElement<'_>]) -> bool {
        let Some((own, around)) = self.parts.split_first() else { return false };
        let Some((element, within)) = open.split_last() else { return false };
        own.matches_element(element) && is_within(around, within)
    }
}

fn is_within(around: &[SelectorPart], open: &[OpenElement<'_>]) -> bool {
    let Some((next, more)) = around.split_first() else { return true };
    let mut places = (0..open.len()).rev().take(if next.is_parent { 1 } else { usize::MAX });
    places.any(|at| next.matches_element(&open[at]) && is_within(more, &open[..at]))
}

impl SelectorPart {
    fn matches_element(&self, element: &OpenElement<'_>) -> bool {
        self.name.as_ref().is_none_or(|name| name == element.name)
            && self.classes.iter().all(|class| element.classes.contains(&class.as_str()))
    }
}

fn strip_comments(css: &str) -> String {
    let mut pieces = css.split("/*");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |text, piece| text + piece.split_once("*/").map_or("", |(_, after)| after))
}

fn parse_declarations(block: &str) -> Vec<StyleDeclaration> {
    let said = block.split(';').filter_map(|line| {
        let (property, value) = line.split_once(':')?;
        let value = value.trim().replace('"', "'");
        let (value, is_important) = match value.strip_suffix("!important") {
            Some(value) => (value.trim_end().to_owned(), true),
            None => (value, false),
        };
        Some(StyleDeclaration { property: property.trim().to_lowercase(), value, is_important })
    });
    said.collect()
}

/// The parts of a selector, the element itself first; `None` of one that says more than elements and classes.
fn parse_selector(selector: &str) -> Option<Vec<SelectorPart>> {
    let spaced = selector.replace('>', " > ");
    let mut parts: Vec<SelectorPart> = Vec::new();
    let mut is_parent = false;
    for word in spaced.split_whitespace().rev() {
        if word == ">" {
            is_parent = !parts.is_empty() && !is_parent;
            is_parent.then_some(())?;
            continue;
        }
        let mut pieces = word.split('.');
        let name = pieces.next().filter(|name| !name.is_empty() && *name != "*").map(str::to_owned);
        let classes: Vec<String> = pieces.map(str::to_owned).collect();
        let plain = |text: &String| {
            !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
        };
        name.iter().chain(&classes).all(plain).then_some(())?;
        parts.push(SelectorPart { name, classes, is_parent: std::mem::take(&mut is_parent) });
    }
    (!parts.is_empty() && !is_parent).then_some(parts)
}

/// Where what begins here ends: a comment with all that it holds, a tag with the `>` in its values.
fn find_end(text: &str) -> usize {
    let whole = text.len();
    // What Outlook alone reads is a comment to everybody else.
    if text.starts_with("<!--") {
        return text.find("-->").map_or(whole, |end| end + 3);
    }
    for raw in ["<style", "<title"] {
        if text.starts_with(raw) {
            return text.find("</").map_or(whole, |end| end);
        }
    }
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if matches!(c, '"' | '\'') => quote = Some(c),
            None if c == '>' => return at + 1,
            None => {}
        }
    }
    whole
}

/// The element that a tag begins.
fn parse_element(tag: &str) -> Option<OpenElement<'_>> {
    let inner = tag.strip_prefix('<')?;
    let len = inner.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(inner.len());
    let name = inner.get(..len).filter(|name| name.starts_with(|c: char| c.is_ascii_alphabetic()))?;
    let classes = find_attribute(tag, "class").map(|(_, classes)| classes.split_whitespace().collect());
    Some(OpenElement { name, classes: classes.unwrap_or_default() })
}

/// The value of an attribute, and where in the tag it begins.
fn find_attribute<'a>(tag: &'a str, name: &str) -> Option<(usize, &'a str)> {
    let mut from = 0;
    while let Some(found) = tag.get(from..)?.find(name) {
        let (start, end) = (from + found, from + found + name.len());
        from = end;
        let is_name = tag[..start].ends_with(|c: char| c.is_whitespace());
        let rest = tag.get(end..)?;
        let Some(value) = rest.trim_start().strip_prefix('=').map(str::trim_start).filter(|_| is_name) else {
            continue;
        };
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let value = &value[1..];
        let at = tag.len() - value.len();
        return Some((at, &value[..value.find(quote)?]));
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn apply_css(css: &str, html: &str) -> String {
        let mut sheet = StyleSheet::default();
        sheet
            .read(css, SourceText { file: "x.mjml", text: css })
            .unwrap_or_else(|problem| panic!("{problem}"));
        sheet.apply_to(html)
    }

    #[test]
    fn rules_become_attributes() {
        let check =
            |css: &str, html: &str, expected: &str| assert_eq!(apply_css(css, html), expected, "{css}");
        check(
            "a { color: red }",
            "<p><a href=\"x\">y</a></p>",
            "<p><a style=\"color:red;\" href=\"x\">y</a></p>",
        );
        check(
            ".n a{color:red;}",
            "<a>1</a><p class=\"m n\"><b><a>2</a></b></p><a>3</a>",
            "<a>1</a><p class=\"m n\"><b><a style=\"color:red;\">2</a></b></p><a>3</a>",
        );
        check(
            ".n > a { color: red }",
            "<p class=\"n\"><a>1</a><b><a>2</a></b></p>",
            "<p class=\"n\"><a style=\"color:red;\">1</a><b><a>2</a></b></p>",
        );
        // What it says itself stands, unless a rule says that it is more important.
        check(
            "img { width: 1px; height: 2px !important }",
            "<img style=\"width:9px\" class=\"p\" />",
            "<img style=\"width: 1px;width:9px;height:2px;\" class=\"p\" />"
                .replace("width: 1px", "width:1px")
                .as_str(),
        );
        // More classes go before fewer, and later before earlier.
        check(
            ".a { color: red } p { color: blue } p { margin: 0 }",
            "<p class=\"a\">",
            "<p style=\"margin:0;color:red;\" class=\"a\">",
        );
        check(
            "p { color: red !important } .a { color: blue }",
            "<p class='a'>",
            "<p style=\"color:red;\" class='a'>",
        );
        check(
            "a, .b c.d { x: \"y\" } /* p { z: 1 } */",
            "<a/><p class=\"b\"><c class=\"d\">",
            "<a style=\"x:'y';\"/><p class=\"b\"><c style=\"x:'y';\" class=\"d\">",
        );
        // Words of ours, comments and styles stay as they are.
        let same = "<table>word1x<tr></tr></table><!--[if mso]><a><![endif]--><style>a > b {}</style><title>a <a></title>";
        check("a { color: red }", same, same);
        check("a { color: red }", "<p title=\"<a>\"><br>", "<p title=\"<a>\"><br>");
        check("br { x: y } i { x: z }", "<br><i>", "<br style=\"x:y;\"><i style=\"x:z;\">");
        check("br i { x: z }", "<br><i>", "<br><i>");
        check("", "<a>", "<a>");
    }

    #[test]
    fn what_cannot_be_inlined_is_said_with_its_place() {
        for css in [
            "a:hover {}",
            "#x {}",
            "a[href] {}",
            "@media print { a {} }",
            "> a {}",
            "a > {}",
            "a > > b {}",
            ", {}",
            "a..b {}",
            "a { x: y",
        ] {
            let text = format!("<mjml>\n{css}");
            let found = StyleSheet::default().read(css, SourceText { file: "x.mjml", text: &text });
            assert!(found.is_err_and(|problem| problem.line <= 2 && problem.file == "x.mjml"), "{css}");
        }
    }

    proptest! {
        /// Whatever the HTML is, only attributes are added: without them it is the same text.
        #[test]
        fn nothing_but_styles_is_added(html in "[<>/a-c \"'=!\\-é]{0,60}") {
            let done = apply_css("a { color: red } b c { x: y !important }", &html);
            let plain = done.replace(" style=\"color:red;\"", "").replace(" style=\"x:y;\"", "");
            prop_assert_eq!(plain, html);
        }

        #[test]
        fn no_style_is_too_odd(css in "\\PC{0,80}") {
            let read = StyleSheet::default().read(&css, SourceText { file: "x", text: &css });
            prop_assert!(read.is_ok() || read.is_err());
        }
    }
}
