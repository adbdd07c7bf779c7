//! The real process with a real mail server, killed at every point of a mail: before it is claimed, after, while the
//! server has it in its hands, and when it was taken and nobody wrote that down. Each message arrives once at most, and
//! what nobody can know is told again under another id, with the word that it may have been sent before.

use std::{path::Path, time::Duration};

use engines::{Arrived, MailOptions, MailServer};
use mail_parser::MessageParser;
use runtime::{clock::Stopwatch, crash};

use crate::{
    house::House,
    lives::{self, At, Engines},
    load::{Load, Told},
    until,
};

/// How long the server keeps the first mail to somebody.
const HELD: Duration = Duration::from_secs(40);

#[test]
fn killed_at_every_point_of_a_mail_each_message_arrives_once_or_is_listed() {
    let server = MailServer::start(MailOptions::default()).unwrap();
    // Of each: whether somebody has to be told again, since nobody can know.
    let check = |at: At, is_unclear: bool| {
        let before = server.arrived().unwrap().len();
        let dir = tempfile::tempdir().unwrap();
        let told = round(dir.path(), &server, at, &Engines::own()).and_then(|(load, _)| {
            let mails = server.arrived().map_err(|error| error.to_string())?.split_off(before);
            wrong(&load, &mails, is_unclear)
        });
        assert_eq!(told, Ok(()), "{at}");
    };
    for nth in [1, 9] {
        check(At::Own(crash::CLAIMED, nth), true);
        check(At::Own(crash::SENT, nth), true);
    }
    check(At::Held("hold-rcpt"), false);
    check(At::Held("hold-data"), true);
    check(At::Held("hold-end"), true);
}

/// The journal is another one there, and so is what the other life finds of the log.
#[test]
fn on_kafka_and_cassandra_it_is_the_same() {
    let server = MailServer::start(MailOptions::default()).unwrap();
    let deaths = [("a", At::Own(crash::SENT, 9), true), ("b", At::Held("hold-rcpt"), false)];
    for (name, at, is_unclear) in deaths {
        let before = server.arrived().unwrap().len();
        let dir = tempfile::tempdir().unwrap();
        let engines = Engines::shared(&format!("post_{name}")).unwrap();
        let (load, second) = round(dir.path(), &server, at, &engines).unwrap();
        let told = || wrong(&load, &server.arrived().unwrap().split_off(before), is_unclear);
        assert_eq!(lives::settle(&second, &told), Ok(()), "{at}");
    }
}

#[test]
fn a_server_that_takes_its_time_holds_nobody_up() {
    let server = MailServer::start(MailOptions::default()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let way = format!("smtp+plain://{}:{}", server.host(), server.port());
    let house = House::start_with(dir.path(), &[("TIDINGS_MAIL_WAYS", &way)]).unwrap();
    let mut load = Load::default();
    load.first = Some("hold-end@example.org".to_owned());
    load.facts(&house);
    load.publish(&house);
    house.reads_all();
    let watch = Stopwatch::start();
    house.move_clock("morning");
    while server.arrived().unwrap().len() < 24 && watch.elapsed() < HELD {
        std::thread::park_timeout(Duration::from_millis(100));
    }
    let took = watch.elapsed();
    assert!(took < HELD / 2, "the house waited for the slow one: {took:?}");
    println!("all have their mails after {took:?}");
    // The slow one is not asked twice: when its word has come, the journal has it.
    let is_sent = || house.days("p0").is_ok_and(|days| days.to_string().contains("\"journal\":\"sent\""));
    assert!(until(is_sent), "the slow one's word never came");
    for to in ["hour", "morning", "hour"] {
        house.move_clock(to);
    }
    let days = house.days("p0").unwrap().to_string();
    assert!(days.contains("\"journal\":\"sent\"") && !days.contains("unknown"), "{days}");
    assert_eq!(wrong(&load, &server.arrived().unwrap(), false), Ok(()));
}

/// Two lives on these engines.
fn round(dir: &Path, server: &MailServer, at: At, engines: &Engines) -> Result<(Load, House), String> {
    let way = format!("smtp+plain://{}:{}", server.host(), server.port());
    let usual = [engines.settings(), vec![("TIDINGS_MAIL_WAYS", way.as_str())]].concat();
    let mut load = Load::default();
    if let At::Held(mood) = at {
        load.first = Some(format!("{mood}@example.org"));
    }
    let open = |more: &[(&str, &str)]| House::start_with(dir, &[&usual, more].concat());
    let held = server.held();
    let holds = || server.wait_until_it_holds_more_than(held).is_ok();
    let house = lives::both(&mut load, (at, "morning"), &open, &holds)?;
    for to in ["morning", "hour", "hour", "morning", "hour"] {
        house.move_clock(to);
        house.reads_all();
    }
    Ok((load, house))
}

fn told(mail: &Arrived) -> Result<Told, String> {
    let parsed = MessageParser::default().parse(&mail.bytes).ok_or("an unreadable mail")?;
    let to = mail.about["to"][0].as_str().unwrap_or_default().to_owned();
    let id = parsed.message_id().ok_or("a mail without an id")?.to_owned();
    Ok(Told { id, to, text: parsed.body_text(0).unwrap_or_default().into_owned() })
}

/// What is wrong with the mails that arrived.
fn wrong(load: &Load, mails: &[Arrived], is_unclear: bool) -> Result<(), String> {
    load.check_told(&mails.iter().map(told).collect::<Result<Vec<_>, _>>()?, is_unclear)
}
