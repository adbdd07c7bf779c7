//! Taking connections, as long as there are places.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    time::timeout,
};

use crate::connection_quota::{ConnectionPermit, ConnectionQuota, ListenerLimits};

/// How long to wait when cannot accept connections, which is when files are out.
const PAUSE: Duration = Duration::from_millis(100);
/// Those who are sent away and may read why, and how long that may take.
const FAREWELLS_MAX: usize = 16;
const FAREWELL_TIME: Duration = Duration::from_secs(1);
/// Bytes that are still read of them.
const FAREWELL_BYTES: u64 = 64 * 1024;

/// A port that listens.
#[derive(Debug)]
pub struct LimitedListener {
    tcp: TcpListener,
    places: Arc<ConnectionQuota>,
    farewells: Arc<Semaphore>,
}

/// An accepted connection with its place in the quota.
#[derive(Debug)]
pub struct AcceptedClient {
    pub stream: TcpStream,
    /// To be kept as long as the connection.
    pub place: ConnectionPermit,
}

impl LimitedListener {
    pub async fn bind(at: SocketAddr, limits: ListenerLimits) -> io::Result<Self> {
        let tcp = TcpListener::bind(at).await?;
        Ok(Self {
            tcp,
            places: ConnectionQuota::new(limits),
            farewells: Arc::new(Semaphore::new(FAREWELLS_MAX)),
        })
    }

    pub fn address(&self) -> io::Result<SocketAddr> {
        self.tcp.local_addr()
    }

    /// The next connection for which there is a place. All others are told `full` and closed.
    pub async fn next(&self, full: &'static str) -> AcceptedClient {
        let mut is_out = false;
        loop {
            match self.tcp.accept().await {
                Ok((stream, from)) => match self.places.take(from) {
                    Some(place) => return AcceptedClient { stream, place },
                    None => self.send_away(stream, full),
                },
                Err(error) => {
                    // It passes, and listening goes on.
                    if !is_out {
                        tracing::warn!(%error, "cannot accept connections");
                    }
                    is_out = true;
                    runtime::retry::wait_real_time(PAUSE).await;
                }
            }
        }
    }

    fn send_away(&self, stream: TcpStream, full: &'static str) {
        match Arc::clone(&self.farewells).try_acquire_owned() {
            Ok(permit) => {
                tokio::spawn(async move {
                    let _as_far_as_can_be = timeout(FAREWELL_TIME, say_farewell(stream, full)).await;
                    drop(permit);
                });
            }
            // It may be lost on the way.
            Err(_) => drop(stream.try_write(full.as_bytes())),
        }
    }
}

/// Says a last word so that it can be read: a close with bytes unread would take it away.
pub async fn say_farewell(mut stream: TcpStream, word: &str) -> io::Result<()> {
    stream.write_all(word.as_bytes()).await?;
    stream.shutdown().await?;
    tokio::io::copy(&mut stream.take(FAREWELL_BYTES), &mut tokio::io::sink()).await.map(|_| ())
}
