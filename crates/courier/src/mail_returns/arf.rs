//! A report of a complaint (RFC 5965): somebody pressed the button for spam.

use mail_parser::{Message, MessagePart};
use model::returns::{self, ReturnSort};

use super::{
    ReturnPathMail, ReturnedMail, field_groups, find_field, limit_words, parse_word, words_in_report,
};

/// Reports of the same form that are no complaints: of somebody who takes one back, and of signatures.
const NONE: [&str; 3] = ["not-spam", "auth-failure", "dmarc"];

pub fn read_complaint(mail: &Message<'_>, report: &MessagePart<'_>) -> ReturnPathMail {
    let groups = field_groups(mail, report);
    let fields = groups.concat();
    let sort = returns::extract_code(find_field(&fields, "feedback-type").unwrap_or_default());
    if sort.is_empty() || NONE.contains(&sort.as_str()) {
        return ReturnPathMail::Nothing;
    }
    let mut words: Vec<String> =
        find_field(&fields, "original-mail-from").and_then(parse_word).into_iter().collect();
    words.extend(words_in_report(mail));
    ReturnPathMail::Came(ReturnedMail { what: ReturnSort::Complaint, code: sort, words: limit_words(words) })
}
