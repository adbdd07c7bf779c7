//! Promises about the gate: asked once, before the point of no return, and obeyed.

use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use futures::FutureExt as _;

use super::{
    BrokenCourierPromise, CourierCheckResult, CourierHarness, CourierPromise, FixedGate, check_outcome,
    check_same, hand_accepted, samples,
};
use crate::port::{HandoverGate, HandoverOutcome, MailPayload, Message};

pub(super) const PROMISES: &[CourierPromise] = &[
    CourierPromise {
        name: "the gate is asked once",
        says: "a message that goes has asked once",
        check: |harness| check_asked_once(harness).boxed(),
    },
    CourierPromise {
        name: "the gate is asked first",
        says: "nothing has arrived when the gate is asked",
        check: |harness| check_asked_first(harness).boxed(),
    },
    CourierPromise {
        name: "stopped leaves nothing",
        says: "when the gate says no nothing arrives, and the next try finds it so",
        check: |harness| check_stopped(harness).boxed(),
    },
    CourierPromise {
        name: "line breaks are refused",
        says: "a line break or a zero byte in any header is refused for good, before the gate is asked",
        check: |harness| check_refused(harness).boxed(),
    },
];

/// Counts how often it is asked, and what had arrived by then.
struct ArrivalGate<'a> {
    harness: &'a dyn CourierHarness,
    asked: AtomicUsize,
    arrived: AtomicUsize,
}

impl<'a> ArrivalGate<'a> {
    fn new(harness: &'a dyn CourierHarness) -> Self {
        Self { harness, asked: AtomicUsize::new(0), arrived: AtomicUsize::new(0) }
    }
}

#[async_trait]
impl HandoverGate for ArrivalGate<'_> {
    async fn may_go(&self) -> bool {
        self.asked.fetch_add(1, Ordering::SeqCst);
        // What cannot be seen counts as seen.
        let arrived = self.harness.arrived_mails().await.map_or(usize::MAX, |mails| mails.len());
        self.arrived.fetch_max(arrived, Ordering::SeqCst);
        true
    }
}

async fn check_asked_once(harness: &dyn CourierHarness) -> CourierCheckResult {
    let courier = harness.open().await?;
    let watch = ArrivalGate::new(harness);
    let message = samples::sample_message(1)?;
    check_same("a good message", &courier.hand(&message, &watch).await?, &HandoverOutcome::Accepted)?;
    check_same("times the gate was asked", &watch.asked.load(Ordering::SeqCst), &1)
}

async fn check_asked_first(harness: &dyn CourierHarness) -> CourierCheckResult {
    let courier = harness.open().await?;
    let watch = ArrivalGate::new(harness);
    let message = samples::sample_message(1)?;
    check_same("a good message", &courier.hand(&message, &watch).await?, &HandoverOutcome::Accepted)?;
    check_same("mails that had arrived when the gate was asked", &watch.arrived.load(Ordering::SeqCst), &0)
}

async fn check_stopped(harness: &dyn CourierHarness) -> CourierCheckResult {
    let courier = harness.open().await?;
    let message = samples::sample_message(1)?;
    check_same(
        "a message that was stopped",
        &courier.hand(&message, &FixedGate(false)).await?,
        &HandoverOutcome::Stopped,
    )?;
    check_same("mails that arrived", &harness.arrived_mails().await?.len(), &0)?;
    let courier = harness.crash(courier).await?;
    check_same("mails that arrived", &harness.arrived_mails().await?.len(), &0)?;
    check_outcome(harness, courier.as_ref(), &message.message_id, Some(false)).await?;
    hand_accepted(courier.as_ref(), &message).await?;
    check_same("mails that arrived", &harness.arrived_mails().await?.len(), &1)
}

async fn check_refused(harness: &dyn CourierHarness) -> CourierCheckResult {
    let courier = harness.open().await?;
    for end in ["\r\n", "\r", "\n", "\0", "\r\n\r\n", "\nBcc: eve@mail.example", "\r\n.\r\n"] {
        let good = samples::sample_message(1)?;
        let bad = |text: &str| format!("{text}{end}x");
        let twisted = |change: &dyn Fn(&mut MailPayload)| good.clone().with_mail(change);
        let messages = [
            ("message id", Message { message_id: bad(&good.message_id), ..good.clone() }),
            ("headline", Message { headline: bad(&good.headline), ..good.clone() }),
            ("from", twisted(&|mail| mail.from = bad(&mail.from))),
            ("to", twisted(&|mail| mail.to = bad(&mail.to))),
            ("header's value", twisted(&|mail| mail.headers.push(("X-More".to_owned(), bad("a"))))),
            ("header's name", twisted(&|mail| mail.headers.push((bad("X-More"), "a".to_owned())))),
        ];
        for (field, message) in messages {
            let watch = ArrivalGate::new(harness);
            let handed = courier.hand(&message, &watch).await?;
            if !matches!(handed, HandoverOutcome::Refused(_)) {
                return Err(BrokenCourierPromise(format!(
                    "{end:?} in the {field}: found {handed:?}, promised a refusal"
                )));
            }
            check_same("times the gate was asked", &watch.asked.load(Ordering::SeqCst), &0)?;
        }
    }
    check_same("mails that arrived", &harness.arrived_mails().await?.len(), &0)
}
