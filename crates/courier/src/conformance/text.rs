//! Promises about what is read: what was written, and the same each time.

use futures::FutureExt as _;

use super::{Broken, Harness, Kept, Promise, accept, only, same, samples};
use crate::outbox::Mail;

pub(super) const PROMISES: &[Promise] = &[
    Promise {
        name: "text arrives as written",
        says: "headline, text and HTML arrive as they were, whatever they hold",
        check: |harness| unusual(harness).boxed(),
    },
    Promise {
        name: "headers arrive",
        says: "sender, receiver, date, id and every further header arrive",
        check: |harness| headers(harness).boxed(),
    },
    Promise {
        name: "the same message is the same bytes",
        says: "a message handed over again elsewhere is the same to the byte",
        check: |harness| same_bytes(harness).boxed(),
    },
];

async fn unusual(harness: &dyn Harness) -> Kept {
    let courier = harness.open().await?;
    let (headlines, bodies) = (samples::headlines(), samples::bodies());
    let mut messages = Vec::new();
    for (number, i) in (1_u8..).zip(0..headlines.len().max(bodies.len())) {
        let mut message = samples::message(number)?;
        message.headline.clone_from(&headlines[i % headlines.len()]);
        message.text.clone_from(&bodies[i % bodies.len()]);
        let html = format!("<html><body>\n{}</body></html>", bodies[i % bodies.len()]);
        let message = message.with_mail(|mail| mail.html = html);
        accept(courier.as_ref(), &message).await?;
        messages.push(message);
    }
    let arrived: Vec<Mail> = harness.arrived().await?.into_iter().map(Mail::parse).collect();
    same("mails that arrived", &arrived.len(), &messages.len())?;
    for message in messages {
        let way = message.mail().ok_or_else(|| Broken("a sample is no mail".to_owned()))?;
        let to = |mail: &&Mail| mail.header("to") == Some(way.to.as_str());
        let mail =
            arrived.iter().find(to).ok_or_else(|| Broken("a mail has lost its receiver".to_owned()))?;
        same("the headline", &mail.header("subject").unwrap_or_default(), &message.headline.as_str())?;
        same("the text", &mail.text, &message.text)?;
        same("the html", &mail.html, &way.html)?;
    }
    Ok(())
}

async fn headers(harness: &dyn Harness) -> Kept {
    let courier = harness.open().await?;
    let unsubscribe = format!("<https://news.example/off?t={}>", "x".repeat(200));
    let message = samples::message(1)?.with_mail(|mail| {
        mail.from = "\"Zoë, news & more\" <news@news.example>".to_owned();
        mail.headers.push(("List-Unsubscribe".to_owned(), unsubscribe.clone()));
        mail.headers.push(("List-Unsubscribe-Post".to_owned(), "List-Unsubscribe=One-Click".to_owned()));
    });
    accept(courier.as_ref(), &message).await?;
    let mail = only(harness).await?;
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
        same(name, &mail.header(name).unwrap_or_default(), &value)?;
    }
    let has = |piece: &str| text.contains(piece);
    same("whether the id is there", &has("01010101010101010101010101010101@news.example>"), &true)?;
    same("whether the long header is there", &has(&unsubscribe), &true)
}

async fn same_bytes(harness: &dyn Harness) -> Kept {
    let mut found = Vec::new();
    for _ in 0..2 {
        let courier = harness.open().await?;
        accept(courier.as_ref(), &samples::message(1)?).await?;
        found.push(only(harness).await?.raw);
    }
    same("whether two are the same", &(found[0] == found[1]), &true)
}
