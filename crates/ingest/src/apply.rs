//! The desk of both ways: when it returns, everything that was taken is stored and announced.

use std::collections::BTreeSet;

use courier::mail_returns::{self, ReturnedMail};
use futures::try_join;
use model::fault::{self, PlantedFault};
use runtime::crash_point;
use store::StoreError;
use tokio::task::spawn_blocking;
use wire::{WireError, house_note, topics};

use crate::{
    admission::AdmittedItem,
    config::RETURNS_AT_ONCE,
    decide::split_pieces,
    deps::Deps,
    effects::{IntakeEffects, IntakeVerdict},
    facts::IntakeQuestions,
    ingest_error::IngestError,
    load,
    metrics::{IntakeWay, sort_of},
    order,
    returns::{self, MailReturn, ReturnEffects, ReturnPaths, ReturnReading},
};

/// Stores and announces what was admitted, and says what became of each.
pub(crate) async fn apply_items(
    deps: &Deps,
    way: IntakeWay,
    mut admitted: Vec<AdmittedItem>,
) -> Result<Vec<IntakeVerdict>, IngestError> {
    order::order_changes(&mut admitted);
    apply_first_words(deps, &mut admitted).await?;
    let mut verdicts = Vec::with_capacity(admitted.len());
    for piece in split_pieces(admitted) {
        verdicts.extend(apply_piece(deps, way, piece).await?);
    }
    Ok(verdicts)
}

/// Law 1: an event is named by its source and id, and its time is that with which it was first heard. Whoever
/// says it again with another one tells nothing new. Who revokes an event that nobody spoke of yet says its time first.
async fn apply_first_words(deps: &Deps, admitted: &mut [AdmittedItem]) -> Result<(), StoreError> {
    let said = |one: &AdmittedItem| match one {
        AdmittedItem::Change(change) => Some((change.key, change.first_word())),
        AdmittedItem::Revocation(revocation) => revocation.first_word(),
        _ => None,
    };
    let spoken: Vec<_> = admitted.iter().filter_map(said).collect();
    if spoken.is_empty() {
        return Ok(());
    }
    let standing = deps.room.store.first_words(&spoken, deps.room.now()).await?;
    let speakers = admitted.iter_mut().filter(|one| said(one).is_some());
    for (one, first) in speakers.zip(standing) {
        match one {
            AdmittedItem::Change(change) => change.apply_first_word(first),
            AdmittedItem::Revocation(revocation) => revocation.apply_first_word(first),
            _ => {}
        }
    }
    Ok(())
}

async fn apply_piece(
    deps: &Deps,
    way: IntakeWay,
    admitted: Vec<AdmittedItem>,
) -> Result<Vec<IntakeVerdict>, IngestError> {
    let now = deps.room.now();
    let known = load::load_facts(
        deps,
        IntakeQuestions::from_admitted(&admitted, deps.room.store.day_life(), now),
        now,
    )
    .await?;
    let sorts: Vec<&str> = admitted.iter().map(sort_of).collect();
    let IntakeEffects { mut enrolments, states, mut left, marks, mut records, verdicts } =
        IntakeEffects::from_admitted(admitted, &known, now);
    let edition = deps.room.editions.own_edition();
    for event in records.iter_mut().filter(|record| &*record.topic == topics::EVENTS) {
        event.headers = house_note::stamp_headers(std::mem::take(&mut event.headers), edition);
    }
    let store = &deps.room.store;
    if fault::is_planted(PlantedFault::LeftFirst) {
        enrolments.append(&mut left);
    }
    // Law 4: who moves is found by the crowds of the new place before the profile names it, and by those of the
    // old one until it does. Nothing else depends on another.
    let crowds_around_states = async {
        if !enrolments.is_empty() {
            store.enrol(enrolments).await?;
        }
        let is_move = !left.is_empty();
        if is_move {
            crash_point::point(crash_point::ENTERED);
        }
        if !states.is_empty() {
            store.merge(states.into_iter().collect()).await?;
        }
        if is_move {
            crash_point::point(crash_point::MOVED);
            store.enrol(left).await?;
        }
        Ok(())
    };
    try_join!(crowds_around_states, async {
        if marks.is_empty() { Ok(()) } else { store.write(marks, now).await }
    })?;
    if !records.is_empty() {
        tracing::debug!(items = sorts.len(), records = records.len(), "stored, and announced next");
        deps.room.topics.append(records).await?;
    }
    for (sort, verdict) in sorts.into_iter().zip(&verdicts) {
        deps.metrics.count_verdict(way, sort, verdict);
    }
    Ok(verdicts)
}

/// What came back of mails, as a provider tells of many. Says how many of them are ours.
pub(crate) async fn apply_returns(
    deps: &Deps,
    way: &str,
    paths: &ReturnPaths,
    came: Vec<ReturnedMail>,
) -> Result<usize, IngestError> {
    let all = came.len();
    let backs: Vec<MailReturn> = came.into_iter().filter_map(|came| paths.match_return(came)).collect();
    (backs.len()..all).for_each(|_| deps.metrics.count_return(way, "unknown"));
    let mut taken = 0;
    for some in backs.chunks(RETURNS_AT_ONCE) {
        taken += store_returns(deps, way, some).await?;
    }
    Ok(taken)
}

/// A mail that came to return paths. When this returns, what follows from it is stored and announced.
pub async fn apply_return_mail(
    deps: &Deps,
    paths: &ReturnPaths,
    to: &BTreeSet<String>,
    mail: Vec<u8>,
) -> Result<(), IngestError> {
    const WAY: &str = "smtp";
    let _at_work = deps.room.quiet.begin_work();
    // Read once, whomever it is to, and beside the threads that turns run on.
    let letter = spawn_blocking(move || mail_returns::read_mail(&mail)).await;
    let letter = letter.map_err(|_| IngestError::Broken("the reader of a mail was stopped".to_owned()))?;
    for to in to {
        match paths.read_letter(to, &letter) {
            ReturnReading::Back(back) => {
                store_returns(deps, WAY, &[back]).await?;
            }
            ReturnReading::Nothing(why) => deps.metrics.count_return(WAY, why),
        }
    }
    Ok(())
}

/// Law 4: noted, then told.
async fn store_returns(deps: &Deps, way: &str, backs: &[MailReturn]) -> Result<usize, IngestError> {
    let now = deps.room.now();
    let ours = load::load_slips(deps, way, backs, now).await?;
    if ours.is_empty() {
        return Ok(0);
    }
    let broken = |error: WireError| IngestError::Broken(error.to_string());
    let ReturnEffects { states, records } =
        returns::decide_returns(ours.iter().map(|(back, slip)| (*back, slip)), now).map_err(broken)?;
    deps.room.store.merge(states).await?;
    deps.room.topics.append(records).await?;
    ours.iter().for_each(|(back, _)| deps.metrics.count_return(way, back.what.name()));
    Ok(ours.len())
}
