//! Mail, push and hooks to the world: the engines of the courier's port that need a network.
//!
//! [`mail`] takes mails by one way or several, [`ways`] is how an operator writes those; [`smtp`] is how a server is spoken
//! with, `providers` how those are who take mails by HTTP, [`dkim`] how a mail says whose it is. [`push`] takes pushes to devices, [`hooks`] calls addresses. `lane` is how
//! much of a destination is used by any of them, `pace` when it is left alone, and `hosts` those of which others make up
//! new ones. `http` is a client that knows whether a request may have arrived; `fared` is what that comes to.

mod asked;
pub mod dkim;
mod fared;
pub mod hooks;
mod hosts;
mod http;
mod lane;
pub mod mail;
mod pace;
mod providers;
pub mod push;
pub mod smtp;
pub mod ways;

pub use pace::is_rate;
