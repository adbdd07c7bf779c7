//! What feedback is about: entries by their keys, or all there is about a subject.

use catalogue::Catalogue;
use model::{DayLife, EntryKey, Kind, SubjectRef, UtcMillis, attention::NOT_PUT_OFF};
use room::{
    feedback::{check_entry_day, check_snooze, parse_entry_key},
    saved,
};
use serde_json::Value;
use source_text::list_choices;
use wire::FeedbackAction;

use crate::{
    admission_error::{AdmissionError, data_pointer, refuse_at},
    config::FEEDBACK_ENTRIES_MAX,
    fact_data::{FactData, check_declared},
    preference,
};

/// Until when something is put off.
const UNTIL: &str = "until";

/// What feedback is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FeedbackTarget {
    Entries(Vec<EntryKey>),
    /// All entries about a subject up to the instant at which the person did it.
    Subject {
        subject: SubjectRef,
        until: UtcMillis,
    },
    /// All entries up to that instant: those of a kind, or whatever there is.
    UpTo {
        kind: Option<Kind>,
        until: UtcMillis,
    },
}

/// Until when the person put something off.
pub(crate) fn parse_until(data: FactData<'_>) -> Result<UtcMillis, AdmissionError> {
    let until = UtcMillis::parse(data.text(UNTIL)?);
    until.ok_or_else(|| {
        AdmissionError::new(data_pointer(UNTIL), "it is not an instant such as `2026-11-21T09:00:00Z`")
    })
}

pub(crate) fn parse_target(
    data: FactData<'_>,
    what: FeedbackAction,
    occurred: UtcMillis,
    first_seen: UtcMillis,
    catalogue: &Catalogue,
) -> Result<FeedbackTarget, AdmissionError> {
    const ABOUT: [&str; 4] = ["subject", "entries", "kind", "all"];
    let is_put_off = matches!(what, FeedbackAction::Snoozed(until) if until != NOT_PUT_OFF);
    let until: &[&str] = if is_put_off { &[UNTIL] } else { &[] };
    data.check_fields(&[&["person"], &ABOUT[..], until].concat())?;
    let given: Vec<&str> = ABOUT.into_iter().filter(|name| data.0.contains_key(*name)).collect();
    match (given.as_slice(), data.0.get("entries")) {
        (["subject"], _) => {
            let subject = data.parse_name("subject", SubjectRef::new)?;
            check_declared(&subject, "/data/subject", catalogue)?;
            Ok(FeedbackTarget::Subject { subject, until: occurred })
        }
        (["entries"], Some(entries)) => {
            let keys = parse_entries(entries, what, catalogue.day_life, first_seen)?;
            check_back_in_time(&keys, what, catalogue.day_life)?;
            Ok(FeedbackTarget::Entries(keys))
        }
        // A note says until when all was read or cleared; of all else each entry says it itself.
        (["kind" | "all"], _) if !matches!(what, FeedbackAction::Read | FeedbackAction::Cleared) => {
            let choices = list_choices([ABOUT[0], ABOUT[1]]);
            let field = given.first().copied().unwrap_or_default();
            refuse_at(
                data_pointer(field),
                format!("it goes with what was read or cleared; this needs one of {choices}"),
            )
        }
        (["kind"], _) => {
            let kind = preference::parse_kind(data, catalogue)?;
            Ok(FeedbackTarget::UpTo { kind: Some(kind), until: occurred })
        }
        (["all"], _) if data.0["all"] == Value::Bool(true) => {
            Ok(FeedbackTarget::UpTo { kind: None, until: occurred })
        }
        (["all"], _) => refuse_at("/data/all", "it must be true"),
        _ => refuse_at("/data", format!("it must have one of {}", list_choices(ABOUT))),
    }
}

fn parse_entries(
    entries: &Value,
    what: FeedbackAction,
    life: DayLife,
    first_seen: UtcMillis,
) -> Result<Vec<EntryKey>, AdmissionError> {
    let Some(entries) = entries.as_array().filter(|entries| !entries.is_empty()) else {
        return refuse_at("/data/entries", "it must be a list with at least one entry");
    };
    if entries.len() > FEEDBACK_ENTRIES_MAX {
        return refuse_at(
            "/data/entries",
            format!("{} entries, more than {FEEDBACK_ENTRIES_MAX}", entries.len()),
        );
    }
    let one = |(i, entry): (usize, &Value)| {
        let key = entry.as_str().ok_or_else(|| "it is not a text".to_owned()).and_then(parse_entry_key);
        let key = key.and_then(|key| {
            // What was saved is there when its day is over, and one can let go of it.
            let may_be_over = saved::lets_go(what) && life.is_over(key.day(), first_seen);
            if may_be_over { Ok(key) } else { check_entry_day(key, life, first_seen).map(|()| key) }
        });
        key.map_err(|reason| AdmissionError::new(format!("/data/entries/{i}"), reason))
    };
    entries.iter().enumerate().map(one).collect()
}

/// What is put off comes back while its day lives, and early enough to be told then.
fn check_back_in_time(keys: &[EntryKey], what: FeedbackAction, life: DayLife) -> Result<(), AdmissionError> {
    check_snooze(keys, what, life).map_err(|reason| AdmissionError::new(data_pointer(UNTIL), reason))
}
