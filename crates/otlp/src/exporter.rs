//! The thread that takes spans away.

use std::{
    path::PathBuf,
    sync::mpsc::{Receiver, sync_channel},
    thread,
    time::Duration,
};

use anyhow::{Context as _, ensure};
use prost::Message as _;
use runtime::clock::SteadyStopwatch;
use secrecy::{ExposeSecret as _, SecretString};
use traces::{
    EndedSpan, SpanQueue,
    metrics::{LOST, SENT, TraceMetrics},
};
use ureq::Agent;

use crate::{encode::encode_request, messages::ExportAnswer};

/// Spans that may wait; about 2 MiB.
pub const WAITING_MAX: usize = 4_096;
/// Spans of one request.
const REQUEST_SPANS_MAX: usize = 512;
/// How long a span waits for others to go with it.
const GATHERING: Duration = Duration::from_secs(1);
/// How long a request may take.
const REQUEST_TIME_MAX: Duration = Duration::from_secs(5);
const ANSWER_BYTES_MAX: u64 = 64 * 1024;
/// Where receivers take spans, by the standard.
const PATH: &str = "/v1/traces";

/// Where spans go.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The receiver; its root, or the whole address.
    pub endpoint: String,
    /// What each request has beside, such as a key.
    pub headers: Vec<(String, SecretString)>,
    /// Certificate authorities of the receiver; those that browsers trust without it.
    pub ca: Option<PathBuf>,
    /// The name by which the receiver knows us.
    pub service: String,
}

/// Takes spans to their receiver until the queue is closed.
#[derive(Debug)]
pub struct SpanExporter {
    ended: Receiver<()>,
}

impl SpanExporter {
    pub fn start(settings: &Settings, queue: SpanQueue, metrics: TraceMetrics) -> anyhow::Result<Self> {
        let (ending, ended) = sync_channel::<()>(1);
        let mut post = SpanPost {
            agent: http_agent::build_agent(settings.ca.as_deref(), REQUEST_TIME_MAX)?,
            url: full_address(&settings.endpoint),
            headers: settings.headers.clone(),
            service: settings.service.clone(),
            metrics,
            is_down: false,
        };
        let run = move || {
            post.run(&queue);
            drop(ending);
        };
        thread::Builder::new().name("traces".to_owned()).spawn(run).context("start a thread for traces")?;
        Ok(Self { ended })
    }

    /// Waits until the last spans have left, but not for longer than this. The queue was closed before.
    pub fn wait_for_end(self, patience: Duration) {
        // Nothing is ever sent on it: it ends with the thread.
        let _ended = self.ended.recv_timeout(patience);
    }
}

struct SpanPost {
    agent: Agent,
    url: String,
    headers: Vec<(String, SecretString)>,
    service: String,
    metrics: TraceMetrics,
    /// The last request failed, and that was said.
    is_down: bool,
}

impl SpanPost {
    fn run(&mut self, queue: &SpanQueue) {
        loop {
            let (spans, is_last) = gather_spans(queue);
            if !spans.is_empty() {
                self.post_spans(spans);
            }
            if is_last {
                return;
            }
        }
    }

    /// Once: what the receiver does not take is dropped, so that what comes after it has room.
    fn post_spans(&mut self, spans: Vec<EndedSpan>) {
        let many = spans.len();
        match self.send_request(spans) {
            Ok(rejected) => {
                let lost = many.min(rejected);
                self.metrics.count_spans(SENT, many - lost);
                self.metrics.count_spans(LOST, lost);
                if std::mem::take(&mut self.is_down) {
                    tracing::info!("the receiver of traces answers again");
                }
            }
            Err(error) => {
                self.metrics.count_spans(LOST, many);
                self.metrics.failures_total.with_label_values::<&str>(&[]).inc();
                if !std::mem::replace(&mut self.is_down, true) {
                    let error = format!("{error:#}");
                    tracing::warn!(
                        error,
                        "the receiver of traces takes no spans; they are dropped until it does"
                    );
                }
            }
        }
    }

