//! Makes the message of a checked Ready.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context as _;
use catalogue::Catalogue;
use courier::{
    CallItem, CallPayload, MailPayload, Message, MessageLink, MessageLinks, MessagePayload, PushPayload,
};
use model::{
    Channel, EntryKey, EntryReason, Kind, SubjectRef, UtcMillis, VersionedState, WorldSnapshot,
    civil_time::ZoneRules,
    device::{self, DevicePlatform},
    hook::Hook,
    person::profile,
    plan::{OncePer, Plan},
    ready::{Ready, ReadyEntry},
    world::TenantSnapshot,
};
use render::{
    ItemInput, ItemWords, ListedItem, MailInput, MessageRenderer, SectionInput, find_mail_scope, less_query,
};
use room::item_words::collect_words;

use crate::{
    badge::IconNews,
    check::{CheckedReady, section_of_entry},
    facts::SenderFacts,
    links::MailLinks,
    returns::ReturnAddresses,
};

/// What a message is made with.
pub struct MessageMaker<'a> {
    pub catalogue: &'a Catalogue,
    pub renderer: &'a MessageRenderer,
    pub zones: &'a ZoneRules,
    pub world: &'a WorldSnapshot,
    pub links: Option<&'a MailLinks>,
    pub returns: Option<&'a ReturnAddresses>,
    pub now: UtcMillis,
}

/// A message has the date on which it was due, the same at every try, unless it leaves so much later than that: then
/// readers would find it below what they have read, and its words for days would be wrong.
const LATE_MS: i64 = 24 * 3_600_000;

