//! Whether what a line expects is so.

use anyhow::bail;
use model::{Channel, Person, Tenant};

use crate::{
    compare::Comparison,
    parse::MAIN,
    run::Run,
    scenario::{Expected, ExpectedMail},
    verb::word,
    world::{Answer, Mail, Section},
};

/// Checks a line's expectation; the error shows expected against actual.
pub(crate) async fn check(run: &mut Run<'_>, tenant: &Tenant, expected: &Expected) -> anyhow::Result<()> {
    match expected {
        Expected::Mail(expected) => {
            let person = &expected.person;
            match run.mails.take(|mail| expected.is_of(tenant, mail)) {
                Some(found) => settle(&mail(expected, &found)),
                None => {
                    bail!("no {} came to {}{}", word(expected.channel), whom(tenant, person), others(run))
                }
            }
        }
        Expected::Nothing => {
            let mut comparison = Comparison::default();
            for (_, mail) in run.mails.iter() {
                comparison.same(word(mail.channel), "", &said(mail));
            }
            for (_, reason) in run.aside.iter() {
                comparison.same("quarantine", "", reason);
            }
            settle(&comparison)
        }
        Expected::Fates { person, subject, fates } => {
            let entries = run.world.entries(tenant, person).await?;
            let found = entries.into_iter().filter(|entry| entry.subject == subject.as_str());
            let found: Vec<String> = found.map(|entry| entry.fate()).collect();
            let mut comparison = Comparison::default();
            comparison.lists("entry", fates, &found);
            settle(&comparison)
        }
        Expected::Why { person, subject, has } => {
            let found = run.world.explain(tenant, person, subject).await?.join("\n");
            let mut comparison = Comparison::default();
            for part in has {
                comparison.row("why", &format!("… {part} …"), &found, found.contains(part.as_str()));
            }
            settle(&comparison)
        }
        Expected::Rejected { reason } => {
            let mut comparison = Comparison::default();
            let found = run.refusals.join("\n");
            comparison.row("refused", &format!("… {reason} …"), &found, found.contains(reason.as_str()));
            settle(&comparison)
        }
        Expected::Quarantine { reason } => match run.aside.take(|found| found.contains(reason.as_str())) {
            Some(_) => Ok(()),
            None => {
                let mut comparison = Comparison::default();
                let found: Vec<&str> = run.aside.iter().map(|(_, reason)| reason.as_str()).collect();
                comparison.row("put aside", &format!("… {reason} …"), &found.join("\n"), false);
                settle(&comparison)
            }
        },
        Expected::Open { person, windows } => {
            let found = run.world.windows(tenant, person).await?;
            let mut comparison = Comparison::default();
            comparison.same("open windows", &windows.to_string(), &found.to_string());
            settle(&comparison)
        }
    }
}

/// Checks the answer to a `post`.
pub(crate) fn answer(answer: &Answer, status: u16, has: &[String]) -> anyhow::Result<()> {
    let mut comparison = Comparison::default();
    comparison.same("status", &status.to_string(), &answer.status.to_string());
    for part in has {
        comparison.row("answer", &format!("… {part} …"), &answer.body, answer.body.contains(part.as_str()));
    }
    settle(&comparison)
}

/// A mail in one line: to whom, its headline, its sections.
pub(crate) fn said(mail: &Mail) -> String {
    let sections: Vec<String> = mail.sections.iter().map(Section::said).collect();
    let silent = if mail.silent { ", silent" } else { "" };
    let whom = whom(&mail.tenant, &mail.person);
    format!("{} {whom}{silent}: {} | {}", word(mail.channel), mail.headline, sections.join(" | "))
}

/// A person, with the tenant if it is not the usual one.
pub(crate) fn whom(tenant: &Tenant, person: &Person) -> String {
    if tenant.as_str() == MAIN { person.to_string() } else { format!("{person} of {tenant}") }
}

fn settle(comparison: &Comparison) -> anyhow::Result<()> {
    if comparison.is_good() { Ok(()) } else { bail!("{}", comparison.table()) }
}

