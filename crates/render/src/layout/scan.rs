//! Takes the tags out of a layout and checks that each stands where it can.

use crate::layout::{
    elements::{AttributeRule, TagPlace, attribute_rule, find_refusal, inside_place, is_void},
    tag::{TagSort, TemplateTag},
};
use source_text::{SourceText, TextProblem, TextProblems, line_and_column, list_choices};

/// Elements within one another: whatever parses and shows them goes as deep as they do.
const DEPTH_MAX: usize = 64;
/// How an address of a layout may begin. All others run something, or open something of the reader's machine.
const SCHEMES: [&str; 6] = ["http", "https", "mailto", "tel", "sms", "cid"];
/// The same of what is shown and not followed.
const SCHEMES_SHOWN: [&str; 4] = ["http", "https", "cid", "data"];

/// Begins the word that stands for a tag; a layout that has it itself is refused.
pub const WORD: &str = "tidingstag";

/// A layout without its tags.
pub struct ScannedLayout {
    /// MJML with a word for each tag.
    pub mjml: String,
    /// The tags by the number in their word.
    pub tags: Vec<TakenTag>,
    /// Places in `mjml` and in the layout that belong together, in order.
    pub anchors: Vec<(usize, usize)>,
}

/// A tag that was taken out.
pub struct TakenTag {
    /// As it is put back.
    pub text: String,
    /// Where it was in the layout.
    pub offset: usize,
}

/// The word for a tag. It ends in a letter, so that no word begins another.
pub fn placeholder_word(number: usize) -> String {
    format!("{WORD}{number}x")
}

