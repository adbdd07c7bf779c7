//! Hooks: what arrives is believed by the library of Standard Webhooks, which nobody here wrote, and each answer has its
//! outcome.

use std::{
    fs,
    process::Command,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use courier::{CallItem, CallPayload, Courier as _, HandoverGate, HandoverOutcome, Message, MessagePayload};
use courier_net::{
    TlsTrust,
    hooks::{HookCourier, HookSecrets, Settings},
};
use engines::python;
use futures::future::join_all;
use model::{Channel, Kind, Person, PlanName, ReadyId, SubjectRef, Tenant, UtcMillis, hook::Hook};
use runtime::Clock;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use crate::fake::{FakeHttpAnswer, FakeHttpRequest, FakeHttpService};

const SECRET: &str = "the first secret of this house, long enough";
const NEXT: &str = "and the next one, which is long enough too";
/// Long enough for a machine that has much else to do.
const HAND_OVER: Duration = Duration::from_secs(60);
/// So that who says nothing is given up after two seconds.
const HAND_OVER_SHORT: Duration = Duration::from_secs(30);

/// A receiver, with what it answers by now.
struct FakeHookReceiver {
    fake: FakeHttpService,
    mood: Arc<Mutex<Vec<FakeHttpAnswer>>>,
}

fn accepting_answer() -> FakeHttpAnswer {
    FakeHttpAnswer::with_json(200, &json!("ok"))
}

impl FakeHookReceiver {
    async fn start() -> Self {
        let mood = Arc::new(Mutex::new(Vec::new()));
        let own = mood.clone();
        let fake =
            FakeHttpService::start(move |_| own.lock().unwrap().pop().unwrap_or_else(accepting_answer)).await;
        Self { fake, mood }
    }

    /// What it answers to the next requests, in this order.
    fn set_answers(&self, answers: &[FakeHttpAnswer]) {
        *self.mood.lock().unwrap() = answers.iter().rev().cloned().collect();
    }

    fn settings(&self) -> Settings {
        Settings {
            hooks: Hook::ALL.to_vec(),
            keys: read_secrets(SECRET),
            hosts: vec!["127.0.0.1".to_owned()],
            per_second: None,
            trust: TlsTrust::new(Some(self.fake.ca())).unwrap(),
            hand_over: HAND_OVER,
        }
    }

    fn caller(&self) -> HookCourier {
        open_caller(&self.settings())
    }

    fn message(&self, number: u8, hook: Hook) -> Message {
        hook_message(number, hook, &format!("{}/s3cret/{number}", self.fake.root()))
    }
}

fn read_secrets(lines: &str) -> HookSecrets {
    HookSecrets::read(&lines.to_owned().into()).unwrap()
}

fn open_caller(settings: &Settings) -> HookCourier {
    HookCourier::new(settings, Clock::real(0)).unwrap()
}

fn hook_message(number: u8, hook: Hook, address: &str) -> Message {
    let ready = ReadyId([number; 16]);
    let link =
        |address: &str| Some(courier::MessageLink { address: address.to_owned(), title: "here".to_owned() });
    Message {
        tenant: Tenant::new("main").unwrap(),
        ready,
        message_id: format!("{ready}@news.example"),
        headline: "Größere news: Moon & <Sun>".to_owned(),
        text: "@here is \"Moon\"".to_owned(),
        date: UtcMillis(1_795_248_000_000),
        way: MessagePayload::Call(CallPayload {
            hook,
            address: address.to_owned(),
            person: Person::new("ann").unwrap(),
            plan: PlanName::new("at_once").unwrap(),
            longer: String::new(),
            image: None,
            opens: Some("https://news.example/1".to_owned()),
            links: courier::MessageLinks {
                read: link("https://news.example/u/r/abc"),
                settings: link("https://news.example/u/def/settings"),
            },
            silent: false,
            told: vec![CallItem {
                section: "New".to_owned(),
                kind: Kind::new("published").unwrap(),
                subject: SubjectRef::new("artwork:1").unwrap(),
                maybe: false,
                count: 1,
            }],
            expires: UtcMillis(1_795_248_600_000),
        }),
    }
}

/// A gate that says the same each time, and remembers whether the message had arrived by then.
struct HookWatchGate<'a> {
    no: bool,
    receiver: &'a FakeHookReceiver,
    path: String,
    asked: AtomicUsize,
    arrived: AtomicUsize,
    left: Mutex<Vec<String>>,
}