impl MessageMaker<'_> {
    /// By which a message is dated.
    fn date_of(&self, ready: &Ready) -> UtcMillis {
        if self.now.since(ready.due) > LATE_MS { self.now } else { ready.due }
    }

    /// The message for what is left of a Ready. From the same facts the same bytes.
    pub fn message(
        &self,
        ready: &Ready,
        facts: &SenderFacts,
        checked: &CheckedReady,
    ) -> anyhow::Result<Message> {
        let (headline, text, way) = self.render_with(ready, facts, checked, |input| match ready.channel {
            _ if ready.is_wordless() => {
                Ok((String::new(), String::new(), self.make_wordless_push(ready, facts)))
            }
            Channel::Email => self.make_mail(ready, facts, input),
            Channel::Push => self.make_push(ready, facts, input),
            Channel::Hook(hook) => self.make_call(hook, ready, facts, input),
        })?;
        let message_id = message_id(ready, sender_of(ready, self.catalogue));
        let (tenant, ready, date) = (ready.tenant.clone(), ready.teller(), self.date_of(ready));
        Ok(Message { tenant, ready, message_id, headline, text, date, way })
    }

    /// What that message would tell, as a list.
    pub fn list_items(
        &self,
        ready: &Ready,
        facts: &SenderFacts,
        checked: &CheckedReady,
    ) -> anyhow::Result<Vec<ListedItem>> {
        self.render_with(ready, facts, checked, |input| Ok(self.renderer.render_list(input)?))
    }

    /// With what a message for what is left of a Ready is rendered.
    fn render_with<T>(
        &self,
        ready: &Ready,
        facts: &SenderFacts,
        checked: &CheckedReady,
        make: impl FnOnce(&MailInput<'_>) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let plan =
            self.catalogue.plans.by_name.get(&ready.plan).context("the plan is not in the catalogue")?;
        let unknown = TenantSnapshot::default();
        let TenantSnapshot { subjects: related, persons, .. } =
            self.world.get(&ready.tenant).unwrap_or(&unknown);
        let zone = self.zones.get_or_utc(facts.profile.text(profile::ZONE));
        let said = group_items((plan, self.catalogue), &checked.told, facts);
        let nothing = VersionedState::default();
        let link = self.links.map(|links| links.unsubscribe(ready));
        let slots = self.catalogue.mails.get(&ready.plan).and_then(|mail| mail.slots.as_deref());
        let slots = slots.zip(self.links).and_then(|(list, links)| links.slots(ready, list));
        let input = MailInput {
            plan: &ready.plan,
            name: facts.profile.text(profile::NAME),
            language: facts.profile.text(profile::LANGUAGE),
            zone: &zone,
            due: self.date_of(ready),
            sections: &section_inputs(plan, &said, &ready.more, related, &nothing),
            related,
            persons,
            // No message says how far something is from a place that is only guessed.
            place: facts.profile.place(profile::PLACE),
            variant: wording_variant(ready),
            unsubscribe: link.as_deref(),
            slots: slots.as_deref(),
        };
        make(&input).with_context(|| format!("plan {}", ready.plan))
    }

    /// The entries of which no message can be made, each by itself.
    pub fn unwritable_entries(
        &self,
        ready: &Ready,
        facts: &SenderFacts,
        checked: &CheckedReady,
    ) -> BTreeSet<EntryKey> {
        let alone = |entry: &ReadyEntry| CheckedReady { told: vec![entry.clone()], left: Vec::new() };
        let fails = |entry: &&ReadyEntry| self.message(ready, facts, &alone(entry)).is_err();
        checked.told.iter().filter(fails).flat_map(ReadyEntry::keys).collect()
    }

    fn make_mail(
        &self,
        ready: &Ready,
        facts: &SenderFacts,
        input: &MailInput<'_>,
    ) -> anyhow::Result<(String, String, MessagePayload)> {
        let catalogue::MailTemplates { from, counts, .. } =
            self.catalogue.mails.get(&ready.plan).context("the plan has no mail")?;
        let rendered = self.renderer.render_mail(input)?;
        let html = match self.links {
            Some(links) => links.with_counted_links(rendered.html, ready, *counts)?,
            None => rendered.html,
        };
        // One click ends what the mail is about, where its plan keeps things apart.
        let plan = self.catalogue.plans.by_name.get(&ready.plan);
        let items = || input.sections.iter().flat_map(|section| &section.items);
        let scope = plan.and_then(|plan| find_mail_scope(plan, self.catalogue, items()));
        let stop = input.unsubscribe.map(|link| match scope {
            Some(scope) => format!("{link}{}", less_query(scope)),
            None => link.to_owned(),
        });
        let mail = MailPayload {
            from: from.clone(),
            to: facts.profile.text(profile::EMAIL).context("no address")?.to_owned(),
            preheader: rendered.preheader,
            html,
            return_path: self.returns.map(|returns| returns.path(ready.id)),
            headers: [
                mail_headers(ready, &self.catalogue.name, from, stop.as_deref()),
                self.returns.map(|returns| returns.headers(ready.id)).unwrap_or_default(),
            ]
            .concat(),
        };
        Ok((rendered.headline, rendered.text, MessagePayload::Mail(mail)))
    }

    /// A push without words, which only sets the number on the icon, and takes away what was revoked.
    fn make_wordless_push(&self, ready: &Ready, facts: &SenderFacts) -> MessagePayload {
        let mut devices = device::read_devices(&facts.profile);
        devices.retain(|device| device.platform != DevicePlatform::Web);
        let IconNews { number, withdrawn } = self.icon_news(ready, facts);
        MessagePayload::Push(PushPayload {
            devices,
            longer: String::new(),
            image: None,
            opens: None,
            links: MessageLinks::default(),
            silent: true,
            badge: number,
            wordless: true,
            replaces: false,
            withdrawn,
            expires: ready.expires,
        })
    }

    fn icon_news(&self, ready: &Ready, facts: &SenderFacts) -> IconNews {
        IconNews::find(ready, facts, (self.world, self.catalogue), self.now)
    }

    fn make_push(
        &self,
        ready: &Ready,
        facts: &SenderFacts,
        input: &MailInput<'_>,
    ) -> anyhow::Result<(String, String, MessagePayload)> {
        let rendered = self.renderer.render_push(input)?;
        let icon = ready.badge.then(|| self.icon_news(ready, facts));
        let push = PushPayload {
            devices: device::read_devices(&facts.profile),
            longer: rendered.longer,
            image: rendered.image,
            opens: rendered.opens,
            links: self.message_links(ready, input),
            silent: ready.silent,
            badge: icon.as_ref().and_then(|icon| icon.number),
            wordless: false,
            replaces: ready.renews.is_some(),
            withdrawn: icon.map(|icon| icon.withdrawn).unwrap_or_default(),
            expires: ready.expires,
        };
        Ok((rendered.headline, rendered.body, MessagePayload::Push(push)))
    }

    /// Where a push or a call leads, beside what it is about.
    fn message_links(&self, ready: &Ready, input: &MailInput<'_>) -> MessageLinks {
        let language = self.catalogue.language_for(input.language);
        let link = |address: String, sentence| MessageLink {
            address,
            title: language.house_sentence(sentence, &[]),
        };
        MessageLinks {
            read: self.links.and_then(|links| links.read(ready)).map(|address| link(address, "push-read")),
            settings: input.unsubscribe.map(|page| link(format!("{page}/settings"), "push-settings")),
        }
    }

    /// What a section tells, for programs.
    fn call_items(&self, section: &SectionInput<'_>, language: Option<&str>) -> Vec<CallItem> {
        let title = self.renderer.section_title(section.title, language);
        let item = |item: &ItemInput<'_>| CallItem {
            section: title.clone(),
            kind: item.kind.clone(),
            subject: item.subject.clone(),
            maybe: item.maybe,
            count: item.words.count,
        };
        section.items.iter().map(item).collect()
    }

    fn make_call(
        &self,
        hook: Hook,
        ready: &Ready,
        facts: &SenderFacts,
        input: &MailInput<'_>,
    ) -> anyhow::Result<(String, String, MessagePayload)> {
        let rendered = self.renderer.render_push(input)?;
        let call = CallPayload {
            hook,
            address: facts.profile.text(hook.name()).context("no address")?.to_owned(),
            person: ready.person.clone(),
            plan: ready.plan.clone(),
            longer: rendered.longer,
            image: rendered.image,
            opens: rendered.opens,
            links: self.message_links(ready, input),
            silent: ready.silent,
            told: input
                .sections
                .iter()
                .flat_map(|section| self.call_items(section, input.language))
                .collect(),
            expires: ready.expires,
        };
        Ok((rendered.headline, rendered.body, MessagePayload::Call(call)))
    }
}

