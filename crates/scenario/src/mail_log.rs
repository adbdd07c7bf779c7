//! What left the house: every acceptance of the outbox, with what its Ready and the journal say it told.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, bail};
use catalogue::Catalogue;
use courier::{mail_returns::WORD_HEADER, mime::SILENT_HEADER, outbox::OutboxCourier};
use languages::strip_isolates;
use model::{
    EntryKey, Person, ReadyId, SubjectRef, Tenant,
    person::profile,
    plan::{OncePer, Plan},
    ready::{Ready, ReadyEntry},
};
use render::MessageRenderer;
use stage::world::{StageMail, StageMailSection};
use store::{JournalOutcome, StateKey, Store};
use topic::Topics;
use wire::topics;

/// Records of one read.
const PAGE: usize = 1_000;

/// The mails so far, each looked up once: when it left, so that its subjects are called as they were then.
#[derive(Default)]
pub(super) struct ScenarioMailLog {
    pub mails: Vec<StageMail>,
    /// By which word the last mail of each comes back.
    pub words: BTreeMap<(Tenant, Person), String>,
    readys: BTreeMap<ReadyId, Ready>,
    /// How far each partition of each lane has been read.
    read: BTreeMap<(&'static str, u32), u64>,
}

impl ScenarioMailLog {
    /// Takes in what left since the last time. A mail that was accepted twice counts twice.
    pub async fn update(
        &mut self,
        outbox: &OutboxCourier,
        log: &dyn Topics,
        store: &dyn Store,
        catalogue: &Catalogue,
    ) -> anyhow::Result<()> {
        let accepted = outbox.read_acceptances().await?;
        for one in accepted.iter().skip(self.mails.len()) {
            if !self.readys.contains_key(&one.ready) {
                self.read_readys(log).await?;
            }
            let ready = self.readys.get(&one.ready).context("a mail was sent without a Ready")?;
            let mail =
                outbox.read_mail(&one.message_id).await?.context("a mail was accepted, but is not there")?;
            let header = |name| mail.header(name).unwrap_or_default().to_owned();
            if let Some(word) = mail.header(WORD_HEADER) {
                self.words.insert((ready.tenant.clone(), ready.person.clone()), word.to_owned());
            }
            let sections = read_sections(ready, store, catalogue).await?;
            self.mails.push(StageMail {
                channel: ready.channel,
                silent: mail.header(SILENT_HEADER).is_some(),
                tenant: ready.tenant.clone(),
                person: ready.person.clone(),
                to: header("to"),
                headline: header("subject"),
                sections,
                // Nobody who writes a scenario sees these characters.
                text: strip_isolates(&mail.text).into_owned(),
                html: strip_isolates(&mail.html).into_owned(),
            });
        }
        Ok(())
    }

    async fn read_readys(&mut self, log: &dyn Topics) -> anyhow::Result<()> {
        for lane in topics::READY_LANES {
            let bounds = log.bounds(lane).await?;
            for (partition, (_, end)) in (0..).zip(bounds) {
                let from = self.read.entry((lane, partition)).or_default();
                while *from < end {
                    let records = log.read(lane, partition, *from, PAGE).await?;
                    let Some(last) = records.last() else { break };
                    *from = last.offset + 1;
                    for record in &records {
                        let ready = wire::ready::decode(record.value.as_deref().unwrap_or_default())?;
                        self.readys.insert(ready.id, ready);
                    }
                }
            }
        }
        Ok(())
    }
}

/// What sections are called in the language of the mail's reader.
#[derive(Default)]
struct SectionTitles {
    /// Nothing where every title is said as it is written.
    spoken: Option<(MessageRenderer, Option<String>)>,
}

impl SectionTitles {
    async fn load(
        plan: &Plan,
        ready: &Ready,
        store: &dyn Store,
        catalogue: &Catalogue,
    ) -> anyhow::Result<Self> {
        if !plan.sections.iter().any(|section| render::is_title_template(&section.title)) {
            return Ok(Self::default());
        }
        let key = StateKey::Person(ready.tenant.clone(), ready.person.clone());
        let known = store.states(&[key]).await?.into_iter().next().unwrap_or_default();
        let language = known.text(profile::LANGUAGE).map(str::to_owned);
        Ok(Self { spoken: Some((MessageRenderer::new(catalogue)?, language)) })
    }

