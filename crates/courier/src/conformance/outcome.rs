//! Promises about what became of a message: accepted is for good, and known afterwards.

use futures::{FutureExt as _, future::join_all};
use house_facts::erasure::EraseMode;

use super::{
    CourierCheckResult, CourierHarness, CourierPromise, FixedGate, check_outcome, check_same, hand_accepted,
    only_mail, samples,
};
use crate::{
    outbox::OutboxMail,
    port::{CourierEraseRequest, HandoverOutcome},
};

pub(super) const PROMISES: &[CourierPromise] = &[
    CourierPromise {
        name: "accepted is for good",
        says: "a message that was accepted has arrived, also after a crash",
        check: |harness| check_accepted(harness).boxed(),
    },
    CourierPromise {
        name: "sent is known",
        says: "the outcome of a message that was accepted is never that it was not sent",
        check: |harness| check_sent(harness).boxed(),
    },
    CourierPromise {
        name: "not sent is known",
        says: "the outcome of a message that was never handed over, stopped or refused is never that it was sent",
        check: |harness| check_not_sent(harness).boxed(),
    },
    CourierPromise {
        name: "twice is the same message",
        says: "a message handed over twice is accepted twice and has one id; an engine that knows sends it once",
        check: |harness| check_twice(harness).boxed(),
    },
    CourierPromise {
        name: "many at once all arrive",
        says: "messages that are handed over together arrive, each once",
        check: |harness| check_many(harness).boxed(),
    },
    CourierPromise {
        name: "erased is gone",
        says: "what is kept of messages is removed by what they are of, and nothing else is; a look removes nothing",
        check: |harness| check_erased(harness).boxed(),
    },
];

async fn check_erased(harness: &dyn CourierHarness) -> CourierCheckResult {
    let courier = harness.open().await?;
    let (gone, stays) = (samples::sample_message(1)?, samples::sample_message(2)?);
    for message in [&gone, &stays] {
        hand_accepted(courier.as_ref(), message).await?;
    }
    let whose = CourierEraseRequest { readys: [gone.ready].into(), addresses: Vec::new() };
    if courier.erase(&whose, EraseMode::Look).await?.is_none() {
        // It keeps none.
        return check_same("what it removes", &courier.erase(&whose, EraseMode::Remove).await?, &None);
    }
    check_same("mails after a look", &harness.arrived_mails().await?.len(), &2)?;
    check_same("what it removes", &courier.erase(&whose, EraseMode::Remove).await?, &Some(1))?;
    let id = |message: &crate::port::Message| Some(message.message_id.trim_matches(['<', '>']).to_owned());
    let left = |mail: OutboxMail| mail.header("message-id").map(|id| id.trim_matches(['<', '>']).to_owned());
    check_same("what is left", &left(only_mail(harness).await?), &id(&stays))?;
    let courier = harness.crash(courier).await?;
    check_same("what it removes after a crash", &courier.erase(&whose, EraseMode::Remove).await?, &Some(0))?;
    check_same("what is left after a crash", &left(only_mail(harness).await?), &id(&stays))
}

async fn check_accepted(harness: &dyn CourierHarness) -> CourierCheckResult {
    let courier = harness.open().await?;
    let message = samples::sample_message(1)?;
    hand_accepted(courier.as_ref(), &message).await?;
    let id = only_mail(harness).await?.header("message-id").map(str::to_owned);
    let courier = harness.crash(courier).await?;
    let mail = only_mail(harness).await?;
    check_same("the id after a crash", &mail.header("message-id").map(str::to_owned), &id)?;
    check_outcome(harness, courier.as_ref(), &message.message_id, Some(true)).await
}

async fn check_sent(harness: &dyn CourierHarness) -> CourierCheckResult {
    let courier = harness.open().await?;
    for number in 1..=3 {
        let message = samples::sample_message(number)?;
        hand_accepted(courier.as_ref(), &message).await?;
        check_outcome(harness, courier.as_ref(), &message.message_id, Some(true)).await?;
    }
    Ok(())
}

async fn check_not_sent(harness: &dyn CourierHarness) -> CourierCheckResult {
    let courier = harness.open().await?;
    hand_accepted(courier.as_ref(), &samples::sample_message(1)?).await?;
    let never = samples::sample_message(2)?;
    check_outcome(harness, courier.as_ref(), &never.message_id, Some(false)).await?;
    let stopped = samples::sample_message(3)?;
    check_same(
        "a message that was stopped",
        &courier.hand(&stopped, &FixedGate(false)).await?,
        &HandoverOutcome::Stopped,
    )?;
    check_outcome(harness, courier.as_ref(), &stopped.message_id, Some(false)).await?;
    let mut refused = samples::sample_message(4)?;
    refused.headline = "two\nlines".to_owned();
    courier.hand(&refused, &FixedGate(true)).await?;
    check_outcome(harness, courier.as_ref(), &refused.message_id, Some(false)).await?;
    // Nothing that is no id was ever sent, and asking for it goes nowhere.
    for id in ["", "..", "../../etc/passwd", "/", "a\0b", "mail/00/x.eml", "<>", "@"] {
        check_outcome(harness, courier.as_ref(), id, Some(false)).await?;
    }
    Ok(())
}

async fn check_twice(harness: &dyn CourierHarness) -> CourierCheckResult {
    let courier = harness.open().await?;
    let message = samples::sample_message(1)?;
    hand_accepted(courier.as_ref(), &message).await?;
    hand_accepted(courier.as_ref(), &message).await?;
    let courier = harness.crash(courier).await?;
    hand_accepted(courier.as_ref(), &message).await?;
    let together = [hand_accepted(courier.as_ref(), &message), hand_accepted(courier.as_ref(), &message)];
    for done in join_all(together).await {
        done?;
    }
    let arrived = harness.arrived_mails().await?;
    let once = arrived.first().cloned().unwrap_or_default();
    check_same(
        "whether all that arrived is the same mail",
        &arrived.iter().all(|mail| *mail == once),
        &true,
    )?;
    check_same("mails that arrived", &arrived.len(), &if harness.knows_sent() { 1 } else { 5 })
}

async fn check_many(harness: &dyn CourierHarness) -> CourierCheckResult {
    let courier = harness.open().await?;
    let messages = (1..=50).map(samples::sample_message).collect::<Result<Vec<_>, _>>()?;
    let all = messages.iter().map(|message| hand_accepted(courier.as_ref(), message));
    for done in join_all(all).await {
        done?;
    }
    let arrived = harness.arrived_mails().await?.into_iter().map(OutboxMail::parse);
    let mut found: Vec<String> =
        arrived.map(|mail| mail.header("subject").unwrap_or_default().to_owned()).collect();
    let mut sent: Vec<String> = messages.iter().map(|message| message.headline.clone()).collect();
    found.sort_unstable();
    sent.sort_unstable();
    check_same("headlines that arrived", &found, &sent)
}
