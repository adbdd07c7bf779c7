//! All that was said and all that was told, in a form that checks can look at without a house.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result};
use model::UtcMillis;
use serde_json::Value;

use super::{cast::CastMember, script::SaidNote};
use crate::{
    house::RealHouse,
    outbox_mails::{OutboxMailReader, ToldMail, entries_of},
};

#[derive(Clone, Default, Debug)]
pub struct WindowStory {
    pub people: BTreeMap<String, CastMember>,
    pub said: Vec<SaidNote>,
    pub seen: Vec<StorySighting>,
    /// By their Ready. Plans of dates are one here.
    pub mails: BTreeMap<String, ToldMail>,
    pub entries: Vec<StoryEntry>,
    /// When the dates were due.
    pub nine: i64,
    /// Those with a window that was seen waiting for that.
    pub awaits: BTreeSet<String>,
    /// What was due before this closed by itself; from here on everything is released by hand.
    pub by_hand: i64,
}

/// Somebody was somewhere.
#[derive(Clone, Default, Debug)]
pub struct StorySighting {
    pub person: String,
    pub at: i64,
    /// From when on the house knew it for good.
    pub known: i64,
}

/// An entry of a person's day.
#[derive(Clone, Default, Debug)]
pub struct StoryEntry {
    pub person: String,
    pub subject: String,
    pub mail: Option<StoryFate>,
    pub push: Option<StoryFate>,
}

/// What became of it on one channel.
#[derive(Clone, Default, Debug)]
pub struct StoryFate {
    pub fate: String,
    /// What told it, what the journal has on that, and since when.
    pub ready: Option<String>,
    pub journal: String,
    pub at: i64,
}

impl WindowStory {
    /// The mails that left.
    pub fn read_mails(&mut self, mails: &OutboxMailReader) {
        let read = mails.by_ready.iter().map(|(ready, mail)| {
            let plan = mail.plan.split('_').next().unwrap_or_default().to_owned();
            (ready.clone(), ToldMail { plan, ..mail.clone() })
        });
        self.mails = read.collect();
    }

    /// The days of everybody, as the house has them.
    pub fn read_days(&mut self, house: &RealHouse) -> Result<()> {
        self.entries.clear();
        for person in self.people.keys() {
            for entry in entries_of(&house.days(person)?) {
                self.entries.push(StoryEntry::read(person, &entry)?);
            }
        }
        Ok(())
    }

    /// How often somebody is to be told of a subject, at least and at most, by push or by mail.
    pub fn owed_ranges(&self) -> BTreeMap<(&str, &str, bool), (usize, usize)> {
        let mut owed = BTreeMap::new();
        for said in self.said.iter().filter(|said| !said.is_gone) {
            let who = &self.people[&said.person];
            let (push, mail) = match said.kind.as_str() {
                "now" => {
                    let push = usize::from(who.has_device);
                    let comes = who.comes != Default::default();
                    // Who came for the push needs no mail.
                    ((push, push), (usize::from(!comes), 1))
                }
                "rests" | "capped" => ((1, 1), (0, 0)),
                // The first is told once more if there is something beside it.
                "both" => ((0, 0), (1, 2)),
                _ => ((0, 0), (1, 1)),
            };
            for (is_push, (least, most)) in [(true, push), (false, mail)] {
                let of = owed.entry((said.person.as_str(), said.subject.as_str(), is_push)).or_insert((0, 0));
                *of = (of.0 + least, of.1 + most);
            }
        }
        owed
    }

    /// How often somebody was told of a subject, by push or by mail.
    pub fn told_counts(&self) -> BTreeMap<(&str, &str, bool), usize> {
        let mut told = BTreeMap::new();
        for mail in self.mails.values() {
            for item in &mail.items {
                *told.entry((mail.to.as_str(), item.as_str(), mail.is_push)).or_default() += 1;
            }
        }
        told
    }

    /// A plan's messages that nobody let out by hand, by person and key, in the order in which their windows closed.
    pub fn mails_by_itself(&self, plan: &str) -> BTreeMap<(&str, &str), Vec<&ToldMail>> {
        let keys: BTreeMap<_, _> =
            self.said.iter().map(|said| ((&said.person, &said.subject), said.key.as_str())).collect();
        let mut found: BTreeMap<_, Vec<&ToldMail>> = BTreeMap::new();
        let is_meant = |mail: &&ToldMail| mail.plan == plan && (mail.closed + 1) * 1_000 <= self.by_hand;
        for mail in self.mails.values().filter(is_meant) {
            let first = mail.items.first().and_then(|item| keys.get(&(&mail.to, item)));
            found.entry((mail.to.as_str(), first.copied().unwrap_or_default())).or_default().push(mail);
        }
        found.values_mut().for_each(|mails| mails.sort_by_key(|mail| mail.closed));
        found
    }

    /// Since when the journal has a message as sent.
    pub fn sent_since(&self, mail: &ToldMail) -> i64 {
        let own = self
            .entries
            .iter()
            .filter(|entry| entry.person == mail.to && mail.items.contains(&entry.subject));
        let fates = own.flat_map(StoryEntry::fates).filter(|(is_push, _)| *is_push == mail.is_push);
        fates.map(|(_, fate)| fate.at).min().unwrap_or_default()
    }

    /// What was said of these items of a message.
    pub fn notes_in<'a>(&'a self, mail: &'a ToldMail) -> impl Iterator<Item = &'a SaidNote> {
        let items: BTreeSet<&String> = mail.items.iter().collect();
        self.said.iter().filter(move |said| said.person == mail.to && items.contains(&said.subject))
    }
}

impl StoryEntry {
    fn read(person: &str, entry: &Value) -> Result<Self> {
        let fates = entry["fates"].as_array().context("no fates")?;
        let fate = |channel: &str| fates.iter().find(|fate| fate["channel"] == channel).map(StoryFate::read);
        let subject = entry["subject"].as_str().context("no subject")?;
        let (person, subject) = (person.to_owned(), subject.to_owned());
        Ok(Self { person, subject, mail: fate("email"), push: fate("push") })
    }

    /// Whether something becomes of it yet. What ended before its push could be sent is never followed by a mail,
    /// though the mail's fate says that it waits.
    pub fn waits(&self) -> bool {
        let is_followed =
            |push: &StoryFate| push.waits() || push.ready.is_some() || push.fate == "no address";
        let mail = self.mail.as_ref().filter(|_| self.push.as_ref().is_none_or(is_followed));
        mail.into_iter().chain(&self.push).any(StoryFate::waits)
    }

    /// What became of it, by whether that is about pushes.
    pub fn fates(&self) -> impl Iterator<Item = (bool, &StoryFate)> {
        let push = self.push.iter().map(|fate| (true, fate));
        push.chain(self.mail.iter().map(|fate| (false, fate)))
    }
}

impl StoryFate {
    fn read(fate: &Value) -> Self {
        let text = |name: &str| fate[name].as_str().unwrap_or_default().to_owned();
        let at = UtcMillis::parse(&text("at")).unwrap_or_default().0;
        let ready = fate["ready"].as_str().map(str::to_owned);
        Self { fate: text("fate"), ready, journal: text("journal"), at }
    }

    /// Whether something becomes of it yet.
    pub fn waits(&self) -> bool {
        let is_open = ["waiting", "carried over"].contains(&self.fate.as_str());
        is_open || (self.ready.is_some() && self.journal != "sent")
    }
}
