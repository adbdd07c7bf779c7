//! What the call of a hook has to say, for programs: the form of `webhook`, and what the outbox shows of every hook.

use serde_json::{Value, json};

use crate::port::{CallPayload, Message};

/// What is said of a message. From the same facts the same bytes.
pub fn encode_call(message: &Message, call: &CallPayload) -> Value {
    let told = call.told.iter().map(|told| {
        json!({
            "section": told.section,
            "kind": told.kind.as_str(),
            "subject": told.subject.as_str(),
            "maybe_before": told.maybe,
            "count": told.count,
        })
    });
    json!({
        "type": "tidings.message",
        "timestamp": message.date.to_string(),
        "data": {
            "message": message.message_id,
            "tenant": message.tenant.as_str(),
            "person": call.person.as_str(),
            "plan": call.plan.as_str(),
            "title": message.headline,
            "text": message.text,
            "longer": call.longer,
            "opens": call.opens,
            "read": call.links.read.as_ref().map(|link| &link.address),
            "settings": call.links.settings.as_ref().map(|link| &link.address),
            "image": call.image,
            "silent": call.silent,
            "expires": call.expires.to_string(),
            "told": told.collect::<Vec<_>>(),
        },
    })
}
