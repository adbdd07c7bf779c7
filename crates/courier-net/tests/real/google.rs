//! FCM, as far as Google's documentation says what it does: a fake with its giver of tokens.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, Ordering},
    },
};

use aws_lc_rs::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use courier_net::push::{JwtKey, Settings, fcm};
use futures::future::join_all;
use model::device::{DevicePlatform, PushDevice};
use runtime::Clock;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::{
    devices::{
        decode_token, for_slow_answer, hand_push, no_services, open_pusher, push_message, test_device,
        with_push,
    },
    fake::{FakeHttpAnswer, FakeHttpRequest, FakeHttpService},
};

const NOW: i64 = 1_800_000_000_000;
const HOUR: i64 = 3_600_000;

struct FakeGoogle {
    fake: FakeHttpService,
    account: String,
    state: Arc<FakeGoogleState>,
    clock: Clock,
}

#[derive(Default)]
struct FakeGoogleState {
    /// What is said about a token of a device; of the others nothing is wrong.
    moods: Mutex<HashMap<String, FakeHttpAnswer>>,
    /// What the giver of tokens says, if it does not give any.
    no_token: Mutex<Option<FakeHttpAnswer>>,
    /// The number of the token given last, and of the first that is still taken.
    given: AtomicI64,
    taken_from: AtomicI64,
}

/// One key for all tests: making one takes a while.
async fn shared_key() -> &'static str {
    static KEY: OnceCell<String> = OnceCell::const_new();
    KEY.get_or_init(async || courier_net::dkim::DkimKey::generate_pem("rsa").unwrap()).await
}

impl FakeGoogle {
    async fn start() -> Self {
        let public = BASE64_URL_SAFE_NO_PAD
            .decode(JwtKey::read_rs256(shared_key().await).unwrap().public_base64())
            .unwrap();
        let (state, clock) = (Arc::new(FakeGoogleState::default()), Clock::still(NOW));
        let (theirs, their_clock) = (state.clone(), clock.clone());
        let fake = FakeHttpService::start(move |seen| match seen.path.as_str() {
            "/token" => theirs.answer_token(seen, &public, their_clock.now()),
            "/v1/projects/news-1/messages:send" => theirs.answer_message(seen),
            _ => google_error(404, "NOT_FOUND", "Requested entity was not found.", None),
        });
        let fake = fake.await;
        let account = json!({
            "type": "service_account",
            "project_id": "news-1",
            "private_key_id": "key-1",
            "private_key": shared_key().await,
            "client_email": "push@news-1.example",
            "token_uri": format!("{}/token", fake.root()),
        });
        Self { fake, account: account.to_string(), state, clock }
    }

    fn settings(&self) -> Settings {
        let fcm = fcm::Settings {
            root: format!("{}/", self.fake.root()),
            account: self.account.clone().into(),
            per_second: None,
        };
        Settings { fcm: Some(fcm), ..no_services(Some(self.fake.ca())) }
    }

    /// How often it was asked for a token, and how often for a message, since the last look.
    fn take_request_counts(&self) -> (usize, usize) {
        let seen = self.fake.take_requests();
        let tokens = seen.iter().filter(|seen| seen.path == "/token").count();
        (tokens, seen.len() - tokens)
    }
}

impl FakeGoogleState {
    /// By RFC 7523 and "Using OAuth 2.0 for server to server applications".
    fn answer_token(&self, seen: &FakeHttpRequest, public: &[u8], now: i64) -> FakeHttpAnswer {
        if let Some(no) = &*self.no_token.lock().unwrap() {
            return no.clone();
        }
        let form: HashMap<_, _> = url::form_urlencoded::parse(&seen.body).into_owned().collect();
        assert_eq!(form["grant_type"], "urn:ietf:params:oauth:grant-type:jwt-bearer");
        assert_eq!(seen.header("content-type"), "application/x-www-form-urlencoded");
        let (header, claims, said, signature) = decode_token(&form["assertion"]);
        assert_eq!((&header["alg"], &header["kid"]), (&json!("RS256"), &json!("key-1")));
        UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, public)
            .verify(said.as_bytes(), &signature)
            .unwrap();
        assert_eq!(claims["iss"], "push@news-1.example");
        assert_eq!(claims["scope"], "https://www.googleapis.com/auth/firebase.messaging");
        assert!(claims["aud"].as_str().unwrap().ends_with("/token"));
        let (from, until) = (claims["iat"].as_i64().unwrap(), claims["exp"].as_i64().unwrap());
        assert!(from <= now / 1_000 && until > now / 1_000 && until - from <= 3_600);
        let number = self.given.fetch_add(1, Ordering::SeqCst) + 1;
        let given =
            json!({"access_token": format!("ya29.{number}"), "expires_in": 3599, "token_type": "Bearer"});
        FakeHttpAnswer::with_json(200, &given)
    }

    fn answer_message(&self, seen: &FakeHttpRequest) -> FakeHttpAnswer {
        let number = seen
            .header("authorization")
            .strip_prefix("Bearer ya29.")
            .and_then(|text| text.parse::<i64>().ok());
        if number.is_none_or(|number| number < self.taken_from.load(Ordering::SeqCst)) {
            return google_error(
                401,
                "UNAUTHENTICATED",
                "Request had invalid authentication credentials.",
                None,
            );
        }
        let body = seen.json();
        let mood = self.moods.lock().unwrap().get(body["message"]["token"].as_str().unwrap()).cloned();
        mood.unwrap_or_else(|| FakeHttpAnswer::with_json(200, &json!({"name": "projects/news-1/messages/1"})))
    }
}

