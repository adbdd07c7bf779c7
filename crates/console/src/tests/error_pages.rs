//! Errors as a browser shows them, and what they tell to somebody who may see nothing.

use axum::http::{Method, header};

use super::door;

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
    check(Method::GET, "/outbox/mail", &[], 400, "This request is not complete").await;
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
    assert!(page.text.contains("<h1>Who are you?</h1>"), "{}", page.text);
    assert!(!page.text.contains("shop") && !page.text.contains("<nav"), "{}", page.text);
    let missing = door.ask(Method::GET, "/nowhere", &[BROWSER], "").await;
    assert!(!missing.text.contains("shop") && !missing.text.contains("<nav"), "{}", missing.text);
}
