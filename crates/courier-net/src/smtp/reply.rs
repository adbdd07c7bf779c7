//! What a server said, and what that means for the mail in hand.

use std::fmt;

use courier::mail_returns::status;
use model::returns::ReturnSort;
use smtp_proto::Response;

/// Characters of a server's words that are told.
const WORDS_MAX: usize = 160;

/// Words of a no to who sends, and of one to who is to receive.
const OF_SENDERS: [&str; 3] = ["sender", "verification failed", "return-path"];
const OF_RECEIVERS: [&str; 2] = ["recipient", "mailbox"];

/// One reply. Its words are for operators, and never name a person.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct SmtpReply {
    pub code: u16,
    enhanced: [u8; 3],
    words: String,
}

/// What a reply means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ReplyMeaning {
    Yes,
    /// Go on with what was asked for.
    GoOn,
    Later,
    Never,
}

impl From<Response<String>> for SmtpReply {
    fn from(said: Response<String>) -> Self {
        Self { code: said.code, enhanced: said.esc, words: said.message }
    }
}

impl SmtpReply {
    pub fn meaning(&self) -> ReplyMeaning {
        match self.code {
            200..=299 => ReplyMeaning::Yes,
            300..=399 => ReplyMeaning::GoOn,
            500..=599 => ReplyMeaning::Never,
            // What has no meaning is asked again.
            _ => ReplyMeaning::Later,
        }
    }

    /// Whether it is a no, now or for ever.
    pub fn is_no(&self) -> bool {
        (400..=599).contains(&self.code)
    }

    /// What a no to a receiver means for the address. Many servers keep a no to who sends until they hear of a receiver,
    /// and some say of our own address that nobody has it: only what can be about nothing but the receiver counts.
    pub fn sort_of_refusal(&self, from: &str, to: &str) -> Option<ReturnSort> {
        let words = self.words.to_lowercase();
        let says = |text: &str| !text.is_empty() && words.contains(&text.to_lowercase());
        if OF_SENDERS.iter().any(|text| says(text)) || says(from) {
            return None;
        }
        match self.enhanced {
            [5, 1, 1 | 2 | 3 | 6 | 10] | [5, 2, 1 | 2] => Some(status::sort_of_status(&self.best_code(), "")),
            [0, ..] if says(to) || OF_RECEIVERS.iter().any(|text| says(text)) => {
                let sort = status::sort_of_status("", &format!("{} {}", self.code, self.words));
                (sort == ReturnSort::Hard).then_some(sort)
            }
            _ => None,
        }
    }

    /// The code that says most.
    pub fn best_code(&self) -> String {
        match self.enhanced {
            [0, ..] => self.code.to_string(),
            [class, subject, detail] => format!("{class}.{subject}.{detail}"),
        }
    }

    /// Whether the server goes away, or wants less of us.
    pub fn is_goodbye(&self) -> bool {
        self.code == 421
    }

    /// The reply without whatever may be a person.
    pub fn redact(&self, address: &str) -> String {
        let local = address.split('@').next().unwrap_or_default();
        let is_person = |word: &str| {
            let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
            word.contains('@') || (!bare.is_empty() && bare.eq_ignore_ascii_case(local))
        };
        let printable = |word: &str| word.chars().filter(|c| !c.is_control()).collect::<String>();
        let words: Vec<String> =
            self.words.split_whitespace().filter(|word| !is_person(word)).map(printable).collect();
        let words: String = words.join(" ").chars().take(WORDS_MAX).collect();
        format!("{self} {words}").trim_end().to_owned()
    }
}

/// The codes alone.
impl fmt::Display for SmtpReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.code)?;
        match self.enhanced {
            [0, ..] => Ok(()),
            _ => write!(f, " {}", self.best_code()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply_with(code: u16, enhanced: [u8; 3], words: &str) -> SmtpReply {
        SmtpReply { code, enhanced, words: words.to_owned() }
    }

    #[test]
    fn what_is_told_names_nobody() {
        let check = |words: &str, expected: &str| {
            assert_eq!(reply_with(550, [5, 1, 1], words).redact("ann.b@example.com"), expected);
        };
        check("<ann.b@example.com>: user unknown", "550 5.1.1 user unknown");
        check("User ANN.B unknown (ann.b)", "550 5.1.1 User unknown");
        check("other@example.org is full\r\ntry later", "550 5.1.1 is full try later");
        check("", "550 5.1.1");
        check(&"x".repeat(999), &format!("550 5.1.1 {}", "x".repeat(WORDS_MAX)));
        assert_eq!(reply_with(421, [0, 0, 0], "\u{1b}[31mbusy").redact("a@b"), "421 [31mbusy");
    }

    #[test]
    fn what_a_no_means_for_an_address() {
        let check = |code: u16, enhanced: [u8; 3], words: &str, expected: Option<ReturnSort>| {
            let found =
                reply_with(code, enhanced, words).sort_of_refusal("news@shop.example", "ann@mail.example");
            assert_eq!(found, expected, "{code} {enhanced:?} {words}");
        };
        check(550, [5, 1, 1], "who?", Some(ReturnSort::Hard));
        check(550, [5, 2, 1], "closed", Some(ReturnSort::Hard));
        check(550, [0; 3], "<ann@mail.example>: User unknown", Some(ReturnSort::Hard));
        check(550, [0; 3], "Unknown recipient", Some(ReturnSort::Hard));
        check(550, [0; 3], "ann@mail.example: not today", None);
        check(550, [0; 3], "no", None);
        check(552, [5, 2, 2], "full", Some(ReturnSort::Soft));
        check(554, [5, 7, 1], "you are listed", None);
        // About us, though a receiver was asked for.
        check(550, [0; 3], "Verification failed for <news@shop.example> No Such User Here", None);
        check(
            550,
            [5, 1, 0],
            "<news@shop.example>: Sender address rejected: User unknown in virtual mailbox table",
            None,
        );
        check(550, [5, 1, 1], "<news@shop.example>: User unknown in local sender table", None);
        check(550, [0; 3], "Sender domain does not exist", None);
        check(554, [0; 3], "<NEWS@shop.example>: mailbox rejected: Access denied, user unknown", None);
        check(550, [0; 3], "relaying to ann@mail.example denied", None);
    }

    #[test]
    fn what_replies_mean() {
        let check = |code: u16, expected: ReplyMeaning| {
            assert_eq!(reply_with(code, [0; 3], "").meaning(), expected, "{code}");
        };
        check(250, ReplyMeaning::Yes);
        check(354, ReplyMeaning::GoOn);
        check(421, ReplyMeaning::Later);
        check(450, ReplyMeaning::Later);
        check(550, ReplyMeaning::Never);
        check(0, ReplyMeaning::Later);
        check(999, ReplyMeaning::Later);
    }
}