struct LayoutScanner<'a> {
    source: SourceText<'a>,
    at: usize,
    out: ScannedLayout,
    /// Open elements: name, where, and what can stand in them.
    elements: Vec<(&'a str, usize, TagPlace)>,
    /// Open statements: first word, where, and the element (or attribute) they were opened in.
    statements: Vec<(&'a str, usize, usize)>,
    problems: Vec<TextProblem>,
}

pub fn scan_layout(source: SourceText<'_>) -> Result<ScannedLayout, TextProblems> {
    if let Some(at) = source.text.find(WORD) {
        return Err(source.problem_at(at, format!("`{WORD}` is reserved for the compiler")).into());
    }
    let out = ScannedLayout { mjml: String::new(), tags: Vec::new(), anchors: Vec::new() };
    let mut scan = LayoutScanner {
        source,
        at: 0,
        out,
        elements: Vec::new(),
        statements: Vec::new(),
        problems: Vec::new(),
    };
    while scan.at < source.text.len() {
        scan.scan_step();
    }
    for (name, at, _) in std::mem::take(&mut scan.elements) {
        scan.problem(at, format!("`<{name}>` is not closed"));
    }
    let out = scan.out;
    TextProblems(scan.problems).into_result().map(|()| out)
}

impl<'a> LayoutScanner<'a> {
    fn rest(&self) -> &'a str {
        self.source.text.get(self.at..).unwrap_or_default()
    }

    fn problem(&mut self, at: usize, what: String) {
        self.problems.push(self.source.problem_at(at, what));
    }

    fn place(&self) -> TagPlace {
        self.elements.last().map_or(TagPlace::Closed, |(_, _, place)| *place)
    }

    /// The element we are in, by where it begins.
    fn element(&self) -> usize {
        self.elements.last().map_or(0, |(_, at, _)| *at)
    }

    /// Copies so many bytes.
    fn copy(&mut self, len: usize) {
        self.out.anchors.push((self.out.mjml.len(), self.at));
        self.out.mjml.push_str(self.rest().get(..len).unwrap_or_default());
        self.at += len;
    }

    fn scan_step(&mut self) {
        let rest = self.rest();
        if let Some(tag) = TemplateTag::parse_at(rest) {
            self.scan_content_tag(tag);
        } else if rest.starts_with("<!--[") || rest.starts_with("<![") {
            // A conditional comment is for Outlook, and what it holds is part of the mail.
            let end = rest.find('>').map_or(rest.len(), |end| end + 1);
            self.copy(end);
        } else if rest.starts_with("<!--") {
            self.at += rest.find("-->").map_or(rest.len(), |end| end + 3);
        } else if rest.starts_with("</") {
            self.scan_end_tag(rest);
        } else if rest.starts_with('<') && rest[1..].starts_with(|c: char| c.is_ascii_alphabetic()) {
            self.scan_start_tag(rest);
        } else {
            if rest.starts_with('<') {
                self.problem(self.at, "write a `<` that does not begin an element as `&lt;`".to_string());
            }
            // Up to the next `<` or `{`, after at least one character.
            let first = rest.chars().next().map_or(1, char::len_utf8);
            let len = rest
                .get(first..)
                .and_then(|rest| rest.find(['<', '{']))
                .map_or(rest.len(), |len| len + first);
            self.copy(len);
        }
    }

    fn scan_content_tag(&mut self, tag: TemplateTag<'a>) {
        let place = self.place();
        match (tag.sort, place) {
            (TagSort::Comment, _) => {}
            (_, TagPlace::Closed) => {
                let within = self.elements.last().map_or("", |(name, _, _)| *name);
                self.problem(self.at, format!("a tag is not allowed in `<{within}>`"));
            }
            (TagSort::Value, TagPlace::Between) => {
                let problem = self.source.problem_at(self.at, "a value is not allowed between elements");
                self.problems.push(problem.with_help("put it into an `<mj-text>`".to_string()));
            }
            (TagSort::Value, TagPlace::Text) => self.replace_tag(tag.text.to_string()),
            (_, place) => {
                self.track_nesting(tag, self.element());
                let (before, after) =
                    if place == TagPlace::Between { ("<mj-raw>", "</mj-raw>") } else { ("", "") };
                self.out.mjml.push_str(before);
                self.replace_tag(tag.text.to_string());
                self.out.mjml.push_str(after);
            }
        }
        self.at += tag.text.len();
    }

    /// Leaves a word for a tag.
    fn replace_tag(&mut self, text: String) {
        self.out.anchors.push((self.out.mjml.len(), self.at));
        self.out.mjml.push_str(&placeholder_word(self.out.tags.len()));
        self.out.tags.push(TakenTag { text, offset: self.at });
    }

    /// Keeps count of statements: each ends in the element it began in, else one of them would be cut in
    /// two whenever the statement skips or repeats.
    fn track_nesting(&mut self, tag: TemplateTag<'a>, within: usize) {
        match tag.sort {
            TagSort::Opens => self.statements.push((tag.first_word(), self.at, within)),
            TagSort::Divides | TagSort::Closes => {
                let opened = match tag.sort {
                    TagSort::Closes => self.statements.pop(),
                    _ => self.statements.last().copied(),
                };
                if let Some((word, at, opened_in)) = opened
                    && opened_in != within
                {
                    let (line, _) = line_and_column(self.source.text, at);
                    let what = format!(
                        "`{{% {} %}}` is not in the same element as its `{{% {word} %}}` in line {line}",
                        tag.first_word()
                    );
                    self.problem(self.at, what);
                }
            }
            TagSort::Value | TagSort::Sets | TagSort::Comment => {}
        }
    }

    fn scan_end_tag(&mut self, rest: &'a str) {
        let end = rest.find('>').map_or(rest.len(), |end| end + 1);
        let name = rest.get(2..end.saturating_sub(1)).unwrap_or_default().trim();
        let Some(open) = self.elements.iter().rposition(|(open, _, _)| *open == name) else {
            self.problem(self.at, format!("`</{name}>` closes nothing"));
            self.copy(end);
            return;
        };
        // What is still open within it should have been closed before.
        for (within, at, _) in self.elements.split_off(open).into_iter().skip(1) {
            self.problem(at, format!("`<{within}>` is not closed"));
        }
        self.copy(end);
    }

    fn scan_start_tag(&mut self, rest: &'a str) {
        let start = self.at;
        let end_of_name = rest[1..]
            .find(|c: char| c.is_whitespace() || c == '>' || c == '/')
            .map_or(rest.len(), |at| at + 1);
        let name = rest.get(1..end_of_name).unwrap_or_default();
        let in_attributes = self.elements.iter().any(|(name, _, _)| *name == "mj-attributes");
        if let Some((what, help)) = find_refusal(name, in_attributes) {
            let problem = self.source.problem_at(start, what).with_help(help);
            self.problems.push(problem);
        }
        self.copy(end_of_name);
        loop {
            let rest = self.rest();
            let Some(next) = rest.chars().next() else {
                self.problem(start, format!("`<{name}` has no `>`"));
                return;
            };
            if rest.starts_with("/>") {
                self.copy(2);
                return;
            }
            if next == '>' {
                self.copy(1);
                if !is_void(name) && self.elements.len() == DEPTH_MAX {
                    self.problem(start, format!("elements are nested deeper than {DEPTH_MAX}"));
                    // Whatever comes behind it is not parsed by anybody.
                    self.elements.clear();
                    self.at = self.source.text.len();
                } else if !is_void(name) {
                    self.elements.push((name, start, inside_place(name, self.place())));
                }
                return;
            }
            if let Some(tag) = TemplateTag::parse_at(rest) {
                self.problem(self.at, "a tag is allowed in the value of an attribute only".to_string());
                self.at += tag.text.len();
            } else if next.is_whitespace() {
                self.copy(next.len_utf8());
            } else {
                self.scan_attribute(rest);
            }
        }
    }

    fn scan_attribute(&mut self, rest: &'a str) {
        let len = rest
            .find(|c: char| c.is_whitespace() || matches!(c, '=' | '>' | '/'))
            .unwrap_or(rest.len())
            .max(1);
        let name = rest.get(..len).unwrap_or_default();
        self.copy(name.len().max(1));
        let rest = self.rest();
        let after = rest.trim_start();
        let Some(value) = after.strip_prefix('=').map(str::trim_start) else { return };
        let Some(quote) = value.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
            self.problem(self.at, format!("the value of `{name}` needs quotes"));
            self.copy(rest.len() - value.len());
            return;
        };
        self.copy(rest.len() - value.len() + 1);
        self.scan_value(name, quote);
    }

    /// The value of an attribute, up to its quote.
    fn scan_value(&mut self, name: &str, quote: char) {
        let start = self.at;
        let sort = attribute_rule(name);
        let mut written = String::new();
        loop {
            let rest = self.rest();
            let Some(next) = rest.chars().next() else { return };
            if next == quote {
                self.copy(1);
                break;
            }
            let Some(tag) = TemplateTag::parse_at(rest) else {
                written.push(next);
                self.copy(next.len_utf8());
                continue;
            };
            match (sort, tag.sort) {
                (_, TagSort::Comment) => {}
                (AttributeRule::Closed, _) => {
                    self.problem(self.at, format!("a tag is not allowed in `{name}`"));
                }
                (AttributeRule::Address, TagSort::Value) => {
                    self.replace_tag(address_tag(tag, self.at == start));
                }
                (AttributeRule::Address, _) => {
                    let what = format!("a statement is not allowed in `{name}`");
                    let help = "choose with `{{ a if condition else b }}`".to_string();
                    self.problems.push(self.source.problem_at(self.at, what).with_help(help));
                }
                (AttributeRule::Text, TagSort::Value) => self.replace_tag(tag.text.to_string()),
                (AttributeRule::Text, _) => {
                    self.track_nesting(tag, start);
                    self.replace_tag(tag.text.to_string());
                }
            }
            self.at += tag.text.len();
        }
        if matches!(sort, AttributeRule::Address) && !may_lead(&written, name) {
            let problem = self
                .source
                .problem_at(start, format!("an address in `{name}` has a scheme that is not allowed"));
            self.problems.push(
                problem.with_help(format!("use {}", list_choices(allowed_schemes(name).iter().copied()))),
            );
        }
        // What began in a value must have ended there.
        while let Some((word, at, within)) = self.statements.last().copied()
            && within == start
        {
            self.statements.pop();
            self.problem(at, format!("`{{% {word} %}}` does not end in this attribute"));
        }
    }
}

