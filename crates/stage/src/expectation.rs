//! Whether what a line expects is so.

use anyhow::{Context as _, bail};
use model::{Channel, Person, Tenant};
use source_text::suggest_name;

use crate::{
    arrivals::HouseArrivals,
    channel_word::channel_word,
    comparison::ExpectationTable,
    parse::MAIN,
    scenario::{ExpectedMail, ScenarioExpectation},
    world::{FEED_PAGE_MAX, StageAnswer, StageCounts, StageFeed, StageMail, StageMailSection, StageWorld},
};

/// Checks a line's expectation; the error shows expected against actual.
pub(crate) async fn check_expectation(
    world: &mut dyn StageWorld,
    arrived: &mut HouseArrivals,
    tenant: &Tenant,
    expected: &ScenarioExpectation,
) -> anyhow::Result<()> {
    match expected {
        ScenarioExpectation::Mail(expected) => {
            let person = &expected.person;
            match arrived.mails.take(|mail| mail.fits(expected, tenant)) {
                Some(found) => fail_if_different(&compare_mail(expected, &found)),
                None => {
                    bail!(
                        "no {} came to {}{}",
                        channel_word(expected.channel),
                        describe_person(tenant, person),
                        describe_others(arrived)
                    )
                }
            }
        }
        ScenarioExpectation::Nothing => {
            let mut comparison = ExpectationTable::default();
            for (_, mail) in arrived.mails.iter() {
                comparison.compare_texts(channel_word(mail.channel), "", &describe_mail(mail));
            }
            for (_, reason) in arrived.aside.iter() {
                comparison.compare_texts("quarantine", "", reason);
            }
            fail_if_different(&comparison)
        }
        ScenarioExpectation::Fates { person, subject, fates } => {
            let entries = world.entries(tenant, person).await?;
            let found = entries.into_iter().filter(|entry| entry.subject == subject.as_str());
            let found: Vec<String> = found.map(|entry| entry.fate()).collect();
            expect_list("entry", fates, &found)
        }
        ScenarioExpectation::Why { person, subject, has } => {
            let found = world.explain(tenant, person, subject).await?.join("\n");
            let mut comparison = ExpectationTable::default();
            for part in has {
                comparison.add_row("why", &format!("… {part} …"), &found, found.contains(part.as_str()));
            }
            fail_if_different(&comparison)
        }
        ScenarioExpectation::Rejected { reason } => {
            let mut comparison = ExpectationTable::default();
            let found = arrived.refusals.join("\n");
            comparison.add_row("refused", &format!("… {reason} …"), &found, found.contains(reason.as_str()));
            fail_if_different(&comparison)
        }
        ScenarioExpectation::Quarantine { reason } => check_quarantine(arrived, reason),
        ScenarioExpectation::Open { person, windows } => {
            let found = world.windows(tenant, person).await?;
            expect_text("open windows", &windows.to_string(), &found.to_string())
        }
        ScenarioExpectation::Feed { person, first, bundles, has_more } => {
            let found = world.feed(tenant, person, first.unwrap_or(FEED_PAGE_MAX)).await?;
            fail_if_different(&compare_feed(&found, bundles, *has_more))
        }
        ScenarioExpectation::Count { person, category, new, unread } => {
            let found = world.feed(tenant, person, FEED_PAGE_MAX).await?;
            fail_if_different(&compare_counts(find_counts(&found, category.as_deref())?, new, unread))
        }
        ScenarioExpectation::Slots { person, by, things } => {
            expect_list("slot", things, &world.open_mail(tenant, person, *by).await?)
        }
        ScenarioExpectation::Click { person, place, leads } => {
            expect_text("leads to", leads, &world.click_slot(tenant, person, *place).await?)
        }
    }
}

fn expect_text(what: &str, expected: &str, found: &str) -> anyhow::Result<()> {
    let mut comparison = ExpectationTable::default();
    comparison.compare_texts(what, expected, found);
    fail_if_different(&comparison)
}

fn expect_list(what: &str, expected: &[String], found: &[String]) -> anyhow::Result<()> {
    let mut comparison = ExpectationTable::default();
    comparison.compare_lists(what, expected, found);
    fail_if_different(&comparison)
}

fn compare_feed(found: &StageFeed, bundles: &[String], has_more: bool) -> ExpectationTable {
    let mut comparison = ExpectationTable::default();
    comparison.compare_lists("bundle", bundles, &found.bundles);
    if has_more || found.has_more {
        let word = |has_more| if has_more { "more" } else { "no more" };
        comparison.compare_texts("behind it", word(has_more), word(found.has_more));
    }
    comparison
}

/// The counts of a category, or of all; a misspelt one would have none of anything.
fn find_counts<'a>(found: &'a StageFeed, category: Option<&str>) -> anyhow::Result<&'a StageCounts> {
    let Some(name) = category else { return Ok(&found.counts) };
    found.categories.get(name).with_context(|| {
        let help = suggest_name(name, found.categories.keys().map(String::as_str));
        format!("there is no category `{name}`: {help}")
    })
}

fn compare_counts(found: &StageCounts, new: &str, unread: &str) -> ExpectationTable {
    let mut comparison = ExpectationTable::default();
    comparison.compare_texts("new", new, &found.new);
    comparison.compare_texts("unread", unread, &found.unread);
    comparison
}

