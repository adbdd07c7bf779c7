//! One life of the house that a scenario plays in.

use std::{collections::BTreeSet, sync::Arc};

use adapters::engine_setup::OpenedEngines;
use anyhow::ensure;
use axum::Router;
use catalogue::Catalogue;
use courier::outbox::OutboxCourier;
use house::{RunningHouse, StageView};
use ingest::ReturnPaths;
use model::{Person, SubjectRef, Tenant, UtcMillis, partition::PartitionCount};
use secrecy::SecretString;
use store::Store;
use topic::{Topics, port::GroupStanding};
use topic_kafka::KafkaTopics;
use views::explain::{self, ExplainTarget};
use web::{
    api_key::{ApiKeyList, TenantAccess},
    person_access::{PersonAccess, PersonDoor},
};
use wire::{token::LinkSecret, topics};

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
    /// The stages that are behind, each with where its partitions and the members of its group stand; then what
    /// stands still.
    pub async fn describe_lag(&self) -> anyhow::Result<Vec<String>> {
        // One that is not asked again while it is busy: nobody waits for long to hear this.
        let log: &dyn Topics = match &self.kafka {
            Some(kafka) => kafka,
            None => &*self.topics,
        };
        let mut said = Vec::new();
        for stage in self.house.stages().await?.into_iter().filter(|stage| stage.lag > 0) {
            let StageView { name, topic, group, lag, .. } = stage;
            let standings = log.standing(&group, &topic).await.unwrap_or_default();
            let behind = standings.iter().filter(|standing| standing.lag() > 0);
            let behind = behind.map(|standing| {
                let GroupStanding { partition, committed, end, .. } = standing;
                format!("partition {partition} at {committed} of {end}")
            });
            let members = self.kafka.iter().flat_map(|kafka| kafka.describe_members(&group));
            let members = members.map(|member| format!("a member: {member}"));
            let known: Vec<String> = behind.chain(members).collect();
            said.push(format!("{name} by {lag} of {topic} [{}]", known.join("; ")));
        }
        let still = self.house.standstills().into_iter();
        said.extend(still.map(|still| {
            format!("partition {} of {} stands still: {}", still.partition, still.group, still.why)
        }));
        Ok(said)
    }

    /// Why somebody was told of a subject, or not, in steps.
    pub async fn explain(
        &self,
        whose: (&Tenant, &Person),
        subject: &SubjectRef,
        (catalogue, now): (&Catalogue, UtcMillis),
    ) -> anyhow::Result<Vec<String>> {
        let asked = ExplainTarget::Subject(subject.clone());
        let gathered =
            explain::load_evidence((&*self.topics, &*self.store), whose, &asked, catalogue, now).await?;
        let told = explain::explain_events(&gathered, whose, catalogue, now);
        Ok(told.into_iter().flat_map(|one| one.steps.into_iter().map(|step| step.text)).collect())
    }

    /// How many windows a person has open, as the log says.
    pub async fn count_windows(&self, tenant: &Tenant, person: &Person) -> anyhow::Result<usize> {
        let log = &*self.topics;
        let bounds = log.bounds(topics::WINDOWS).await?;
        let number = PartitionCount::from_topic_count(bounds.len()).of_person(tenant, person);
        let key = wire::key::person_key(tenant, person);
        let (mut from, end) = bounds.get(number as usize).copied().unwrap_or_default();
        let mut open = 0;
        while from < end {
            let records = log.read(topics::WINDOWS, number, from, 1_000).await?;
            let Some(last) = records.last() else { break };
            from = last.offset + 1;
            for record in records.iter().filter(|record| record.key == key) {
                open = match &record.value {
                    Some(value) => wire::window::decode(value)?.2.windows.len(),
                    None => 0,
                };
            }
        }
        Ok(open)
    }

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
    intake.merge(feed).merge(slots::router(house.slots().clone()))
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
