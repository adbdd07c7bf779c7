//! Real sockets, with somebody at the other end who does not keep to the rules.

mod framing;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{Router, body::Bytes, response::Response, routing::any};
use runtime::ShutdownSignal;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::JoinHandle,
    time::timeout,
};

use crate::{
    LimitedListener, ListenerLimits,
    http::{ServeTimeouts, hold_until_read, serve_http},
    paced_stream::WritePace,
};

/// So that nothing hangs; what is waited for comes long before.
const PATIENCE: Duration = Duration::from_secs(60);
const TIMES: ServeTimeouts = ServeTimeouts {
    head: Duration::from_millis(300),
    idle: Duration::from_millis(900),
    write: WritePace { bytes: 64 * 1024, within: Duration::from_millis(500) },
};
const LIMITS: ListenerLimits = ListenerLimits { connections: 4, per_address: 4 };
const GET: &str = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";
/// Far more than a connection holds on its way.
const LARGE_BYTES: usize = 32 * 1024 * 1024;

struct ServedRouter {
    address: SocketAddr,
    stop: ShutdownSignal,
    serving: JoinHandle<()>,
}

impl ServedRouter {
    async fn new(router: Router, limits: ListenerLimits, times: ServeTimeouts) -> Self {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let listener = LimitedListener::bind(any, limits).await.unwrap();
        let (address, stop) = (listener.address().unwrap(), ShutdownSignal::default());
        let serving = tokio::spawn(serve_http(listener, router, times, stop.clone()));
        Self { address, stop, serving }
    }

    async fn connect(&self, says: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        // Who says too much may be thrown out before the end.
        let _said = stream.write_all(says.as_bytes()).await;
        stream
    }

    /// All that is answered until the connection is closed.
    async fn answers_to(&self, says: &str) -> String {
        read_answer(self.connect(says).await).await
    }

    async fn end(self) {
        self.stop.start();
        timeout(PATIENCE, self.serving).await.unwrap().unwrap();
    }
}

async fn read_answer(mut stream: TcpStream) -> String {
    let mut said = Vec::new();
    // Who is thrown out may hear it as an error.
    let _closed = timeout(PATIENCE, stream.read_to_end(&mut said)).await.unwrap();
    String::from_utf8(said).unwrap()
}

fn hello_router() -> Router {
    Router::new().route("/", any(|body: Bytes| async move { format!("{} bytes", body.len()) }))
}

#[tokio::test]
async fn whoever_does_not_ask_is_closed() {
    let served = ServedRouter::new(hello_router(), LIMITS, TIMES).await;
    let check = async |says: &str, answers: usize| {
        let said = served.answers_to(says).await;
        assert_eq!(said.matches("HTTP/1.1 200 OK").count(), answers, "{says:?}: {said}");
    };
    check("", 0).await;
    check("GET / HTTP/1.1\r\n", 0).await;
    check(GET, 1).await;
    check(&format!("{GET}{GET}GET"), 2).await;
    served.end().await;
}

#[tokio::test]
async fn a_head_that_trickles_is_closed() {
    let served = ServedRouter::new(hello_router(), LIMITS, TIMES).await;
    let (mut reads, mut writes) = served.connect("GET / HTTP/1.1\r\n").await.into_split();
    let trickle = async {
        let mut pause = tokio::time::interval(TIMES.head / 10);
        while writes.write_all(b"a: b\r\n").await.is_ok() {
            pause.tick().await;
        }
    };
    let mut said = Vec::new();
    timeout(PATIENCE, async { tokio::join!(trickle, async { drop(reads.read_to_end(&mut said).await) }) })
        .await
        .unwrap();
    assert!(said.is_empty());
    served.end().await;
}

#[tokio::test]
async fn http_2_is_refused_in_words() {
    let served = ServedRouter::new(hello_router(), LIMITS, TIMES).await;
    let said = served.answers_to("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await;
    assert!(
        said.starts_with("HTTP/1.1 505 ") && said.ends_with(crate::own_answers::ANOTHER_VERSION.body),
        "{said}"
    );
    let upgrade = "GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade, http2-settings, close\r\nupgrade: h2c\r\n\
         http2-settings: AAMAAABkAAQAAP__\r\n\r\n";
    let said = served.answers_to(upgrade).await;
    assert!(said.starts_with("HTTP/1.1 200 OK"), "{said}");
    served.end().await;
}

#[tokio::test]
async fn who_finds_no_place_is_told_so_and_others_go_on() {
    let served =
        ServedRouter::new(hello_router(), LIMITS, ServeTimeouts { idle: PATIENCE, head: PATIENCE, ..TIMES })
            .await;
    let mut held = Vec::new();
    for _ in 0..LIMITS.connections {
        held.push(served.connect("GET").await);
    }
    let said = served.answers_to(GET).await;
    assert!(said.starts_with("HTTP/1.1 503 ") && said.ends_with(crate::own_answers::FULL.body), "{said}");
    let mut first = held.remove(0);
    first.write_all(b" / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await.unwrap();
    assert!(self::read_answer(first).await.starts_with("HTTP/1.1 200 OK"));
    // A place is free a moment after its connection was closed.
    let has_place = async {
        loop {
            let said = served.answers_to("GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await;
            if said.starts_with("HTTP/1.1 200 OK") {
                break;
            }
            assert!(said.is_empty() || said.starts_with("HTTP/1.1 503 "), "{said}");
        }
    };
    timeout(PATIENCE, has_place).await.unwrap();
    drop(held);
    served.end().await;
}

/// An answer that nobody reads is let go of, and whatever it held with it; one that is read comes whole.
#[tokio::test]
async fn an_answer_that_is_not_read_is_given_up() {
    let held = Arc::new(());
    let large = {
        let held = held.clone();
        move || {
            let held = held.clone();
            async move { hold_until_read(Response::new(vec![b'a'; LARGE_BYTES].into()), held) }
        }
    };
    let served = ServedRouter::new(Router::new().route("/", any(large)), LIMITS, TIMES).await;
    let usual = Arc::strong_count(&held);
    let stream = served.connect(GET).await;
    let is_given_up = async {
        // First it is made, then it is gone.
        let mut looks = tokio::time::interval(Duration::from_millis(10));
        while Arc::strong_count(&held) == usual {
            looks.tick().await;
        }
        while Arc::strong_count(&held) > usual {
            looks.tick().await;
        }
    };
    timeout(PATIENCE, is_given_up).await.unwrap();
    assert!(read_answer(stream).await.len() < LARGE_BYTES);
    let close = "GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    assert!(served.answers_to(close).await.len() > LARGE_BYTES);
    served.end().await;
}

#[tokio::test]
async fn it_ends_when_it_is_asked_to() {
    let served =
        ServedRouter::new(hello_router(), LIMITS, ServeTimeouts { idle: PATIENCE, head: PATIENCE, ..TIMES })
            .await;
    let silent = served.connect("").await;
    let mut rests = served.connect(GET).await;
    let mut some = [0; 15];
    rests.read_exact(&mut some).await.unwrap();
    served.end().await;
    assert_eq!(read_answer(silent).await, "");
    assert!(read_answer(rests).await.ends_with("0 bytes"));
}
