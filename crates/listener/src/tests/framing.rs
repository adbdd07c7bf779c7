//! Where a request ends: whoever stands in front of us and we must never see two where the other sees one.

use super::*;

/// A request that is never to be heard, since it is within the body of another.
const WITHIN: &str = "GET /within HTTP/1.1\r\nhost: a\r\n\r\n";

/// The numbers of answers that a connection gives. What is in braces is `WITHIN`.
async fn check_statuses(served: &ServedRouter, says: &str, expected: &[u16]) {
    let said = served.answers_to(&says.replace("{}", WITHIN)).await;
    let answers: Vec<u16> =
        said.match_indices("HTTP/1.1 ").map(|(at, _)| said[at + 9..at + 12].parse().unwrap()).collect();
    assert_eq!(answers, expected, "{says:?}: {said}");
    assert!(!said.contains("heard"), "{says:?}: {said}");
    // What went as far as the router was refused by it.
    if expected.len() == 1 && expected != [200] && !said.contains("Failed to buffer") {
        assert!(said.contains("\r\n\r\n{\"type\":\"/problems/"), "{says:?}: {said}");
    }
}

#[tokio::test]
async fn a_request_ends_in_one_place() {
    let router = hello_router().route("/within", any(|| async { "heard" }));
    let served = ServedRouter::new(router, LIMITS, TIMES).await;
    let close = "connection: close\r\n";
    let cases: &[(&str, &[u16])] = &[
        // Lengths.
        ("content-length: 3\r\n{close}\r\nabc", &[200]),
        ("content-length: 33\r\n{close}\r\n{}", &[200]),
        ("content-length: 3\r\n\r\nabcGET / HTTP/1.1\r\nhost: a\r\n\r\n", &[200, 200]),
        ("content-length: 3\r\ncontent-length: 33\r\n\r\n{}", &[400]),
        ("content-length: 33, 3\r\n\r\n{}", &[400]),
        ("content-length: +3\r\n\r\n{}", &[400]),
        ("content-length: -1\r\n\r\n{}", &[400]),
        ("content-length: 0x3\r\n\r\n{}", &[400]),
        ("content-length: 3 5\r\n\r\n{}", &[400]),
        ("content-length:\r\n\r\n{}", &[400]),
        ("content-length: 99999999999999999999999\r\n\r\n{}", &[400]),
        ("content-length : 3\r\n\r\n{}", &[400]),
        ("content-length\r\n\r\n{}", &[400]),
        // Chunks.
        ("transfer-encoding: chunked\r\n{close}\r\n3\r\nabc\r\n0\r\n\r\n", &[200]),
        ("transfer-encoding: chunked\r\n{close}\r\n21\r\n{}\r\n0\r\n\r\n", &[200]),
        ("transfer-encoding: chunked\r\n{close}\r\n3;a=b\r\nabc\r\n0\r\na: b\r\n\r\n", &[200]),
        ("transfer-encoding: identity\r\n\r\n{}", &[400]),
        ("transfer-encoding: chunked, identity\r\n\r\n{}", &[400]),
        ("transfer-encoding: xchunked\r\n\r\n{}", &[400]),
        ("transfer-encoding : chunked\r\n\r\n0\r\n\r\n{}", &[400]),
        ("transfer-encoding: chunked\r\n\r\ng\r\nabc\r\n0\r\n\r\n{}", &[400]),
        ("transfer-encoding: chunked\r\n\r\n-1\r\nabc\r\n0\r\n\r\n{}", &[400]),
        ("transfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\n{}", &[400]),
        ("transfer-encoding: chunked\r\n\r\n3\nabc\r\n0\r\n\r\n{}", &[400]),
        ("transfer-encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n{}", &[400]),
        // Both: the length counts for nothing, and nothing behind it is heard as another request.
        ("content-length: 3\r\ntransfer-encoding: chunked\r\n{close}\r\n0\r\n\r\n", &[200]),
        ("transfer-encoding: chunked\r\ncontent-length: 5\r\n{close}\r\n21\r\n{}\r\n0\r\n\r\n", &[200]),
        // Headers.
        (" a: b\r\n\r\n{}", &[400]),
        ("a: b\r\n c\r\n\r\n{}", &[400]),
        ("a\0: b\r\n\r\n{}", &[400]),
        ("a: b\0\r\n\r\n{}", &[400]),
        (": b\r\n\r\n{}", &[400]),
        ("a(: b\r\n\r\n{}", &[400]),
    ];
    for (rest, expected) in cases {
        let rest = rest.replace("{close}", close);
        check_statuses(&served, &format!("POST / HTTP/1.1\r\nhost: a\r\n{rest}"), expected).await;
    }
    for line in ["G(T / HTTP/1.1", "GET /", "GET / HTTP/3.0", "GET  / HTTP/1.1", "GET /\0 HTTP/1.1"] {
        check_statuses(&served, &format!("{line}\r\nhost: a\r\n\r\n{{}}"), &[400]).await;
    }
    let encoded = "POST / HTTP/1.0\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n{}";
    check_statuses(&served, encoded, &[400]).await;
    let many: String = (0..200).map(|number| format!("a{number}: b\r\n")).collect();
    check_statuses(&served, &format!("GET / HTTP/1.1\r\n{many}\r\n"), &[431]).await;
    let long = "a".repeat(1_000_000);
    for long in [format!("GET / HTTP/1.1\r\na: {long}\r\n\r\n"), format!("GET /{long} HTTP/1.1\r\n\r\n")] {
        // Thrown out before it has said all of it, and so perhaps before it hears why.
        let said = served.answers_to(&long).await;
        assert!(said.is_empty() || said.starts_with("HTTP/1.1 431 "), "{said}");
    }
    served.end().await;
}
