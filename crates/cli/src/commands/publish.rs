//! The commands that tell the house something: changes, facts, feedback.

use std::{
    fs::File,
    io::{BufRead, BufReader, ErrorKind, Read as _},
    path::Path,
};

use anyhow::Context as _;
use console::UPSTREAM_BYTES_MAX;
use serde_json::{Map, Value, json};
use settings::config::Config;
use shell::{
    client::HouseClient,
    datadir::random_hex,
    failure::CommandError,
    feed::{self, FeedReport},
    terminal,
};
use wire::cloud_event::join_place;

use super::OutputStyle;
use crate::arguments as cli;

const SOURCE: &str = "command-line";

/// `tidings publish`.
pub fn publish_change(
    config: &Config,
    asked: cli::PublishArgs,
    out: OutputStyle,
) -> Result<(), CommandError> {
    let client = find_tenant_house(config)?;
    if let Some(path) = &asked.file {
        return publish_file(&client, path, out);
    }
    if let Some(path) = &asked.upstream {
        return publish_upstream(&client, path, asked.lines, out);
    }
    let mut data = Map::new();
    for field in &asked.fields {
        let (name, value) = parse_field(field)?;
        check_first(data.insert(name, value).is_none(), field)?;
    }
    let mut event = json!({
        "specversion": "1.0",
        "id": asked.id.map_or_else(|| random_hex(8), Ok)?,
        "source": asked.source,
        "type": asked.what,
        "data": data,
    });
    if asked.also.is_empty() {
        event["subject"] = json!(asked.subject);
    } else {
        event["subjects"] = asked.subject.iter().chain(&asked.also).map(String::as_str).collect();
    }
    if !asked.persons.is_empty() {
        let persons = asked.persons.iter().map(|person| parse_listed_person(person));
        event["persons"] = persons.collect::<Result<_, _>>()?;
    }
    // Without a time the house takes the one at which it first hears of it, by its own clock.
    for (name, value) in [
        ("time", asked.at),
        ("actor", asked.actor),
        ("actorname", asked.actor_name),
        ("actorkind", asked.actor_kind),
    ] {
        if let Some(value) = value {
            event[name] = value.into();
        }
    }
    publish_one(&client, "/admin/v1/changes", &event, out)
}

/// `tidings follow` and `tidings unfollow`.
pub fn publish_follow(
    config: &Config,
    asked: &cli::FollowArgs,
    what: &str,
    out: OutputStyle,
) -> Result<(), CommandError> {
    let data = json!({"person": asked.person, "target": asked.target});
    publish_one(&find_tenant_house(config)?, "/admin/v1/facts", &house_event(what, data)?, out)
}

/// `tidings mute` and `tidings unmute`.
pub fn publish_mute(
    config: &Config,
    asked: &cli::MuteArgs,
    what: &str,
    out: OutputStyle,
) -> Result<(), CommandError> {
    let cli::MuteTargetArgs { kind, actor, subject, thread } = &asked.muted;
    let mut data = json!({"person": asked.person});
    for (sort, of) in [("kind", kind), ("actor", actor), ("subject", subject), ("thread", thread)] {
        if let Some(of) = of {
            data[sort] = of.as_str().into();
        }
    }
    publish_one(&find_tenant_house(config)?, "/admin/v1/facts", &house_event(what, data)?, out)
}

/// `tidings person`.
pub fn publish_profile(
    config: &Config,
    asked: &cli::PersonArgs,
    out: OutputStyle,
) -> Result<(), CommandError> {
    let mut data = json!({"person": asked.person});
    for field in &asked.fields {
        let (name, value) = name_and_value(field)?;
        check_first(name != "person" && data.get(name).is_none(), field)?;
        data[name] = match value {
            "" => Value::Null,
            "true" => true.into(),
            "false" => false.into(),
            text => text.into(),
        };
    }
    publish_one(&find_tenant_house(config)?, "/admin/v1/facts", &house_event("tidings.profile", data)?, out)
}

/// `tidings device`: one is added, or taken away.
pub fn publish_device(config: &Config, data: Value, out: OutputStyle) -> Result<(), CommandError> {
    publish_one(&find_tenant_house(config)?, "/admin/v1/facts", &house_event("tidings.device", data)?, out)
}

/// `tidings revoke`.
pub fn publish_revocation(
    config: &Config,
    asked: &cli::RevokeArgs,
    out: OutputStyle,
) -> Result<(), CommandError> {
    let mut data = Map::new();
    if let [source, id] = &asked.event[..] {
        data.insert("event".to_owned(), json!({"source": source, "id": id}));
    }
    if let Some(subject) = &asked.subject {
        data.insert("subject".to_owned(), json!(subject));
    }
    let event = house_event("tidings.revoke", data.into())?;
    publish_one(&find_tenant_house(config)?, "/admin/v1/changes", &event, out)
}

