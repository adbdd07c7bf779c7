//! How messages leave the house: mail by its ways, pushes by their services and calls to hooks, where there are any, and
//! else into the outbox, unless there is none.

#[cfg(test)]
mod tests;

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::{Context as _, anyhow, ensure};
use async_trait::async_trait;
use catalogue::Catalogue;
use courier::{
    Courier, CourierEraseRequest, CourierError, HandoverGate, HandoverOutcome, Message, MessagePayload,
    outbox::OutboxCourier,
};
use courier_net::{
    TlsTrust,
    dkim::DkimSigner,
    hooks::{self, HookCourier},
    mail::MailCourier,
    mail_routes::{self, RouteDefaults},
    metrics::CourierMetrics,
    push::{JwtKey, PushCourier, Settings, web},
};
use house_facts::erasure::EraseMode;
use model::{
    Channel,
    device::{DevicePlatform, PushDevice},
    plan::Plan,
};
use runtime::{Clock, clock::SteadyStopwatch, metrics::Metrics};
use secrecy::{ExposeSecret as _, SecretString};
use settings::config::{Config, HooksConfig, MailConfig, PushConfig};
use shell::datadir::DataDir;
use views::devices::WebKey;

/// What a browser of a demo may take for a copy: whoever looks waits for it.
const COPY_TIME_MAX: Duration = Duration::from_secs(10);
/// What the folder is called in the metrics.
const OUTBOX: &str = "outbox";
/// Where the push services of browsers would find somebody to talk to about a demo.
const DEMO_SUBJECT: &str = "mailto:demo@tidings.invalid";

/// How messages leave the house.
pub struct CourierSetup {
    pub courier: Arc<dyn Courier>,
    pub web_key: WebKey,
}

/// Opens the couriers of the configuration, or fails with everything that is missing or invalid. A demo without a push
/// service has a key of its own, and shows browsers copies.
pub fn open_courier(
    config: &Config,
    data: &DataDir,
    outbox: Option<Arc<OutboxCourier>>,
    (sends, metrics): (bool, &Metrics),
) -> anyhow::Result<CourierSetup> {
    let (hand_over, metrics) = (config.limits.hand_over, CourierMetrics::declare(metrics)?);
    // Where nothing is sent nobody needs passwords and keys.
    let mail = config.mail.as_ref().filter(|_| sends);
    let mailer = mail.map(|mail| build_mailer(mail, hand_over)).transpose()?;
    let mailer = mailer.map(|mailer| mailer.with_metrics(metrics.clone()));
    let pusher = if sends { build_pusher(&config.push, hand_over)? } else { None };
    let pusher = pusher.map(|pusher| pusher.with_metrics(metrics.clone()));
    let caller = if sends { build_caller(&config.hooks, hand_over)? } else { None };
    let caller = caller.map(|caller| caller.with_metrics(metrics.clone()));
    if let Some(caller) = &caller {
        tracing::info!(%caller, "hooks are enabled");
    }
    let is_copy = config.demo && sends && pusher.is_none();
    let web = if is_copy { Some(demo_web_settings(data)?) } else { config.push.web.clone() };
    let public = web.as_ref().map(|web| public_key(&web.key)).transpose()?;
    let copies = web
        .filter(|_| is_copy)
        .map(|web| BrowserCopies::new(PushConfig { web: Some(web), ..PushConfig::default() }));
    let copies = copies.transpose()?;
    let courier = RoutingCourier { mailer, pusher, caller, copies, outbox, metrics };
    let courier = Arc::new(courier);
    Ok(CourierSetup { courier, web_key: WebKey { public, is_copy } })
}

/// Fails where messages of the catalogue would have no way out: without an outbox nothing keeps them. Each plan is named,
/// and what gives it a way.
pub fn check_ways(config: &Config, catalogue: &Catalogue) -> anyhow::Result<()> {
    if config.outbox.is_some() {
        return Ok(());
    }
    let missing = |plan: &Plan| {
        let setting = missing_way(config, plan.channel)?;
        Some(format!(
            "the plan `{}` tells by `{}`, which has no way out: set {setting}, or an `outbox` that is not `none`",
            plan.name, plan.channel
        ))
    };
    let wrong: Vec<String> = catalogue.plans.by_name.values().filter_map(missing).collect();
    ensure!(wrong.is_empty(), wrong.join("\n"));
    Ok(())
}

