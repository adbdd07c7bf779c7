//! What only an outbox has: lists, reading back, its log, and what a crash leaves.

use std::{fs, sync::Arc};

use async_trait::async_trait;
use model::{Channel, ReadyId, UtcMillis};
use tempfile::TempDir;

use super::mime::sample_message;
use crate::{
    outbox::{OutboxAcceptance, OutboxCourier},
    port::{Courier, HandoverGate, HandoverOutcome, Message},
};

struct YesGate;

#[async_trait]
impl HandoverGate for YesGate {
    async fn may_go(&self) -> bool {
        true
    }
}

fn numbered_message(number: u32) -> Message {
    let mut ready = [0; 16];
    ready[..4].copy_from_slice(&number.to_be_bytes());
    let ready = ReadyId(ready);
    let (message_id, headline) = (format!("{ready}@news.example"), format!("Zwölf {number}"));
    let date = UtcMillis(sample_message().date.0 + i64::from(number) * 1_000);
    Message { ready, message_id, headline, date, ..sample_message() }
}

#[tokio::test]
async fn mails_are_listed_newest_first_also_when_opened_again() {
    let folder = TempDir::new().unwrap();
    let outbox = OutboxCourier::open(folder.path()).unwrap();
    for number in [2, 0, 1] {
        assert_eq!(
            outbox.hand(&numbered_message(number), &YesGate).await.unwrap(),
            HandoverOutcome::Accepted
        );
    }
    let list = outbox.list_newest(10);
    let headlines: Vec<&str> = list.iter().map(|mail| mail.headline.as_str()).collect();
    assert_eq!(headlines, ["Zwölf 2", "Zwölf 1", "Zwölf 0"]);
    assert_eq!((list[0].to.as_str(), list[0].ready), ("ann@mail.example", Some(numbered_message(2).ready)));
    assert_eq!(
        (list[0].date, &list[0].message_id),
        (numbered_message(2).date, &numbered_message(2).message_id)
    );
    assert_eq!(outbox.list_newest(1).len(), 1);

    let again = OutboxCourier::open(folder.path()).unwrap();
    assert_eq!(again.list_newest(10), list);
    // Notes spare reading the mails; they may be torn, or gone.
    let notes = folder.path().join("mail.notes");
    let text = fs::read(&notes).unwrap();
    fs::write(&notes, &text[..text.len() - 5]).unwrap();
    assert_eq!(OutboxCourier::open(folder.path()).unwrap().list_newest(10), list);
    fs::remove_file(&notes).unwrap();
    assert_eq!(OutboxCourier::open(folder.path()).unwrap().list_newest(10), list);
    assert_eq!(fs::read_to_string(&notes).unwrap().lines().filter(|line| !line.is_empty()).count(), 3);
    let mail = again.read_mail(&list[0].message_id).await.unwrap().unwrap();
    assert_eq!((mail.raw.len() as u64, mail.header("Subject")), (list[0].bytes, Some("Zwölf 2")));
    assert_eq!((mail.text.as_str(), mail.html.as_str()), ("Hello\n", "<p>Hello</p>"));
    assert!(!format!("{list:?} {mail:?} {again:?}").contains("ann@"), "an address in a debug text");
}

#[tokio::test]
async fn long_headers_are_indexed_too() {
    let folder = TempDir::new().unwrap();
    let outbox = OutboxCourier::open(folder.path()).unwrap();
    let mut long = numbered_message(1);
    long.headline = "ä".repeat(2_000);
    outbox.hand(&long, &YesGate).await.unwrap();
    assert_eq!(OutboxCourier::open(folder.path()).unwrap().list_newest(1), outbox.list_newest(1));
    assert_eq!(outbox.list_newest(1)[0].headline, long.headline);
}

