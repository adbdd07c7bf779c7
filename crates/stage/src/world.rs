//! What the runner needs of a house. The implementation lives with the house; a scenario sees nothing that
//! a product person could not see too: answers, mails, days, the quarantine.

use std::collections::BTreeMap;

use anyhow::ensure;
use async_trait::async_trait;
use house_facts::pause::PauseScope;
use model::{Channel, Day, Person, PlanName, SubjectRef, Tenant, UtcMillis};
use runtime::Clock;
use serde_json::Value;

use crate::{
    channel_word::channel_word,
    mail_visitor::MailVisitor,
    scenario::{ExpectedMail, MailServerState, RestartMode, ScenarioReturn},
};

/// Bundles that a house gives on one page.
pub const FEED_PAGE_MAX: usize = 100;

/// A house on the stage.
#[async_trait]
pub trait StageWorld: Send {
    /// The virtual clock by which the house lives.
    fn clock(&self) -> &Clock;

    /// Returns when nothing is left to do before the clock moves.
    async fn settle(&mut self) -> anyhow::Result<()>;

    /// Stages that are behind, each with what is known of why, for a house that does not come to rest.
    async fn lagging_stages(&mut self) -> anyhow::Result<Vec<String>>;

    /// Posts JSON to the intake, as a tenant's own service.
    async fn post(&mut self, tenant: &Tenant, path: &str, body: &str) -> anyhow::Result<StageAnswer>;

    /// Puts bytes on the topic that upstream services write to.
    async fn upstream(&mut self, bytes: &[u8]) -> anyhow::Result<()>;

    /// Takes the house down. Time goes on without it; only mails and quarantine can still be looked at.
    async fn stop(&mut self, how: RestartMode) -> anyhow::Result<()>;

    /// Brings the house up again on the same directory, with another catalogue if one is named.
    async fn start(&mut self, catalogue: Option<&str>) -> anyhow::Result<()>;

    /// What the other side takes of our mail from now on.
    async fn mail_server(&mut self, takes: MailServerState) -> anyhow::Result<()>;

    /// The last mail that a person got comes back.
    async fn return_last_mail(
        &mut self,
        tenant: &Tenant,
        person: &Person,
        back: ScenarioReturn,
    ) -> anyhow::Result<()>;

    /// Lifts the suppressions of a person, or of one stream alone.
    async fn lift(&mut self, tenant: &Tenant, person: &Person, stream: Option<&str>) -> anyhow::Result<()>;

    /// Whether the person's app has a live connection from now on.
    async fn app(&mut self, person: &Person, connected: bool) -> anyhow::Result<()>;

    /// Every mail that left so far, in the order in which they left.
    async fn mails(&mut self) -> anyhow::Result<Vec<StageMail>>;

    /// A person's entries with their fates, oldest first, as long as their days live.
    async fn entries(&mut self, tenant: &Tenant, person: &Person) -> anyhow::Result<Vec<StageEntry>>;

    /// The reasons of all records that were put aside so far, in order.
    async fn quarantine(&mut self) -> anyhow::Result<Vec<String>>;

    /// How many windows a person has open.
    async fn windows(&mut self, tenant: &Tenant, person: &Person) -> anyhow::Result<usize>;

    /// The first page of a person's feed, as a bell shows it, with so many bundles at most.
    async fn feed(&mut self, tenant: &Tenant, person: &Person, most: usize) -> anyhow::Result<StageFeed>;

    /// Opens the last mail that a person got: what stands at each of its slots, in order.
    async fn open_mail(
        &mut self,
        tenant: &Tenant,
        person: &Person,
        by: MailVisitor,
    ) -> anyhow::Result<Vec<String>>;

    /// Where a slot of that mail leads, counted from 1.
    async fn click_slot(&mut self, tenant: &Tenant, person: &Person, place: usize) -> anyhow::Result<String>;

    /// Tells what waits under a plan now: one person's, or everybody's.
    async fn release(
        &mut self,
        tenant: &Tenant,
        plan: &PlanName,
        person: Option<&Person>,
    ) -> anyhow::Result<()>;

    /// Cancels what waits for a person under a plan, in the window with this key if there are several.
    async fn discard(
        &mut self,
        tenant: &Tenant,
        plan: &PlanName,
        person: &Person,
        key: Option<&str>,
    ) -> anyhow::Result<()>;

    /// Pauses a plan, a channel or a tenant, or ends that.
    async fn set_pause(&mut self, scope: &PauseScope, is_paused: bool) -> anyhow::Result<()>;

    /// Why a person was told of a subject, or not: a line for each reason.
    async fn explain(
        &mut self,
        tenant: &Tenant,
        person: &Person,
        subject: &SubjectRef,
    ) -> anyhow::Result<Vec<String>>;

    /// Has everything that a topic took in since an instant come once more; what was never told is told only if it
    /// is to be.
    async fn replay(&mut self, topic: &str, from: UtcMillis, tells_missing: bool) -> anyhow::Result<()>;

    /// Writes the days before this one to a file and drops them.
    async fn archive(&mut self, before: Day) -> anyhow::Result<()>;
}

