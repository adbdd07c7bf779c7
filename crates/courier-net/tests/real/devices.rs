//! Devices, pushes for them, couriers that have fakes as their services, and what a hand-over came to.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use courier::{Courier as _, Gate, Handed, Message, Push, Way};
use courier_net::{
    push::{Pusher, Settings},
    ways::Trust,
};
use model::{
    Millis, ReadyId, Tenant,
    device::{Device, Platform},
};
use runtime::Clock;
use serde_json::Value;

use crate::fake::Answer;

/// Long enough for a machine that has much else to do.
const HAND_OVER: Duration = Duration::from_secs(60);
/// So that who says nothing is given up after two seconds.
const HAND_OVER_SHORT: Duration = Duration::from_secs(30);
/// Ten minutes ahead, when nobody wants it any more.
pub const EXPIRES_MS: i64 = 600_000;

pub fn device(platform: Platform, token: &str) -> Device {
    Device { id: format!("{} of ann", platform.name()), platform, token: token.to_owned() }
}

pub fn push(number: u8, now: i64, devices: &[Device]) -> Message {
    let ready = ReadyId([number; 16]);
    Message {
        tenant: Tenant::new("main").unwrap(),
        ready,
        message_id: format!("{ready}@news.example"),
        headline: "Größere news".to_owned(),
        text: "short words".to_owned(),
        date: Millis(now),
        way: Way::Push(Push {
            devices: devices.to_vec(),
            longer: "longer words, of which there are more".to_owned(),
            image: None,
            opens: Some("https://news.example/1".to_owned()),
            silent: false,
            badge: Some(3),
            wordless: false,
            expires: Millis(now + EXPIRES_MS),
        }),
    }
}

/// The same message with another push.
pub fn with_push(mut message: Message, change: impl FnOnce(&mut Push)) -> Message {
    if let Way::Push(push) = &mut message.way {
        change(push);
    }
    message
}

/// No service, with this house's authority.
pub fn nowhere(ca: Option<&[u8]>) -> Settings {
    Settings { apns: None, fcm: None, web: None, trust: Trust::new(ca).unwrap(), hand_over: HAND_OVER }
}

/// The same for an answer that may never come.
pub fn for_answer(settings: Settings, answer: &Answer) -> Settings {
    let hand_over = if matches!(answer, Answer::Hangs) { HAND_OVER_SHORT } else { HAND_OVER };
    Settings { hand_over, ..settings }
}

pub fn pusher(settings: &Settings, clock: &Clock) -> Pusher {
    Pusher::new(settings, clock.clone()).unwrap()
}

/// A gate that says the same each time, and remembers.
#[derive(Default)]
pub struct Watched {
    pub no: bool,
    pub asked: AtomicUsize,
    pub gone: Mutex<Vec<Device>>,
}

#[async_trait]
impl Gate for Watched {
    async fn may_go(&self) -> bool {
        self.asked.fetch_add(1, Ordering::SeqCst);
        !self.no
    }

    async fn gone(&self, device: &Device) {
        self.gone.lock().unwrap().push(device.clone());
    }
}

/// A hand-over: what it came to in words, how often the gate was asked, and which tokens are gone.
pub async fn handed(pusher: &Pusher, message: &Message) -> (String, usize, Vec<String>) {
    handed_to(pusher, message, &Watched::default()).await
}

pub async fn handed_to(pusher: &Pusher, message: &Message, gate: &Watched) -> (String, usize, Vec<String>) {
    let told = match pusher.hand(message, gate).await.unwrap() {
        Handed::Accepted => "accepted".to_owned(),
        Handed::Stopped => "stopped".to_owned(),
        Handed::NotNow(why) | Handed::Away(why) | Handed::Busy(why) => format!("not now: {why}"),
        Handed::Refused(why) => format!("refused: {why}"),
        Handed::Unknown(why) => format!("unknown: {why}"),
    };
    for device in gate.gone.lock().unwrap().iter().filter(|device| !device.token.is_empty()) {
        assert!(!told.contains(&device.token), "no token is told: {told}");
    }
    let gone = gate.gone.lock().unwrap().iter().map(|device| device.token.clone()).collect();
    (told, gate.asked.load(Ordering::SeqCst), gone)
}

/// The header and the claims of a token, and what its signature is about.
pub fn token(text: &str) -> (Value, Value, String, Vec<u8>) {
    let parts: Vec<&str> = text.split('.').collect();
    let [header, claims, signature] = parts.try_into().unwrap();
    let plain = |part: &str| BASE64_URL_SAFE_NO_PAD.decode(part).unwrap();
    let json = |part: &str| serde_json::from_slice(&plain(part)).unwrap();
    (json(header), json(claims), format!("{header}.{claims}"), plain(signature))
}
