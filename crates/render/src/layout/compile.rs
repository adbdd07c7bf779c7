//! From the scanned layout to an HTML template.

use std::collections::HashMap;

use expression::{DIRECTION, LANGUAGE};
use mrml::{
    mj_head::MjHeadChild,
    mj_style::StyleInlineMode,
    mjml::Mjml,
    prelude::{parser, render::RenderOptions},
};
use source_text::{SourceText, TextProblem, TextProblems};

use crate::layout::{
    inline_styles::StyleSheet,
    mirror::mirror_html,
    scan::{ScannedLayout, TakenTag, WORD, placeholder_word, scan_layout},
};

/// An HTML template, and where in its layout each tag was.
pub struct HtmlLayout {
    pub html: String,
    /// Byte of the HTML and byte of the layout, in order.
    tags: Vec<(usize, usize)>,
}

impl HtmlLayout {
    /// The byte of the layout that a byte of the HTML comes from, as far as tags tell.
    pub fn origin(&self, html_offset: usize) -> usize {
        let at = self.tags.partition_point(|(html, _)| *html <= html_offset);
        at.checked_sub(1).and_then(|at| self.tags.get(at)).map_or(0, |(_, layout)| *layout)
    }
}

/// What the HTML of a layout says of its language.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LayoutLanguage {
    /// What its author wrote.
    Written,
    /// That of its reader, from left to right.
    LeftToRight,
    RightToLeft,
}

/// Compiles a layout.
pub fn compile_layout(source: SourceText<'_>, language: LayoutLanguage) -> Result<HtmlLayout, TextProblems> {
    let mut scanned = scan_layout(source)?;
    let mut parsed = mrml::parse(&scanned.mjml)
        .map_err(|error| TextProblems::from(parse_problem(source, &scanned, &error)))?;
    if language != LayoutLanguage::Written {
        declare_language(&mut parsed.element, &mut scanned);
    }
    let sheet = take_inline_styles(&mut parsed.element, source)?;
    // No fonts from elsewhere, and no notes to ourselves.
    let options = RenderOptions { disable_comments: true, social_icon_origin: None, fonts: HashMap::new() };
    let html = parsed
        .element
        .render(&options)
        .map_err(|error| TextProblems::from(source.problem(1, 1, format!("not MJML: {error}"))))?;
    let html = sheet.apply_to(&html);
    let html = if language == LayoutLanguage::RightToLeft { mirror_html(&html) } else { html };
    restore_tags(source, &scanned, &html)
}

/// Lets a layout say which language it is in, whatever its author wrote; a tag of theirs stays.
fn declare_language(mjml: &mut Mjml, scanned: &mut ScannedLayout) {
    let attributes = &mut mjml.attributes;
    for (attribute, name) in [(&mut attributes.lang, LANGUAGE), (&mut attributes.dir, DIRECTION)] {
        if attribute.as_ref().is_some_and(|written| written.contains(WORD)) {
            continue;
        }
        *attribute = Some(placeholder_word(scanned.tags.len()));
        scanned.tags.push(TakenTag { text: format!("{{{{ {name} }}}}"), offset: 0 });
    }
}

/// Takes the styles that are to be inlined out of a layout.
fn take_inline_styles(mjml: &mut Mjml, source: SourceText<'_>) -> Result<StyleSheet, TextProblem> {
    let mut sheet = StyleSheet::default();
    let Some(head) = &mut mjml.children.head else { return Ok(sheet) };
    let mut read = Ok(());
    head.children.retain(|child| match child {
        MjHeadChild::MjStyle(style) if style.inline_mode() == StyleInlineMode::Inline => {
            if read.is_ok() {
                read = sheet.read(style.children(), source);
            }
            false
        }
        _ => true,
    });
    read.map(|()| sheet)
}

fn parse_problem(source: SourceText<'_>, scanned: &ScannedLayout, error: &parser::Error) -> TextProblem {
    use parser::Error;
    let (what, position) = match error {
        Error::UnexpectedElement { position, .. } => {
            ("an element that is not allowed here", Some(position.start))
        }
        Error::UnexpectedToken { position, .. } => ("this is not allowed here", Some(position.start)),
        Error::MissingAttribute { name, position, .. } => {
            let problem =
                source.problem_at(layout_offset(scanned, position.start), format!("this needs `{name}`"));
            return problem;
        }
        Error::InvalidAttribute { position, .. } => {
            ("an attribute that cannot be read", Some(position.start))
        }
        Error::InvalidFormat { position, .. } => ("a value that cannot be read", Some(position.start)),
        Error::EndOfStream { .. } => ("an element is not closed", Some(scanned.mjml.len())),
        Error::NoRootNode => ("a layout begins with `<mjml>`", None),
        Error::SizeLimit { .. } => ("too long", None),
        Error::ParserError { source: error, .. } => {
            let (line, column) = (error.pos().row as usize, error.pos().col as usize);
            let lines = scanned.mjml.split_inclusive('\n').take(line.saturating_sub(1));
            let start: usize = lines.map(str::len).sum();
            ("not MJML", Some(start + column.saturating_sub(1)))
        }
        Error::IncludeLoaderError { .. } => ("not MJML", None),
    };
    match position {
        Some(position) => source.problem_at(layout_offset(scanned, position), what),
        None => source.problem(1, 1, format!("{what}: {error}")),
    }
}

fn layout_offset(scanned: &ScannedLayout, offset: usize) -> usize {
    let at = scanned.anchors.partition_point(|(out, _)| *out <= offset);
    match at.checked_sub(1).and_then(|at| scanned.anchors.get(at)) {
        Some((out, layout)) => layout + (offset - out),
        None => 0,
    }
}

/// Puts the tags back where their words are.
fn restore_tags(
    source: SourceText<'_>,
    scanned: &ScannedLayout,
    html: &str,
) -> Result<HtmlLayout, TextProblems> {
    // What looks like a tag now was none before.
    if let Some(odd) = ["{{", "{%", "{#"].into_iter().find(|odd| html.contains(odd)) {
        return Err(source
            .problem(1, 1, format!("`{odd}` is not a tag, perhaps in a style: add a space"))
            .into());
    }
    let mut layout = HtmlLayout { html: String::with_capacity(html.len() * 2), tags: Vec::new() };
    let mut seen = vec![false; scanned.tags.len()];
    let mut rest = html;
    while let Some(at) = rest.find(WORD) {
        layout.html.push_str(&rest[..at]);
        rest = &rest[at..];
        let digits = &rest[WORD.len()..];
        let len = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        let number: usize = digits[..len].parse().unwrap_or(usize::MAX);
        let Some(taken) = scanned.tags.get(number) else {
            return Err(source.problem(1, 1, "a tag was lost in the layout").into());
        };
        seen[number] = true;
        layout.tags.push((layout.html.len(), taken.offset));
        layout.html.push_str(&taken.text);
        rest = &rest[placeholder_word(number).len()..];
    }
    layout.html.push_str(rest);
    let lost = scanned.tags.iter().zip(&seen).filter(|(_, seen)| !**seen);
    let lost = lost.map(|(taken, _)| source.problem_at(taken.offset, "MJML shows nothing here"));
    TextProblems(lost.collect()).into_result().map(|()| layout)
}
