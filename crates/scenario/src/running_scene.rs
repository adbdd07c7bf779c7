//! One life of the house that a scenario plays in.

use std::{collections::BTreeSet, sync::Arc};

use adapters::engine_setup::OpenedEngines;
use anyhow::ensure;
use axum::Router;
use courier::outbox::OutboxCourier;
use house::RunningHouse;
use ingest::ReturnPaths;
use model::Tenant;
use secrecy::SecretString;
use store::Store;
use topic::Topics;
use topic_kafka::KafkaTopics;
use web::{
    api_key::{ApiKeyList, TenantAccess},
    person_access::{PersonAccess, PersonDoor},
};
use wire::token::LinkSecret;

use super::bounce_reports;

/// One life of the house.
pub(super) struct RunningScene {
    pub house: RunningHouse,
    pub intake: Router,
    /// The engines themselves, below whatever makes them rough.
    pub topics: Arc<dyn Topics>,
    pub store: Arc<dyn Store>,
    pub engines: OpenedEngines,
    /// The real log, so that it can be cut off.
    pub kafka: Option<KafkaTopics>,
    pub outbox: Arc<OutboxCourier>,
}

impl RunningScene {
    /// Lets go of the directory, so that the next life can have it.
    pub async fn close(self) -> anyhow::Result<()> {
        let Self { house, intake, topics, store, engines, kafka, outbox } = self;
        drop((house, intake, topics, store, kafka, outbox));
        ensure!(!engines.is_held(), "the store of a house that is down is still in use");
        engines.close().await
    }
}

/// What a house answers by HTTP to services of these tenants.
pub(super) fn open_doors(house: &RunningHouse, config: ingest::Config, tenants: &BTreeSet<Tenant>) -> Router {
    let keys: ApiKeyList = Some(tenants.iter().map(tenant_key).collect()).into();
    let services = TenantAccess { keys: keys.clone(), tenant: config.tenant.clone() };
    let feed = feed::router(feed::HttpFeed {
        deps: house.feed().clone(),
        door: PersonDoor { services, persons: PersonAccess::default() },
    });
    let intake = ingest::router(ingest::HttpIntake {
        deps: house.intake().clone(),
        config,
        keys,
        disk_low: Arc::new(|| false),
    });
    intake.merge(feed)
}

/// A tenant's key is its name: nobody else can reach this house.
fn tenant_key(tenant: &Tenant) -> web::ApiKey {
    web::ApiKey::new(&SecretString::from(tenant.as_str()), tenant.clone())
}

/// A part of a path as clients write it.
pub(super) fn encode_segment(text: &str) -> String {
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}

/// Where mails of a scenario come back to.
pub(super) fn return_paths() -> ReturnPaths {
    ReturnPaths::new(bounce_reports::DOMAIN, LinkSecret::new(bounce_reports::SECRET))
}