#[tokio::test]
async fn a_second_acceptance_leaves_a_trace() {
    let folder = TempDir::new().unwrap();
    let outbox = OutboxCourier::open(folder.path()).unwrap();
    let line = |number: u32, again| OutboxAcceptance {
        message_id: numbered_message(number).message_id,
        ready: numbered_message(number).ready,
        again,
    };
    outbox.hand(&numbered_message(1), &YesGate).await.unwrap();
    outbox.hand(&numbered_message(2), &YesGate).await.unwrap();
    outbox.hand(&numbered_message(1), &YesGate).await.unwrap();
    assert_eq!(outbox.read_acceptances().await.unwrap(), [line(1, false), line(2, false), line(1, true)]);

    // A crash may leave half a line; the next one is whole.
    let path = folder.path().join("accepted.log");
    let mut log = fs::read(&path).unwrap();
    log.extend(b"half a li");
    fs::write(&path, &log).unwrap();
    let outbox = OutboxCourier::open(folder.path()).unwrap();
    outbox.hand(&numbered_message(2), &YesGate).await.unwrap();
    let lines = outbox.read_acceptances().await.unwrap();
    assert_eq!(lines, [line(1, false), line(2, false), line(1, true), line(2, true)]);
    assert_eq!(outbox.len(), 2);
}

#[tokio::test]
async fn what_a_crash_left_half_written_is_no_mail() {
    let folder = TempDir::new().unwrap();
    let outbox = OutboxCourier::open(folder.path()).unwrap();
    outbox.hand(&numbered_message(1), &YesGate).await.unwrap();
    let half = folder.path().join("drafts/7/0");
    fs::create_dir(half.parent().unwrap()).unwrap();
    fs::write(&half, b"half").unwrap();
    let second = OutboxCourier::open(folder.path()).unwrap();
    assert!(!half.exists());
    assert_eq!(second.len(), 1);
    // Drafts of one that is still open are not taken for left ones.
    assert_eq!(outbox.hand(&numbered_message(2), &YesGate).await.unwrap(), HandoverOutcome::Accepted);
}

/// Several senders on one folder: each mail is there once, each acceptance is seen, and each of them can say
/// what became of what another one sent.
#[tokio::test]
async fn processes_that_share_a_folder_know_of_each_others_mails() {
    let folder = TempDir::new().unwrap();
    let open = || Arc::new(OutboxCourier::open(folder.path()).unwrap());
    let (one, other) = (open(), open());
    let handing = |outbox: &Arc<OutboxCourier>, number: u32| {
        let outbox = Arc::clone(outbox);
        tokio::spawn(async move { outbox.hand(&numbered_message(number), &YesGate).await.unwrap() })
    };
    let mut all = Vec::new();
    for number in 0..40 {
        assert_eq!(
            other.was_sent(Channel::Email, &numbered_message(number).message_id).await.unwrap(),
            Some(false)
        );
        all.extend([handing(&one, number), handing(&other, number)]);
    }
    for handed in all {
        assert_eq!(handed.await.unwrap(), HandoverOutcome::Accepted);
    }
    for outbox in [&one, &other] {
        assert_eq!((outbox.len(), outbox.list_newest(100).len()), (40, 40));
        for number in 0..40 {
            assert_eq!(
                outbox.was_sent(Channel::Email, &numbered_message(number).message_id).await.unwrap(),
                Some(true)
            );
        }
        let lines = outbox.read_acceptances().await.unwrap();
        assert_eq!((lines.len(), lines.iter().filter(|line| line.again).count()), (80, 40));
    }
    // One alone, after the other is gone.
    drop(one);
    other.hand(&numbered_message(40), &YesGate).await.unwrap();
    let third = open();
    assert_eq!((third.len(), third.list_newest(1)[0].headline.as_str()), (41, "Zwölf 40"));
    let left: Vec<_> = fs::read_dir(folder.path().join("drafts")).unwrap().collect();
    assert_eq!(left.len(), 2, "one each of those that are open");
}

/// Somebody who stops waiting leaves a mail that is whole or is not there, and no one else waits for ever.
#[tokio::test]
async fn who_goes_away_holds_nobody_up() {
    let folder = TempDir::new().unwrap();
    let outbox = Arc::new(OutboxCourier::open(folder.path()).unwrap());
    for round in 0..40_u32 {
        let handing = |number: u32| {
            let outbox = Arc::clone(&outbox);
            tokio::spawn(async move { outbox.hand(&numbered_message(number), &YesGate).await })
        };
        let (gone, stays) = (handing(2 * round), handing(2 * round + 1));
        for _ in 0..round % 5 {
            tokio::task::yield_now().await;
        }
        gone.abort();
        assert_eq!(stays.await.unwrap().unwrap(), HandoverOutcome::Accepted);
    }
    let lines = outbox.read_acceptances().await.unwrap();
    assert!(lines.iter().all(|line| !line.again));
    for round in 0..40 {
        let sent =
            outbox.was_sent(Channel::Email, &numbered_message(2 * round + 1).message_id).await.unwrap();
        assert_eq!(sent, Some(true));
    }
}

