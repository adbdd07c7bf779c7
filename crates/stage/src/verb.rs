//! The verbs: what stands after each, and what it comes to.

use model::{Day, Person, SubjectRef, UtcMillis};
use serde_json::Map;

use crate::{
    args::{LineArgs, ScenarioField},
    calendar::ScenarioCalendar,
    expectation_words::read_expectation,
    revocation::read_revocation,
    scenario::{
        EventRoute, FeedbackVerb, MailServerState, RestartMode, ScenarioAct, ScenarioEvent,
        ScenarioFeedbackTarget, ScenarioMute, ScenarioReturn, ScenarioStep,
    },
    token::{LineError, TokenValue},
    value,
};

pub(crate) const VERBS: [&str; 38] = [
    "person", "device", "follow", "unfollow", "mute", "unmute", "prefer", "event", "again", "read", "clear",
    "view", "unread", "restore", "save", "unsave", "snooze", "unsnooze", "seen", "app", "upstream", "post",
    "mail", "release", "discard", "pause", "resume", "replay", "archive", "restart", "crash", "house",
    "returned", "lift", "erase", "welcome", "revoke", "expect",
];

/// Says whose the lines after it are; nothing happens by it.
pub(crate) const TENANT: &str = "tenant";

/// What an event says of itself beside its fields.
const ATTRIBUTES: [&str; 11] = [
    "@id",
    "@at",
    "@actor",
    "@actorname",
    "@actorkind",
    "@source",
    "@version",
    "@via",
    "@subjects",
    "@persons",
    "@times",
];
/// Events of one line: a request takes no more.
const TIMES_MAX: u32 = 1_000;

/// Where a line stands and when it happens.
pub(crate) struct LinePlace<'a> {
    pub number: usize,
    pub at: UtcMillis,
    pub calendar: &'a ScenarioCalendar,
}

/// Reads what stands after a verb.
pub(crate) fn read_verb(
    verb: &str,
    args: &mut LineArgs,
    place: &LinePlace<'_>,
) -> Result<ScenarioStep, LineError> {
    let act = match verb {
        "person" => {
            ScenarioAct::Profile { person: args.person()?, fields: read_fields(args.fields()?, place)? }
        }
        "device" => ScenarioAct::Device {
            person: args.person()?,
            device: args.text("a device")?,
            platform: args.text("a platform, or `none`")?,
        },
        "follow" | "unfollow" => {
            ScenarioAct::Follow { person: args.person()?, target: args.subject()?, on: verb == "follow" }
        }
        "mute" | "unmute" => {
            ScenarioAct::Mute { person: args.person()?, muted: read_muted(args)?, on: verb == "mute" }
        }
        "prefer" => read_preference(args)?,
        "event" => ScenarioAct::Event(Box::new(read_event(args, place)?)),
        "again" => ScenarioAct::Again,
        "revoke" => ScenarioAct::Revoke(read_revocation(args)?),
        "erase" | "welcome" => ScenarioAct::Erase { person: args.person()?, welcomes: verb == "welcome" },
        "seen" => ScenarioAct::Seen { person: args.person()?, surface: args.text("a surface")? },
        "app" => {
            let person = args.person()?;
            ScenarioAct::App {
                person,
                connected: args.one_of("a state of the app", &["connected", "gone"])? == "connected",
            }
        }
        "upstream" => ScenarioAct::Upstream(read_bytes(args)?),
        "post" => read_post(args)?,
        "mail" => read_mail_server(args)?,
        "release" => ScenarioAct::Release { plan: args.plan()?, person: one_or_all(args)? },
        "discard" => {
            ScenarioAct::Discard { plan: args.plan()?, person: args.person()?, key: read_key(args)? }
        }
        "pause" | "resume" => ScenarioAct::Pause { scope: args.pause_scope()?, is_paused: verb == "pause" },
        "replay" => read_replay(args, place.calendar)?,
        "archive" => ScenarioAct::Archive { before: read_before(args, place.calendar)? },
        "restart" | "crash" => {
            args.one_of("`all`", &["all"])?;
            ScenarioAct::Restart(if verb == "crash" { RestartMode::Crash } else { RestartMode::Orderly })
        }
        "returned" => {
            let back = args.one_of("a sort of return", &ScenarioReturn::ALL.map(ScenarioReturn::word))?;
            let back = ScenarioReturn::ALL
                .into_iter()
                .find(|one| one.word() == back)
                .unwrap_or(ScenarioReturn::Away);
            ScenarioAct::Returned { back, person: args.person()? }
        }
        "lift" => ScenarioAct::Lift { person: args.person()?, stream: read_stream(args)? },
        "house" => match args.one_of("a state of the house", &["up", "down"])? {
            "down" => ScenarioAct::Stop,
            _ if args.check_end().is_ok() => ScenarioAct::Start { catalogue: None },
            _ => {
                args.one_of("`with`", &["with"])?;
                ScenarioAct::Start { catalogue: Some(args.text("a folder")?) }
            }
        },
        _ => match read_feedback(verb, args, place)? {
            Some(act) => act,
            None => return Ok(ScenarioStep::Expect(read_expectation(args)?)),
        },
    };
    args.check_end()?;
    Ok(ScenarioStep::Do(act))
}