fn allowed_schemes(name: &str) -> &'static [&'static str] {
    if name == "href" { &SCHEMES } else { &SCHEMES_SHOWN }
}

/// Whether what is written of an address, without its values, begins as it may: with a scheme that leads somewhere, or with
/// none. White space counts for nothing in it, as in a browser; and a scheme has no entities.
fn may_lead(written: &str, name: &str) -> bool {
    let written: String = written.chars().filter(|c| *c > ' ').flat_map(char::to_lowercase).collect();
    let begins = written.split(['/', '?']).next().unwrap_or_default();
    if begins.contains('&') {
        return false;
    }
    let begins = begins.split('#').next().unwrap_or_default();
    begins.split_once(':').is_none_or(|(scheme, _)| allowed_schemes(name).contains(&scheme))
}

/// A value in an address: at its start it is the address, and only one of the web; later on it is a part
/// of it and must not become more than that.
fn address_tag(tag: TemplateTag<'_>, at_start: bool) -> String {
    let inner = tag.inner();
    if at_start {
        format!("{{{{ ({inner}) | {} }}}}", crate::filters::ADDRESS)
    } else if inner.ends_with("urlencode") {
        tag.text.to_string()
    } else {
        format!("{{{{ ({inner}) | urlencode }}}}")
    }
}
