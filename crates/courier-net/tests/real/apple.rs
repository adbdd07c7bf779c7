//! APNs, as far as Apple's documentation says what it does: a fake that checks who asks, and answers as it is told to.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use courier_net::push::{JwtKey, PushCourier, Settings, apns};
use model::device::{DevicePlatform, PushDevice};
use runtime::Clock;
use serde_json::json;

use crate::{
    devices::{
        DeviceGate, EXPIRES_MS, decode_token, for_slow_answer, hand_push, hand_push_gated, no_services,
        open_pusher, push_message, test_device, with_push,
    },
    fake::{FakeHttpAnswer, FakeHttpRequest, FakeHttpService},
};

const NOW: i64 = 1_800_000_000_000;
const MINUTE: i64 = 60_000;

struct FakeApple {
    fake: FakeHttpService,
    key: String,
    /// What is said about a device; of the others nothing is wrong.
    moods: Arc<Mutex<HashMap<String, FakeHttpAnswer>>>,
    /// What the clock of Apple says.
    clock: Clock,
}

impl FakeApple {
    async fn start() -> Self {
        let key = JwtKey::generate_pem().unwrap();
        let public =
            BASE64_URL_SAFE_NO_PAD.decode(JwtKey::read_es256(&key).unwrap().public_base64()).unwrap();
        let (moods, clock) =
            (Arc::new(Mutex::new(HashMap::<String, FakeHttpAnswer>::new())), Clock::still(NOW));
        let (theirs, their_clock) = (moods.clone(), clock.clone());
        let fake = FakeHttpService::start(move |seen| {
            let no =
                |status: u16, reason: &str| FakeHttpAnswer::with_json(status, &json!({"reason": reason}));
            if let Err(reason) = check_authorization(seen, &public, their_clock.now()) {
                return no(403, reason);
            }
            if seen.header("apns-topic") != "example.news" {
                return no(400, "TopicDisallowed");
            }
            let Some(device) = seen.path.strip_prefix("/3/device/") else { return no(404, "BadPath") };
            let mood = theirs.lock().unwrap().get(device).cloned();
            mood.unwrap_or(FakeHttpAnswer::Says { status: 200, header: None, body: Vec::new() })
        });
        Self { fake: fake.await, key, moods, clock }
    }

    fn settings(&self) -> Settings {
        let apns = apns::Settings {
            root: self.fake.root(),
            key: self.key.clone().into(),
            key_id: "KEY1234567".to_owned(),
            team_id: "TEAM123456".to_owned(),
            topic: "example.news".to_owned(),
            per_second: None,
        };
        Settings { apns: Some(apns), ..no_services(Some(self.fake.ca())) }
    }

    fn set_mood(&self, device: &str, answer: FakeHttpAnswer) {
        self.moods.lock().unwrap().insert(device.to_owned(), answer);
    }
}

/// By "Establishing a token-based connection to APNs".
fn check_authorization(seen: &FakeHttpRequest, public: &[u8], now: i64) -> Result<(), &'static str> {
    let text = seen.header("authorization").strip_prefix("bearer ").ok_or("MissingProviderToken")?;
    let (header, claims, said, signature) = decode_token(text);
    let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, public);
    key.verify(said.as_bytes(), &signature).map_err(|_| "InvalidProviderToken")?;
    if header["alg"] != "ES256" || header["kid"] != "KEY1234567" || claims["iss"] != "TEAM123456" {
        return Err("InvalidProviderToken");
    }
    let age = now - claims["iat"].as_i64().unwrap() * 1_000;
    if (0..60 * MINUTE).contains(&age) { Ok(()) } else { Err("ExpiredProviderToken") }
}

