//! How messages leave the house: mail by its ways, where there are any, and everything else into the outbox.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::{Context as _, anyhow};
use async_trait::async_trait;
use courier::{Courier, CourierError, Gate, Handed, Message, Outcome, Way, outbox::Outbox};
use courier_net::{
    dkim::Signer,
    mail::Mailer,
    ways::{self, Common, Trust},
};
use model::Channel;
use secrecy::ExposeSecret as _;

use crate::config::{Config, Mail};

/// Opens what the configuration names. What it names and is not there, or is no good, is told in full.
pub fn open(config: &Config, outbox: Arc<Outbox>) -> anyhow::Result<Arc<dyn Courier>> {
    match &config.mail {
        None => Ok(outbox),
        Some(mail) => Ok(Arc::new(Post { mailer: mailer(mail, config.limits.hand_over)?, outbox })),
    }
}

/// Who takes mails to the world.
pub fn mailer(mail: &Mail, hand_over: Duration) -> anyhow::Result<Mailer> {
    let trust = trust(mail.ca.as_deref()).context("`mail.ca`")?;
    let common = Common { ehlo: mail.name.clone(), hand_over, trust };
    let ways = ways::parse(mail.ways.expose_secret(), &common).map_err(|wrong| anyhow!(wrong.join("\n")))?;
    for way in &ways {
        tracing::info!(%way, "mail goes out");
    }
    Ok(Mailer::new(ways, signer(mail.dkim.as_deref())?, None))
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
    mailer: Mailer,
    outbox: Arc<Outbox>,
}

#[async_trait]
impl Courier for Post {
    async fn hand(&self, message: &Message, gate: &dyn Gate) -> Result<Handed, CourierError> {
        match &message.way {
            Way::Mail(_) => self.mailer.hand(message, gate).await,
            Way::Push(_) => self.outbox.hand(message, gate).await,
        }
    }

    async fn outcome(&self, channel: Channel, message_id: &str) -> Result<Outcome, CourierError> {
        match channel {
            Channel::Email => self.mailer.outcome(channel, message_id).await,
            Channel::Push => self.outbox.outcome(channel, message_id).await,
        }
    }
}
