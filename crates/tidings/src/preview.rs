//! A message before anybody gets it: of one kind, or all that waits as it would be told now, for one person who is known; by
//! the very code of digest and sender.
//!
//! [`gather`] reads what is known of the person and what it would tell, [`make`] makes the message; only the first reads
//! anything, and neither writes.

mod gather;
mod make;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use anyhow::Context as _;
use catalogue::{
    Catalogue, Problems,
    problem::{did_you_mean, one_of},
};
use model::{
    Channel, Kind, Millis, Person, PlanName, SubjectRef, Tenant, World, civil::Zones, plan::Plan,
    ready::Ready,
};
use render::{Listed, Renderer};
use sender::Links;
use serde::{Deserialize, Serialize};
use store::Store;
use topic::Topics;
use wire::token::{SECRET_BYTES, Secret};

pub use crate::explain::Refusal;
pub use gather::{Known, known, unknown};

/// What previews are made with, made once.
pub struct Studio {
    catalogue: Arc<Catalogue>,
    renderer: Renderer,
    zones: Zones,
    links: Links,
}

/// What is to be shown.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// Only of this kind; else what would be sent if it were released now.
    pub kind: Option<String>,
    pub person: String,
    /// Only what goes by this plan.
    pub plan: Option<String>,
    /// Only what goes by this channel.
    pub channel: Option<String>,
    /// As if it came about this one now.
    pub subject: Option<String>,
}

/// The message of one plan.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Preview {
    pub kind: Option<String>,
    pub plan: String,
    pub channel: String,
    pub of: Of,
    pub subjects: Vec<String>,
    /// What has to be said beside it, such as why it would not go out now.
    pub remarks: Vec<String>,
    pub headline: String,
    pub from: String,
    /// Whose it is, without saying where to write to.
    pub to: String,
    pub date: String,
    pub preheader: String,
    pub headers: Vec<(String, String)>,
    pub text: String,
    /// Of a mail.
    pub html: Option<String>,
    /// Of a push, by platform.
    pub cards: Vec<Card>,
}

/// What a preview tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Of {
    /// All that the person's window holds, as a release would send it now.
    Digest,
    /// Entries of the person that wait.
    Waiting,
    /// What would come if something happened to this subject now.
    Subject,
    /// Data that is made up from the catalogue's types.
    Example,
}

/// A push as devices of one platform show it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Card {
    pub platform: String,
    pub title: String,
    pub body: String,
    pub image: Option<String>,
    pub opens: Option<String>,
    pub badge: Option<u32>,
    /// What the service of its platform is given.
    pub payload: serde_json::Value,
}

/// Where a person is looked up.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    pub log: &'a dyn Topics,
    pub store: &'a dyn Store,
    pub tenant: &'a Tenant,
    pub now: Millis,
}

/// What is wrong with what was asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Slip {
    /// The field that it is about.
    pub at: &'static str,
    pub refusal: Refusal,
}

impl Slip {
    fn wrong(at: &'static str, why: impl Into<String>) -> Self {
        Self { at, refusal: Refusal::Wrong(why.into()) }
    }

    fn absent(at: &'static str, why: impl Into<String>) -> Self {
        Self { at, refusal: Refusal::Absent(why.into()) }
    }

    pub fn why(&self) -> &str {
        let (Refusal::Wrong(why) | Refusal::Absent(why)) = &self.refusal;
        why
    }
}

/// What was asked, understood.
struct Order<'a> {
    kind: &'a catalogue::KindDef,
    person: Person,
    plans: Vec<&'a Plan>,
    subject: Option<SubjectRef>,
}

impl Studio {
    /// Its links lead to the house and do nothing there: a preview is shown around, and its reader's mail is not to end
    /// by that.
    pub fn new(catalogue: Arc<Catalogue>, zones: Zones, public_url: &str) -> Result<Self, Problems> {
        let renderer = Renderer::new(&catalogue)?;
        let links = Links::new(public_url, Secret::new([0; SECRET_BYTES]));
        Ok(Self { catalogue, renderer, zones, links })
    }