/// Law 6: from the same facts the same words.
fn wording_variant(ready: &Ready) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&ready.teller().0[..8]);
    u64::from_be_bytes(bytes)
}

/// What mailboxes and mail servers are told beside the mail: that nobody wrote it by hand, which list it is
/// of (RFC 2919), what complaints are counted by, which mails belong together, and how to get no more of it, with
/// one click if they offer that (RFC 2369, RFC 8058).
fn mail_headers(ready: &Ready, catalogue: &str, from: &str, link: Option<&str>) -> Vec<(String, String)> {
    let list = [ready.plan.as_str(), catalogue, mailbox_domain(from)].map(plain_word).join(".");
    let feedback = [ready.plan.as_str(), catalogue, ready.tenant.as_str()].map(plain_word).join(":");
    let mut headers = vec![
        ("Auto-Submitted", "auto-generated".to_owned()),
        ("List-Id", format!("<{list}>")),
        ("Feedback-ID", format!("{feedback}:tidings")),
    ];
    if !ready.key.is_empty() {
        let first = format!("<{}>", thread_id(ready, from));
        headers.extend([("In-Reply-To", first.clone()), ("References", first)]);
    }
    if let Some(link) = link {
        headers.push(("List-Unsubscribe", format!("<{link}>")));
        headers.push(("List-Unsubscribe-Post", "List-Unsubscribe=One-Click".to_owned()));
    }
    headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The id of a mail that never was, to which all mails of a window's key reply: so a mailbox shows them as one talk.
fn thread_id(ready: &Ready, from: &str) -> String {
    let Ready { tenant, person, plan, key, .. } = ready;
    format!(
        "{}@{}",
        model::ready::derive_ready_id(tenant, person, plan, key, UtcMillis(i64::MIN), 0),
        mailbox_domain(from)
    )
}

/// A word without what has a meaning between words.
fn plain_word(text: &str) -> String {
    let good = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    text.chars().map(good).collect()
}

/// The Ready's own id at the sender's domain: a repeated message is the same message to its receiver.
pub fn message_id(ready: &Ready, from: &str) -> String {
    format!("{}@{}", ready.id, mailbox_domain(from))
}

/// Who a message is from, where its channel has senders.
pub fn sender_of<'a>(ready: &Ready, catalogue: &'a Catalogue) -> &'a str {
    catalogue.mails.get(&ready.plan).map_or("", |mail| mail.from.as_str())
}

