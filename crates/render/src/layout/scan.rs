//! Takes the tags out of a layout and checks that each stands where it can.

use catalogue::problem::{Problem, Problems, Source, one_of, place};

use crate::layout::{
    elements::{Attribute, Place, attribute, inside, is_void, refused},
    tag::{Sort, Tag},
};

/// Elements within one another: whatever parses and shows them goes as deep as they do.
const DEPTH_MAX: usize = 64;
/// How an address of a layout may begin. All others run something, or open something of the reader's machine.
const SCHEMES: [&str; 6] = ["http", "https", "mailto", "tel", "sms", "cid"];
/// The same of what is shown and not followed.
const SCHEMES_SHOWN: [&str; 4] = ["http", "https", "cid", "data"];

/// Begins the word that stands for a tag; a layout that has it itself is refused.
pub const WORD: &str = "tidingstag";

/// A layout without its tags.
pub struct Scanned {
    /// MJML with a word for each tag.
    pub mjml: String,
    /// The tags by the number in their word.
    pub tags: Vec<Taken>,
    /// Places in `mjml` and in the layout that belong together, in order.
    pub anchors: Vec<(usize, usize)>,
}

/// A tag that was taken out.
pub struct Taken {
    /// As it is put back.
    pub text: String,
    /// Where it was in the layout.
    pub offset: usize,
}

/// The word for a tag. It ends in a letter, so that no word begins another.
pub fn word(number: usize) -> String {
    format!("{WORD}{number}x")
}

