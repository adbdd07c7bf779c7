//! Traces that come in: whose they are, and what of them goes on.

use ::traces::{SpanQueue, Tracer, metrics::TraceMetrics};
use runtime::metrics::Metrics;
use share_ratio::ShareRatio;
use wire::trace::{TRACEPARENT, TRACESTATE, read_parent};

use super::*;

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

fn parent(flags: &str) -> String {
    format!("00-{TRACE}-b7ad6b7169203331-{flags}")
}

async fn traced_house(share: ShareRatio) -> (IngestHouse, SpanQueue) {
    let counts = TraceMetrics::declare(&Metrics::default()).unwrap();
    let (tracer, queue) = Tracer::new(runtime::Clock::real(0), share, 100, counts);
    (IngestHouse::new_traced(tracer).await, queue)
}

fn change(number: u8) -> String {
    event_json("work.published", &format!(r#""subject":"work:{number}""#)).replacen(
        "\"id\":\"",
        &format!("\"id\":\"{number}-"),
        1,
    )
}

/// The traces of the events that are announced, in digits, and whether each says what its caller added.
async fn announced(house: &IngestHouse) -> Vec<(String, Option<String>)> {
    let records = house.records(topics::EVENTS).await;
    let parents = records.iter().filter_map(|record| read_parent(&record.headers));
    let digits = |id: [u8; 16]| id.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    parents
        .map(|parent| (digits(parent.context.trace), parent.state.map(|state| state.to_string())))
        .collect()
}

#[tokio::test]
async fn a_request_goes_on_in_the_trace_of_its_caller() {
    let check = async |headers: &[(&str, &str)], share: ShareRatio, expect: Option<Option<&str>>| {
        let (house, queue) = traced_house(share).await;
        let (status, said) = post_body(&house.router(), "/v1/changes", headers, change(1)).await;
        assert_eq!(status, 202, "{said}");
        let found = announced(&house).await;
        let expect: Vec<_> =
            expect.map(|state| (TRACE.to_owned(), state.map(str::to_owned))).into_iter().collect();
        assert_eq!(found, expect, "{headers:?}");
        let spans = queue.take_batch(9, std::time::Duration::ZERO).unwrap();
        assert_eq!(spans.len(), expect.len(), "{spans:?}");
    };
    let (good, off) = (parent("01"), parent("00"));
    check(&[(TRACEPARENT, &good)], ShareRatio::NONE, Some(None)).await;
    check(&[(TRACEPARENT, &good), (TRACESTATE, "a=1")], ShareRatio::NONE, Some(Some("a=1"))).await;
    check(&[(TRACEPARENT, &good), (TRACESTATE, "a=\u{e4}")], ShareRatio::NONE, Some(None)).await;
    check(&[(TRACEPARENT, &off)], ShareRatio::WHOLE, None).await;
    for odd in ["", "x", "00-0-0-01", &"0".repeat(5_000), &good.to_uppercase()] {
        check(&[(TRACEPARENT, odd)], ShareRatio::NONE, None).await;
    }
    check(&[(TRACEPARENT, &good), (TRACEPARENT, &good)], ShareRatio::NONE, None).await;
    check(&[], ShareRatio::NONE, None).await;
}

#[tokio::test]
async fn a_record_goes_on_in_the_trace_of_its_writer() {
    let (house, queue) = traced_house(ShareRatio::NONE).await;
    let record = |number: u8, headers: Vec<(String, Vec<u8>)>| NewRecord {
        topic: topics::CHANGES.into(),
        partition: 3,
        key: b"k".to_vec(),
        value: Some(change(number).into_bytes()),
        headers,
    };
    let header = |value: &str| (TRACEPARENT.to_owned(), value.as_bytes().to_vec());
    let records = vec![
        record(1, vec![header(&parent("01"))]),
        record(2, vec![header(&parent("00"))]),
        record(3, vec![header("\u{ff}")]),
        record(4, Vec::new()),
    ];
    house.deps.room.topics.append(records).await.unwrap();
    house.settle().await;
    assert_eq!(house.events().await.len(), 4);
    assert_eq!(announced(&house).await, [(TRACE.to_owned(), None)]);
    let spans = queue.take_batch(9, std::time::Duration::ZERO).unwrap();
    assert_eq!(spans.iter().map(|span| span.name.text()).collect::<Vec<_>>(), ["ingest take up"]);
}

#[tokio::test]
async fn what_has_no_trace_is_drawn() {
    let (house, queue) = traced_house(ShareRatio::WHOLE).await;
    post_body(&house.router(), "/v1/changes", &[], change(1)).await;
    let found = announced(&house).await;
    assert_eq!(found.len(), 1);
    assert_ne!(found[0].0, TRACE);
    assert_eq!(queue.take_batch(9, std::time::Duration::ZERO).unwrap().len(), 1);
}