    /// How many spans the receiver rejected of those that it took.
    fn send_request(&self, spans: Vec<EndedSpan>) -> anyhow::Result<usize> {
        let body = encode_request(&self.service, spans).encode_to_vec();
        let mut request = self.agent.post(&self.url).header("content-type", "application/x-protobuf");
        for (name, value) in &self.headers {
            request = request.header(name, value.expose_secret());
        }
        let mut answer = request.send(&body[..])?;
        ensure!(answer.status().is_success(), "it answers {}", answer.status().as_u16());
        let body = answer.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_vec().unwrap_or_default();
        // Whoever says something else took all of them.
        let said = ExportAnswer::decode(&body[..]).unwrap_or_default();
        let rejected = said.partial_success.map_or(0, |partial| partial.rejected_spans);
        Ok(usize::try_from(rejected).unwrap_or(0))
    }
}

/// What goes with one request, and whether it is the last one.
fn gather_spans(queue: &SpanQueue) -> (Vec<EndedSpan>, bool) {
    let (mut spans, watch) = (Vec::new(), SteadyStopwatch::start());
    loop {
        let (room, left) = (REQUEST_SPANS_MAX - spans.len(), GATHERING.saturating_sub(watch.elapsed()));
        if room == 0 || left.is_zero() {
            return (spans, false);
        }
        match queue.take_batch(room, left) {
            Some(more) => spans.extend(more),
            None => return (spans, true),
        }
    }
}

