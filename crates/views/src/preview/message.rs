//! Makes the message of a preview, as the sender would of the same facts.

use anyhow::Context as _;
use catalogue::truth::{ReaderFacts, check_reachable};
use courier::{
    CallPayload, MailPayload, Message, MessagePayload, PushPayload, call, mime, outbox::OutboxMail as Read,
    push,
};
use model::{
    Channel, EndReason, EntryKey, Value, ValueCell, VersionedState, WorldSnapshot,
    device::{self, DevicePlatform, PushDevice},
    hook::Hook,
    person::profile,
    plan::Plan,
    ready::Ready,
};
use render::ListedItem;
use sender::{
    check::{self, CheckedReady},
    facts::SenderFacts,
    message::MessageMaker,
};

use super::{
    LookupContext, MessagePreview, PreviewCard, PreviewOrder, PreviewSource, PreviewStudio,
    sheet::{LoadedPerson, PreviewSheet},
};
use crate::display;

/// Where a mail goes whose reader has no address.
const NOWHERE: &str = "nobody@example.invalid";
/// A device of nobody.
const DEVICE: &str = "example";

impl PreviewStudio {
    pub(super) fn preview_plan(
        &self,
        order: &PreviewOrder<'_>,
        plan: &Plan,
        known: &LoadedPerson,
        sheet: &PreviewSheet,
        at: LookupContext<'_>,
    ) -> anyhow::Result<MessagePreview> {
        let mut ready = sheet.build_ready(order, plan, at);
        ready.badge = plan.badge;
        let mut remarks = self.list_obstacles(&ready, known, plan, at);
        remarks.extend(self.other_plan(order, plan, known));
        let facts = SenderFacts { view: sheet.view.clone(), ..facts(known) };
        let kind = Some(order.kind.name.to_string());
        self.draw_preview(&ready, (kind, sheet.of), &facts, &sheet.world, remarks, at)
    }

    /// A digest as it would be handed to the sender now.
    pub(super) fn preview_digest(
        &self,
        ready: &Ready,
        known: &LoadedPerson,
        world: &WorldSnapshot,
        at: LookupContext<'_>,
    ) -> anyhow::Result<MessagePreview> {
        let plans = &self.catalogue.for_person(&ready.person).plans;
        let plan = plans.by_name.get(&ready.plan).context("the plan")?;
        let remarks = self.list_obstacles(ready, known, plan, at);
        self.draw_preview(ready, (None, PreviewSource::Digest), &facts(known), world, remarks, at)
    }

    /// What a digest would tell to the person as they are: nothing, where something stands against telling them.
    pub(super) fn list_entries(
        &self,
        ready: &Ready,
        known: &LoadedPerson,
        world: &WorldSnapshot,
        at: LookupContext<'_>,
    ) -> anyhow::Result<Vec<ListedItem>> {
        let facts = SenderFacts { profile: known.profile.clone(), ..facts(known) };
        let checked =
            check::check_ready(ready, &facts, world, self.catalogue.for_person(&ready.person), at.now);
        if checked.told.is_empty() {
            return Ok(Vec::new());
        }
        self.message_maker(ready, world).list_items(ready, &facts, &checked)
    }

    fn message_maker<'a>(&'a self, ready: &Ready, world: &'a WorldSnapshot) -> MessageMaker<'a> {
        MessageMaker {
            catalogue: self.catalogue.for_person(&ready.person),
            renderer: self.renderer.for_person(&ready.person),
            zones: &self.zones,
            world,
            links: Some(&self.links),
            // It goes nowhere, so nothing comes back of it.
            returns: None,
            // As if it left when it is due.
            now: ready.due,
        }
    }

    fn draw_preview(
        &self,
        ready: &Ready,
        (kind, of): (Option<String>, PreviewSource),
        facts: &SenderFacts,
        world: &WorldSnapshot,
        mut remarks: Vec<String>,
        at: LookupContext<'_>,
    ) -> anyhow::Result<MessagePreview> {
        let whole = CheckedReady { told: ready.entries.clone(), left: Vec::new() };
        let checked = match of {
            PreviewSource::Example => whole,
            PreviewSource::Waiting | PreviewSource::Subject | PreviewSource::Digest => {
                let checked =
                    check::check_ready(ready, facts, world, self.catalogue.for_person(&ready.person), at.now);
                remarks.extend(
                    checked.left.iter().filter_map(|(key, why)| describe_left_out(ready, *key, *why)),
                );
                // Of a message that would not go at all it is shown what it would say.
                if checked.told.is_empty() { whole } else { checked }
            }
        };
        let message = self.message_maker(ready, world).message(ready, facts, &checked)?;
        let zone = self.zones.get_or_utc(facts.profile.text(profile::ZONE));
        let mut preview = MessagePreview {
            kind,
            plan: ready.plan.to_string(),
            channel: ready.channel.to_string(),
            of,
            subjects: checked.told.iter().map(|entry| entry.subject.to_string()).collect(),
            remarks,
            headline: message.headline.clone(),
            text: message.text.clone(),
            date: display::format_instant(message.date, &zone),
            to: String::new(),
            from: String::new(),
            preheader: String::new(),
            headers: Vec::new(),
            html: None,
            cards: Vec::new(),
        };
        match &message.way {
            MessagePayload::Mail(mail) => {
                fill_mail(&mut preview, &message, mail, facts.profile.text(profile::EMAIL));
            }
            MessagePayload::Push(push) => {
                preview.to = devices(&facts.profile);
                preview.cards = cards(&message, push);
            }
            MessagePayload::Call(call) => {
                let address = facts.profile.text(call.hook.name());
                preview.to = if address.is_some() { "an address" } else { "no address" }.to_owned();
                preview.cards = vec![call_card(&message, call)];
            }
        }
        Ok(preview)
    }

