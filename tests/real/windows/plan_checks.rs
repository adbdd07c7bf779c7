//! What each plan keeps to by itself, as its line in `catalogue.yaml` says, whoever decides: what was told before is
//! known to whoever takes over.

use anyhow::{Context as _, Result, ensure};

use super::story::WindowStory;
use crate::outbox_mails::ToldMail;

const SECOND: i64 = 1_000;
/// A mail's date is whole seconds, so between two of them it may look like one less.
const ROUNDED: i64 = 1;

/// A busy house hears so late that somebody was let out.
const HEARD: i64 = 10 * SECOND;
/// How long before its subject's instant a message leaves.
const BEFORE: i64 = 10 * SECOND;
/// So long after they were seen somebody is away, and so long they are here.
const AWAY: i64 = 60 * SECOND;
const HERE: i64 = 25 * SECOND;
/// Messages that go alone, and the seconds for which they count.
const ALONE: usize = 2;
const WITHIN: i64 = 60;
/// Seconds of the first rest, and of the longest.
const REST: i64 = 5;
const REST_MOST: i64 = 20;
const CAP: usize = 3;

/// At nine each date is told once: not for those who were let out before, also if they travel, and not where it is another
/// time. Whoever was let out is told when the house heard of it, and whose window was seen waiting for nine at nine.
pub fn a_date_once(story: &WindowStory) -> Result<()> {
    for ((person, _), mails) in story.mails_by_itself("dated") {
        let who = &story.people[person];
        ensure!(mails.len() <= 1, "one date was told to {person} {} times: {mails:?}", mails.len());
        let is_nine = |closed| (who.has_nine || who.moves_to.is_some()) && closed == story.nine;
        let is_due = |closed| match who.released {
            Some(released) => {
                closed + ROUNDED * SECOND >= released && !(who.has_nine && closed > story.nine + HEARD)
            }
            None => is_nine(closed),
        };
        let wrong = mails.iter().find(|mail| !is_due(mail.closed * SECOND));
        ensure!(wrong.is_none(), "this is no date of {person}: {wrong:?}");
    }
    let is_told = |person: &&String| {
        let mut own = story.mails.values().filter(|mail| mail.plan == "dated" && mail.to == **person);
        own.any(|mail| mail.closed * SECOND == story.nine)
    };
    let untold = story.awaits.iter().find(|person| !is_told(person));
    ensure!(untold.is_none(), "{untold:?} waited for nine and was told at another time");
    Ok(())
}

/// Messages have as many items as their plan wants at least.
pub fn enough_items(story: &WindowStory) -> Result<()> {
    for (plan, least) in [("sliding", 3), ("counted", 4)] {
        for mail in mails_of_plan(story, plan) {
            ensure!(mail.items.len() >= least, "less than {least}: {mail:?}");
        }
    }
    Ok(())
}

pub fn one_key(story: &WindowStory) -> Result<()> {
    for mail in
        story.mails.values().filter(|mail| ["first", "counted", "rests"].contains(&mail.plan.as_str()))
    {
        let mut keys: Vec<&str> = story.notes_in(mail).map(|said| said.key.as_str()).collect();
        keys.dedup();
        ensure!(keys.len() == 1, "of several windows, {keys:?}: {mail:?}");
    }
    Ok(())
}

pub fn not_long_before(story: &WindowStory) -> Result<()> {
    for mail in mails_of_plan(story, "ahead") {
        let aim = story.notes_in(mail).map(|said| said.aim).min().context("nobody said it")?;
        ensure!(mail.closed >= (aim - BEFORE).div_euclid(SECOND), "it is about {aim}: {mail:?}");
    }
    Ok(())
}

pub fn only_who_is_away(story: &WindowStory) -> Result<()> {
    not_since_seen(story, "absent", AWAY)
}

/// A message with several items is the second of its window, and the first one had one. What closed within a second
/// has no order.
pub fn the_first_alone(story: &WindowStory) -> Result<()> {
    for mails in story.mails_by_itself("first").values() {
        for mail in mails.iter().filter(|mail| mail.items.len() > 1) {
            let before = mails.iter().filter(|one| one.closed <= mail.closed);
            let (firsts, others): (Vec<&ToldMail>, Vec<&ToldMail>) =
                before.partition(|one| one.items.len() == 1);
            ensure!(firsts.len() >= others.len(), "the first of {mail:?} was not told before: {mails:#?}");
        }
    }
    Ok(())
}

/// The same, and what was told first is there again.
pub fn the_first_beside_the_others(story: &WindowStory) -> Result<()> {
    for mails in story.mails_by_itself("both").values() {
        for mail in mails.iter().filter(|mail| mail.items.len() > 1) {
            let is_first = |one: &&ToldMail| one.closed <= mail.closed && one.items.len() == 1;
            let mut firsts = mails.iter().copied().filter(is_first);
            let is_again = firsts.any(|first| mail.items.contains(&first.items[0]));
            ensure!(is_again, "the first of {mail:?} was not told before: {mails:#?}");
        }
    }
    Ok(())
}

/// Few go alone, and what comes then waits as long as these count.
pub fn few_at_once(story: &WindowStory) -> Result<()> {
    for mails in story.mails_by_itself("lately").values() {
        for some in mails.windows(ALONE + 1) {
            let took = some[ALONE].closed - some[0].closed;
            ensure!(took >= WITHIN - ROUNDED, "{} within {took} s: {some:?}", some.len());
        }
    }
    Ok(())
}

/// After each message of a row the rest is twice as long.
pub fn longer_rests(story: &WindowStory) -> Result<()> {
    for mails in story.mails_by_itself("rests").values() {
        let mut rest = REST;
        for pair in mails.windows(2) {
            let rested = pair[1].closed - pair[0].closed;
            ensure!(rested >= rest - ROUNDED, "{rested} s of {rest}: {pair:?}");
            rest = (rest * 2).min(REST_MOST);
        }
    }
    Ok(())
}

pub fn within_the_cap(story: &WindowStory) -> Result<()> {
    for ((person, _), mails) in story.mails_by_itself("capped") {
        ensure!(mails.len() <= CAP, "{} messages for {person}: {mails:?}", mails.len());
    }
    Ok(())
}

/// Neither in quiet hours, nor while they are here.
pub fn nobody_is_disturbed(story: &WindowStory) -> Result<()> {
    for ((person, _), mails) in story.mails_by_itself("calm") {
        let Some(quiet) = &story.people[person].quiet else { continue };
        let is_loud = |mail: &&&ToldMail| {
            quiet.contains(&(mail.closed * SECOND)) && quiet.contains(&story.sent_since(mail))
        };
        let loud = mails.iter().find(is_loud);
        ensure!(loud.is_none(), "it is quiet for {person}: {loud:?}");
    }
    not_since_seen(story, "calm", HERE)
}

/// No message of a plan leaves for so long after somebody was seen, as far as the house could know when it was due.
/// What is held is due whenever something comes, so when it was due does not tell when it was let go.
fn not_since_seen(story: &WindowStory, plan: &str, length: i64) -> Result<()> {
    for mail in mails_of_plan(story, plan) {
        let closed = mail.closed * SECOND;
        let seen = story.seen.iter().find(|seen| {
            seen.person == mail.to && seen.known < closed && story.sent_since(mail) < seen.at + length
        });
        ensure!(seen.is_none(), "{seen:?}, and yet {mail:?}");
    }
    Ok(())
}

fn mails_of_plan<'a>(story: &'a WindowStory, plan: &str) -> impl Iterator<Item = &'a ToldMail> {
    story.mails_by_itself(plan).into_values().flatten()
}
