//! Mail and push to the world: the engines of the courier's port that need a network.
//!
//! [`mail`] takes mails by one way or several, [`ways`] is how an operator writes those; [`smtp`] is how a server is spoken
//! with, [`dkim`] how a mail says whose it is. [`push`] takes pushes to devices. `lane` is how much of a destination is
//! used by either, and `pace` when it is left alone.

pub mod dkim;
mod lane;
pub mod mail;
mod pace;
pub mod push;
pub mod smtp;
pub mod ways;