/// `tidings feedback`.
pub fn publish_feedback(
    config: &Config,
    asked: &cli::FeedbackArgs,
    out: OutputStyle,
) -> Result<(), CommandError> {
    let mut data = json!({"person": asked.person, "entries": asked.entries});
    if let Some(until) = &asked.until {
        data["until"] = json!(until);
    }
    let event = house_event(&format!("tidings.{}", asked.what), data)?;
    publish_one(&find_tenant_house(config)?, "/admin/v1/feedback", &event, out)
}

/// The house, if it speaks for the tenant that was asked for.
fn find_tenant_house(config: &Config) -> Result<HouseClient, CommandError> {
    let client = HouseClient::find(config)?;
    client.speaks_for(&config.tenant)?;
    Ok(client)
}

fn house_event(what: &str, data: Value) -> anyhow::Result<Value> {
    Ok(json!({"specversion": "1.0", "id": random_hex(8)?, "source": SOURCE, "type": what, "data": data}))
}

/// Tells one thing, and what became of it.
fn publish_one(
    client: &HouseClient,
    path: &str,
    event: &Value,
    out: OutputStyle,
) -> Result<(), CommandError> {
    let said = feed::post_patiently(client, path, &event.to_string())?;
    if let Some(rejected) = said.body["rejected"].get(0) {
        let text = |name: &str| rejected[name].as_str().unwrap_or_default();
        let said = describe_rejection(text("at"), text("reason"));
        return Err(CommandError::from_refusal(terminal::clean_text(&said)));
    }
    let taken: Value = said.into_value()?;
    let notes: Vec<&str> =
        taken["notes"].as_array().into_iter().flatten().filter_map(|note| note["note"].as_str()).collect();
    if out.json {
        let mut accepted = json!({"accepted": taken["accepted"], "id": event["id"]});
        if !notes.is_empty() {
            accepted["notes"] = json!(notes);
        }
        terminal::print_json(&accepted)?;
    } else {
        terminal::print_talk("accepted");
        for note in notes {
            terminal::print_talk(terminal::clean_text(&format!("note: {note}")));
        }
    }
    Ok(())
}

/// A reason with the name of what is wrong, as it stands on the command line and not in the event made of it.
fn describe_rejection(at: &str, reason: &str) -> String {
    let name = at.strip_prefix('/').map(|inside| match inside.strip_prefix("data/") {
        Some(field) => format!("`{}`", field.replace("~1", "/").replace("~0", "~")),
        None => format!("`{inside}`"),
    });
    match name {
        Some(name) if reason.contains(&name) => reason.to_owned(),
        Some(name) => format!("{name}: {reason}"),
        None => join_place(at, reason),
    }
}

/// A file, or the standard input for `-`, and how to call it.
fn open_input(path: &Path) -> Result<(Box<dyn BufRead>, String), CommandError> {
    if path == Path::new("-") {
        return Ok((Box::new(BufReader::new(std::io::stdin())), "standard input".to_owned()));
    }
    let name = path.display().to_string();
    if path.is_dir() {
        return Err(CommandError::from_refusal(format!("`{name}` is a folder and not a file")));
    }
    let file = File::open(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => CommandError::from_refusal(format!("there is no file `{name}`")),
        _ => CommandError::Refused(anyhow::Error::new(error).context(name.clone())),
    })?;
    Ok((Box::new(BufReader::new(file)), name))
}

/// Puts bytes onto the topic as records, whatever they are.
fn publish_upstream(
    client: &HouseClient,
    path: &Path,
    lines: bool,
    out: OutputStyle,
) -> Result<(), CommandError> {
    let (mut reader, name) = open_input(path)?;
    let mut appended = 0_u64;
    loop {
        let mut record = Vec::new();
        // One byte more than a record may have, so that the house sees that it is too long.
        let mut some = reader.by_ref().take(UPSTREAM_BYTES_MAX as u64 + 1);
        let read = if lines { some.read_until(b'\n', &mut record) } else { some.read_to_end(&mut record) };
        let read = read.with_context(|| name.clone()).map_err(CommandError::Refused)?;
        if lines {
            if read == 0 {
                break;
            }
            let end = record.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |at| at + 1);
            record.truncate(end);
            if record.is_empty() {
                continue;
            }
        }
        client.post_bytes("/admin/upstream", &record)?.into_value::<Value>()?;
        appended += 1;
        if !lines {
            break;
        }
    }
    if out.json {
        terminal::print_json(&json!({"appended": appended}))?;
    } else {
        let records = if appended == 1 { "record" } else { "records" };
        terminal::print_talk(format!(
            "{appended} {records} appended to `changes`; what cannot be used goes to quarantine"
        ));
    }
    Ok(())
}

