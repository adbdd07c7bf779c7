//! A demo's copies: browsers are shown what lies in the outbox, and nothing depends on them. And a house without one.

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
        links: courier::MessageLinks::default(),
        silent: false,
        badge: None,
        wordless: false,
        replaces: false,
        withdrawn: Vec::new(),
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
        outbox: Some(outbox.clone()),
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

/// A catalogue of the tests, and the settings of a file.
fn check_ways_of(catalogue: &str, file: &str) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tidings.yaml");
    fs::write(&path, file).unwrap();
    let merged =
        settings::config::load_config(Some(&path), [], vec![]).unwrap_or_else(|wrong| panic!("{wrong}"));
    let catalogues = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/catalogues");
    let catalogue = Catalogue::load(&catalogues.join(catalogue), model::DayLife::default())
        .unwrap_or_else(|wrong| panic!("{wrong}"));
    check_ways(&merged.config, &catalogue).map_err(|wrong| wrong.to_string())
}

#[test]
fn without_an_outbox_each_channel_needs_a_way() {
    let (mail, fcm) = ("mail: {ways: ['smtp://mail.example.com:587']}\n", "fcm: {account: '{}'}\n");
    let hooks = "hooks: {channels: [webhook, chat], secret: 0123456789abcdef0123456789abcdefg}\n";
    let check = |catalogue: &str, file: &str, expected: &[&str]| {
        let found = check_ways_of(catalogue, file);
        let lines: Vec<&str> = found.as_ref().err().map(|wrong| wrong.lines().collect()).unwrap_or_default();
        assert_eq!(lines.len(), expected.len(), "{catalogue} {file}: {lines:?}");
        for (line, says) in lines.iter().zip(expected) {
            assert!(line.contains(says) && line.contains("which has no way out"), "{line}");
        }
    };
    check("hooks", "", &[]);
    check("hooks", "outbox: ./none\n", &[]);
    check("blog", &format!("outbox: none\n{mail}"), &[]);
    let mails = check_ways_of("blog", "outbox: none\n").unwrap_err();
    assert!(mails.contains("tells by `email`") && mails.contains("set `mail.ways`"), "{mails}");
    assert_eq!(check_ways_of("pushes", &format!("outbox: none\n{mail}{fcm}")), Ok(()));
    let pushes = check_ways_of("pushes", &format!("outbox: none\n{mail}")).unwrap_err();
    assert!(pushes.contains("`apns.key`, `fcm.account` or `webpush.key`"), "{pushes}");
    assert_eq!(check_ways_of("hooks", &format!("outbox: none\n{mail}{hooks}")), Ok(()));
    let some = hooks.replace("webhook, ", "");
    let calls = check_ways_of("hooks", &format!("outbox: none\n{mail}{some}")).unwrap_err();
    assert!(calls.contains("tells by `webhook`") && calls.contains("set `hooks.channels`"), "{calls}");
    assert!(!calls.contains("`chat`"), "{calls}");
}

/// A channel that a newer catalogue does not have, of which a message is still due.
#[tokio::test]
async fn a_message_without_a_way_waits_and_nobody_says_that_it_was_sent() {
    let post = RoutingCourier {
        mailer: None,
        pusher: None,
        caller: None,
        copies: None,
        outbox: None,
        metrics: CourierMetrics::declare(&Metrics::default()).unwrap(),
    };
    let gate = CopyCountingGate::default();
    let handed = post.hand(&message(&[]), &gate).await.unwrap();
    assert!(
        matches!(&handed, HandoverOutcome::Away(why) if why.contains("`push` has no way out")),
        "{handed:?}"
    );
    assert_eq!(*gate.asked.lock().unwrap(), 0, "nothing is claimed");
    assert_eq!(post.was_sent(Channel::Push, "7@example.org").await.unwrap(), None);
    let erased = post.erase(&CourierEraseRequest::default(), EraseMode::Look).await.unwrap();
    assert_eq!(erased, None);
}
