//! Template tags: where one ends and what sort it is.

/// What a tag does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TagSort {
    /// `{{ }}`
    Value,
    /// `{% for %}`, `{% if %}`, `{% with %}`
    Opens,
    /// `{% else %}`, `{% elif %}`
    Divides,
    /// `{% end… %}`
    Closes,
    /// `{% set %}`
    Sets,
    /// `{# #}`
    Comment,
}

/// A tag as it is written.
#[derive(Clone, Copy, Debug)]
pub struct TemplateTag<'a> {
    pub sort: TagSort,
    pub text: &'a str,
}

impl<'a> TemplateTag<'a> {
    /// The tag that begins here, if one does. One without an end is no tag; the parser has said so before.
    pub fn parse_at(text: &'a str) -> Option<Self> {
        let (sort, end) = match text.as_bytes() {
            [b'{', b'#', ..] => (TagSort::Comment, text.find("#}")? + 2),
            [b'{', b'{', ..] => (TagSort::Value, find_tag_end(text, "}}")?),
            [b'{', b'%', ..] => (TagSort::Sets, find_tag_end(text, "%}")?),
            _ => return None,
        };
        let tag = Self { sort, text: text.get(..end)? };
        let sort = match tag.first_word() {
            _ if sort != TagSort::Sets => sort,
            "for" | "if" | "with" => TagSort::Opens,
            "else" | "elif" => TagSort::Divides,
            word if word.starts_with("end") => TagSort::Closes,
            _ => TagSort::Sets,
        };
        Some(Self { sort, ..tag })
    }

    /// What stands between the marks.
    pub fn inner(&self) -> &'a str {
        let inner = self.text.get(2..self.text.len().saturating_sub(2)).unwrap_or_default();
        let inner = inner.strip_prefix(['-', '+']).unwrap_or(inner);
        inner.strip_suffix(['-', '+']).unwrap_or(inner).trim()
    }

    /// The first word of a statement.
    pub fn first_word(&self) -> &'a str {
        self.inner().split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default()
    }
}

/// The end of a tag; its marks may also stand in a text within it.
fn find_tag_end(text: &str, mark: &str) -> Option<usize> {
    let mut quote = None;
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(2) {
        match quote {
            Some(_) if escaped => escaped = false,
            Some(_) if c == '\\' => escaped = true,
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c == '"' || c == '\'' => quote = Some(c),
            None if text.get(at..)?.starts_with(mark) => return Some(at + mark.len()),
            None => {}
        }
    }
    None
}
