//! A server for HTTP within TLS that answers as a test says, and remembers what it was asked.

use std::{
    fs,
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use engines::TestCertificates;
use http_body_util::{BodyExt as _, Full};
use hyper::{
    HeaderMap, Request, Response,
    body::{Bytes, Incoming},
    server::conn::{http1, http2},
    service::service_fn,
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};
use serde_json::Value;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// What it was asked.
#[derive(Clone, Debug)]
pub struct FakeHttpRequest {
    pub path: String,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl FakeHttpRequest {
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// What it answers.
#[derive(Clone, Debug)]
pub enum FakeHttpAnswer {
    Says {
        status: u16,
        header: Option<(&'static str, String)>,
        body: Vec<u8>,
    },
    /// It ends the request in this manner.
    Breaks(h2::Reason),
    /// It says nothing, ever.
    Hangs,
}

impl FakeHttpAnswer {
    pub fn with_json(status: u16, body: &Value) -> Self {
        Self::Says { status, header: None, body: body.to_string().into_bytes() }
    }
}

type FakeHttpAnswers = dyn Fn(&FakeHttpRequest) -> FakeHttpAnswer + Send + Sync;

pub struct FakeHttpService {
    address: SocketAddr,
    ca: Vec<u8>,
    shared: Arc<FakeHttpState>,
    _folder: TempDir,
}

struct FakeHttpState {
    answers: Box<FakeHttpAnswers>,
    seen: Mutex<Vec<FakeHttpRequest>>,
    connections: AtomicUsize,
}

impl FakeHttpService {
    pub async fn start(answers: impl Fn(&FakeHttpRequest) -> FakeHttpAnswer + Send + Sync + 'static) -> Self {
        Self::start_with_protocol("h2", answers).await
    }

    /// One that speaks `h2` or `http/1.1`.
    pub async fn start_with_protocol(
        protocol: &str,
        answers: impl Fn(&FakeHttpRequest) -> FakeHttpAnswer + Send + Sync + 'static,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let made = TestCertificates::make(folder.path(), &["127.0.0.1"]).unwrap();
        let pem = fs::read(&made.nodes_pem).unwrap();
        let chain = CertificateDer::pem_slice_iter(&pem).map(Result::unwrap).collect();
        let key = PrivateKeyDer::from_pem_slice(&pem).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let tls =
            ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let mut tls = tls.with_no_client_auth().with_single_cert(chain, key).unwrap();
        tls.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let shared =
            FakeHttpState { answers: Box::new(answers), seen: Mutex::default(), connections: 0.into() };
        let (address, shared) = (listener.local_addr().unwrap(), Arc::new(shared));
        tokio::spawn(accept_connections(listener, TlsAcceptor::from(Arc::new(tls)), shared.clone()));
        Self { address, ca: fs::read(made.ca_pem).unwrap(), shared, _folder: folder }
    }

    pub fn root(&self) -> String {
        format!("https://{}", self.address)
    }

    pub fn ca(&self) -> &[u8] {
        &self.ca
    }

    /// What it was asked since the last look.
    pub fn take_requests(&self) -> Vec<FakeHttpRequest> {
        std::mem::take(&mut *self.shared.seen.lock().unwrap())
    }

    /// Whether it was asked for this since then.
    pub fn was_asked(&self, path: &str) -> bool {
        self.shared.seen.lock().unwrap().iter().any(|seen| seen.path == path)
    }

    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }
}

async fn accept_connections(listener: TcpListener, tls: TlsAcceptor, shared: Arc<FakeHttpState>) {
    while let Ok((stream, _)) = listener.accept().await {
        shared.connections.fetch_add(1, Ordering::SeqCst);
        let (tls, shared) = (tls.clone(), shared.clone());
        tokio::spawn(async move {
            let Ok(stream) = tls.accept(stream).await else { return };
            let service = service_fn(|request| answer_request(shared.clone(), request));
            let is_h2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
            let stream = TokioIo::new(stream);
            // How it ends is the other side's test.
            let _ended = if is_h2 {
                http2::Builder::new(TokioExecutor::new()).serve_connection(stream, service).await
            } else {
                http1::Builder::new().serve_connection(stream, service).await
            };
        });
    }
}

async fn answer_request(
    shared: Arc<FakeHttpState>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, h2::Error> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let seen = FakeHttpRequest { path: head.uri.path().to_owned(), headers: head.headers, body };
    let answer = (shared.answers)(&seen);
    shared.seen.lock().unwrap().push(seen);
    match answer {
        FakeHttpAnswer::Says { status, header, body } => {
            let mut reply = Response::builder().status(status);
            if let Some((name, value)) = header {
                reply = reply.header(name, value);
            }
            Ok(reply.body(Full::new(body.into())).unwrap())
        }
        FakeHttpAnswer::Breaks(reason) => Err(reason.into()),
        FakeHttpAnswer::Hangs => std::future::pending().await,
    }
}
