//! The preview of a message: of one kind, or everything that waits for a known person, as it would be told now; made by
//! the code of digest and sender.
//!
//! [`load`] reads what is known of the person and what it would tell, [`message`] makes the message; only the first reads
//! anything, and neither writes.

mod load;
mod message;
mod sheet;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use anyhow::Context as _;
use catalogue::Catalogue;
use model::{
    Channel, Kind, Person, PlanName, SubjectRef, Tenant, UtcMillis, WorldSnapshot, civil_time::ZoneRules,
    plan::Plan, ready::Ready,
};
use render::{ListedItem, MessageRenderer};
use schemars::JsonSchema;
use sender::MailLinks;
use serde::{Deserialize, Serialize};
use source_text::{TextProblems, did_you_mean, list_choices};
use store::Store;
use topic::Topics;
use wire::token::{LinkSecret, SECRET_BYTES};

pub use crate::explain::LookupRefusal;
pub use load::{describe_unknown_person, load_known_person};
pub use sheet::LoadedPerson;

/// What previews are made with, made once.
pub struct PreviewStudio {
    catalogue: Arc<Catalogue>,
    renderer: MessageRenderer,
    zones: ZoneRules,
    links: MailLinks,
}

/// What is to be shown.
#[derive(Clone, PartialEq, Eq, Debug, Default, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PreviewRequest {
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
#[derive(Clone, PartialEq, Debug, JsonSchema, Serialize, Deserialize)]
pub struct MessagePreview {
    pub kind: Option<String>,
    pub plan: String,
    pub channel: String,
    pub of: PreviewSource,
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
    pub cards: Vec<PreviewCard>,
}

/// What a preview tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PreviewSource {
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
#[derive(Clone, PartialEq, Debug, JsonSchema, Serialize, Deserialize)]
pub struct PreviewCard {
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
pub struct LookupContext<'a> {
    pub log: &'a dyn Topics,
    pub store: &'a dyn Store,
    pub tenant: &'a Tenant,
    pub now: UtcMillis,
}

/// The problem with a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PreviewError {
    /// The field that it is about.
    pub at: &'static str,
    pub refusal: LookupRefusal,
}

impl PreviewError {
    fn wrong(at: &'static str, why: impl Into<String>) -> Self {
        Self { at, refusal: LookupRefusal::Wrong(why.into()) }
    }

    fn absent(at: &'static str, why: impl Into<String>) -> Self {
        Self { at, refusal: LookupRefusal::Absent(why.into()) }
    }

    pub fn reason(&self) -> &str {
        let (LookupRefusal::Wrong(why) | LookupRefusal::Absent(why)) = &self.refusal;
        why
    }
}

/// The request, parsed.
struct PreviewOrder<'a> {
    kind: &'a catalogue::KindDef,
    person: Person,
    plans: Vec<&'a Plan>,
    subject: Option<SubjectRef>,
}

impl PreviewStudio {
    /// Its links lead to the house and do nothing there: a preview is shown around, and its reader's mail is not to end
    /// by that.
    pub fn new(catalogue: Arc<Catalogue>, zones: ZoneRules, public_url: &str) -> Result<Self, TextProblems> {
        let renderer = MessageRenderer::new(&catalogue)?;
        let links = MailLinks::new(public_url, LinkSecret::new([0; SECRET_BYTES]));
        Ok(Self { catalogue, renderer, zones, links })
    }

    /// What somebody calls the messages of a plan, in the language that their profile states.
    pub fn plan_title(&self, person: &Person, plan: &PlanName, stated: Option<&str>) -> String {
        self.renderer.for_person(person).plan_title(plan, stated)
    }

    /// What somebody calls a category, in the language that their profile states.
    pub fn category_title(&self, person: &Person, name: &str, stated: Option<&str>) -> String {
        self.renderer.for_person(person).category_title(name, stated)
    }

    /// The title of a section for somebody, in the language that their profile states.
    pub fn section_title(&self, person: &Person, title: &str, stated: Option<&str>) -> String {
        self.renderer.for_person(person).section_title(title, stated)
    }

    /// The one that the person has of whom it is asked; who is named wrongly is refused later.
    fn catalogue_of(&self, asked: &PreviewRequest) -> &Catalogue {
        let person = Person::new(&asked.person).ok();
        person.map_or(&self.catalogue, |person| self.catalogue.for_person(&person))
    }

