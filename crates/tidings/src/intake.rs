//! The way in for mails that come back: a mail server that takes mails to return paths of ours, and no other.

use std::{net::SocketAddr, sync::Arc};

use anyhow::Context as _;
use async_trait::async_trait;
use courier_net::smtp::server::{Bounds, Envelope, Mailbox, SmtpServer, Taken};
use ingest::{DiskGauge, Paths, Ports, Trouble};

/// The box of everything that comes back.
struct Returns {
    ports: Ports,
    paths: Paths,
    disk_low: DiskGauge,
}

#[async_trait]
impl Mailbox for Returns {
    fn takes(&self, to: &str) -> bool {
        self.paths.takes(to)
    }

    /// Law 4: acknowledged when what follows from it is stored and announced. Heard twice it is the same.
    async fn take(&self, envelope: &Envelope, mail: Vec<u8>) -> Taken {
        if (self.disk_low)() {
            return Taken::Later;
        }
        // Whoever names an address twice is read once.
        let to = envelope.to.iter().cloned().collect();
        match ingest::heard(&self.ports, &self.paths, &to, mail).await {
            Ok(()) => Taken::Kept,
            Err(Trouble::Busy(_) | Trouble::Full(_)) => Taken::Later,
            Err(Trouble::Broken(reason)) => {
                tracing::error!(reason, "a mail that came back could not be taken");
                Taken::Later
            }
        }
    }
}

/// Takes such mails until the house stops. Returns where it listens.
pub async fn open(
    at: SocketAddr,
    name: &str,
    (ports, paths, disk_low): (Ports, Paths, DiskGauge),
) -> anyhow::Result<SocketAddr> {
    let server = SmtpServer::bind(at, name, Bounds::USUAL).await;
    let server = server.with_context(|| format!("listen on {at} for mails that come back"))?;
    let listens = server.address().context("the address")?;
    let shutdown = ports.shutdown.clone();
    tokio::spawn(server.serve(Arc::new(Returns { ports, paths, disk_low }), shutdown));
    Ok(listens)
}
