//! Errors as a browser shows them, and what they tell to somebody who may see nothing.

use axum::http::{Method, header};
use serde_json::Value;
use web::{
    ProblemType,
    problem::{PROBLEM_MEDIA_TYPE, TYPE_PREFIX},
};

use super::{API_KEY, door};

const BROWSER: (&str, &str) = ("accept", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8");
const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

#[tokio::test]
async fn an_error_is_a_page_for_a_browser_and_a_line_for_a_program() {
    let door = door(true, false).await;
    let check = async |method: Method, path: &str, lines: &[(&str, &str)], status: u16, title: &str| {
        let program = door.ask(method.clone(), path, lines, "").await;
        assert_eq!(program.status.as_u16(), status, "{path}: {}", program.text);
        assert!(!program.text.contains("<html"), "{path}: {}", program.text);
        let lines: Vec<_> = lines.iter().copied().chain([BROWSER]).collect();
        let page = door.ask(method, path, &lines, "").await;
        assert_eq!(page.status.as_u16(), status, "{path}");
        assert!(page.text.contains(&format!("<h1>{title}</h1>")), "{path}: {}", page.text);
        assert_eq!(page.headers[header::CONTENT_TYPE], "text/html; charset=utf-8");
        assert!(page.policy().starts_with("default-src 'none'"), "{path}");
        page.text
    };
    let text = check(Method::GET, "/nowhere", &[], 404, "Page not found").await;
    assert!(text.contains("<nav"), "with the head of all pages: {text}");
    check(Method::GET, "/person/windows", &[], 405, "Not possible here").await;
    check(Method::GET, "/outbox/mail", &[], 400, "This request cannot be handled").await;
    // Of a foreign page, whatever it says of itself, nothing of the house is shown.
    for lines in [
        &[FORM, ("origin", "https://evil.example")][..],
        &[FORM, ("origin", "null"), ("sec-fetch-site", "cross-site")],
        &[FORM, ("origin", "null")],
    ] {
        let text = check(Method::POST, "/clock", lines, 403, "Not allowed").await;
        assert!(!text.contains("<nav") && !text.contains("shop"), "{text}");
    }
    let text = check(Method::GET, "/u/nonsense", &[], 404, "Page not found").await;
    assert!(text.contains("This link is incomplete") && text.contains("..&#x2f;u&#x2f;style.css"), "{text}");
}

#[tokio::test]
async fn a_form_of_our_own_page_is_taken_as_browsers_send_it() {
    let door = door(true, false).await;
    let body = format!("csrf={}&to=hour", door.app.guard.csrf);
    for lines in [
        &[FORM, ("origin", "null"), ("sec-fetch-site", "same-origin")][..],
        &[FORM, ("origin", "http://127.0.0.1:7280"), ("sec-fetch-site", "same-origin")],
        &[FORM, ("origin", "http://127.0.0.1:7280")],
    ] {
        let answer = door.ask(Method::POST, "/clock", lines, &body).await;
        assert_eq!(answer.status.as_u16(), 303, "{lines:?}: {}", answer.text);
    }
    assert_eq!(door.get("/clock").await.headers["referrer-policy"], "same-origin");
}

#[tokio::test]
async fn who_may_not_see_the_page_sees_nothing_of_the_house() {
    let door = door(true, true).await;
    let page = door.ask(Method::GET, "/", &[BROWSER], "").await;
    assert_eq!(page.status.as_u16(), 401);
    assert!(page.text.contains("<h1>A token is needed</h1>"), "{}", page.text);
    assert!(!page.text.contains("shop") && !page.text.contains("<nav"), "{}", page.text);
    let missing = door.ask(Method::GET, "/nowhere", &[BROWSER], "").await;
    assert!(!missing.text.contains("shop") && !missing.text.contains("<nav"), "{}", missing.text);
}

#[tokio::test]
async fn every_error_of_a_program_is_a_problem() {
    let door = door(false, true).await;
    let token = ("authorization", door.bearer());
    let admin = ("authorization", token.1.as_str());
    let json = ("content-type", "application/json");
    let key = ("authorization", format!("Bearer {API_KEY}"));
    let key = ("authorization", key.1.as_str());
    let check = async |method: Method, path: &str, lines: &[(&str, &str)], body: &str, kind: ProblemType| {
        let answer = door.ask(method, path, lines, body).await;
        assert_eq!(answer.status, kind.status(), "{path}: {}", answer.text);
        assert_eq!(answer.headers[header::CONTENT_TYPE], PROBLEM_MEDIA_TYPE, "{path}: {}", answer.text);
        let problem = answer.json();
        assert_eq!(problem["type"], kind.reference(), "{path}: {problem}");
        assert_eq!(problem["status"], kind.status().as_u16(), "{path}: {problem}");
        for secret in [API_KEY, token.1.strip_prefix("Bearer ").unwrap()] {
            assert!(!answer.text.contains(secret), "{path}: {problem}");
        }
        let lookup = door.get(&kind.reference()).await.json();
        assert_eq!((&lookup["type"], &lookup["title"]), (&problem["type"], &problem["title"]), "{path}");
    };
    check(Method::GET, "/v1/nothing", &[key], "", ProblemType::NotFound).await;
    check(Method::GET, "/v1/changes", &[key], "", ProblemType::MethodNotAllowed).await;
    check(Method::POST, "/v1/changes", &[json], "{}", ProblemType::Unauthorized).await;
    check(Method::POST, "/v1/changes", &[json, key], "{", ProblemType::UnreadableBody).await;
    check(Method::POST, "/v1/changes", &[json, key], "{}", ProblemType::NothingAccepted).await;
    check(
        Method::POST,
        "/v1/changes",
        &[("content-type", "a/b"), key],
        "{}",
        ProblemType::UnsupportedMediaType,
    )
    .await;
    let long = " ".repeat((1 << 20) + 1);
    check(Method::POST, "/v1/changes", &[json, key], &long, ProblemType::BodyTooLarge).await;
    check(Method::GET, "/v1/people/ann/entries?limit=x", &[key], "", ProblemType::BadRequest).await;
    check(Method::GET, "/v1/people/%ff/entries", &[key], "", ProblemType::BadRequest).await;
    check(Method::GET, "/admin/days?person=ann", &[key], "", ProblemType::Unauthorized).await;
    check(Method::GET, "/admin/days", &[admin], "", ProblemType::BadRequest).await;
    check(Method::GET, "/admin/nothing", &[admin], "", ProblemType::NotFound).await;
    check(Method::DELETE, "/admin/days", &[admin], "", ProblemType::MethodNotAllowed).await;
    check(Method::GET, "/admin/person?person=nobody", &[admin], "", ProblemType::NotFound).await;
    check(Method::POST, "/admin/release", &[admin, json], "{", ProblemType::UnreadableBody).await;
    check(Method::POST, "/admin/release", &[admin, json], "{}", ProblemType::InvalidBody).await;
    check(Method::POST, "/admin/release", &[admin], "{}", ProblemType::UnsupportedMediaType).await;
    check(Method::POST, "/admin/clock", &[admin, json], r#"{"to":"day"}"#, ProblemType::Forbidden).await;
    check(Method::POST, "/admin/upstream", &[admin], &"x".repeat(70_000), ProblemType::BodyTooLarge).await;
    check(Method::GET, "/metrics", &[], "", ProblemType::Unauthorized).await;
    check(Method::GET, "/problems/none", &[], "", ProblemType::NotFound).await;
    check(
        Method::POST,
        "/v1/changes",
        &[json, ("origin", "https://evil.example"), key],
        "",
        ProblemType::ForeignOrigin,
    )
    .await;
    check(Method::GET, "/u/nonsense", &[], "", ProblemType::NotFound).await;
    check(Method::GET, "/nowhere", &[], "", ProblemType::NotFound).await;
}

/// What the listener says before there is a request is of the one table too.
#[test]
fn the_listener_speaks_by_the_table() {
    for answer in listener::own_answers::OWN_ANSWERS {
        let problem: Value = serde_json::from_str(answer.body).unwrap();
        let name = problem["type"].as_str().and_then(|kind| kind.strip_prefix(TYPE_PREFIX)).unwrap();
        let kind = ProblemType::from_name(name).unwrap();
        assert_eq!(
            (&problem["title"], &problem["status"]),
            (&kind.title().into(), &kind.status().as_u16().into())
        );
        assert!(answer.status_line.starts_with(kind.status().as_str()));
    }
}
