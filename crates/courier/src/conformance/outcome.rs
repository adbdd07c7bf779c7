//! Promises about what became of a message: accepted is for good, and known afterwards.

use futures::{FutureExt as _, future::join_all};
use model::erase::Erase;

use super::{Harness, Kept, Promise, Says, accept, only, same, samples, tells};
use crate::{
    outbox::Mail,
    port::{Handed, Outcome, Whose},
};

pub(super) const PROMISES: &[Promise] = &[
    Promise {
        name: "accepted is for good",
        says: "a message that was accepted has arrived, also after a crash",
        check: |harness| accepted(harness).boxed(),
    },
    Promise {
        name: "sent is known",
        says: "the outcome of a message that was accepted is never that it was not sent",
        check: |harness| sent(harness).boxed(),
    },
    Promise {
        name: "not sent is known",
        says: "the outcome of a message that was never handed over, stopped or refused is never that it was sent",
        check: |harness| not_sent(harness).boxed(),
    },
    Promise {
        name: "twice is the same message",
        says: "a message handed over twice is accepted twice and has one id; an engine that knows sends it once",
        check: |harness| twice(harness).boxed(),
    },
    Promise {
        name: "many at once all arrive",
        says: "messages that are handed over together arrive, each once",
        check: |harness| many(harness).boxed(),
    },
    Promise {
        name: "erased is gone",
        says: "what is kept of messages is removed by what they are of, and nothing else is; a look removes nothing",
        check: |harness| erased(harness).boxed(),
    },
];

async fn erased(harness: &dyn Harness) -> Kept {
    let courier = harness.open().await?;
    let (gone, stays) = (samples::message(1)?, samples::message(2)?);
    for message in [&gone, &stays] {
        accept(courier.as_ref(), message).await?;
    }
    let whose = Whose { readys: [gone.ready].into(), addresses: Vec::new() };
    if courier.erase(&whose, Erase::Look).await?.is_none() {
        // It keeps none.
        return same("what it removes", &courier.erase(&whose, Erase::Remove).await?, &None);
    }
    same("mails after a look", &harness.arrived().await?.len(), &2)?;
    same("what it removes", &courier.erase(&whose, Erase::Remove).await?, &Some(1))?;
    let id = |message: &crate::port::Message| Some(message.message_id.trim_matches(['<', '>']).to_owned());
    let left = |mail: Mail| mail.header("message-id").map(|id| id.trim_matches(['<', '>']).to_owned());
    same("what is left", &left(only(harness).await?), &id(&stays))?;
    let courier = harness.crash(courier).await?;
    same("what it removes after a crash", &courier.erase(&whose, Erase::Remove).await?, &Some(0))?;
    same("what is left after a crash", &left(only(harness).await?), &id(&stays))
}

async fn accepted(harness: &dyn Harness) -> Kept {
    let courier = harness.open().await?;
    let message = samples::message(1)?;
    accept(courier.as_ref(), &message).await?;
    let id = only(harness).await?.header("message-id").map(str::to_owned);
    let courier = harness.crash(courier).await?;
    let mail = only(harness).await?;
    same("the id after a crash", &mail.header("message-id").map(str::to_owned), &id)?;
    tells(harness, courier.as_ref(), &message.message_id, Outcome::Sent).await
}

async fn sent(harness: &dyn Harness) -> Kept {
    let courier = harness.open().await?;
    for number in 1..=3 {
        let message = samples::message(number)?;
        accept(courier.as_ref(), &message).await?;
        tells(harness, courier.as_ref(), &message.message_id, Outcome::Sent).await?;
    }
    Ok(())
}

async fn not_sent(harness: &dyn Harness) -> Kept {
    let courier = harness.open().await?;
    accept(courier.as_ref(), &samples::message(1)?).await?;
    let never = samples::message(2)?;
    tells(harness, courier.as_ref(), &never.message_id, Outcome::NotSent).await?;
    let stopped = samples::message(3)?;
    same("a message that was stopped", &courier.hand(&stopped, &Says(false)).await?, &Handed::Stopped)?;
    tells(harness, courier.as_ref(), &stopped.message_id, Outcome::NotSent).await?;
    let mut refused = samples::message(4)?;
    refused.headline = "two\nlines".to_owned();
    courier.hand(&refused, &Says(true)).await?;
    tells(harness, courier.as_ref(), &refused.message_id, Outcome::NotSent).await?;
    // Nothing that is no id was ever sent, and asking for it goes nowhere.
    for id in ["", "..", "../../etc/passwd", "/", "a\0b", "mail/00/x.eml", "<>", "@"] {
        tells(harness, courier.as_ref(), id, Outcome::NotSent).await?;
    }
    Ok(())
}

async fn twice(harness: &dyn Harness) -> Kept {
    let courier = harness.open().await?;
    let message = samples::message(1)?;
    accept(courier.as_ref(), &message).await?;
    accept(courier.as_ref(), &message).await?;
    let courier = harness.crash(courier).await?;
    accept(courier.as_ref(), &message).await?;
    let together = [accept(courier.as_ref(), &message), accept(courier.as_ref(), &message)];
    for done in join_all(together).await {
        done?;
    }
    let arrived = harness.arrived().await?;
    let once = arrived.first().cloned().unwrap_or_default();
    same("whether all that arrived is the same mail", &arrived.iter().all(|mail| *mail == once), &true)?;
    same("mails that arrived", &arrived.len(), &if harness.knows() { 1 } else { 5 })
}

async fn many(harness: &dyn Harness) -> Kept {
    let courier = harness.open().await?;
    let messages = (1..=50).map(samples::message).collect::<Result<Vec<_>, _>>()?;
    let all = messages.iter().map(|message| accept(courier.as_ref(), message));
    for done in join_all(all).await {
        done?;
    }
    let arrived = harness.arrived().await?.into_iter().map(Mail::parse);
    let mut found: Vec<String> =
        arrived.map(|mail| mail.header("subject").unwrap_or_default().to_owned()).collect();
    let mut sent: Vec<String> = messages.iter().map(|message| message.headline.clone()).collect();
    found.sort_unstable();
    sent.sort_unstable();
    same("headlines that arrived", &found, &sent)
}
