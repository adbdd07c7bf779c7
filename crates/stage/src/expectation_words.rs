//! Reads what a line expects.

use model::Channel;

use crate::{
    args::LineArgs,
    channel_word::channel_word,
    fate_word::check_fates,
    mail_visitor::MailVisitor,
    scenario::{ExpectedMail, ScenarioExpectation},
    token::LineError,
    world::FEED_PAGE_MAX,
};

const EXPECTED: [&str; 10] =
    ["nothing", "fate", "why", "rejected", "quarantine", "open", "feed", "count", "slots", "click"];

pub(crate) fn read_expectation(args: &mut LineArgs) -> Result<ScenarioExpectation, LineError> {
    let one = |texts: Vec<String>| texts.join("\n");
    let known: Vec<&str> = Channel::ALL.map(channel_word).into_iter().chain(EXPECTED).collect();
    let expected = args.one_of("an outcome", &known)?;
    if let Some(channel) = Channel::ALL.into_iter().find(|channel| channel_word(*channel) == expected) {
        let expected = ScenarioExpectation::Mail(read_message(args, channel)?);
        args.check_end()?;
        return Ok(expected);
    }
    let expected = match expected {
        "nothing" => ScenarioExpectation::Nothing,
        "fate" => {
            let (person, subject) = (args.person()?, args.subject()?);
            let fates = if args.peek() == Some("none") {
                args.text("none")?;
                Vec::new()
            } else {
                let column = args.column();
                let fates = args.quoted_texts("a fate or `none`")?;
                fates.iter().try_for_each(|fate| check_fates(fate, column))?;
                fates
            };
            ScenarioExpectation::Fates { person, subject, fates }
        }
        "why" => {
            let (person, subject) = (args.person()?, args.subject()?);
            ScenarioExpectation::Why { person, subject, has: args.quoted_texts("a part of the explanation")? }
        }
        "rejected" => {
            ScenarioExpectation::Rejected { reason: one(args.quoted_texts("a part of the reason")?) }
        }
        "quarantine" => {
            ScenarioExpectation::Quarantine { reason: one(args.quoted_texts("a part of the reason")?) }
        }
        "open" => {
            ScenarioExpectation::Open { person: args.person()?, windows: args.number("a number of windows")? }
        }
        "feed" => read_feed(args)?,
        "count" => read_count(args)?,
        "slots" => read_slots(args)?,
        _ => ScenarioExpectation::Click {
            person: args.person()?,
            place: args.number("a place")?,
            leads: args.text("a subject, or `-`")?,
        },
    };
    args.check_end()?;
    Ok(expected)
}

fn read_feed(args: &mut LineArgs) -> Result<ScenarioExpectation, LineError> {
    let person = args.person()?;
    let mut word = read_feed_word(args, &["none", "first"])?;
    let mut first = None;
    if word == Some("first") {
        first = Some(read_page_size(args)?);
        word = read_feed_word(args, &["none"])?;
    }
    let bundles = if word.is_some() { Vec::new() } else { args.quoted_texts("a bundle or `none`")? };
    let has_more = first.is_some() && args.check_end().is_err();
    if has_more {
        args.one_of("`more`", &["more"])?;
    }
    Ok(ScenarioExpectation::Feed { person, first, bundles, has_more })
}

/// What stands at each slot, in order; `-` is what stands there instead of a thing.
fn read_slots(args: &mut LineArgs) -> Result<ScenarioExpectation, LineError> {
    let person = args.person()?;
    let mut by = MailVisitor::Reader;
    if args.peek() == Some("by") {
        args.one_of("`by`", &["by"])?;
        let word = args.one_of("who opens it", &MailVisitor::ALL.map(MailVisitor::word))?;
        by = MailVisitor::ALL.into_iter().find(|visitor| visitor.word() == word).unwrap_or(by);
    }
    let mut things = vec![args.text("a subject, or `-`")?];
    while args.check_end().is_err() {
        things.push(args.text("a subject, or `-`")?);
    }
    Ok(ScenarioExpectation::Slots { person, by, things })
}

/// A word that stands where bundles would, in quotes.
fn read_feed_word<'a>(args: &mut LineArgs, known: &[&'a str]) -> Result<Option<&'a str>, LineError> {
    if args.peek().is_none() {
        return Ok(None);
    }
    args.one_of("a bundle in quotes", known).map(Some)
}

fn read_page_size(args: &mut LineArgs) -> Result<usize, LineError> {
    let column = args.column();
    let most = args.number("a number of bundles")?;
    if (1..=FEED_PAGE_MAX).contains(&most) {
        return Ok(most);
    }
    Err(LineError::new(column, format!("`{most}` is not a number from 1 to {FEED_PAGE_MAX}")))
}

fn read_count(args: &mut LineArgs) -> Result<ScenarioExpectation, LineError> {
    let person = args.person()?;
    let mut category = None;
    if args.one_of("a count", &["new", "category"])? == "category" {
        category = Some(args.text("a category")?);
        args.one_of("a count", &["new"])?;
    }
    let new = args.text("how many are new")?;
    args.one_of("a count", &["unread"])?;
    Ok(ScenarioExpectation::Count { person, category, new, unread: args.text("how many are unread")? })
}

fn read_message(args: &mut LineArgs, channel: Channel) -> Result<ExpectedMail, LineError> {
    const PARTS: [&str; 6] = ["to", "headline", "sections", "has", "lacks", "silent"];
    // Only what makes a sound can be without one.
    let parts = if channel == Channel::Email { &PARTS[..5] } else { &PARTS[..] };
    let mut mail = ExpectedMail::new(channel, args.person()?);
    while args.check_end().is_err() {
        match args.one_of(&format!("a part of a {}", channel_word(channel)), parts)? {
            "silent" => mail.silent = true,
            "to" => mail.to = Some(args.text("the address")?),
            "headline" => mail.headline = Some(args.quoted_texts("the headline")?.join(" ")),
            "sections" => mail.sections.extend(args.quoted_texts("a section (`title: item, item`)")?),
            "has" => mail.has.extend(args.quoted_texts("a part of the mail")?),
            _ => mail.lacks.extend(args.quoted_texts("a part that the mail lacks")?),
        }
    }
    Ok(mail)
}
