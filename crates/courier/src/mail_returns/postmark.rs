//! Postmark: webhooks of bounces and complaints; the word is in the mail's metadata.

use model::returns::{self, ReturnSort};
use serde_json::Value;

use super::{ProviderPost, ProviderPostError, ReturnedMail, WORD_KEY, parse_word};

pub fn read_post(body: &[u8]) -> Result<ProviderPost, ProviderPostError> {
    let event: Value =
        serde_json::from_slice(body).map_err(|error| ProviderPostError(format!("no JSON: {error}")))?;
    let sort = event["Type"].as_str().unwrap_or_default();
    let what = match event["RecordType"].as_str() {
        Some("SpamComplaint") => Some(ReturnSort::Complaint),
        Some("Bounce") => sort_of_bounce(sort),
        Some(_) => None,
        None => return Err(ProviderPostError("no event of Postmark: it has no `RecordType`".to_owned())),
    };
    let words: Vec<String> = event["Metadata"][WORD_KEY].as_str().and_then(parse_word).into_iter().collect();
    let came = what.map(|what| ReturnedMail { what, code: returns::extract_code(sort), words });
    Ok(ProviderPost::Came(came.into_iter().collect()))
}

/// Under this name come also delays, answers of who is away, and what was confirmed.
fn sort_of_bounce(sort: &str) -> Option<ReturnSort> {
    match sort {
        "HardBounce" | "BadEmailAddress" => Some(ReturnSort::Hard),
        "SpamComplaint" => Some(ReturnSort::Complaint),
        "SoftBounce" | "DnsError" | "SpamNotification" | "Blocked" | "DMARCPolicy" | "Undeliverable" => {
            Some(ReturnSort::Soft)
        }
        _ => None,
    }
}
