//! What must be so, whoever was killed and when: everything is told as often as it is owed, and has an end. What plans
//! keep to beside that is in `pace`.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result, ensure};

use super::{
    plan_checks,
    story::{StoryEntry, StoryFate, WindowStory},
};
use crate::outbox_mails::ToldMail;

/// Looks at a whole story.
pub type StoryCheck = fn(&WindowStory) -> Result<()>;

pub const ALL: [(&str, StoryCheck); 16] = [
    ("told as often as owed", told_as_often_as_owed),
    ("every entry has its end", every_entry_has_its_end),
    ("days and messages agree", days_and_messages_agree),
    ("a push first", a_push_first),
    ("who came needs no mail", who_came_needs_no_mail),
    ("a date once", plan_checks::a_date_once),
    ("enough for a message", plan_checks::enough_items),
    ("one key in a message", plan_checks::one_key),
    ("not long before", plan_checks::not_long_before),
    ("only who is away", plan_checks::only_who_is_away),
    ("the first alone", plan_checks::the_first_alone),
    ("the first beside the others", plan_checks::the_first_beside_the_others),
    ("few at once", plan_checks::few_at_once),
    ("longer and longer rests", plan_checks::longer_rests),
    ("no more than the cap", plan_checks::within_the_cap),
    ("nobody is disturbed", plan_checks::nobody_is_disturbed),
];

/// What is wrong, each with its name.
pub fn find_wrong(story: &WindowStory) -> Vec<String> {
    let found = ALL.iter().filter_map(|(name, check)| Some((name, check(story).err()?)));
    found.map(|(name, error)| format!("{name}: {error:#}")).collect()
}

/// What a story has to have in it, or the checks looked at little.
pub fn find_untried(story: &WindowStory) -> Vec<String> {
    let told = |plan: &str| story.mails.values().filter(|mail| mail.plan == plan).collect::<Vec<_>>();
    let rooms = |mail: &&ToldMail| story.notes_in(mail).map(|said| &said.key).collect::<BTreeSet<_>>().len();
    let is_by_hand = |mail: &&ToldMail| mail.closed * 1_000 >= story.by_hand;
    let at_nine = |plan: &str| told(plan).iter().any(|mail| mail.closed * 1_000 == story.nine);
    let is_early =
        |mail: &&ToldMail| story.people[&mail.to].released.is_some() && mail.closed * 1_000 < story.nine;
    let ended = |fate: &str| story.entries.iter().flat_map(StoryEntry::fates).any(|(_, of)| of.fate == fate);
    let tried = [
        ("a date at nine", at_nine("dated")),
        ("who waits for nine", !story.awaits.is_empty()),
        ("an early date", told("dated").iter().any(is_early)),
        ("the end of quiet hours", at_nine("calm")),
        ("rooms told together", told("rooms").iter().any(|mail| rooms(mail) > 1)),
        ("a first beside others", told("both").iter().any(|mail| mail.items.len() > 1)),
        ("more than the cap", told("capped").iter().any(is_by_hand)),
        ("who came for a push", ended("was online")),
        ("who has no device", ended("no address")),
        ("what was taken back", ended("no longer true")),
    ];
    let untold = super::PLANS.iter().map(|plan| plan.split('_').next().unwrap_or_default());
    let untold = untold.filter(|plan| story.mails_by_itself(plan).is_empty());
    let untried = tried.iter().filter(|(_, tried)| !tried).map(|(name, _)| *name);
    untold.chain(untried).map(str::to_owned).collect()
}

/// What became of the dates of those for whom it was nine, for whoever wonders why it was something else.
pub fn describe_dates(story: &WindowStory) -> Vec<String> {
    let has_nine = |person: &str| story.people[person].has_nine && story.people[person].released.is_none();
    let mails = story.mails.values().filter(|mail| mail.plan == "dated" && has_nine(&mail.to));
    let told = mails.map(|mail| {
        let (after, count) = (mail.closed - story.nine / 1_000, mail.items.len());
        format!("{} was told {count} things for {after} s after nine", mail.to)
    });
    let entries = story.entries.iter().filter(|entry| has_nine(&entry.person));
    let unclear = entries.filter(|entry| entry.fates().any(|(_, of)| of.journal == "unknown"));
    told.chain(unclear.map(|entry| format!("nobody knows of {entry:?}"))).collect()
}

