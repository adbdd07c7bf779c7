//! The way in for mails that come back: a mail server that takes mails to return paths of ours, and no other.

use std::{net::SocketAddr, sync::Arc};

use anyhow::Context as _;
use async_trait::async_trait;
use courier_net::smtp::server::{MailboxOutcome, SmtpEnvelope, SmtpMailbox, SmtpServer, SmtpServerLimits};
use ingest::{Deps, DiskGauge, IngestError, ReturnPaths};

/// The box of everything that comes back.
struct ReturnMailbox {
    ports: Deps,
    paths: ReturnPaths,
    disk_low: DiskGauge,
}

#[async_trait]
impl SmtpMailbox for ReturnMailbox {
    fn takes_address(&self, to: &str) -> bool {
        self.paths.takes(to)
    }

    /// Law 4: acknowledged when what follows from it is stored and announced. Heard twice it is the same.
    async fn take_mail(&self, envelope: &SmtpEnvelope, mail: Vec<u8>) -> MailboxOutcome {
        if (self.disk_low)() {
            return MailboxOutcome::Later;
        }
        // Whoever names an address twice is read once.
        let to = envelope.to.iter().cloned().collect();
        match ingest::apply_return_mail(&self.ports, &self.paths, &to, mail).await {
            Ok(()) => MailboxOutcome::Kept,
            Err(IngestError::Busy(_) | IngestError::Full(_)) => MailboxOutcome::Later,
            Err(IngestError::Broken(reason)) => {
                tracing::error!(reason, "a returned mail could not be processed");
                MailboxOutcome::Later
            }
        }
    }
}

/// Takes such mails until the house stops. Returns where it listens.
pub async fn open_return_intake(
    at: SocketAddr,
    name: &str,
    (ports, paths, disk_low): (Deps, ReturnPaths, DiskGauge),
) -> anyhow::Result<SocketAddr> {
    let server = SmtpServer::bind(at, name, SmtpServerLimits::USUAL).await;
    let server = server.with_context(|| format!("listen on {at} for mails that come back"))?;
    let listens = server.address().context("the address")?;
    let shutdown = ports.room.shutdown.clone();
    tokio::spawn(server.serve(Arc::new(ReturnMailbox { ports, paths, disk_low }), shutdown));
    Ok(listens)
}