    /// What stands against sending anything to this person by a plan.
    fn list_obstacles(
        &self,
        ready: &Ready,
        known: &LoadedPerson,
        plan: &Plan,
        at: LookupContext<'_>,
    ) -> Vec<String> {
        let LoadedPerson { profile, preferences, notes, .. } = known;
        let reader = ReaderFacts { tenant: at.tenant, person: &ready.person, profile, preferences, notes };
        let barred = check_reachable(&reader, (plan.channel, &plan.stream), false, at.now).err();
        barred.map(|why| format!("nothing can be sent to them: {}", why.text())).into_iter().collect()
    }

    /// By which plan it goes instead.
    fn other_plan(&self, order: &PreviewOrder<'_>, plan: &Plan, known: &LoadedPerson) -> Option<String> {
        let theirs = self.catalogue.for_person(&order.person).plans_for(order.kind, &known.profile);
        let other = theirs.into_iter().find(|other| other.channel == plan.channel && other.name != plan.name);
        other.map(|other| format!("with their profile, they are told this under `{}`", other.name))
    }
}

/// What the sender would load of the person.
fn facts(known: &LoadedPerson) -> SenderFacts {
    let LoadedPerson { profile, preferences, notes, view, erased, .. } = known;
    SenderFacts {
        profile: unblock_profile(profile),
        preferences: preferences.clone(),
        notes: notes.clone(),
        view: view.clone(),
        erased: erased.clone(),
    }
}

/// The profile as if nothing stood against the channel: what does is a remark.
fn unblock_profile(profile: &VersionedState) -> VersionedState {
    let mut open = profile.clone();
    for channel in Channel::ALL {
        open.cells.remove(channel.off());
    }
    let mut lacking = |name: &str, value: Value| {
        open.cells.entry(name.into()).or_insert(ValueCell { version: 0, value: Some(value) });
    };
    if profile.text(profile::EMAIL).is_none() {
        lacking(profile::EMAIL, Value::from_text(NOWHERE));
    }
    for hook in Hook::ALL.into_iter().filter(|hook| profile.text(hook.name()).is_none()) {
        lacking(hook.name(), Value::from_text(NOWHERE));
    }
    if device::read_devices(profile).is_empty() {
        lacking(&device::device_field(DEVICE), device::device_value(DevicePlatform::Ios, DEVICE));
    }
    open
}

fn describe_left_out(ready: &Ready, key: EntryKey, why: EndReason) -> Option<String> {
    let entry = ready.entries.iter().find(|entry| entry.key == key)?;
    Some(format!("{} would be left out now: {}", entry.subject, why.text()))
}

/// What a mail has, as it is written for the wire.
fn fill_mail(preview: &mut MessagePreview, message: &Message, mail: &MailPayload, address: Option<&str>) {
    preview.from.clone_from(&mail.from);
    preview.preheader.clone_from(&mail.preheader);
    preview.html = Some(mail.html.clone());
    preview.to = address.map_or_else(|| "no address".to_owned(), display::mask_address);
    match mime::write_message(message) {
        Ok(written) => {
            let mut headers = Read::parse(written.bytes).headers;
            let to = headers.iter_mut().filter(|(name, _)| name.eq_ignore_ascii_case("to"));
            to.for_each(|(_, value)| value.clone_from(&preview.to));
            preview.headers = headers;
        }
        Err(unfit) => preview.remarks.push(format!("such a mail cannot be written: {unfit}")),
    }
}

/// A push as each platform has it, whatever devices the person has: no token is shown.
fn cards(message: &Message, push: &PushPayload) -> Vec<PreviewCard> {
    let card = |platform: DevicePlatform| {
        let device = PushDevice { id: DEVICE.to_owned(), platform, token: "(token)".to_owned() };
        let payload = push::encode_push(message, push, &device);
        // Each platform has its words in a place of its own.
        let shown = match platform {
            DevicePlatform::Android => &payload["message"]["notification"],
            DevicePlatform::Ios => &payload["aps"]["alert"],
            DevicePlatform::Web => &payload,
        };
        let text = |name: &str| shown[name].as_str().unwrap_or_default().to_owned();
        PreviewCard {
            platform: platform.name().to_owned(),
            title: text("title"),
            body: text("body"),
            image: shown["image"].as_str().map(str::to_owned),
            opens: push.opens.clone(),
            badge: push.badge,
            payload,
        }
    };
    DevicePlatform::ALL.map(card).into()
}

/// A call as whoever is called gets it; where that is, is not shown.
fn call_card(message: &Message, call: &CallPayload) -> PreviewCard {
    PreviewCard {
        platform: call.hook.name().to_owned(),
        title: message.headline.clone(),
        body: message.text.clone(),
        image: call.image.clone(),
        opens: call.opens.clone(),
        badge: None,
        payload: call::encode_call(message, call),
    }
}

fn devices(profile: &VersionedState) -> String {
    let devices = device::read_devices(profile);
    let named: Vec<String> = devices.iter().map(|device| format!("{device:?}")).collect();
    if named.is_empty() { "no device".to_owned() } else { named.join(", ") }
}
