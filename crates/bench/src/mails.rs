//! Mails to a real server: digests of some things with pictures, rendered, signed with RSA, journalled, accepted by Postfix's sink; beside the
//! bare signatures on all cores, and beside a program that renders and sends them from Python and does nothing else.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
    thread,
    time::Duration,
};

use anyhow::{Context as _, anyhow, ensure};
use aws_lc_rs::{
    rand::SystemRandom,
    rsa::KeySize,
    signature::{RSA_PKCS1_SHA256, RsaKeyPair},
};
use courier::Courier;
use courier_net::{
    TlsTrust,
    dkim::{DkimKey, DkimSigner},
    mail::MailCourier,
    mail_routes::{self, RouteDefaults},
};
use model::Channel;
use runtime::clock::SteadyStopwatch;
use serde::Deserialize;
use tokio::task::spawn_blocking;

use crate::{
    embedded_engines::open_embedded,
    ready_load::{self, ReadyLoad},
    report::{BenchFigure, BenchReport},
    sender_room::{CollectingCourier, SenderBench},
    sink::BenchMailSink,
};

/// The part of the bare signatures that whole mails have to come to.
const RATIO_MIN: f64 = 0.6;
const ROUNDS: usize = 3;
/// Works of each mail.
const WORKS: usize = 5;
/// The first mails open connections and warm up what is kept, and are not counted.
const WARM: usize = 200;
/// About what of a mail's headers is signed.
const SIGNED_BYTES: usize = 700;
const CONNECTIONS: usize = 128;
const HAND_OVER: Duration = Duration::from_secs(120);
const DOMAIN: &str = "press.example";

pub async fn run(size: usize, progress: &(dyn Fn(&str) + Sync)) -> anyhow::Result<BenchReport> {
    let sink = BenchMailSink::start().await?;
    let dir = tempfile::tempdir()?;
    progress(&format!("mail: the days of {size} persons are written"));
    let told = (Channel::Email, "daily");
    let letters = ReadyLoad::new(told, ready_load::iphone_device, size.max(WARM), WORKS)?;
    let (topics, store) = open_embedded(dir.path())?;
    let mut desk = SenderBench::open(letters, ready_load::mail_catalogue()?, topics, store).await?;
    let courier: Arc<dyn Courier> = Arc::new(build_mailer(sink.port())?);
    let sample = render_sample(dir.path(), &mut desk).await?;
    let (_, mut readys) = desk.time_sender(WARM, courier.clone()).await?;
    let (mut ours, mut bare, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
    let mut without_sink = Vec::new();
    for round in 1..=ROUNDS {
        progress(&format!("mail: round {round} of {ROUNDS}"));
        bare.push(spawn_blocking(move || time_signatures(size)).await??);
        let before = sink.cpu_time();
        let (took, told) = desk.time_sender(size, courier.clone()).await?;
        ours.push(took);
        readys.extend(told);
        let worked = before.zip(sink.cpu_time()).map(|(before, after)| after.saturating_sub(before));
        without_sink.extend(worked.map(|worked| took.saturating_sub(worked / core_count())));
        let (port, paths) = (sink.port(), sample.clone());
        theirs.push(spawn_blocking(move || time_python_mailer(port, size, &paths)).await??);
    }
    let taken = readys.len() + ROUNDS * size;
    let limit =
        BenchFigure::rate("mails accepted, against bare RSA signatures on all cores", size, &ours, &bare);
    let others = "mails accepted, against unsigned ones from Python's smtplib";
    let mut figures = vec![limit.ratio_at_least(RATIO_MIN), BenchFigure::rate(others, size, &ours, &theirs)];
    if !without_sink.is_empty() {
        let rest = "the same without the time that the sink took of these cores, against bare RSA signatures";
        figures.push(BenchFigure::rate(rest, size, &without_sink, &bare));
    }
    let held = desk.is_all_sent(&readys).await? && sink.has_taken(taken as u64).await;
    let engine = format!(
        "embedded, synced to disk before each answer; RSA of 2048 bits; over {CONNECTIONS} connections; on the same cores {}",
        sink.name()
    );
    let checked = "the journal has each mail as sent by one claim, and the sink took so many and no more";
    Ok(BenchReport::new("mail", engine, figures, (checked, held)))
}

fn build_mailer(port: u16) -> anyhow::Result<MailCourier> {
    let common = RouteDefaults {
        ehlo: DOMAIN.to_owned(),
        hand_over: HAND_OVER,
        trust: TlsTrust::new(None).map_err(|why| anyhow!(why))?,
    };
    let way =
        format!("smtp+plain://127.0.0.1:{port}?connections={CONNECTIONS}&mails_each=1000&waiting=100000");
    let ways = mail_routes::parse_routes(&way, &common).map_err(|wrong| anyhow!(wrong.join("; ")))?;
    let key = DkimKey::read(DOMAIN, "bench", i64::MIN, &DkimKey::generate_pem("rsa")?)?;
    Ok(MailCourier::new(ways, DkimSigner::new(vec![key]), HAND_OVER))
}

fn core_count() -> u32 {
    thread::available_parallelism().map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(u32::MAX))
}

/// So many signatures, shared among all cores.
fn time_signatures(count: usize) -> anyhow::Result<Duration> {
    let pair = RsaKeyPair::generate(KeySize::Rsa2048).context("make a key")?;
    let cores = core_count() as usize;
    let sign = |count: usize| {
        let (random, said) = (SystemRandom::new(), vec![7; SIGNED_BYTES]);
        let mut signature = vec![0; pair.public_modulus_len()];
        for _ in 0..count {
            pair.sign(&RSA_PKCS1_SHA256, &random, &said, &mut signature).context("sign")?;
        }
        anyhow::Ok(())
    };
    let watch = SteadyStopwatch::start();
    thread::scope(|scope| {
        let shares = (0..cores).map(|core| count / cores + usize::from(core < count % cores));
        let workers: Vec<_> = shares.map(|share| scope.spawn(move || sign(share))).collect();
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| anyhow!("a signer failed"))?)
    })?;
    Ok(watch.elapsed())
}

/// One of our mails for others to send: files of its HTML and its text, in which the name is left open.
async fn render_sample(dir: &Path, desk: &mut SenderBench) -> anyhow::Result<[PathBuf; 2]> {
    let kept = Arc::new(CollectingCourier::default());
    desk.time_sender(1, kept.clone()).await?;
    let message = kept.take().pop().context("the room made no mail")?;
    let html = &message.mail().context("what it made is no mail")?.html;
    let paths = [dir.join("mail.html"), dir.join("mail.txt")];
    for (path, words) in paths.iter().zip([html, &message.text]) {
        std::fs::write(path, words.replace('$', "$$").replace("Ann", "$name"))?;
    }
    Ok(paths)
}

/// What the program in Python prints.
#[derive(Deserialize)]
struct PythonMailerOutput {
    seconds: f64,
}

fn time_python_mailer(port: u16, mails: usize, [html, text]: &[PathBuf; 2]) -> anyhow::Result<Duration> {
    let cores = core_count();
    let mut python = Command::new("python3");
    python.args(["-c", include_str!("../peers/mail/direct.py")]);
    python.args([port.to_string(), mails.to_string(), cores.to_string()]).args([html, text]);
    let ran = python.stdin(Stdio::null()).output().context("start python3")?;
    ensure!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr).trim());
    let said: PythonMailerOutput = serde_json::from_slice(&ran.stdout).context("what the peer said")?;
    Ok(Duration::from_secs_f64(said.seconds.max(0.0)))
}
