//! Pushes: the words of a plan on the push channel, all of them in the catalogue itself. Hooks have the same words.

use std::collections::BTreeMap;

use expression::{PlanSubjectTypes, headline_scope};
use model::SubjectType;

use crate::{
    inline_text::InlineText,
    tree_reader::{MapFields, TreeReader},
};

/// How a plan's pushes read; each is a template.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PushTemplates {
    /// What it is called.
    pub headline: String,
    /// What it says.
    pub body: String,
    /// More words, for devices that have room for them; empty: the body.
    pub longer: String,
    /// The address of a picture; empty: none.
    pub image: String,
    /// The address of what it opens; empty: the app.
    pub opens: String,
    /// The plan's line in the catalogue, for messages.
    pub line: usize,
}

/// A push as it is written.
pub(crate) struct PushDraft {
    headline: InlineText,
    body: InlineText,
    more: [Option<InlineText>; 3],
    line: usize,
}

pub(crate) fn read_push(reader: &mut TreeReader<'_>, fields: &MapFields<'_>) -> Option<PushDraft> {
    let headline =
        fields.need(reader, "headline").and_then(|node| InlineText::read(reader, node, "`headline`"));
    let body = fields.need(reader, "body").and_then(|node| InlineText::read(reader, node, "`body`"));
    let more = ["longer", "image", "opens"].map(|name| {
        fields
            .get(name)
            .map(|node| InlineText::read(reader, node, &format!("`{name}`")).ok_or(()))
            .transpose()
    });
    let [longer, image, opens] = more;
    let more = [longer.ok()?, image.ok()?, opens.ok()?];
    Some(PushDraft { headline: headline?, body: body?, more, line: fields.at.line })
}

/// Checks all texts of a push.
pub(crate) fn resolve_push(
    reader: &mut TreeReader<'_>,
    written: &PushDraft,
    about: PlanSubjectTypes,
    subjects: &BTreeMap<String, SubjectType>,
) -> PushTemplates {
    let scope = headline_scope(subjects, about);
    let more = written.more.iter().flatten();
    for inline in [&written.headline, &written.body].into_iter().chain(more) {
        for finding in reader.check_text(&inline.text, &scope) {
            reader.push(inline.problem(reader.source, &finding));
        }
    }
    let [longer, image, opens] = written
        .more
        .each_ref()
        .map(|inline| inline.as_ref().map(|inline| inline.text.clone()).unwrap_or_default());
    let (headline, body) = (written.headline.text.clone(), written.body.text.clone());
    PushTemplates { headline, body, longer, image, opens, line: written.line }
}
