//! Makes the message of a preview, as the sender would of the same facts.

use anyhow::Context as _;
use catalogue::truth::{Reader, reachable};
use courier::{Call, Mail, Message, Push, Way, call, mime, outbox::Mail as Read, push};
use model::{
    Cell, Channel, EntryKey, State, Value, Why, World,
    device::{self, Device, Platform},
    hook::Hook,
    limits::DAY_MS,
    person::profile,
    plan::Plan,
    ready::{self, Ready},
};
use render::Listed;
use sender::{
    check::{self, Checked, Facts},
    message::Making,
};

use super::{
    Card, Of, Order, Place, Preview, Studio,
    gather::{Known, Sheet},
};
use crate::http::look;

/// Where a mail goes whose reader has no address.
const NOWHERE: &str = "nobody@example.invalid";
/// A device of nobody.
const DEVICE: &str = "example";

/// What the digest would hand on.
pub fn ready(order: &Order<'_>, plan: &Plan, sheet: &Sheet, at: Place<'_>) -> Ready {
    let (tenant, person, now) = (at.tenant.clone(), order.person.clone(), at.now);
    Ready {
        id: ready::id(&tenant, &person, &plan.name, &sheet.key, now, 0),
        tenant,
        person,
        plan: plan.name.clone(),
        key: sheet.key.clone(),
        opening: now,
        channel: plan.channel,
        silent: false,
        attempt: 0,
        due: now,
        expires: now.plus(DAY_MS),
        entries: sheet.entries.clone(),
        more: sheet.more.clone(),
        badge: None,
    }
}

impl Studio {
    pub(super) fn make(
        &self,
        order: &Order<'_>,
        plan: &Plan,
        known: &Known,
        sheet: &Sheet,
        at: Place<'_>,
    ) -> anyhow::Result<Preview> {
        let mut ready = ready(order, plan, sheet, at);
        let unseen =
            known.record.as_ref().and_then(|record| record.badge.as_ref()).map(|badge| badge.unseen.clone());
        ready.badge = plan.badge.then(|| unseen.unwrap_or_default());
        let mut remarks = self.barred(&ready, known, plan, at);
        remarks.extend(self.other_plan(order, plan, known));
        let facts = Facts { view: sheet.view.clone(), ..facts(known) };
        let kind = Some(order.kind.name.to_string());
        self.draw(&ready, (kind, sheet.of), &facts, &sheet.world, remarks, at)
    }

    /// A digest as it would be handed to the sender now.
    pub(super) fn digest(
        &self,
        ready: &Ready,
        known: &Known,
        world: &World,
        at: Place<'_>,
    ) -> anyhow::Result<Preview> {
        let plan = self.catalogue.plans.by_name.get(&ready.plan).context("the plan")?;
        let remarks = self.barred(ready, known, plan, at);
        self.draw(ready, (None, Of::Digest), &facts(known), world, remarks, at)
    }

    /// What a digest would tell to the person as they are: nothing, where something stands against telling them.
    pub(super) fn list(
        &self,
        ready: &Ready,
        known: &Known,
        world: &World,
        at: Place<'_>,
    ) -> anyhow::Result<Vec<Listed>> {
        let facts = Facts { profile: known.profile.clone(), ..facts(known) };
        let checked = check::check(ready, &facts, world, &self.catalogue, at.now);
        if checked.told.is_empty() {
            return Ok(Vec::new());
        }
        self.making(world).list(ready, &facts, &checked)
    }

    fn making<'a>(&'a self, world: &'a World) -> Making<'a> {
        Making {
            catalogue: &self.catalogue,
            renderer: &self.renderer,
            zones: &self.zones,
            world,
            links: Some(&self.links),
            // It goes nowhere, so nothing comes back of it.
            returns: None,
        }
    }

    fn draw(
        &self,
        ready: &Ready,
        (kind, of): (Option<String>, Of),
        facts: &Facts,
        world: &World,
        mut remarks: Vec<String>,
        at: Place<'_>,
    ) -> anyhow::Result<Preview> {
        let whole = Checked { told: ready.entries.clone(), left: Vec::new() };
        let checked = match of {
            Of::Example => whole,
            Of::Waiting | Of::Subject | Of::Digest => {
                let checked = check::check(ready, facts, world, &self.catalogue, at.now);
                remarks.extend(checked.left.iter().filter_map(|(key, why)| left(ready, *key, *why)));
                // Of a message that would not go at all it is shown what it would say.
                if checked.told.is_empty() { whole } else { checked }
            }
        };
        let message = self.making(world).message(ready, facts, &checked)?;
        let zone = self.zones.get_or_utc(facts.profile.text(profile::ZONE));
        let mut preview = Preview {
            kind,
            plan: ready.plan.to_string(),
            channel: ready.channel.to_string(),
            of,
            subjects: checked.told.iter().map(|entry| entry.subject.to_string()).collect(),
            remarks,
            headline: message.headline.clone(),
            text: message.text.clone(),
            date: look::instant(message.date, &zone),
            to: String::new(),
            from: String::new(),
            preheader: String::new(),
            headers: Vec::new(),
            html: None,
            cards: Vec::new(),
        };
        match &message.way {
            Way::Mail(mail) => of_mail(&mut preview, &message, mail, facts.profile.text(profile::EMAIL)),
            Way::Push(push) => {
                preview.to = devices(&facts.profile);
                preview.cards = cards(&message, push);
            }
            Way::Call(call) => {
                let address = facts.profile.text(call.hook.name());
                preview.to = if address.is_some() { "an address" } else { "no address" }.to_owned();
                preview.cards = vec![called(&message, call)];
            }
        }
        Ok(preview)
    }

