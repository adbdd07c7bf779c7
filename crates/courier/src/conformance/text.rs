//! Promises about what is read: what was written, and the same each time.

use futures::FutureExt as _;

use super::{
    BrokenCourierPromise, CourierCheckResult, CourierHarness, CourierPromise, check_same, hand_accepted,
    only_mail, samples,
};
use crate::outbox::OutboxMail;

pub(super) const PROMISES: &[CourierPromise] = &[
    CourierPromise {
        name: "text arrives as written",
        says: "headline, text and HTML arrive as they were, whatever they hold",
        check: |harness| check_unusual_text(harness).boxed(),
    },
    CourierPromise {
        name: "headers arrive",
        says: "sender, receiver, date, id and every further header arrive",
        check: |harness| check_headers(harness).boxed(),
    },
    CourierPromise {
        name: "the same message is the same bytes",
        says: "a message handed over again elsewhere is the same to the byte",
        check: |harness| check_same_bytes(harness).boxed(),
    },
];

async fn check_unusual_text(harness: &dyn CourierHarness) -> CourierCheckResult {
    let courier = harness.open().await?;
    let (headlines, bodies) = (samples::sample_headlines(), samples::sample_bodies());
    let mut messages = Vec::new();
    for (number, i) in (1_u8..).zip(0..headlines.len().max(bodies.len())) {
        let mut message = samples::sample_message(number)?;
        message.headline.clone_from(&headlines[i % headlines.len()]);
        message.text.clone_from(&bodies[i % bodies.len()]);
        let html = format!("<html><body>\n{}</body></html>", bodies[i % bodies.len()]);
        let message = message.with_mail(|mail| mail.html = html);
        hand_accepted(courier.as_ref(), &message).await?;
        messages.push(message);
    }
    let arrived: Vec<OutboxMail> =
        harness.arrived_mails().await?.into_iter().map(OutboxMail::parse).collect();
    check_same("mails that arrived", &arrived.len(), &messages.len())?;
    for message in messages {
        let way = message.mail().ok_or_else(|| BrokenCourierPromise("a sample is no mail".to_owned()))?;
        let to = |mail: &&OutboxMail| mail.header("to") == Some(way.to.as_str());
        let mail = arrived
            .iter()
            .find(to)
            .ok_or_else(|| BrokenCourierPromise("a mail has lost its receiver".to_owned()))?;
        check_same("the headline", &mail.header("subject").unwrap_or_default(), &message.headline.as_str())?;
        check_same("the text", &mail.text, &message.text)?;
        check_same("the html", &mail.html, &way.html)?;
    }
    Ok(())
}

async fn check_headers(harness: &dyn CourierHarness) -> CourierCheckResult {
    let courier = harness.open().await?;
    let unsubscribe = format!("<https://news.example/off?t={}>", "x".repeat(200));
    let message = samples::sample_message(1)?.with_mail(|mail| {
        mail.from = "\"Zoë, news & more\" <news@news.example>".to_owned();
        mail.headers.push(("List-Unsubscribe".to_owned(), unsubscribe.clone()));
        mail.headers.push(("List-Unsubscribe-Post".to_owned(), "List-Unsubscribe=One-Click".to_owned()));
    });
    hand_accepted(courier.as_ref(), &message).await?;
    let mail = only_mail(harness).await?;
    let text = String::from_utf8_lossy(&mail.raw).into_owned();
    let promised = [
        ("from", "Zoë, news & more <news@news.example>"),
        ("to", "ann1@mail.example"),
        ("date", "Sat, 21 Nov 2026 08:00:00 +0000"),
        ("auto-submitted", "auto-generated"),
        ("list-unsubscribe-post", "List-Unsubscribe=One-Click"),
        ("x-tidings-ready", "01010101010101010101010101010101"),
    ];
    for (name, value) in promised {
        check_same(name, &mail.header(name).unwrap_or_default(), &value)?;
    }
    let has = |piece: &str| text.contains(piece);
    check_same("whether the id is there", &has("01010101010101010101010101010101@news.example>"), &true)?;
    check_same("whether the long header is there", &has(&unsubscribe), &true)
}

async fn check_same_bytes(harness: &dyn CourierHarness) -> CourierCheckResult {
    let mut found = Vec::new();
    for _ in 0..2 {
        let courier = harness.open().await?;
        hand_accepted(courier.as_ref(), &samples::sample_message(1)?).await?;
        found.push(only_mail(harness).await?.raw);
    }
    check_same("whether two are the same", &(found[0] == found[1]), &true)
}