/// A page of a person's feed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StageFeed {
    /// What each says, the newest first, with what it is: `Ann liked Moon (new)`; unread, read or saved beside.
    pub bundles: Vec<String>,
    /// There is another page behind it.
    pub has_more: bool,
    /// Of all bundles.
    pub counts: StageCounts,
    /// Of each category of the catalogue.
    pub categories: BTreeMap<String, StageCounts>,
}

/// The numbers on a bell: `3`, `99+`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StageCounts {
    pub new: String,
    pub unread: String,
}

impl StageFeed {
    /// Reads a page of the feed, as the house answers it. It names no category that has nothing; these are all.
    pub fn parse<'a>(
        answer: &StageAnswer,
        categories: impl IntoIterator<Item = &'a str>,
    ) -> anyhow::Result<Self> {
        let StageAnswer { status, body } = answer;
        ensure!(*status == 200, "the feed is answered {status}: {body}");
        let page: Value = serde_json::from_str(body)?;
        let counts = &page["counts"];
        let of_category = |name: &str| match &counts["categories"][name] {
            Value::Null => StageCounts { new: "0".to_owned(), unread: "0".to_owned() },
            counts => StageCounts::parse(counts),
        };
        let bundles = page["bundles"].as_array().map(Vec::as_slice).unwrap_or_default();
        Ok(Self {
            bundles: bundles.iter().map(describe_bundle).collect(),
            has_more: !page["next"].is_null(),
            counts: StageCounts::parse(counts),
            categories: categories.into_iter().map(|name| (name.to_owned(), of_category(name))).collect(),
        })
    }
}

impl StageCounts {
    fn parse(counts: &Value) -> Self {
        let count = |which: &str| {
            let more = if counts[which]["more"] == true { "+" } else { "" };
            format!("{}{more}", counts[which]["number"])
        };
        Self { new: count("new"), unread: count("unread") }
    }
}

fn describe_bundle(bundle: &Value) -> String {
    let is = |flag: &str| bundle[flag] == true;
    let state = match (is("new"), is("unread")) {
        (true, true) => "new",
        (true, false) => "new, read",
        (false, true) => "unread",
        (false, false) => "read",
    };
    let saved = if is("saved") { ", saved" } else { "" };
    format!("{} ({state}{saved})", bundle["says"].as_str().unwrap_or_default())
}

/// An answer of the intake.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StageAnswer {
    pub status: u16,
    pub body: String,
}

/// A mail as it left the house.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StageMail {
    pub channel: Channel,
    /// Without a sound.
    pub silent: bool,
    pub tenant: Tenant,
    pub person: Person,
    /// The address.
    pub to: String,
    pub headline: String,
    /// What it tells, by the house's own books.
    pub sections: Vec<StageMailSection>,
    /// What its reader gets.
    pub text: String,
    pub html: String,
}

/// A part of a mail.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StageMailSection {
    pub title: String,
    /// What its subjects are called, in order.
    pub items: Vec<String>,
}

/// An entry of a person.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StageEntry {
    pub at: UtcMillis,
    pub subject: String,
    /// What became of it on each channel.
    pub fates: Vec<(Channel, String)>,
}

impl StageEntry {
    /// Its fates as scenarios expect them.
    pub(crate) fn fate(&self) -> String {
        let fates: Vec<&str> = self.fates.iter().map(|(_, fate)| fate.as_str()).collect();
        fates.join(", ")
    }

    /// Its fates, each with the channel: `no longer true (mail), told (push)`.
    pub(crate) fn fates_by_channel(&self) -> String {
        let fate = |(channel, fate): &(Channel, String)| format!("{fate} ({})", channel_word(*channel));
        self.fates.iter().map(fate).collect::<Vec<_>>().join(", ")
    }
}

impl StageMail {
    /// Whether it is the one that a line of this tenant expects.
    pub(crate) fn fits(&self, expected: &ExpectedMail, tenant: &Tenant) -> bool {
        self.channel == expected.channel && self.tenant == *tenant && self.person == expected.person
    }
}

impl StageMailSection {
    /// As a scenario writes it: `title: item, item`.
    pub(crate) fn describe(&self) -> String {
        format!("{}: {}", self.title, self.items.join(", "))
    }
}

impl StageAnswer {
    /// What was accepted and is probably not what was meant.
    pub(crate) fn notes(&self) -> Vec<String> {
        let body: Value = serde_json::from_str(&self.body).unwrap_or_default();
        let notes = body["notes"].as_array().map(Vec::as_slice).unwrap_or_default();
        notes.iter().filter_map(|noted| noted["note"].as_str()).map(str::to_owned).collect()
    }

    /// Why things were refused; empty if all was taken.
    pub(crate) fn refusals(&self) -> Vec<String> {
        let body: Value = serde_json::from_str(&self.body).unwrap_or_default();
        let rejected = body["rejected"].as_array().map(Vec::as_slice).unwrap_or_default();
        let mut reasons: Vec<String> = rejected.iter().map(describe_rejection).collect();
        if reasons.is_empty() && !(200..300).contains(&self.status) {
            reasons.push(format!("{} {}", self.status, self.body));
        }
        reasons
    }
}

fn describe_rejection(rejected: &Value) -> String {
    let part = |name: &str| rejected[name].as_str().unwrap_or_default().to_owned();
    format!("{} (at {})", part("reason"), part("at"))
}
