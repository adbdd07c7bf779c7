//! A report of a delivery (RFC 3464): what failed, and whether for good.

use mail_parser::{Message, MessagePart};
use model::returns;

use super::{ReturnPathMail, ReturnedMail, field_groups, find_field, status, words_in_report};

/// Bytes of what the other server said that are looked at.
const SAID_BYTES_MAX: usize = 2_000;

pub fn read_bounce(mail: &Message<'_>, report: &MessagePart<'_>) -> ReturnPathMail {
    let mut came: Option<ReturnedMail> = None;
    for group in field_groups(mail, report) {
        // Only what failed: a delayed mail may yet arrive.
        let Some(true) =
            find_field(&group, "action").map(|action| action.to_ascii_lowercase().starts_with("failed"))
        else {
            continue;
        };
        let said = find_field(&group, "diagnostic-code").unwrap_or_default();
        let said = &said[..said.floor_char_boundary(SAID_BYTES_MAX)];
        let code = returns::extract_code(find_field(&group, "status").unwrap_or_default());
        let what = status::sort_of_status(&code, said);
        // A return path is one receiver's; of several groups the worst counts.
        if came.as_ref().is_none_or(|came| what < came.what) {
            came = Some(ReturnedMail { what, code, words: Vec::new() });
        }
    }
    match came {
        Some(came) => ReturnPathMail::Came(ReturnedMail { words: words_in_report(mail), ..came }),
        None => ReturnPathMail::Nothing,
    }
}
