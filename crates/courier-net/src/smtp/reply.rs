//! What a server said, and what that means for the mail in hand.

use std::fmt;

use smtp_proto::Response;

/// Characters of a server's words that are told.
const WORDS_MAX: usize = 160;

/// One reply. Its words are for operators, and never name a person.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Reply {
    pub code: u16,
    enhanced: [u8; 3],
    words: String,
}

/// What a reply means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Meaning {
    Yes,
    /// Go on with what was asked for.
    GoOn,
    Later,
    Never,
}

impl From<Response<String>> for Reply {
    fn from(said: Response<String>) -> Self {
        Self { code: said.code, enhanced: said.esc, words: said.message }
    }
}

impl Reply {
    pub fn meaning(&self) -> Meaning {
        match self.code {
            200..=299 => Meaning::Yes,
            300..=399 => Meaning::GoOn,
            500..=599 => Meaning::Never,
            // What has no meaning is asked again.
            _ => Meaning::Later,
        }
    }

    /// Whether it is a no, now or for ever.
    pub fn is_no(&self) -> bool {
        (400..=599).contains(&self.code)
    }

    /// Whether the server goes away, or wants less of us.
    pub fn is_goodbye(&self) -> bool {
        self.code == 421
    }

    /// The reply without whatever may be a person.
    pub fn told(&self, address: &str) -> String {
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
impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.code)?;
        match self.enhanced {
            [0, ..] => Ok(()),
            [class, subject, detail] => write!(f, " {class}.{subject}.{detail}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(code: u16, enhanced: [u8; 3], words: &str) -> Reply {
        Reply { code, enhanced, words: words.to_owned() }
    }

    #[test]
    fn what_is_told_names_nobody() {
        let check = |words: &str, expected: &str| {
            assert_eq!(reply(550, [5, 1, 1], words).told("ann.b@example.com"), expected);
        };
        check("<ann.b@example.com>: user unknown", "550 5.1.1 user unknown");
        check("User ANN.B unknown (ann.b)", "550 5.1.1 User unknown");
        check("other@example.org is full\r\ntry later", "550 5.1.1 is full try later");
        check("", "550 5.1.1");
        check(&"x".repeat(999), &format!("550 5.1.1 {}", "x".repeat(WORDS_MAX)));
        assert_eq!(reply(421, [0, 0, 0], "\u{1b}[31mbusy").told("a@b"), "421 [31mbusy");
    }

    #[test]
    fn what_replies_mean() {
        let check = |code: u16, expected: Meaning| {
            assert_eq!(reply(code, [0; 3], "").meaning(), expected, "{code}");
        };
        check(250, Meaning::Yes);
        check(354, Meaning::GoOn);
        check(421, Meaning::Later);
        check(450, Meaning::Later);
        check(550, Meaning::Never);
        check(0, Meaning::Later);
        check(999, Meaning::Later);
    }
}
