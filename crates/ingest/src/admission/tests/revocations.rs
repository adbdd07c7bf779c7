//! What a service takes back.

use super::check_admission;

#[test]
fn a_revocation_is_of_an_event_or_of_subjects() {
    let check = |rest: &str, expected: &str| check_admission("tidings.revoke", rest, expected);
    let until = "until 2026-11-21T12:00:00.000Z";
    let event = r#""event":{"source":"shop","id":"11"}"#;
    check(&format!(r#""data":{{{event}}}"#), &format!("revoke 1 {until}"));
    // Nobody can say whether the change had others: both events are meant that it may have been.
    check(&format!(r#""data":{{{event},"subject":"work:1"}}"#), &format!("revoke 2 {until}"));
    check(&format!(r#""subject":"work:1",{event}"#), &format!("revoke 2 {until}"));
    check(&format!(r#""subjects":["work:1","work:2"],{event}"#), &format!("revoke several 2 {until}"));
    check(r#""data":{"subject":"work:1"}"#, &format!("revoke [work:1] {until}"));
    check(r#""subject":"work:1""#, &format!("revoke [work:1] {until}"));
    check(r#""subjects":["work:1","work:2"]"#, &format!("revoke [work:1, work:2] {until}"));
    let earlier = r#""time":"2026-10-01T12:00:00Z","data":{"subject":"work:1"}"#;
    check(earlier, "revoke [work:1] until 2026-10-01T12:00:00.000Z");
    let nothing = "it must have an `event` with its `source` and `id`, or a `subject`";
    check(r#""data":{}"#, &format!("refused /data: {nothing}"));
    check(r#""data":{"event":"11"}"#, "refused /data/event: it is not an object");
    let half = "an event is named by its `source` and `id`: `id` is missing";
    check(r#""data":{"event":{"source":"shop"}}"#, &format!("refused /data/event/id: {half}"));
    check(r#""data":{"event":{"source":"shop","id":""}}"#, &format!("refused /data/event/id: {half}"));
    check(
        r#""data":{"subject":"wrok:1"}"#,
        "refused /data/subject: wrok:1: there is no subject type `wrok`, did you mean `work`?",
    );
    check(
        r#""subject":"work:1","data":{"subject":"work:1"}"#,
        "refused /data/subject: there is another one beside the data",
    );
    check(
        r#""data":{"person":"ann","subject":"work:1"}"#,
        "refused /data/person: there is no field `person`: use `event` or `subject`",
    );
    let nobody = "a revocation is about an event or a subject, and about no person";
    check(r#""persons":["ann"],"subject":"work:1""#, &format!("refused /persons: {nobody}"));
    check(r#""actor":"ann","subject":"work:1""#, &format!("refused /actor: {nobody}"));
}