fn told_as_often_as_owed(story: &WindowStory) -> Result<()> {
    let (owed, told) = (story.owed_ranges(), story.told_counts());
    for (of, count) in &told {
        let (_, most) = owed.get(of).copied().unwrap_or_default();
        ensure!(*count <= most, "{of:?} was told {count} times, and at most {most} are owed");
    }
    for (of, (least, _)) in &owed {
        let count = told.get(of).copied().unwrap_or_default();
        ensure!(count >= *least, "{of:?} was told {count} times, and {least} are owed");
    }
    Ok(())
}

fn every_entry_has_its_end(story: &WindowStory) -> Result<()> {
    let mut said: BTreeMap<_, (usize, &str)> = BTreeMap::new();
    for one in &story.said {
        said.entry((&one.person, &one.subject)).or_insert((0, &one.kind)).0 += 1;
    }
    for entry in &story.entries {
        let found = said.get_mut(&(&entry.person, &entry.subject));
        let (left, kind) = found.with_context(|| format!("nobody said {entry:?}"))?;
        *left = left.checked_sub(1).with_context(|| format!("it is there twice: {entry:?}"))?;
        let is_pushed = ["now", "rests", "capped"].contains(kind);
        ensure!(entry.push.is_some() == is_pushed, "not on its channel: {entry:?}");
        ensure!(!entry.waits(), "it waits still: {entry:?}");
    }
    let lost: Vec<_> = said.iter().filter(|(_, (left, _))| *left > 0).take(5).collect();
    ensure!(lost.is_empty(), "no entries: {lost:?}");
    Ok(())
}

/// Each message tells what the days say that it told; of a first entry that was told twice they name one message.
fn days_and_messages_agree(story: &WindowStory) -> Result<()> {
    let mut told: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for entry in &story.entries {
        for (is_push, fate) in entry.fates() {
            let Some(ready) = &fate.ready else { continue };
            let mail = story.mails.get(ready).with_context(|| format!("no message tells {entry:?}"))?;
            ensure!(mail.is_push == is_push && mail.to == entry.person, "{mail:?} told {entry:?}");
            told.entry(ready).or_default().push(&entry.subject);
        }
    }
    for (ready, mail) in &story.mails {
        let mut by_days = told.remove(ready.as_str()).unwrap_or_default();
        let mut items: Vec<&str> = mail.items.iter().map(String::as_str).collect();
        if mail.plan == "both" {
            items.retain(|item| by_days.contains(item));
        }
        by_days.sort_unstable();
        items.sort_unstable();
        ensure!(items == by_days, "{ready} is {mail:?}, and by the days it told {by_days:?}");
    }
    Ok(())
}

/// What follows a push comes after one, by when they were decided, and tells nothing that no push tells: but to those whom
/// none reaches. It tells all that gathered: what was stored as it closed, and announced a moment later, is pushed after it.
fn a_push_first(story: &WindowStory) -> Result<()> {
    let by = |fate: &StoryFate, plan: &str| {
        fate.ready.as_ref().and_then(|ready| story.mails.get(ready)).is_some_and(|told| told.plan == plan)
    };
    let mut first: BTreeMap<&String, bool> = BTreeMap::new();
    for entry in story.entries.iter().filter(|entry| story.people[&entry.person].has_device) {
        let Some(mail) = entry.mail.as_ref().filter(|mail| by(mail, "nudge")) else { continue };
        let push = entry.push.as_ref().filter(|push| by(push, "now"));
        let push = push.with_context(|| format!("no push tells what the mail does: {entry:?}"))?;
        *first.entry(mail.ready.as_ref().context("a mail without a Ready")?).or_default() |=
            push.at <= mail.at;
    }
    let before = first.iter().find(|(_, is_after_a_push)| !**is_after_a_push);
    ensure!(before.is_none(), "no push was before the mail {before:?}");
    Ok(())
}

/// Who was seen after a push, and before the mail that follows it was due, has seen what it told.
fn who_came_needs_no_mail(story: &WindowStory) -> Result<()> {
    for entry in &story.entries {
        let (Some(push), Some(mail)) = (&entry.push, &entry.mail) else { continue };
        let Some(told) = mail.ready.as_ref().and_then(|ready| story.mails.get(ready)) else { continue };
        let came = story.seen.iter().find(|seen| {
            let is_told = push.journal == "sent" && seen.at > push.at;
            seen.person == entry.person && is_told && seen.known < told.closed * 1_000
        });
        ensure!(came.is_none(), "{came:?}, and yet {told:?} for {entry:?}");
    }
    Ok(())
}
