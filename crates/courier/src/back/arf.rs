//! A report of a complaint (RFC 5965): somebody pressed the button for spam.

use mail_parser::{Message, MessagePart};
use model::returns::{self, Sort};

use super::{Came, Letter, field, groups, kept, word, words_within};

/// Reports of the same form that are no complaints: of somebody who takes one back, and of signatures.
const NONE: [&str; 3] = ["not-spam", "auth-failure", "dmarc"];

pub fn read(mail: &Message<'_>, report: &MessagePart<'_>) -> Letter {
    let groups = groups(mail, report);
    let fields = groups.concat();
    let sort = returns::code(field(&fields, "feedback-type").unwrap_or_default());
    if sort.is_empty() || NONE.contains(&sort.as_str()) {
        return Letter::Nothing;
    }
    let mut words: Vec<String> = field(&fields, "original-mail-from").and_then(word).into_iter().collect();
    words.extend(words_within(mail));
    Letter::Came(Came { what: Sort::Complaint, code: sort, words: kept(words) })
}
