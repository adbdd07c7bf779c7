//! Web Push: a service and browsers that nobody here wrote, and a fake for the answers that it does not have.

use std::sync::{Arc, Mutex};

use courier_net::push::{JwtKey, Settings, web};
use engines::PushService;
use model::device::{DevicePlatform, PushDevice};
use runtime::Clock;
use serde_json::{Value, json};

use crate::{
    devices::{
        EXPIRES_MS, decode_token, for_slow_answer, hand_push, no_services, open_pusher, push_message,
        test_device, with_push,
    },
    fake::{FakeHttpAnswer, FakeHttpService},
};

/// The browser of RFC 8291, section 5.
const P256DH: &str =
    "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4";
const AUTH: &str = "BTBZMqHH6r4Tts7J_aSIgg";

fn web_settings(key: &str, hosts: &[&str], ca: Option<&[u8]>) -> Settings {
    let web = web::Settings {
        key: key.to_owned().into(),
        subject: "mailto:push@news.example".to_owned(),
        hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
        per_second: None,
    };
    Settings { web: Some(web), ..no_services(ca) }
}

fn now_ms() -> i64 {
    Clock::real(0).now()
}

fn browser_device(endpoint: &str) -> PushDevice {
    let keys = json!({"p256dh": P256DH, "auth": AUTH});
    test_device(
        DevicePlatform::Web,
        &json!({"endpoint": endpoint, "expirationTime": null, "keys": keys}).to_string(),
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn browsers_are_shown_what_was_said() {
    let service = PushService::start().unwrap();
    let key = JwtKey::generate_pem().unwrap();
    let public = JwtKey::read_es256(&key).unwrap().public_base64();
    let courier =
        open_pusher(&web_settings(&key, &[service.host()], Some(&service.ca().unwrap())), &Clock::real(0));
    let subscribed: Vec<_> = (0..3).map(|_| service.subscribe(&public).unwrap()).collect();
    let devices: Vec<PushDevice> =
        subscribed.iter().map(|one| test_device(DevicePlatform::Web, &one.json)).collect();
    for number in 1..=5 {
        let message = push_message(number, now_ms(), &devices);
        assert_eq!(hand_push(&courier, &message).await, ("accepted".to_owned(), 1, vec![]));
    }
    // As large as it may be.
    let mut large = with_push(push_message(6, now_ms(), &devices), |push| push.longer = "ß".repeat(1_850));
    large.headline = "large".to_owned();
    assert_eq!(hand_push(&courier, &large).await.0, "accepted");
    for one in &subscribed {
        let received = service.read_notifications(one).unwrap();
        assert_eq!(received.len(), 6);
        let shown: Value = serde_json::from_str(&received[0]).unwrap();
        assert_eq!(shown["title"], "Größere news");
        assert_eq!(shown["body"], "longer words, of which there are more");
        assert_eq!(shown["tag"], push_message(1, 0, &[]).ready.to_string());
        assert!(received[5].len() > 3_700, "{}", received[5].len());
    }
    service.expire(&subscribed[1]).unwrap();
    let gone = vec![subscribed[1].json.clone()];
    assert_eq!(
        hand_push(&courier, &push_message(7, now_ms(), &devices)).await,
        ("accepted".to_owned(), 1, gone.clone())
    );
    let alone = hand_push(&courier, &push_message(8, now_ms(), &devices[1..2])).await;
    assert_eq!(alone, ("refused: web: 410".to_owned(), 1, gone));
    // For an app with another key nothing is shown.
    let other = service
        .subscribe(&JwtKey::read_es256(&JwtKey::generate_pem().unwrap()).unwrap().public_base64())
        .unwrap();
    let (told, ..) =
        hand_push(&courier, &push_message(9, now_ms(), &[test_device(DevicePlatform::Web, &other.json)]))
            .await;
    assert_eq!(told, "refused: web: 400");
    let counts: Vec<usize> =
        subscribed.iter().map(|one| service.read_notifications(one).unwrap().len()).collect();
    assert_eq!((counts, service.read_notifications(&other).unwrap().len()), (vec![7, 6, 7], 0));
}

/// A fake that answers as it was told last.
async fn start_fake() -> (FakeHttpService, Arc<Mutex<FakeHttpAnswer>>) {
    let answer = Arc::new(Mutex::new(FakeHttpAnswer::Hangs));
    let told = answer.clone();
    (FakeHttpService::start(move |_| told.lock().unwrap().clone()).await, answer)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_answer_of_a_service_has_its_outcome() {
    let (fake, answer) = start_fake().await;
    let key = JwtKey::generate_pem().unwrap();
    let settings = web_settings(&key, &["127.0.0.1"], Some(fake.ca()));
    let device = browser_device(&format!("{}/send/abc", fake.root()));
    let check = async |said: FakeHttpAnswer, expected: &str, is_gone: bool| {
        let courier = open_pusher(&for_slow_answer(settings.clone(), &said), &Clock::real(0));
        *answer.lock().unwrap() = said;
        let (told, asked, gone) =
            hand_push(&courier, &push_message(1, now_ms(), std::slice::from_ref(&device))).await;
        assert_eq!((told.as_str(), asked, !gone.is_empty()), (expected, 1, is_gone));
        assert_eq!(fake.take_requests().len(), 1, "nobody is asked twice, and no redirect is followed");
    };
    let says = |status: u16, header: Option<(&'static str, String)>| FakeHttpAnswer::Says {
        status,
        header,
        body: vec![],
    };
    check(says(201, None), "accepted", false).await;
    check(says(404, None), "refused: web: 404", true).await;
    check(says(410, None), "refused: web: 410", true).await;
    check(says(413, None), "refused: web: 413", false).await;
    check(says(400, None), "refused: web: 400", false).await;
    check(says(401, None), "refused: web: 401", false).await;
    check(says(403, None), "refused: web: 403", false).await;
    check(says(429, Some(("retry-after", "7".to_owned()))), "not now: web: 429", false).await;
    check(says(500, None), "not now: web: 500", false).await;
    for status in [301, 302, 307, 308] {
        let to = Some(("location", format!("{}/elsewhere", fake.root())));
        check(says(status, to), &format!("refused: web: {status}"), false).await;
    }
    check(FakeHttpAnswer::Says { status: 201, header: None, body: vec![b'x'; 1 << 22] }, "accepted", false)
        .await;
    check(FakeHttpAnswer::Hangs, "unknown: web: no reply for 6 s", false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_is_told_who_sends_and_how_long_it_matters() {
    let (fake, answer) = start_fake().await;
    *answer.lock().unwrap() = FakeHttpAnswer::Says { status: 201, header: None, body: vec![] };
    let key = JwtKey::generate_pem().unwrap();
    let clock = Clock::still(now_ms());
    let courier = open_pusher(&web_settings(&key, &["127.0.0.1"], Some(fake.ca())), &clock);
    let device = browser_device(&format!("{}/send/abc?d=1", fake.root()));
    let usual = push_message(0xab, clock.now(), &[device]);
    let quiet = with_push(usual.clone(), |push| push.silent = true);
    let wordless = with_push(usual.clone(), |push| push.wordless = true);
    let mut signed = Vec::new();
    for (message, urgency) in [(&usual, "high"), (&quiet, "low"), (&wordless, "very-low")] {
        assert_eq!(hand_push(&courier, message).await.0, "accepted");
        let seen = fake.take_requests().pop().unwrap();
        assert_eq!((seen.header("urgency"), seen.header("topic")), (urgency, "ab".repeat(16).as_str()));
        assert_eq!(seen.header("ttl"), (EXPIRES_MS / 1_000).to_string());
        assert_eq!(seen.header("content-encoding"), "aes128gcm");
        signed.push(seen.header("authorization").to_owned());
    }
    let public = JwtKey::read_es256(&key).unwrap().public_base64();
    let vapid = signed[0].strip_prefix("vapid t=").unwrap();
    let (text, k) = vapid.split_once(", k=").unwrap();
    assert_eq!(k, public);
    let (_, claims, ..) = decode_token(text);
    assert_eq!((&claims["aud"], &claims["sub"]), (&json!(fake.root()), &json!("mailto:push@news.example")));
    let ahead = claims["exp"].as_i64().unwrap() - clock.now() / 1_000;
    assert!((3_600..86_400).contains(&ahead), "{ahead}");
    clock.advance(7 * 3_600_000);
    assert_eq!(hand_push(&courier, &usual).await.0, "accepted");
    let late = fake.take_requests().pop().unwrap();
    assert_eq!(late.header("ttl"), "0", "nobody wants it any more but who is there now");
    signed.push(late.header("authorization").to_owned());
    signed.dedup();
    assert_eq!(signed.len(), 2, "one signature for hours, and then another one");
    // What one service says about its pace holds for no other.
    let pause =
        FakeHttpAnswer::Says { status: 429, header: Some(("retry-after", "60".to_owned())), body: vec![] };
    *answer.lock().unwrap() = pause;
    assert_eq!(hand_push(&courier, &usual).await.0, "not now: web: 429");
    assert!(hand_push(&courier, &usual).await.0.contains("left alone for"));
    let (told, asked, _) =
        hand_push(&courier, &push_message(1, now_ms(), &[browser_device("https://127.0.0.1:9/x")])).await;
    assert!(told.contains("onnect") && asked == 1, "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_is_asked_where_a_stranger_must_not_lead() {
    let (fake, _) = start_fake().await;
    let port = fake.root().rsplit_once(':').unwrap().1.to_owned();
    let key = JwtKey::generate_pem().unwrap();
    let courier = open_pusher(&web_settings(&key, &["push.here.example"], Some(fake.ca())), &Clock::real(0));
    // Of each: what it comes to, and whether the gate was asked, since only then a name is looked up.
    let check = async |device: PushDevice, expected: &str, asked: usize, is_gone: bool| {
        let (told, times, gone) = hand_push(&courier, &push_message(1, now_ms(), &[device])).await;
        assert!(told.contains(expected), "{told} is not {expected}");
        assert!(told.starts_with("refused: web: "), "{told}");
        assert_eq!((times, !gone.is_empty()), (asked, is_gone), "{told}");
    };
    let not_public = "its address is not a public one";
    for host in [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "0.0.0.0",
        "[::]",
        "169.254.169.254",
    ] {
        check(browser_device(&format!("https://{host}:{port}/x")), not_public, 0, false).await;
    }
    check(browser_device(&format!("https://localhost:{port}/x")), not_public, 1, false).await;
    check(browser_device(&format!("https://LOCALHOST:{port}/x")), not_public, 1, false).await;
    check(browser_device(&format!("http://push.here.example:{port}/x")), "not https", 0, false).await;
    check(browser_device("https://user@push.here.example/x"), "has a user in it", 0, false).await;
    check(test_device(DevicePlatform::Web, "words"), "it is no subscription: not its JSON", 0, true).await;
    let keys = |p256dh: &str, auth: &str| {
        let keys = json!({"p256dh": p256dh, "auth": auth});
        test_device(
            DevicePlatform::Web,
            &json!({"endpoint": "https://push.example/x", "keys": keys}).to_string(),
        )
    };
    check(keys(P256DH, "AAAA"), "`auth` has not 16 bytes", 0, true).await;
    check(keys("?", AUTH), "not base64", 0, true).await;
    check(keys(&AUTH.repeat(4)[..87], AUTH), "it is no subscription", 0, true).await;
    assert_eq!(fake.connections(), 0, "not even a connection");
}