    /// The message of each plan that was asked for, in the catalogue's order.
    pub async fn previews(&self, asked: &Asked, at: Place<'_>) -> anyhow::Result<Result<Vec<Preview>, Slip>> {
        let Some(kind) = &asked.kind else { return self.digests(asked, at).await };
        let order = match order(kind, asked, &self.catalogue) {
            Ok(order) => order,
            Err(slip) => return Ok(Err(slip)),
        };
        let known = gather::known(&order.person, at).await.context("what is known of the person")?;
        if known.is_nobody() {
            return Ok(Err(Slip::absent("person", gather::unknown(&order.person, at).await?)));
        }
        let mut previews = Vec::new();
        for plan in &order.plans {
            match gather::of_plan(&order, plan, &known, &self.catalogue, at).await? {
                Ok(sheet) => previews.push(self.make(&order, plan, &known, &sheet, at)?),
                Err(slip) => return Ok(Err(slip)),
            }
        }
        Ok(Ok(previews))
    }

    /// What each open window of somebody who is known would tell if it were released now, with the message that it
    /// would be.
    pub async fn coming(
        &self,
        person: &Person,
        known: &Known,
        at: Place<'_>,
    ) -> anyhow::Result<Vec<(Ready, Preview)>> {
        let plans = self.catalogue.plans.by_name.keys().cloned().collect();
        let wanted = Wanted { person: person.clone(), plans };
        let sheets = gather::digests(&wanted, known, &self.catalogue, &self.zones, at).await?;
        let of_sheet = |(ready, world): (Ready, World)| {
            let preview = self.digest(&ready, known, &world, at)?;
            Ok((ready, preview))
        };
        sheets.into_iter().map(of_sheet).collect()
    }

    /// What waits for somebody under these plans and would be told if it were released now, and how much more waits behind it.
    pub async fn rest(
        &self,
        person: &Person,
        plans: Vec<PlanName>,
        at: Place<'_>,
    ) -> anyhow::Result<(Vec<Listed>, usize)> {
        let wanted = Wanted { person: person.clone(), plans };
        let known = gather::known(person, at).await.context("what is known of the person")?;
        let (mut told, mut more) = (Vec::new(), 0);
        for (ready, world) in gather::digests(&wanted, &known, &self.catalogue, &self.zones, at).await? {
            told.extend(self.list(&ready, &known, &world, at)?);
            more += ready.more.iter().copied().map(usize::from).sum::<usize>();
        }
        Ok((told, more))
    }

    /// What a release by hand would send now: one message for each window that has something to tell.
    async fn digests(&self, asked: &Asked, at: Place<'_>) -> anyhow::Result<Result<Vec<Preview>, Slip>> {
        let wanted = match wanted(asked, &self.catalogue) {
            Ok(wanted) => wanted,
            Err(slip) => return Ok(Err(slip)),
        };
        let known = gather::known(&wanted.person, at).await.context("what is known of the person")?;
        if known.is_nobody() {
            return Ok(Err(Slip::absent("person", gather::unknown(&wanted.person, at).await?)));
        }
        let sheets = gather::digests(&wanted, &known, &self.catalogue, &self.zones, at).await?;
        if sheets.is_empty() {
            let why = format!("nothing waits for {} that would be sent now", wanted.person);
            return Ok(Err(Slip::absent("person", why)));
        }
        let of_sheet = |(ready, world): &(Ready, World)| self.digest(ready, &known, world, at);
        sheets.iter().map(of_sheet).collect::<anyhow::Result<Vec<Preview>>>().map(Ok)
    }
}

/// Whose digests are asked for, and of which plans.
struct Wanted {
    person: Person,
    plans: Vec<PlanName>,
}

