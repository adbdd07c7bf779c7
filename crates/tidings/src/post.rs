//! How messages leave the house: mail by its ways, pushes by their services and calls to hooks, where there are any, and
//! else into the outbox.

#[cfg(test)]
mod tests;

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::{Context as _, anyhow};
use async_trait::async_trait;
use courier::{Courier, CourierError, Gate, Handed, Message, Outcome, Way, Whose, outbox::Outbox};
use courier_net::{
    dkim::Signer,
    hooks::{self, Caller},
    mail::Mailer,
    push::{Key, Pusher, Settings, web},
    ways::{self, Common, Trust},
};
use model::{
    Channel,
    device::{Device, Platform},
    erase::Erase,
};
use runtime::Clock;
use secrecy::{ExposeSecret as _, SecretString};

use crate::{
    config::{Config, Hooks, Mail, Push},
    datadir::DataDir,
    http::WebKey,
};

/// What a browser of a demo may take for a copy: whoever looks waits for it.
const COPY_TIME_MAX: Duration = Duration::from_secs(10);
/// Where the push services of browsers would find somebody to talk to about a demo.
const DEMO_SUBJECT: &str = "mailto:demo@tidings.invalid";

/// How messages leave the house.
pub struct Opened {
    pub courier: Arc<dyn Courier>,
    pub web_key: WebKey,
}

/// Opens what the configuration names. What it names and is not there, or is no good, is told in full. A demo without
/// any service for pushes has a key of its own, and shows browsers copies.
pub fn open(config: &Config, data: &DataDir, outbox: Arc<Outbox>, sends: bool) -> anyhow::Result<Opened> {
    let hand_over = config.limits.hand_over;
    // Where nothing is sent nobody needs passwords and keys.
    let mail = config.mail.as_ref().filter(|_| sends);
    let mailer = mail.map(|mail| mailer(mail, hand_over)).transpose()?;
    let pusher = if sends { pusher(&config.push, hand_over)? } else { None };
    let caller = if sends { caller(&config.hooks, hand_over)? } else { None };
    if let Some(caller) = &caller {
        tracing::info!(%caller, "hooks are called");
    }
    let is_copy = config.demo && sends && pusher.is_none();
    let web = if is_copy { Some(demo(data)?) } else { config.push.web.clone() };
    let public = web.as_ref().map(|web| public(&web.key)).transpose()?;
    let copies = web.filter(|_| is_copy).map(|web| Copies::new(Push { web: Some(web), ..Push::default() }));
    let courier = Arc::new(Post { mailer, pusher, caller, copies: copies.transpose()?, outbox });
    Ok(Opened { courier, web_key: WebKey { public, is_copy } })
}

/// Who calls hooks, if any is to be called.
pub fn caller(hooks: &Hooks, hand_over: Duration) -> anyhow::Result<Option<Caller>> {
    let Hooks { channels, keys, ca, hosts, per_second } = hooks.clone();
    if channels.is_empty() {
        return Ok(None);
    }
    let trust = trust(ca.as_deref()).context("`hooks.ca`")?;
    let settings = hooks::Settings { hooks: channels, keys, hosts, per_second, trust, hand_over };
    let caller = Caller::new(&settings, Clock::real(0)).map_err(|why| anyhow!("`hooks.secret`: {why}"))?;
    Ok(Some(caller))
}

fn demo(data: &DataDir) -> anyhow::Result<web::Settings> {
    let subject = DEMO_SUBJECT.to_owned();
    Ok(web::Settings { key: data.web_key()?, subject, hosts: Vec::new(), per_second: None })
}

/// The half of a key that browsers are given.
fn public(key: &SecretString) -> anyhow::Result<String> {
    let key = Key::es256(key.expose_secret());
    Ok(key.map_err(|why| anyhow!("the key for Web Push: {why}"))?.public())
}

/// Who takes pushes to the world, if any service is named.
fn pusher(push: &Push, hand_over: Duration) -> anyhow::Result<Option<Pusher>> {
    let Push { ca, apns, fcm, web } = push.clone();
    if apns.is_none() && fcm.is_none() && web.is_none() {
        return Ok(None);
    }
    let trust = trust(ca.as_deref()).context("`push.ca`")?;
    let pusher = Pusher::new(&Settings { apns, fcm, web, trust, hand_over }, Clock::real(0));
    pusher.map(Some).map_err(|why| anyhow!(why))
}