fn others(run: &Run<'_>) -> String {
    let others: Vec<String> = run.mails.iter().map(|(_, mail)| format!("\n    {}", said(mail))).collect();
    if others.is_empty() { String::new() } else { format!(", but:{}", others.concat()) }
}

fn mail(expected: &ExpectedMail, found: &Mail) -> Comparison {
    let mut comparison = Comparison::default();
    if let Some(to) = &expected.to {
        comparison.same("to", to, &found.to);
    }
    let headline = expected.headline.as_ref().unwrap_or(&found.headline);
    comparison.same("headline", headline, &found.headline);
    let sections: Vec<String> = found.sections.iter().map(Section::said).collect();
    let wanted = if expected.sections.is_empty() { &sections } else { &expected.sections };
    comparison.lists("section", wanted, &sections);
    if found.channel != Channel::Email {
        let sound = |silent| if silent { "none" } else { "one" };
        comparison.same("sound", sound(expected.silent), sound(found.silent));
    }
    let readers = match found.channel {
        Channel::Email => vec![("text", plain(&found.text)), ("html", visible(&found.html))],
        // With what the devices, or whoever is behind a hook, are given.
        Channel::Push | Channel::Hook(_) => vec![("text", plain(&format!("{} {}", found.text, found.html)))],
    };
    for (part, body) in &readers {
        // The books say what the mail tells; what the reader gets must agree. A push has no room for titles.
        let titles = found.sections.iter().map(|section| section.title.as_str());
        if found.channel == Channel::Email {
            comparison.row(part, "every section by its title, in order", body, in_order(titles, body));
        }
        for wanted in &expected.has {
            let there = body.contains(&plain(wanted)) || raw(found, part).contains(wanted.as_str());
            comparison.row(part, &format!("has `{wanted}`"), body, there);
        }
        for unwanted in &expected.lacks {
            let there = body.contains(&plain(unwanted)) || raw(found, part).contains(unwanted.as_str());
            comparison.row(part, &format!("lacks `{unwanted}`"), body, !there);
        }
    }
    comparison.only_wrong_of(&["text", "html"]);
    comparison
}

fn raw<'a>(mail: &'a Mail, part: &str) -> &'a str {
    if part == "html" { &mail.html } else { &mail.text }
}

fn in_order<'a>(titles: impl Iterator<Item = &'a str>, body: &str) -> bool {
    // A layout may set its titles in capitals.
    let body = body.to_lowercase();
    let mut rest = body.as_str();
    for title in titles {
        match rest.split_once(&plain(title).to_lowercase()) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    true
}

/// With every stretch of blanks as one, for lines are broken anywhere.
fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What a reader sees of HTML: no tags, no comments, no style; the few entities that templates write.
fn visible(html: &str) -> String {
    let mut text = String::new();
    let mut rest = html;
    while let Some((before, tag)) = rest.split_once('<') {
        text.push_str(before);
        text.push(' ');
        let end = if tag.starts_with("!--") {
            "-->"
        } else if tag.starts_with("style") {
            "</style>"
        } else {
            ">"
        };
        rest = tag.split_once(end).map_or("", |(_, after)| after);
    }
    text.push_str(rest);
    let mut text = plain(&text);
    for (entity, c) in ENTITIES {
        text = text.replace(entity, c);
    }
    text
}

/// The ampersand last, so that nothing is taken for an entity twice.
const ENTITIES: [(&str, &str); 8] = [
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&quot;", "\""),
    ("&#x27;", "'"),
    ("&#39;", "'"),
    ("&#x2f;", "/"),
    ("&nbsp;", " "),
    ("&amp;", "&"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_of_html_sees_no_tags() {
        let html = "<html><style>p { x }</style><!-- <b>no</b> --><p>Moon &amp;\n <b>Sun&#x27;s</b></p>end";
        assert_eq!(visible(html), "Moon & Sun's end");
    }

    #[test]
    fn titles_are_found_in_order_and_in_capitals() {
        assert!(in_order(["New works", "Near you"].into_iter(), "x NEW WORKS y near you"));
        assert!(!in_order(["Near you", "New works"].into_iter(), "x NEW WORKS y near you"));
    }
}
