//! A demo's mails all the way: by SMTP to a mail server, by LMTP into Dovecot, by IMAP to whoever reads them, and one click
//! that ends them.

use std::{fs, path::Path};

use anyhow::{Context as _, Result};
use engines::{DovecotMailboxes, MailOptions, PythonMailServer};
use mail_parser::MessageParser;
use serde_json::{Value, json};

use crate::{
    house::{ExampleHouse, example_folder, wait_for},
    judges::{self, POINTS_MAX},
};

/// Two persons of the demo who follow the same artist, the first of whom wants no more mails.
const ANN: &str = "ann@example.org";
const BEN: &str = "ben@example.org";
/// An address of which the mail server says that it is nobody's.
const NOBODY: &str = "never@example.org";
const ARTIST: &str = "artist:1";
const PUBLIC_URL: &str = "https://mail.gallery.example";

#[test]
fn a_demos_mail_is_read_over_imap_and_one_click_ends_them() {
    let mailboxes = DovecotMailboxes::start().unwrap();
    let server =
        PythonMailServer::start(MailOptions { mailboxes: Some(mailboxes.lmtp()), ..MailOptions::default() });
    let (server, folder) = (server.unwrap(), tempfile::tempdir().unwrap());
    let house = start_demo(&server, folder.path()).unwrap();
    house.wait_begun("ann").unwrap();
    house.wait_begun("ben").unwrap();
    house.wait_begun("chika").unwrap();
    let moved = json!({"id": "moved", "source": "seen", "type": "tidings.profile", "person": "chika", "email": NOBODY});
    house.say("/v1/facts", &[moved]).unwrap();
    house.settle().unwrap();
    assert_eq!(mailboxes.read(ANN).unwrap(), Vec::<Vec<u8>>::new(), "nothing is due yet");

    house.release("morning_mail").unwrap();
    let ann = await_mails(&mailboxes, ANN, 1).unwrap().remove(0);
    await_mails(&mailboxes, BEN, 1).unwrap();
    let mail = folder.path().join("ann.eml");
    fs::write(&mail, &ann).unwrap();
    let held = judges::check_signatures(&mail, folder.path()).unwrap();
    assert!(held.len() == 2 && held.values().all(|holds| *holds), "{held:?}");
    let (points, rules) = judges::spam_points(&mail).unwrap();
    assert!(points < POINTS_MAX, "{rules}");

    let ended = wait_for("what the server says of nobody", || read_suppression(&house, "chika")).unwrap();
    assert_eq!(ended, json!(["hard", "5.1.1", true]), "a dead address is known when its server says so");

    house.click(&unsubscribe_link(&ann).unwrap()).unwrap();
    let own = json!({"id": "late", "source": "seen", "type": "artwork.published", "subject": "artwork:late",
        "title": "After the click", "artist": ARTIST, "published": true});
    house.say("/v1/changes", &[own]).unwrap();
    house.settle().unwrap();
    house.release("morning_mail").unwrap();
    // Who clicked nothing is told, so it was there to be told.
    let ben = await_mails(&mailboxes, BEN, 2).unwrap();
    assert!(mail_text(&ben[1]).unwrap().contains("After the click"));
    let fate = wait_for("the fate of what came after it", || read_fate(&house, "artwork:late")).unwrap();
    assert_eq!((fate.as_str(), mailboxes.read(ANN).unwrap().len()), ("unsubscribed", 1));
}

/// What `make up` starts, with keys and a way to the mail server.
fn start_demo(server: &PythonMailServer, folder: &Path) -> Result<ExampleHouse> {
    let way = format!("smtp+plain://{}:{}", server.host(), server.port());
    let keys = judges::make_keys("gallery.example", folder)?;
    let settings = [
        ("TIDINGS_MAIL_WAYS", way.as_str()),
        ("TIDINGS_MAIL_DKIM", &keys),
        ("TIDINGS_PUBLIC_URL", PUBLIC_URL),
    ];
    ExampleHouse::start_as(&example_folder("gallery"), &settings, &["--demo"])
}

/// So many mails of a mailbox, once they are there.
fn await_mails(mailboxes: &DovecotMailboxes, address: &str, count: usize) -> Result<Vec<Vec<u8>>> {
    wait_for("a mail", || Ok(Some(mailboxes.read(address)?).filter(|mails| mails.len() >= count)))
}

/// Where a mail's one click leads to.
fn unsubscribe_link(mail: &[u8]) -> Result<String> {
    let parsed = MessageParser::default().parse(mail).context("a mail that cannot be read")?;
    let link = parsed.header_raw("List-Unsubscribe").context("no link to end them")?.trim();
    let link = link.strip_prefix('<').and_then(|link| link.strip_suffix('>')).context("no link")?;
    let offers = parsed.header_raw("List-Unsubscribe-Post").context("no click is offered")?.trim();
    anyhow::ensure!(
        link.starts_with(PUBLIC_URL) && offers == "List-Unsubscribe=One-Click",
        "{link}: {offers}"
    );
    Ok(link.to_owned())
}

fn mail_text(mail: &[u8]) -> Result<String> {
    let parsed = MessageParser::default().parse(mail).context("a mail that cannot be read")?;
    Ok(parsed.body_text(0).context("no text")?.into_owned())
}

/// What keeps mails from a person: what came back, its code, and whether it holds.
fn read_suppression(house: &ExampleHouse, person: &str) -> Result<Option<Value>> {
    let known = house.get_json(&format!("/admin/suppressions?person={person}"))?;
    let first = known["suppressions"].get(0);
    Ok(first.map(|one| json!([one["what"], one["code"], one["holds"]])))
}

/// What became of what Ann was to be told by mail about a subject, once that is known.
fn read_fate(house: &ExampleHouse, subject: &str) -> Result<Option<String>> {
    let days = house.get_json("/admin/days?person=ann")?;
    let all = |of: &Value, name: &str| of[name].as_array().cloned().unwrap_or_default();
    let entries = all(&days, "days").into_iter().flat_map(|day| all(&day, "entries"));
    let fates = entries.filter(|entry| entry["subject"] == subject).flat_map(|entry| all(&entry, "fates"));
    let mut known = fates.filter(|fate| fate["channel"] == "email" && fate["fate"] != "waiting");
    Ok(known.next().and_then(|fate| fate["fate"].as_str().map(str::to_owned)))
}
