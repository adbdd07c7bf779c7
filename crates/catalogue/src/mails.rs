//! Mails: the words and layouts of a plan on the e-mail channel, read from files beside the catalogue.

use std::{collections::BTreeMap, sync::Arc};

use expression::{PlanSubjectTypes, headline_scope, mail_scope, title_scope};
use model::{SubjectType, plan::GENERAL};
use source_text::{
    SourceText, did_you_mean, list_choices,
    units::bad_mailbox,
    yaml::{TreeNode, TreePlace},
};

use crate::{
    format::words::COUNTS,
    groups,
    inline_text::InlineText,
    limits::{FILE_BYTES_MAX, NAME_BYTES_MAX, SLOT_PLACES_MAX},
    tree_reader::{MapFields, TreeReader, is_name},
};

/// How a plan's mails look.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MailTemplates {
    /// The template of its subject line.
    pub headline: String,
    /// The template of the line that a mailbox shows beside the headline; empty: what the first item says.
    pub preheader: String,
    /// The sender's mailbox.
    pub from: String,
    /// The layout: MJML with template tags, and the file it is from.
    pub template: String,
    pub template_file: String,
    /// The layout of the text part, and the file it is from.
    pub text: String,
    pub text_file: String,
    pub counts: MailCounting,
    /// What its readers call it; empty unless it says.
    pub title: String,
    /// The field with the picture of what leads it.
    pub lead: Option<String>,
    /// The list that stands at its slots.
    pub slots: Option<String>,
    /// The plan's line in the catalogue, for messages.
    pub line: usize,
}

/// What is counted of a plan's mails; nothing unless the catalogue says so.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MailCounting {
    /// How often their links are followed.
    pub followed: bool,
    /// How often they are opened, as far as a picture can say that.
    pub opened: bool,
}

/// A mail as it is written.
pub(crate) struct MailDraft {
    headline: InlineText,
    preheader: Option<InlineText>,
    from: String,
    template: (String, TreePlace),
    text: (String, TreePlace),
    counts: MailCounting,
    title: Option<InlineText>,
    lead: Option<(String, TreePlace)>,
    slots: Option<(String, TreePlace)>,
    line: usize,
}

/// Reads a file beside the catalogue by its name.
pub(crate) type ReadFile<'a> = &'a dyn Fn(&str) -> Result<String, String>;

pub(crate) fn read_mail(reader: &mut TreeReader<'_>, fields: &MapFields<'_>) -> Option<MailDraft> {
    let headline =
        fields.need(reader, "headline").and_then(|node| InlineText::read(reader, node, "`headline`"));
    let preheader = fields.get("preheader").map(|node| InlineText::read(reader, node, "`preheader`"));
    let from = fields.need(reader, "from").and_then(|node| from(reader, node));
    let template =
        fields.need(reader, "template").and_then(|node| read_file_name(reader, node, "`template`"));
    let text = fields.need(reader, "text").and_then(|node| read_file_name(reader, node, "`text`"));
    let counts = fields.get("count").map_or(Some(MailCounting::default()), |node| read_counts(reader, node));
    let preheader = match preheader {
        None => None,
        Some(preheader) => Some(preheader?),
    };
    let title = match fields.get("title") {
        Some(node) => Some(read_title(reader, node)?),
        None => None,
    };
    let lead = match fields.get("lead") {
        Some(node) => Some((reader.text(node, "`lead`")?.to_string(), node.at)),
        None => None,
    };
    let slots = fields.get("slots");
    let slots = slots.and_then(|node| Some((reader.text(node, "`slots`")?.to_string(), node.at)));
    Some(MailDraft {
        headline: headline?,
        preheader,
        from: from?,
        template: template?,
        text: text?,
        counts: counts?,
        title,
        lead,
        slots,
        line: fields.at.line,
    })
}

/// The stream that a plan's mails belong to.
pub(crate) fn read_stream(reader: &mut TreeReader<'_>, fields: &MapFields<'_>) -> Option<Arc<str>> {
    let Some(node) = fields.get("stream") else { return Some(GENERAL.into()) };
    let text = reader.text(node, "`stream`")?;
    if text.len() > NAME_BYTES_MAX || !is_name(text) {
        let help = "a name has lower-case letters, digits and `_`, and begins with a letter".to_string();
        reader.problem_with(node.at, format!("`{text}` cannot be the name of a stream"), Some(help));
        return None;
    }
    Some(text.into())
}

/// What readers call the mails of a plan, or a category; it stands on links, buttons and pages.
pub(crate) fn read_title(reader: &mut TreeReader<'_>, node: &TreeNode) -> Option<InlineText> {
    let text = reader.text(node, "`title`")?;
    if text.trim().is_empty() || text.len() > NAME_BYTES_MAX || text.contains(char::is_control) {
        let what = format!("`title` must be a name of one line, of 1 to {NAME_BYTES_MAX} bytes");
        reader.problem(node.at, what);
        return None;
    }
    Some(InlineText { text: text.trim().to_string(), at: node.at })
}