    /// What stands against sending anything to this person by a plan.
    fn barred(&self, ready: &Ready, known: &Known, plan: &Plan, at: Place<'_>) -> Vec<String> {
        let Known { profile, mutes, notes, .. } = known;
        let reader = Reader { tenant: at.tenant, person: &ready.person, profile, mutes, notes };
        let barred = reachable(&reader, plan.channel, &plan.stream, at.now).err();
        barred.map(|why| format!("nothing goes to them: {}", why.text())).into_iter().collect()
    }

    /// By which plan it goes instead.
    fn other_plan(&self, order: &Order<'_>, plan: &Plan, known: &Known) -> Option<String> {
        let theirs = self.catalogue.plans_for(order.kind, &known.profile);
        let other = theirs.into_iter().find(|other| other.channel == plan.channel && other.name != plan.name);
        other.map(|other| format!("they are told this under `{}`, as their profile is", other.name))
    }
}

/// What the sender would load of the person.
fn facts(known: &Known) -> Facts {
    let Known { profile, mutes, notes, view, .. } = known;
    Facts { profile: open(profile), mutes: mutes.clone(), notes: notes.clone(), view: view.clone() }
}

/// The profile as if nothing stood against the channel: what does is a remark.
fn open(profile: &State) -> State {
    let mut open = profile.clone();
    for channel in Channel::ALL {
        open.cells.remove(channel.off());
    }
    let mut lacking = |name: &str, value: Value| {
        open.cells.entry(name.into()).or_insert(Cell { version: 0, value: Some(value) });
    };
    if profile.text(profile::EMAIL).is_none() {
        lacking(profile::EMAIL, Value::text(NOWHERE));
    }
    for hook in Hook::ALL.into_iter().filter(|hook| profile.text(hook.name()).is_none()) {
        lacking(hook.name(), Value::text(NOWHERE));
    }
    if device::of(profile).is_empty() {
        lacking(&device::field(DEVICE), device::value(Platform::Ios, DEVICE));
    }
    open
}

fn left(ready: &Ready, key: EntryKey, why: Why) -> Option<String> {
    let entry = ready.entries.iter().find(|entry| entry.key == key)?;
    Some(format!("{} would be left out now: {}", entry.subject, why.text()))
}

/// What a mail has, as it is written for the wire.
fn of_mail(preview: &mut Preview, message: &Message, mail: &Mail, address: Option<&str>) {
    preview.from.clone_from(&mail.from);
    preview.preheader.clone_from(&mail.preheader);
    preview.html = Some(mail.html.clone());
    preview.to = address.map_or_else(|| "no address".to_owned(), look::masked);
    match mime::write(message) {
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
fn cards(message: &Message, push: &Push) -> Vec<Card> {
    let card = |platform: Platform| {
        let device = Device { id: DEVICE.to_owned(), platform, token: "(token)".to_owned() };
        let payload = push::payload(message, push, &device);
        // Each platform has its words in a place of its own.
        let shown = match platform {
            Platform::Android => &payload["message"]["notification"],
            Platform::Ios => &payload["aps"]["alert"],
            Platform::Web => &payload,
        };
        let text = |name: &str| shown[name].as_str().unwrap_or_default().to_owned();
        Card {
            platform: platform.name().to_owned(),
            title: text("title"),
            body: text("body"),
            image: shown["image"].as_str().map(str::to_owned),
            opens: push.opens.clone(),
            badge: push.badge,
            payload,
        }
    };
    Platform::ALL.map(card).into()
}

/// A call as whoever is called gets it; where that is, is not shown.
fn called(message: &Message, call: &Call) -> Card {
    Card {
        platform: call.hook.name().to_owned(),
        title: message.headline.clone(),
        body: message.text.clone(),
        image: call.image.clone(),
        opens: call.opens.clone(),
        badge: None,
        payload: call::payload(message, call),
    }
}

fn devices(profile: &State) -> String {
    let devices = device::of(profile);
    let named: Vec<String> = devices.iter().map(|device| format!("{device:?}")).collect();
    if named.is_empty() { "no device".to_owned() } else { named.join(", ") }
}
