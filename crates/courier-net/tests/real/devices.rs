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
use courier::{Courier as _, HandoverGate, HandoverOutcome, Message, MessagePayload, PushPayload};
use courier_net::{
    TlsTrust,
    push::{PushCourier, Settings},
};
use model::{
    ReadyId, Tenant, UtcMillis,
    device::{DevicePlatform, PushDevice},
};
use runtime::Clock;
use serde_json::Value;

use crate::fake::FakeHttpAnswer;

/// Long enough for a machine that has much else to do.
const HAND_OVER: Duration = Duration::from_secs(60);
/// So that who says nothing is given up after two seconds.
const HAND_OVER_SHORT: Duration = Duration::from_secs(30);
/// Ten minutes ahead, when nobody wants it any more.
pub const EXPIRES_MS: i64 = 600_000;

pub fn test_device(platform: DevicePlatform, token: &str) -> PushDevice {
    PushDevice { id: format!("{} of ann", platform.name()), platform, token: token.to_owned() }
}

pub fn push_message(number: u8, now: i64, devices: &[PushDevice]) -> Message {
    let ready = ReadyId([number; 16]);
    Message {
        tenant: Tenant::new("main").unwrap(),
        ready,
        message_id: format!("{ready}@news.example"),
        headline: "Größere news".to_owned(),
        text: "short words".to_owned(),
        date: UtcMillis(now),
        way: MessagePayload::Push(PushPayload {
            devices: devices.to_vec(),
            longer: "longer words, of which there are more".to_owned(),
            image: None,
            opens: Some("https://news.example/1".to_owned()),
            links: courier::MessageLinks::default(),
            silent: false,
            badge: Some(3),
            wordless: false,
            replaces: false,
            withdrawn: Vec::new(),
            expires: UtcMillis(now + EXPIRES_MS),
        }),
    }
}

/// The same message with another push.
pub fn with_push(mut message: Message, change: impl FnOnce(&mut PushPayload)) -> Message {
    if let MessagePayload::Push(push) = &mut message.way {
        change(push);
    }
    message
}

/// No service, with this house's authority.
pub fn no_services(ca: Option<&[u8]>) -> Settings {
    Settings { apns: None, fcm: None, web: None, trust: TlsTrust::new(ca).unwrap(), hand_over: HAND_OVER }
}

/// The same for an answer that may never come.
pub fn for_slow_answer(settings: Settings, answer: &FakeHttpAnswer) -> Settings {
    let hand_over = if matches!(answer, FakeHttpAnswer::Hangs) { HAND_OVER_SHORT } else { HAND_OVER };
    Settings { hand_over, ..settings }
}

pub fn open_pusher(settings: &Settings, clock: &Clock) -> PushCourier {
    PushCourier::new(settings, clock.clone()).unwrap()
}

/// A gate that says the same each time, and remembers.
#[derive(Default)]
pub struct DeviceGate {
    pub no: bool,
    pub asked: AtomicUsize,
    pub gone: Mutex<Vec<PushDevice>>,
}

#[async_trait]
impl HandoverGate for DeviceGate {
    async fn may_go(&self) -> bool {
        self.asked.fetch_add(1, Ordering::SeqCst);
        !self.no
    }

    async fn note_dead_device(&self, device: &PushDevice) {
        self.gone.lock().unwrap().push(device.clone());
    }
}

/// A hand-over: what it came to in words, how often the gate was asked, and which tokens are gone.
pub async fn hand_push(pusher: &PushCourier, message: &Message) -> (String, usize, Vec<String>) {
    hand_push_gated(pusher, message, &DeviceGate::default()).await
}

pub async fn hand_push_gated(
    pusher: &PushCourier,
    message: &Message,
    gate: &DeviceGate,
) -> (String, usize, Vec<String>) {
    let told = match pusher.hand(message, gate).await.unwrap() {
        HandoverOutcome::Accepted => "accepted".to_owned(),
        HandoverOutcome::Stopped => "stopped".to_owned(),
        HandoverOutcome::NotNow(why) | HandoverOutcome::Away(why) | HandoverOutcome::Busy(why) => {
            format!("not now: {why}")
        }
        HandoverOutcome::Refused(why) => format!("refused: {why}"),
        HandoverOutcome::Unknown(why) => format!("unknown: {why}"),
    };
    for device in gate.gone.lock().unwrap().iter().filter(|device| !device.token.is_empty()) {
        assert!(!told.contains(&device.token), "no token is told: {told}");
    }
    let gone = gate.gone.lock().unwrap().iter().map(|device| device.token.clone()).collect();
    (told, gate.asked.load(Ordering::SeqCst), gone)
}

/// The header and the claims of a token, and what its signature is about.
pub fn decode_token(text: &str) -> (Value, Value, String, Vec<u8>) {
    let parts: Vec<&str> = text.split('.').collect();
    let [header, claims, signature] = parts.try_into().unwrap();
    let plain = |part: &str| BASE64_URL_SAFE_NO_PAD.decode(part).unwrap();
    let json = |part: &str| serde_json::from_slice(&plain(part)).unwrap();
    (json(header), json(claims), format!("{header}.{claims}"), plain(signature))
}