fn publish_file(client: &HouseClient, path: &Path, out: OutputStyle) -> Result<(), CommandError> {
    let (reader, name) = open_input(path)?;
    let items = feed::read_items(reader).with_context(|| name.clone()).map_err(CommandError::Refused)?;
    let mut progress = terminal::ProgressLine::start();
    let fed = feed::feed_items(
        client,
        items,
        |why| {
            terminal::progress_done();
            terminal::print_talk(terminal::clean_text(&format!("{name}: {why}")));
        },
        |FeedReport { accepted, refused }| progress.show(format!("{accepted} accepted, {refused} refused")),
    )?;
    terminal::progress_done();
    let FeedReport { accepted, refused } = fed;
    if out.json {
        terminal::print_json(&json!({"accepted": accepted, "refused": refused}))?;
    } else {
        terminal::print_talk(format!("{accepted} accepted, {refused} refused"));
    }
    if refused > 0 {
        Err(CommandError::from_refusal(format!("{refused} of {} were refused", accepted + refused)))
    } else {
        Ok(())
    }
}

fn name_and_value(field: &str) -> Result<(&str, &str), CommandError> {
    match field.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name, value)),
        _ => Err(CommandError::Usage(format!("`{field}` is not FIELD=VALUE"))),
    }
}

/// Refuses a field that is given twice.
fn check_first(is_first: bool, field: &str) -> Result<(), CommandError> {
    if is_first { Ok(()) } else { Err(CommandError::Usage(format!("`{field}`: this field is given twice"))) }
}

/// `ann`, or `ann=0.93` with a score.
fn parse_listed_person(person: &str) -> Result<Value, CommandError> {
    let Some((name, score)) = person.rsplit_once('=') else { return Ok(person.into()) };
    match score.parse().ok().filter(|score: &f64| score.is_finite()) {
        Some(score) => Ok(json!({"person": name, "score": score})),
        None => Err(CommandError::Usage(format!("`{person}`: `{score}` is not a score, as in ann=0.93"))),
    }
}

/// A value that is JSON is taken as such, everything else is text.
fn parse_field(field: &str) -> Result<(String, Value), CommandError> {
    let (name, value) = name_and_value(field)?;
    let value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
    Ok((name.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_json_where_they_can_be() {
        let check = |field: &str, value: Value| assert_eq!(parse_field(field).unwrap().1, value, "{field}");
        check("title=Moon", "Moon".into());
        check("title=", "".into());
        check("title=a=b", "a=b".into());
        check("score=1.5", 1.5.into());
        check("published=true", true.into());
        check("title=\"1984\"", "1984".into());
        check("gone=null", Value::Null);
        // The house knows whether it is a place.
        check("place=40,1", "40,1".into());
        check("tags=[\"a:1\"]", json!(["a:1"]));
        assert_eq!(check_first(false, "title=x").unwrap_err().exit_code(), 2);
    }

    #[test]
    fn a_person_may_have_a_score() {
        let check =
            |person: &str, value: Value| assert_eq!(parse_listed_person(person).unwrap(), value, "{person}");
        check("ann", "ann".into());
        check("ann=0.93", json!({"person": "ann", "score": 0.93}));
        check("ann=-1", json!({"person": "ann", "score": -1.0}));
        check("a=b=2", json!({"person": "a=b", "score": 2.0}));
        for slip in ["ann=", "ann=good", "ann=0,9", "ann=NaN", "ann=inf"] {
            assert_eq!(parse_listed_person(slip).unwrap_err().exit_code(), 2, "{slip}");
        }
    }

    #[test]
    fn what_is_refused_is_called_as_it_was_written() {
        let check = |at: &str, reason: &str, expected: &str| {
            assert_eq!(describe_rejection(at, reason), expected);
        };
        let bad = "it is not a mail address: it has no @";
        check("/data/email", bad, &format!("`email`: {bad}"));
        check("/data/a~1b", "it is empty", "`a/b`: it is empty");
        check("/data/titel", "there is no field `titel`", "there is no field `titel`");
        check("/persons/1/score", "it is not a number", "`persons/1/score`: it is not a number");
        check("/subject", "`subject` is missing", "`subject` is missing");
        check("/data", "it has no field about the person", "`data`: it has no field about the person");
        check("", "the change is too long", "the change is too long");
    }

    #[test]
    fn a_field_has_a_name() {
        assert!(parse_field("title").is_err());
        assert!(parse_field("=x").is_err());
    }
}
