//! A demo's copies: browsers are shown what lies in the outbox, and nothing depends on them.

use std::{fs, sync::Mutex};

use engines::PushService;
use model::{ReadyId, Tenant, UtcMillis};
use serde_json::Value;

use super::*;

/// Says yes once, and remembers who is gone.
#[derive(Default)]
struct CopyCountingGate {
    asked: Mutex<usize>,
    gone: Mutex<Vec<String>>,
}

#[async_trait]
impl HandoverGate for CopyCountingGate {
    async fn may_go(&self) -> bool {
        *self.asked.lock().unwrap() += 1;
        true
    }

    async fn note_dead_device(&self, device: &PushDevice) {
        self.gone.lock().unwrap().push(device.id.clone());
    }
}

fn message(devices: &[PushDevice]) -> Message {
    let push = courier::PushPayload {
        devices: devices.to_vec(),
        longer: "all of it".to_owned(),
        image: None,
        opens: None,
        silent: false,
        badge: None,
        wordless: false,
        expires: UtcMillis(i64::MAX),
    };
    Message {
        tenant: Tenant::new("main").unwrap(),
        ready: ReadyId([7; 16]),
        message_id: "7@example.org".to_owned(),
        headline: "news".to_owned(),
        text: "in short".to_owned(),
        date: UtcMillis(0),
        way: MessagePayload::Push(push),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn browsers_are_shown_what_lies_in_the_outbox() {
    let (folder, service) = (tempfile::tempdir().unwrap(), PushService::start().unwrap());
    let data = DataDir::hold(folder.path()).unwrap();
    let web = demo_web_settings(&data).unwrap();
    let known = public_key(&web.key).unwrap();
    assert_eq!(public_key(&demo_web_settings(&data).unwrap().key).unwrap(), known, "it is made once");
    let ca = folder.path().join("ca.pem");
    fs::write(&ca, service.ca().unwrap()).unwrap();
    let web = web::Settings { hosts: vec![service.host().to_owned()], ..web };
    let copies =
        BrowserCopies::new(PushConfig { web: Some(web), ca: Some(ca), ..PushConfig::default() }).unwrap();
    let outbox = Arc::new(OutboxCourier::open(&folder.path().join("outbox")).unwrap());
    let post = RoutingCourier {
        mailer: None,
        pusher: None,
        caller: None,
        copies: Some(copies),
        outbox: outbox.clone(),
        metrics: CourierMetrics::declare(&Metrics::default()).unwrap(),
    };

    let subscribed = service.subscribe(&known).unwrap();
    let device =
        |id: &str, platform, token: &str| PushDevice { id: id.to_owned(), platform, token: token.to_owned() };
    let (phone, browser) = (
        device("phone", DevicePlatform::Ios, "abc"),
        device("browser", DevicePlatform::Web, &subscribed.json),
    );
    let both = message(&[phone.clone(), browser]);
    // Handed over, and once more after an answer that was lost.
    for copies in [1, 2] {
        let gate = CopyCountingGate::default();
        assert_eq!(post.hand(&both, &gate).await.unwrap(), HandoverOutcome::Accepted);
        assert_eq!((*gate.asked.lock().unwrap(), outbox.len()), (1, 1), "the outbox alone asks and counts");
        let received = service.read_notifications(&subscribed).unwrap();
        let tag = |text: &String| serde_json::from_str::<Value>(text).unwrap()["tag"].clone();
        assert_eq!(received.len(), copies);
        assert!(received.iter().all(|text| tag(text) == both.ready.to_string()), "{received:?}");
    }
    assert_eq!(post.was_sent(Channel::Push, &both.message_id).await.unwrap(), Some(true));

    // A browser that is gone leaves the profile, and the message has gone out all the same.
    service.expire(&subscribed).unwrap();
    let gate = CopyCountingGate::default();
    assert_eq!(post.hand(&both, &gate).await.unwrap(), HandoverOutcome::Accepted);
    assert_eq!(*gate.gone.lock().unwrap(), ["browser"]);
    // Without a browser nobody is asked.
    let alone = Message { message_id: "8@example.org".to_owned(), ..message(&[phone]) };
    assert_eq!(post.hand(&alone, &CopyCountingGate::default()).await.unwrap(), HandoverOutcome::Accepted);
    assert_eq!((outbox.len(), service.read_notifications(&subscribed).unwrap().len()), (2, 2));
}
