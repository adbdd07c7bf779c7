//! Who opens a mail in a scenario.

/// Who opens a mail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MailVisitor {
    Reader,
    /// Fetches the pictures of all mails.
    Proxy,
    /// Looks into mails before anybody reads them.
    Robot,
}

impl MailVisitor {
    pub const ALL: [Self; 3] = [Self::Reader, Self::Proxy, Self::Robot];

    /// As a scenario writes it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Reader => "reader",
            Self::Proxy => "proxy",
            Self::Robot => "robot",
        }
    }
}