fn read_counts(reader: &mut TreeReader<'_>, node: &TreeNode) -> Option<MailCounting> {
    let mut counts = MailCounting::default();
    for (word, at) in reader.texts(node, "`count`") {
        match word {
            "followed" => counts.followed = true,
            "opened" => counts.opened = true,
            _ => {
                let what = format!("`{word}` cannot be counted; `count` takes {}", list_choices(COUNTS));
                reader.problem_with(at, what, did_you_mean(word, COUNTS));
                return None;
            }
        }
    }
    Some(counts)
}

fn from(reader: &mut TreeReader<'_>, node: &TreeNode) -> Option<String> {
    let text = reader.text(node, "`from`")?;
    if let Some(why) = bad_mailbox(text) {
        let help = "write a sender as `Name <box@host>` or `box@host`".to_string();
        reader.problem_with(node.at, format!("this is not a sender: {why}"), Some(help));
        return None;
    }
    Some(text.to_string())
}

/// A template lies in the catalogue's folder or below it, whoever wrote the name.
pub(crate) fn read_file_name(
    reader: &mut TreeReader<'_>,
    node: &TreeNode,
    what: &str,
) -> Option<(String, TreePlace)> {
    let name = reader.text(node, what)?;
    let parts = name.split('/');
    let odd = |part: &str| {
        part.is_empty()
            || part.starts_with('.')
            || part.contains(|c: char| c.is_control() || matches!(c, '\\' | ':'))
    };
    if parts.clone().any(odd) {
        let help = "the path of a template begins at the catalogue's folder: `mail/morning.mjml`".to_string();
        reader.problem_with(node.at, format!("`{name}` is not a file of the catalogue"), Some(help));
        return None;
    }
    Some((name.to_string(), node.at))
}

/// Reads the templates and checks all texts of a mail.
pub(crate) fn resolve_mail(
    reader: &mut TreeReader<'_>,
    written: &MailDraft,
    about: PlanSubjectTypes,
    (subjects, slots): (&BTreeMap<String, SubjectType>, &BTreeMap<String, u16>),
    folder: &str,
    read_file: ReadFile<'_>,
) -> Option<MailTemplates> {
    if let Some((field, at)) = &written.lead {
        groups::check_lead_field(reader, (field, *at), &about.types, subjects);
    }
    if let Some(title) = &written.title {
        title.check(reader, &title_scope(subjects));
    }
    let scope = headline_scope(subjects, about.clone());
    for inline in [Some(&written.headline), written.preheader.as_ref()].into_iter().flatten() {
        for finding in reader.check_text(&inline.text, &scope) {
            reader.push(inline.problem(reader.source, &finding));
        }
    }
    let mut scope = mail_scope(subjects, about, written.lead.is_some());
    if let Some((name, at)) = &written.slots {
        if !slots.contains_key(name) {
            let help = did_you_mean(name, slots.keys().map(String::as_str));
            reader.problem_with(*at, format!("there is no list of slots `{name}`"), help);
        }
        scope = scope.with_slots(slots.get(name).copied().unwrap_or(SLOT_PLACES_MAX));
    }
    let mut files = [&written.template, &written.text].map(|(name, at)| {
        let text = load_template(reader, name, *at, read_file)?;
        let full = format!("{folder}{name}");
        for finding in reader.check_text(&text, &scope) {
            let source = SourceText { file: &full, text: &text };
            reader.push(source.problem_at(finding.offset, finding.what).with_help(finding.help));
        }
        Some((text, full))
    });
    let (template, template_file) = files[0].take()?;
    let (text, text_file) = files[1].take()?;
    Some(MailTemplates {
        headline: written.headline.text.clone(),
        preheader: written.preheader.as_ref().map(|inline| inline.text.clone()).unwrap_or_default(),
        from: written.from.clone(),
        template,
        template_file,
        text,
        text_file,
        counts: written.counts,
        title: written.title.as_ref().map(|title| title.text.clone()).unwrap_or_default(),
        lead: written.lead.as_ref().map(|(field, _)| field.clone()),
        slots: written.slots.as_ref().map(|(name, _)| name.clone()),
        line: written.line,
    })
}

pub(crate) fn load_template(
    reader: &mut TreeReader<'_>,
    name: &str,
    at: TreePlace,
    read_file: ReadFile<'_>,
) -> Option<String> {
    match read_file(name) {
        Ok(text) if text.len() > FILE_BYTES_MAX => {
            reader.problem(at, format!("`{name}` has {} bytes, more than {FILE_BYTES_MAX}", text.len()));
            None
        }
        Ok(text) => Some(text),
        Err(error) => {
            reader.problem(at, format!("`{name}` cannot be read: {error}"));
            None
        }
    }
}