/// What the other side takes of our mail.
fn read_mail_server(args: &mut LineArgs) -> Result<ScenarioAct, LineError> {
    Ok(ScenarioAct::MailServer {
        takes: match args.one_of("a state of the mail server", &["up", "down", "slow"])? {
            "up" => MailServerState::All,
            "down" => MailServerState::Nothing,
            _ => MailServerState::OneIn(args.number("a number of minutes")?),
        },
    })
}

/// What a person does with entries, if the verb is about that.
fn read_feedback(
    verb: &str,
    args: &mut LineArgs,
    place: &LinePlace<'_>,
) -> Result<Option<ScenarioAct>, LineError> {
    let plain = FeedbackVerb::PLAIN.into_iter().find(|(word, ..)| *word == verb).map(|(_, did, _)| did);
    if plain.is_none() && verb != "snooze" {
        return Ok(None);
    }
    let (person, about) = (args.person()?, read_about(args)?);
    let did = match plain {
        Some(did) => did,
        None => {
            args.one_of("`until`", &["until"])?;
            FeedbackVerb::Snooze(read_instant(args, place.calendar)?)
        }
    };
    Ok(Some(ScenarioAct::Feedback { person, about, did }))
}

/// A day, or a day and a time of it: until when something is put off.
fn read_instant(args: &mut LineArgs, calendar: &ScenarioCalendar) -> Result<UtcMillis, LineError> {
    let column = args.column();
    let day = args.text("a day, such as tue")?;
    let time =
        if args.check_end().is_ok() { "00:00".to_owned() } else { args.text("a time, such as 09:00")? };
    calendar.parse(&format!("{day} {time}")).map_err(|bad| LineError::new(column, bad))
}

/// What was read or cleared: all there is about a subject, of a kind, or at all.
fn read_about(args: &mut LineArgs) -> Result<ScenarioFeedbackTarget, LineError> {
    Ok(match args.peek() {
        Some("all") => {
            args.text("all")?;
            ScenarioFeedbackTarget::All
        }
        Some("kind") => {
            args.text("kind")?;
            ScenarioFeedbackTarget::Kind(args.kind()?)
        }
        _ => ScenarioFeedbackTarget::Subject(args.subject()?),
    })
}

fn read_muted(args: &mut LineArgs) -> Result<ScenarioMute, LineError> {
    Ok(match args.one_of("the thing to mute", &preferences::MUTABLE)? {
        "kind" => ScenarioMute::Kind(args.kind()?),
        "actor" => ScenarioMute::Actor(args.person()?),
        "subject" => ScenarioMute::Subject(args.subject()?),
        _ => ScenarioMute::Thread(args.subject()?),
    })
}

