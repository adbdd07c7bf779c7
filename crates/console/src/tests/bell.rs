//! The page with a bell, and its modules.

use std::{fs, path::Path};

use axum::http::{StatusCode, header};

use super::door;

#[tokio::test]
async fn a_page_shows_the_bell_of_a_person() {
    let open = door(true, false).await;
    let page = open.get("/bell?person=%22%3E%3Cscript%3E").await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(
        page.policy().contains("script-src 'self';") && !page.policy().contains("unsafe"),
        "{}",
        page.policy()
    );
    assert!(page.text.contains("<tidings-bell person=\"&quot;&gt;&lt;script&gt;\">"), "{}", page.text);
    assert!(!open.get("/bell").await.text.contains("<tidings-bell"));
    // Who looks at a locked house has no token of that person.
    let locked = door(true, true).await;
    let cookie = locked.get("/bell?person=ann").await;
    assert_eq!(cookie.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn every_module_of_the_bell_is_served() {
    let door = door(true, false).await;
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients/web/src");
    let mut count = 0;
    for folder in ["", "words/"] {
        for file in fs::read_dir(source.join(folder)).unwrap() {
            let name = format!("{folder}{}", file.unwrap().file_name().to_str().unwrap());
            if !name.ends_with(".js") {
                continue;
            }
            let answer = door.get(&format!("/bell/{name}")).await;
            assert_eq!(answer.status, StatusCode::OK, "{name} is not in console::bell");
            assert_eq!(answer.headers[header::CONTENT_TYPE], "text/javascript; charset=utf-8");
            assert_eq!(answer.text, fs::read_to_string(source.join(&name)).unwrap());
            count += 1;
        }
    }
    assert!(count > 10, "only {count} modules");
    assert_eq!(door.get("/bell/other.js").await.status, StatusCode::NOT_FOUND);
}
