//! The real process with a real mail server, killed at every point of a mail: before it is claimed, after, while the
//! server has it in its hands, and when it was taken and nobody wrote that down. Each message arrives once at most, and
//! what nobody can know is told again under another id, with the word that it may have been sent before.

use std::time::Duration;

use engines::{Arrived, MailOptions, MailServer};
use mail_parser::MessageParser;
use runtime::{clock::Stopwatch, crash};

use crate::{
    PATIENCE,
    house::House,
    load::{Load, Told},
};

/// How long the server keeps the first mail to somebody.
const HELD: Duration = Duration::from_secs(25);

/// Where the process dies: at a point of its own, or while the server holds the mail of whoever is called so.
enum Death {
    Own(&'static str, u64),
    Held(&'static str),
}

#[test]
fn killed_at_every_point_of_a_mail_each_message_arrives_once_or_is_listed() {
    let server = MailServer::start(MailOptions::default()).unwrap();
    // Of each: whether somebody has to be told again, since nobody can know.
    let check = |death: Death, is_unclear: bool| {
        let (name, before) = (format!("{death:?}"), server.arrived().unwrap().len());
        let dir = tempfile::tempdir().unwrap();
        let told = round(dir.path(), &server, &death).and_then(|load| {
            let mails = server.arrived().map_err(|error| error.to_string())?.split_off(before);
            wrong(&load, &mails, is_unclear)
        });
        assert_eq!(told, Ok(()), "{name}");
    };
    for nth in [1, 9] {
        check(Death::Own(crash::CLAIMED, nth), true);
        check(Death::Own(crash::SENT, nth), true);
    }
    check(Death::Held("hold-rcpt"), false);
    check(Death::Held("hold-data"), true);
    check(Death::Held("hold-end"), true);
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
    let watch = Stopwatch::start();
    house.move_clock("morning");
    while server.arrived().unwrap().len() < 24 && watch.elapsed() < HELD {
        std::thread::park_timeout(Duration::from_millis(100));
    }
    let took = watch.elapsed();
    assert!(took < HELD / 2, "the house waited for the slow one: {took:?}");
    println!("all have their mails after {took:?}");
    // The slow one is not asked twice: when its word has come, the journal has it.
    std::thread::park_timeout(HELD + Duration::from_secs(3) - took);
    for to in ["hour", "morning", "hour"] {
        house.move_clock(to);
    }
    let days = house.days("p0").unwrap().to_string();
    assert!(days.contains("\"journal\":\"sent\"") && !days.contains("unknown"), "{days}");
    assert_eq!(wrong(&load, &server.arrived().unwrap(), false), Ok(()));
}

impl std::fmt::Debug for Death {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Own(point, nth) => write!(f, "{point}:{nth}"),
            Self::Held(mood) => f.write_str(mood),
        }
    }
}

/// One life that ends by a kill, and one after it.
fn round(dir: &std::path::Path, server: &MailServer, death: &Death) -> Result<Load, String> {
    let way = format!("smtp+plain://{}:{}", server.host(), server.port());
    let ways = ("TIDINGS_MAIL_WAYS", way.as_str());
    let stop = if let Death::Own(point, nth) = death { format!("{point}:{nth}") } else { String::new() };
    let mut settings = vec![ways];
    settings.extend((!stop.is_empty()).then_some(("TIDINGS_STOP_AT", stop.as_str())));
    let mut load = Load::default();
    if let Death::Held(mood) = death {
        load.first = Some(format!("{mood}@example.org"));
    }
    let first = House::start_with(dir, &settings)?;
    load.facts(&first);
    load.publish(&first);
    let came = std::thread::scope(|scope| {
        scope.spawn(|| first.move_clock("morning"));
        let came = match death {
            Death::Own(..) => first.stopped_within(PATIENCE),
            Death::Held(_) => server.wait_until_it_holds().is_ok(),
        };
        first.kill();
        came
    });
    if !came {
        return Err(format!("it never came to {death:?}: {}", first.said()));
    }
    let second = House::start_with(dir, &[ways])?;
    load.facts(&second);
    load.publish(&second);
    for to in ["morning", "hour", "hour", "morning", "hour"] {
        second.move_clock(to);
    }
    if load.is_acknowledged() { Ok(load) } else { Err("not everything was acknowledged".to_owned()) }
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
