//! The common parts of every listening port: a quota, timeouts, and an end to each connection.
//!
//! A connection costs a file and memory, even if the client sends nothing. So each listener has a [`connection_quota`],
//! and
//! each client address a share of it; a client beyond it is told so and disconnected. [`accept`] takes connections,
//! [`http`] speaks HTTP/1.1 on them with a timeout for everything, [`paced_stream`] gives up on clients that do not
//! read.
//! Mail servers talk for themselves (`courier_net::smtp::server`), on connections that came through [`accept`].
//! [`own_answers`] is what a listener says by itself. [`file_limit`] says how many connections a process can have.

pub mod accept;
pub mod connection_quota;
pub mod file_limit;
pub mod http;
pub mod own_answers;
pub mod paced_stream;

#[cfg(test)]
mod tests;

pub use accept::{AcceptedClient, LimitedListener};
pub use connection_quota::ListenerLimits;
