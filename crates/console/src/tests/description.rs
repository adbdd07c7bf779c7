//! The description: it is the one that is checked in, and leaves out nothing that is served.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use axum::http::{Method, header};
use serde_json::Value;

use super::{HouseDoor, door};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
/// What is for programs begins with one of these.
const OF_PROGRAMS: [&str; 6] = ["/v1/", "/admin/", "/health/", "/metrics", "/problems/", "/openapi.json"];

/// Methods by path.
type PathMethods = BTreeMap<String, BTreeSet<String>>;

impl HouseDoor {
    async fn description(&self) -> Value {
        self.get("/openapi.json").await.json()
    }

    /// What the router has, whatever it says of it.
    async fn served(&self) -> PathMethods {
        // `Debug` is the only way to ask a router for its paths.
        let router = format!("{:?}", self.router);
        let paths = router.split('"').filter(|text| OF_PROGRAMS.iter().any(|of| text.starts_with(of)));
        let paths: BTreeSet<&str> = paths.collect();
        let mut served = PathMethods::new();
        for path in paths {
            let asked = path.replace("{id}", "ann").replace("{name}", "busy");
            // No path takes it.
            let answer = self.ask_admin(Method::DELETE, &asked, "").await;
            assert_eq!(answer.status.as_u16(), 405, "{path}: {}", answer.text);
            let allowed = answer.headers[header::ALLOW].to_str().unwrap().split(',').map(str::trim);
            let allowed = allowed.filter(|method| *method != "HEAD").map(str::to_owned);
            served.insert(path.to_owned(), allowed.collect());
        }
        served
    }
}

fn operations(description: &Value) -> impl Iterator<Item = (&String, &String, &Value)> {
    let paths = description["paths"].as_object().unwrap().iter();
    paths.flat_map(|(path, item)| {
        item.as_object().unwrap().iter().map(move |(method, operation)| (path, method, operation))
    })
}

/// `UPDATE_GOLDENS=1 cargo test -p console description` writes the file anew.
#[tokio::test]
async fn the_description_is_the_one_that_is_checked_in() {
    let text = door(true, false).await.get("/openapi.json").await.text + "\n";
    if std::env::var_os("UPDATE_GOLDENS").is_some() {
        fs::write(PAGE, text).unwrap();
    } else {
        let checked_in = fs::read_to_string(PAGE).unwrap_or_default();
        let how = "docs/openapi.json is another one: UPDATE_GOLDENS=1 cargo test -p console description";
        assert!(checked_in == text, "{how}");
    }
}

#[tokio::test]
async fn what_is_served_is_described() {
    let door = door(true, false).await;
    let mut described = PathMethods::new();
    let description = door.description().await;
    for (path, method, _) in operations(&description) {
        described.entry(path.clone()).or_default().insert(method.to_uppercase());
    }
    let served = door.served().await;
    assert!(served.len() > 20 && served.contains_key("/v1/changes"), "{served:?}");
    assert_eq!(served, described);
}

#[tokio::test]
async fn every_operation_says_who_may_ask_and_what_can_go_wrong() {
    let description = door(true, false).await.description().await;
    let mut ids = BTreeSet::new();
    for (path, method, operation) in operations(&description) {
        let place = format!("{method} {path}");
        assert!(
            ids.insert(operation["operationId"].as_str().unwrap().to_owned()),
            "{place}: its id is another's"
        );
        assert!(operation["summary"].is_string() && operation["tags"].is_array(), "{place}");
        let security = operation["security"].to_string();
        let expected = if path.starts_with("/admin/") { r#"[{"token":[]}]"# } else { "{}" };
        assert!(security.contains(expected), "{place}: {security}");
        let responses = operation["responses"].as_object().unwrap();
        assert!(responses.keys().any(|status| status.starts_with('2')), "{place}");
        // What a client has is not sent to it, if it can say so.
        let takes_tag = operation["parameters"].to_string().contains("If-None-Match");
        assert_eq!(responses.contains_key("304"), takes_tag, "{place}");
        for (status, response) in responses.iter().filter(|(status, _)| status.as_str() >= "400") {
            assert_eq!(response["$ref"], format!("#/components/responses/Problem{status}"), "{place}");
        }
    }
    // Each reference leads somewhere.
    let text = description.to_string();
    for reference in text.split(r##""$ref":"#"##).skip(1) {
        let pointer = reference.split('"').next().unwrap();
        assert!(description.pointer(pointer).is_some(), "{pointer}");
    }
}
