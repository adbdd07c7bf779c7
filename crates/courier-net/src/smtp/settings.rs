//! How a mail server is reached.

use std::{fmt, time::Duration};

use secrecy::SecretString;
use tokio_rustls::TlsConnector;

/// One server.
#[derive(Clone, Debug)]
pub struct SmtpRelay {
    pub host: String,
    pub port: u16,
    /// What its certificate says, where that is not the host.
    pub tls_name: Option<String>,
    pub tls: SmtpTls,
    pub login: Option<SmtpLogin>,
    /// How we call ourselves.
    pub ehlo: String,
    pub times: SmtpTimeouts,
}

impl SmtpRelay {
    pub(super) fn name(&self) -> &str {
        self.tls_name.as_deref().unwrap_or(&self.host)
    }
}

/// Whether a connection is within TLS. There is no "if it happens to be offered": whoever sits between could see to
/// it that it is not.
#[derive(Clone)]
pub enum SmtpTls {
    /// For a server on this machine.
    None,
    /// After STARTTLS, or not at all.
    Required(TlsConnector),
    FromTheStart(TlsConnector),
}

impl fmt::Debug for SmtpTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Required(_) => "starttls",
            Self::FromTheStart(_) => "tls",
        })
    }
}

#[derive(Clone, Debug)]
pub struct SmtpLogin {
    pub user: String,
    pub password: SecretString,
}

/// How long each step may take. Less than RFC 5321 (4.5.3.2) would wait: before the mail nothing is lost by coming
/// again later, and nobody else waits meanwhile.
#[derive(Clone, Copy, Debug)]
pub struct SmtpTimeouts {
    pub connect: Duration,
    pub greeting: Duration,
    /// Each command before the mail.
    pub command: Duration,
    /// The mail itself, but for its end.
    pub mail: Duration,
    /// From the end of the mail to the server's word: only after this long nobody knows whether it was taken.
    pub accept: Duration,
}

impl SmtpTimeouts {
    /// So that from the claim to the end no more than this passes.
    pub fn within_hand_over(hand_over: Duration) -> Self {
        let command = (hand_over / 12).min(Duration::from_secs(10));
        Self { connect: command, greeting: command, command, mail: hand_over / 4, accept: hand_over / 2 }
    }
}
