//! The verbs: what stands after each, and what it comes to.

use model::{Channel, Day, Millis, Person, SubjectRef, person::mutes};
use serde_json::Map;

use crate::{
    args::{Args, Field},
    calendar::Calendar,
    scenario::{About, Act, Back, Did, Event, Expected, ExpectedMail, Muted, Restart, Takes, Via, What},
    token::{Raw, Wrong},
    value,
};

pub(crate) const VERBS: [&str; 27] = [
    "person", "device", "follow", "unfollow", "mute", "unmute", "event", "again", "read", "clear", "seen",
    "app", "upstream", "post", "mail", "release", "discard", "replay", "archive", "restart", "crash",
    "house", "returned", "lift", "erase", "welcome", "expect",
];

/// What an event says of itself beside its fields.
const ATTRIBUTES: [&str; 8] =
    ["@id", "@at", "@actor", "@source", "@version", "@via", "@subjects", "@persons"];

/// Where a line stands and when it happens.
pub(crate) struct Place<'a> {
    pub number: usize,
    pub at: Millis,
    pub calendar: &'a Calendar,
}

/// Reads what stands after a verb.
pub(crate) fn read(verb: &str, args: &mut Args, place: &Place<'_>) -> Result<What, Wrong> {
    let act = match verb {
        "person" => Act::Profile { person: args.person()?, fields: fields(args.fields()?, place)? },
        "device" => Act::Device {
            person: args.person()?,
            device: args.text("a device")?,
            platform: args.text("a platform, or `none`")?,
        },
        "follow" | "unfollow" => {
            Act::Follow { person: args.person()?, target: args.subject()?, on: verb == "follow" }
        }
        "mute" | "unmute" => Act::Mute { person: args.person()?, muted: muted(args)?, on: verb == "mute" },
        "event" => Act::Event(event(args, place)?),
        "again" => Act::Again,
        "read" | "clear" => {
            let did = if verb == "read" { Did::Read } else { Did::Clear };
            Act::Feedback { person: args.person()?, about: about(args)?, did }
        }
        "erase" | "welcome" => Act::Erase { person: args.person()?, welcomes: verb == "welcome" },
        "seen" => Act::Seen { person: args.person()?, surface: args.text("a surface")? },
        "app" => {
            let person = args.person()?;
            Act::App {
                person,
                connected: args.one_of("a state of the app", &["connected", "gone"])? == "connected",
            }
        }
        "upstream" => Act::Upstream(bytes(args)?),
        "post" => post(args)?,
        "mail" => Act::MailServer {
            takes: match args.one_of("a state of the mail server", &["up", "down", "slow"])? {
                "up" => Takes::All,
                "down" => Takes::Nothing,
                _ => Takes::OneIn(args.number("a number of minutes")?),
            },
        },
        "release" => Act::Release { plan: args.plan()?, person: one_or_all(args)? },
        "discard" => Act::Discard { plan: args.plan()?, person: args.person()?, key: key(args)? },
        "replay" => replay(args, place.calendar)?,
        "archive" => Act::Archive { before: before(args, place.calendar)? },
        "restart" | "crash" => {
            args.one_of("what goes down", &["all"])?;
            Act::Restart(if verb == "crash" { Restart::Crash } else { Restart::Orderly })
        }
        "returned" => {
            let back = args.one_of("what comes back", &Back::ALL.map(Back::word))?;
            let back = Back::ALL.into_iter().find(|one| one.word() == back).unwrap_or(Back::Away);
            Act::Returned { back, person: args.person()? }
        }
        "lift" => Act::Lift { person: args.person()?, stream: stream(args)? },
        "house" => match args.one_of("a state of the house", &["up", "down"])? {
            "down" => Act::Stop,
            _ if args.end().is_ok() => Act::Start { catalogue: None },
            _ => {
                args.one_of("what may stand here", &["with"])?;
                Act::Start { catalogue: Some(args.text("a folder")?) }
            }
        },
        _ => return Ok(What::Expect(expected(args)?)),
    };
    args.end()?;
    Ok(What::Do(act))
}

/// What was read or cleared: all there is about a subject, of a kind, or at all.
fn about(args: &mut Args) -> Result<About, Wrong> {
    Ok(match args.peek() {
        Some("all") => {
            args.text("all")?;
            About::All
        }
        Some("kind") => {
            args.text("kind")?;
            About::Kind(args.kind()?)
        }
        _ => About::Subject(args.subject()?),
    })
}

fn muted(args: &mut Args) -> Result<Muted, Wrong> {
    Ok(match args.one_of("what can be muted", &mutes::SORTS)? {
        "kind" => Muted::Kind(args.kind()?),
        "actor" => Muted::Actor(args.person()?),
        "subject" => Muted::Subject(args.subject()?),
        _ => Muted::Thread(args.subject()?),
    })
}

