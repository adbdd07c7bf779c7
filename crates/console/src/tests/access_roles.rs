//! Tokens of the settings: what each role opens, and what somebody tries who has another.

use house_facts::AccessRole;
use web::guard::RoleToken;

use super::*;

pub(super) const METRICS: &str = "scraper-0123456789abcdef";
pub(super) const READ: &str = "reader-0123456789abcdef";
pub(super) const OPERATE: &str = "operator-0123456789abcdef";
/// The next one, while the old one is still shown.
const OPERATE_NEXT: &str = "operator-next-0123456789";

/// A guard that knows them, where it is locked.
pub(super) fn guard(is_locked: bool) -> RequestGuard {
    let tokens = [
        (AccessRole::Metrics, METRICS),
        (AccessRole::Read, READ),
        (AccessRole::Operate, OPERATE),
        (AccessRole::Operate, OPERATE_NEXT),
    ];
    let tokens = tokens.map(|(role, token)| RoleToken { role, token: SecretString::from(token) });
    let guard = RequestGuard::new(HOST.parse().unwrap(), is_locked, || random_hex(8)).unwrap();
    guard.with_tokens(tokens.into_iter().filter(|_| is_locked))
}

/// A request with a token, and the status for each of: no token, metrics, read, operate.
type AccessCase = (Method, &'static str, &'static str, [u16; 4]);