    /// The message of each plan that was asked for, in the catalogue's order.
    pub async fn build_previews(
        &self,
        asked: &PreviewRequest,
        at: LookupContext<'_>,
    ) -> anyhow::Result<Result<Vec<MessagePreview>, PreviewError>> {
        let Some(kind) = &asked.kind else { return self.preview_digests(asked, at).await };
        let catalogue = self.catalogue_of(asked);
        let order = match parse_order(kind, asked, catalogue) {
            Ok(order) => order,
            Err(slip) => return Ok(Err(slip)),
        };
        let known = load::load_known_person(&order.person, at).await.context("load the person")?;
        if known.is_nobody() {
            return Ok(Err(PreviewError::absent(
                "person",
                load::describe_unknown_person(&order.person, at).await?,
            )));
        }
        let mut previews = Vec::new();
        for plan in &order.plans {
            match load::load_plan_sheet(&order, plan, &known, catalogue, at).await? {
                Ok(sheet) => previews.push(self.preview_plan(&order, plan, &known, &sheet, at)?),
                Err(slip) => return Ok(Err(slip)),
            }
        }
        Ok(Ok(previews))
    }

    /// What each open window of somebody who is known would tell if it were released now, with the message that it
    /// would be.
    pub async fn preview_windows(
        &self,
        person: &Person,
        known: &LoadedPerson,
        at: LookupContext<'_>,
    ) -> anyhow::Result<Vec<(Ready, MessagePreview)>> {
        let plans = self.catalogue.for_person(person).plans.by_name.keys().cloned().collect();
        let wanted = DigestPreviewOrder { person: person.clone(), plans };
        let sheets = load::load_digests(&wanted, known, &self.catalogue, &self.zones, at).await?;
        let of_sheet = |(ready, world): (Ready, WorldSnapshot)| {
            let preview = self.preview_digest(&ready, known, &world, at)?;
            Ok((ready, preview))
        };
        sheets.into_iter().map(of_sheet).collect()
    }

    /// What waits for somebody under these plans and would be told if it were released now, and how much more waits behind it.
    pub async fn list_rest(
        &self,
        person: &Person,
        plans: Vec<PlanName>,
        at: LookupContext<'_>,
    ) -> anyhow::Result<(Vec<ListedItem>, usize)> {
        let wanted = DigestPreviewOrder { person: person.clone(), plans };
        let known = load::load_known_person(person, at).await.context("load the person")?;
        let (mut told, mut more) = (Vec::new(), 0);
        for (ready, world) in load::load_digests(&wanted, &known, &self.catalogue, &self.zones, at).await? {
            told.extend(self.list_entries(&ready, &known, &world, at)?);
            more += ready.more.iter().copied().map(usize::from).sum::<usize>();
        }
        Ok((told, more))
    }

    /// What a release by hand would send now: one message for each window that has something to tell.
    async fn preview_digests(
        &self,
        asked: &PreviewRequest,
        at: LookupContext<'_>,
    ) -> anyhow::Result<Result<Vec<MessagePreview>, PreviewError>> {
        let wanted = match parse_digest_order(asked, self.catalogue_of(asked)) {
            Ok(wanted) => wanted,
            Err(slip) => return Ok(Err(slip)),
        };
        let known = load::load_known_person(&wanted.person, at).await.context("load the person")?;
        if known.is_nobody() {
            return Ok(Err(PreviewError::absent(
                "person",
                load::describe_unknown_person(&wanted.person, at).await?,
            )));
        }
        let sheets = load::load_digests(&wanted, &known, &self.catalogue, &self.zones, at).await?;
        if sheets.is_empty() {
            let why = format!("no waiting entry of {} would be sent now", wanted.person);
            return Ok(Err(PreviewError::absent("person", why)));
        }
        let of_sheet =
            |(ready, world): &(Ready, WorldSnapshot)| self.preview_digest(ready, &known, world, at);
        sheets.iter().map(of_sheet).collect::<anyhow::Result<Vec<MessagePreview>>>().map(Ok)
    }
}

/// Whose digests are asked for, and of which plans.
struct DigestPreviewOrder {
    person: Person,
    plans: Vec<PlanName>,
}

