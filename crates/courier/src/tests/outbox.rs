//! What only an outbox has: lists, reading back, its log, and what a crash leaves.

use std::{fs, sync::Arc};

use async_trait::async_trait;
use model::{Channel, Millis, ReadyId};
use tempfile::TempDir;

use super::mime::message;
use crate::{
    outbox::{Accepted, Outbox},
    port::{Courier, Gate, Handed, Message, Outcome},
};

struct Yes;

#[async_trait]
impl Gate for Yes {
    async fn may_go(&self) -> bool {
        true
    }
}

fn numbered(number: u32) -> Message {
    let mut ready = [0; 16];
    ready[..4].copy_from_slice(&number.to_be_bytes());
    let ready = ReadyId(ready);
    let (message_id, headline) = (format!("{ready}@news.example"), format!("Zwölf {number}"));
    let date = Millis(message().date.0 + i64::from(number) * 1_000);
    Message { ready, message_id, headline, date, ..message() }
}

#[tokio::test]
async fn mails_are_listed_newest_first_also_when_opened_again() {
    let folder = TempDir::new().unwrap();
    let outbox = Outbox::open(folder.path()).unwrap();
    for number in [2, 0, 1] {
        assert_eq!(outbox.hand(&numbered(number), &Yes).await.unwrap(), Handed::Accepted);
    }
    let list = outbox.list(10);
    let headlines: Vec<&str> = list.iter().map(|mail| mail.headline.as_str()).collect();
    assert_eq!(headlines, ["Zwölf 2", "Zwölf 1", "Zwölf 0"]);
    assert_eq!((list[0].to.as_str(), list[0].ready), ("ann@mail.example", Some(numbered(2).ready)));
    assert_eq!((list[0].date, &list[0].message_id), (numbered(2).date, &numbered(2).message_id));
    assert_eq!(outbox.list(1).len(), 1);

    let again = Outbox::open(folder.path()).unwrap();
    assert_eq!(again.list(10), list);
    // Notes spare reading the mails; they may be torn, or gone.
    let notes = folder.path().join("mail.notes");
    let text = fs::read(&notes).unwrap();
    fs::write(&notes, &text[..text.len() - 5]).unwrap();
    assert_eq!(Outbox::open(folder.path()).unwrap().list(10), list);
    fs::remove_file(&notes).unwrap();
    assert_eq!(Outbox::open(folder.path()).unwrap().list(10), list);
    assert_eq!(fs::read_to_string(&notes).unwrap().lines().filter(|line| !line.is_empty()).count(), 3);
    let mail = again.read(&list[0].message_id).await.unwrap().unwrap();
    assert_eq!((mail.raw.len() as u64, mail.header("Subject")), (list[0].bytes, Some("Zwölf 2")));
    assert_eq!((mail.text.as_str(), mail.html.as_str()), ("Hello\n", "<p>Hello</p>"));
    assert!(!format!("{list:?} {mail:?} {again:?}").contains("ann@"), "an address in a debug text");
}

#[tokio::test]
async fn long_headers_are_indexed_too() {
    let folder = TempDir::new().unwrap();
    let outbox = Outbox::open(folder.path()).unwrap();
    let mut long = numbered(1);
    long.headline = "ä".repeat(2_000);
    outbox.hand(&long, &Yes).await.unwrap();
    assert_eq!(Outbox::open(folder.path()).unwrap().list(1), outbox.list(1));
    assert_eq!(outbox.list(1)[0].headline, long.headline);
}

