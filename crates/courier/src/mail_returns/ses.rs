//! Amazon SES: notifications through SNS, in its envelope or without it, and events of a configuration set.

use model::returns::{self, ReturnSort};
use serde_json::Value;

use super::{ProviderPost, ProviderPostError, ReturnedMail, WORD_HEADER, WORD_KEY, limit_words, parse_word};

/// Where a subscription is confirmed, and nowhere else.
const CONFIRM: (&str, &str) = ("https://sns.", ".amazonaws.com");

pub fn read_post(body: &[u8]) -> Result<ProviderPost, ProviderPostError> {
    let outer: Value =
        serde_json::from_slice(body).map_err(|error| ProviderPostError(format!("no JSON: {error}")))?;
    match outer["Type"].as_str() {
        None => read_event(&outer),
        Some("Notification") => {
            let message = outer["Message"].as_str().unwrap_or_default();
            // SNS says in words that a topic was set up, and so may whoever tries it.
            serde_json::from_str(message)
                .map_or(Ok(ProviderPost::Came(Vec::new())), |inner| read_event(&inner))
        }
        Some("SubscriptionConfirmation") => {
            confirm_subscription(outer["SubscribeURL"].as_str().unwrap_or_default())
        }
        Some("UnsubscribeConfirmation") => Ok(ProviderPost::Came(Vec::new())),
        Some(_) => Err(ProviderPostError("a message of SNS of an unknown type".to_owned())),
    }
}

fn confirm_subscription(address: &str) -> Result<ProviderPost, ProviderPostError> {
    let host = address.strip_prefix(CONFIRM.0).and_then(|rest| rest.split_once('/')).map(|(host, _)| host);
    let region =
        host.and_then(|host| host.strip_suffix(CONFIRM.1).or_else(|| host.strip_suffix(".amazonaws.com.cn")));
    let is_region = |region: &str| region.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    match region.filter(|region| !region.is_empty() && is_region(region)) {
        Some(_) if address.bytes().all(|byte| byte.is_ascii_graphic()) => {
            Ok(ProviderPost::Confirm(address.to_owned()))
        }
        _ => Err(ProviderPostError("a subscription that is confirmed elsewhere than at SNS".to_owned())),
    }
}

fn read_event(event: &Value) -> Result<ProviderPost, ProviderPostError> {
    let sort = event["notificationType"].as_str().or_else(|| event["eventType"].as_str());
    let came = match sort {
        Some("Bounce") => Some(read_bounce(&event["bounce"])),
        Some("Complaint") => read_complaint(&event["complaint"]),
        Some(_) => None,
        None => return Err(ProviderPostError("neither a notification nor an event of SES".to_owned())),
    };
    let words = trace_words(&event["mail"]);
    let came = came.map(|(what, code)| ReturnedMail { what, code: returns::extract_code(&code), words });
    Ok(ProviderPost::Came(came.into_iter().collect()))
}

fn read_bounce(bounce: &Value) -> (ReturnSort, String) {
    let sort = if bounce["bounceType"] == "Permanent" { ReturnSort::Hard } else { ReturnSort::Soft };
    let status = bounce["bouncedRecipients"][0]["status"].as_str();
    (sort, status.or_else(|| bounce["bounceSubType"].as_str()).unwrap_or_default().to_owned())
}

fn read_complaint(complaint: &Value) -> Option<(ReturnSort, String)> {
    let sort = complaint["complaintFeedbackType"].as_str().unwrap_or_default();
    (sort != "not-spam").then(|| (ReturnSort::Complaint, sort.to_owned()))
}

fn trace_words(mail: &Value) -> Vec<String> {
    let mut words: Vec<String> = mail["source"].as_str().and_then(parse_word).into_iter().collect();
    let texts = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(|one| parse_word(one.as_str()?)).collect()
    };
    words.extend(texts(&mail["tags"][WORD_KEY]));
    let headers = mail["headers"].as_array().into_iter().flatten();
    let own = headers
        .filter(|header| header["name"].as_str().is_some_and(|name| name.eq_ignore_ascii_case(WORD_HEADER)));
    words.extend(own.filter_map(|header| parse_word(header["value"].as_str()?)));
    limit_words(words)
}