fn full_address(endpoint: &str) -> String {
    let root = endpoint.trim_end_matches('/');
    let has_path = root.split_once("://").is_some_and(|(_, rest)| rest.contains('/'));
    if has_path { root.to_owned() } else { format!("{root}{PATH}") }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{BufRead as _, BufReader, Read as _, Write as _},
        net::TcpListener,
    };

    use model::trace::TraceParent;
    use opentelemetry_proto::tonic::collector::trace::v1::{
        ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
    };
    use runtime::{Clock, metrics::Metrics};
    use share_ratio::ShareRatio;
    use traces::{SpanAttribute, SpanName, Tracer};

    use super::*;

    /// Answers one request with this, and says what it was.
    fn answer_once(listener: &TcpListener, status: &str, body: &[u8]) -> (Vec<String>, Vec<u8>) {
        let (stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            match line.trim_end() {
                "" => break,
                line => head.push(line.to_ascii_lowercase()),
            }
        }
        let length = head.iter().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        let mut sent = vec![0; length.parse().unwrap()];
        reader.read_exact(&mut sent).unwrap();
        let answer =
            format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
        let mut stream = stream;
        stream.write_all(&[answer.as_bytes(), body].concat()).unwrap();
        (head, sent)
    }

    struct TracesAtWork {
        tracer: Tracer,
        exporter: SpanExporter,
        metrics: Metrics,
    }

    fn start(endpoint: String) -> TracesAtWork {
        let metrics = Metrics::default();
        let counts = TraceMetrics::declare(&metrics).unwrap();
        let (tracer, queue) = Tracer::new(Clock::real(0), ShareRatio::WHOLE, WAITING_MAX, counts.clone());
        let headers = vec![("x-key".to_owned(), SecretString::from("letmein".to_owned()))];
        let settings = Settings { endpoint, headers, ca: None, service: "gallery".to_owned() };
        let exporter = SpanExporter::start(&settings, queue, counts).unwrap();
        TracesAtWork { tracer, exporter, metrics }
    }

    impl TracesAtWork {
        fn count(&self, outcome: &str) -> f64 {
            self.metrics.sum_values("tidings_traces_spans_total", Some(("outcome", outcome)))
        }
    }

    #[test]
    fn spans_arrive_as_the_standard_has_them() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let work = start(format!("http://{}", listener.local_addr().unwrap()));
        let mut span = work.tracer.begin_root(SpanName::Accept, || None);
        let parent: Option<TraceParent> = span.as_parent();
        span.set(SpanAttribute::Items, || 2_usize);
        drop(span);
        let mut child = work.tracer.begin_child(SpanName::Resolve, parent.as_ref());
        child.fail();
        let context = child.context().unwrap();
        drop(child);
        drop(work.tracer.begin_linked(SpanName::Tell, vec![context]));
        let partial = ExportTracePartialSuccess { rejected_spans: 1, ..Default::default() };
        let said = ExportTraceServiceResponse { partial_success: Some(partial) }.encode_to_vec();
        let (head, body) = answer_once(&listener, "200 OK", &said);
        assert!(head[0].starts_with("post /v1/traces "), "{head:?}");
        for line in ["x-key: letmein", "content-type: application/x-protobuf"] {
            assert!(head.iter().any(|sent| sent == line), "{head:?}");
        }
        let request = ExportTraceServiceRequest::decode(&body[..]).unwrap();
        let resource = request.resource_spans[0].resource.as_ref().unwrap();
        assert!(format!("{resource:?}").contains("gallery"));
        let spans = &request.resource_spans[0].scope_spans[0].spans;
        let names: Vec<&str> = spans.iter().map(|span| span.name.as_str()).collect();
        assert_eq!(names, ["ingest accept", "fanout resolve", "digest tell"]);
        assert_eq!(spans[1].parent_span_id, spans[0].span_id);
        assert_eq!(spans[1].trace_id, spans[0].trace_id);
        assert_eq!(spans[2].links[0].span_id, spans[1].span_id);
        assert!(spans.iter().all(|span| span.end_time_unix_nano >= span.start_time_unix_nano));
        let failed: Vec<bool> = spans.iter().map(|span| span.status.is_some()).collect();
        assert_eq!(failed, [false, true, false]);
        work.tracer.close();
        let metrics = work.metrics.clone();
        work.exporter.wait_for_end(Duration::from_secs(10));
        let count = |outcome| metrics.sum_values("tidings_traces_spans_total", Some(("outcome", outcome)));
        assert_eq!((count(SENT), count(LOST)), (2.0, 1.0));
    }

    #[test]
    fn a_receiver_that_is_away_costs_a_count_and_is_not_waited_for() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let gone = listener.local_addr().unwrap();
        drop(listener);
        let work = start(format!("http://{gone}/"));
        drop(work.tracer.begin_root(SpanName::Accept, || None));
        work.tracer.close();
        let (exporter, counts) = (work.exporter, work.metrics);
        exporter.wait_for_end(Duration::from_secs(10));
        assert_eq!(counts.sum_values("tidings_traces_failures_total", None), 1.0);
        assert_eq!(counts.sum_values("tidings_traces_spans_total", Some(("outcome", LOST))), 1.0);
        // One that takes the connection and says nothing is left as it is.
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let work = start(format!("http://{}", silent.local_addr().unwrap()));
        drop(work.tracer.begin_root(SpanName::Accept, || None));
        work.tracer.close();
        let watch = SteadyStopwatch::start();
        assert_eq!(work.count(LOST), 0.0);
        work.exporter.wait_for_end(Duration::from_millis(100));
        assert!(watch.elapsed() < REQUEST_TIME_MAX);
    }

    #[test]
    fn a_root_is_completed() {
        let check = |endpoint: &str, expect: &str| assert_eq!(full_address(endpoint), expect);
        check("http://collector:4318", "http://collector:4318/v1/traces");
        check("http://collector:4318/", "http://collector:4318/v1/traces");
        check("https://otlp.example.com/v1/traces", "https://otlp.example.com/v1/traces");
        check("https://otlp.example.com/a/b", "https://otlp.example.com/a/b");
    }
}