#[tokio::test]
async fn a_second_acceptance_leaves_a_trace() {
    let folder = TempDir::new().unwrap();
    let outbox = Outbox::open(folder.path()).unwrap();
    let line = |number: u32, again| Accepted {
        message_id: numbered(number).message_id,
        ready: numbered(number).ready,
        again,
    };
    outbox.hand(&numbered(1), &Yes).await.unwrap();
    outbox.hand(&numbered(2), &Yes).await.unwrap();
    outbox.hand(&numbered(1), &Yes).await.unwrap();
    assert_eq!(outbox.accepted().await.unwrap(), [line(1, false), line(2, false), line(1, true)]);

    // A crash may leave half a line; the next one is whole.
    let path = folder.path().join("accepted.log");
    let mut log = fs::read(&path).unwrap();
    log.extend(b"half a li");
    fs::write(&path, &log).unwrap();
    let outbox = Outbox::open(folder.path()).unwrap();
    outbox.hand(&numbered(2), &Yes).await.unwrap();
    let lines = outbox.accepted().await.unwrap();
    assert_eq!(lines, [line(1, false), line(2, false), line(1, true), line(2, true)]);
    assert_eq!(outbox.len(), 2);
}

#[tokio::test]
async fn what_a_crash_left_half_written_is_no_mail() {
    let folder = TempDir::new().unwrap();
    let outbox = Outbox::open(folder.path()).unwrap();
    outbox.hand(&numbered(1), &Yes).await.unwrap();
    let half = folder.path().join("drafts/7/0");
    fs::create_dir(half.parent().unwrap()).unwrap();
    fs::write(&half, b"half").unwrap();
    let second = Outbox::open(folder.path()).unwrap();
    assert!(!half.exists());
    assert_eq!(second.len(), 1);
    // Drafts of one that is still open are not taken for left ones.
    assert_eq!(outbox.hand(&numbered(2), &Yes).await.unwrap(), Handed::Accepted);
}

/// Several senders on one folder: each mail is there once, each acceptance is seen, and each of them can say
/// what became of what another one sent.
#[tokio::test]
async fn processes_that_share_a_folder_know_of_each_others_mails() {
    let folder = TempDir::new().unwrap();
    let open = || Arc::new(Outbox::open(folder.path()).unwrap());
    let (one, other) = (open(), open());
    let handing = |outbox: &Arc<Outbox>, number: u32| {
        let outbox = Arc::clone(outbox);
        tokio::spawn(async move { outbox.hand(&numbered(number), &Yes).await.unwrap() })
    };
    let mut all = Vec::new();
    for number in 0..40 {
        assert_eq!(
            other.outcome(Channel::Email, &numbered(number).message_id).await.unwrap(),
            Outcome::NotSent
        );
        all.extend([handing(&one, number), handing(&other, number)]);
    }
    for handed in all {
        assert_eq!(handed.await.unwrap(), Handed::Accepted);
    }
    for outbox in [&one, &other] {
        assert_eq!((outbox.len(), outbox.list(100).len()), (40, 40));
        for number in 0..40 {
            assert_eq!(
                outbox.outcome(Channel::Email, &numbered(number).message_id).await.unwrap(),
                Outcome::Sent
            );
        }
        let lines = outbox.accepted().await.unwrap();
        assert_eq!((lines.len(), lines.iter().filter(|line| line.again).count()), (80, 40));
    }
    // One alone, after the other is gone.
    drop(one);
    other.hand(&numbered(40), &Yes).await.unwrap();
    let third = open();
    assert_eq!((third.len(), third.list(1)[0].headline.as_str()), (41, "Zwölf 40"));
    let left: Vec<_> = fs::read_dir(folder.path().join("drafts")).unwrap().collect();
    assert_eq!(left.len(), 2, "one each of those that are open");
}

/// Somebody who stops waiting leaves a mail that is whole or is not there, and no one else waits for ever.
#[tokio::test]
async fn who_goes_away_holds_nobody_up() {
    let folder = TempDir::new().unwrap();
    let outbox = Arc::new(Outbox::open(folder.path()).unwrap());
    for round in 0..40_u32 {
        let handing = |number: u32| {
            let outbox = Arc::clone(&outbox);
            tokio::spawn(async move { outbox.hand(&numbered(number), &Yes).await })
        };
        let (gone, stays) = (handing(2 * round), handing(2 * round + 1));
        for _ in 0..round % 5 {
            tokio::task::yield_now().await;
        }
        gone.abort();
        assert_eq!(stays.await.unwrap().unwrap(), Handed::Accepted);
    }
    let lines = outbox.accepted().await.unwrap();
    assert!(lines.iter().all(|line| !line.again));
    for round in 0..40 {
        let sent = outbox.outcome(Channel::Email, &numbered(2 * round + 1).message_id).await.unwrap();
        assert_eq!(sent, Outcome::Sent);
    }
}

