//! Mail over SMTP: [`settings`] is how a server is reached, [`mod@wire`] its bytes, [`reply`] what it says,
//! [`connection`] a talk with it from the greeting to the last mail, [`destination`] all talks with it together.
//! [`server`] is the other side, for mail that comes here, and [`order`] what it is asked.

mod connection;
mod destination;
mod order;
mod reply;
pub mod server;
mod settings;
mod wire;

#[cfg(test)]
mod tests;

pub use crate::pace::Ramp;
pub(crate) use connection::Letter;
pub use destination::Limits;
pub(crate) use destination::{Brought, Destination};
pub use settings::{Login, Server, Times, Tls};