/// What would have to be set for messages of a channel to leave the house, if they do not.
fn missing_way(config: &Config, channel: Channel) -> Option<&'static str> {
    let PushConfig { apns, fcm, web, .. } = &config.push;
    match channel {
        Channel::Email => config.mail.is_none().then_some("`mail.ways`"),
        Channel::Push => {
            let is_missing = apns.is_none() && fcm.is_none() && web.is_none();
            is_missing.then_some("`apns.key`, `fcm.account` or `webpush.key`")
        }
        Channel::Hook(hook) => (!config.hooks.channels.contains(&hook)).then_some("`hooks.channels`"),
    }
}

/// The courier of hooks, if any is enabled.
pub fn build_caller(hooks: &HooksConfig, hand_over: Duration) -> anyhow::Result<Option<HookCourier>> {
    let HooksConfig { channels, keys, ca, hosts, per_second } = hooks.clone();
    if channels.is_empty() {
        return Ok(None);
    }
    let trust = read_trust(ca.as_deref()).context("`hooks.ca`")?;
    let settings = hooks::Settings { hooks: channels, keys, hosts, per_second, trust, hand_over };
    let caller =
        HookCourier::new(&settings, Clock::real(0)).map_err(|why| anyhow!("`hooks.secret`: {why}"))?;
    Ok(Some(caller))
}

fn demo_web_settings(data: &DataDir) -> anyhow::Result<web::Settings> {
    let subject = DEMO_SUBJECT.to_owned();
    Ok(web::Settings { key: data.web_key()?, subject, hosts: Vec::new(), per_second: None })
}

/// The half of a key that browsers are given.
fn public_key(key: &SecretString) -> anyhow::Result<String> {
    let key = JwtKey::read_es256(key.expose_secret());
    Ok(key.map_err(|why| anyhow!("the key for Web Push: {why}"))?.public_base64())
}

/// The courier of pushes, if any service is configured.
fn build_pusher(push: &PushConfig, hand_over: Duration) -> anyhow::Result<Option<PushCourier>> {
    let PushConfig { ca, apns, fcm, web } = push.clone();
    if apns.is_none() && fcm.is_none() && web.is_none() {
        return Ok(None);
    }
    let trust = read_trust(ca.as_deref()).context("`push.ca`")?;
    let pusher = PushCourier::new(&Settings { apns, fcm, web, trust, hand_over }, Clock::real(0));
    pusher.map(Some).map_err(|why| anyhow!(why))
}

/// The courier of mails.
pub fn build_mailer(mail: &MailConfig, hand_over: Duration) -> anyhow::Result<MailCourier> {
    let trust = read_trust(mail.ca.as_deref()).context("`mail.ca`")?;
    let common = RouteDefaults { ehlo: mail.name.clone(), hand_over, trust };
    let ways = mail_routes::parse_routes(mail.ways.expose_secret(), &common)
        .map_err(|wrong| anyhow!(wrong.join("\n")))?;
    for way in &ways {
        tracing::info!(%way, "mail is sent through this server");
    }
    Ok(MailCourier::new(ways, build_signer(mail.dkim.as_deref())?, hand_over))
}

/// The keys that mails are signed with.
pub fn build_signer(folder: Option<&Path>) -> anyhow::Result<DkimSigner> {
    let Some(folder) = folder else { return Ok(DkimSigner::default()) };
    DkimSigner::from_folder(folder).map_err(|wrong| anyhow!("`mail.dkim`: {}", wrong.join("\n")))
}

fn read_trust(ca: Option<&Path>) -> anyhow::Result<TlsTrust> {
    let pem = ca.map(|ca| std::fs::read(ca).with_context(|| ca.display().to_string())).transpose()?;
    TlsTrust::new(pem.as_deref()).map_err(|why| anyhow!("{} {why}", ca.unwrap_or(Path::new("")).display()))
}

#[derive(Debug)]
struct RoutingCourier {
    mailer: Option<MailCourier>,
    pusher: Option<PushCourier>,
    caller: Option<HookCourier>,
    copies: Option<BrowserCopies>,
    outbox: Option<Arc<OutboxCourier>>,
    metrics: CourierMetrics,
}

/// Takes nothing, and keeps nothing: of a channel that lost its way while messages of it were still due. They wait, and
/// end in time as what could not be sent.
#[derive(Debug)]
struct WaylessCourier;