#[tokio::test]
async fn a_broken_folder_is_said_to_be_broken() {
    let folder = TempDir::new().unwrap();
    let outbox = Outbox::open(folder.path()).unwrap();
    fs::remove_dir_all(folder.path().join("mail")).unwrap();
    let error = outbox.hand(&numbered(1), &Yes).await.unwrap_err().to_string();
    assert!(error.contains("broken") && !error.contains("ann"), "{error}");
    fs::remove_file(folder.path().join("accepted.log")).unwrap();
    assert!(outbox.accepted().await.is_err());
}

#[tokio::test]
async fn no_id_leads_out_of_the_folder() {
    let folder = TempDir::new().unwrap();
    let outbox = Outbox::open(&folder.path().join("outbox")).unwrap();
    // A slash and dots are allowed in an id.
    for id in ["../../../evil@x", "a/../../b@x", "/etc/passwd@x", "~/x@x", "%2e%2e/x@x", "{a}@x", "CON@x"] {
        let evil = Message { message_id: id.to_owned(), ..numbered(1) };
        if outbox.hand(&evil, &Yes).await.unwrap() == Handed::Accepted {
            assert_eq!(outbox.outcome(Channel::Email, id).await.unwrap(), Outcome::Sent);
            assert!(outbox.read(id).await.unwrap().is_some());
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
    let outbox = Arc::new(Outbox::open(folder.path()).unwrap());
    for round in 0..60_u32 {
        let handing = tokio::spawn({
            let outbox = Arc::clone(&outbox);
            async move { outbox.hand(&numbered(round), &Yes).await }
        });
        for _ in 0..round % 4 {
            tokio::task::yield_now().await;
        }
        handing.abort();
        let gone = handing.await.is_err();
        let first = outbox.outcome(Channel::Email, &numbered(round).message_id).await.unwrap();
        assert!(gone || first == Outcome::Sent);
        outbox.hand(&numbered(1_000), &Yes).await.unwrap();
        assert_eq!(outbox.outcome(Channel::Email, &numbered(round).message_id).await.unwrap(), first);
    }
}

#[tokio::test]
async fn a_full_disk_is_not_now() {
    let test = "tests::outbox::a_full_disk_is_not_now";
    let Some(disk) = runtime::trial::on_a_small_disk(test, "size=400k,nr_inodes=2000").unwrap() else {
        return;
    };
    let folder = TempDir::new_in(disk).unwrap();
    let outbox = Outbox::open(folder.path()).unwrap();
    let large = |number: u32| Message { text: "x".repeat(20_000), ..numbered(number) };
    let mut sent = Vec::new();
    let full = loop {
        let message = large(sent.len() as u32);
        match outbox.hand(&message, &Yes).await.unwrap() {
            Handed::Accepted => sent.push(message),
            other => break other,
        }
    };
    assert!(matches!(full, Handed::Away(_)), "{full:?}");
    let next = large(sent.len() as u32);
    assert_eq!(outbox.outcome(Channel::Email, &next.message_id).await.unwrap(), Outcome::NotSent);
    drop(outbox);
    let outbox = Outbox::open(folder.path()).unwrap();
    assert_eq!((outbox.len(), outbox.accepted().await.unwrap().len()), (sent.len(), sent.len()));
    assert!(sent.len() > 5, "{}", sent.len());
    for message in &sent {
        let text = outbox.read(&message.message_id).await.unwrap().unwrap().text;
        assert_eq!(text, message.text);
    }
}