fn stream(args: &mut Args) -> Result<Option<String>, Wrong> {
    if args.end().is_ok() {
        return Ok(None);
    }
    args.one_of("what may stand here", &["stream"])?;
    args.text("a stream").map(Some)
}

/// Of several windows the one with this key.
fn key(args: &mut Args) -> Result<Option<String>, Wrong> {
    if args.end().is_ok() {
        return Ok(None);
    }
    args.one_of("what may stand here", &["key"])?;
    args.text("a key").map(Some)
}

fn one_or_all(args: &mut Args) -> Result<Option<Person>, Wrong> {
    if args.peek() != Some("all") {
        return args.person().map(Some);
    }
    args.text("all")?;
    Ok(None)
}

fn replay(args: &mut Args, calendar: &Calendar) -> Result<Act, Wrong> {
    let topic = args.one_of("a topic that is replayed", &["events", "changes"])?.to_owned();
    args.one_of("what may stand here", &["from"])?;
    let column = args.column();
    let at = format!("{} {}", args.text("a day")?, args.text("a time")?);
    let from = value::instant(&at, column, calendar)?;
    let tells_missing = args.end().is_err();
    if tells_missing {
        args.one_of("what may stand here", &["telling"])?;
        args.one_of("what may stand here", &["missing"])?;
    }
    Ok(Act::Replay { topic, from, tells_missing })
}

fn before(args: &mut Args, calendar: &Calendar) -> Result<Day, Wrong> {
    args.one_of("what may stand here", &["before"])?;
    let column = args.column();
    let day = args.text("a day")?;
    calendar.date(&day).map(Day).map_err(|what| Wrong::new(column, what))
}

fn fields(fields: Vec<Field>, place: &Place<'_>) -> Result<Map<String, serde_json::Value>, Wrong> {
    let mut map = Map::new();
    for Field { column, name, value } in fields {
        if name.starts_with('@') {
            return Err(Wrong::new(column, format!("`{name}` cannot stand here")));
        }
        map.insert(name, value::json(&value, column, place.calendar)?);
    }
    Ok(map)
}

fn event(args: &mut Args, place: &Place<'_>) -> Result<Event, Wrong> {
    let what = args.text("the type of the event")?;
    let subject = args.subject()?;
    let (attributes, data) =
        args.fields()?.into_iter().partition(|field: &Field| field.name.starts_with('@'));
    let mut event = Event {
        // A scenario's events are told apart by their lines.
        id: format!("line-{}", place.number),
        source: "scenario".to_owned(),
        what,
        subject,
        subjects: Vec::new(),
        persons: Vec::new(),
        at: place.at,
        actor: None,
        version: None,
        fields: fields(data, place)?,
        via: Via::Http,
    };
    for attribute in attributes {
        set(&mut event, attribute, place.calendar)?;
    }
    Ok(event)
}

/// The items of an attribute that is a list; one alone needs no brackets.
fn items<T>(value: &Raw, column: usize, item: impl Fn(&Raw) -> Result<T, String>) -> Result<Vec<T>, Wrong> {
    let items = match value {
        Raw::List(items) => items.as_slice(),
        one => std::slice::from_ref(one),
    };
    items.iter().map(|raw| item(raw).map_err(|what| Wrong::new(column, what))).collect()
}

fn subject(raw: &Raw) -> Result<SubjectRef, String> {
    match raw {
        Raw::Bare(text) | Raw::Quoted(text) => SubjectRef::new(text).map_err(|bad| bad.to_string()),
        _ => Err("`@subjects` lists subjects, `type:id`".to_owned()),
    }
}

/// `ann`, or `ann=0.93` with a score; in quotes all is the person.
fn listed(raw: &Raw) -> Result<(Person, Option<f64>), String> {
    let person = |text: &str| Person::new(text).map_err(|bad| bad.to_string());
    match raw {
        Raw::Quoted(text) => Ok((person(text)?, None)),
        Raw::Bare(text) => match text.rsplit_once('=') {
            None => Ok((person(text)?, None)),
            Some((who, score)) => {
                let number = score.parse().ok().filter(|score: &f64| score.is_finite());
                Ok((person(who)?, Some(number.ok_or_else(|| format!("`{score}` is no score"))?)))
            }
        },
        _ => Err("`@persons` lists persons, `ann` or `ann=0.93`".to_owned()),
    }
}

