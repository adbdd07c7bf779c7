//! The real process with a real mail server, killed at every point of a mail: before it is claimed, after, while the
//! server has it in its hands, and when it was taken and nobody wrote that down. Each message arrives once at most, and
//! what nobody can know is told again under another id, with the word that it may have been sent before.

use std::{path::Path, time::Duration};

use engines::{ArrivedMail, MailOptions, PythonMailServer};
use mail_parser::MessageParser;
use runtime::{clock::SteadyStopwatch, crash_point};

use crate::{
    house::KillHouse,
    lives::{self, KillPoint, LifeEngines},
    load::{ArrivedMessage, KillLoad},
    wait_until,
};

/// How long the server keeps the first mail to somebody.
const HELD: Duration = Duration::from_secs(40);

#[test]
fn killed_at_every_point_of_a_mail_each_message_arrives_once_or_is_listed() {
    let server = PythonMailServer::start(MailOptions::default()).unwrap();
    // Of each: whether somebody has to be told again, since nobody can know.
    let check = |at: KillPoint, is_unclear: bool| {
        let before = server.arrived_mails().unwrap().len();
        let dir = tempfile::tempdir().unwrap();
        let told = run_round(dir.path(), &server, at, &LifeEngines::embedded()).and_then(|(load, _)| {
            let mails = server.arrived_mails().map_err(|error| error.to_string())?.split_off(before);
            check_mails(&load, &mails, is_unclear)
        });
        assert_eq!(told, Ok(()), "{at}");
    };
    for nth in [1, 9] {
        check(KillPoint::Own(crash_point::CLAIMED, nth), true);
        check(KillPoint::Own(crash_point::SENT, nth), true);
    }
    check(KillPoint::Held("hold-rcpt"), false);
    check(KillPoint::Held("hold-data"), true);
    check(KillPoint::Held("hold-end"), true);
}

/// The journal is another one there, and so is what the other life finds of the log.
#[test]
fn on_kafka_and_cassandra_it_is_the_same() {
    let server = PythonMailServer::start(MailOptions::default()).unwrap();
    let deaths =
        [("a", KillPoint::Own(crash_point::SENT, 9), true), ("b", KillPoint::Held("hold-rcpt"), false)];
    for (name, at, is_unclear) in deaths {
        let before = server.arrived_mails().unwrap().len();
        let dir = tempfile::tempdir().unwrap();
        let engines = LifeEngines::on_clusters(&format!("post_{name}")).unwrap();
        let (load, second) = run_round(dir.path(), &server, at, &engines).unwrap();
        let told = || check_mails(&load, &server.arrived_mails().unwrap().split_off(before), is_unclear);
        assert_eq!(lives::settle_house(&second, &told), Ok(()), "{at}");
    }
}

#[test]
fn a_server_that_takes_its_time_holds_nobody_up() {
    let server = PythonMailServer::start(MailOptions::default()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let way = format!("smtp+plain://{}:{}", server.host(), server.port());
    let house = KillHouse::start_with(dir.path(), &[("TIDINGS_MAIL_WAYS", &way)]).unwrap();
    let mut load = KillLoad::default();
    load.first = Some("hold-end@example.org".to_owned());
    load.send_facts(&house);
    load.publish(&house);
    house.await_all_read();
    let watch = SteadyStopwatch::start();
    house.move_clock("morning");
    while server.arrived_mails().unwrap().len() < 24 && watch.elapsed() < HELD {
        std::thread::park_timeout(Duration::from_millis(100));
    }
    let took = watch.elapsed();
    assert!(took < HELD / 2, "the house waited for the slow one: {took:?}");
    println!("all have their mails after {took:?}");
    // The slow one is not asked twice: when its word has come, the journal has it.
    let is_sent = || house.days("p0").is_ok_and(|days| days.to_string().contains("\"journal\":\"sent\""));
    assert!(wait_until(is_sent), "the slow one's word never came");
    for to in ["hour", "morning", "hour"] {
        house.move_clock(to);
    }
    let days = house.days("p0").unwrap().to_string();
    assert!(days.contains("\"journal\":\"sent\"") && !days.contains("unknown"), "{days}");
    assert_eq!(check_mails(&load, &server.arrived_mails().unwrap(), false), Ok(()));
}

/// Two lives on these engines.
fn run_round(
    dir: &Path,
    server: &PythonMailServer,
    at: KillPoint,
    engines: &LifeEngines,
) -> Result<(KillLoad, KillHouse), String> {
    let way = format!("smtp+plain://{}:{}", server.host(), server.port());
    let usual = [engines.settings(), vec![("TIDINGS_MAIL_WAYS", way.as_str())]].concat();
    let mut load = KillLoad::default();
    if let KillPoint::Held(mood) = at {
        load.first = Some(format!("{mood}@example.org"));
    }
    let open = |more: &[(&str, &str)]| KillHouse::start_with(dir, &[&usual, more].concat());
    let held = server.held_count();
    let holds = || server.wait_until_it_holds_more_than(held).is_ok();
    let house = lives::live_twice(&mut load, (at, "morning"), &open, &holds)?;
    for to in ["morning", "hour", "hour", "morning", "hour"] {
        house.move_clock(to);
        house.await_all_read();
    }
    Ok((load, house))
}

fn read_mail(mail: &ArrivedMail) -> Result<ArrivedMessage, String> {
    let parsed = MessageParser::default().parse(&mail.bytes).ok_or("an unreadable mail")?;
    let to = mail.about["to"][0].as_str().unwrap_or_default().to_owned();
    let id = parsed.message_id().ok_or("a mail without an id")?.to_owned();
    Ok(ArrivedMessage { id, to, text: parsed.body_text(0).unwrap_or_default().into_owned() })
}

/// What is wrong with the mails that arrived.
fn check_mails(load: &KillLoad, mails: &[ArrivedMail], is_unclear: bool) -> Result<(), String> {
    load.check_arrived(&mails.iter().map(read_mail).collect::<Result<Vec<_>, _>>()?, is_unclear)
}