/// An error as Google writes it.
fn google_error(code: u16, status: &str, message: &str, fcm: Option<&str>) -> FakeHttpAnswer {
    let details: Vec<Value> = fcm
        .map(
            |code| json!({"@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError", "errorCode": code}),
        )
        .into_iter()
        .collect();
    let error = json!({"code": code, "message": message, "status": status, "details": details});
    FakeHttpAnswer::with_json(code, &json!({"error": error}))
}

fn phone_device(token: &str) -> PushDevice {
    test_device(DevicePlatform::Android, token)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_answer_of_google_has_its_outcome() {
    let google = FakeGoogle::start().await;
    let check = async |answer: FakeHttpAnswer, expected: &str, is_gone: bool| {
        let courier = open_pusher(&for_slow_answer(google.settings(), &answer), &google.clock);
        google.state.moods.lock().unwrap().insert("f:1".to_owned(), answer);
        let (told, asked, gone) = hand_push(&courier, &push_message(1, NOW, &[phone_device("f:1")])).await;
        assert_eq!((told.as_str(), asked, !gone.is_empty()), (expected, 1, is_gone));
    };
    let not_found = "Requested entity was not found.";
    let unregistered = google_error(404, "NOT_FOUND", not_found, Some("UNREGISTERED"));
    check(unregistered, "refused: android: 404 UNREGISTERED", true).await;
    check(google_error(404, "NOT_FOUND", not_found, None), "refused: android: 404 NOT_FOUND", false).await;
    let invalid = |message: &str| google_error(400, "INVALID_ARGUMENT", message, Some("INVALID_ARGUMENT"));
    let gone = "refused: android: 400 INVALID_ARGUMENT";
    check(invalid("The registration token is not a valid FCM registration token"), gone, true).await;
    check(invalid("Invalid JSON payload received."), gone, false).await;
    let field = |field: &str| {
        let violation = json!([{"field": field, "description": "Invalid registration"}]);
        let details =
            json!([{"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": violation}]);
        FakeHttpAnswer::with_json(
            400,
            &json!({"error": {"code": 400, "status": "INVALID_ARGUMENT", "details": details}}),
        )
    };
    check(field("message.token"), gone, true).await;
    check(field("message.data"), gone, false).await;
    let quota = google_error(429, "RESOURCE_EXHAUSTED", "Quota", Some("QUOTA_EXCEEDED"));
    check(quota, "not now: android: 429 QUOTA_EXCEEDED", false).await;
    check(
        google_error(503, "UNAVAILABLE", "", Some("UNAVAILABLE")),
        "not now: android: 503 UNAVAILABLE",
        false,
    )
    .await;
    check(google_error(500, "INTERNAL", "", Some("INTERNAL")), "not now: android: 500 INTERNAL", false).await;
    let mismatch = google_error(403, "PERMISSION_DENIED", "", Some("SENDER_ID_MISMATCH"));
    check(mismatch, "refused: android: 403 SENDER_ID_MISMATCH", false).await;
    check(google_error(403, "PERMISSION_DENIED", "", None), "not now: android: 403 PERMISSION_DENIED", false)
        .await;
    check(google_error(401, "UNAUTHENTICATED", "", None), "not now: android: 401 UNAUTHENTICATED", false)
        .await;
    check(FakeHttpAnswer::with_json(302, &json!({})), "refused: android: 302", false).await;
    check(FakeHttpAnswer::Hangs, "unknown: android: no reply for 6 s", false).await;
    check(FakeHttpAnswer::with_json(502, &json!("<html>")), "not now: android: 502", false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_token_of_google_serves_all_until_it_runs_out() {
    let google = FakeGoogle::start().await;
    let courier = open_pusher(&google.settings(), &google.clock);
    let message = push_message(1, NOW, &[phone_device("f:1"), phone_device("f:2"), phone_device("f:3")]);
    let send = async || hand_push(&courier, &message).await.0;
    for told in join_all((0..10).map(|_| send())).await {
        assert_eq!(told, "accepted");
    }
    assert_eq!(google.take_request_counts(), (1, 30), "those who come together wait for one token");
    google.clock.advance(HOUR - 6 * 60_000);
    assert_eq!((send().await.as_str(), google.take_request_counts()), ("accepted", (0, 3)));
    google.clock.advance(2 * 60_000);
    assert_eq!(
        (send().await.as_str(), google.take_request_counts()),
        ("accepted", (1, 3)),
        "some minutes before its end"
    );
    // It was taken back.
    google.state.taken_from.store(3, Ordering::SeqCst);
    assert_eq!(
        (send().await.as_str(), google.take_request_counts()),
        ("accepted", (1, 6)),
        "each is asked once more, with one token"
    );
    google.state.taken_from.store(100, Ordering::SeqCst);
    assert_eq!(send().await.split("; ").next(), Some("not now: android: 401 UNAUTHENTICATED"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_token_nothing_goes_and_nobody_is_asked() {
    let google = FakeGoogle::start().await;
    let check = async |no: FakeHttpAnswer, expected: &str| {
        let courier = open_pusher(&for_slow_answer(google.settings(), &no), &google.clock);
        *google.state.no_token.lock().unwrap() = Some(no);
        let (told, asked, _) = hand_push(&courier, &push_message(1, NOW, &[phone_device("f:1")])).await;
        assert_eq!((told.as_str(), asked), (expected, 0));
        assert_eq!(google.take_request_counts(), (1, 0));
        let (told, asked, _) = hand_push(&courier, &push_message(2, NOW, &[phone_device("f:1")])).await;
        assert!(told.starts_with("not now: android: it is left alone for") && asked == 0, "{told}");
        assert_eq!(google.take_request_counts(), (0, 0));
    };
    let grant = json!({"error": "invalid_grant", "error_description": "Invalid JWT Signature."});
    check(FakeHttpAnswer::with_json(400, &grant), "not now: android: no token: 400 invalid_grant").await;
    check(FakeHttpAnswer::with_json(503, &json!({})), "not now: android: no token: 503").await;
    let large = json!({"access_token": "ya29.1", "expires_in": 3599, "more": "x".repeat(70_000)});
    check(FakeHttpAnswer::with_json(200, &large), "not now: android: no token: 200").await;
    check(FakeHttpAnswer::with_json(200, &json!({"access_token": 7})), "not now: android: no token: 200")
        .await;
    check(FakeHttpAnswer::Hangs, "not now: android: no token: no reply for 6 s").await;
    // One waits for it, and the others hear what became of that.
    let (courier, watch) = (
        open_pusher(&for_slow_answer(google.settings(), &FakeHttpAnswer::Hangs), &google.clock),
        runtime::clock::SteadyStopwatch::start(),
    );
    let message = push_message(1, NOW, &[phone_device("f:1"), phone_device("f:2")]);
    for (told, asked, _) in join_all((0..10).map(|_| hand_push(&courier, &message))).await {
        assert!(told.starts_with("not now: android: no token") && asked == 0, "{told}");
    }
    assert_eq!(google.take_request_counts(), (1, 0));
    assert!(watch.elapsed() < std::time::Duration::from_secs(30), "{:?}", watch.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn google_is_given_the_message_and_the_account_is_checked_first() {
    let google = FakeGoogle::start().await;
    let courier = open_pusher(&google.settings(), &google.clock);
    let message = with_push(push_message(9, NOW, &[phone_device("f:1")]), |push| push.badge = None);
    assert_eq!(hand_push(&courier, &message).await, ("accepted".to_owned(), 1, vec![]));
    let sent = google.fake.take_requests().pop().unwrap();
    assert_eq!(sent.header("content-type"), "application/json");
    let sent = &sent.json()["message"];
    assert_eq!((&sent["token"], &sent["notification"]["body"]), (&json!("f:1"), &json!("short words")));
    assert_eq!(sent["android"]["ttl"], "600s");
    let check = |change: fn(&mut Value), expected: &str| {
        let mut account: Value = serde_json::from_str(&google.account).unwrap();
        change(&mut account);
        let fcm =
            google.settings().fcm.map(|fcm| fcm::Settings { account: account.to_string().into(), ..fcm });
        let wrong =
            courier_net::push::PushCourier::new(&Settings { fcm, ..google.settings() }, google.clock.clone());
        let wrong = wrong.unwrap_err();
        assert!(wrong.contains(expected) && !wrong.contains("BEGIN"), "{wrong}");
    };
    check(|account| account["private_key"] = json!("words"), "not a private key in PEM");
    check(|account| account["project_id"] = json!("../x"), "a project that is no name");
    check(|account| account["token_uri"] = json!("http://token.example"), "not https");
    check(|account| *account = json!([]), "is JSON with `project_id`");
}
