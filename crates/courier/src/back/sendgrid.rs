//! Twilio SendGrid: the event webhook, which posts many at once; the word is an argument of the mail's own.

use model::returns::{self, Sort};
use serde_json::Value;

use super::{Came, Posted, Unread, WORD_KEY, kept, status, word};

pub fn read(body: &[u8]) -> Result<Posted, Unread> {
    let events: Value = serde_json::from_slice(body).map_err(|error| Unread(format!("no JSON: {error}")))?;
    let Some(events) = events.as_array() else {
        return Err(Unread("no list of events of SendGrid".to_owned()));
    };
    Ok(Posted::Came(events.iter().filter_map(came).collect()))
}

fn came(event: &Value) -> Option<Came> {
    let text = |name: &str| event[name].as_str().unwrap_or_default();
    let reason = text("reason");
    let (what, code) = match (text("event"), text("type")) {
        // Refused for this mail, or this sender.
        ("bounce", "blocked") => (Sort::Soft, text("status")),
        ("bounce", _) if text("status").is_empty() => (Sort::Hard, "bounce"),
        ("bounce", _) => (status::sort(text("status"), reason), text("status")),
        ("spamreport", _) => (Sort::Complaint, "abuse"),
        // It was not even tried, because of what came back before.
        ("dropped", _) if reason == "Bounced Address" || reason == "Invalid" => (Sort::Hard, "dropped"),
        ("dropped", _) if reason == "Spam Reporting Address" => (Sort::Complaint, "dropped"),
        _ => return None,
    };
    let said = [&event[WORD_KEY], &event["unique_args"][WORD_KEY]];
    let words = kept(said.into_iter().filter_map(|one| word(one.as_str()?)).collect());
    Some(Came { what, code: returns::code(code), words })
}
