//! What feedback is about: entries by their keys, or all there is about a subject.

use catalogue::{Catalogue, problem::one_of};
use model::{EntryKey, EventKey, Kind, Millis, SubjectRef, event::timely, limits::DAY_LIFE_MS};
use serde_json::Value;

use crate::{
    admit::{Data, Refused, declared, refuse},
    config::FEEDBACK_ENTRIES_MAX,
    mute,
};

/// What feedback is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum About {
    Entries(Vec<EntryKey>),
    /// All entries about a subject up to the instant at which the person did it.
    Subject {
        subject: SubjectRef,
        until: Millis,
    },
    /// All entries up to that instant: those of a kind, or whatever there is.
    UpTo {
        kind: Option<Kind>,
        until: Millis,
    },
}

pub(crate) fn about(
    data: Data<'_>,
    occurred: Millis,
    first_seen: Millis,
    catalogue: &Catalogue,
) -> Result<About, Refused> {
    const ABOUT: [&str; 4] = ["subject", "entries", "kind", "all"];
    data.only(&[&["person"], &ABOUT[..]].concat())?;
    let given: Vec<&str> = ABOUT.into_iter().filter(|name| data.0.contains_key(*name)).collect();
    match (given.as_slice(), data.0.get("entries")) {
        (["subject"], _) => {
            let subject = data.named("subject", SubjectRef::new)?;
            declared(&subject, "/data/subject", catalogue)?;
            Ok(About::Subject { subject, until: occurred })
        }
        (["entries"], Some(entries)) => entries_of(entries, first_seen).map(About::Entries),
        (["kind"], _) => {
            let kind = data.named("kind", Kind::new)?;
            mute::is_told(&kind, catalogue)?;
            Ok(About::UpTo { kind: Some(kind), until: occurred })
        }
        (["all"], _) if data.0["all"] == Value::Bool(true) => Ok(About::UpTo { kind: None, until: occurred }),
        (["all"], _) => refuse("/data/all", "it is not true"),
        _ => refuse("/data", format!("it must have one of {}", one_of(ABOUT))),
    }
}

fn entries_of(entries: &Value, first_seen: Millis) -> Result<Vec<EntryKey>, Refused> {
    let Some(entries) = entries.as_array().filter(|entries| !entries.is_empty()) else {
        return refuse("/data/entries", "it is not a list with something in it");
    };
    if entries.len() > FEEDBACK_ENTRIES_MAX {
        return refuse(
            "/data/entries",
            format!("{} entries, more than {FEEDBACK_ENTRIES_MAX}", entries.len()),
        );
    }
    let one = |(i, entry): (usize, &Value)| {
        let key = entry.as_str().ok_or_else(|| "it is not a text".to_owned()).and_then(entry_key);
        let key = key.and_then(|key| lives(key, first_seen).map(|()| key));
        key.map_err(|reason| Refused::new(format!("/data/entries/{i}"), reason))
    };
    entries.iter().enumerate().map(one).collect()
}

/// `2026-11-21T09:00:00.000Z/0123456789abcdef0123456789abcdef`, as an entry is printed everywhere.
fn entry_key(text: &str) -> Result<EntryKey, String> {
    let key = text.split_once('/').and_then(|(occurred, event)| {
        Some(EntryKey { occurred: Millis::parse(occurred)?, event: EventKey::parse(event)? })
    });
    key.ok_or_else(|| "it is no entry, as in 2026-11-21T09:00:00.000Z/ and 32 hexadecimal digits".to_owned())
}

/// A mark lives as long as its day, so it may not name a day that is gone or one that is far ahead.
fn lives(key: EntryKey, first_seen: Millis) -> Result<(), String> {
    if first_seen.since(key.day().start()) >= DAY_LIFE_MS {
        return Err("the day of this entry has expired".to_owned());
    }
    timely(key.occurred.max(first_seen), first_seen).map_err(|untimely| untimely.to_string())
}