impl<'a> HookWatchGate<'a> {
    fn new(receiver: &'a FakeHookReceiver, message: &Message) -> Self {
        let (asked, arrived) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let path = format!("/s3cret/{}", message.ready.0[0]);
        Self { no: false, receiver, path, asked, arrived, left: Mutex::default() }
    }
}

#[async_trait]
impl HandoverGate for HookWatchGate<'_> {
    async fn may_go(&self) -> bool {
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.arrived.fetch_add(self.receiver.fake.was_asked(&self.path).into(), Ordering::SeqCst);
        !self.no
    }

    async fn note_dead_address(&self, call: &CallPayload) {
        self.left.lock().unwrap().push(call.address.clone());
    }
}

/// What a hand-over came to in words, how often the gate was asked, and whether the address is gone. No word of it
/// names the address.
async fn hand_call(
    receiver: &FakeHookReceiver,
    caller: &HookCourier,
    message: &Message,
) -> (String, usize, bool) {
    let gate = HookWatchGate::new(receiver, message);
    let told = match caller.hand(message, &gate).await.unwrap() {
        HandoverOutcome::Accepted => "accepted".to_owned(),
        HandoverOutcome::Stopped => "stopped".to_owned(),
        HandoverOutcome::NotNow(why) | HandoverOutcome::Away(why) | HandoverOutcome::Busy(why) => {
            format!("not now: {why}")
        }
        HandoverOutcome::Refused(why) => format!("refused: {why}"),
        HandoverOutcome::Unknown(why) => format!("unknown: {why}"),
    };
    assert!(!told.contains("s3cret"), "{told}");
    assert_eq!(gate.arrived.load(Ordering::SeqCst), 0, "the gate is asked before anything is sent");
    let is_gone = !gate.left.lock().unwrap().is_empty();
    (told, gate.asked.load(Ordering::SeqCst), is_gone)
}

