//! A connection within TLS, to the very address that was checked.

use std::{
    fmt, io,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use address_guard::AddressGuard;
use futures::{FutureExt as _, future::BoxFuture};
use hyper::{
    Uri,
    rt::{Read, ReadBufCursor, Write},
};
use hyper_util::{
    client::legacy::connect::{Connected, Connection},
    rt::TokioIo,
};
use rustls::pki_types::ServerName;
use tokio::{
    net::{TcpStream, lookup_host},
    sync::Semaphore,
    time::timeout,
};
use tokio_rustls::{TlsConnector, client::TlsStream};
use tower_service::Service;

/// Of the addresses of a name so many are tried.
const ADDRESSES_MAX: usize = 4;
/// Names that are looked up at the same time.
const LOOKUPS_MAX: usize = 64;
/// Where an address names no port.
const PORT: u16 = 443;

/// Nobody may be asked there.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct BarredAddressError(pub &'static str);

#[derive(Clone)]
pub(super) struct GuardedConnector {
    tls: TlsConnector,
    guard: Option<Arc<AddressGuard>>,
    within: Duration,
    lookups: Arc<Semaphore>,
}

impl GuardedConnector {
    pub fn new(tls: TlsConnector, guard: Option<AddressGuard>, within: Duration) -> Self {
        Self { tls, guard: guard.map(Arc::new), within, lookups: Arc::new(Semaphore::new(LOOKUPS_MAX)) }
    }

    async fn connect(self, uri: Uri) -> io::Result<ClientTlsStream> {
        if uri.scheme_str() != Some("https") {
            return Err(barred_error("not https"));
        }
        let host = uri.host().ok_or_else(|| barred_error("it names no host"))?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let port = uri.port_u16().unwrap_or(PORT);
        let name =
            ServerName::try_from(host.to_owned()).map_err(|_| barred_error("no name that TLS can check"))?;
        let connecting = async {
            let found = self.look_up_host(host, port).await?;
            let good = match &self.guard {
                None => found,
                Some(guard) => guard.keep_public(host, &found).map_err(barred_error)?,
            };
            let stream = connect_first(&good).await?;
            stream.set_nodelay(true)?;
            self.tls.connect(name, stream).await
        };
        let stream = timeout(self.within, connecting).await.map_err(|_| io::ErrorKind::TimedOut)??;
        Ok(ClientTlsStream(TokioIo::new(stream)))
    }

    /// Whoever makes up names has name servers that take their time. A look-up has a thread until it ends, also if
    /// nobody waits for it any more, so there are only so many.
    async fn look_up_host(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        let permit = self.lookups.clone().acquire_owned().await.map_err(io::Error::other)?;
        let host = host.to_owned();
        let looking = tokio::spawn(async move {
            let found = lookup_host((host, port)).await.map(Iterator::collect);
            drop(permit);
            found
        });
        looking.await?
    }
}

/// The first that answers.
async fn connect_first(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for address in addresses.iter().take(ADDRESSES_MAX) {
        match TcpStream::connect(address).await {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn barred_error(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, BarredAddressError(why))
}

impl Service<Uri> for GuardedConnector {
    type Response = ClientTlsStream;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<ClientTlsStream>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        self.clone().connect(uri).boxed()
    }
}

/// A stream within TLS, as the client wants it.
pub(super) struct ClientTlsStream(TokioIo<TlsStream<TcpStream>>);

impl fmt::Debug for ClientTlsStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secured")
    }
}

impl Connection for ClientTlsStream {
    fn connected(&self) -> Connected {
        let (_, tls) = self.0.inner().get_ref();
        if tls.alpn_protocol() == Some(b"h2") { Connected::new().negotiated_h2() } else { Connected::new() }
    }
}

impl Read for ClientTlsStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, into)
    }
}

impl Write for ClientTlsStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
