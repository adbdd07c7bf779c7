//! Promises about the gate: asked once, before the point of no return, and obeyed.

use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use futures::FutureExt as _;

use super::{Broken, Harness, Kept, Promise, Says, accept, same, samples, tells};
use crate::port::{Gate, Handed, Mail, Message, Outcome};

pub(super) const PROMISES: &[Promise] = &[
    Promise {
        name: "the gate is asked once",
        says: "a message that goes has asked once",
        check: |harness| asked_once(harness).boxed(),
    },
    Promise {
        name: "the gate is asked first",
        says: "nothing has arrived when the gate is asked",
        check: |harness| asked_first(harness).boxed(),
    },
    Promise {
        name: "stopped leaves nothing",
        says: "when the gate says no nothing arrives, and the next try finds it so",
        check: |harness| stopped(harness).boxed(),
    },
    Promise {
        name: "line breaks are refused",
        says: "a line break or a zero byte in any header is refused for good, before the gate is asked",
        check: |harness| refused(harness).boxed(),
    },
];

/// Counts how often it is asked, and what had arrived by then.
struct Watch<'a> {
    harness: &'a dyn Harness,
    asked: AtomicUsize,
    arrived: AtomicUsize,
}

impl<'a> Watch<'a> {
    fn new(harness: &'a dyn Harness) -> Self {
        Self { harness, asked: AtomicUsize::new(0), arrived: AtomicUsize::new(0) }
    }
}

#[async_trait]
impl Gate for Watch<'_> {
    async fn may_go(&self) -> bool {
        self.asked.fetch_add(1, Ordering::SeqCst);
        // What cannot be seen counts as seen.
        let arrived = self.harness.arrived().await.map_or(usize::MAX, |mails| mails.len());
        self.arrived.fetch_max(arrived, Ordering::SeqCst);
        true
    }
}

async fn asked_once(harness: &dyn Harness) -> Kept {
    let courier = harness.open().await?;
    let watch = Watch::new(harness);
    let message = samples::message(1)?;
    same("a good message", &courier.hand(&message, &watch).await?, &Handed::Accepted)?;
    same("times the gate was asked", &watch.asked.load(Ordering::SeqCst), &1)
}

async fn asked_first(harness: &dyn Harness) -> Kept {
    let courier = harness.open().await?;
    let watch = Watch::new(harness);
    let message = samples::message(1)?;
    same("a good message", &courier.hand(&message, &watch).await?, &Handed::Accepted)?;
    same("mails that had arrived when the gate was asked", &watch.arrived.load(Ordering::SeqCst), &0)
}

async fn stopped(harness: &dyn Harness) -> Kept {
    let courier = harness.open().await?;
    let message = samples::message(1)?;
    same("a message that was stopped", &courier.hand(&message, &Says(false)).await?, &Handed::Stopped)?;
    same("mails that arrived", &harness.arrived().await?.len(), &0)?;
    let courier = harness.crash(courier).await?;
    same("mails that arrived", &harness.arrived().await?.len(), &0)?;
    tells(harness, courier.as_ref(), &message.message_id, Outcome::NotSent).await?;
    accept(courier.as_ref(), &message).await?;
    same("mails that arrived", &harness.arrived().await?.len(), &1)
}

async fn refused(harness: &dyn Harness) -> Kept {
    let courier = harness.open().await?;
    for end in ["\r\n", "\r", "\n", "\0", "\r\n\r\n", "\nBcc: eve@mail.example", "\r\n.\r\n"] {
        let good = samples::message(1)?;
        let bad = |text: &str| format!("{text}{end}x");
        let twisted = |change: &dyn Fn(&mut Mail)| good.clone().with_mail(change);
        let messages = [
            ("message id", Message { message_id: bad(&good.message_id), ..good.clone() }),
            ("headline", Message { headline: bad(&good.headline), ..good.clone() }),
            ("from", twisted(&|mail| mail.from = bad(&mail.from))),
            ("to", twisted(&|mail| mail.to = bad(&mail.to))),
            ("header's value", twisted(&|mail| mail.headers.push(("X-More".to_owned(), bad("a"))))),
            ("header's name", twisted(&|mail| mail.headers.push((bad("X-More"), "a".to_owned())))),
        ];
        for (field, message) in messages {
            let watch = Watch::new(harness);
            let handed = courier.hand(&message, &watch).await?;
            if !matches!(handed, Handed::Refused(_)) {
                return Err(Broken(format!("{end:?} in the {field}: found {handed:?}, promised a refusal")));
            }
            same("times the gate was asked", &watch.asked.load(Ordering::SeqCst), &0)?;
        }
    }
    same("mails that arrived", &harness.arrived().await?.len(), &0)
}
