//! How messages leave the house: mail by its ways, pushes by their services and calls to hooks, where there are any, and
//! else into the outbox.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::{Context as _, anyhow};
use async_trait::async_trait;
use courier::{Courier, CourierError, Gate, Handed, Message, Outcome, outbox::Outbox};
use courier_net::{
    dkim::Signer,
    hooks::{self, Caller},
    mail::Mailer,
    push::{Pusher, Settings},
    ways::{self, Common, Trust},
};
use model::Channel;
use runtime::Clock;
use secrecy::ExposeSecret as _;

use crate::config::{Config, Hooks, Mail, Push};

/// Opens what the configuration names. What it names and is not there, or is no good, is told in full.
pub fn open(config: &Config, outbox: Arc<Outbox>) -> anyhow::Result<Arc<dyn Courier>> {
    let hand_over = config.limits.hand_over;
    let mailer = config.mail.as_ref().map(|mail| mailer(mail, hand_over)).transpose()?;
    let pusher = pusher(&config.push, hand_over)?;
    let caller = caller(&config.hooks, hand_over)?;
    Ok(Arc::new(Post { mailer, pusher, caller, outbox }))
}

/// Who calls hooks, if any is to be called.
fn caller(hooks: &Hooks, hand_over: Duration) -> anyhow::Result<Option<Caller>> {
    let Hooks { channels, keys, ca, hosts } = hooks.clone();
    if channels.is_empty() {
        return Ok(None);
    }
    let trust = trust(ca.as_deref()).context("`hooks.ca`")?;
    let settings = hooks::Settings { hooks: channels, keys, hosts, per_second: None, trust, hand_over };
    let caller = Caller::new(&settings, Clock::real(0)).map_err(|why| anyhow!("`hooks.secret`: {why}"))?;
    tracing::info!(%caller, "hooks are called");
    Ok(Some(caller))
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
    Ok(Mailer::new(ways, signer(mail.dkim.as_deref())?))
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
    outbox: Arc<Outbox>,
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
        self.of(message.channel()).hand(message, gate).await
    }

    async fn outcome(&self, channel: Channel, message_id: &str) -> Result<Outcome, CourierError> {
        self.of(channel).outcome(channel, message_id).await
    }
}
