//! Mail, push and hooks to the world: the engines of the courier's port that need a network.
//!
//! [`mail`] takes mails by one way or several, [`mail_routes`] is how an operator writes those; [`smtp`] is how a server is spoken
//! with, `providers` how those are who take mails by HTTP, [`dkim`] how a mail says whose it is. [`push`] takes pushes to devices, [`hooks`] calls addresses. `destination_limiter`
//! is how much of a destination is used by any of them, `backoff` when it is left alone, and `known_hosts` those of which others
//! make up new ones. `http` is a client that knows whether a request may have arrived; `send_outcome` is what that comes to, and
//! `tls_trust` whose certificates are believed. [`metrics`] is what all of them count.

mod backoff;
mod destination_limiter;
pub mod dkim;
pub mod hooks;
mod http;
mod known_hosts;
pub mod mail;
mod mail_destination;
pub mod mail_routes;
pub mod metrics;
mod once_gate;
mod providers;
pub mod push;
mod send_outcome;
pub mod smtp;
mod tls_trust;

pub use backoff::is_rate;
pub use tls_trust::TlsTrust;
