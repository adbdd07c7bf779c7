//! Makes the mail of a checked Ready.

use std::collections::BTreeMap;

use anyhow::Context as _;
use catalogue::Catalogue;
use courier::Message;
use model::{
    Kind, Reason, State, SubjectRef, Tenant,
    civil::Zones,
    person::profile,
    plan::{OncePer, Plan},
    ready::{Ready, ReadyEntry},
};
use render::{ItemInput, MailInput, Renderer, SectionInput};

use crate::check::{Checked, Facts};

/// What a mail is made with.
pub struct Making<'a> {
    pub catalogue: &'a Catalogue,
    pub renderer: &'a Renderer,
    pub zones: &'a Zones,
    pub subjects: &'a BTreeMap<(Tenant, SubjectRef), State>,
}

impl Making<'_> {
    /// The message for what is left of a Ready. From the same facts the same bytes.
    pub fn message(&self, ready: &Ready, facts: &Facts, checked: &Checked) -> anyhow::Result<Message> {
        let plan =
            self.catalogue.plans.by_name.get(&ready.plan).context("the plan is not in the catalogue")?;
        let mail = self.catalogue.mails.get(&ready.plan).context("the plan has no mail")?;
        let of_tenant = self.subjects.iter().filter(|((tenant, _), _)| *tenant == ready.tenant);
        let related: BTreeMap<SubjectRef, State> =
            of_tenant.map(|((_, subject), state)| (subject.clone(), state.clone())).collect();
        let zone = self.zones.get_or_utc(facts.profile.text(profile::ZONE));
        let said = said(plan, &checked.told);
        let nothing = State::default();
        let rendered = self
            .renderer
            .mail(&MailInput {
                plan: &ready.plan,
                name: facts.profile.text(profile::NAME),
                zone: &zone,
                due: ready.due,
                sections: &sections(plan, &said, &ready.more, &related, &nothing),
                related: &related,
            })
            .with_context(|| format!("plan {}", ready.plan))?;
        Ok(Message {
            tenant: ready.tenant.clone(),
            ready: ready.id,
            message_id: message_id(ready, &mail.from),
            from: mail.from.clone(),
            to: facts.profile.text(profile::EMAIL).context("no address")?.to_owned(),
            headline: rendered.headline,
            preheader: rendered.preheader,
            html: rendered.html,
            text: rendered.text,
            date: ready.due,
            headers: vec![("Auto-Submitted".into(), "auto-generated".into())],
        })
    }
}

/// The Ready's own id at the sender's domain: a repeated message is the same message to its receiver.
pub fn message_id(ready: &Ready, from: &str) -> String {
    let domain = from.rsplit_once('@').map_or("localhost", |(_, domain)| domain.trim_end_matches('>'));
    format!("{}@{domain}", ready.id)
}

/// One thing to say, once, with every reason for it.
struct Said {
    kind: Kind,
    subject: SubjectRef,
    reasons: Vec<Reason>,
    maybe: bool,
}

/// What each section of the plan has to say, in order; what is said once is one item.
fn said(plan: &Plan, told: &[ReadyEntry]) -> Vec<Vec<Said>> {
    let mut sections: Vec<Vec<Said>> = plan.sections.iter().map(|_| Vec::new()).collect();
    for entry in told {
        let Some(section) = plan.sections.get(usize::from(entry.section)) else { continue };
        let items = &mut sections[usize::from(entry.section)];
        let same =
            items.iter_mut().find(|item| plan.once_per == OncePer::Subject && item.subject == entry.subject);
        if let Some(item) = same {
            let new = entry.reasons.iter().filter(|reason| !item.reasons.contains(reason)).cloned();
            let new: Vec<Reason> = new.collect();
            item.reasons.extend(new);
            item.maybe |= entry.maybe;
            continue;
        }
        // Said in the words of a kind that this section tells.
        let kinds = || entry.reasons.iter().map(|reason| &reason.kind);
        let kind = kinds().find(|kind| section.kinds.contains(kind)).or_else(|| kinds().next());
        let Some(kind) = kind.cloned() else { continue };
        let (subject, reasons, maybe) = (entry.subject.clone(), entry.reasons.clone(), entry.maybe);
        items.push(Said { kind, subject, reasons, maybe });
    }
    sections
}

/// The sections that have something to say, as the renderer wants them.
fn sections<'a>(
    plan: &'a Plan,
    said: &'a [Vec<Said>],
    more: &[u16],
    related: &'a BTreeMap<SubjectRef, State>,
    nothing: &'a State,
) -> Vec<SectionInput<'a>> {
    let item = |said: &'a Said| ItemInput {
        kind: &said.kind,
        subject: &said.subject,
        state: related.get(&said.subject).unwrap_or(nothing),
        reasons: &said.reasons,
        maybe: said.maybe,
    };
    let more = |index: usize| more.get(index).copied().map_or(0, usize::from);
    let filled = plan.sections.iter().zip(said).enumerate().filter(|(_, (_, said))| !said.is_empty());
    filled
        .map(|(index, (section, said))| SectionInput {
            title: &section.title,
            items: said.iter().map(item).collect(),
            more: more(index),
        })
        .collect()
}
