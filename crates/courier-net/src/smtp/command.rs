//! What a line of a mail server's peer asks for.

use std::slice::Iter;

use smtp_proto::{MAIL_BODY_7BIT, MAIL_BODY_8BITMIME, MAIL_SMTPUTF8, Request};

/// What may be said beside a sender, of what is said by a flag.
pub(super) const MAIL_FLAGS: u64 = MAIL_BODY_7BIT | MAIL_BODY_8BITMIME | MAIL_SMTPUTF8;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum SmtpCommand {
    Hello {
        is_extended: bool,
    },
    From {
        address: String,
        size: usize,
        flags: u64,
    },
    To(String),
    Data,
    Reset,
    Nothing,
    Verify,
    Quit,
    /// A command that is one elsewhere.
    Unoffered,
    Nonsense,
}

impl SmtpCommand {
    /// Reads a line with its end.
    pub fn read(line: &[u8]) -> Self {
        // A line feed alone ends no line here: what another server takes for one line is never two.
        if !line.ends_with(b"\r\n") {
            return Self::Nonsense;
        }
        let mut bytes: Iter<'_, u8> = line.iter();
        let Ok(request) = Request::parse(&mut bytes) else { return Self::Nonsense };
        match request {
            Request::Ehlo { .. } => Self::Hello { is_extended: true },
            Request::Helo { .. } => Self::Hello { is_extended: false },
            Request::Mail { from } => {
                let size = stated_size(line).unwrap_or(from.size);
                Self::From { address: from.address.into_owned(), size, flags: from.flags }
            }
            Request::Rcpt { to } => Self::To(to.address.into_owned()),
            Request::Data => Self::Data,
            Request::Rset => Self::Reset,
            Request::Noop { .. } => Self::Nothing,
            Request::Vrfy { .. } => Self::Verify,
            Request::Quit => Self::Quit,
            _ => Self::Unoffered,
        }
    }
}

/// The `SIZE=` of a line where it is a number; one with too many digits for a number is the largest there is, where the
/// library reads only the digits that fit.
fn stated_size(line: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(line).ok()?.to_ascii_uppercase();
    let digits = text.split_ascii_whitespace().rev().find_map(|word| word.strip_prefix("SIZE="))?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_read() {
        let check = |line: &str, expected: SmtpCommand| {
            assert_eq!(SmtpCommand::read(line.as_bytes()), expected, "{line:?}");
        };
        let from =
            |address: &str, size, flags| SmtpCommand::From { address: address.to_owned(), size, flags };
        check("EHLO a.example\r\n", SmtpCommand::Hello { is_extended: true });
        check("helo a.example\r\n", SmtpCommand::Hello { is_extended: false });
        check("MAIL FROM:<>\r\n", from("", 0, 0));
        let both = MAIL_BODY_8BITMIME | MAIL_SMTPUTF8;
        check("MAIL FROM:<a@b.example> SIZE=12 BODY=8BITMIME SMTPUTF8\r\n", from("a@b.example", 12, both));
        let huge = "MAIL FROM:<a@b.example> SIZE=99999999999999999999999\r\n";
        check(huge, from("a@b.example", usize::MAX, 0));
        check("MAIL FROM:<a@b.example> size=7\r\n", from("a@b.example", 7, 0));
        check("RCPT TO:<b-1@c.example>\r\n", SmtpCommand::To("b-1@c.example".to_owned()));
        check("DATA\r\n", SmtpCommand::Data);
        check("RSET\r\n", SmtpCommand::Reset);
        check("NOOP\r\n", SmtpCommand::Nothing);
        check("VRFY ann\r\n", SmtpCommand::Verify);
        check("QUIT\r\n", SmtpCommand::Quit);
        check("STARTTLS\r\n", SmtpCommand::Unoffered);
        check("BDAT 12 LAST\r\n", SmtpCommand::Unoffered);
        check("QUIT\n", SmtpCommand::Nonsense);
        check("GET / HTTP/1.1\r\n", SmtpCommand::Nonsense);
        check("\r\n", SmtpCommand::Nonsense);
        check("MAIL FROM:ann\r\n", SmtpCommand::Nonsense);
    }
}