    fn say(&self, title: &str) -> String {
        let said = self
            .spoken
            .as_ref()
            .map(|(renderer, language)| renderer.section_title(title, language.as_deref()));
        said.unwrap_or_else(|| title.to_owned())
    }
}

/// What a mail told: of its Ready, the entries that its claim names.
async fn read_sections(
    ready: &Ready,
    store: &dyn Store,
    catalogue: &Catalogue,
) -> anyhow::Result<Vec<StageMailSection>> {
    let plan =
        catalogue.plans.by_name.get(&ready.plan).context("a mail was sent under a plan that is gone")?;
    let told = read_told_entries(ready, store).await?;
    let entries: Vec<&ReadyEntry> = ready.entries.iter().filter(|entry| told.contains(&entry.key)).collect();
    let names = read_names(ready, &entries, store, catalogue).await?;
    let titles = SectionTitles::load(plan, ready, store, catalogue).await?;
    let mut sections = Vec::new();
    for (number, section) in plan.sections.iter().enumerate() {
        let items: Vec<String> = subjects_of_section(plan, &entries, number)
            .into_iter()
            .map(|subject| names[subject].clone())
            .collect();
        if !items.is_empty() {
            sections.push(StageMailSection { title: titles.say(&section.title), items });
        }
    }
    Ok(sections)
}

async fn read_told_entries(ready: &Ready, store: &dyn Store) -> anyhow::Result<BTreeSet<EntryKey>> {
    let journalled = store.read_journal(&ready.tenant, &[ready.id]).await?.pop().unwrap_or_default();
    let sent = journalled.records.iter().find(|record| record.what == JournalOutcome::Sent);
    // A mail is accepted before it is recorded: without a record the last claim is the one that sent it.
    let claim = match sent {
        Some(record) => journalled.claims.iter().find(|claim| claim.attempt == record.attempt),
        None => journalled.claims.last(),
    };
    match claim {
        Some(claim) => Ok(claim.told.iter().copied().collect()),
        None => bail!("a mail was sent without a claim"),
    }
}

/// The subjects of one section, in order.
fn subjects_of_section<'a>(plan: &Plan, entries: &[&'a ReadyEntry], section: usize) -> Vec<&'a SubjectRef> {
    let mut subjects: Vec<&SubjectRef> = Vec::new();
    for entry in entries.iter().filter(|entry| usize::from(entry.section) == section) {
        if plan.once_per == OncePer::Event || !subjects.contains(&&entry.subject) {
            subjects.push(&entry.subject);
        }
    }
    subjects
}

/// What subjects are called now; one without a name is called by its reference.
async fn read_names(
    ready: &Ready,
    entries: &[&ReadyEntry],
    store: &dyn Store,
    catalogue: &Catalogue,
) -> anyhow::Result<BTreeMap<SubjectRef, String>> {
    let subjects: BTreeSet<&SubjectRef> = entries.iter().map(|entry| &entry.subject).collect();
    let key = |subject: &&SubjectRef| StateKey::Subject(ready.tenant.clone(), (*subject).clone());
    let keys: Vec<StateKey> = subjects.iter().map(key).collect();
    let states = store.states(&keys).await?;
    let name = |(subject, state): (&SubjectRef, model::VersionedState)| {
        let called = catalogue.subjects.get(subject.kind()).and_then(|of| of.called.as_deref());
        let name = called.and_then(|field| state.text(field)).unwrap_or(subject.as_str());
        (subject.clone(), name.to_owned())
    };
    Ok(subjects.into_iter().zip(states).map(name).collect())
}
