//! Pushes: the words of a plan on the push channel, all of them in the catalogue itself. Hooks have the same words.

use std::collections::BTreeMap;

use crate::{
    groups::About,
    inline::Inline,
    language::{check_text, headline_scope},
    read::{Fields, Reader},
    subjects::SubjectType,
};

/// Keys of a plan that only pushes and hooks have.
pub(crate) const KEYS: [&str; 4] = ["body", "longer", "image", "opens"];

/// How a plan's pushes read; each is a template.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Push {
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
pub(crate) struct Written {
    headline: Inline,
    body: Inline,
    more: [Option<Inline>; 3],
    line: usize,
}

pub(crate) fn read(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Written> {
    let headline = fields.need(reader, "headline").and_then(|node| Inline::read(reader, node, "`headline`"));
    let body = fields.need(reader, "body").and_then(|node| Inline::read(reader, node, "`body`"));
    let more = ["longer", "image", "opens"].map(|name| {
        fields.get(name).map(|node| Inline::read(reader, node, &format!("`{name}`")).ok_or(())).transpose()
    });
    let [longer, image, opens] = more;
    let more = [longer.ok()?, image.ok()?, opens.ok()?];
    Some(Written { headline: headline?, body: body?, more, line: fields.at.line })
}

/// Checks all texts of a push.
pub(crate) fn resolve(
    reader: &mut Reader<'_>,
    written: &Written,
    about: About,
    subjects: &BTreeMap<String, SubjectType>,
) -> Push {
    let scope = headline_scope(subjects, about);
    let more = written.more.iter().flatten();
    for inline in [&written.headline, &written.body].into_iter().chain(more) {
        for finding in check_text(&inline.text, &scope) {
            reader.push(inline.problem(reader.source, &finding));
        }
    }
    let [longer, image, opens] = written
        .more
        .each_ref()
        .map(|inline| inline.as_ref().map(|inline| inline.text.clone()).unwrap_or_default());
    let (headline, body) = (written.headline.text.clone(), written.body.text.clone());
    Push { headline, body, longer, image, opens, line: written.line }
}
