//! What every port that listens has: places, times, and an end to each talk.
//!
//! A connection costs a file and memory, and who opens one need not say a word. So each listener has a number of
//! [`connection_quota`], and each address of a client some of them; who finds none is told so and sent away. [`accept`] takes
//! connections, [`http`] talks HTTP/1.1 on them with a time for everything, [`paced_stream`] gives up on whoever does not read.
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