fn check_quarantine(arrived: &mut HouseArrivals, reason: &str) -> anyhow::Result<()> {
    if arrived.aside.take(|found| found.contains(reason)).is_some() {
        return Ok(());
    }
    let mut comparison = ExpectationTable::default();
    let found: Vec<&str> = arrived.aside.iter().map(|(_, reason)| reason.as_str()).collect();
    comparison.add_row("put aside", &format!("… {reason} …"), &found.join("\n"), false);
    fail_if_different(&comparison)
}

/// Checks the answer to a `post`.
pub(crate) fn check_answer(answer: &StageAnswer, status: u16, has: &[String]) -> anyhow::Result<()> {
    let mut comparison = ExpectationTable::default();
    comparison.compare_texts("status", &status.to_string(), &answer.status.to_string());
    for part in has {
        comparison.add_row(
            "answer",
            &format!("… {part} …"),
            &answer.body,
            answer.body.contains(part.as_str()),
        );
    }
    fail_if_different(&comparison)
}

/// A mail in one line: to whom, its headline, its sections.
pub(crate) fn describe_mail(mail: &StageMail) -> String {
    let sections: Vec<String> = mail.sections.iter().map(StageMailSection::describe).collect();
    let silent = if mail.silent { ", silent" } else { "" };
    let whom = describe_person(&mail.tenant, &mail.person);
    format!("{} {whom}{silent}: {} | {}", channel_word(mail.channel), mail.headline, sections.join(" | "))
}

/// A person, with the tenant if it is not the usual one.
pub(crate) fn describe_person(tenant: &Tenant, person: &Person) -> String {
    if tenant.as_str() == MAIN { person.to_string() } else { format!("{person} of {tenant}") }
}

fn fail_if_different(comparison: &ExpectationTable) -> anyhow::Result<()> {
    if comparison.is_good() { Ok(()) } else { bail!("{}", comparison.table()) }
}

fn describe_others(arrived: &HouseArrivals) -> String {
    let others: Vec<String> =
        arrived.mails.iter().map(|(_, mail)| format!("\n    {}", describe_mail(mail))).collect();
    if others.is_empty() { String::new() } else { format!(", but:{}", others.concat()) }
}

fn compare_mail(expected: &ExpectedMail, found: &StageMail) -> ExpectationTable {
    let mut comparison = ExpectationTable::default();
    if let Some(to) = &expected.to {
        comparison.compare_texts("to", to, &found.to);
    }
    let headline = expected.headline.as_ref().unwrap_or(&found.headline);
    comparison.compare_texts("headline", headline, &found.headline);
    let sections: Vec<String> = found.sections.iter().map(StageMailSection::describe).collect();
    let wanted = if expected.sections.is_empty() { &sections } else { &expected.sections };
    comparison.compare_lists("section", wanted, &sections);
    if found.channel != Channel::Email {
        let sound = |silent| if silent { "none" } else { "one" };
        comparison.compare_texts("sound", sound(expected.silent), sound(found.silent));
    }
    let readers = match found.channel {
        Channel::Email => vec![("text", collapse_blanks(&found.text)), ("html", visible_text(&found.html))],
        // With what the devices, or whoever is behind a hook, are given.
        Channel::Push | Channel::Hook(_) => {
            vec![("text", collapse_blanks(&format!("{} {}", found.text, found.html)))]
        }
    };
    for (part, body) in &readers {
        // The books say what the mail tells; what the reader gets must agree. A push has no room for titles.
        let titles = found.sections.iter().map(|section| section.title.as_str());
        if found.channel == Channel::Email {
            comparison.add_row(part, "every section by its title, in order", body, in_order(titles, body));
        }
        for wanted in &expected.has {
            let there =
                body.contains(&collapse_blanks(wanted)) || raw_body(found, part).contains(wanted.as_str());
            comparison.add_row(part, &format!("has `{wanted}`"), body, there);
        }
        for unwanted in &expected.lacks {
            let there = body.contains(&collapse_blanks(unwanted))
                || raw_body(found, part).contains(unwanted.as_str());
            comparison.add_row(part, &format!("lacks `{unwanted}`"), body, !there);
        }
    }
    comparison.only_wrong_of(&["text", "html"]);
    comparison
}

fn raw_body<'a>(mail: &'a StageMail, part: &str) -> &'a str {
    if part == "html" { &mail.html } else { &mail.text }
}

fn in_order<'a>(titles: impl Iterator<Item = &'a str>, body: &str) -> bool {
    // A layout may set its titles in capitals.
    let body = body.to_lowercase();
    let mut rest = body.as_str();
    for title in titles {
        match rest.split_once(&collapse_blanks(title).to_lowercase()) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    true
}

/// With every stretch of blanks as one, for lines are broken anywhere.
fn collapse_blanks(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What a reader sees of HTML: no tags, no comments, no style; the few entities that templates write.
fn visible_text(html: &str) -> String {
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
    let mut text = collapse_blanks(&text);
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
        assert_eq!(visible_text(html), "Moon & Sun's end");
    }

    #[test]
    fn titles_are_found_in_order_and_in_capitals() {
        assert!(in_order(["New works", "Near you"].into_iter(), "x NEW WORKS y near you"));
        assert!(!in_order(["Near you", "New works"].into_iter(), "x NEW WORKS y near you"));
    }
}
