//! Pushes to services that check who asks: a third of the persons each with an iPhone, an Android telephone and a
//! browser; through the whole room of the sender, and by the courier alone.

use std::{sync::Arc, time::Duration};

use anyhow::{anyhow, ensure};
use async_trait::async_trait;
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use courier::{Courier, HandoverGate, HandoverOutcome, Message};
use courier_net::{
    TlsTrust, dkim,
    push::{JwtKey, PushCourier, Settings, apns, fcm, web},
};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use model::{
    Channel,
    device::{DevicePlatform, PushDevice},
};
use runtime::{Clock, clock::SteadyStopwatch};
use serde_json::json;

use crate::{
    embedded_engines::open_embedded,
    push_services::{BenchPushServices, TOKENS},
    ready_load::{self, ReadyLoad},
    report::{BenchFigure, BenchReport},
    sender_room::{CollectingCourier, SenderBench},
};

/// The browser of RFC 8291, section 5.
const P256DH: &str =
    "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4";
const AUTH: &str = "BTBZMqHH6r4Tts7J_aSIgg";
/// So many pushes a second.
const BAR: f64 = 10_000.0;
const ROUNDS: usize = 3;
/// The first ones open connections, and are not counted.
const WARM: usize = 300;
/// On their way at the same time, of the courier alone.
const AT_ONCE: usize = 512;
const HAND_OVER: Duration = Duration::from_secs(120);

pub async fn run(size: usize, progress: &(dyn Fn(&str) + Sync)) -> anyhow::Result<BenchReport> {
    let dir = tempfile::tempdir()?;
    let key = JwtKey::generate_pem().map_err(|why| anyhow!(why))?;
    let public = JwtKey::read_es256(&key).map_err(|why| anyhow!(why))?.public_base64();
    let apps = BenchPushServices::start(BASE64_URL_SAFE_NO_PAD.decode(&public)?).await?;
    progress(&format!("push: the days of {size} persons are written"));
    let told = (Channel::Push, "at_once");
    let root = apps.root();
    let letters = ReadyLoad::new(told, move |number| numbered_device(number, &root), size.max(WARM), 1)?;
    let (topics, store) = open_embedded(dir.path())?;
    let mut desk = SenderBench::open(letters, ready_load::mail_catalogue()?, topics, store).await?;
    let courier: Arc<dyn Courier> = Arc::new(build_pusher(&apps, &key)?);
    let kept = Arc::new(CollectingCourier::default());
    let (_, mut readys) = desk.time_sender(size, kept.clone()).await?;
    let messages = kept.take();
    let (_, told) = desk.time_sender(WARM, courier.clone()).await?;
    readys.extend(told);
    let (mut taken, mut alone, mut whole) = (WARM, Vec::new(), Vec::new());
    for round in 1..=ROUNDS {
        progress(&format!("push: round {round} of {ROUNDS}"));
        alone.push(time_hand_over(&messages, &*courier).await?);
        let (took, told) = desk.time_sender(size, courier.clone()).await?;
        whole.push(took);
        readys.extend(told);
        taken += messages.len() + size;
    }
    let held = desk.is_all_sent(&readys).await? && apps.take_counts() == (taken as u64, 0);
    let bar = [Duration::from_secs_f64(size as f64 / BAR)];
    let engine = "embedded, synced to disk before each answer; the services on the same cores, over TLS";
    let figures = vec![
        BenchFigure::rate("pushes by the whole room, against what is wanted", size, &whole, &bar)
            .ratio_at_least(1.0),
        BenchFigure::rate("pushes by the courier alone, against what is wanted", size, &alone, &bar)
            .ratio_at_least(1.0),
    ];
    let checked = "the journal has each push as sent by one claim; the services found each signed as theirs, and took so \
                   many and no more";
    Ok(BenchReport::new("push", engine, figures, (checked, held)))
}

/// A person's device: of each kind as many.
fn numbered_device(number: usize, root: &str) -> PushDevice {
    let (platform, token) = match number % 3 {
        0 => (DevicePlatform::Ios, format!("{number:064x}")),
        1 => (DevicePlatform::Android, format!("bench:{number:0140x}")),
        _ => {
            let keys = json!({"p256dh": P256DH, "auth": AUTH});
            let endpoint = format!("{root}/browser/{number}");
            (DevicePlatform::Web, json!({"endpoint": endpoint, "keys": keys}).to_string())
        }
    };
    PushDevice { id: "own".to_owned(), platform, token }
}

fn build_pusher(apps: &BenchPushServices, key: &str) -> anyhow::Result<PushCourier> {
    let account = json!({
        "type": "service_account",
        "project_id": "bench",
        "private_key_id": "bench",
        "private_key": dkim::DkimKey::generate_pem("rsa")?,
        "client_email": "push@bench.example",
        "token_uri": format!("{}{TOKENS}", apps.root()),
    });
    let apns = apns::Settings {
        root: apps.root(),
        key: key.to_owned().into(),
        key_id: "KEY1234567".to_owned(),
        team_id: "TEAM123456".to_owned(),
        topic: "example.bench".to_owned(),
        per_second: None,
    };
    let fcm = fcm::Settings { root: apps.root(), account: account.to_string().into(), per_second: None };
    let web = web::Settings {
        key: key.to_owned().into(),
        subject: "mailto:push@bench.example".to_owned(),
        hosts: vec!["127.0.0.1".to_owned()],
        per_second: None,
    };
    let trust = TlsTrust::new(Some(apps.ca.as_bytes())).map_err(|why| anyhow!(why))?;
    let settings = Settings { apns: Some(apns), fcm: Some(fcm), web: Some(web), trust, hand_over: HAND_OVER };
    PushCourier::new(&settings, Clock::real(0)).map_err(|why| anyhow!(why))
}

/// Hands all of these over, and says how long that took.
async fn time_hand_over(messages: &[Message], courier: &dyn Courier) -> anyhow::Result<Duration> {
    let watch = SteadyStopwatch::start();
    let handed = stream::iter(messages).map(|message| courier.hand(message, &BenchOpenGate));
    handed
        .buffer_unordered(AT_ONCE)
        .map_err(anyhow::Error::from)
        .try_for_each(async |handed| {
            ensure!(handed == HandoverOutcome::Accepted, "a push was not taken: {handed:?}");
            Ok(())
        })
        .await?;
    Ok(watch.elapsed())
}

struct BenchOpenGate;

#[async_trait]
impl HandoverGate for BenchOpenGate {
    async fn may_go(&self) -> bool {
        true
    }
}
