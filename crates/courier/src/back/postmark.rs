//! Postmark: webhooks of bounces and complaints; the word is in the mail's metadata.

use model::returns::{self, Sort};
use serde_json::Value;

use super::{Came, Posted, Unread, WORD_KEY, word};

pub fn read(body: &[u8]) -> Result<Posted, Unread> {
    let event: Value = serde_json::from_slice(body).map_err(|error| Unread(format!("no JSON: {error}")))?;
    let sort = event["Type"].as_str().unwrap_or_default();
    let what = match event["RecordType"].as_str() {
        Some("SpamComplaint") => Some(Sort::Complaint),
        Some("Bounce") => bounce(sort),
        Some(_) => None,
        None => return Err(Unread("no event of Postmark: it has no `RecordType`".to_owned())),
    };
    let words: Vec<String> = event["Metadata"][WORD_KEY].as_str().and_then(word).into_iter().collect();
    let came = what.map(|what| Came { what, code: returns::code(sort), words });
    Ok(Posted::Came(came.into_iter().collect()))
}

/// Under this name come also delays, answers of who is away, and what was confirmed.
fn bounce(sort: &str) -> Option<Sort> {
    match sort {
        "HardBounce" | "BadEmailAddress" => Some(Sort::Hard),
        "SpamComplaint" => Some(Sort::Complaint),
        "SoftBounce" | "DnsError" | "SpamNotification" | "Blocked" | "DMARCPolicy" | "Undeliverable" => {
            Some(Sort::Soft)
        }
        _ => None,
    }
}