fn set(event: &mut Event, Field { column, name, value }: Field, calendar: &Calendar) -> Result<(), Wrong> {
    if !ATTRIBUTES.contains(&name.as_str()) {
        let near = catalogue::problem::did_you_mean(&name, ATTRIBUTES);
        let known = catalogue::problem::one_of(ATTRIBUTES);
        let help = near.unwrap_or_else(|| format!("an event has {known}"));
        return Err(Wrong::new(column, format!("an event has no `{name}`")).help(help));
    }
    let text = || match &value {
        Raw::Bare(text) | Raw::Quoted(text) | Raw::Time(text) => Ok(text.clone()),
        Raw::Nothing | Raw::List(_) => Err(Wrong::new(column, format!("`{name}` needs one value"))),
    };
    match name.as_str() {
        "@subjects" => event.subjects = items(&value, column, subject)?,
        "@persons" => event.persons = items(&value, column, listed)?,
        "@id" => event.id = text()?,
        "@source" => event.source = text()?,
        "@actor" => event.actor = Some(text()?),
        "@at" => event.at = value::instant(&text()?, column, calendar)?,
        "@version" => {
            let text = text()?;
            let version = text.parse();
            event.version =
                Some(version.map_err(|_| Wrong::new(column, format!("`{text}` is no whole number")))?);
        }
        _ => {
            event.via = match text()?.as_str() {
                "http" => Via::Http,
                "topic" => Via::Topic,
                other => {
                    return Err(Wrong::new(column, format!("`{other}` is no way in: `http` or `topic`")));
                }
            }
        }
    }
    Ok(())
}

fn bytes(args: &mut Args) -> Result<Vec<u8>, Wrong> {
    if args.peek() != Some("hex") {
        return Ok(args.quoted("what lies in the topic")?.join("\n").into_bytes());
    }
    args.text("hex")?;
    let column = args.column();
    let digits = args.text("bytes in hexadecimal")?;
    let pairs = digits.as_bytes().chunks(2).map(|pair| match pair {
        [_, _] => u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok(),
        _ => None,
    });
    pairs.collect::<Option<_>>().ok_or_else(|| Wrong::new(column, format!("`{digits}` is not hexadecimal")))
}

fn post(args: &mut Args) -> Result<Act, Wrong> {
    let column = args.column();
    let path = args.text("the path of the request")?;
    if !path.starts_with('/') {
        return Err(Wrong::new(column, "a path begins with `/`"));
    }
    let body = args.quoted("the body of the request")?.join("\n");
    args.one_of("what comes after the body", &["expect"])?;
    let status = args.number("an HTTP status")?;
    let has = if args.end().is_ok() { Vec::new() } else { args.quoted("what the answer has in it")? };
    Ok(Act::Post { path, body, status, has })
}

/// What a message of a channel is called.
pub(crate) fn word(channel: Channel) -> &'static str {
    match channel {
        Channel::Email => "mail",
        Channel::Push => "push",
        Channel::Hook(hook) => hook.name(),
    }
}

const EXPECTED: [&str; 6] = ["nothing", "fate", "why", "rejected", "quarantine", "open"];

fn expected(args: &mut Args) -> Result<Expected, Wrong> {
    let one = |texts: Vec<String>| texts.join("\n");
    let known: Vec<&str> = Channel::ALL.map(word).into_iter().chain(EXPECTED).collect();
    let expected = args.one_of("what can be expected", &known)?;
    if let Some(channel) = Channel::ALL.into_iter().find(|channel| word(*channel) == expected) {
        let expected = Expected::Mail(message(args, channel)?);
        args.end()?;
        return Ok(expected);
    }
    let expected = match expected {
        "nothing" => Expected::Nothing,
        "fate" => {
            let (person, subject) = (args.person()?, args.subject()?);
            let fates = if args.peek() == Some("none") {
                args.text("none")?;
                Vec::new()
            } else {
                args.quoted("the fate, or `none`,")?
            };
            Expected::Fates { person, subject, fates }
        }
        "why" => {
            let (person, subject) = (args.person()?, args.subject()?);
            Expected::Why { person, subject, has: args.quoted("a part of the explanation")? }
        }
        "rejected" => Expected::Rejected { reason: one(args.quoted("a part of the reason")?) },
        "quarantine" => Expected::Quarantine { reason: one(args.quoted("a part of the reason")?) },
        _ => Expected::Open { person: args.person()?, windows: args.number("a number of windows")? },
    };
    args.end()?;
    Ok(expected)
}

fn message(args: &mut Args, channel: Channel) -> Result<ExpectedMail, Wrong> {
    const PARTS: [&str; 6] = ["to", "headline", "sections", "has", "lacks", "silent"];
    // Only what makes a sound can be without one.
    let parts = if channel == Channel::Email { &PARTS[..5] } else { &PARTS[..] };
    let mut mail = ExpectedMail::new(channel, args.person()?);
    while args.end().is_err() {
        match args.one_of(&format!("a part of a {}", word(channel)), parts)? {
            "silent" => mail.silent = true,
            "to" => mail.to = Some(args.text("the address")?),
            "headline" => mail.headline = Some(args.quoted("the headline")?.join(" ")),
            "sections" => mail.sections.extend(args.quoted("a section, `title: item, item`,")?),
            "has" => mail.has.extend(args.quoted("what the mail has in it")?),
            _ => mail.lacks.extend(args.quoted("what the mail does not have in it")?),
        }
    }
    Ok(mail)
}