struct Scan<'a> {
    source: Source<'a>,
    at: usize,
    out: Scanned,
    /// Open elements: name, where, and what can stand in them.
    elements: Vec<(&'a str, usize, Place)>,
    /// Open statements: first word, where, and the element (or attribute) they were opened in.
    statements: Vec<(&'a str, usize, usize)>,
    problems: Vec<Problem>,
}

pub fn scan(source: Source<'_>) -> Result<Scanned, Problems> {
    if let Some(at) = source.text.find(WORD) {
        return Err(source.problem_at(at, format!("`{WORD}` is a word of the compiler's own")).into());
    }
    let out = Scanned { mjml: String::new(), tags: Vec::new(), anchors: Vec::new() };
    let mut scan =
        Scan { source, at: 0, out, elements: Vec::new(), statements: Vec::new(), problems: Vec::new() };
    while scan.at < source.text.len() {
        scan.step();
    }
    for (name, at, _) in std::mem::take(&mut scan.elements) {
        scan.problem(at, format!("`<{name}>` is not closed"));
    }
    let out = scan.out;
    Problems(scan.problems).settle().map(|()| out)
}

impl<'a> Scan<'a> {
    fn rest(&self) -> &'a str {
        self.source.text.get(self.at..).unwrap_or_default()
    }

    fn problem(&mut self, at: usize, what: String) {
        self.problems.push(self.source.problem_at(at, what));
    }

    fn place(&self) -> Place {
        self.elements.last().map_or(Place::Closed, |(_, _, place)| *place)
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

    fn step(&mut self) {
        let rest = self.rest();
        if let Some(tag) = Tag::at(rest) {
            self.tag_in_content(tag);
        } else if rest.starts_with("<!--[") || rest.starts_with("<![") {
            // A conditional comment is for Outlook, and what it holds is part of the mail.
            let end = rest.find('>').map_or(rest.len(), |end| end + 1);
            self.copy(end);
        } else if rest.starts_with("<!--") {
            self.at += rest.find("-->").map_or(rest.len(), |end| end + 3);
        } else if rest.starts_with("</") {
            self.end_tag(rest);
        } else if rest.starts_with('<') && rest[1..].starts_with(|c: char| c.is_ascii_alphabetic()) {
            self.start_tag(rest);
        } else {
            if rest.starts_with('<') {
                self.problem(self.at, "a `<` that begins no element is written `&lt;`".to_string());
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

    fn tag_in_content(&mut self, tag: Tag<'a>) {
        let place = self.place();
        match (tag.sort, place) {
            (Sort::Comment, _) => {}
            (_, Place::Closed) => {
                let within = self.elements.last().map_or("", |(name, _, _)| *name);
                self.problem(self.at, format!("a tag cannot stand in `<{within}>`"));
            }
            (Sort::Value, Place::Between) => {
                let problem = self.source.problem_at(self.at, "a value cannot stand between elements");
                self.problems.push(problem.help("put it into an `<mj-text>`".to_string()));
            }
            (Sort::Value, Place::Text) => self.take(tag.text.to_string()),
            (_, place) => {
                self.nest(tag, self.element());
                let (before, after) =
                    if place == Place::Between { ("<mj-raw>", "</mj-raw>") } else { ("", "") };
                self.out.mjml.push_str(before);
                self.take(tag.text.to_string());
                self.out.mjml.push_str(after);
            }
        }
        self.at += tag.text.len();
    }

    /// Leaves a word for a tag.
    fn take(&mut self, text: String) {
        self.out.anchors.push((self.out.mjml.len(), self.at));
        self.out.mjml.push_str(&word(self.out.tags.len()));
        self.out.tags.push(Taken { text, offset: self.at });
    }

    /// Keeps count of statements: each ends in the element it began in, else one of them would be cut in
    /// two whenever the statement skips or repeats.
    fn nest(&mut self, tag: Tag<'a>, within: usize) {
        match tag.sort {
            Sort::Opens => self.statements.push((tag.word(), self.at, within)),
            Sort::Divides | Sort::Closes => {
                let opened = match tag.sort {
                    Sort::Closes => self.statements.pop(),
                    _ => self.statements.last().copied(),
                };
                if let Some((word, at, opened_in)) = opened
                    && opened_in != within
                {
                    let (line, _) = place(self.source.text, at);
                    let what = format!(
                        "`{{% {} %}}` stands in another element than its `{{% {word} %}}` in line {line}",
                        tag.word()
                    );
                    self.problem(self.at, what);
                }
            }
            Sort::Value | Sort::Sets | Sort::Comment => {}
        }
    }

    fn end_tag(&mut self, rest: &'a str) {
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

    fn start_tag(&mut self, rest: &'a str) {
        let start = self.at;
        let end_of_name = rest[1..]
            .find(|c: char| c.is_whitespace() || c == '>' || c == '/')
            .map_or(rest.len(), |at| at + 1);
        let name = rest.get(1..end_of_name).unwrap_or_default();
        let in_attributes = self.elements.iter().any(|(name, _, _)| *name == "mj-attributes");
        if let Some((what, help)) = refused(name, in_attributes) {
            let problem = self.source.problem_at(start, what).help(help);
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
                    self.problem(start, format!("more than {DEPTH_MAX} elements within one another"));
                    // Whatever comes behind it is not parsed by anybody.
                    self.elements.clear();
                    self.at = self.source.text.len();
                } else if !is_void(name) {
                    self.elements.push((name, start, inside(name, self.place())));
                }
                return;
            }
            if let Some(tag) = Tag::at(rest) {
                self.problem(
                    self.at,
                    "a tag cannot stand between attributes, only in their values".to_string(),
                );
                self.at += tag.text.len();
            } else if next.is_whitespace() {
                self.copy(next.len_utf8());
            } else {
                self.attribute(rest);
            }
        }
    }

    fn attribute(&mut self, rest: &'a str) {
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
        self.value(name, quote);
    }

    /// The value of an attribute, up to its quote.
    fn value(&mut self, name: &str, quote: char) {
        let start = self.at;
        let sort = attribute(name);
        let mut written = String::new();
        loop {
            let rest = self.rest();
            let Some(next) = rest.chars().next() else { return };
            if next == quote {
                self.copy(1);
                break;
            }
            let Some(tag) = Tag::at(rest) else {
                written.push(next);
                self.copy(next.len_utf8());
                continue;
            };
            match (sort, tag.sort) {
                (_, Sort::Comment) => {}
                (Attribute::Closed, _) => self.problem(self.at, format!("a tag cannot stand in `{name}`")),
                (Attribute::Address, Sort::Value) => self.take(address(tag, self.at == start)),
                (Attribute::Address, _) => {
                    let what = format!("a statement cannot stand in `{name}`");
                    let help = "choose with `{{ a if condition else b }}`".to_string();
                    self.problems.push(self.source.problem_at(self.at, what).help(help));
                }
                (Attribute::Text, Sort::Value) => self.take(tag.text.to_string()),
                (Attribute::Text, _) => {
                    self.nest(tag, start);
                    self.take(tag.text.to_string());
                }
            }
            self.at += tag.text.len();
        }
        if matches!(sort, Attribute::Address) && !may_lead(&written, name) {
            let problem =
                self.source.problem_at(start, format!("an address in `{name}` cannot begin like this"));
            self.problems
                .push(problem.help(format!("it begins with {}", one_of(schemes(name).iter().copied()))));
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

fn schemes(name: &str) -> &'static [&'static str] {
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
    begins.split_once(':').is_none_or(|(scheme, _)| schemes(name).contains(&scheme))
}

/// A value in an address: at its start it is the address, and only one of the web; later on it is a part
/// of it and must not become more than that.
fn address(tag: Tag<'_>, at_start: bool) -> String {
    let inner = tag.inner();
    if at_start {
        format!("{{{{ ({inner}) | {} }}}}", crate::filters::ADDRESS)
    } else if inner.ends_with("urlencode") {
        tag.text.to_string()
    } else {
        format!("{{{{ ({inner}) | urlencode }}}}")
    }
}
