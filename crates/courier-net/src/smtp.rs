//! Mail over SMTP: [`settings`] is how a server is reached, [`mod@wire`] its bytes, [`reply`] what it says,
//! [`connection`] a talk with it from the greeting to the last mail, [`transport`] all talks with it together.
//! [`server`] is the other side, for mail that comes here, and [`command`] what it is asked.

mod command;
mod connection;
mod reply;
pub mod server;
mod settings;
mod transport;
mod wire;

#[cfg(test)]
mod tests;

pub use crate::{backoff::WarmupRamp, mail_destination::SmtpLimits};
pub(crate) use connection::SmtpMail;
pub use settings::{SmtpLogin, SmtpRelay, SmtpTimeouts, SmtpTls};
pub(crate) use transport::SmtpTransport;
