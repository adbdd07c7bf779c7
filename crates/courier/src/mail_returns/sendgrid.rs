//! Twilio SendGrid: the event webhook, which posts many at once; the word is an argument of the mail's own.

use model::returns::{self, ReturnSort};
use serde_json::Value;

use super::{ProviderPost, ProviderPostError, ReturnedMail, WORD_KEY, limit_words, parse_word, status};

pub fn read_post(body: &[u8]) -> Result<ProviderPost, ProviderPostError> {
    let events: Value =
        serde_json::from_slice(body).map_err(|error| ProviderPostError(format!("no JSON: {error}")))?;
    let Some(events) = events.as_array() else {
        return Err(ProviderPostError("no list of events of SendGrid".to_owned()));
    };
    Ok(ProviderPost::Came(events.iter().filter_map(read_event).collect()))
}

fn read_event(event: &Value) -> Option<ReturnedMail> {
    let text = |name: &str| event[name].as_str().unwrap_or_default();
    let reason = text("reason");
    let (what, code) = match (text("event"), text("type")) {
        // Refused for this mail, or this sender.
        ("bounce", "blocked") => (ReturnSort::Soft, text("status")),
        ("bounce", _) if text("status").is_empty() => (ReturnSort::Hard, "bounce"),
        ("bounce", _) => (status::sort_of_status(text("status"), reason), text("status")),
        ("spamreport", _) => (ReturnSort::Complaint, "abuse"),
        // It was not even tried, because of what came back before.
        ("dropped", _) if reason == "Bounced Address" || reason == "Invalid" => (ReturnSort::Hard, "dropped"),
        ("dropped", _) if reason == "Spam Reporting Address" => (ReturnSort::Complaint, "dropped"),
        _ => return None,
    };
    let said = [&event[WORD_KEY], &event["unique_args"][WORD_KEY]];
    let words = limit_words(said.into_iter().filter_map(|one| parse_word(one.as_str()?)).collect());
    Some(ReturnedMail { what, code: returns::extract_code(code), words })
}