#[tokio::test]
async fn each_role_opens_what_it_is_for() {
    let door = door(true, true).await;
    let fact =
        r#"{"id":"1","source":"t","type":"tidings.follow","data":{"person":"ann","target":"maker:1"}}"#;
    let cases: [AccessCase; 15] = [
        (Method::GET, "/metrics", "", [401, 200, 200, 200]),
        (Method::GET, "/health/live", "", [200, 200, 200, 200]),
        (Method::GET, "/admin/stages", "", [401, 403, 200, 200]),
        (Method::GET, "/admin/days?person=ann", "", [401, 403, 200, 200]),
        (Method::GET, "/admin/quarantine", "", [401, 403, 200, 200]),
        (Method::HEAD, "/admin/stages", "", [401, 403, 200, 200]),
        (Method::POST, "/admin/clock", r#"{"to":"hour"}"#, [401, 403, 403, 200]),
        (Method::POST, "/admin/quarantine", r#"{"verdict":"drop"}"#, [401, 403, 403, 200]),
        (Method::POST, "/admin/v1/facts", fact, [401, 403, 403, 202]),
        (Method::POST, "/admin/release", r#"{"plan":"daily","person":"ann"}"#, [401, 403, 403, 200]),
        // What there is not is no way around.
        (Method::PUT, "/admin/clock", "{}", [401, 403, 403, 405]),
        (Method::DELETE, "/admin/stages", "", [401, 403, 403, 405]),
        // A token is no key of a service, and opens no page by its header.
        (Method::POST, "/v1/facts", fact, [401, 401, 401, 401]),
        (Method::GET, "/v1/people/ann/entries", "", [401, 401, 401, 401]),
        (Method::GET, "/", "", [401, 401, 401, 401]),
    ];
    for (method, path, body, expected) in cases {
        for (token, expected) in [None, Some(METRICS), Some(READ), Some(OPERATE)].into_iter().zip(expected) {
            let bearer = token.map(|token| format!("Bearer {token}"));
            let mut lines = vec![("content-type", "application/json")];
            lines.extend(bearer.as_deref().map(|bearer| ("authorization", bearer)));
            let answer = door.ask(method.clone(), path, &lines, body).await;
            assert_eq!(answer.status.as_u16(), expected, "{method} {path} {token:?}: {}", answer.text);
            if matches!(expected, 401 | 403) && method != Method::HEAD {
                let problem: serde_json::Value = serde_json::from_str(&answer.text).unwrap();
                assert_eq!(problem["status"], expected, "{path}: {problem}");
                assert!(token.is_none_or(|token| !answer.text.contains(token)), "{path}: {problem}");
            }
        }
    }
    let refused = [("authorization", format!("Bearer {READ}"))];
    let lines = [("content-type", "application/json"), ("authorization", refused[0].1.as_str())];
    let answer = door.ask(Method::POST, "/admin/clock", &lines, r#"{"to":"hour"}"#).await;
    let problem: serde_json::Value = serde_json::from_str(&answer.text).unwrap();
    assert_eq!(
        (problem["type"].as_str(), problem["detail"].as_str()),
        (Some("/problems/forbidden"), Some("this token has the role `read`; this needs the role `operate`"))
    );
}

#[tokio::test]
async fn what_is_no_token_opens_nothing() {
    let door = door(true, true).await;
    let long = "x".repeat(30_000);
    let wrong = [
        vec![],
        vec![""],
        vec!["Bearer"],
        vec!["Bearer "],
        vec![OPERATE],
        vec!["Bearer wrong"],
        vec!["Bearer operator-0123456789abcde"],
        vec!["Bearer operator-0123456789abcdef0"],
        vec!["Bearer OPERATOR-0123456789ABCDEF"],
        vec!["Basic operator-0123456789abcdef"],
        vec!["Bearer operator-0123456789abcdef, Bearer operator-0123456789abcdef"],
        vec![long.as_str()],
        vec!["Bearer reader-0123456789abcdef", "Bearer operator-0123456789abcdef"],
        vec!["Bearer operator-0123456789abcdef", "Bearer operator-0123456789abcdef"],
    ];
    for given in wrong {
        let lines: Vec<_> = given.iter().map(|value| ("authorization", *value)).collect();
        for path in ["/admin/stages", "/metrics"] {
            let answer = door.ask(Method::GET, path, &lines, "").await;
            assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{path} {:.60}", format!("{given:?}"));
        }
    }
    // Both tokens of a role, while one takes the place of the other.
    for token in [OPERATE, OPERATE_NEXT, door.app.guard.token.expose_secret()] {
        let bearer = format!("Bearer {token}");
        let answer = door.ask(Method::GET, "/admin/stages", &[("authorization", &bearer)], "").await;
        assert_eq!(answer.status, StatusCode::OK);
    }
}

impl HouseDoor {
    /// The cookie that a browser is given for a token.
    async fn log_in(&self, token: &str) -> Option<String> {
        let answer = self.get(&format!("/?token={token}")).await;
        let cookie = answer.headers.get(header::SET_COOKIE)?.to_str().unwrap();
        assert_eq!(answer.status, StatusCode::SEE_OTHER);
        assert!(!cookie.contains(token), "{cookie}");
        Some(cookie.split(';').next()?.to_owned())
    }

    /// A form of ours, sent by a browser with this cookie.
    async fn form_with(&self, cookie: &str, path: &str, fields: &str) -> DoorAnswer {
        let lines = [
            ("content-type", "application/x-www-form-urlencoded"),
            ("origin", "http://127.0.0.1:7280"),
            ("cookie", cookie),
            ("accept", "text/html"),
        ];
        let body = format!("csrf={}&{fields}", self.app.guard.csrf);
        self.ask(Method::POST, path, &lines, &body).await
    }
}

#[tokio::test]
async fn a_page_for_looking_offers_no_form_and_takes_none() {
    let door = door(true, true).await;
    assert_eq!(door.log_in(METRICS).await, None);
    assert_eq!(door.get(&format!("/?token={METRICS}")).await.status, StatusCode::UNAUTHORIZED);
    let reader = door.log_in(READ).await.unwrap();
    let operator = door.log_in(OPERATE).await.unwrap();
    door.offer_item().await;
    for path in [
        "/",
        "/pipeline",
        "/outbox",
        "/person?id=ann",
        "/preview",
        "/told",
        "/publish",
        "/quarantine",
        "/clock",
        "/push?person=ann",
        "/bell?person=ann",
        "/person/cancel?id=ann&plan=daily&key=&opened=1",
    ] {
        let seen = door.ask(Method::GET, path, &[("cookie", &reader)], "").await;
        assert_eq!(seen.status, StatusCode::OK, "{path}: {}", seen.text);
        assert!(
            !seen.text.contains("method=\"post\"") && !seen.text.contains("csrf"),
            "{path}: {}",
            seen.text
        );
        assert!(seen.text.contains("You may look, but change nothing"), "{path}");
        let worked = door.ask(Method::GET, path, &[("cookie", &operator)], "").await;
        assert!(!worked.text.contains("You may look"), "{path}");
    }
    let offered = door.ask(Method::GET, "/clock", &[("cookie", &operator)], "").await;
    assert!(offered.text.contains("method=\"post\""), "{}", offered.text);

    // Even with what stands in a form of somebody else's page.
    for (path, fields) in [
        ("/clock", "to=day"),
        ("/quarantine", "item=1&verdict=drop"),
        ("/publish", "event=maker.changed&subject=maker:1"),
        ("/person/windows", "id=ann&plan=daily&key=&opened=1&act=release"),
        ("/push", "person=ann&what=end&subscription=x"),
        ("/clock?token=operator-0123456789abcde", "to=day"),
    ] {
        let refused = door.form_with(&reader, path, fields).await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN, "{path}: {}", refused.text);
        assert!(refused.text.contains("has the role `read`"), "{path}: {}", refused.text);
        let strange = door.form_with("tidings=wrong", path, fields).await;
        assert_eq!(strange.status, StatusCode::UNAUTHORIZED, "{path}");
    }
    // A cookie that was changed is nobody's; one more beside it changes nothing.
    for cookie in [format!("{reader}0"), reader.to_uppercase(), format!("tidings={OPERATE}")] {
        assert_eq!(door.form_with(&cookie, "/clock", "to=day").await.status, StatusCode::UNAUTHORIZED);
    }
    let both = format!("role=operate; {reader}; tidings=operate");
    assert_eq!(door.form_with(&both, "/clock", "to=day").await.status, StatusCode::FORBIDDEN);
    // The operator's own form, without its word and from elsewhere.
    let lines = [("content-type", "application/x-www-form-urlencoded"), ("cookie", operator.as_str())];
    let forged = door.ask(Method::POST, "/clock", &lines, "csrf=wrong&to=day").await;
    assert_eq!(forged.status, StatusCode::FORBIDDEN);
    let foreign = [lines[0], lines[1], ("origin", "https://evil.example")];
    let body = format!("csrf={}&to=day", door.app.guard.csrf);
    assert_eq!(door.ask(Method::POST, "/clock", &foreign, &body).await.status, StatusCode::FORBIDDEN);
    assert_eq!(door.form_with(&operator, "/clock", "to=day").await.status, StatusCode::SEE_OTHER);
    // A cookie opens no admin path.
    let cookie = [("cookie", operator.as_str())];
    assert_eq!(door.ask(Method::GET, "/admin/stages", &cookie, "").await.status, StatusCode::UNAUTHORIZED);
}