/// Who takes mails to the world.
pub fn mailer(mail: &Mail, hand_over: Duration) -> anyhow::Result<Mailer> {
    let trust = trust(mail.ca.as_deref()).context("`mail.ca`")?;
    let common = Common { ehlo: mail.name.clone(), hand_over, trust };
    let ways = ways::parse(mail.ways.expose_secret(), &common).map_err(|wrong| anyhow!(wrong.join("\n")))?;
    for way in &ways {
        tracing::info!(%way, "mail goes out");
    }
    Ok(Mailer::new(ways, signer(mail.dkim.as_deref())?, hand_over))
}

/// The keys that mails are signed with.
pub fn signer(folder: Option<&Path>) -> anyhow::Result<Signer> {
    let Some(folder) = folder else { return Ok(Signer::default()) };
    Signer::of_folder(folder).map_err(|wrong| anyhow!("`mail.dkim`: {}", wrong.join("\n")))
}

fn trust(ca: Option<&Path>) -> anyhow::Result<Trust> {
    let pem = ca.map(|ca| std::fs::read(ca).with_context(|| ca.display().to_string())).transpose()?;
    Trust::new(pem.as_deref()).map_err(|why| anyhow!("{} {why}", ca.unwrap_or(Path::new("")).display()))
}

#[derive(Debug)]
struct Post {
    mailer: Option<Mailer>,
    pusher: Option<Pusher>,
    caller: Option<Caller>,
    copies: Option<Copies>,
    outbox: Arc<Outbox>,
}

/// Shows browsers what a demo has put into its outbox. The outbox alone decides what became of a message; a copy that does
/// not arrive is missed by nobody, and one that comes twice has the same tag.
#[derive(Debug)]
struct Copies(Pusher);

/// What may be copied has gone out.
struct Copying<'a>(&'a dyn Gate);

impl Copies {
    fn new(push: Push) -> anyhow::Result<Self> {
        pusher(&push, COPY_TIME_MAX)?.map(Self).context("no service for copies")
    }

    async fn show(&self, message: &Message, push: &courier::Push, gate: &dyn Gate) {
        let is_browser = |device: &&Device| device.platform == Platform::Web;
        let devices: Vec<Device> = push.devices.iter().filter(is_browser).cloned().collect();
        if devices.is_empty() || push.wordless {
            return;
        }
        let way = Way::Push(courier::Push { devices, ..push.clone() });
        match self.0.hand(&Message { way, ..message.clone() }, &Copying(gate)).await {
            Ok(Handed::Accepted) => {}
            Ok(handed) => tracing::info!(ready = %message.ready, ?handed, "no browser was shown a copy"),
            Err(error) => tracing::info!(ready = %message.ready, %error, "no browser was shown a copy"),
        }
    }
}

#[async_trait]
impl Gate for Copying<'_> {
    async fn may_go(&self) -> bool {
        true
    }

    async fn gone(&self, device: &Device) {
        self.0.gone(device).await;
    }
}

impl Post {
    fn of(&self, channel: Channel) -> &dyn Courier {
        let mailer = self.mailer.as_ref().map(|mailer| mailer as &dyn Courier);
        let pusher = self.pusher.as_ref().map(|pusher| pusher as &dyn Courier);
        let outside = match channel {
            Channel::Email => mailer,
            Channel::Push => pusher,
            Channel::Hook(hook) => {
                let caller = self.caller.as_ref().filter(|caller| caller.calls(hook));
                caller.map(|caller| caller as &dyn Courier)
            }
        };
        outside.unwrap_or(&*self.outbox)
    }
}

#[async_trait]
impl Courier for Post {
    async fn hand(&self, message: &Message, gate: &dyn Gate) -> Result<Handed, CourierError> {
        let handed = self.of(message.channel()).hand(message, gate).await?;
        if let (Handed::Accepted, Some(copies), Way::Push(push)) = (&handed, &self.copies, &message.way) {
            copies.show(message, push, gate).await;
        }
        Ok(handed)
    }

    async fn outcome(&self, channel: Channel, message_id: &str) -> Result<Outcome, CourierError> {
        self.of(channel).outcome(channel, message_id).await
    }

    /// Only the folder keeps anything; what goes to the world is the world's.
    async fn erase(&self, whose: &Whose, how: Erase) -> Result<Option<u64>, CourierError> {
        self.outbox.erase(whose, how).await
    }
}
