//! What a device is given: one message, in the form of its platform.
//!
//! Android has a title, a short text and a picture; iOS has room for more words; the web shows both where the browser
//! likes. What belongs together has one id, so that a message that comes twice is shown once.

use model::device::{DevicePlatform, PushDevice};
use serde_json::{Value, json};

use crate::port::{Message, PushPayload};

/// For each device what it is given.
pub fn encode_pushes(message: &Message, push: &PushPayload) -> Value {
    let one = |device: &PushDevice| {
        json!({
            "device": device.id,
            "platform": device.platform.name(),
            "payload": encode_push(message, push, device),
        })
    };
    push.devices.iter().map(one).collect()
}

/// What one device is given.
pub fn encode_push(message: &Message, push: &PushPayload, device: &PushDevice) -> Value {
    match device.platform {
        DevicePlatform::Android => encode_android(message, push, device),
        DevicePlatform::Ios => encode_ios(message, push),
        DevicePlatform::Web => encode_web(message, push),
    }
}

/// By the documentation of FCM's HTTP v1.
fn encode_android(message: &Message, push: &PushPayload, device: &PushDevice) -> Value {
    let seconds = push.expires.since(message.date).max(0) / 1_000;
    if push.wordless {
        let mut data = json!({"message": message.message_id});
        set_field(&mut data, "badge", push.badge.map(|badge| badge.to_string()).as_deref());
        if !push.withdrawn.is_empty() {
            data["withdrawn"] = list_withdrawn(push).join(" ").into();
        }
        return json!({"message": {
            "token": device.token,
            "data": data,
            "android": {"collapse_key": "badge", "ttl": format!("{seconds}s"), "priority": "NORMAL"},
        }});
    }
    let mut shown = json!({"title": message.headline, "body": message.text});
    set_field(&mut shown, "image", push.image.as_deref());
    let mut data = json!({"message": message.message_id});
    set_field(&mut data, "opens", push.opens.as_deref());
    // Data of FCM is text.
    set_field(&mut data, "replaces", push.replaces.then_some("true"));
    set_links(&mut data, push);
    let mut payload = json!({"message": {
        "token": device.token,
        "notification": shown,
        "data": data,
        "android": {
            "collapse_key": message.ready.to_string(),
            "ttl": format!("{seconds}s"),
            "priority": if push.silent { "NORMAL" } else { "HIGH" },
            "notification": {"tag": message.ready.to_string()},
        },
    }});
    if push.badge.is_some() {
        payload["message"]["android"]["notification"]["notification_count"] = json!(push.badge);
    }
    payload
}

/// By the documentation of APNs.
fn encode_ios(message: &Message, push: &PushPayload) -> Value {
    if push.wordless {
        let mut aps = json!({"content-available": 1});
        if push.badge.is_some() {
            aps["badge"] = json!(push.badge);
        }
        let mut payload = json!({"aps": aps, "message": message.message_id});
        if !push.withdrawn.is_empty() {
            payload["withdrawn"] = list_withdrawn(push).into();
        }
        return payload;
    }
    let body = if push.longer.is_empty() { &message.text } else { &push.longer };
    let mut aps = json!({"alert": {"title": message.headline, "body": body}});
    if push.silent {
        set_field(&mut aps, "interruption-level", Some("passive"));
    } else {
        set_field(&mut aps, "sound", Some("default"));
    }
    if push.badge.is_some() {
        aps["badge"] = json!(push.badge);
    }
    let mut payload = json!({"aps": aps, "message": message.message_id});
    set_field(&mut payload, "opens", push.opens.as_deref());
    set_replaces(&mut payload, push);
    set_links(&mut payload, push);
    payload
}

/// What our own service worker reads.
fn encode_web(message: &Message, push: &PushPayload) -> Value {
    if push.wordless {
        return json!({"badge": push.badge, "withdrawn": list_withdrawn(push)});
    }
    let mut payload = json!({
        "title": message.headline,
        "body": if push.longer.is_empty() { &message.text } else { &push.longer },
        "tag": message.ready.to_string(),
        "silent": push.silent,
    });
    if push.badge.is_some() {
        payload["badge"] = json!(push.badge);
    }
    set_field(&mut payload, "image", push.image.as_deref());
    set_field(&mut payload, "opens", push.opens.as_deref());
    set_replaces(&mut payload, push);
    set_links(&mut payload, push);
    // No push of a browser's is without words, so what was revoked is taken away by the next one.
    if !push.withdrawn.is_empty() {
        payload["withdrawn"] = list_withdrawn(push).into();
    }
    // Buttons, as a notification of the web takes them. Apps have their own.
    let buttons: Vec<Value> =
        push.links.named().map(|(name, link)| json!({"action": name, "title": link.title})).collect();
    if !buttons.is_empty() {
        payload["actions"] = buttons.into();
    }
    payload
}

/// A client that dismissed the push need not show it again.
fn set_replaces(object: &mut Value, push: &PushPayload) {
    if push.replaces {
        object["replaces"] = true.into();
    }
}

fn set_links(object: &mut Value, push: &PushPayload) {
    for (name, link) in push.links.named() {
        set_field(object, name, Some(&link.address));
    }
}

/// The ids by which devices know those pushes: `apns-collapse-id`, and the tag of a notification.
fn list_withdrawn(push: &PushPayload) -> Vec<String> {
    push.withdrawn.iter().map(ToString::to_string).collect()
}

fn set_field(object: &mut Value, name: &str, value: Option<&str>) {
    if let (Some(object), Some(value)) = (object.as_object_mut(), value) {
        object.insert(name.to_owned(), value.into());
    }
}
