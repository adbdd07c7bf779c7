//! The topic way: a loop for `changes`, and one for each source. What is admitted goes to the desk, [`crate::apply`].

use async_trait::async_trait;
use catalogue::{Catalogue, SourceDef};
use futures::future::try_join_all;
use room::quarantine::quarantine_record;
use runtime::retry;
use topic::{
    GroupMembership, NewRecord, RecordBatch, TopicError, TopicRecord, TurnGuarantee,
    drive::{RoomWork, run_room},
};
use traces::{Span, SpanAttribute, SpanName};
use wire::{QuarantineCause, topics, trace};

use crate::{
    admission::AdmittedItem,
    apply,
    config::{Config, GROUP},
    decide::{judge_cloud, stamp_changes},
    deps::Deps,
    effects::IntakeVerdict,
    load,
    metrics::IntakeWay,
    order,
    read::first_seen,
};

/// Runs the topic way until the shutdown, or until an engine cannot go on: a loop for `changes`, and one
/// for each source.
pub async fn run(deps: Deps, config: Config) -> anyhow::Result<()> {
    let sources: Vec<SourceDef> = deps.room.catalogue.sources.values().cloned().collect();
    let sources = sources.into_iter().map(|source| run_loop(deps.clone(), config.clone(), Some(source)));
    try_join_all(std::iter::once(run_loop(deps.clone(), config.clone(), None)).chain(sources)).await?;
    Ok(())
}

/// All that is read: groups, and what they read.
pub fn subscriptions(catalogue: &Catalogue) -> Vec<(String, String)> {
    let sources = catalogue.sources.values().map(|source| (group_name(Some(source)), source.topic.clone()));
    std::iter::once((group_name(None), topics::CHANGES.to_owned())).chain(sources).collect()
}

fn group_name(source: Option<&SourceDef>) -> String {
    source.map_or_else(|| GROUP.to_owned(), |source| format!("{GROUP}-{}", source.name))
}

async fn run_loop(deps: Deps, config: Config, source: Option<SourceDef>) -> anyhow::Result<()> {
    if let Some(source) = &source
        && !wait_for_topic(&deps, &source.topic).await?
    {
        return Ok(());
    }
    let lead = source.as_ref().map_or(topics::CHANGES, |source| &source.topic).into();
    let membership = GroupMembership {
        group: group_name(source.as_ref()).into(),
        lead,
        companions: Vec::new(),
        state: None,
        mode: TurnGuarantee::Plain,
    };
    let drive_with = deps.room.build_drive(membership, config.records_max);
    run_room(drive_with, &mut IngestWork { deps, config, source }).await
}

/// Waits for a topic of others, which may be made later than we are started. The rest of the house does not
/// wait for it. Says whether it came before the shutdown.
async fn wait_for_topic(deps: &Deps, topic: &str) -> Result<bool, TopicError> {
    for tries in 0.. {
        match deps.room.topics.bounds(topic).await {
            Ok(_) => break,
            Err(TopicError::Refused(reason)) if tries == 0 => {
                tracing::warn!(topic, reason, "a source's topic is not there, and is waited for");
            }
            Err(TopicError::Refused(_) | TopicError::Busy(_)) => {}
            Err(error) => return Err(error),
        }
        tokio::select! {
            () = retry::pause_before_retry(tries, 0) => {}
            () = deps.room.shutdown.wait() => return Ok(false),
        }
    }
    Ok(true)
}

struct IngestWork {
    deps: Deps,
    config: Config,
    /// `None` for `changes`.
    source: Option<SourceDef>,
}

#[async_trait]
impl RoomWork for IngestWork {
    async fn turn(&mut self, batch: &RecordBatch, _: Option<i64>) -> anyhow::Result<Vec<NewRecord>> {
        let Self { deps, config, source } = self;
        let now = deps.room.now();
        let (mut reads, mut spans) = (Vec::with_capacity(batch.records.len()), Vec::new());
        for record in &batch.records {
            spans.push(begin_span(deps, record));
            let seen = first_seen(record, source.is_some(), now);
            reads.push((record, seen, load::read_record(deps, source.as_ref(), record, seen).await?));
        }
        let heard = reads.iter_mut().flat_map(|(_, seen, read)| {
            let seen = *seen;
            read.iter_mut().flatten().map(move |cloud| (cloud, seen))
        });
        order::order_facts(heard);
        let (mut admitted, mut from, mut rejects) = (Vec::new(), Vec::new(), Vec::new());
        for ((record, seen, read), span) in reads.into_iter().zip(&spans) {
            let judge = |cloud| judge_cloud(cloud, record, &config.tenant, seen, deps.rules(), &deps.secret);
            let read = read.map_err(|reason| (QuarantineCause::Unreadable, reason));
            let judged = read.and_then(|clouds| {
                let all = clouds.into_iter().map(judge).collect::<Result<_, _>>();
                all.map_err(|reason| (QuarantineCause::Refused, reason))
            });
            match judged {
                Ok(several) => {
                    let mut several: Vec<AdmittedItem> = several;
                    stamp_changes(&mut several, span.as_parent().as_ref());
                    from.extend(std::iter::repeat_n(record, several.len()));
                    admitted.extend(several);
                }
                Err((cause, reason)) => {
                    rejects.push(quarantine_record(record, (cause, reason.to_string()), GROUP, now)?);
                }
            }
        }
        deps.metrics.count_refused(IntakeWay::Topic, rejects.len());
        let first = spans.iter().find(|span| span.is_recorded());
        let applying = apply::apply_items(deps, IntakeWay::Topic, admitted);
        let verdicts = match first {
            Some(span) => span.within(applying).await?,
            None => applying.await?,
        };
        for (record, verdict) in from.into_iter().zip(verdicts) {
            if let IntakeVerdict::Refused(refused) = verdict {
                rejects.push(quarantine_record(
                    record,
                    (QuarantineCause::Refused, refused.to_string()),
                    GROUP,
                    now,
                )?);
            }
        }
        Ok(rejects)
    }
}

/// The span of a record, in the trace of whoever wrote it.
fn begin_span(deps: &Deps, record: &TopicRecord) -> Span {
    let mut span = deps.room.tracer.begin_root(SpanName::TakeUp, || trace::read_parent(&record.headers));
    span.set(SpanAttribute::Path, || &*record.topic);
    span
}