fn wanted(asked: &Asked, catalogue: &Catalogue) -> Result<Wanted, Slip> {
    let person = Person::new(&asked.person).map_err(|error| Slip::wrong("person", error.to_string()))?;
    if asked.subject.is_some() {
        return Err(Slip::wrong("subject", "a subject needs the kind that tells of it"));
    }
    let channel = channel(asked)?;
    let all = &catalogue.plans.by_name;
    if let Some(plan) = asked.plan.as_deref().filter(|plan| !all.keys().any(|name| name.as_str() == *plan)) {
        let names = all.keys().map(PlanName::as_str);
        return Err(Slip::wrong("plan", no(&format!("there is no plan `{plan}`"), plan, names)));
    }
    let meant = |plan: &&Plan| {
        asked.plan.as_deref().is_none_or(|name| plan.name.as_str() == name)
            && channel.is_none_or(|channel| plan.channel == channel)
    };
    Ok(Wanted { person, plans: all.values().filter(meant).map(|plan| plan.name.clone()).collect() })
}

fn channel(asked: &Asked) -> Result<Option<Channel>, Slip> {
    match asked.channel.as_deref().map(|name| (name, Channel::parse(name))) {
        Some((name, None)) => {
            let names = Channel::ALL.map(Channel::name);
            Err(Slip::wrong("channel", no(&format!("there is no channel `{name}`"), name, names)))
        }
        Some((_, channel)) => Ok(channel),
        None => Ok(None),
    }
}

/// Understands what was asked, or says what was probably meant.
fn order<'a>(name: &str, asked: &Asked, catalogue: &'a Catalogue) -> Result<Order<'a>, Slip> {
    let wrong = |at, what: String| Err(Slip::wrong(at, what));
    let kinds = || catalogue.kinds.keys().map(Kind::as_str);
    let Some(kind) = catalogue.kinds.values().find(|kind| kind.name.as_str() == name) else {
        return wrong("kind", no(&format!("there is no kind `{name}`"), name, kinds()));
    };
    let person = match Person::new(&asked.person) {
        Ok(person) => person,
        Err(error) => return wrong("person", error.to_string()),
    };
    let channel = channel(asked)?;
    if let Some(plan) = asked.plan.as_deref().filter(|plan| !names(kind).any(|name| name == *plan)) {
        return wrong(
            "plan",
            no(&format!("kind `{}` is not told under `{plan}`", kind.name), plan, names(kind)),
        );
    }
    let offered = kind.plans.iter().filter_map(|name| catalogue.plans.by_name.get(name));
    let meant = |plan: &&Plan| {
        asked.plan.as_deref().is_none_or(|name| plan.name.as_str() == name)
            && channel.is_none_or(|channel| plan.channel == channel)
    };
    let plans: Vec<&Plan> = offered.filter(meant).collect();
    if let Some(channel) = channel.filter(|_| plans.is_empty()) {
        let under = asked.plan.as_ref().map_or_else(|| one_of(names(kind)), |plan| format!("`{plan}`"));
        return wrong("channel", format!("kind `{}` has no plan of channel {channel} in {under}", kind.name));
    }
    let subject = asked.subject.as_deref().map(|text| subject_of(text, kind, catalogue)).transpose()?;
    Ok(Order { kind, person, plans, subject })
}

fn names(kind: &catalogue::KindDef) -> impl Iterator<Item = &str> + Clone {
    kind.plans.iter().map(PlanName::as_str)
}

/// That something is not there, with what was probably meant, else with what there is.
fn no<'a>(what: &str, word: &str, names: impl IntoIterator<Item = &'a str> + Clone) -> String {
    let help = did_you_mean(word, names.clone()).unwrap_or_else(|| format!("there are {}", one_of(names)));
    format!("{what}: {help}")
}

fn subject_of(text: &str, kind: &catalogue::KindDef, catalogue: &Catalogue) -> Result<SubjectRef, Slip> {
    let subject = SubjectRef::new(text).map_err(|error| Slip::wrong("subject", error.to_string()))?;
    if subject.kind() == kind.subject() {
        return Ok(subject);
    }
    let what =
        format!("kind `{}` tells of a subject of type `{}`, not of {subject}", kind.name, kind.subject());
    Err(Slip::wrong(
        "subject",
        if catalogue.subjects.contains_key(subject.kind()) {
            what
        } else {
            no(&what, subject.kind(), [kind.subject()])
        },
    ))
}