/// Where a mailbox is.
pub fn mailbox_domain(mailbox: &str) -> &str {
    mailbox.rsplit_once('@').map_or("localhost", |(_, domain)| domain.trim_end_matches('>'))
}

/// One thing to say, once, with every reason for it.
struct SectionItem {
    kind: Kind,
    subject: SubjectRef,
    reasons: Vec<EntryReason>,
    maybe: bool,
    words: ItemWords,
}

/// What each section of the plan has to say, in order; what is said once is one item with every reason.
fn group_items(
    (plan, catalogue): (&Plan, &Catalogue),
    told: &[ReadyEntry],
    facts: &SenderFacts,
) -> Vec<Vec<SectionItem>> {
    let mut sections: Vec<Vec<SectionItem>> = plan.sections.iter().map(|_| Vec::new()).collect();
    for entry in told {
        let Some((section, kind)) = section_of_entry(plan, entry) else { continue };
        let has_bundles = |kind: &Kind| catalogue.kinds.get(kind).is_some_and(|kind| kind.bundle.is_some());
        let says_once = plan.once_per != OncePer::Event && !has_bundles(&kind);
        let same =
            |item: &&mut SectionItem| says_once && item.subject == entry.subject && !has_bundles(&item.kind);
        if let Some(item) = sections.iter_mut().flatten().find(same) {
            let new = entry.reasons.iter().filter(|reason| !item.reasons.contains(reason)).cloned();
            let new: Vec<EntryReason> = new.collect();
            item.reasons.extend(new);
            item.maybe |= entry.maybe;
            continue;
        }
        let (subject, reasons, maybe) = (entry.subject.clone(), entry.reasons.clone(), entry.maybe);
        let find = |key| facts.view.get(key);
        let words = collect_words(entry.key, entry.keys().collect(), &find, &facts.erased);
        if let Some(items) = sections.get_mut(section) {
            items.push(SectionItem { kind, subject, reasons, maybe, words });
        }
    }
    sections
}

/// The sections as the renderer wants them; one that says nothing may have more that waits.
fn section_inputs<'a>(
    plan: &'a Plan,
    said: &'a [Vec<SectionItem>],
    more: &[u16],
    related: &'a BTreeMap<SubjectRef, VersionedState>,
    nothing: &'a VersionedState,
) -> Vec<SectionInput<'a>> {
    let item = |said: &'a SectionItem| ItemInput {
        kind: &said.kind,
        subject: &said.subject,
        state: related.get(&said.subject).unwrap_or(nothing),
        reasons: &said.reasons,
        maybe: said.maybe,
        words: &said.words,
    };
    let more = |index: usize| more.get(index).copied().map_or(0, usize::from);
    let sections = plan.sections.iter().zip(said).enumerate();
    sections
        .map(|(index, (section, said))| SectionInput {
            title: &section.title,
            items: said.iter().map(item).collect(),
            more: more(index),
        })
        .collect()
}