/// `prefer PERSON CHOICE`, then the channel and what it is about, each after its word.
fn read_preference(args: &mut LineArgs) -> Result<ScenarioAct, LineError> {
    const CHOICES: [&str; 4] = ["on", "digest", "off", "default"];
    let sorts = [&preferences::MUTABLE[..], &[preferences::CATEGORY, "channel"]].concat();
    let person = args.person()?;
    let choice = args.one_of("a choice", &CHOICES)?;
    let mut of: Vec<(&'static str, String)> = Vec::new();
    while args.check_end().is_err() {
        let sort = args.one_of("what it is about", &sorts)?;
        let value = match sort {
            preferences::SUBJECT | preferences::THREAD => args.subject()?.to_string(),
            preferences::KIND => args.kind()?.to_string(),
            _ => args.text("a name")?,
        };
        of.push((sort, value));
    }
    of.sort();
    Ok(ScenarioAct::Prefer { person, choice, of })
}

fn read_stream(args: &mut LineArgs) -> Result<Option<String>, LineError> {
    if args.check_end().is_ok() {
        return Ok(None);
    }
    args.one_of("`stream`", &["stream"])?;
    args.text("a stream").map(Some)
}

/// Of several windows the one with this key.
fn read_key(args: &mut LineArgs) -> Result<Option<String>, LineError> {
    if args.check_end().is_ok() {
        return Ok(None);
    }
    args.one_of("`key`", &["key"])?;
    args.text("a key").map(Some)
}

fn one_or_all(args: &mut LineArgs) -> Result<Option<Person>, LineError> {
    if args.peek() != Some("all") {
        return args.person().map(Some);
    }
    args.text("all")?;
    Ok(None)
}

fn read_replay(args: &mut LineArgs, calendar: &ScenarioCalendar) -> Result<ScenarioAct, LineError> {
    let topic = args.one_of("a topic that is replayed", &["events", "changes"])?.to_owned();
    args.one_of("`from`", &["from"])?;
    let column = args.column();
    let at = format!("{} {}", args.text("a day")?, args.text("a time")?);
    let from = value::parse_instant(&at, column, calendar)?;
    let tells_missing = args.check_end().is_err();
    if tells_missing {
        args.one_of("`telling`", &["telling"])?;
        args.one_of("`missing`", &["missing"])?;
    }
    Ok(ScenarioAct::Replay { topic, from, tells_missing })
}

fn read_before(args: &mut LineArgs, calendar: &ScenarioCalendar) -> Result<Day, LineError> {
    args.one_of("`before`", &["before"])?;
    let column = args.column();
    let day = args.text("a day")?;
    calendar.parse_date(&day).map(Day).map_err(|what| LineError::new(column, what))
}

fn read_fields(
    fields: Vec<ScenarioField>,
    place: &LinePlace<'_>,
) -> Result<Map<String, serde_json::Value>, LineError> {
    let mut map = Map::new();
    for ScenarioField { column, name, value } in fields {
        if name.starts_with('@') {
            return Err(LineError::new(column, format!("`{name}` cannot stand here")));
        }
        map.insert(name, value::json_value(&value, column, place.calendar)?);
    }
    Ok(map)
}

fn read_event(args: &mut LineArgs, place: &LinePlace<'_>) -> Result<ScenarioEvent, LineError> {
    let what = args.text("the type of the event")?;
    let subject = args.subject()?;
    let (attributes, data) =
        args.fields()?.into_iter().partition(|field: &ScenarioField| field.name.starts_with('@'));
    let mut event = ScenarioEvent {
        // A scenario's events are told apart by their lines.
        id: format!("line-{}", place.number),
        source: "scenario".to_owned(),
        what,
        subject,
        subjects: Vec::new(),
        persons: Vec::new(),
        at: place.at,
        actors: Vec::new(),
        actor_names: Vec::new(),
        actor_kind: None,
        times: 1,
        version: None,
        fields: read_fields(data, place)?,
        via: EventRoute::Http,
    };
    for attribute in attributes {
        set_attribute(&mut event, attribute, place.calendar)?;
    }
    Ok(event)
}

/// The items of an attribute that is a list; one alone needs no brackets.
fn read_items<T>(
    value: &TokenValue,
    column: usize,
    item: impl Fn(&TokenValue) -> Result<T, String>,
) -> Result<Vec<T>, LineError> {
    let items = match value {
        TokenValue::List(items) => items.as_slice(),
        one => std::slice::from_ref(one),
    };
    items.iter().map(|raw| item(raw).map_err(|what| LineError::new(column, what))).collect()
}

fn parse_subject(raw: &TokenValue) -> Result<SubjectRef, String> {
    match raw {
        TokenValue::Bare(text) | TokenValue::Quoted(text) => {
            SubjectRef::new(text).map_err(|bad| bad.to_string())
        }
        _ => Err("`@subjects` lists subjects, `type:id`".to_owned()),
    }
}

fn read_name(attribute: &str, raw: &TokenValue) -> Result<String, String> {
    match raw {
        TokenValue::Bare(text) | TokenValue::Quoted(text) => Ok(text.clone()),
        _ => Err(format!("`{attribute}` lists names")),
    }
}

/// `ann`, or `ann=0.93` with a score; in quotes all is the person.
fn parse_listed(raw: &TokenValue) -> Result<(Person, Option<f64>), String> {
    let person = |text: &str| Person::new(text).map_err(|bad| bad.to_string());
    match raw {
        TokenValue::Quoted(text) => Ok((person(text)?, None)),
        TokenValue::Bare(text) => match text.rsplit_once('=') {
            None => Ok((person(text)?, None)),
            Some((who, score)) => {
                let number = score.parse().ok().filter(|score: &f64| score.is_finite());
                Ok((person(who)?, Some(number.ok_or_else(|| format!("`{score}` is not a score"))?)))
            }
        },
        _ => Err("`@persons` lists persons, `ann` or `ann=0.93`".to_owned()),
    }
}

fn set_attribute(
    event: &mut ScenarioEvent,
    ScenarioField { column, name, value }: ScenarioField,
    calendar: &ScenarioCalendar,
) -> Result<(), LineError> {
    if !ATTRIBUTES.contains(&name.as_str()) {
        let near = source_text::did_you_mean(&name, ATTRIBUTES);
        let known = source_text::list_choices(ATTRIBUTES);
        let help = near.unwrap_or_else(|| format!("an event has {known}"));
        return Err(LineError::new(column, format!("an event has no `{name}`")).help(help));
    }
    let text = || match &value {
        TokenValue::Bare(text) | TokenValue::Quoted(text) | TokenValue::Time(text) => Ok(text.clone()),
        TokenValue::Nothing | TokenValue::List(_) => {
            Err(LineError::new(column, format!("`{name}` needs one value")))
        }
    };
    match name.as_str() {
        "@subjects" => event.subjects = read_items(&value, column, parse_subject)?,
        "@persons" => event.persons = read_items(&value, column, parse_listed)?,
        "@id" => event.id = text()?,
        "@source" => event.source = text()?,
        "@actor" => event.actors = read_items(&value, column, |raw| read_name("@actor", raw))?,
        "@actorname" => event.actor_names = read_items(&value, column, |raw| read_name("@actorname", raw))?,
        "@actorkind" => event.actor_kind = Some(text()?),
        "@times" => {
            let text = text()?;
            let times = text.parse().ok().filter(|times| (1..=TIMES_MAX).contains(times));
            event.times = times.ok_or_else(|| {
                LineError::new(column, format!("`{text}` is not a number from 1 to {TIMES_MAX}"))
            })?;
        }
        "@at" => event.at = value::parse_instant(&text()?, column, calendar)?,
        "@version" => {
            let text = text()?;
            let version = text.parse();
            event.version =
                Some(version.map_err(|_| LineError::new(column, format!("`{text}` is not a whole number")))?);
        }
        _ => {
            event.via = match text()?.as_str() {
                "http" => EventRoute::Http,
                "topic" => EventRoute::Topic,
                other => {
                    return Err(LineError::new(
                        column,
                        format!("`{other}` is not a route: use `http` or `topic`"),
                    ));
                }
            }
        }
    }
    Ok(())
}

fn read_bytes(args: &mut LineArgs) -> Result<Vec<u8>, LineError> {
    if args.peek() != Some("hex") {
        return Ok(args.quoted_texts("the lines for the topic")?.join("\n").into_bytes());
    }
    args.text("hex")?;
    let column = args.column();
    let digits = args.text("bytes in hexadecimal")?;
    let pairs = digits.as_bytes().chunks(2).map(|pair| match pair {
        [_, _] => u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok(),
        _ => None,
    });
    pairs
        .collect::<Option<_>>()
        .ok_or_else(|| LineError::new(column, format!("`{digits}` is not hexadecimal")))
}

fn read_post(args: &mut LineArgs) -> Result<ScenarioAct, LineError> {
    let column = args.column();
    let path = args.text("the path of the request")?;
    if !path.starts_with('/') {
        return Err(LineError::new(column, "a path begins with `/`"));
    }
    let body = args.quoted_texts("the body of the request")?.join("\n");
    args.one_of("`expect`", &["expect"])?;
    let status = args.number("an HTTP status")?;
    let has = if args.check_end().is_ok() { Vec::new() } else { args.quoted_texts("a part of the answer")? };
    Ok(ScenarioAct::Post { path, body, status, has })
}
