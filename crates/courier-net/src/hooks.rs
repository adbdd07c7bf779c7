//! Hooks: channels that are a request to an address of the person's own, and no more than that.
//!
//! [`caller`] has all that they have in common: who is asked at all, how often, and what the answers come to. What tells
//! one from another is its [`Form`], a file each: `webhook` and `chat`. `keys` are those by which who is called can see
//! who calls.

pub mod caller;
mod chat;
mod keys;
mod webhook;

use courier::{Call, Message};
use hyper::{HeaderMap, body::Bytes};
use model::hook::Hook;
use url::Url;

pub use caller::{Caller, Settings};
pub use keys::Keys;

use crate::{
    fared::{Fared, Judged},
    http::Reply,
};

/// The form of each hook. What is in the table of `model::hook` and not here does not compile.
fn form(hook: Hook) -> &'static dyn Form {
    match hook {
        Hook::Webhook => &webhook::Webhook,
        Hook::Chat => &chat::Chat,
    }
}

/// What tells one hook from another.
trait Form: Send + Sync {
    /// The request's body, with what goes into its header beside the usual; or why there can be none.
    fn write(&self, letter: &Letter<'_>) -> Result<(HeaderMap, Bytes), String>;

    /// Whether who is called can see who calls.
    fn is_signed(&self) -> bool {
        false
    }

    /// Whether who is called knows a call again, so that it may come twice where nobody knows whether it came.
    fn knows_again(&self) -> bool {
        false
    }

    /// By what addresses have one pace together.
    fn pace_of(&self, address: &Url) -> String {
        address.origin().ascii_serialization()
    }

    /// What an answer means.
    fn judge(&self, reply: &Reply, now: i64) -> Judged {
        usual(reply, now)
    }
}

/// One message for one address.
#[derive(Clone, Copy)]
struct Letter<'a> {
    message: &'a Message,
    call: &'a Call,
    keys: &'a Keys,
    /// Now, in milliseconds.
    now: i64,
}

/// What statuses mean nearly everywhere. Of what a stranger says beside them, nothing comes into our logs.
fn usual(reply: &Reply, now: i64) -> Judged {
    let why = reply.status.to_string();
    match reply.status {
        200..=299 => Judged::well(Fared::Accepted),
        410 => Judged::well(Fared::Gone(why)),
        408 | 425 | 429 | 500..=599 => Judged::slow(why, reply.pause(now)),
        // No redirect is followed: nobody has checked where it leads.
        _ => Judged::well(Fared::Refused(why)),
    }
}
