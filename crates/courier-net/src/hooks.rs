//! Hooks: channels that are a request to an address of the person's own, and no more than that.
//!
//! [`caller`] has all that they have in common: who is asked at all, how often, and what the answers come to. What tells
//! one from another is its [`HookForm`], a file each: `webhook` and `chat`. `keys` are those by which who is called can see
//! who calls.

pub mod caller;
mod chat;
mod keys;
mod webhook;

use courier::{CallPayload, HandoverOutcome, Message};
use hyper::{HeaderMap, body::Bytes};
use model::hook::Hook;
use url::Url;

pub use caller::{HookCourier, Settings};
pub use keys::HookSecrets;

use crate::{http::OutboundReply, send_outcome::SendOutcome};

/// The form of each hook. What is in the table of `model::hook` and not here does not compile.
fn form_of_hook(hook: Hook) -> &'static dyn HookForm {
    match hook {
        Hook::Webhook => &webhook::WebhookForm,
        Hook::Chat => &chat::ChatForm,
    }
}

/// What tells one hook from another.
trait HookForm: Send + Sync {
    /// The request's body, with what goes into its header beside the usual; or why there can be none.
    fn build_request(&self, letter: &HookDispatch<'_>) -> Result<(HeaderMap, Bytes), String>;

    /// Whether who is called can see who calls.
    fn is_signed(&self) -> bool {
        false
    }

    /// Whether who is called knows a call again, so that it may come twice where nobody knows whether it came.
    fn knows_again(&self) -> bool {
        false
    }

    /// By what addresses have one pace together.
    fn limiter_key(&self, address: &Url) -> String {
        address.origin().ascii_serialization()
    }

    /// What an answer means.
    fn judge(&self, reply: &OutboundReply, now: i64) -> SendOutcome {
        judge_status(reply, now)
    }
}

/// One message for one address.
#[derive(Clone, Copy)]
struct HookDispatch<'a> {
    message: &'a Message,
    call: &'a CallPayload,
    keys: &'a HookSecrets,
    /// Now, in milliseconds.
    now: i64,
}

/// What statuses mean nearly everywhere. Of what a stranger says beside them, nothing comes into our logs.
fn judge_status(reply: &OutboundReply, now: i64) -> SendOutcome {
    let why = reply.status.to_string();
    match reply.status {
        200..=299 => SendOutcome::decided(HandoverOutcome::Accepted),
        410 => SendOutcome::gone(why),
        408 | 425 | 429 | 500..=599 => SendOutcome::slow_down(why, reply.pause(now)),
        // No redirect is followed: nobody has checked where it leads.
        _ => SendOutcome::refused(why),
    }
}
