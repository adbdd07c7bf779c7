//! The description of all that programs ask here, at `/openapi.json`: each route brings what it is, and this puts it together.

use std::sync::{Arc, OnceLock};

use aide::{
    axum::{ApiRouter, routing::get_with},
    openapi::{License, OpenApi, Server, Tag},
    transform::TransformPathItem,
};
use axum::Router;
use web::description::{
    DescriptionText, OperationAccess, OperationDoc, add_components, describe_operation, set_access,
};

const TAGS: [(&str, &str); 3] = [
    ("services", "say what happened; ask what a person has"),
    ("operators", "what the command line asks of a running house"),
    ("machines", "health, metrics, and what an answer means"),
];

/// Routes with their description beside them.
pub fn publish(described: ApiRouter) -> Router {
    let text: Arc<OnceLock<String>> = Arc::default();
    let shown = text.clone();
    let doc = OperationDoc {
        id: "getDescription",
        summary: "This description",
        access: OperationAccess::Open,
        problems: &[],
    };
    let show = async move || DescriptionText(shown.get().cloned().unwrap_or_default());
    let described = described.api_route("/openapi.json", get_with(show, describe_operation(doc)));
    let mut api = new_description();
    let router = described.finish_api(&mut api);
    add_components(&mut api);
    text.get_or_init(|| serde_json::to_string_pretty(&api).unwrap_or_default());
    router
}

/// What is there before any route.
fn new_description() -> OpenApi {
    let mut api = OpenApi::default();
    api.info.title = "Tidings".to_owned();
    api.info.version = env!("CARGO_PKG_VERSION").to_owned();
    api.info.summary = Some("Say what changed; ask what a person has been told.".to_owned());
    let about = "docs/http.md says what each field means; this is for machines: clients are made from it. Requests are \
                 limited: a body to 1 MiB and 1,000 items, 64 at once, 10 seconds each. Every error is a problem of RFC 9457.";
    api.info.description = Some(about.to_owned());
    api.info.license = Some(License {
        name: "Apache-2.0".to_owned(),
        identifier: Some("Apache-2.0".to_owned()),
        ..License::default()
    });
    let here = Server {
        url: "/".to_owned(),
        description: Some("the house that shows it".to_owned()),
        ..Server::default()
    };
    api.servers = vec![here];
    let tag = |(name, description): (&str, &str)| Tag {
        name: name.to_owned(),
        description: Some(description.to_owned()),
        ..Tag::default()
    };
    api.tags = TAGS.map(tag).into();
    api
}

/// The intake under `/admin` is the operator's: it has names and a key of its own.
pub fn describe_for_operators(mut path: TransformPathItem<'_>) -> TransformPathItem<'_> {
    if let Some(operation) = &mut path.inner_mut().post {
        set_access(operation, OperationAccess::Token);
        let id = operation.operation_id.take().unwrap_or_default();
        operation.operation_id = Some(format!("{id}AsOperator"));
    }
    path
}
