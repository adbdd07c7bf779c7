//! A report of a delivery (RFC 3464): what failed, and whether for good.

use mail_parser::{Message, MessagePart};
use model::returns;

use super::{Came, Letter, field, groups, status, words_within};

/// Bytes of what the other server said that are looked at.
const SAID_BYTES_MAX: usize = 2_000;

pub fn read(mail: &Message<'_>, report: &MessagePart<'_>) -> Letter {
    let mut came: Option<Came> = None;
    for group in groups(mail, report) {
        // Only what failed: a delayed mail may yet arrive.
        let Some(true) =
            field(&group, "action").map(|action| action.to_ascii_lowercase().starts_with("failed"))
        else {
            continue;
        };
        let said = field(&group, "diagnostic-code").unwrap_or_default();
        let said = &said[..said.floor_char_boundary(SAID_BYTES_MAX)];
        let code = returns::code(field(&group, "status").unwrap_or_default());
        let what = status::sort(&code, said);
        // A return path is one receiver's; of several groups the worst counts.
        if came.as_ref().is_none_or(|came| what < came.what) {
            came = Some(Came { what, code, words: Vec::new() });
        }
    }
    match came {
        Some(came) => Letter::Came(Came { words: words_within(mail), ..came }),
        None => Letter::Nothing,
    }
}