#[async_trait]
impl Courier for WaylessCourier {
    async fn hand(&self, message: &Message, _: &dyn HandoverGate) -> Result<HandoverOutcome, CourierError> {
        let channel = message.channel();
        Ok(HandoverOutcome::Away(format!("`{channel}` has no way out of this house, and `outbox` is `none`")))
    }

    /// An outbox that was there before may have had it.
    async fn was_sent(&self, _: Channel, _: &str) -> Result<Option<bool>, CourierError> {
        Ok(None)
    }
}

/// Shows browsers copies of the pushes in a demo's outbox. The outbox alone decides the outcome of a message; a lost
/// copy does not matter, and a repeated one has the same tag.
#[derive(Debug)]
struct BrowserCopies(PushCourier);

/// Passes once the original has gone out.
struct CopyGate<'a>(&'a dyn HandoverGate);

impl BrowserCopies {
    fn new(push: PushConfig) -> anyhow::Result<Self> {
        build_pusher(&push, COPY_TIME_MAX)?.map(Self).context("no push service for copies")
    }

    async fn show_copy(&self, message: &Message, push: &courier::PushPayload, gate: &dyn HandoverGate) {
        let is_browser = |device: &&PushDevice| device.platform == DevicePlatform::Web;
        let devices: Vec<PushDevice> = push.devices.iter().filter(is_browser).cloned().collect();
        if devices.is_empty() || push.wordless {
            return;
        }
        let way = MessagePayload::Push(courier::PushPayload { devices, ..push.clone() });
        match self.0.hand(&Message { way, ..message.clone() }, &CopyGate(gate)).await {
            Ok(HandoverOutcome::Accepted) => {}
            Ok(handed) => {
                tracing::info!(ready = %message.ready, ?handed, "no browser got the copy of a push");
            }
            Err(error) => tracing::info!(ready = %message.ready, %error, "no browser got the copy of a push"),
        }
    }
}

#[async_trait]
impl HandoverGate for CopyGate<'_> {
    async fn may_go(&self) -> bool {
        true
    }

    async fn note_dead_device(&self, device: &PushDevice) {
        self.0.note_dead_device(device).await;
    }
}

impl RoutingCourier {
    /// By whom messages of a channel leave the house; nobody, where they become files.
    fn find_outside(&self, channel: Channel) -> Option<&dyn Courier> {
        let mailer = self.mailer.as_ref().map(|mailer| mailer as &dyn Courier);
        let pusher = self.pusher.as_ref().map(|pusher| pusher as &dyn Courier);
        match channel {
            Channel::Email => mailer,
            Channel::Push => pusher,
            Channel::Hook(hook) => {
                let caller = self.caller.as_ref().filter(|caller| caller.calls_hook(hook));
                caller.map(|caller| caller as &dyn Courier)
            }
        }
    }

    fn courier_for(&self, channel: Channel) -> &dyn Courier {
        let outbox = self.outbox.as_deref().map(|outbox| outbox as &dyn Courier);
        self.find_outside(channel).or(outbox).unwrap_or(&WaylessCourier)
    }
}

#[async_trait]
impl Courier for RoutingCourier {
    async fn hand(
        &self,
        message: &Message,
        gate: &dyn HandoverGate,
    ) -> Result<HandoverOutcome, CourierError> {
        let (channel, watch) = (message.channel(), SteadyStopwatch::start());
        let handed = self.courier_for(channel).hand(message, gate).await?;
        if self.find_outside(channel).is_none() {
            self.metrics.note_handover(channel, OUTBOX, &handed, watch.elapsed());
        }
        if let (HandoverOutcome::Accepted, Some(copies), MessagePayload::Push(push)) =
            (&handed, &self.copies, &message.way)
        {
            copies.show_copy(message, push, gate).await;
        }
        Ok(handed)
    }

    async fn was_sent(&self, channel: Channel, message_id: &str) -> Result<Option<bool>, CourierError> {
        self.courier_for(channel).was_sent(channel, message_id).await
    }

    /// Only the folder keeps anything; what goes to the world is the world's.
    async fn erase(&self, whose: &CourierEraseRequest, how: EraseMode) -> Result<Option<u64>, CourierError> {
        match &self.outbox {
            Some(outbox) => outbox.erase(whose, how).await,
            None => Ok(None),
        }
    }
}
