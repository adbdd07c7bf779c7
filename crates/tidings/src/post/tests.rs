//! A demo's copies: browsers are shown what lies in the outbox, and nothing depends on them.

use std::{fs, sync::Mutex};

use engines::PushService;
use model::{Millis, ReadyId, Tenant};
use serde_json::Value;

use super::*;

/// Says yes once, and remembers who is gone.
#[derive(Default)]
struct Says {
    asked: Mutex<usize>,
    gone: Mutex<Vec<String>>,
}

#[async_trait]
impl Gate for Says {
    async fn may_go(&self) -> bool {
        *self.asked.lock().unwrap() += 1;
        true
    }

    async fn gone(&self, device: &Device) {
        self.gone.lock().unwrap().push(device.id.clone());
    }
}

fn message(devices: &[Device]) -> Message {
    let push = courier::Push {
        devices: devices.to_vec(),
        longer: "all of it".to_owned(),
        image: None,
        opens: None,
        silent: false,
        badge: None,
        wordless: false,
        expires: Millis(i64::MAX),
    };
    Message {
        tenant: Tenant::new("main").unwrap(),
        ready: ReadyId([7; 16]),
        message_id: "7@example.org".to_owned(),
        headline: "news".to_owned(),
        text: "in short".to_owned(),
        date: Millis(0),
        way: Way::Push(push),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn browsers_are_shown_what_lies_in_the_outbox() {
    let (folder, service) = (tempfile::tempdir().unwrap(), PushService::start().unwrap());
    let data = DataDir::hold(folder.path()).unwrap();
    let web = demo(&data).unwrap();
    let known = public(&web.key).unwrap();
    assert_eq!(public(&demo(&data).unwrap().key).unwrap(), known, "it is made once");
    let ca = folder.path().join("ca.pem");
    fs::write(&ca, service.ca().unwrap()).unwrap();
    let web = web::Settings { hosts: vec![service.host().to_owned()], ..web };
    let copies = Copies::new(Push { web: Some(web), ca: Some(ca), ..Push::default() }).unwrap();
    let outbox = Arc::new(Outbox::open(&folder.path().join("outbox")).unwrap());
    let post =
        Post { mailer: None, pusher: None, caller: None, copies: Some(copies), outbox: outbox.clone() };

    let subscribed = service.subscribe(&known).unwrap();
    let device =
        |id: &str, platform, token: &str| Device { id: id.to_owned(), platform, token: token.to_owned() };
    let (phone, browser) =
        (device("phone", Platform::Ios, "abc"), device("browser", Platform::Web, &subscribed.json));
    let both = message(&[phone.clone(), browser]);
    // Handed over, and once more after an answer that was lost.
    for copies in [1, 2] {
        let gate = Says::default();
        assert_eq!(post.hand(&both, &gate).await.unwrap(), Handed::Accepted);
        assert_eq!((*gate.asked.lock().unwrap(), outbox.len()), (1, 1), "the outbox alone asks and counts");
        let received = service.received(&subscribed).unwrap();
        let tag = |text: &String| serde_json::from_str::<Value>(text).unwrap()["tag"].clone();
        assert_eq!(received.len(), copies);
        assert!(received.iter().all(|text| tag(text) == both.ready.to_string()), "{received:?}");
    }
    assert_eq!(post.outcome(Channel::Push, &both.message_id).await.unwrap(), Outcome::Sent);

    // A browser that is gone leaves the profile, and the message has gone out all the same.
    service.expire(&subscribed).unwrap();
    let gate = Says::default();
    assert_eq!(post.hand(&both, &gate).await.unwrap(), Handed::Accepted);
    assert_eq!(*gate.gone.lock().unwrap(), ["browser"]);
    // Without a browser nobody is asked.
    let alone = Message { message_id: "8@example.org".to_owned(), ..message(&[phone]) };
    assert_eq!(post.hand(&alone, &Says::default()).await.unwrap(), Handed::Accepted);
    assert_eq!((outbox.len(), service.received(&subscribed).unwrap().len()), (2, 2));
}
