//! The services of pushes, as far as their makers say what they do: HTTP/2 within TLS, and whoever asks has to show
//! that they may. Each push counts once, by the device that it is for and the bytes that it has.

use std::{
    collections::BTreeSet,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::{Context as _, anyhow};
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use http_body_util::{BodyExt as _, Full};
use hyper::{
    HeaderMap, Request, Response, StatusCode,
    body::{Bytes, Incoming},
    header::AUTHORIZATION,
    server::conn::http2,
    service::service_fn,
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::{
    ServerConfig,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_rustls::TlsAcceptor;

/// Streams of one connection at the same time, as many as Apple takes.
const STREAMS: u32 = 1_000;
/// What FCM is asked with.
pub const BEARER: &str = "bench-bearer";
/// Path of FCM's messages, and of who gives out tokens for it.
pub const MESSAGES: &str = "/v1/projects/bench/messages:send";
pub const TOKENS: &str = "/token";

/// The services, all at one address.
pub struct BenchPushServices {
    pub address: SocketAddr,
    /// The certificate that they show, in PEM.
    pub ca: String,
    seen: Arc<PushServiceState>,
    serving: JoinHandle<()>,
}

struct PushServiceState {
    /// The public half of the key with which Apple and browsers are asked.
    public: Vec<u8>,
    /// Tokens whose signature was found good.
    good: Mutex<BTreeSet<String>>,
    pushes: Mutex<PushTotals>,
}

#[derive(Default)]
struct PushTotals {
    taken: u64,
    refused: u64,
}

impl BenchPushServices {
    pub async fn start(public: Vec<u8>) -> anyhow::Result<Self> {
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).context("a certificate")?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let tls = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        let mut tls = tls.with_no_client_auth().with_single_cert(vec![made.cert.der().clone()], key)?;
        tls.alpn_protocols = vec![b"h2".to_vec()];
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let seen = Arc::new(PushServiceState { public, good: Mutex::default(), pushes: Mutex::default() });
        let serving = tokio::spawn(serve_pushes(listener, TlsAcceptor::from(Arc::new(tls)), seen.clone()));
        Ok(Self { address, ca: made.cert.pem(), seen, serving })
    }

    pub fn root(&self) -> String {
        format!("https://{}", self.address)
    }

    /// How many pushes were taken and how many refused since the last look.
    pub fn take_counts(&self) -> (u64, u64) {
        let pushes = std::mem::take(&mut *self.seen.pushes.lock().unwrap_or_else(PoisonError::into_inner));
        (pushes.taken, pushes.refused)
    }
}

impl Drop for BenchPushServices {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve_pushes(listener: TcpListener, tls: TlsAcceptor, seen: Arc<PushServiceState>) {
    while let Ok((stream, _)) = listener.accept().await {
        let (tls, seen) = (tls.clone(), seen.clone());
        tokio::spawn(async move {
            // Or its answers wait for each other, as those of no service do.
            drop(stream.set_nodelay(true));
            let Ok(stream) = tls.accept(stream).await else { return };
            let service = service_fn(|request| answer_push(seen.clone(), request));
            let mut http = http2::Builder::new(TokioExecutor::new());
            http.max_concurrent_streams(STREAMS);
            // How it ends is the other side's business.
            drop(http.serve_connection(TokioIo::new(stream), service).await);
        });
    }
}

async fn answer_push(
    seen: Arc<PushServiceState>,
    request: Request<Incoming>,
) -> anyhow::Result<Response<Full<Bytes>>> {
    let (head, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let path = head.uri.path();
    if path == TOKENS {
        let token =
            format!("{{\"access_token\":\"{BEARER}\",\"expires_in\":3600,\"token_type\":\"Bearer\"}}");
        return Ok(Response::new(Full::new(token.into())));
    }
    let taken = if path.starts_with("/3/device/") {
        seen.accepts_apple(&head.headers, &body).then_some((StatusCode::OK, ""))
    } else if path == MESSAGES {
        accepts_google(&head.headers, &body)
            .then_some((StatusCode::OK, "{\"name\":\"projects/bench/messages/1\"}"))
    } else {
        seen.accepts_browser(&head.headers, &body).then_some((StatusCode::CREATED, ""))
    };
    let mut pushes = seen.pushes.lock().unwrap_or_else(PoisonError::into_inner);
    let (status, said) = match taken {
        Some(taken) => {
            pushes.taken += 1;
            taken
        }
        None => {
            pushes.refused += 1;
            (StatusCode::BAD_REQUEST, "{}")
        }
    };
    let response = Response::builder().status(status).body(Full::new(said.into()));
    response.map_err(|error| anyhow!(error))
}

impl PushServiceState {
    fn accepts_apple(&self, headers: &HeaderMap, body: &Bytes) -> bool {
        let token = header_text(headers, "authorization").strip_prefix("bearer ").unwrap_or_default();
        self.is_signed(token)
            && !header_text(headers, "apns-topic").is_empty()
            && body.starts_with(b"{\"aps\"")
    }

    fn accepts_browser(&self, headers: &HeaderMap, body: &Bytes) -> bool {
        let said = header_text(headers, "authorization").strip_prefix("vapid t=").unwrap_or_default();
        let token = said.split(',').next().unwrap_or_default();
        self.is_signed(token)
            && header_text(headers, "content-encoding") == "aes128gcm"
            && !header_text(headers, "ttl").is_empty()
            // A salt, the size of a record, the length of a key and a key of ours come first.
            && body.len() > 86
            && body[20] == 65
    }

    /// Whether a token is of our key. The same one comes again and again.
    fn is_signed(&self, token: &str) -> bool {
        let mut good = self.good.lock().unwrap_or_else(PoisonError::into_inner);
        if good.contains(token) {
            return true;
        }
        let Some((said, signature)) = token.rsplit_once('.') else { return false };
        let Ok(signature) = BASE64_URL_SAFE_NO_PAD.decode(signature) else { return false };
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, &self.public);
        key.verify(said.as_bytes(), &signature).is_ok() && good.insert(token.to_owned())
    }
}

fn accepts_google(headers: &HeaderMap, body: &Bytes) -> bool {
    header_text(headers, AUTHORIZATION.as_str()) == format!("Bearer {BEARER}")
        && body.starts_with(b"{\"message\"")
}

fn header_text<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}