fn parse_digest_order(
    asked: &PreviewRequest,
    catalogue: &Catalogue,
) -> Result<DigestPreviewOrder, PreviewError> {
    let person =
        Person::new(&asked.person).map_err(|error| PreviewError::wrong("person", error.to_string()))?;
    if asked.subject.is_some() {
        return Err(PreviewError::wrong("subject", "name the kind, too: a subject can be told by several"));
    }
    let channel = channel(asked)?;
    let all = &catalogue.plans.by_name;
    if let Some(plan) = asked.plan.as_deref().filter(|plan| !all.keys().any(|name| name.as_str() == *plan)) {
        let names = all.keys().map(PlanName::as_str);
        return Err(PreviewError::wrong(
            "plan",
            describe_unknown(&format!("there is no plan `{plan}`"), plan, names),
        ));
    }
    let meant = |plan: &&Plan| {
        asked.plan.as_deref().is_none_or(|name| plan.name.as_str() == name)
            && channel.is_none_or(|channel| plan.channel == channel)
    };
    Ok(DigestPreviewOrder {
        person,
        plans: all.values().filter(meant).map(|plan| plan.name.clone()).collect(),
    })
}

fn channel(asked: &PreviewRequest) -> Result<Option<Channel>, PreviewError> {
    match asked.channel.as_deref().map(|name| (name, Channel::parse(name))) {
        Some((name, None)) => {
            let names = Channel::ALL.map(Channel::name);
            Err(PreviewError::wrong(
                "channel",
                describe_unknown(&format!("there is no channel `{name}`"), name, names),
            ))
        }
        Some((_, channel)) => Ok(channel),
        None => Ok(None),
    }
}

/// Understands what was asked, or says what was probably meant.
fn parse_order<'a>(
    name: &str,
    asked: &PreviewRequest,
    catalogue: &'a Catalogue,
) -> Result<PreviewOrder<'a>, PreviewError> {
    let wrong = |at, what: String| Err(PreviewError::wrong(at, what));
    let kinds = || catalogue.kinds.keys().map(Kind::as_str);
    let Some(kind) = catalogue.kinds.values().find(|kind| kind.name.as_str() == name) else {
        return wrong("kind", describe_unknown(&format!("there is no kind `{name}`"), name, kinds()));
    };
    let person = match Person::new(&asked.person) {
        Ok(person) => person,
        Err(error) => return wrong("person", error.to_string()),
    };
    let channel = channel(asked)?;
    if let Some(plan) = asked.plan.as_deref().filter(|plan| !names(kind).any(|name| name == *plan)) {
        return wrong(
            "plan",
            describe_unknown(&format!("kind `{}` is not told under `{plan}`", kind.name), plan, names(kind)),
        );
    }
    let offered = kind.plans.iter().filter_map(|name| catalogue.plans.by_name.get(name));
    let meant = |plan: &&Plan| {
        asked.plan.as_deref().is_none_or(|name| plan.name.as_str() == name)
            && channel.is_none_or(|channel| plan.channel == channel)
    };
    let plans: Vec<&Plan> = offered.filter(meant).collect();
    if let Some(channel) = channel.filter(|_| plans.is_empty()) {
        let under = asked.plan.as_ref().map_or_else(|| list_choices(names(kind)), |plan| format!("`{plan}`"));
        return wrong("channel", format!("kind `{}` has no plan on {channel} in {under}", kind.name));
    }
    let subject = asked.subject.as_deref().map(|text| subject_of(text, kind, catalogue)).transpose()?;
    Ok(PreviewOrder { kind, person, plans, subject })
}

fn names(kind: &catalogue::KindDef) -> impl Iterator<Item = &str> + Clone {
    kind.plans.iter().map(PlanName::as_str)
}

/// The message for an unknown name, with the nearest name, or else all names.
fn describe_unknown<'a>(what: &str, word: &str, names: impl IntoIterator<Item = &'a str> + Clone) -> String {
    let help = did_you_mean(word, names.clone()).unwrap_or_else(|| format!("use {}", list_choices(names)));
    format!("{what}: {help}")
}

fn subject_of(
    text: &str,
    kind: &catalogue::KindDef,
    catalogue: &Catalogue,
) -> Result<SubjectRef, PreviewError> {
    let subject = SubjectRef::new(text).map_err(|error| PreviewError::wrong("subject", error.to_string()))?;
    if subject.kind() == kind.subject() {
        return Ok(subject);
    }
    let what =
        format!("kind `{}` tells of a subject of type `{}`, not of {subject}", kind.name, kind.subject());
    Err(PreviewError::wrong(
        "subject",
        if catalogue.subjects.contains_key(subject.kind()) {
            what
        } else {
            describe_unknown(&what, subject.kind(), [kind.subject()])
        },
    ))
}