#[tokio::test]
async fn a_broken_folder_is_said_to_be_broken() {
    let folder = TempDir::new().unwrap();
    let outbox = OutboxCourier::open(folder.path()).unwrap();
    fs::remove_dir_all(folder.path().join("mail")).unwrap();
    let error = outbox.hand(&numbered_message(1), &YesGate).await.unwrap_err().to_string();
    assert!(error.contains("broken") && !error.contains("ann"), "{error}");
    fs::remove_file(folder.path().join("accepted.log")).unwrap();
    assert!(outbox.read_acceptances().await.is_err());
}

#[tokio::test]
async fn no_id_leads_out_of_the_folder() {
    let folder = TempDir::new().unwrap();
    let outbox = OutboxCourier::open(&folder.path().join("outbox")).unwrap();
    // A slash and dots are allowed in an id.
    for id in ["../../../evil@x", "a/../../b@x", "/etc/passwd@x", "~/x@x", "%2e%2e/x@x", "{a}@x", "CON@x"] {
        let evil = Message { message_id: id.to_owned(), ..numbered_message(1) };
        if outbox.hand(&evil, &YesGate).await.unwrap() == HandoverOutcome::Accepted {
            assert_eq!(outbox.was_sent(Channel::Email, id).await.unwrap(), Some(true));
            assert!(outbox.read_mail(id).await.unwrap().is_some());
        }
    }
    let outside: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(outside, ["outbox"]);
    let mut inside: Vec<_> =
        fs::read_dir(folder.path().join("outbox")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    inside.sort();
    assert_eq!(inside, ["accepted.log", "drafts", "mail", "mail.notes"]);
}

/// Who asks what became of a mail is told of one that is still in the queue, too.
#[tokio::test]
async fn an_outcome_stays_what_it_was() {
    let folder = TempDir::new().unwrap();
    let outbox = Arc::new(OutboxCourier::open(folder.path()).unwrap());
    for round in 0..60_u32 {
        let handing = tokio::spawn({
            let outbox = Arc::clone(&outbox);
            async move { outbox.hand(&numbered_message(round), &YesGate).await }
        });
        for _ in 0..round % 4 {
            tokio::task::yield_now().await;
        }
        handing.abort();
        let gone = handing.await.is_err();
        let first = outbox.was_sent(Channel::Email, &numbered_message(round).message_id).await.unwrap();
        assert!(gone || first == Some(true));
        outbox.hand(&numbered_message(1_000), &YesGate).await.unwrap();
        assert_eq!(
            outbox.was_sent(Channel::Email, &numbered_message(round).message_id).await.unwrap(),
            first
        );
    }
}

#[tokio::test]
async fn a_full_disk_is_not_now() {
    let test = "tests::outbox::a_full_disk_is_not_now";
    let Some(disk) = runtime::small_disk::run_on_small_disk(test, "size=400k,nr_inodes=2000").unwrap() else {
        return;
    };
    let folder = TempDir::new_in(disk).unwrap();
    let outbox = OutboxCourier::open(folder.path()).unwrap();
    let large = |number: u32| Message { text: "x".repeat(20_000), ..numbered_message(number) };
    let mut sent = Vec::new();
    let full = loop {
        let message = large(sent.len() as u32);
        match outbox.hand(&message, &YesGate).await.unwrap() {
            HandoverOutcome::Accepted => sent.push(message),
            other => break other,
        }
    };
    assert!(matches!(full, HandoverOutcome::Away(_)), "{full:?}");
    let next = large(sent.len() as u32);
    assert_eq!(outbox.was_sent(Channel::Email, &next.message_id).await.unwrap(), Some(false));
    drop(outbox);
    let outbox = OutboxCourier::open(folder.path()).unwrap();
    assert_eq!((outbox.len(), outbox.read_acceptances().await.unwrap().len()), (sent.len(), sent.len()));
    assert!(sent.len() > 5, "{}", sent.len());
    for message in &sent {
        let text = outbox.read_mail(&message.message_id).await.unwrap().unwrap().text;
        assert_eq!(text, message.text);
    }
}