/// What the library makes of calls, by the keys that their receivers were told.
fn verify_calls(calls: &[(&FakeHttpRequest, &str)]) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.json");
    let call = |(seen, secret): &(&FakeHttpRequest, &str)| {
        let names = ["webhook-id", "webhook-timestamp", "webhook-signature"];
        let headers: serde_json::Map<String, Value> =
            names.iter().map(|name| ((*name).to_owned(), seen.header(name).into())).collect();
        json!({"headers": headers, "body": BASE64_STANDARD.encode(&seen.body), "secret": secret})
    };
    fs::write(&path, Value::from_iter(calls.iter().map(call)).to_string()).unwrap();
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/python/webhook_verify.py");
    let output = Command::new(python().unwrap()).args([program.as_ref(), path.as_os_str()]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn receiver_keys_of(lines: &str, tenant: &str) -> Vec<String> {
    let shown = read_secrets(lines).receiver_keys(Hook::Webhook, &Tenant::new(tenant).unwrap());
    shown.iter().map(|key| key.expose_secret().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webhook_is_believed_by_whoever_has_its_key() {
    let receiver = FakeHookReceiver::start().await;
    let message = receiver.message(1, Hook::Webhook);
    let rotating = Settings { keys: read_secrets(&format!("{NEXT}\n{SECRET}")), ..receiver.settings() };
    let mut seen = Vec::new();
    for settings in [receiver.settings(), rotating] {
        assert_eq!(
            hand_call(&receiver, &open_caller(&settings), &message).await,
            ("accepted".to_owned(), 1, false)
        );
        seen.extend(receiver.fake.take_requests());
    }
    let [one, both] = seen.try_into().unwrap();
    let (own, next, other) = (
        &receiver_keys_of(SECRET, "main")[0],
        &receiver_keys_of(NEXT, "main")[0],
        &receiver_keys_of(SECRET, "other")[0],
    );
    let mut altered = one.clone();
    altered.body = one.body.iter().map(|byte| if *byte == b'1' { b'2' } else { *byte }).collect();
    let mut renamed = one.clone();
    renamed.headers.insert("webhook-id", "02020202020202020202020202020202".parse().unwrap());
    let calls = [
        (&one, own),
        (&one, next),
        (&one, other),
        (&both, own),
        (&both, next),
        (&altered, own),
        (&renamed, own),
    ];
    let believed = verify_calls(&calls.map(|(seen, key)| (seen, key.as_str())));
    let holds: Vec<bool> = believed.iter().map(|call| !call.is_null()).collect();
    assert_eq!(holds, [true, false, false, true, true, false, false]);
    assert_eq!(one.body, both.body, "from the same facts the same bytes");
    assert_eq!((one.path.as_str(), one.header("content-type")), ("/s3cret/1", "application/json"));
    assert_eq!(one.header("webhook-id"), "01010101010101010101010101010101");
    let expected = json!({
        "type": "tidings.message",
        "timestamp": "2026-11-21T08:00:00.000Z",
        "data": {
            "message": "01010101010101010101010101010101@news.example",
            "tenant": "main", "person": "ann", "plan": "at_once",
            "title": "Größere news: Moon & <Sun>", "text": "@here is \"Moon\"", "longer": "",
            "opens": "https://news.example/1", "image": null, "silent": false,
            "read": "https://news.example/u/r/abc", "settings": "https://news.example/u/def/settings",
            "expires": "2026-11-21T08:10:00.000Z",
            "told": [{"section": "New", "kind": "published", "subject": "artwork:1", "maybe_before": false, "count": 1}],
        },
    });
    assert_eq!(believed[0], expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chat_is_told_in_the_form_of_slack() {
    let receiver = FakeHookReceiver::start().await;
    let told = hand_call(&receiver, &receiver.caller(), &receiver.message(1, Hook::Chat)).await;
    assert_eq!(told, ("accepted".to_owned(), 1, false));
    let [seen] = receiver.fake.take_requests().try_into().unwrap();
    let text = "*<https://news.example/1|Größere news: Moon &amp; &lt;Sun&gt;>*\n@\u{200b}here is \"Moon\"";
    let expected = json!({
        "text": text,
        "blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": text}}],
        "unfurl_links": false,
        "unfurl_media": false,
    });
    assert_eq!(seen.json(), expected);
    assert!(seen.headers.keys().all(|name| !name.as_str().starts_with("webhook-")), "{:?}", seen.headers);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_answer_has_its_outcome() {
    let receiver = FakeHookReceiver::start().await;
    let check =
        async |hook: Hook, answers: &[FakeHttpAnswer], expected: &str, is_gone: bool, requests: usize| {
            let hangs = answers.iter().any(|answer| matches!(answer, FakeHttpAnswer::Hangs));
            let hand_over = if hangs { HAND_OVER_SHORT } else { HAND_OVER };
            let courier = open_caller(&Settings { hand_over, ..receiver.settings() });
            receiver.set_answers(answers);
            let (told, asked, gone) = hand_call(&receiver, &courier, &receiver.message(1, hook)).await;
            let what = format!("{hook:?} {answers:?}: {told}");
            assert!(told.starts_with(expected), "{what}");
            assert_eq!((asked, gone, receiver.fake.take_requests().len()), (1, is_gone, requests), "{what}");
        };
    let says = |status: u16| FakeHttpAnswer::with_json(status, &json!("s3cret"));
    for hook in Hook::ALL {
        for status in [200, 201, 202, 204] {
            check(hook, &[says(status)], "accepted", false, 1).await;
        }
        for status in [408, 425, 429, 500, 502, 503, 599] {
            check(hook, &[says(status)], &format!("not now: {status}"), false, 1).await;
        }
        for status in [301, 302, 307, 400, 401, 403, 413] {
            check(hook, &[says(status)], &format!("refused: {status}"), false, 1).await;
        }
        check(hook, &[says(410)], "refused: 410", true, 1).await;
        check(hook, &[FakeHttpAnswer::Breaks(h2::Reason::REFUSED_STREAM)], "not now: ", false, 1).await;
    }
    check(Hook::Webhook, &[says(404)], "refused: 404", false, 1).await;
    check(Hook::Chat, &[says(404)], "refused: 404", true, 1).await;
    // Where nobody knows whether it came, it goes once more to who knows it again, and to nobody else.
    let breaks = || FakeHttpAnswer::Breaks(h2::Reason::INTERNAL_ERROR);
    check(Hook::Chat, &[breaks()], "unknown: ", false, 1).await;
    check(Hook::Chat, &[FakeHttpAnswer::Hangs], "unknown: no reply for 6 s", false, 1).await;
    check(Hook::Webhook, &[breaks(), accepting_answer()], "accepted", false, 2).await;
    check(Hook::Webhook, &[breaks(), breaks()], "unknown: ", false, 2).await;
    check(Hook::Webhook, &[breaks(), says(500)], "unknown: ", false, 2).await;
    check(Hook::Webhook, &[breaks(), says(400)], "unknown: ", false, 2).await;
    check(Hook::Webhook, &[FakeHttpAnswer::Hangs, accepting_answer()], "accepted", false, 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_try_is_the_same_call() {
    let receiver = FakeHookReceiver::start().await;
    receiver.set_answers(&[FakeHttpAnswer::Breaks(h2::Reason::INTERNAL_ERROR), accepting_answer()]);
    let told = hand_call(&receiver, &receiver.caller(), &receiver.message(1, Hook::Webhook)).await;
    assert_eq!(told.0, "accepted");
    let [first, second] = receiver.fake.take_requests().try_into().unwrap();
    assert_eq!((first.header("webhook-id"), &first.body), (second.header("webhook-id"), &second.body));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stopped_leaves_nothing_and_nothing_is_asked_in_vain() {
    let receiver = FakeHookReceiver::start().await;
    let courier = receiver.caller();
    for hook in Hook::ALL {
        let message = receiver.message(1, hook);
        let gate = HookWatchGate { no: true, ..HookWatchGate::new(&receiver, &message) };
        assert_eq!(courier.hand(&message, &gate).await.unwrap(), HandoverOutcome::Stopped);
        assert!(receiver.fake.take_requests().is_empty());
        let outcome = courier.was_sent(Channel::Hook(hook), &message.message_id).await.unwrap();
        assert_eq!(outcome, None);
        assert_eq!(hand_call(&receiver, &courier, &message).await.0, "accepted", "the next try finds it so");
        assert_eq!(receiver.fake.take_requests().len(), 1);
    }
    let uncalled = open_caller(&Settings { hooks: vec![Hook::Chat], ..receiver.settings() });
    let check = async |caller: &HookCourier, message: &Message, expected: &str| {
        let expected = (format!("refused: {expected}"), 0, false);
        assert_eq!(hand_call(&receiver, caller, message).await, expected);
    };
    check(&uncalled, &receiver.message(1, Hook::Webhook), "this hook is not called").await;
    let at = |address: &str| hook_message(1, Hook::Webhook, address);
    check(&courier, &at("http://news.example/s3cret"), "its address is not https").await;
    check(&courier, &at("https://10.1.2.3/s3cret"), "its address is not a public one").await;
    check(&courier, &at("https://[::1]/s3cret"), "its address is not a public one").await;
    check(&courier, &at("s3cret"), "it has no address").await;
    let mut large = receiver.message(1, Hook::Webhook);
    large.text = "x".repeat(300_000);
    let (told, asked, _) = hand_call(&receiver, &courier, &large).await;
    assert!(told.starts_with("refused: it has 300") && asked == 0, "{told}");
    let push = Message { way: MessagePayload::Push(push_payload()), ..receiver.message(1, Hook::Chat) };
    check(&courier, &push, "it is not a hook call").await;
    assert!(receiver.fake.take_requests().is_empty());
}

fn push_payload() -> courier::PushPayload {
    let (longer, image, opens) = (String::new(), None, None);
    let (devices, badge, expires) = (vec![], None, UtcMillis(0));
    courier::PushPayload {
        devices,
        longer,
        image,
        opens,
        links: courier::MessageLinks::default(),
        silent: false,
        badge,
        wordless: false,
        replaces: false,
        withdrawn: Vec::new(),
        expires,
    }
}

/// A name leads where its owner likes: what counts is where the connection goes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_leads_inside_is_not_called() {
    let receiver = FakeHookReceiver::start().await;
    let port = receiver.fake.root().rsplit_once(':').unwrap().1.to_owned();
    let inside = hook_message(1, Hook::Webhook, &format!("https://localhost:{port}/s3cret"));
    let courier = open_caller(&Settings { hosts: vec![], ..receiver.settings() });
    let told = hand_call(&receiver, &courier, &inside).await;
    assert_eq!(told, ("refused: its address is not a public one".to_owned(), 1, false));
    assert_eq!(receiver.fake.connections(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_at_once_all_arrive() {
    let receiver = FakeHookReceiver::start().await;
    let courier = receiver.caller();
    let messages: Vec<Message> =
        (1..=50).map(|number| receiver.message(number, Hook::ALL[usize::from(number) % 2])).collect();
    let handed = join_all(messages.iter().map(|message| hand_call(&receiver, &courier, message)));
    let told: Vec<String> = handed.await.into_iter().map(|(told, ..)| told).collect();
    assert!(told.iter().all(|told| told == "accepted"), "{told:?}");
}

/// Who wants to be left alone is, for as long as they say; others are called meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_that_wants_less_gets_less() {
    let (busy, free) = (FakeHookReceiver::start().await, FakeHookReceiver::start().await);
    let both = [busy.fake.ca(), free.fake.ca()].concat();
    let courier = open_caller(&Settings { trust: TlsTrust::new(Some(&both)).unwrap(), ..busy.settings() });
    let later = |status: u16| FakeHttpAnswer::Says {
        status,
        header: Some(("retry-after", "120".to_owned())),
        body: Vec::new(),
    };
    busy.set_answers(&[later(429)]);
    assert_eq!(hand_call(&busy, &courier, &busy.message(1, Hook::Webhook)).await.0, "not now: 429");
    let (told, asked, _) = hand_call(&busy, &courier, &busy.message(2, Hook::Webhook)).await;
    assert!(told.starts_with("not now: it is left alone for 1") && asked == 0, "{told}");
    assert_eq!(hand_call(&free, &courier, &free.message(2, Hook::Webhook)).await.0, "accepted");
    // Of a chat each address is somebody else's.
    free.fake.take_requests();
    free.set_answers(&[later(429)]);
    assert_eq!(hand_call(&free, &courier, &free.message(3, Hook::Chat)).await.0, "not now: 429");
    assert_eq!(hand_call(&free, &courier, &free.message(4, Hook::Chat)).await.0, "accepted");
    assert!(
        hand_call(&free, &courier, &free.message(3, Hook::Chat)).await.0.starts_with("not now: it is left")
    );
}

#[test]
fn what_is_signed_needs_a_secret() {
    let settings = |hooks: &[Hook]| Settings {
        hooks: hooks.to_vec(),
        keys: HookSecrets::default(),
        hosts: vec![],
        per_second: None,
        trust: TlsTrust::new(None).unwrap(),
        hand_over: HAND_OVER,
    };
    assert!(HookCourier::new(&settings(&[Hook::Chat]), Clock::real(0)).is_ok());
    let why = HookCourier::new(&settings(&Hook::ALL), Clock::real(0)).unwrap_err();
    assert_eq!(why, "`webhook` must be signed, but `hooks.secret` is not set");
}