fn phone_device(token: &str) -> PushDevice {
    test_device(DevicePlatform::Ios, token)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_answer_of_apple_has_its_outcome() {
    let apple = FakeApple::start().await;
    let check = async |answer: FakeHttpAnswer, expected: &str, is_gone: bool| {
        let courier = open_pusher(&for_slow_answer(apple.settings(), &answer), &apple.clock);
        apple.set_mood("a0b1", answer);
        let (told, asked, gone) = hand_push(&courier, &push_message(1, NOW, &[phone_device("a0b1")])).await;
        assert_eq!((told.as_str(), asked, !gone.is_empty()), (expected, 1, is_gone));
    };
    let said = |status: u16, reason: &str| FakeHttpAnswer::with_json(status, &json!({"reason": reason}));
    check(FakeHttpAnswer::Says { status: 200, header: None, body: Vec::new() }, "accepted", false).await;
    check(said(410, "Unregistered"), "refused: ios: 410 Unregistered", true).await;
    check(said(410, "ExpiredToken"), "refused: ios: 410 ExpiredToken", true).await;
    check(said(400, "BadDeviceToken"), "refused: ios: 400 BadDeviceToken", true).await;
    check(said(400, "DeviceTokenNotForTopic"), "refused: ios: 400 DeviceTokenNotForTopic", true).await;
    check(said(400, "BadCollapseId"), "refused: ios: 400 BadCollapseId", false).await;
    check(said(413, "PayloadTooLarge"), "refused: ios: 413 PayloadTooLarge", false).await;
    check(said(429, "TooManyRequests"), "not now: ios: 429 TooManyRequests", false).await;
    check(said(429, "TooManyProviderTokenUpdates"), "not now: ios: 429 TooManyProviderTokenUpdates", false)
        .await;
    check(said(500, "InternalServerError"), "not now: ios: 500 InternalServerError", false).await;
    check(said(503, "Shutdown"), "not now: ios: 503 Shutdown", false).await;
    check(said(403, "InvalidProviderToken"), "not now: ios: 403 InvalidProviderToken", false).await;
    check(said(403, "ExpiredProviderToken"), "not now: ios: 403 ExpiredProviderToken", false).await;
    check(said(301, ""), "refused: ios: 301", false).await;
    let garbled = FakeHttpAnswer::Says { status: 400, header: None, body: b"{\"reason\": [1, \xff".to_vec() };
    check(garbled, "refused: ios: 400", false).await;
    // Far more than anybody needs to say why; that it was taken is all that counts.
    check(FakeHttpAnswer::Says { status: 200, header: None, body: vec![b'x'; 1 << 20] }, "accepted", false)
        .await;
    check(FakeHttpAnswer::Hangs, "unknown: ios: no reply for 6 s", false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_not_read_did_not_go_out_and_what_broke_off_may_have() {
    let apple = FakeApple::start().await;
    let check = async |reason: h2::Reason, expected: &str| {
        apple.set_mood("a0b1", FakeHttpAnswer::Breaks(reason));
        let courier = open_pusher(&apple.settings(), &apple.clock);
        let (told, asked, _) = hand_push(&courier, &push_message(1, NOW, &[phone_device("a0b1")])).await;
        assert!(told.starts_with(expected), "{reason:?}: {told}");
        assert_eq!(asked, 1);
    };
    check(h2::Reason::REFUSED_STREAM, "not now: ").await;
    check(h2::Reason::INTERNAL_ERROR, "unknown: ").await;
    check(h2::Reason::CANCEL, "unknown: ").await;
    // Nobody is there, or somebody else is.
    let mut settings = apple.settings();
    settings.apns.as_mut().unwrap().root = "https://127.84.255.1:9".to_owned();
    let (told, asked, _) =
        hand_push(&open_pusher(&settings, &apple.clock), &push_message(1, NOW, &[phone_device("aa")])).await;
    assert!(told.starts_with("not now: ") && told.contains("refused"), "{told}");
    assert_eq!(asked, 1);
    let stranger = Settings { apns: apple.settings().apns, ..no_services(None) };
    let (told, ..) =
        hand_push(&open_pusher(&stranger, &apple.clock), &push_message(1, NOW, &[phone_device("aa")])).await;
    assert!(told.starts_with("not now: ") && told.contains("invalid peer certificate"), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn apple_is_told_what_kind_of_push_it_is() {
    let apple = FakeApple::start().await;
    let courier = open_pusher(&apple.settings(), &apple.clock);
    let shown = push_message(7, NOW, &[phone_device("a0b1")]);
    let quiet = with_push(shown.clone(), |push| push.silent = true);
    let wordless = with_push(shown.clone(), |push| push.wordless = true);
    for (message, kind, priority) in
        [(&shown, "alert", "10"), (&quiet, "alert", "5"), (&wordless, "background", "5")]
    {
        assert_eq!(hand_push(&courier, message).await, ("accepted".to_owned(), 1, vec![]));
        let seen = apple.fake.take_requests().pop().unwrap();
        let header = |name: &str| seen.header(name).to_owned();
        assert_eq!((header("apns-push-type").as_str(), header("apns-priority").as_str()), (kind, priority));
        assert_eq!(header("apns-expiration"), ((NOW + EXPIRES_MS) / 1_000).to_string());
        assert_eq!(header("apns-collapse-id"), message.ready.to_string());
        assert!(header("apns-collapse-id").len() <= 64);
        assert_eq!(seen.json()["aps"]["badge"], 3);
    }
    // What is too long for a device is said in short words.
    let long = with_push(shown, |push| push.longer = "more and more ".repeat(400));
    assert_eq!(hand_push(&courier, &long).await.0, "accepted");
    assert_eq!(apple.fake.take_requests().pop().unwrap().json()["aps"]["alert"]["body"], "short words");
    let mut longer = long;
    longer.text = "more and more ".repeat(400);
    let (told, asked, _) = hand_push(&courier, &longer).await;
    assert!(told.contains("no more than 4096 are taken"), "{told}");
    assert_eq!((asked, apple.fake.take_requests().len()), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_we_are_is_said_again_and_renewed_in_time() {
    let apple = FakeApple::start().await;
    let courier = open_pusher(&apple.settings(), &apple.clock);
    let tokens = || -> Vec<String> {
        apple.fake.take_requests().iter().map(|seen| seen.header("authorization").to_owned()).collect()
    };
    let send = async || {
        hand_push(
            &courier,
            &push_message(1, NOW, &[phone_device("aa"), phone_device("bb"), phone_device("cc")]),
        )
        .await
        .0
    };
    for _ in 0..10 {
        assert_eq!(send().await, "accepted");
    }
    let mut all = tokens();
    assert_eq!(all.len(), 30);
    all.dedup();
    assert_eq!(all.len(), 1, "one token for all");
    apple.clock.advance(49 * MINUTE);
    assert_eq!(send().await, "accepted");
    assert_eq!(tokens()[0], all[0]);
    apple.clock.advance(2 * MINUTE);
    assert_eq!(send().await, "accepted");
    let newer = tokens().pop().unwrap();
    assert_ne!(newer, all[0], "before Apple takes it for too old, there is another one");
    assert_eq!(apple.fake.connections(), 1, "all over one connection");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_ran_out_is_made_anew_once() {
    let apple = FakeApple::start().await;
    // Our clock is half an hour behind that of Apple, and goes on.
    let ours = Clock::still(NOW - 30 * MINUTE);
    let courier = open_pusher(&apple.settings(), &ours);
    let send =
        async |number: u8| hand_push(&courier, &push_message(number, NOW, &[phone_device("aa")])).await.0;
    assert_eq!(send(1).await, "accepted");
    for clock in [&ours, &apple.clock] {
        clock.advance(31 * MINUTE);
    }
    assert_eq!(apple.fake.take_requests().len(), 1);
    assert_eq!(send(2).await, "accepted");
    assert_eq!(apple.fake.take_requests().len(), 2, "asked with the old one, and with a new one");
    apple.clock.advance(40 * MINUTE);
    assert_eq!(send(3).await, "not now: ios: 403 ExpiredProviderToken");
    assert_eq!(apple.fake.take_requests().len(), 1, "twenty minutes must lie between two of them");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_gate_is_asked_once_for_all_devices() {
    let apple = FakeApple::start().await;
    let courier = open_pusher(&apple.settings(), &apple.clock);
    let said = |status: u16, reason: &str| FakeHttpAnswer::with_json(status, &json!({"reason": reason}));
    for (device, answer) in [
        ("dead", said(410, "Unregistered")),
        ("bad0", said(400, "BadDeviceToken")),
        ("1a7e", said(429, "TooManyRequests")),
        ("0dd0", FakeHttpAnswer::Breaks(h2::Reason::INTERNAL_ERROR)),
    ] {
        apple.set_mood(device, answer);
    }
    let check = async |devices: &[&str], no: bool, expected: &str, asked: usize, gone: &[&str]| {
        apple.fake.take_requests();
        let courier = open_pusher(&apple.settings(), &apple.clock);
        let devices: Vec<PushDevice> = devices.iter().map(|token| phone_device(token)).collect();
        let gate = DeviceGate { no, ..DeviceGate::default() };
        let (told, times, dead) = hand_push_gated(&courier, &push_message(1, NOW, &devices), &gate).await;
        assert!(told.starts_with(expected), "{devices:?}: {told} is not {expected}");
        assert_eq!(
            (times, dead),
            (asked, gone.iter().map(|token| (*token).to_owned()).collect()),
            "{devices:?}"
        );
        let sent = if no { 0 } else { devices.iter().filter(|device| device.token != "not hex").count() };
        assert_eq!(apple.fake.take_requests().len(), sent, "{devices:?}");
    };
    check(&["aa", "bb"], false, "accepted", 1, &[]).await;
    check(&["aa", "bb"], true, "stopped", 1, &[]).await;
    check(&["dead", "0dd0", "1a7e", "aa"], false, "accepted", 1, &["dead"]).await;
    check(&["dead", "0dd0", "1a7e", "bad0"], false, "unknown: ", 1, &["dead", "bad0"]).await;
    check(&["dead", "1a7e", "bad0"], false, "not now: ", 1, &["dead", "bad0"]).await;
    check(&["dead", "bad0"], false, "refused: ", 1, &["dead", "bad0"]).await;
    check(&["not hex", "aa"], false, "accepted", 1, &["not hex"]).await;
    check(&["not hex"], false, "refused: ", 0, &["not hex"]).await;
    check(&[], false, "refused: there is no device", 0, &[]).await;
    let android = push_message(
        1,
        NOW,
        &[test_device(DevicePlatform::Android, "t"), test_device(DevicePlatform::Web, "{}")],
    );
    let nobody = "refused: there is no way to android devices; there is no way to web devices";
    let (told, asked, gone) = hand_push(&courier, &android).await;
    assert_eq!(
        (told.replace("android: ", "").replace("web: ", "").as_str(), asked, gone),
        (nobody, 0, vec![])
    );
}

#[test]
fn a_setting_that_cannot_be_is_refused_without_its_key() {
    let key = JwtKey::generate_pem().unwrap();
    let right = apns::Settings {
        root: apns::ROOT.to_owned(),
        key: key.clone().into(),
        key_id: "KEY1234567".to_owned(),
        team_id: "TEAM123456".to_owned(),
        topic: "example.news".to_owned(),
        per_second: None,
    };
    let check = |apns: apns::Settings, expected: &str| {
        let settings = Settings { apns: Some(apns), ..no_services(None) };
        match PushCourier::new(&settings, Clock::still(NOW)) {
            Ok(pusher) => assert_eq!(pusher.to_string(), expected),
            Err(wrong) => assert_eq!(wrong, expected),
        }
        assert!(!format!("{settings:?}").contains(key.lines().nth(1).unwrap()));
    };
    check(right.clone(), "APNs for example.news at https://api.push.apple.com");
    check(
        apns::Settings { key: "words".into(), ..right.clone() },
        "the key for APNs: neither PEM nor base64",
    );
    check(
        apns::Settings { topic: "two\nlines".to_owned(), ..right.clone() },
        "the topic for APNs is an app's bundle id",
    );
    check(
        apns::Settings { topic: String::new(), ..right.clone() },
        "the topic for APNs is an app's bundle id",
    );
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let rate = apns::Settings { per_second: Some(rate), ..right.clone() };
        check(rate, "`per_second` is a number above 0, and at most a million");
    }
    assert_eq!(PushCourier::new(&no_services(None), Clock::still(NOW)).unwrap().to_string(), "no service");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_devices_are_sent_to_at_the_same_time() {
    let apple = FakeApple::start().await;
    let silent = ["51", "52", "53", "54", "55"].map(phone_device);
    silent.iter().for_each(|device| apple.set_mood(&device.token, FakeHttpAnswer::Hangs));
    let courier = open_pusher(&for_slow_answer(apple.settings(), &FakeHttpAnswer::Hangs), &apple.clock);
    let watch = runtime::clock::SteadyStopwatch::start();
    let (told, asked, gone) = hand_push(&courier, &push_message(1, NOW, &silent)).await;
    assert!(told.starts_with("unknown: ios: no reply for 6 s; "), "{told}");
    assert_eq!((asked, gone, apple.fake.take_requests().len()), (1, vec![], 5));
    assert!(
        watch.elapsed() < std::time::Duration::from_secs(20),
        "those that say nothing take as long as one"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_asks_to_be_left_alone_is_left_alone() {
    let apple = FakeApple::start().await;
    let courier = open_pusher(&apple.settings(), &apple.clock);
    let pause =
        FakeHttpAnswer::Says { status: 503, header: Some(("retry-after", "30".to_owned())), body: vec![] };
    apple.set_mood("aa", pause);
    assert_eq!(
        hand_push(&courier, &push_message(1, NOW, &[phone_device("aa")])).await.0,
        "not now: ios: 503"
    );
    assert_eq!(apple.fake.take_requests().len(), 1);
    let (told, asked, _) = hand_push(&courier, &push_message(2, NOW, &[phone_device("bb")])).await;
    let seconds: u64 = told.split_whitespace().rev().nth(1).unwrap().parse().unwrap();
    assert!((29..=38).contains(&seconds), "{told}");
    assert_eq!((asked, apple.fake.take_requests().len()), (0, 0), "neither the gate nor Apple is asked");
    let slow = Settings {
        apns: apple.settings().apns.map(|apns| apns::Settings { per_second: Some(5.0), ..apns }),
        ..apple.settings()
    };
    let (courier, watch) = (open_pusher(&slow, &apple.clock), runtime::clock::SteadyStopwatch::start());
    let phones: Vec<PushDevice> = (0x10..0x1a).map(|number| phone_device(&format!("{number:x}"))).collect();
    assert_eq!(hand_push(&courier, &push_message(3, NOW, &phones)).await.0, "accepted");
    assert_eq!(apple.fake.take_requests().len(), 10);
    assert!(watch.elapsed() >= std::time::Duration::from_millis(950), "five at once and five in a second");
}
